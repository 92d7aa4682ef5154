//! Every YAML file of the repository, as Rust values.
//!
//! Owns what is installed into a cluster: the custom resource, the rights, the Deployment; and how it gets there by OLM: the
//! table of releases, the bundle of each, the catalog with its channels; and by Helm. Talks to no cluster and to no registry.

mod bundle;
mod catalog;
mod chart;
mod checkout;
mod crd;
mod csv;
mod deployment;
mod descriptors;
mod fault;
mod files;
mod kinds;
mod oci;
mod published;
mod rbac;
mod release;
mod rules;
mod schema;
mod verify;

pub use bundle::Bundle;
pub use catalog::catalog;
pub use checkout::{bundles, judge, save, stale, write};
pub use fault::Fault;
pub use files::{Error, Installation, Placed, cluster_wide_objects, objects, yaml};
pub use oci::Image;
pub use release::{Channel, Edge, New, Release, TABLE, Table, deprecate, promote, release};
