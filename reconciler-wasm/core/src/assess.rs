//! Joins spec, objects, member list and memory into one situation.
//!
//! Owns what a member's health and disk are; decides nothing. A fact that could not be read stays unknown.

mod estranged;
mod member;
mod pod;

use std::collections::BTreeMap;

use contract::{
    Birth, ClusterId, EtcdClusterStatus, MemberId, Membership, Millis, Observed, Pod, Resource,
    Snapshot, Volume, names,
};

pub(crate) use member::{Disk, Health, Member};
pub(crate) use pod::{has_ended, is_out_of_memory, says_no_data};

use crate::quorum::Votes;
use crate::validate::Cluster;

/// Everything a step may look at.
pub(crate) struct Situation<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) memory: &'a EtcdClusterStatus,
    pub(crate) stage: Stage<'a>,
}

impl Situation<'_> {
    /// Whether the pod is a member's and has lost the owner by which it is known.
    pub(crate) fn is_estranged(&self, pod: &Pod) -> bool {
        estranged::is_estranged(self.snapshot, self.memory, pod)
    }
}

/// Where a cluster is in its life.
pub(crate) enum Stage<'a> {
    /// Objects could not be read, so nothing is known.
    Unreadable { kind: &'static str, why: &'a str },
    /// Nothing of it exists yet.
    Unborn,
    /// Objects of it exist, but neither a plan nor a cluster id is recorded.
    Unrecorded(Living<'a>),
    /// The first members are being started.
    Forming {
        birth: &'a Birth,
        living: Living<'a>,
    },
    /// The cluster id is recorded.
    Formed {
        cluster_id: ClusterId,
        living: Living<'a>,
    },
}

/// The objects and members of a cluster that has some.
pub(crate) struct Living<'a> {
    /// Own pods by name.
    pub(crate) pods: BTreeMap<&'a str, &'a Pod>,
    /// Own volume claims by name.
    pub(crate) volumes: BTreeMap<&'a str, &'a Volume>,
    /// The member list, when a quorum confirmed it.
    pub(crate) membership: Option<&'a Membership>,
    /// Members: of the list where there is one, else those remembered or planned; sorted by name.
    pub(crate) members: Vec<Member<'a>>,
    /// Pods of the birth that came when it was over.
    pub(crate) late: Vec<&'a Pod>,
}

impl<'a> Living<'a> {
    /// Voters and how many of them are healthy.
    pub(crate) fn votes(&self) -> Votes {
        Votes {
            voters: self.voters().count(),
            healthy: self.voters().filter(|member| member.is_healthy()).count(),
        }
    }

    /// Members with a vote.
    pub(crate) fn voters(&self) -> impl Iterator<Item = &Member<'a>> {
        self.members.iter().filter(|member| !member.learner)
    }

    /// How long a voter has been down that could have been up: who answers cannot follow a leader while there is none, so
    /// its patience begins with the quorum's return.
    pub(crate) fn down_for(&self, member: &Member<'_>, now: Millis) -> Millis {
        if self.is_freed(member) {
            Millis(0)
        } else {
            member.down_for(now)
        }
    }

    /// Whether the voters have a quorum again that the last pass did not see, and the member, a voter that answers, has yet to
    /// follow its leader.
    pub(crate) fn is_freed(&self, member: &Member<'_>) -> bool {
        let votes = self.votes();
        let before = Votes {
            healthy: self.voters().filter(|voter| voter.was_healthy()).count(),
            ..votes
        };
        let is_waiting = !member.learner && member.answers() && !member.is_healthy();
        is_waiting && votes.has_quorum() && !before.has_quorum()
    }

    /// The learner, of which there is at most one.
    pub(crate) fn learner(&self) -> Option<&Member<'a>> {
        self.members.iter().find(|member| member.learner)
    }

    /// The leader that healthy voters follow; none while they disagree.
    pub(crate) fn leader(&self) -> Option<MemberId> {
        let mut leaders = self.voters().filter_map(Member::follows);
        let first = leaders.next()?;
        leaders.all(|other| other == first).then_some(first)
    }
}

/// Assesses a snapshot of a valid cluster.
pub(crate) fn assess<'a>(
    cluster: &Cluster,
    snapshot: &'a Snapshot,
    memory: &'a EtcdClusterStatus,
) -> Situation<'a> {
    Situation {
        snapshot,
        memory,
        stage: stage(cluster, snapshot, memory),
    }
}

fn stage<'a>(
    cluster: &Cluster,
    snapshot: &'a Snapshot,
    memory: &'a EtcdClusterStatus,
) -> Stage<'a> {
    let resource = &snapshot.resource;
    let mut pods = match listed(&snapshot.objects.pods, "Pods") {
        Ok(pods) => own(pods, resource, |pod| (&pod.name, &pod.owner)),
        Err(stage) => return stage,
    };
    let mut volumes = match listed(&snapshot.objects.volumes, "PersistentVolumeClaims") {
        Ok(volumes) => own(volumes, resource, |volume| (&volume.name, &volume.owner)),
        Err(stage) => return stage,
    };
    // What the archived operator made is its members' until it is taken over.
    let old = snapshot.old_children();
    let label = resource.dialect().member_label();
    for pod in old.pods {
        let member = pod.labels.get(label).map_or("", String::as_str);
        pods.entry(member).or_insert(pod);
    }
    for claim in old.claims {
        volumes.entry(&claim.name).or_insert(claim);
    }
    if pods.is_empty()
        && volumes.is_empty()
        && memory.birth.is_none()
        && memory.cluster_id.is_none()
    {
        return Stage::Unborn;
    }
    let membership = match &snapshot.etcd.membership {
        Observed::Seen(list) if list.linearizable => Some(list),
        Observed::Seen(_) | Observed::Absent | Observed::Unknown(_) => None,
    };
    // A list of another cluster than the recorded one says nothing about this cluster.
    let membership = membership.filter(|list| {
        memory
            .cluster_id
            .is_none_or(|recorded| recorded == list.cluster_id)
    });
    let cluster_id = memory
        .cluster_id
        .or_else(|| membership.map(|list| list.cluster_id));
    let ground = member::Ground {
        snapshot,
        memory,
        cluster_id,
        pods: &pods,
        volumes: &volumes,
        has_volumes: cluster.has_volumes(),
    };
    let late: Vec<&Pod> = pods
        .values()
        .copied()
        .filter(|pod| ground.is_late(pod))
        .collect();
    // Such a pod may be who confirms the list: as a founder it has the same ids.
    let membership = membership.filter(|_| late.is_empty());
    let members = match (membership, &memory.birth) {
        (Some(list), _) => ground.listed(list),
        (None, Some(birth)) if memory.cluster_id.is_none() => ground.planned(&birth.members),
        (None, _) => ground.remembered(),
    };
    let living = Living {
        pods,
        volumes,
        membership,
        members,
        late,
    };
    match (memory.cluster_id, &memory.birth) {
        (Some(cluster_id), _) => Stage::Formed { cluster_id, living },
        (None, Some(birth)) => Stage::Forming { birth, living },
        (None, None) => Stage::Unrecorded(living),
    }
}

fn listed<'a, T>(list: &'a Observed<Vec<T>>, kind: &'static str) -> Result<&'a [T], Stage<'a>> {
    match list {
        Observed::Seen(list) => Ok(list),
        Observed::Absent => Ok(&[]),
        Observed::Unknown(why) => Err(Stage::Unreadable { kind, why }),
    }
}

fn own<'a, T>(
    list: &'a [T],
    resource: &Resource,
    key: impl Fn(&'a T) -> (&'a String, &'a Option<String>),
) -> BTreeMap<&'a str, &'a T> {
    list.iter()
        .filter_map(|object| {
            let (name, owner) = key(object);
            (owner.as_deref() == Some(resource.uid.as_str())).then_some((name.as_str(), object))
        })
        .collect()
}

/// The member's name of a row of the list: of its peer URL, because a member that never started has no name.
pub(crate) fn name_of(member: &contract::Member) -> &str {
    member
        .peer_urls
        .first()
        .and_then(|url| names::member_of_url(url))
        .unwrap_or(member.name.as_str())
}
