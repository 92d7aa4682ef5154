//! The imperative shell: it observes, asks the sealed module, lets the envelope judge and executes.
//!
//! Decides nothing about etcd; the module is reached through its bytes alone.

pub mod args;
pub mod explain;
pub mod inspect;
pub mod module;
pub mod output;
pub mod recorder;
pub mod replay;
