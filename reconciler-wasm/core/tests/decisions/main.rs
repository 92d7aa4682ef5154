//! What the reconciler decides, one case a test: a cluster, one change, the effects.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking"
)]

mod adopt;
mod backup;
mod birth;
mod budget;
mod certificates;
mod consent;
mod corrupt;
mod dialect;
mod disks;
mod fixture;
mod growth;
mod guard;
mod hearing;
mod inherit;
mod late;
mod old_peers;
mod order;
mod peers;
mod pods;
mod repair;
mod reshape;
mod rest;
mod restore;
mod scale;
mod schedule;
mod seeded;
mod settings;
mod space;
mod spec;
mod status;
mod storage;
mod strangers;
mod tls;
mod upgrade;
mod zero;
