//! The consent to go on from one member: offered, held against what is so, used up.
//!
//! Says what a person may type and whether what they typed counts. What is done then is [`super::recover`]'s.

use contract::{
    ClusterId, EventType, FindingKind, QuorumRecovery, Reason, Recovery, RecoveryStage,
};

use super::{Change, SOON, Step, repair};
use crate::assess::{Disk, Living, Member, Situation};
use crate::clock;
use crate::pre;
use crate::quorum::quorum;
use crate::validate::Cluster;

/// Whether the quorum cannot return by itself: too few voters answer, or have a disk and were not down for long, or are
/// Ready. A pod is Ready only while its etcd has a quorum: then it is the operator that does not reach the members.
pub(super) fn is_lost_for_good(situation: &Situation<'_>, living: &Living<'_>) -> bool {
    let now = situation.snapshot.now;
    let hopeful = living
        .voters()
        .filter(|member| {
            let may_return =
                member.disk == Disk::Kept && member.down_for(now) < repair::BEFORE_REPLACEMENT;
            let is_ready = member
                .pod
                .is_some_and(|pod| pod.ready && pod.deleted.is_none());
            member.answers() || may_return || is_ready
        })
        .count();
    hopeful < quorum(living.voters().count())
}

/// A learner never asks for votes, so one that lost its leader names it until it starts again
/// (`tickElection` in raft.go of etcd's raft). What it says may also be true, where the operator reaches no voter.
pub(super) fn who_may_only_remember_a_leader(situation: &Situation<'_>) -> Option<String> {
    let recorded = situation.memory.cluster_id;
    let mut endpoints = situation.snapshot.etcd.endpoints.iter();
    let learner = endpoints.find(|endpoint| {
        endpoint.status.seen().is_some_and(|status| {
            status.learner && status.leader.is_some() && Some(status.cluster_id) == recorded
        })
    })?;
    Some(format!(
        "{0} is a learner and names a leader, which it may only remember: it would not notice that it is gone. Started \
         again it knows: kubectl --namespace {1} delete pod {0}",
        learner.pod, situation.snapshot.resource.namespace
    ))
}

/// What a person can do about a quorum that does not return; none while it may.
pub(super) fn offer(situation: &Situation<'_>, living: &Living<'_>) -> Option<String> {
    let id = situation.memory.cluster_id?;
    if !is_lost_for_good(situation, living) {
        return None;
    }
    let answering: Vec<&Member<'_>> = living
        .voters()
        .filter(|member| member.answers() && member.disk == Disk::Kept)
        .filter(|member| has_received(situation, member))
        .collect();
    let on_claims = answering.iter().filter(|member| is_on_claim(member));
    // Of equals the first by name.
    let candidate = on_claims.max_by_key(|member| {
        (
            raft_index(situation, member),
            std::cmp::Reverse(member.name),
        )
    });
    Some(match (candidate, answering.first()) {
        (Some(candidate), _) => format!(
            "Or go on from {} alone, {}; writes that it does not have are lost. To consent: {}",
            candidate.name,
            merit(situation, living, candidate),
            command(situation, Some((id, candidate.name)))
        ),
        (None, Some(member)) => format!(
            "{} has data, but in its pod, which cannot be started as the only member. Save it (kubectl port-forward \
             {} 2379, then etcdctl snapshot save FILE) and restore a new cluster from it.",
            member.name, member.name
        ),
        (None, None) => "No member that answers could be gone on from.".to_owned(),
    })
}

/// What speaks for going on from this member, and what would go with the pod of another one that has more.
fn merit(situation: &Situation<'_>, living: &Living<'_>, candidate: &Member<'_>) -> String {
    let index = raft_index(situation, candidate);
    let mut others = living.voters().filter(|member| member.answers());
    match others.find(|member| raft_index(situation, member) > index) {
        None => "which has the newest data of those that answer".to_owned(),
        Some(newer) => format!(
            "whose data is on a volume claim that stays. {0} has newer data, which goes with its pod: save it first \
             (kubectl port-forward {0} 2379, then etcdctl snapshot save FILE)",
            newer.name
        ),
    }
}

/// Whether it has any entry of the cluster's log. One that joined and was left alone before the first one has nothing, and
/// `--force-new-cluster` would make an empty cluster of it.
fn has_received(situation: &Situation<'_>, member: &Member<'_>) -> bool {
    raft_index(situation, member) > 0
}

fn raft_index(situation: &Situation<'_>, member: &Member<'_>) -> u64 {
    let mut endpoints = situation.snapshot.etcd.endpoints.iter();
    let own = endpoints.find(|one| member.pod.is_some_and(|pod| pod.uid == one.pod_uid));
    own.and_then(|endpoint| endpoint.status.seen())
        .map_or(0, |status| status.raft_index)
}

/// The command that sets the consent, or removes it.
pub(super) fn command(situation: &Situation<'_>, consent: Option<(ClusterId, &str)>) -> String {
    let resource = &situation.snapshot.resource;
    let value = consent.map_or_else(
        || "null".to_owned(),
        |(id, survivor)| format!(r#"{{"clusterID":"{id}","survivor":"{survivor}"}}"#),
    );
    format!(
        r#"kubectl --namespace {} patch etcd {} --type merge --patch '{{"spec":{{"quorumRecovery":{value}}}}}'"#,
        resource.namespace, resource.name
    )
}

fn is_on_claim(member: &Member<'_>) -> bool {
    member.volume.is_some_and(|volume| volume.deleted.is_none())
        && member
            .pod
            .is_none_or(|pod| pod.claim.as_deref() == Some(member.name))
}

pub(super) fn is_of(recovery: &Recovery, consent: &QuorumRecovery) -> bool {
    recovery.cluster_id == consent.cluster_id && recovery.survivor == consent.survivor
}

/// Begins a recovery if there is a consent to it that holds. Says what is wrong with one that does not.
pub(super) fn begin(
    cluster: &Cluster,
    situation: &Situation<'_>,
    cluster_id: ClusterId,
    living: &Living<'_>,
    step: &mut Step,
) {
    let Some(consent) = &cluster.consent else {
        forget(situation, living, step);
        return;
    };
    if let Some(why) = why_not(situation, cluster_id, living, consent) {
        step.find(
            FindingKind::Invalid,
            Reason::ConsentNotUsed,
            format!("spec.quorumRecovery is set and does nothing: {why}"),
        );
        return;
    }
    if !is_lost_for_good(situation, living) {
        step.find(
            FindingKind::Waiting,
            Reason::RecoveringQuorum,
            format!(
                "spec.quorumRecovery names {}. It is gone on from when it is clear that the quorum does not return by \
                 itself: when disks are lost, or members were down for {} s.",
                consent.survivor,
                repair::BEFORE_REPLACEMENT.0 / 1000
            ),
        );
        return;
    }
    if let Some(why) = who_may_only_remember_a_leader(situation) {
        step.find(FindingKind::Blocked, Reason::RecoveringQuorum, why);
        return;
    }
    let words = format!(
        "The quorum is lost and spec.quorumRecovery names {}: all members are stopped, then the cluster goes on from \
         {} alone. Claims of the others stay until it has its size again.",
        consent.survivor, consent.survivor
    );
    let resource = &situation.snapshot.resource;
    step.actions.push(pre::event_of(
        resource,
        EventType::Warning,
        Reason::RecoveringQuorum,
        words.clone(),
    ));
    step.find(FindingKind::Doing, Reason::RecoveringQuorum, words);
    step.recovery = Some(Change::Set(Recovery {
        cluster_id: consent.cluster_id.clone(),
        survivor: consent.survivor.clone(),
        stage: RecoveryStage::Stopping,
        started_at: clock::spell(situation.snapshot.now),
        given_up: living
            .members
            .iter()
            .map(|member| member.name.to_owned())
            .filter(|name| *name != consent.survivor)
            .chain(left_of(situation, living))
            .collect(),
    }));
    step.look_again(SOON, Reason::RecoveringQuorum);
}

/// Those given up in an earlier recovery whose pods or claims are still there. Numbers come back: who is a member under such
/// a name is not who was given up.
fn left_of(situation: &Situation<'_>, living: &Living<'_>) -> Vec<String> {
    let earlier = situation.memory.recovery.iter();
    let is_member = |name: &str| living.members.iter().any(|member| member.name == name);
    let is_there = |name: &str| living.volumes.contains_key(name) || living.pods.contains_key(name);
    earlier
        .flat_map(|recovery| &recovery.given_up)
        .filter(|name| is_there(name) && !is_member(name))
        .cloned()
        .collect()
}

/// A consent that was removed may be given again. Whose claims are kept stays known.
fn forget(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    let Some(recovery) = &situation.memory.recovery else {
        return;
    };
    let given_up = left_of(situation, living);
    if given_up.is_empty() {
        step.recovery = Some(Change::Forget);
    } else if !recovery.survivor.is_empty() {
        step.recovery = Some(Change::Set(Recovery {
            cluster_id: String::new(),
            survivor: String::new(),
            stage: RecoveryStage::Void,
            given_up,
            ..recovery.clone()
        }));
    }
}

/// Why the consent is not one to this loss; none when it is.
fn why_not(
    situation: &Situation<'_>,
    cluster_id: ClusterId,
    living: &Living<'_>,
    consent: &QuorumRecovery,
) -> Option<String> {
    let used = situation.memory.recovery.as_ref();
    if used.is_some_and(|recovery| is_of(recovery, consent)) {
        return Some(format!(
            "it was there before this loss, so it is no consent to it. To consent, remove it ({}) and set it again.",
            command(situation, None)
        ));
    }
    if consent.cluster_id != cluster_id.to_string() {
        return Some(format!(
            "clusterID {:?} is not this cluster's id, which is {cluster_id}.",
            consent.cluster_id
        ));
    }
    let name = consent.survivor.as_str();
    let Some(survivor) = living.voters().find(|member| member.name == name) else {
        let voters: Vec<&str> = living.voters().map(|member| member.name).collect();
        return Some(format!(
            "survivor {name:?} is not a voting member; those are {}.",
            voters.join(", ")
        ));
    };
    if survivor.disk != Disk::Kept {
        return Some(format!("the disk of {name} is gone or empty."));
    }
    if !survivor.answers() {
        return Some(format!(
            "{name} does not answer ({}), so nobody knows what it has.",
            survivor.complaint()
        ));
    }
    if !has_received(situation, survivor) {
        return Some(format!(
            "{name} joined and has received nothing of the cluster's data yet, so it would go on empty."
        ));
    }
    if !is_on_claim(survivor) {
        return Some(format!(
            "{name} has no volume claim that stays: its data would be gone with its pod."
        ));
    }
    let mut pods = living.pods.values();
    pods.find(|pod| pod.claim.is_none()).map(|pod| {
        format!(
            "{} keeps its data in its pod and would lose it. Delete that pod if its data is not needed.",
            pod.name
        )
    })
}

/// While a quorum answers: a consent that is there counts for no later loss, and one that is gone is forgotten. Whose claims
/// are kept stays known either way.
pub(super) fn retire(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    match (situation.memory.recovery.as_ref(), &cluster.consent) {
        (_, None) => forget(situation, living, step),
        (Some(recovery), Some(consent)) if is_of(recovery, consent) => {}
        (Some(_) | None, Some(consent)) => {
            let note = format!(
                "spec.quorumRecovery is set while a quorum answers: it is not needed, and no consent to a later loss. \
                 Remove it: {}",
                command(situation, None)
            );
            step.actions.push(pre::event_of(
                &situation.snapshot.resource,
                EventType::Warning,
                Reason::ConsentNotUsed,
                note,
            ));
            step.recovery = Some(Change::Set(Recovery {
                cluster_id: consent.cluster_id.clone(),
                survivor: consent.survivor.clone(),
                stage: RecoveryStage::Void,
                started_at: clock::spell(situation.snapshot.now),
                given_up: left_of(situation, living),
            }));
        }
    }
    if let Some(consent) = &cluster.consent {
        step.find(
            FindingKind::Note,
            Reason::ConsentNotUsed,
            format!(
                "spec.quorumRecovery names {} and does nothing: a quorum answers. Remove it: {}",
                consent.survivor,
                command(situation, None)
            ),
        );
    }
}
