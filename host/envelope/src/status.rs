//! What a status may say: nothing that must stay is forgotten, and nothing that is told for new is untrue of the snapshot.
//!
//! A claim is judged where it differs from what is stored: what nobody could look at stays as it was. What this cannot see
//! is a status that is not written, and the words of messages.

mod settings;

use std::collections::BTreeSet;

use contract::{
    Condition, ConditionStatus, EndpointStatus, EtcdClusterSpec, EtcdClusterStatus, Member,
    MemberHealth, MemberRecord, MemberRole, Membership, Observed, Phase, Snapshot, names,
};
use serde::Deserialize;
use serde_json::Error;

use crate::birth::judge_birth;
use crate::image::{judge_first_image, judge_image};
use crate::pod::own_pods;
use crate::quorum::quorum;
use crate::restore::gives_up;
use crate::secrets::judge_remembered;
use crate::{Refusal, ResourceHead};

/// Adds a refusal for everything that the status may not say.
pub(crate) fn judge_status(
    status: &EtcdClusterStatus,
    snapshot: &Snapshot,
    spec: &Result<EtcdClusterSpec, Error>,
    refusals: &mut Vec<Refusal>,
) {
    let recorded = ResourceHead::of(&snapshot.resource);
    let words = |id: Option<String>| id.unwrap_or_else(|| "none".to_owned());
    let rewritten = match &recorded.cluster_id {
        Observed::Absent => None,
        Observed::Seen(id) if status.cluster_id == Some(*id) => None,
        Observed::Seen(_) if gives_up(status, &recorded) => None,
        Observed::Seen(id) => Some(id.to_string()),
        Observed::Unknown(why) => Some(why.clone()),
    };
    if let Some(from) = rewritten {
        let to = words(status.cluster_id.map(|id| id.to_string()));
        refusals.push(Refusal::RewrittenStatus {
            field: "clusterId",
            from,
            to,
        });
    }
    judge_birth(status, &recorded, snapshot, refusals);
    // Pods may keep to the plan's image after an edit of the spec, so the plan itself is held to the spec.
    if let (Some(birth), Ok(spec)) = (&status.birth, spec)
        && recorded.birth.is_none_or(|plan| plan.image != birth.image)
    {
        judge_first_image(&birth.image, spec, snapshot, refusals);
    }
    // Pods are made again with the image that the status remembers.
    if let Ok(spec) = spec {
        for image in status
            .member_records
            .iter()
            .filter_map(|record| record.image.as_deref())
        {
            judge_image(image, spec, snapshot, refusals);
        }
        judge_remembered(status, snapshot, spec, refusals);
    }
    let stored = EtcdClusterStatus::deserialize(&snapshot.resource.status).unwrap_or_default();
    let seen = Seen { snapshot, stored };
    let untrue = seen.untrue(status);
    refusals.extend(untrue.into_iter().map(Refusal::FalseStatus));
}

/// What the snapshot shows, and what was said before.
struct Seen<'a> {
    snapshot: &'a Snapshot,
    stored: EtcdClusterStatus,
}

impl Seen<'_> {
    /// What the status says and nobody saw.
    fn untrue(&self, status: &EtcdClusterStatus) -> Vec<String> {
        let mut untrue = Vec::new();
        let Self { snapshot, stored } = self;
        if let Some(id) = status.cluster_id
            && stored.cluster_id.is_none()
            && !self.list().any(|list| list == id)
            && !self.answers().any(|(_, answer)| answer.cluster_id == id)
        {
            untrue.push(format!("no member answers as cluster {id}"));
        }
        let old = snapshot.old_children();
        let begins = status.taking_over && !stored.taking_over;
        if begins && (stored.cluster_id.is_some() || old.pods.is_empty()) {
            untrue.push("nothing of the archived operator's is there to be taken over".to_owned());
        }
        let mut listed = status.member_records.iter().map(|record| &record.name);
        if stored.taking_over && !status.taking_over && listed.any(|name| old.may_run(name)) {
            untrue.push("members of the archived operator are not taken over yet".to_owned());
        }
        if status.phase == Phase::Running
            && stored.phase != Phase::Running
            && status.cluster_id.is_none()
        {
            untrue.push("the phase is Running and no cluster id is known".to_owned());
        }
        untrue.extend(settings::untrue(status, stored, &snapshot.resource));
        self.judge_names(status, &mut untrue);
        if status.member_records != stored.member_records {
            let names = status.member_records.iter().map(|record| &record.name);
            if names.collect::<BTreeSet<_>>().len() != status.member_records.len() {
                untrue.push("a member is remembered twice".to_owned());
            }
            untrue.extend(self.forgotten(status));
            for record in &status.member_records {
                untrue.extend(self.why_not(record, status));
            }
        }
        let is_new = !stored.conditions.iter().any(is_available);
        if is_new && status.conditions.iter().any(is_available) && !self.has_quorum() {
            untrue.push("it is Available and no quorum answers".to_owned());
        }
        if status.current_version != stored.current_version
            && !self.is_version(&status.current_version)
        {
            untrue.push(format!(
                "no member is known to run etcd {:?}",
                status.current_version
            ));
        }
        untrue
    }

    fn judge_names(&self, status: &EtcdClusterStatus, untrue: &mut Vec<String>) {
        let Self { stored, .. } = self;
        let told = |status: &EtcdClusterStatus| {
            (status.size, status.ready_members, status.members.clone())
        };
        if told(status) == told(stored) {
            return;
        }
        let (ready, unready) = (&status.members.ready, &status.members.unready);
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        if status.ready_members != count(ready.len())
            || status.size != count(ready.len() + unready.len())
        {
            untrue.push(format!(
                "{} of {} members are ready by its numbers, {} of {} by its names",
                status.ready_members,
                status.size,
                ready.len(),
                ready.len() + unready.len()
            ));
        }
        let all: BTreeSet<&String> = ready.iter().chain(unready).collect();
        if all.len() != ready.len() + unready.len() {
            untrue.push("a member is counted twice".to_owned());
        }
        for name in &all {
            if !self.is_known(name) {
                untrue.push(format!("no member {name} is known"));
            }
        }
        for name in ready {
            if !self.is_healthy(name) {
                untrue.push(format!("member {name} is ready and does not answer as one"));
            }
        }
    }

    /// The listed members of whom what was remembered is gone.
    fn forgotten(&self, status: &EtcdClusterStatus) -> Vec<String> {
        let mut untrue = Vec::new();
        // Who belongs to a cluster that is given up, or to an attempt at a birth that was, is nobody's member any more.
        let cluster = self.stored.cluster_id;
        let is_shown = self.confirmed().is_some();
        if status.cluster_id != cluster || cluster.is_none() {
            return untrue;
        }
        let remembered = self.stored.member_records.iter();
        // Where no quorum shows the list, all that voted do: who left may answer with the list of its last day.
        let is_listed = |old: &&MemberRecord| {
            self.row(&old.name).is_some() || (!is_shown && old.role == MemberRole::Voter)
        };
        for old in remembered.filter(is_listed) {
            let name = &old.name;
            let mut records = status.member_records.iter();
            match records.find(|record| record.name == *name) {
                None => untrue.push(format!("member {name} is listed and forgotten")),
                Some(new) if old.disk.is_some() && new.disk.is_none() => {
                    untrue.push(format!("the disk of member {name} is forgotten"));
                }
                Some(_) => {}
            }
        }
        untrue
    }

    /// Says what of a record nobody saw.
    fn why_not(&self, record: &MemberRecord, status: &EtcdClusterStatus) -> Option<String> {
        let name = &record.name;
        let old = self.stored.member_records.iter();
        let old = old.clone().find(|old| old.name == *name);
        let row = self.row(name);
        let answer = self.answer(name);
        if !self.is_known(name) {
            return Some(format!("no member {name} is known"));
        }
        if record.health == MemberHealth::Healthy && !self.is_healthy(name) {
            return Some(format!("member {name} is healthy and does not answer"));
        }
        let is_its = record.id.is_none()
            || record.id == old.and_then(|old| old.id)
            || record.id == row.map(|row| row.id)
            || record.id == answer.map(|answer| answer.member_id);
        if !is_its {
            return Some(format!("the id of member {name} is another one"));
        }
        let votes = record.role != MemberRole::Voter
            || old.is_some_and(|old| old.role == MemberRole::Voter)
            || row.is_some_and(|row| !row.learner)
            || answer.is_some_and(|answer| !answer.learner);
        if !votes {
            return Some(format!("member {name} does not vote"));
        }
        let is_of_same = status.cluster_id == self.stored.cluster_id;
        let lost_vote = is_of_same
            && record.role != MemberRole::Voter
            && old.is_some_and(|old| old.role == MemberRole::Voter)
            && row.is_none_or(|row| !row.learner || self.confirmed().is_none());
        if lost_vote {
            return Some(format!("member {name} votes, as far as is known"));
        }
        let is_plain = !record.plain_peer
            || old.is_some_and(|old| old.plain_peer)
            || self.may_be_reached_in_plain(name);
        if !is_plain {
            return Some(format!("nobody reaches member {name} in plain text"));
        }
        let version = record.version.as_ref();
        if version.is_some_and(|version| !self.is_version(version)) {
            return Some(format!("member {name} never ran etcd {version:?}"));
        }
        if record.recreations < 0 {
            return Some(format!(
                "member {name} was made again {} times",
                record.recreations
            ));
        }
        let size = record.db_size;
        let is_said = |size: i64| {
            old.and_then(|old| old.db_size) == Some(size)
                || answer.is_some_and(|answer| answer.db_size == size)
        };
        if let Some(size) = size.filter(|size| !is_said(*size)) {
            return Some(format!("member {name} never said that it has {size} bytes"));
        }
        if record.raft_lag < 0 {
            let lag = record.raft_lag;
            return Some(format!("member {name} is {lag} entries behind"));
        }
        let is_disk = |disk: &String| {
            let volumes = self.snapshot.objects.volumes.seen().into_iter().flatten();
            let mut volumes = volumes.filter(|volume| volume.name == *name);
            let mut pods = own_pods(self.snapshot).filter(|pod| pod.name == *name);
            // One that has its data within it is on no claim of its name.
            match pods.next() {
                Some(pod) if pod.claim.is_none() => pod.uid == *disk,
                Some(pod) if pod.uid == *disk => true,
                Some(_) | None => volumes.any(|volume| volume.uid == *disk),
            }
        };
        let disk = record.disk.as_ref();
        if disk.is_some_and(|disk| {
            old.and_then(|old| old.disk.as_ref()) != Some(disk) && !is_disk(disk)
        }) {
            return Some(format!("the disk of member {name} is another one"));
        }
        None
    }

    /// By etcd's list, in which not everybody is yet. Where nobody shows it all are reached as they always were.
    fn may_be_reached_in_plain(&self, name: &str) -> bool {
        match (&self.snapshot.etcd.membership, self.row(name)) {
            (_, Some(row)) => row.peer_urls.iter().any(|url| url.starts_with("http://")),
            (Observed::Seen(_), None) => true,
            (Observed::Absent | Observed::Unknown(_), None) => {
                let before = self.stored.tls.as_ref();
                before.is_none_or(|tls| tls.peer.is_none())
            }
        }
    }

    /// A quorum of those who vote, as far as it is known who they are: by the list, else by the plan.
    fn has_quorum(&self) -> bool {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        if let Observed::Seen(list) = &self.snapshot.etcd.membership {
            let healthy = list.voters().filter(|row| {
                self.following()
                    .any(|(_, answer)| answer.member_id == row.id)
            });
            return count(healthy.count()) >= quorum(count(list.voters().count()));
        }
        let planned = self.stored.birth.as_ref();
        let planned = planned.map_or(1, |plan| plan.members.len());
        count(self.following().count()) >= quorum(count(planned))
    }

    fn is_version(&self, version: &str) -> bool {
        version.is_empty()
            || self.answers().any(|(_, answer)| answer.version == version)
            || self
                .stored
                .member_records
                .iter()
                .any(|record| record.version.as_deref() == Some(version))
    }

    /// A pod, a claim, a row of the list or an entry of the stored status has that name.
    fn is_known(&self, name: &str) -> bool {
        let Self { snapshot, stored } = self;
        let planned = stored.birth.iter().flat_map(|plan| &plan.members);
        let mut told = stored.members.ready.iter().chain(&stored.members.unready);
        let mut volumes = snapshot.objects.volumes.seen().into_iter().flatten();
        self.row(name).is_some()
            || own_pods(snapshot).any(|pod| pod.name == name)
            || volumes.any(|volume| volume.name == name)
            || planned.clone().any(|planned| planned == name)
            || told.any(|told| told == name)
            || stored
                .member_records
                .iter()
                .any(|record| record.name == name)
    }

    fn row(&self, name: &str) -> Option<&Member> {
        let list = self.snapshot.etcd.membership.seen()?;
        list.members.iter().find(|row| {
            row.name == name
                || row
                    .peer_urls
                    .iter()
                    .any(|url| names::member_of_url(url) == Some(name))
        })
    }

    /// The list of the recorded cluster, if a quorum confirmed it.
    fn confirmed(&self) -> Option<&Membership> {
        let list = self.snapshot.etcd.membership.seen();
        list.filter(|list| list.linearizable && Some(list.cluster_id) == self.stored.cluster_id)
    }

    fn list(&self) -> impl Iterator<Item = contract::ClusterId> {
        let list = self.snapshot.etcd.membership.seen();
        list.map(|list| list.cluster_id).into_iter()
    }

    /// What the members' pods answered, by their names.
    fn answers(&self) -> impl Iterator<Item = (&str, &EndpointStatus)> {
        let endpoints = self.snapshot.etcd.endpoints.iter();
        let old = self.snapshot.old_children().pods;
        let label = self.snapshot.resource.dialect().member_label();
        endpoints.filter_map(move |endpoint| {
            // The archived operator's pods are not called as their members.
            let pod = old.iter().find(|pod| pod.uid == endpoint.pod_uid);
            let member = pod.map_or(Some(&endpoint.pod), |pod| pod.labels.get(label))?;
            Some((member.as_str(), endpoint.status.seen()?))
        })
    }

    /// Those who know of a leader.
    fn following(&self) -> impl Iterator<Item = (&str, &EndpointStatus)> {
        self.answers().filter(|(_, answer)| answer.leader.is_some())
    }

    fn answer(&self, name: &str) -> Option<&EndpointStatus> {
        let mut answers = self.answers();
        answers
            .find(|(pod, _)| *pod == name)
            .map(|(_, answer)| answer)
    }

    fn is_healthy(&self, name: &str) -> bool {
        self.following().any(|(pod, _)| pod == name)
    }
}

fn is_available(condition: &Condition) -> bool {
    condition.kind == "Available" && condition.status == ConditionStatus::True
}

#[cfg(test)]
mod tests;
