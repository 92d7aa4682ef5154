//! The imperative shell: it observes, asks the sealed module, lets the envelope judge and executes.
//!
//! Decides nothing about etcd; the module is reached through its bytes alone.

pub mod args;
pub mod authority;
pub mod backoff;
pub mod backup;
pub mod backups;
mod bounds;
pub mod certificate;
pub mod convert;
pub mod departing;
pub mod difference;
mod documents;
pub mod error;
pub mod etcd;
pub mod events;
pub mod execute;
pub mod explain;
pub mod http;
pub mod inspect;
pub mod key;
pub mod lease;
pub mod member;
pub mod metrics;
pub mod module;
pub mod modules;
pub mod observe;
pub(crate) mod operator;
pub mod output;
pub mod pass;
pub mod peers;
pub mod plan;
pub mod queue;
pub mod record;
pub mod recorder;
pub mod refused;
pub mod registry;
pub mod replay;
pub mod rollout;
pub mod roster;
pub mod run;
pub mod signature;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod upgradeable;

/// The version of this host, as modules and recordings know it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
