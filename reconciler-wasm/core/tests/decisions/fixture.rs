//! Snapshots to decide on: a cluster as it stands, changed by the one thing a test is about.

use std::collections::BTreeMap;

use contract::{
    ClusterId, Decision, DisruptionBudget, Effect, Endpoint, EndpointStatus, EtcdClusterStatus,
    EtcdView, Member, MemberHealth, MemberId, MemberRecord, MemberRole, Membership, Millis,
    ObjectKind, Objects, Observed, Phase, Pod, PodPhase, Reason, Resource, Service, ServicePort,
    Snapshot, Volume, VolumePhase, names,
};
use serde_json::json;

/// The pod of [`World::with_forgetful_learner`].
pub(crate) const FORGETFUL: &str = "shop-learner";
pub(crate) const NAME: &str = "shop";
pub(crate) const NAMESPACE: &str = "prod";
pub(crate) const UID: &str = "0f4c0000-0000-4000-8000-000000000001";
const CLUSTER: ClusterId = ClusterId(0xc1);
const NOW: Millis = Millis(1_795_000_000_000);
const LONG_AGO: &str = "2026-11-18T10:00:00Z";

/// A snapshot under construction.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) snapshot: Snapshot,
    pub(crate) status: EtcdClusterStatus,
}

/// The name of member `index`.
pub(crate) fn member(index: usize) -> String {
    format!("{NAME}-m{index}")
}

/// A resource that was just created.
pub(crate) fn fresh(size: i64) -> World {
    let resource = Resource {
        api_version: "etcd.database.coreos.com/v1beta2".to_owned(),
        kind: "EtcdCluster".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: NAME.to_owned(),
        uid: UID.to_owned(),
        resource_version: "100".to_owned(),
        generation: 1,
        created: NOW,
        deleted: None,
        finalizers: Vec::new(),
        owner: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        spec: json!({ "size": size, "version": "3.6.16", "pod": { "persistentVolumeClaimSpec": {
            "resources": { "requests": { "storage": "1Gi" } } } } }),
        status: serde_json::Value::Null,
    };
    World {
        status: EtcdClusterStatus::default(),
        snapshot: Snapshot {
            objects: Objects {
                pods: Observed::Seen(Vec::new()),
                volumes: Observed::Seen(Vec::new()),
                services: Observed::Seen(Vec::new()),
                disruption_budgets: Observed::Seen(Vec::new()),
                foreign: Vec::new(),
            },
            operator_image: Some("binnacle:test".to_owned()),
            ..Snapshot::bare(resource, NOW, "00112233445566778899aabbccddeeff".to_owned())
        },
    }
}

/// A healthy cluster of `size` members on volumes, sealed, furnished and at rest. Member 0 leads.
pub(crate) fn healthy(size: usize) -> World {
    let mut world = fresh(i64::try_from(size).unwrap());
    world.status.phase = Phase::Running;
    world.status.cluster_id = Some(CLUSTER);
    let names: Vec<String> = (0..size).map(member).collect();
    world.snapshot.objects.pods = Observed::Seen(names.iter().map(|name| pod(name)).collect());
    world.snapshot.objects.volumes =
        Observed::Seen(names.iter().map(|name| volume(name)).collect());
    world.snapshot.objects.services =
        Observed::Seen(vec![service(NAME, true), service("shop-client", false)]);
    world.snapshot.objects.disruption_budgets = Observed::Seen(vec![budget(size / 2 + 1)]);
    world.snapshot.etcd = EtcdView {
        membership: Observed::Seen(Membership {
            cluster_id: CLUSTER,
            linearizable: true,
            from: member(0),
            members: (0..size).map(row).collect(),
        }),
        endpoints: (0..size).map(endpoint).collect(),
        alarms: Observed::Seen(Vec::new()),
    };
    world.status.member_records = (0..size).map(record).collect();
    world.settle()
}

impl World {
    /// Lets one decision write its status, so that what follows is about the change alone.
    pub(crate) fn settle(mut self) -> Self {
        let decision = self.decide();
        if let Some(status) = written(&decision) {
            self.status = status;
        }
        self
    }

    pub(crate) fn wanting(mut self, size: i64) -> Self {
        self.snapshot.resource.spec["size"] = json!(size);
        self
    }

    pub(crate) fn spec(mut self, key: &str, value: serde_json::Value) -> Self {
        self.snapshot.resource.spec[key] = value;
        self
    }

    pub(crate) fn on_empty_dir(mut self) -> Self {
        self.snapshot.resource.spec["pod"] = json!({});
        self.snapshot.objects.volumes = Observed::Seen(Vec::new());
        for pod in self.pods() {
            pod.claim = None;
        }
        for record in &mut self.status.member_records {
            record.disk = Some(format!("uid-{}", record.name));
        }
        self
    }

    pub(crate) fn pods(&mut self) -> &mut Vec<Pod> {
        match &mut self.snapshot.objects.pods {
            Observed::Seen(pods) => pods,
            Observed::Absent | Observed::Unknown(_) => panic!("no pods in this fixture"),
        }
    }

    pub(crate) fn rows(&mut self) -> &mut Vec<Member> {
        match &mut self.snapshot.etcd.membership {
            Observed::Seen(list) => &mut list.members,
            Observed::Absent | Observed::Unknown(_) => panic!("no list in this fixture"),
        }
    }

    pub(crate) fn without_pod(mut self, index: usize) -> Self {
        self.pods().retain(|pod| pod.name != member(index));
        self.snapshot
            .etcd
            .endpoints
            .retain(|endpoint| endpoint.pod != member(index));
        self
    }

    pub(crate) fn without_volume(mut self, index: usize) -> Self {
        if let Observed::Seen(volumes) = &mut self.snapshot.objects.volumes {
            volumes.retain(|volume| volume.name != member(index));
        }
        self
    }

    /// The pod runs and etcd does not answer.
    pub(crate) fn silent(mut self, index: usize) -> Self {
        for endpoint in &mut self.snapshot.etcd.endpoints {
            if endpoint.pod == member(index) {
                endpoint.status = Observed::Unknown("deadline exceeded".to_owned());
            }
        }
        self
    }

    /// The container ended because the disk is empty.
    pub(crate) fn wiped(mut self, index: usize) -> Self {
        self = self.silent(index);
        let pod = self
            .pods()
            .iter_mut()
            .find(|pod| pod.name == member(index))
            .unwrap();
        pod.running = false;
        pod.ready = false;
        pod.last_exit = Some(contract::LastExit {
            reason: "Error".to_owned(),
            code: 1,
            message: "cannot fetch cluster info from peer urls: could not retrieve".to_owned(),
            at: None,
        });
        self
    }

    /// Nobody confirms the member list.
    pub(crate) fn without_list(mut self) -> Self {
        self.snapshot.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
        for endpoint in &mut self.snapshot.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.leader = None;
            }
        }
        self
    }

    /// Adds a learner that has started, or one that has not.
    pub(crate) fn with_learner(mut self, index: usize, started: bool) -> Self {
        let mut row = row(index);
        row.learner = true;
        if !started {
            row.name = String::new();
        }
        self.rows().push(row);
        if started {
            self.pods().push(pod(&member(index)));
            if let Observed::Seen(volumes) = &mut self.snapshot.objects.volumes {
                volumes.push(volume(&member(index)));
            }
            let mut endpoint = endpoint(index);
            if let Observed::Seen(status) = &mut endpoint.status {
                status.learner = true;
            }
            self.snapshot.etcd.endpoints.push(endpoint);
        }
        self
    }

    /// A learner of this cluster that names a leader which is gone: it never asks for votes, so it does not notice.
    pub(crate) fn with_forgetful_learner(mut self) -> Self {
        let mut learner = endpoint(0);
        learner.pod = FORGETFUL.to_owned();
        learner.pod_uid = format!("uid-of-{FORGETFUL}");
        if let Observed::Seen(status) = &mut learner.status {
            status.learner = true;
            status.leader = Some(MemberId(0xdead));
        }
        self.snapshot.etcd.endpoints.push(learner);
        self
    }

    pub(crate) fn later(mut self, seconds: i64) -> Self {
        self.snapshot.now = Millis(self.snapshot.now.0 + seconds * 1000);
        self
    }

    pub(crate) fn decide(&self) -> Decision {
        let mut snapshot = self.snapshot.clone();
        if self.status != EtcdClusterStatus::default() {
            snapshot.resource.status = serde_json::to_value(&self.status).unwrap();
        }
        let decision = reconciler::reconcile(&snapshot);
        envelope::permit(&decision, &snapshot).unwrap();
        decision
    }
}

/// The status a decision writes.
pub(crate) fn written(decision: &Decision) -> Option<EtcdClusterStatus> {
    decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::UpdateStatus { status } => Some((**status).clone()),
            _ => None,
        })
}

/// What a decision does, in order, without status and events: `Effect kind target`.
pub(crate) fn effects(decision: &Decision) -> Vec<String> {
    decision
        .actions
        .iter()
        .filter(|action| {
            !matches!(
                action.effect,
                Effect::UpdateStatus { .. } | Effect::Event { .. }
            )
        })
        .map(|action| {
            let kind = action.effect.kind().map_or("", ObjectKind::name);
            format!("{} {kind} {}", action.effect.name(), action.effect.target()).replace("  ", " ")
        })
        .collect()
}

/// The claims that are to stay where a decision deletes a pod.
pub(crate) fn claims_of_deletions(decision: &Decision) -> Vec<&str> {
    decision
        .actions
        .iter()
        .filter(|action| action.effect.name() == "Delete")
        .filter_map(|action| action.pre.claim_uid.as_deref())
        .collect()
}

/// Whether a decision reports this reason.
pub(crate) fn reports(decision: &Decision, reason: Reason) -> bool {
    decision
        .report
        .findings
        .iter()
        .any(|finding| finding.reason == reason)
}

fn pod(name: &str) -> Pod {
    let sealed = format!("{name}=http://{name}.{NAME}.{NAMESPACE}.svc:2380");
    Pod {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "1".to_owned(),
        owner: Some(UID.to_owned()),
        labels: names::labels(NAME),
        annotations: BTreeMap::from([
            (names::INITIAL_CLUSTER_ANNOTATION.to_owned(), sealed),
            (
                names::INITIAL_STATE_ANNOTATION.to_owned(),
                "existing".to_owned(),
            ),
        ]),
        created: NOW,
        deleted: None,
        phase: PodPhase::Running,
        ip: Some("10.0.0.1".to_owned()),
        node: Some("n1".to_owned()),
        ready: true,
        ready_since: Some(NOW),
        unschedulable: None,
        waiting: None,
        running: true,
        ran: true,
        restarts: 0,
        last_exit: None,
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        claim: Some(name.to_owned()),
        initial_cluster: None,
        initial_cluster_state: None,
        peer_secret: None,
        server_secret: None,
    }
}

fn volume(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        uid: format!("disk-{name}"),
        resource_version: "1".to_owned(),
        owner: Some(UID.to_owned()),
        labels: names::labels(NAME),
        annotations: BTreeMap::new(),
        created: NOW,
        deleted: None,
        phase: VolumePhase::Bound,
        storage_class: None,
        access_modes: vec!["ReadWriteOnce".to_owned()],
        requested: Some("1Gi".to_owned()),
        capacity: Some("1Gi".to_owned()),
        resize: None,
    }
}

fn service(name: &str, peer: bool) -> Service {
    let port = |name: &str, port: i32| ServicePort {
        name: name.to_owned(),
        port,
    };
    let mut ports = vec![port("client", 2379)];
    if peer {
        ports.push(port("peer", 2380));
    }
    Service {
        name: name.to_owned(),
        uid: format!("service-{name}"),
        resource_version: "1".to_owned(),
        owner: Some(UID.to_owned()),
        labels: names::labels(NAME),
        deleted: None,
        cluster_ip: peer.then(|| "None".to_owned()),
        selector: names::labels(NAME),
        ports,
        publish_not_ready: peer,
    }
}

fn budget(quorum: usize) -> DisruptionBudget {
    DisruptionBudget {
        name: NAME.to_owned(),
        uid: "budget".to_owned(),
        resource_version: "1".to_owned(),
        owner: Some(UID.to_owned()),
        deleted: None,
        min_available: Some(quorum.to_string()),
        selector: names::labels(NAME),
    }
}

pub(crate) fn id(index: usize) -> MemberId {
    MemberId(0xa0 + index as u64)
}

fn row(index: usize) -> Member {
    let name = member(index);
    Member {
        id: id(index),
        peer_urls: vec![format!("http://{name}.{NAME}.{NAMESPACE}.svc:2380")],
        client_urls: vec![format!("http://{name}.{NAME}.{NAMESPACE}.svc:2379")],
        name,
        learner: false,
    }
}

fn endpoint(index: usize) -> Endpoint {
    Endpoint {
        terminating: false,
        pod: member(index),
        pod_uid: format!("uid-{}", member(index)),
        status: Observed::Seen(EndpointStatus {
            cluster_id: CLUSTER,
            member_id: id(index),
            leader: Some(id(0)),
            learner: false,
            version: "3.6.16".to_owned(),
            storage_version: Some("3.6.0".to_owned()),
            downgrade: None,
            raft_term: 2,
            // So long a log has a snapshot.
            raft_index: 1_000_000,
            raft_applied_index: 1_000_000,
            db_size: 20_480,
            db_size_in_use: 16_384,
            quota: None,
            revision: Some(5_000),
            errors: Vec::new(),
            hash_kv: None,
            took: Millis(2),
        }),
    }
}

fn record(index: usize) -> MemberRecord {
    MemberRecord {
        name: member(index),
        id: Some(id(index)),
        role: MemberRole::Voter,
        health: MemberHealth::Healthy,
        since: LONG_AGO.to_owned(),
        role_since: LONG_AGO.to_owned(),
        version: Some("3.6.16".to_owned()),
        image: None,
        disk: Some(format!("disk-{}", member(index))),
        recreations: 0,
        plain_peer: false,
        db_size: Some(20_480),
        raft_lag: 0,
    }
}
