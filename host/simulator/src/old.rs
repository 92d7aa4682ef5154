//! A cluster that the archived operator left: it runs, and nothing of it is recorded.
//!
//! Its pods have their start in their arguments and are never restarted by their kubelets. What members of both dialects'
//! archived operators have in common is made here; those that ReplicaSets keep are [`crate::kept`]'s.

use std::collections::BTreeMap;

use contract::{Pod, PodPhase, Service, ServicePort, Volume, VolumePhase, names};
use serde_json::json;

use crate::etcd::{Flags, Start};
use crate::kubernetes::{Claim, Member, Process};
use crate::release;
use crate::world::{NAME, World};

const TOKEN: &str = "5d6c1a52-0000-4000-8000-000000000000";

impl Member {
    /// Whether the archived operator of the first dialect made it, so that its container is never started again.
    pub(crate) fn is_old(&self) -> bool {
        !self.is_kept()
            && !self
                .api
                .annotations
                .contains_key(names::INITIAL_CLUSTER_ANNOTATION)
    }
}

impl World {
    /// Puts such a cluster of the plan's size into the world, with a leader.
    pub(crate) fn leave_old_cluster(&mut self, renew: bool) {
        let size = u32::try_from(self.plan.size).unwrap_or_default();
        let members: Vec<String> = (0..size)
            .map(|index| format!("{NAME}-{index:04}"))
            .collect();
        let entries: Vec<String> = members
            .iter()
            .map(|name| format!("{name}=http://{name}.{NAME}.ns.svc:2380"))
            .collect();
        let initial_cluster = entries.join(",");
        for (name, index) in members.iter().zip(0..) {
            self.leave_old_member(name, index, &initial_cluster);
        }
        for name in [names::peer_service(NAME), names::client_service(NAME)] {
            let service = self.old_service(name);
            self.kube.services.insert(service.name.clone(), service);
        }
        self.kube.resource.status = json!({
            "phase": "Running", "size": size, "serviceName": names::client_service(NAME), "clientPort": 2379,
            "members": {"ready": members}, "currentVersion": self.plan.version.unwrap_or(release::DEFAULT).to_string(), "targetVersion": "",
        });
        if renew {
            self.kube.resource.annotations = [(
                names::OLD_PODS_ANNOTATION.to_owned(),
                names::RENEW.to_owned(),
            )]
            .into();
        }
        let founded = self.etcd.disks.values().flatten().next();
        self.founded = founded.map(|data| data.cluster);
        if let Some(cluster) = self.founded {
            self.elect(cluster);
        }
    }

    fn leave_old_member(&mut self, name: &str, node: u32, initial_cluster: &str) {
        let number = self.kube.number();
        let release = self.plan.version.unwrap_or(release::DEFAULT);
        let owner = Some(self.kube.resource.uid.clone());
        let claims = self.plan.claims;
        let local = self.plan.local;
        let disk = if claims {
            let node = local.then_some(node % 3);
            self.leave_claim(name, node, owner.clone(), names::labels(NAME))
        } else {
            number
        };
        self.etcd.disks.insert(disk, None);
        let flags = Flags {
            state: "new",
            initial_cluster,
            token: TOKEN,
            minor: release.minor,
            alone: false,
        };
        let start = self.etcd.start(disk, name, &flags, &[]);
        debug_assert!(
            matches!(start, Start::Runs),
            "an empty disk founds a cluster"
        );
        let mut member = self.left_member(name.to_owned(), number, initial_cluster);
        TOKEN.clone_into(&mut member.token);
        member.api.owner = owner;
        member.api.labels = names::labels(NAME);
        let version = (names::VERSION_ANNOTATION.to_owned(), release.to_string());
        member.api.annotations = BTreeMap::from([version]);
        member.api.claim = claims.then(|| name.to_owned());
        self.kube.pods.insert(name.to_owned(), member);
        self.let_run(number, disk, node % 3);
    }

    /// A member of either archived operator, in a pod that nobody has scheduled yet.
    pub(crate) fn left_member(&self, name: String, number: u32, initial_cluster: &str) -> Member {
        let release = self.plan.version.unwrap_or(release::DEFAULT);
        let api = Pod {
            name,
            uid: format!("uid-{number}"),
            resource_version: number.to_string(),
            owner: None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            created: self.clock(),
            deleted: None,
            phase: PodPhase::Pending,
            ip: None,
            node: None,
            ready: false,
            ready_since: None,
            unschedulable: None,
            waiting: None,
            running: false,
            ran: false,
            restarts: 0,
            last_exit: None,
            image: format!("quay.io/coreos/etcd:v{release}"),
            claim: None,
            initial_cluster: Some(initial_cluster.to_owned()),
            initial_cluster_state: Some("new".to_owned()),
            peer_secret: None,
            server_secret: None,
        };
        Member {
            api,
            number,
            fills: None,
            token: NAME.to_owned(),
            node: None,
            disk: None,
            process: None,
            runs: 0,
            failures: 0,
            swaps: false,
            versions: 0,
        }
    }

    /// The pod runs, and has for a while.
    pub(crate) fn let_run(&mut self, number: u32, disk: u32, node: u32) {
        let (clock, release) = (self.clock(), self.plan.version.unwrap_or(release::DEFAULT));
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        pod.node = Some(node);
        pod.disk = Some(disk);
        pod.runs = 1;
        pod.process = Some(Process {
            started: 0,
            serves: Some(0),
            fed: None,
            synced: true,
            release,
            frozen: false,
        });
        pod.api.node = Some(format!("node-{node}"));
        pod.api.ip = Some(format!("10.244.0.{}", number % 250));
        pod.api.phase = PodPhase::Running;
        pod.api.running = true;
        pod.api.ran = true;
        pod.api.ready = true;
        pod.api.ready_since = Some(clock);
    }

    /// A bound claim. Says the number of its disk.
    pub(crate) fn leave_claim(
        &mut self,
        name: &str,
        node: Option<u32>,
        owner: Option<String>,
        labels: BTreeMap<String, String>,
    ) -> u32 {
        let number = self.kube.number();
        let uid = format!("uid-{number}");
        let api = Volume {
            name: name.to_owned(),
            resource_version: uid.clone(),
            uid,
            owner,
            labels,
            annotations: BTreeMap::new(),
            created: self.clock(),
            deleted: None,
            phase: VolumePhase::Bound,
            storage_class: None,
            access_modes: vec!["ReadWriteOnce".to_owned()],
            requested: Some("1Gi".to_owned()),
            capacity: Some("1Gi".to_owned()),
            resize: None,
        };
        let claim = Claim { api, number, node };
        self.kube.claims.insert(name.to_owned(), claim);
        number
    }

    fn old_service(&mut self, name: String) -> Service {
        let number = self.kube.number();
        let is_peers = name == names::peer_service(NAME);
        let port = |name: &str, port| ServicePort {
            name: name.to_owned(),
            port,
        };
        let peer = is_peers.then(|| port("peer", names::PEER_PORT));
        Service {
            name,
            uid: format!("uid-{number}"),
            resource_version: number.to_string(),
            owner: Some(self.kube.resource.uid.clone()),
            labels: names::labels(NAME),
            deleted: None,
            cluster_ip: Some(if is_peers { "None" } else { "10.96.0.7" }.to_owned()),
            selector: names::labels(NAME),
            ports: std::iter::once(port("client", names::CLIENT_PORT))
                .chain(peer)
                .collect(),
            publish_not_ready: false,
        }
    }

    /// The container of an old pod ended, or its node was down: nobody starts it again.
    pub(crate) fn end_old_pod(&mut self, number: u32) {
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        pod.process = None;
        pod.api.running = false;
        pod.api.ready = false;
        pod.api.phase = PodPhase::Failed;
        self.changed = true;
        self.settle();
    }
}
