//! Kubernetes: pods, claims, nodes, Services, the budget, and the resource, as the API server and the kubelets have them.
//!
//! Owns the objects and what the operator's reads see of them. How an applied object reads is [`projection`]'s, when
//! things happen is the world's business, what etcd does with its data is [`crate::etcd`]'s.

mod projection;

use std::collections::BTreeMap;

use contract::{
    Child, DisruptionBudget, Millis, Observed, OldSet, Pod, PodPhase, Resource, Service, TlsRole,
    Volume, names,
};
use envelope::ObjectHead;
use k8s_openapi::api::core::v1 as core;

use self::projection::{Metadata, budget, service, volume};
use crate::release::Release;
use crate::secrets;

/// A pod with what its kubelet knows.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// What the API server has.
    pub(crate) api: Pod,
    /// The number in its uid.
    pub(crate) number: u32,
    pub(crate) token: String,
    /// What its disk is filled for before etcd starts.
    pub(crate) fills: Option<Filling>,
    /// Where it runs.
    pub(crate) node: Option<u32>,
    /// The number of its disk, once it is there.
    pub(crate) disk: Option<u32>,
    pub(crate) process: Option<Process>,
    /// How often its container was started.
    pub(crate) runs: u32,
    /// How often in a row it ended.
    pub(crate) failures: u32,
    /// Its image was changed, and its container has not been started since.
    pub(crate) swaps: bool,
    /// How often the API server wrote it.
    pub(crate) versions: u32,
}

/// A running container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) started: i64,
    /// It serves since then.
    pub(crate) serves: Option<i64>,
    pub(crate) synced: bool,
    /// The index of the snapshot in which it got its data.
    pub(crate) fed: Option<u64>,
    pub(crate) release: Release,
    /// Somebody stopped it.
    pub(crate) frozen: bool,
}

/// A claim with its volume.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) api: Volume,
    /// The number in its uid; also that of its disk.
    pub(crate) number: u32,
    /// Where the disk is, for a local one.
    pub(crate) node: Option<u32>,
}

/// A node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Up,
    /// Nobody reaches it; what runs there goes on.
    Cut,
    /// Nothing runs there.
    Down,
}

/// All objects.
#[derive(Clone, Debug)]
pub(crate) struct Kubernetes {
    pub(crate) resource: Resource,
    pub(crate) pods: BTreeMap<String, Member>,
    pub(crate) claims: BTreeMap<String, Claim>,
    pub(crate) services: BTreeMap<String, Service>,
    pub(crate) budgets: BTreeMap<String, DisruptionBudget>,
    pub(crate) secrets: BTreeMap<String, contract::Secret>,
    /// Of the archived operator.
    pub(crate) sets: BTreeMap<String, OldSet>,
    pub(crate) nodes: BTreeMap<u32, Node>,
    /// The node whose members reach no others.
    pub(crate) split: Option<u32>,
    /// Nodes of whose members the operator reaches none, by the faults that bring it about.
    pub(crate) unheard: BTreeMap<usize, u32>,
    counter: u32,
}

impl Kubernetes {
    pub(crate) fn new(resource: Resource) -> Self {
        Self {
            resource,
            pods: BTreeMap::new(),
            claims: BTreeMap::new(),
            services: BTreeMap::new(),
            budgets: BTreeMap::new(),
            secrets: BTreeMap::new(),
            sets: BTreeMap::new(),
            nodes: BTreeMap::from([(0, Node::Up), (1, Node::Up), (2, Node::Up)]),
            split: None,
            unheard: BTreeMap::new(),
            counter: 0,
        }
    }

    /// A number nobody had before, for uids and versions.
    pub(crate) fn number(&mut self) -> u32 {
        self.counter += 1;
        self.counter
    }

    pub(crate) fn pod_numbered(&mut self, number: u32) -> Option<&mut Member> {
        self.pods.values_mut().find(|pod| pod.number == number)
    }

    /// Whether others reach what runs on the pod's node.
    pub(crate) fn is_reachable(&self, pod: &Member) -> bool {
        pod.node.and_then(|node| self.nodes.get(&node)) == Some(&Node::Up)
    }

    /// Whether what runs there reaches its peers, and they it.
    pub(crate) fn is_among_peers(&self, pod: &Member) -> bool {
        self.is_reachable(pod) && !self.is_split(pod)
    }

    /// Whether the operator reaches what runs there.
    pub(crate) fn is_heard(&self, pod: &Member) -> bool {
        let mut unheard = self.unheard.values();
        self.is_reachable(pod) && !unheard.any(|node| pod.node == Some(*node))
    }

    /// Whether members there reach no others.
    pub(crate) fn is_split(&self, pod: &Member) -> bool {
        self.split.is_some() && pod.node == self.split
    }

    pub(crate) fn head(&self, kind: contract::ObjectKind, name: &str) -> Observed<ObjectHead> {
        use contract::ObjectKind as Kind;
        let head = match kind {
            Kind::Pod => self.pods.get(name).map(|pod| ObjectHead {
                uid: pod.api.uid.clone(),
                resource_version: pod.api.resource_version.clone(),
                owner: pod.api.owner.clone(),
                running: pod.api.running,
                restarts: pod.api.is_about_to_restart(),
                ran: pod.api.ran,
                deleted: pod.api.deleted.is_some(),
                ended: matches!(pod.api.phase, PodPhase::Succeeded | PodPhase::Failed),
                claim: pod.api.claim.clone(),
                founds: pod.api.initial_cluster_state.as_deref() == Some("new"),
            }),
            Kind::PersistentVolumeClaim => self.claims.get(name).map(|claim| ObjectHead {
                uid: claim.api.uid.clone(),
                owner: claim.api.owner.clone(),
                deleted: claim.api.deleted.is_some(),
                ..ObjectHead::default()
            }),
            Kind::Service => self.services.get(name).map(|service| ObjectHead {
                uid: service.uid.clone(),
                owner: service.owner.clone(),
                ..ObjectHead::default()
            }),
            Kind::PodDisruptionBudget => self.budgets.get(name).map(|budget| ObjectHead {
                uid: budget.uid.clone(),
                resource_version: budget.resource_version.clone(),
                owner: budget.owner.clone(),
                ..ObjectHead::default()
            }),
            Kind::ReplicaSet => self.sets.get(name).map(|set| ObjectHead {
                uid: set.uid.clone(),
                owner: set.owner.clone(),
                ..ObjectHead::default()
            }),
            Kind::Secret => self.secrets.get(name).map(|secret| ObjectHead {
                uid: secret.uid.clone(),
                owner: secret.owner.clone(),
                ..ObjectHead::default()
            }),
        };
        head.map_or(Observed::Absent, Observed::Seen)
    }

    /// Server-side apply. Says the number of a pod that is new.
    pub(crate) fn apply(&mut self, child: &Child, now: i64) -> Option<u32> {
        let number = self.number();
        let uid = format!("uid-{number}");
        let name = child.name().to_owned();
        match child {
            Child::Pod(pod) => match self.pods.get_mut(&name) {
                Some(found) => {
                    found
                        .api
                        .annotations
                        .extend(pod.metadata.annotations.clone().unwrap_or_default());
                    found.refresh();
                    None
                }
                None => {
                    self.pods.insert(name, Member::new(pod, number, now));
                    Some(number)
                }
            },
            Child::PersistentVolumeClaim(claim) => {
                let api = volume(claim, uid, now);
                match self.claims.get_mut(&name) {
                    Some(found) => {
                        // What others annotate stays.
                        let own = |key: &String| key.starts_with(contract::GROUP);
                        found.api.annotations.retain(|key, _| !own(key));
                        found.api.annotations.extend(api.annotations);
                        found.grow(api.requested, number);
                    }
                    None => {
                        let node = None;
                        self.claims.insert(name, Claim { api, number, node });
                    }
                }
                None
            }
            Child::Service(object) => {
                let kept = self.services.get(&name).map(|found| found.uid.clone());
                self.services
                    .insert(name, service(object, kept.unwrap_or(uid), number));
                None
            }
            Child::PodDisruptionBudget(object) => {
                let kept = self.budgets.get(&name).map(|found| found.uid.clone());
                self.budgets
                    .insert(name, budget(object, kept.unwrap_or(uid), number));
                None
            }
        }
    }
}

impl Claim {
    /// Its volume is asked to be as large.
    fn grow(&mut self, requested: Option<String>, version: u32) {
        if self.api.requested != requested {
            self.api.resource_version = version.to_string();
            self.api.requested = requested;
        }
    }
}

/// The token that the containers before etcd are given, where there are such.
/// The cluster for which a disk is filled from a backup, as etcd's tool is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    /// `--initial-cluster-token`.
    pub(crate) token: String,
    /// `--initial-cluster`.
    pub(crate) initial_cluster: String,
}

fn fills(spec: Option<&core::PodSpec>) -> Option<Filling> {
    let containers = spec?.init_containers.iter().flatten();
    let arguments: Vec<&String> = containers
        .flat_map(|container| container.args.iter().flatten())
        .collect();
    let value = |flag: &str| {
        let mut values = arguments.iter().filter_map(|word| word.strip_prefix(flag));
        values.next().map(str::to_owned)
    };
    Some(Filling {
        token: value("--initial-cluster-token=")?,
        initial_cluster: value("--initial-cluster=")?,
    })
}

impl Member {
    fn new(pod: &core::Pod, number: u32, now: i64) -> Self {
        let spec = pod.spec.as_ref();
        let container = spec.and_then(|spec| spec.containers.first());
        let claim = spec
            .and_then(|spec| spec.volumes.as_ref())
            .into_iter()
            .flatten()
            .find_map(|volume| {
                volume
                    .persistent_volume_claim
                    .as_ref()
                    .map(|claim| claim.claim_name.clone())
            });
        let arguments = container
            .and_then(|container| container.args.as_ref())
            .into_iter()
            .flatten();
        let command = container
            .and_then(|container| container.command.as_ref())
            .into_iter()
            .flatten();
        let token = arguments
            .chain(command)
            .find_map(|word| word.strip_prefix("--initial-cluster-token="));
        let metadata = Metadata::of(&pod.metadata);
        let mut member = Self {
            number,
            token: token.unwrap_or("etcd-cluster").to_owned(),
            fills: fills(spec),
            node: None,
            disk: None,
            process: None,
            runs: 0,
            failures: 0,
            swaps: false,
            versions: 0,
            api: Pod {
                name: metadata.name,
                uid: format!("uid-{number}"),
                resource_version: number.to_string(),
                owner: metadata.owner,
                labels: metadata.labels,
                annotations: metadata.annotations,
                created: Millis(now),
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
                image: container
                    .and_then(|container| container.image.clone())
                    .unwrap_or_default(),
                claim,
                initial_cluster: None,
                initial_cluster_state: None,
                peer_secret: secrets::of_pod(pod, TlsRole::Peer),
                server_secret: secrets::of_pod(pod, TlsRole::Server),
            },
        };
        member.refresh();
        member
    }

    /// Whether its kubelet ended it for good. What becomes of pods of the archived operator is for others.
    pub(crate) fn is_evicted(&self) -> bool {
        self.api.phase == PodPhase::Failed && !self.is_old()
    }

    /// It has another version at the API server.
    pub(crate) fn touch(&mut self) {
        self.versions += 1;
        self.api.resource_version = format!("{}.{}", self.number, self.versions);
    }

    /// Fields of the projection that follow the annotations.
    pub(crate) fn refresh(&mut self) {
        self.api.initial_cluster = self
            .api
            .annotations
            .get(names::INITIAL_CLUSTER_ANNOTATION)
            .cloned();
        self.api.initial_cluster_state = self
            .api
            .annotations
            .get(names::INITIAL_STATE_ANNOTATION)
            .cloned();
        self.touch();
    }
}
