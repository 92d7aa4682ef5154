//! A restoration on a fresh read that agrees, and on each one that does not.

mod fill;
mod members;
mod stages;

use contract::{
    Action, Effect, EtcdClusterStatus, EtcdRestoreSpec, ObjectKind, Observed, Resource,
    Restoration, RestorationStage, RestoreRef, SnapshotProof,
};
use serde_json::{Value, json};

use crate::check::check;
use crate::fixtures::{
    CLUSTER_ID, action, apply, decision, fresh_of, pod_json, present, resource, snapshot_of,
};
use crate::{Fresh, Refusal, RestoreHead, permit};

const STAGES: [RestorationStage; 5] = [
    RestorationStage::Waiting,
    RestorationStage::Stopping,
    RestorationStage::Filling,
    RestorationStage::Growing,
    RestorationStage::Done,
];

fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

fn reference() -> RestoreRef {
    RestoreRef {
        name: "a".to_owned(),
        uid: "uid-restore".to_owned(),
    }
}

fn restoration(stage: RestorationStage) -> Restoration {
    let is_planned = !matches!(
        stage,
        RestorationStage::Waiting | RestorationStage::Stopping
    );
    Restoration {
        restore: "a".to_owned(),
        uid: "uid-restore".to_owned(),
        stage,
        started_at: None,
        ended_at: None,
        replaces: Some(CLUSTER_ID),
        founders: if is_planned {
            vec!["a-1".to_owned(), "a-2".to_owned()]
        } else {
            Vec::new()
        },
        token: is_planned.then(|| "token".to_owned()),
        given_up: vec!["a-9".to_owned()],
    }
}

fn at(stage: RestorationStage) -> Resource {
    let mut resource = resource();
    resource.status["restoration"] = json!(restoration(stage));
    if stage == RestorationStage::Filling {
        resource.status["clusterId"] = Value::Null;
    }
    resource
}

fn head() -> RestoreHead {
    let spec = json!({"etcdCluster": {"name": "a"}, "backupStorageType": "S3"});
    RestoreHead {
        uid: "uid-restore".to_owned(),
        deleted: false,
        spec: serde_json::from_value::<EtcdRestoreSpec>(spec).ok(),
        proof: Some(SnapshotProof::default()),
        over: false,
    }
}

fn consenting(id: &str) -> RestoreHead {
    let mut head = head();
    if let Some(spec) = &mut head.spec {
        spec.replaces = Some(id.to_owned());
    }
    head
}

/// A proven EtcdRestore; nobody leads.
fn lost(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource).silent(2).silent(3);
    fresh.restore = Observed::Seen(head());
    fresh.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
    if let Observed::Seen(status) = &mut fresh.etcd.endpoints[0].status {
        status.leader = None;
    }
    fresh
}

fn living(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource);
    fresh.restore = Observed::Seen(head());
    fresh
}

/// No pod is left.
fn empty(resource: &Resource) -> Fresh {
    let mut fresh = lost(resource).without_object();
    fresh.etcd.membership = Observed::Absent;
    fresh.etcd.endpoints.clear();
    fresh
}

fn writes(stage: RestorationStage) -> Action {
    let cluster_id = (stage != RestorationStage::Filling).then_some(CLUSTER_ID);
    let status = EtcdClusterStatus {
        cluster_id,
        restoration: Some(restoration(stage)),
        ..EtcdClusterStatus::default()
    };
    let mut action = action(Effect::UpdateStatus {
        status: Box::new(status),
    });
    action.pre.resource_version = Some("7".to_owned());
    action
}
