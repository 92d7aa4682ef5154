//! A cluster that the archived operator of the second dialect left: ReplicaSets keep its members' pods, claims are nobody's,
//! and nothing of it is recorded.

use std::collections::BTreeMap;

use contract::{Dialect, OldSet, Service, ServicePort, names};

use crate::etcd::{Flags, Start};
use crate::kubernetes::{Kubernetes, Member};
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
            let disk = self.leave_claim(name, node, None, labels(Some(name)));
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

    /// A pod as its ReplicaSet makes it, which nobody has scheduled yet.
    fn make_kept_pod(&mut self, member: &str, initial_cluster: &str) -> u32 {
        let number = self.kube.number();
        let name = format!("{member}-{number:05}");
        let mut pod = self.left_member(name.clone(), number, initial_cluster);
        pod.api.owner = self.kube.sets.get(member).map(|set| set.uid.clone());
        pod.api.labels = labels(Some(member));
        pod.api.claim = Some(member.to_owned());
        self.kube.pods.insert(name, pod);
        number
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
