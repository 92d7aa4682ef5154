//! A cluster that the archived operator of the second dialect left: ReplicaSets keep its members' pods, claims are nobody's,
//! and nothing of it is recorded.

use std::collections::BTreeMap;

use contract::{Dialect, OldSet, Pod, PodPhase, Service, ServicePort, Volume, VolumePhase, names};

use crate::etcd::{Flags, Start};
use crate::kubernetes::{Claim, Kubernetes, Member, Process};
use crate::release;
use crate::timers::Timer;
use crate::world::{NAME, World};

const DIALECT: Dialect = Dialect::Improbable;
/// Label that the archived operator did not have.
const UNKNOWN: &str = names::APP_LABEL;

impl Member {
    /// The name that its etcd has: pods of ReplicaSets have names of their own.
    pub(crate) fn member(&self) -> &str {
        let label = self.api.labels.get(DIALECT.member_label());
        label.map_or(self.api.name.as_str(), String::as_str)
    }

    /// Whether a ReplicaSet made it.
    pub(crate) fn is_kept(&self) -> bool {
        self.api.labels.contains_key(DIALECT.member_label())
            && !self.api.labels.contains_key(UNKNOWN)
    }
}

impl Kubernetes {
    /// The pod in which the member of that name runs.
    pub(crate) fn pod_of(&self, member: &str) -> Option<&Member> {
        let mut pods = self.pods.values();
        self.pods
            .get(member)
            .or_else(|| pods.find(|pod| pod.is_kept() && pod.member() == member))
    }
}

impl World {
    /// Puts such a cluster of the plan's size into the world, with a leader.
    pub(crate) fn leave_kept_cluster(&mut self) {
        let members: Vec<String> = (0..self.plan.size)
            .map(|number| format!("{NAME}-{number}"))
            .collect();
        let initial_cluster = self.founders();
        for (name, index) in members.iter().zip(0..) {
            let node = self.plan.local.then_some(index % 3);
            let disk = self.leave_kept_claim(name, node);
            self.etcd.disks.insert(disk, None);
            let number = self.kube.number();
            let set = OldSet {
                name: name.clone(),
                uid: format!("uid-{number}"),
                owner: Some(format!("uid-peer-{name}")),
            };
            self.kube.sets.insert(name.clone(), set);
            let flags = Flags {
                state: "new",
                initial_cluster: &initial_cluster,
                token: NAME,
                minor: self.plan.version.unwrap_or(release::DEFAULT).minor,
                alone: false,
            };
            let start = self.etcd.start(disk, name, &flags, &[]);
            debug_assert!(
                matches!(start, Start::Runs),
                "an empty disk founds a cluster"
            );
            let number = self.make_kept_pod(name, &initial_cluster);
            self.let_run(number, disk, index % 3);
        }
        self.leave_service();
        let founded = self.etcd.disks.values().flatten().next();
        self.founded = founded.map(|data| data.cluster);
        if let Some(cluster) = self.founded {
            self.elect(cluster);
        }
    }

    /// `--initial-cluster` of its members.
    fn founders(&self) -> String {
        let members = (0..self.plan.size).map(|number| format!("{NAME}-{number}"));
        let entries = members.map(|name| format!("{name}=http://{name}.{NAME}.ns.svc:2380"));
        entries.collect::<Vec<_>>().join(",")
    }

    fn leave_kept_claim(&mut self, name: &str, node: Option<u32>) -> u32 {
        let number = self.kube.number();
        let uid = format!("uid-{number}");
        let api = Volume {
            name: name.to_owned(),
            resource_version: uid.clone(),
            uid,
            owner: None,
            labels: labels(Some(name)),
            annotations: BTreeMap::new(),
            created: self.clock(),
            deleted: None,
            phase: VolumePhase::Bound,
            storage_class: None,
            access_modes: vec!["ReadWriteOnce".to_owned()],
            requested: Some("1Gi".to_owned()),
            capacity: None,
            resize: None,
        };
        let claim = Claim { api, number, node };
        self.kube.claims.insert(name.to_owned(), claim);
        number
    }

    /// A pod as its ReplicaSet makes it, which nobody has scheduled yet.
    fn make_kept_pod(&mut self, member: &str, initial_cluster: &str) -> u32 {
        let number = self.kube.number();
        let release = self.plan.version.unwrap_or(release::DEFAULT);
        let api = Pod {
            name: format!("{member}-{number:05}"),
            uid: format!("uid-{number}"),
            resource_version: number.to_string(),
            owner: self.kube.sets.get(member).map(|set| set.uid.clone()),
            labels: labels(Some(member)),
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
            claim: Some(member.to_owned()),
            initial_cluster: Some(initial_cluster.to_owned()),
            initial_cluster_state: Some("new".to_owned()),
            peer_secret: None,
            server_secret: None,
        };
        let pod = Member {
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
        };
        self.kube.pods.insert(pod.api.name.clone(), pod);
        number
    }

    /// The pod runs, and has for a while.
    fn let_run(&mut self, number: u32, disk: u32, node: u32) {
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

    fn leave_service(&mut self) {
        let number = self.kube.number();
        let port = |name: &str, port| ServicePort {
            name: name.to_owned(),
            port,
        };
        let service = Service {
            name: names::peer_service(NAME),
            uid: format!("uid-{number}"),
            resource_version: number.to_string(),
            owner: Some(self.kube.resource.uid.clone()),
            labels: labels(None),
            deleted: None,
            cluster_ip: Some("None".to_owned()),
            selector: labels(None),
            ports: vec![
                port(DIALECT.client_port_name(), names::CLIENT_PORT),
                port(DIALECT.peer_port_name(), names::PEER_PORT),
            ],
            publish_not_ready: true,
        };
        self.kube.services.insert(service.name.clone(), service);
    }

    /// A ReplicaSet goes, and before long its pod does.
    pub(crate) fn retire(&mut self, set: &str) {
        self.kube.sets.remove(set);
        self.changed = true;
        self.after(20, 3_000, Timer::ReplicaSets);
    }

    /// What the controllers do: pods whose ReplicaSet is gone go, and a ReplicaSet without a pod makes one.
    pub(crate) fn keep_pods(&mut self) {
        let kept = self.kube.pods.values().filter(|pod| pod.is_kept());
        let is_orphan = |pod: &&Member| !self.kube.sets.contains_key(pod.member());
        let orphans: Vec<String> = kept
            .filter(is_orphan)
            .filter(|pod| pod.api.deleted.is_none())
            .map(|pod| pod.api.name.clone())
            .collect();
        for name in orphans {
            self.delete_pod(&name, None);
        }
        let has_pod = |member: &&String| {
            let mut pods = self.kube.pods.values();
            pods.any(|pod| pod.member() == member.as_str())
        };
        let empty: Vec<String> = self
            .kube
            .sets
            .keys()
            .filter(|member| !has_pod(member))
            .cloned()
            .collect();
        for member in empty {
            let initial_cluster = self.founders();
            let number = self.make_kept_pod(&member, &initial_cluster);
            self.changed = true;
            self.after(20, 300, Timer::Schedule(number));
        }
    }
}

fn labels(member: Option<&str>) -> BTreeMap<String, String> {
    let mut labels = DIALECT.labels(NAME);
    labels.remove(UNKNOWN);
    let label = member.map(|member| (DIALECT.member_label().to_owned(), member.to_owned()));
    labels.extend(label);
    labels
}
