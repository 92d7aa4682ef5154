//! A model of Kubernetes and etcd in virtual time, for deciding what a module would do and what would become of it.
//!
//! Snapshots go out of it and decisions go in, in the types of the contract. Each decision passes the very
//! [`envelope`] that the host runs, against reads of the model. Everything follows from a [`Plan`], or from a snapshot
//! that it goes on from: the same plan and the same decisions make the same history. It reads no clock, does no input or output, and judges nothing: a
//! [`History`] is facts, and whether they are good is for invariants elsewhere.
//!
//! # What is not modelled
//! Partitions but those of the members on one node from all others and of the operator from members; handshakes, alarms for
//! corrupt data; the EtcdCluster that is deleted and not made again, to which the operator does nothing more. What an
//! EtcdBackup decides is modelled in a world of its own ([`keep`]); in that of a cluster backups are
//! there or fail.

mod backups;
mod branch;
mod caches;
mod collector;
mod etcd;
mod execute;
mod fact;
mod faults;
mod foresight;
mod ground;
mod guards;
mod history;
mod kept;
mod kubernetes;
mod life;
mod members;
mod observe;
mod old;
mod plan;
mod present;
mod registry;
mod release;
mod roll;
mod secrets;
mod shelf;
mod strangers;
mod telling;
mod timers;
mod volumes;
mod world;

pub use branch::{Branch, Choice};
pub use etcd::{Seat, Supposition, verdict};
pub use fact::{Deed, End, Fact, History, MemberTruth, Truth};
pub use foresight::{Ending, Foresight, Pass, foresee};
pub use ground::Ground;
pub use history::{simulate, simulate_behind};
pub use plan::{Fault, Mishap, OldPods, Plan, Planned};
pub use release::Release;
pub use shelf::{Shelf, Shelved, keep};
