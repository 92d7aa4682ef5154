//! A healthy cluster `a` of three, decisions about it, and what a fresh read of it shows.

use contract::{
    Action, Child, ClusterId, Decision, Effect, Endpoint, EndpointStatus, EtcdView, Fingerprint,
    Member, MemberId, Membership, Millis, ObjectPrecondition, Objects, Observed, Preconditions,
    Report, Resource, SCHEMA, Snapshot,
};
use serde_json::{Value, json};

use crate::{BackupHead, Fresh, ObjectHead, ResourceHead};

pub(crate) const CLUSTER_ID: ClusterId = ClusterId(0xc1);

pub(crate) fn resource() -> Resource {
    Resource {
        api_version: "etcd.database.coreos.com/v1beta2".to_owned(),
        kind: "EtcdCluster".to_owned(),
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        uid: "uid-a".to_owned(),
        resource_version: "7".to_owned(),
        generation: 1,
        created: Millis(0),
        deleted: None,
        finalizers: Vec::new(),
        owner: None,
        labels: [].into(),
        annotations: [].into(),
        spec: json!({
            "size": 3,
            "pod": {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}},
        }),
        status: json!({"phase": "Running", "clusterId": "c1"}),
    }
}

pub(crate) fn birth() -> Value {
    json!({
        "token": "t1", "members": ["a-1", "a-2", "a-3"], "image": "quay.io/coreos/etcd:v3.6.16",
        "startedAt": "2026-01-01T00:00:00Z", "attempt": 1,
    })
}

/// The resource between its plan and its cluster id.
pub(crate) fn unborn() -> Resource {
    Resource {
        status: json!({"phase": "Creating", "birth": birth()}),
        ..resource()
    }
}

pub(crate) fn snapshot_of(resource: Resource) -> Snapshot {
    Snapshot {
        objects: Objects {
            pods: Observed::Seen(Vec::new()),
            volumes: Observed::Seen(Vec::new()),
            services: Observed::Seen(Vec::new()),
            disruption_budgets: Observed::Seen(Vec::new()),
            foreign: Vec::new(),
        },
        etcd: view(),
        ..Snapshot::bare(resource, Millis(0), "0".repeat(32))
    }
}

pub(crate) fn decision(actions: Vec<Action>) -> Decision {
    Decision {
        schema: SCHEMA,
        actions,
        requeue: None,
        report: Report::default(),
    }
}

pub(crate) fn action(effect: Effect) -> Action {
    Action {
        effect,
        pre: Preconditions {
            resource_uid: "uid-a".to_owned(),
            ..Preconditions::default()
        },
    }
}

/// A membership change with everything it must carry.
pub(crate) fn change(effect: Effect, healthy_voters: u32) -> Action {
    let mut action = action(effect);
    action.pre.cluster_id = Some(CLUSTER_ID);
    action.pre.members = Some(fingerprint());
    action.pre.healthy_voters = Some(healthy_voters);
    action
}

pub(crate) fn fingerprint() -> Fingerprint {
    Fingerprint("1:voter,2:voter,3:voter".to_owned())
}

pub(crate) fn present(uid: &str) -> Option<ObjectPrecondition> {
    Some(ObjectPrecondition::Present {
        uid: uid.to_owned(),
    })
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name, "namespace": "ns", "labels": {"app": "etcd", "etcd_cluster": "a"},
        "ownerReferences": [{
            "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "a", "uid": "uid-a",
            "controller": true,
        }],
    })
}

/// A sealed pod `a-1` as JSON, so that a test can change one thing.
pub(crate) fn pod_json() -> Value {
    let mut metadata = metadata("a-1");
    metadata["annotations"] = json!({
        "etcd.database.coreos.com/initial-cluster": "a-1=http://a-1.a.ns.svc:2380",
        "etcd.database.coreos.com/initial-cluster-state": "existing",
    });
    let from = |name: &str, annotation: &str| {
        let path = format!("metadata.annotations['etcd.database.coreos.com/{annotation}']");
        json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
    };
    json!({
        "metadata": metadata,
        "spec": {
            "automountServiceAccountToken": false,
            "hostname": "a-1",
            "subdomain": "a",
            "restartPolicy": "Always",
            "securityContext": {
                "fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch", "runAsGroup": 65532, "runAsNonRoot": true,
                "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumes": [{"name": "etcd-data", "persistentVolumeClaim": {"claimName": "a-1"}}],
            "containers": [{
                "name": "etcd",
                "image": "quay.io/coreos/etcd:v3.6.16",
                "command": [
                    "/usr/local/bin/etcd", "--name=a-1", "--data-dir=/var/etcd/data",
                    "--initial-advertise-peer-urls=http://a-1.a.ns.svc:2380",
                    "--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379",
                    "--advertise-client-urls=http://a-1.a.ns.svc:2379", "--listen-metrics-urls=http://0.0.0.0:2381",
                ],
                "env": [
                    from("ETCD_INITIAL_CLUSTER", "initial-cluster"),
                    from("ETCD_INITIAL_CLUSTER_STATE", "initial-cluster-state"),
                ],
                "ports": [{"name": "client", "containerPort": 2379}],
                "livenessProbe": {"httpGet": {"path": "/livez", "port": 2381}},
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": 2381}},
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "etcd-data", "mountPath": "/var/etcd"}],
            }],
        },
    })
}

pub(crate) fn claim_json() -> Value {
    json!({
        "metadata": metadata("a-1"),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })
}

pub(crate) fn service_json() -> Value {
    json!({
        "metadata": metadata("a-client"),
        "spec": {
            "selector": {"app": "etcd", "etcd_cluster": "a"}, "type": "ClusterIP",
            "ports": [{"name": "client", "port": 2379}],
        },
    })
}

pub(crate) fn budget_json() -> Value {
    json!({
        "metadata": metadata("a"),
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "etcd", "etcd_cluster": "a"}}},
    })
}

/// Applies a child of that JSON where none was; a pod on the claim `uid-claim`.
pub(crate) fn apply(kind: &str, object: Value) -> Action {
    let child: Child = serde_json::from_value(json!({kind: object})).expect("a child");
    let mut action = action(Effect::Apply {
        object: Box::new(child),
    });
    action.pre.object = Some(ObjectPrecondition::Absent);
    if kind == "pod" {
        action.pre.claim_uid = Some("uid-claim".to_owned());
    }
    action
}

pub(crate) fn member(id: u64) -> Member {
    Member {
        id: MemberId(id),
        name: format!("a-{id}"),
        peer_urls: vec![format!("http://a-{id}.a.ns.svc:2380")],
        client_urls: Vec::new(),
        learner: false,
    }
}

pub(crate) fn endpoint(id: u64, learner: bool) -> Endpoint {
    Endpoint {
        terminating: false,
        pod: format!("a-{id}"),
        pod_uid: format!("uid-{id}"),
        status: Observed::Seen(EndpointStatus {
            cluster_id: CLUSTER_ID,
            member_id: MemberId(id),
            leader: Some(MemberId(1)),
            learner,
            version: "3.6.16".to_owned(),
            storage_version: None,
            downgrade: None,
            raft_term: 2,
            raft_index: 10,
            raft_applied_index: 10,
            db_size: 0,
            db_size_in_use: 0,
            quota: None,
            revision: Some(5_000),
            errors: Vec::new(),
            hash_kv: None,
            took: Millis(1),
        }),
    }
}

/// Three healthy voters, 1 leads.
pub(crate) fn view() -> EtcdView {
    EtcdView {
        membership: Observed::Seen(Membership {
            cluster_id: CLUSTER_ID,
            linearizable: true,
            from: "a-1".to_owned(),
            members: vec![member(1), member(2), member(3)],
        }),
        endpoints: vec![endpoint(1, false), endpoint(2, false), endpoint(3, false)],
        alarms: Observed::Seen(Vec::new()),
    }
}

/// A fresh read in which a pod and its claim exist and are the cluster's own.
pub(crate) fn fresh() -> Fresh {
    fresh_of(&resource())
}

pub(crate) fn fresh_of(resource: &Resource) -> Fresh {
    let owner = Some("uid-a".to_owned());
    Fresh {
        lease_held: true,
        resource: Observed::Seen(ResourceHead::of(resource)),
        object: Observed::Seen(ObjectHead {
            uid: "uid-3".to_owned(),
            owner: owner.clone(),
            claim: Some("a-3".to_owned()),
            ..ObjectHead::default()
        }),
        claim: Observed::Seen(ObjectHead {
            uid: "uid-claim".to_owned(),
            owner,
            ..ObjectHead::default()
        }),
        etcd: view(),
        clock_ahead: Observed::Unknown("not asked for".to_owned()),
        backup: BackupHead::default(),
        stored: Observed::Unknown("not asked for".to_owned()),
        being_restored: Observed::Unknown("not asked for".to_owned()),
        restore: Observed::Unknown("not asked for".to_owned()),
        scheduled: Observed::Unknown("not asked for".to_owned()),
    }
}

impl Fresh {
    pub(crate) fn without_object(mut self) -> Self {
        self.object = Observed::Absent;
        self
    }

    pub(crate) fn membership(&mut self) -> &mut Membership {
        match &mut self.etcd.membership {
            Observed::Seen(membership) => membership,
            Observed::Absent | Observed::Unknown(_) => panic!("the fixture has a member list"),
        }
    }

    /// The member's endpoint does not answer.
    pub(crate) fn silent(mut self, id: usize) -> Self {
        self.etcd.endpoints[id - 1].status = Observed::Unknown("timed out".to_owned());
        self
    }

    /// Member 4 is a learner that answers.
    pub(crate) fn with_learner(mut self) -> Self {
        let learner = Member {
            learner: true,
            ..member(4)
        };
        self.membership().members.push(learner);
        self.etcd.endpoints.push(endpoint(4, true));
        self
    }
}
