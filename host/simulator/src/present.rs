//! A world as a snapshot shows it, from which the model goes on.
//!
//! What a snapshot does not show is taken to be as it mostly is: nodes have room, images can be pulled, data is where its
//! member is. What stands still in it, stands still here: a member that does not answer goes on not answering, a pod that
//! no node takes finds none, a container that crashes is not started again.

use std::collections::BTreeMap;

use contract::{
    AlarmKind, EndpointStatus, EtcdClusterStatus, ForeignObject, Member as Listed, MemberId,
    MemberRole, Membership, Observed, OldLock, Pod, PodPhase, Secret, Snapshot, Volume, names,
};
use serde::Deserialize;

use crate::etcd::{Data, Found, QUOTA, Row};
use crate::kubernetes::{Claim, Kubernetes, Member, Node, Process};
use crate::plan::Plan;
use crate::release::{self, Release};
use crate::timers::Timer;
use crate::world::World;

/// A container that does not answer is taken to be starting, as long as its pod is no older than this.
const STARTING_MS: i64 = 60_000;
/// Members that serve have done so for so long, unless their pods say otherwise.
const SERVING_MS: i64 = 600_000;
/// etcd's quota where it tells none.
const DEFAULT_QUOTA: i64 = 2 << 30;
/// Nodes there are at least.
const NODES: u32 = 3;

/// What cannot be gone on from, in words.
pub(crate) type Unforeseeable = String;

/// What is as it was found, and stays so.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Secrets that people make.
    pub(crate) secrets: BTreeMap<String, Observed<Secret>>,
    pub(crate) old_lock: Observed<OldLock>,
    pub(crate) foreign: Vec<ForeignObject>,
}

impl Given {
    pub(crate) const fn nothing() -> Self {
        Self {
            secrets: BTreeMap::new(),
            old_lock: Observed::Absent,
            foreign: Vec::new(),
        }
    }
}

impl World {
    /// The world of this snapshot, with whatever is under way in it going on.
    pub(crate) fn present(snapshot: &Snapshot) -> Result<Self, Unforeseeable> {
        let mut world = Self::standing(snapshot)?;
        let Snapshot {
            resource,
            etcd,
            guards,
            ..
        } = snapshot;
        let status = EtcdClusterStatus::deserialize(&resource.status).unwrap_or_default();
        match &etcd.membership {
            Observed::Seen(membership) => {
                world.put_members(membership, &statuses(snapshot), snapshot)
            }
            Observed::Absent | Observed::Unknown(_) if status.cluster_id.is_some() => {
                if !world.kube.pods.is_empty() {
                    return Err("no member answers, so nobody knows who is in the cluster".into());
                }
                world.put_recorded(&status);
            }
            Observed::Absent | Observed::Unknown(_) => {}
        }
        world.guard_as_found(guards, &status);
        world.settle();
        world.changed = true;
        Ok(world)
    }

    /// The objects of this snapshot alone, with empty disks.
    pub(crate) fn standing(snapshot: &Snapshot) -> Result<Self, Unforeseeable> {
        let Snapshot {
            resource,
            objects,
            secrets,
            old_lock,
            now,
            ..
        } = snapshot;
        let kube = Kubernetes::new(resource.clone());
        let mut world = Self::empty(Plan::uneventful(), kube, None);
        world.epoch = now.0;
        world.given.secrets.clone_from(secrets);
        world.given.old_lock.clone_from(old_lock);
        world.given.foreign.clone_from(&objects.foreign);
        for (name, secret) in secrets {
            if let Observed::Seen(secret) = secret {
                world.kube.secrets.insert(name.clone(), secret.clone());
            }
        }
        for service in listed(&objects.services, "Services")? {
            let name = service.name.clone();
            world.kube.services.insert(name, service.clone());
        }
        for budget in listed(&objects.disruption_budgets, "PodDisruptionBudgets")? {
            let name = budget.name.clone();
            world.kube.budgets.insert(name, budget.clone());
        }
        for volume in listed(&objects.volumes, "volume claims")? {
            world.put_claim(volume);
        }
        let status = EtcdClusterStatus::deserialize(&resource.status).unwrap_or_default();
        let token = status.birth.as_ref().map(|birth| birth.token.clone());
        let statuses = statuses(snapshot);
        let mut nodes = BTreeMap::new();
        for pod in listed(&objects.pods, "pods")? {
            let answers = statuses.get(pod.name.as_str()).copied();
            world.put_pod(pod, answers, token.as_deref(), &mut nodes);
        }
        for node in 0..NODES.max(u32::try_from(nodes.len()).unwrap_or(NODES)) {
            world.kube.nodes.insert(node, Node::Up);
        }
        Ok(world)
    }

    fn put_claim(&mut self, volume: &Volume) {
        let number = self.kube.number();
        let claim = Claim {
            api: volume.clone(),
            number,
            node: None,
        };
        self.etcd.disks.insert(number, None);
        self.kube.claims.insert(volume.name.clone(), claim);
    }

    fn put_pod(
        &mut self,
        pod: &Pod,
        answers: Option<&EndpointStatus>,
        token: Option<&str>,
        nodes: &mut BTreeMap<String, u32>,
    ) {
        let number = self.kube.number();
        let node = pod.node.as_ref().map(|node| {
            let next = u32::try_from(nodes.len()).unwrap_or_default();
            *nodes.entry(node.clone()).or_insert(next)
        });
        let claim = pod.claim.as_ref();
        let claimed = claim.and_then(|claim| self.kube.claims.get(claim));
        let disk = claimed.map_or(number, |claim| claim.number);
        let is_young = self.epoch - pod.created.0 <= STARTING_MS;
        let serving_for = pod
            .ready_since
            .filter(|_| pod.ready)
            .map_or(SERVING_MS, |since| self.epoch - since.0);
        // What is only just starting is started here, so that it finds or makes its data.
        let is_up = pod.running && (answers.is_some() || !is_young);
        let process = is_up.then(|| Process {
            started: -serving_for,
            serves: Some(-serving_for),
            fed: None,
            synced: answers.is_some_and(|status| status.leader.is_some()),
            release: answers
                .and_then(|status| Release::read(&status.version))
                .unwrap_or_else(|| Release::of_image(&pod.image)),
            frozen: answers.is_none(),
        });
        self.etcd.disks.entry(disk).or_insert(None);
        self.kube.pods.insert(
            pod.name.clone(),
            Member {
                api: pod.clone(),
                number,
                token: token.unwrap_or("etcd-cluster").to_owned(),
                fills: None,
                node,
                disk: node.map(|_| disk),
                process,
                runs: pod.restarts + u32::from(pod.ran),
                failures: 0,
                swaps: false,
                versions: 0,
            },
        );
        self.go_on(pod, number, process);
    }

    /// Sets the timer of what the pod's kubelet or the scheduler is at.
    fn go_on(&mut self, pod: &Pod, number: u32, process: Option<Process>) {
        let stands = pod.waiting.as_deref().is_some_and(|why| {
            ["BackOff", "Err", "Invalid"]
                .iter()
                .any(|word| why.contains(word))
        });
        let timer = match process {
            _ if pod.deleted.is_some() => Timer::Gone(number),
            _ if matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed) => return,
            Some(process) if !process.synced && !process.frozen => Timer::Sync(number, 1),
            Some(_) => return,
            None if pod.unschedulable.is_some() || stands => return,
            None if pod.running => Timer::Start(number),
            None if pod.node.is_none() => Timer::Schedule(number),
            None => Timer::Pull(number),
        };
        self.after(50, 500, timer);
    }

    /// Gives each member of the list its data, as large as it says it is.
    fn put_members(
        &mut self,
        membership: &Membership,
        statuses: &BTreeMap<&str, &EndpointStatus>,
        snapshot: &Snapshot,
    ) {
        let rows: Vec<Row> = membership.members.iter().map(row).collect();
        let minors = statuses.values().filter_map(|status| minor(status));
        let found = Found {
            cluster: membership.cluster_id,
            rows,
            minor: minors.min(),
            downgrade: statuses.values().find_map(|status| {
                let target = status.downgrade.as_deref().and_then(Release::read)?;
                Some(target.minor)
            }),
            alarms: alarms(snapshot),
        };
        for member in &membership.members {
            let name = name_of(member);
            let url = member.peer_urls.first().cloned().unwrap_or_default();
            self.etcd.know(member.id, name.to_owned(), url);
            let status = statuses
                .values()
                .find(|status| status.member_id == member.id);
            let has_data = status.is_some() || !member.name.is_empty();
            let (file, in_use) = status.map_or((0, 0), |status| sizes(status));
            if has_data && let Some(disk) = self.disk_of(name) {
                let data = Data::present(&found, member.id, in_use, file);
                self.etcd.disks.insert(disk, Some(data));
            }
        }
        let leader = statuses.values().find_map(|status| status.leader);
        if let Some(leader) = leader.filter(|_| membership.linearizable) {
            self.etcd.lead(membership.cluster_id, leader);
        }
    }

    /// A cluster of which nothing runs: its members are those that the status remembers.
    fn put_recorded(&mut self, status: &EtcdClusterStatus) {
        let Some(cluster) = status.cluster_id else {
            return;
        };
        let known = status.member_records.iter();
        let known: Vec<(MemberId, &str, Row)> = known
            .filter_map(|record| {
                let id = record.id?;
                let row = Row {
                    id,
                    learner: record.role == MemberRole::Learner,
                    started: true,
                };
                Some((id, record.name.as_str(), row))
            })
            .collect();
        let found = Found {
            cluster,
            rows: known.iter().map(|(_, _, row)| *row).collect(),
            minor: Release::read(&status.current_version).map(|release| release.minor),
            downgrade: None,
            alarms: Vec::new(),
        };
        let resource = &self.kube.resource;
        let host = format!(
            "{}.{}.svc",
            names::peer_service(&resource.name),
            resource.namespace
        );
        for (id, name, _) in known {
            let url = format!("http://{name}.{host}:{}", names::PEER_PORT);
            self.etcd.know(id, name.to_owned(), url);
            if let Some(disk) = self.disk_of(name) {
                let data = Data::present(&found, id, 0, 0);
                self.etcd.disks.insert(disk, Some(data));
            }
        }
    }

    /// That of the member's claim, or of its pod where data lives in pods.
    fn disk_of(&self, name: &str) -> Option<u32> {
        let pod = self.kube.pods.get(name);
        match self.kube.claims.get(name) {
            Some(claim) => Some(claim.number),
            None => pod
                .filter(|pod| pod.api.claim.is_none())
                .map(|pod| pod.number),
        }
    }
}

/// What each pod's member says of itself.
fn statuses(snapshot: &Snapshot) -> BTreeMap<&str, &EndpointStatus> {
    let endpoints = snapshot.etcd.endpoints.iter();
    endpoints
        .filter_map(|endpoint| Some((endpoint.pod.as_str(), endpoint.status.seen()?)))
        .collect()
}

fn listed<'a, T>(seen: &'a Observed<Vec<T>>, what: &str) -> Result<&'a [T], Unforeseeable> {
    match seen {
        Observed::Seen(objects) => Ok(objects),
        Observed::Absent => Ok(&[]),
        Observed::Unknown(why) => Err(format!("the {what} could not be read ({why})")),
    }
}

const fn row(member: &Listed) -> Row {
    Row {
        id: member.id,
        learner: member.learner,
        started: !member.name.is_empty(),
    }
}

fn name_of(member: &Listed) -> &str {
    let url = member.peer_urls.first().map(String::as_str);
    let told = Some(member.name.as_str()).filter(|name| !name.is_empty());
    told.or_else(|| names::member_of_url(url?))
        .unwrap_or_default()
}

/// The minor version that the member's cluster has taken on, as far as it says.
fn minor(status: &EndpointStatus) -> Option<u64> {
    let told = status.storage_version.as_deref().and_then(Release::read);
    told.or_else(|| Release::read(&status.version))
        .map(|release| release.minor)
}

/// The file and what of it is in use, to the scale of the model's quota.
fn sizes(status: &EndpointStatus) -> (i64, i64) {
    let quota = i128::from(status.quota.unwrap_or(DEFAULT_QUOTA).max(1));
    let scaled = |bytes: i64| {
        i64::try_from(i128::from(bytes) * i128::from(QUOTA) / quota).unwrap_or(i64::MAX)
    };
    (scaled(status.db_size), scaled(status.db_size_in_use))
}

fn alarms(snapshot: &Snapshot) -> Vec<MemberId> {
    let alarms = snapshot.etcd.alarms.seen().into_iter().flatten();
    alarms
        .filter(|alarm| alarm.kind == AlarmKind::Nospace)
        .filter_map(|alarm| alarm.member)
        .collect()
}

impl Plan {
    /// One in which nothing goes wrong and nobody edits.
    fn uneventful() -> Self {
        Self {
            seed: 1,
            size: 0,
            version: Some(release::DEFAULT),
            through: false,
            claims: false,
            local: false,
            tls: false,
            old: None,
            numbered: false,
            faults: Vec::new(),
            mishaps: Vec::new(),
        }
    }
}
