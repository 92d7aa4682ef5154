//! A quorum lost for good, and the consent to go on from one member.

mod asked;
mod held;
mod kept;
mod stages;
mod stuck;

use contract::{
    Child, ConditionStatus, Effect, FindingKind, MemberRole, Observed, Reason, Recovery,
    RecoveryStage, names,
};
use serde_json::json;

use crate::fixture::{FORGETFUL, World, effects, healthy, id, member, reports, written};

/// Two of three disks are empty, and the third member answers.
fn lost() -> World {
    healthy(3).wiped(1).wiped(2).without_list().settle()
}

fn consent(survivor: &str) -> serde_json::Value {
    json!({"clusterID": "c1", "survivor": survivor})
}

fn consented() -> World {
    lost().spec("quorumRecovery", consent(&member(0)))
}

fn recovery(stage: RecoveryStage) -> Recovery {
    Recovery {
        cluster_id: "c1".to_owned(),
        survivor: member(0),
        stage,
        started_at: "2026-11-18T11:06:40Z".to_owned(),
        given_up: vec![member(1), member(2)],
    }
}

fn stopping() -> World {
    let mut world = consented();
    world.status.recovery = Some(recovery(RecoveryStage::Stopping));
    world
}

/// All pods are gone, their claims are not.
fn forcing() -> World {
    let mut world = stopping().without_pod(0).without_pod(1).without_pod(2);
    world.snapshot.etcd.membership = Observed::Absent;
    world.status.recovery = Some(recovery(RecoveryStage::Forcing));
    world
}

/// The survivor answers as the only member.
fn alone(flag: &str) -> World {
    let mut world = consented().without_pod(1).without_pod(2);
    let whole = healthy(3);
    world.snapshot.etcd = whole.snapshot.etcd;
    world.rows().truncate(1);
    world.snapshot.etcd.endpoints.truncate(1);
    let pod = &mut world.pods()[0];
    let key = names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned();
    pod.annotations.insert(key, flag.to_owned());
    world.status.recovery = Some(recovery(RecoveryStage::Forcing));
    world
}

fn stage(world: &World) -> Option<RecoveryStage> {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    status.recovery.map(|recovery| recovery.stage)
}

fn condition(world: &World, kind: &str) -> (ConditionStatus, String, String) {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    let found = status.conditions.into_iter().find(|one| one.kind == kind);
    let found = found.unwrap();
    (found.status, found.reason, found.message)
}
