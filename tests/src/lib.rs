//! What the suites stand on: a real Kubernetes of its own ([`testbed`]) and the ways to hurt it.
//!
//! Nothing here knows what the operator decides; the suites and their invariants do.

pub mod audit;
pub mod cargo;
pub mod kubectl;
pub mod olm;
pub mod operator;
pub mod pace;
pub mod pods;
pub mod program;
pub mod registry;
pub mod scenario;
pub mod sealed;
pub mod testbed;
