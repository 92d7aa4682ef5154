//! One member: its pod, its disk, its health.
//!
//! Owns when a member counts as healthy and when its disk counts as lost; says nothing of the cluster.

use std::collections::BTreeMap;

use contract::{
    ClusterId, EndpointStatus, EtcdClusterStatus, MemberHealth, MemberId, MemberRecord, MemberRole,
    Membership, Millis, Observed, Pod, Snapshot, Volume, VolumePhase, names,
};

use super::pod::{has_ended, not_running, says_no_data};
use super::{estranged, name_of};
use crate::clock;

/// A member of the list, of the plan, or of memory.
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    /// etcd's id, where the list or memory knows it.
    pub(crate) id: Option<MemberId>,
    pub(crate) learner: bool,
    /// It has been running at least once.
    pub(crate) started: bool,
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) volume: Option<&'a Volume>,
    pub(crate) health: Health<'a>,
    /// What it answers as a member of this cluster, whether it follows a leader, or its pod is being terminated, or not.
    pub(crate) answer: Option<&'a EndpointStatus>,
    pub(crate) disk: Disk,
    pub(crate) record: Option<&'a MemberRecord>,
    /// Its pod is there and does not belong to the cluster any more, so nothing can be done with it.
    pub(crate) estranged: bool,
}

/// How a member is.
pub(crate) enum Health<'a> {
    /// It answers, is in the recorded cluster and follows a leader.
    Healthy(&'a EndpointStatus),
    /// It is known not to be.
    Unhealthy(String),
    /// It could not be asked, so it may be either.
    Unknown(String),
}

/// Where a member's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// It is where it was.
    Kept,
    /// It does not exist yet.
    Unmade,
    /// It is known to be gone or empty.
    Lost,
}

impl Member<'_> {
    pub(crate) const fn is_healthy(&self) -> bool {
        matches!(self.health, Health::Healthy(_))
    }

    pub(crate) const fn status(&self) -> Option<&EndpointStatus> {
        match &self.health {
            Health::Healthy(status) => Some(status),
            Health::Unhealthy(_) | Health::Unknown(_) => None,
        }
    }

    /// Whether it answers as a member of this cluster, so that its disk holds data.
    pub(crate) const fn answers(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether it runs on a disk that was emptied before it was sealed, and founded the cluster anew there: it would vote
    /// without what it had acknowledged. One that follows a leader has that from the leader.
    pub(crate) fn has_founded_anew(&self) -> bool {
        self.disk == Disk::Lost && self.answers() && self.pod.is_some_and(founds)
    }

    /// The leader it follows, when it is healthy.
    pub(crate) fn follows(&self) -> Option<MemberId> {
        self.status().and_then(|status| status.leader)
    }

    pub(crate) const fn role(&self) -> MemberRole {
        match (self.id, self.learner) {
            (None, _) => MemberRole::Planned,
            (Some(_), true) => MemberRole::Learner,
            (Some(_), false) => MemberRole::Voter,
        }
    }

    pub(crate) const fn remembered_health(&self) -> MemberHealth {
        match self.health {
            Health::Healthy(_) => MemberHealth::Healthy,
            Health::Unhealthy(_) => MemberHealth::Unhealthy,
            Health::Unknown(_) => MemberHealth::Unknown,
        }
    }

    /// Whether it was healthy when it was last remembered.
    pub(crate) fn was_healthy(&self) -> bool {
        self.record
            .is_some_and(|record| record.health == MemberHealth::Healthy)
    }

    /// How long it has not been healthy. Zero when it is healthy, or was when it was last remembered.
    pub(crate) fn down_for(&self, now: Millis) -> Millis {
        match (&self.health, self.record) {
            (Health::Healthy(_), _) | (_, None) => Millis(0),
            (_, Some(record)) if record.health == MemberHealth::Healthy => Millis(0),
            (_, Some(record)) => clock::passed(&record.since, now),
        }
    }

    /// How long it has been healthy. Zero when it is not, or was not when it was last remembered.
    pub(crate) fn up_for(&self, now: Millis) -> Millis {
        match (&self.health, self.record) {
            (Health::Healthy(_), Some(record)) if record.health == MemberHealth::Healthy => {
                clock::passed(&record.since, now)
            }
            (Health::Healthy(_) | Health::Unhealthy(_) | Health::Unknown(_), _) => Millis(0),
        }
    }

    /// How long it has had its role.
    pub(crate) fn in_role_for(&self, now: Millis) -> Millis {
        match self.record {
            Some(record) if record.role == self.role() => clock::passed(&record.role_since, now),
            Some(_) | None => Millis(0),
        }
    }

    /// Why it is not healthy, in words.
    pub(crate) fn complaint(&self) -> &str {
        match &self.health {
            Health::Healthy(_) => "healthy",
            Health::Unhealthy(why) | Health::Unknown(why) => why,
        }
    }

    /// The identity of the disk it runs on.
    pub(crate) fn disk_id(&self) -> Option<&str> {
        // A claim of its name may be another pod's that was asked for before this one was seen.
        match self.pod.filter(|pod| pod.claim.is_none()) {
            Some(pod) => Some(&pod.uid),
            None => self.volume.map(|volume| volume.uid.as_str()),
        }
    }
}

/// What members are judged on.
pub(super) struct Ground<'g, 'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) memory: &'a EtcdClusterStatus,
    /// The cluster its members must be in; none before one is known.
    pub(super) cluster_id: Option<ClusterId>,
    pub(super) pods: &'g BTreeMap<&'a str, &'a Pod>,
    pub(super) volumes: &'g BTreeMap<&'a str, &'a Volume>,
    pub(super) has_volumes: bool,
}

impl<'a> Ground<'_, 'a> {
    /// The members of a confirmed list.
    pub(super) fn listed(&self, list: &'a Membership) -> Vec<Member<'a>> {
        let mut members: Vec<_> = list
            .members
            .iter()
            .map(|row| {
                self.member(
                    name_of(row),
                    Some(row.id),
                    row.learner,
                    !row.name.is_empty(),
                )
            })
            .collect();
        members.sort_by_key(|member| member.name);
        members
    }

    /// The members of a plan that has not become a cluster yet.
    pub(super) fn planned(&self, plan: &'a [String]) -> Vec<Member<'a>> {
        plan.iter()
            .map(|name| self.member(name, None, false, false))
            .collect()
    }

    /// The members as they were when the list was last known.
    pub(super) fn remembered(&self) -> Vec<Member<'a>> {
        self.memory
            .member_records
            .iter()
            .map(|record| {
                self.member(
                    &record.name,
                    record.id,
                    record.role != MemberRole::Voter,
                    record.disk.is_some(),
                )
            })
            .collect()
    }

    fn member(
        &self,
        name: &'a str,
        id: Option<MemberId>,
        learner: bool,
        started: bool,
    ) -> Member<'a> {
        let pod = self.pods.get(name).copied();
        let volume = self.volumes.get(name).copied();
        let record = self.record(name);
        let is_late = pod.is_some_and(|pod| self.is_late(pod));
        let estranged = pod.is_none() && estranged::has_estranged(self.snapshot, self.memory, name);
        let health = if is_late {
            Health::Unhealthy("its pod is one of the cluster's birth that came late".to_owned())
        } else if estranged {
            Health::Unknown("its pod does not belong to this cluster any more".to_owned())
        } else {
            self.health((id, learner), pod)
        };
        let answer = pod.filter(|_| !is_late).and_then(|pod| self.answer(pod));
        let disk = if estranged {
            Disk::Kept
        } else {
            self.disk(pod, volume, started, record, &health)
        };
        Member {
            name,
            id,
            learner,
            started,
            pod,
            volume,
            health,
            answer,
            disk,
            record,
            estranged,
        }
    }

    fn health(&self, row: (Option<MemberId>, bool), pod: Option<&'a Pod>) -> Health<'a> {
        let Some(pod) = pod else {
            return Health::Unhealthy("it has no pod".to_owned());
        };
        if pod.deleted.is_some() {
            return Health::Unhealthy("its pod is being terminated".to_owned());
        }
        let endpoint = self
            .snapshot
            .etcd
            .endpoints
            .iter()
            .find(|endpoint| endpoint.pod_uid == pod.uid);
        match endpoint.map(|endpoint| &endpoint.status) {
            Some(Observed::Seen(status)) => self.answered(row, status),
            Some(Observed::Unknown(why)) if pod.running => {
                Health::Unknown(format!("it does not answer ({why})"))
            }
            Some(Observed::Unknown(_) | Observed::Absent) | None => {
                Health::Unhealthy(not_running(pod))
            }
        }
    }

    /// Whether the pod may found the cluster anew: it would start as a first member, and its member is remembered on
    /// another disk, or on a claim on which this pod has never run. A request to make it was on its way while another
    /// one was carried out. The only member that has done so already serves, and nobody else holds what was written to it.
    pub(super) fn is_late(&self, pod: &Pod) -> bool {
        let record = self.record(&pod.name);
        self.memory.cluster_id.is_some()
            && founds(pod)
            && !self.leads_alone(pod)
            && record
                .and_then(|record| record.disk.as_ref())
                .is_some_and(|disk| match pod.claim {
                    Some(_) => !pod.ran,
                    None => *disk != pod.uid,
                })
    }

    /// Whether the pod is of the only member and answers as its own leader.
    fn leads_alone(&self, pod: &Pod) -> bool {
        self.memory.member_records.len() == 1
            && self
                .answer(pod)
                .is_some_and(|status| status.leader == Some(status.member_id))
    }

    fn record(&self, name: &str) -> Option<&'a MemberRecord> {
        let mut records = self.memory.member_records.iter();
        records.find(|record| record.name == name)
    }

    fn answer(&self, pod: &Pod) -> Option<&'a EndpointStatus> {
        let mut endpoints = self.snapshot.etcd.endpoints.iter();
        endpoints
            .find(|endpoint| endpoint.pod_uid == pod.uid)
            .and_then(|endpoint| endpoint.status.seen())
            .filter(|status| Some(status.cluster_id) == self.cluster_id)
    }

    fn answered(
        &self,
        (id, learner): (Option<MemberId>, bool),
        status: &'a EndpointStatus,
    ) -> Health<'a> {
        if let Some(expected) = self.cluster_id
            && status.cluster_id != expected
        {
            return Health::Unhealthy(format!(
                "it answers as cluster {}, not as {expected}",
                status.cluster_id
            ));
        }
        if let Some(id) = id
            && status.member_id != id
        {
            return Health::Unhealthy(format!(
                "it answers as member {}, not as {id}",
                status.member_id
            ));
        }
        if status.leader.is_none() {
            return Health::Unhealthy(
                "it runs and has its data, but knows of no leader".to_owned(),
            );
        }
        if status.learner && !learner {
            return Health::Unhealthy(
                "it has a vote and does not know of it: nobody reaches it since it got that"
                    .to_owned(),
            );
        }
        Health::Healthy(status)
    }

    fn disk(
        &self,
        pod: Option<&Pod>,
        volume: Option<&Volume>,
        started: bool,
        record: Option<&MemberRecord>,
        health: &Health<'_>,
    ) -> Disk {
        if let Health::Healthy(_) = health {
            return Disk::Kept;
        }
        let recorded = record.and_then(|record| record.disk.as_deref());
        let in_pod = match pod {
            Some(pod) => pod.claim.is_none(),
            None => volume.is_none() && !self.has_volumes,
        };
        // On a claim that is being deleted no other pod starts than the one that runs there.
        let is_held = pod.is_some_and(|pod| !has_ended(pod));
        // A claim is seen later than the pod that is on it where its watch lags.
        let is_unseen = is_held && volume.is_none();
        let volume = volume.filter(|volume| {
            volume.phase != VolumePhase::Lost && (volume.deleted.is_none() || is_held)
        });
        let identity = if in_pod {
            // What is in a pod that ended cannot be had any more.
            pod.filter(|pod| !has_ended(pod))
                .map(|pod| pod.uid.as_str())
        } else {
            volume.map(|volume| volume.uid.as_str())
        };
        match (identity, recorded) {
            (None, Some(_)) => Disk::Lost,
            (None, None) if !started => Disk::Unmade,
            (None, None) if is_unseen => Disk::Kept,
            (None, None) => Disk::Lost,
            (Some(found), Some(recorded)) if found != recorded => Disk::Lost,
            (Some(_), _) if started && says_no_data(pod) && !has_run_since(pod, record) => {
                Disk::Lost
            }
            (Some(_), _) => Disk::Kept,
        }
    }
}

/// Whether the container ended last before the member was seen to change its health, and runs: then it may have answered
/// since, or be about to, and its last words are those of an earlier start.
fn has_run_since(pod: Option<&Pod>, record: Option<&MemberRecord>) -> bool {
    let ended = pod
        .filter(|pod| pod.running)
        .and_then(|pod| pod.last_exit.as_ref()?.at);
    let since = record.and_then(|record| clock::read(&record.since));
    ended.zip(since).is_some_and(|(ended, since)| ended < since)
}

/// Whether the pod starts as a first member where its disk is empty.
fn founds(pod: &Pod) -> bool {
    let state = pod.annotations.get(names::INITIAL_STATE_ANNOTATION);
    state.is_some_and(|state| state == "new")
}
