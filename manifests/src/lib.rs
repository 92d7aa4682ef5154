//! Every YAML file of the repository, as Rust values.
//!
//! Owns what is installed into a cluster: the custom resource, the rights, the Deployment. Talks to no cluster.

mod crd;
mod deployment;
mod files;
mod rbac;
mod rules;
mod schema;

pub use files::{Error, Installation, objects, stale, write, yaml};
