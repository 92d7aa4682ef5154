//! Cures an alarm for lack of space: compact, defragment member by member, disarm.
//!
//! Frees what etcd keeps without need and never deletes a key: where that is not enough, a person must decide.
//!
//! # Flow
//! 1. Compact. The newest history is kept if the room that is left without it suffices: clients resume their watches from
//!    it, and must list everything again when it is gone.
//! 2. Defragment each member whose file is too large, followers first, one a pass, each healthy again before the next.
//! 3. Disarm when every file is below its limit, and pods that do not have the spec's quota yet were made anew. Before that
//!    the next write would raise the alarm again.
//! 4. Else say what a person can do, and try again: after a long time, or soon when keys were changed meanwhile.
//!
//! # Guarantees
//! What is about to be done is written to the status first, so a member is defragmented at most once an attempt, whatever
//! becomes of the answer.

mod remedy;
mod sized;

use contract::{
    AlarmKind, EndpointStatus, FindingKind, Membership, Millis, OutcomeKind, Reason, SpaceCure,
};

use remedy::{compact, defragment, disarm};
use sized::{Sized, sized};

use super::{LATER, SOON, Step};
use crate::assess::{Living, Member, Situation};
use crate::clock;
use crate::quorum::quorum;
use crate::validate::Cluster;

/// How many of the newest revisions are kept at first.
const KEPT_REVISIONS: i64 = 1_000;
/// How long a compaction on the leader needs to show in its sizes.
const SHOWN: Millis = Millis::seconds(5);
/// How long followers may need to do what the leader has done.
const FOLLOWED: Millis = Millis::seconds(30);
/// How soon to try again when keys were changed after the last attempt.
const EARLY_RETRY: Millis = Millis::seconds(30);
/// How soon to try again when nothing changed.
const RETRY: Millis = Millis::seconds(600);

/// Works on the alarm, if it stands. Says whether it does something, so that this pass may touch members no further. While
/// it only waits, a member that lost its disk is replaced: that needs no space.
pub(super) fn cure(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let etcd = &situation.snapshot.etcd;
    if !etcd.is_alarmed(AlarmKind::Nospace) {
        return false;
    }
    let mut record = begun(situation, living);
    let ended = if let Some(why) = why_later(cluster, situation, living) {
        step.find(
            FindingKind::Waiting,
            Reason::NoSpace,
            format!("etcd has no space left and serves only reads and deletes. {why}"),
        );
        step.look_again(LATER, Reason::NoSpace);
        false
    } else {
        let sized = sized(cluster, living);
        attempt(situation, membership, living, &sized, &mut record, step)
    };
    step.space_cure = Some(record);
    ended
}

/// Whether room is being made, so that it is no time to grow or shrink.
pub(super) fn is_under_way(step: &Step) -> bool {
    step.findings.iter().any(|finding| {
        finding.reason == Reason::NoSpace
            && matches!(finding.kind, FindingKind::Doing | FindingKind::Waiting)
    })
}

/// What is to be remembered of the cure after this pass: nothing once the alarm is known to be gone.
pub(crate) fn remembered(situation: &Situation<'_>, step: &Step) -> Option<SpaceCure> {
    let is_gone = situation.snapshot.etcd.alarms.seen().is_some()
        && !situation.snapshot.etcd.is_alarmed(AlarmKind::Nospace);
    match &step.space_cure {
        Some(record) => Some(record.clone()),
        None if is_gone => None,
        None => situation.memory.space_cure.clone(),
    }
}

/// The record so far, without what was announced and then not done.
fn begun(situation: &Situation<'_>, living: &Living<'_>) -> SpaceCure {
    let now = clock::spell(situation.snapshot.now);
    let mut record = situation
        .memory
        .space_cure
        .clone()
        .unwrap_or_else(|| SpaceCure {
            since: now.clone(),
            tried_at: now,
            early: false,
            compacted_revision: None,
            defragmented: Vec::new(),
        });
    for past in &situation.snapshot.outcomes {
        match past.outcome {
            OutcomeKind::Done | OutcomeKind::Failed => {}
            OutcomeKind::Refused | OutcomeKind::Skipped if past.effect == "Compact" => {
                record.compacted_revision = None;
            }
            OutcomeKind::Refused | OutcomeKind::Skipped if past.effect == "Defragment" => {
                let spared = |member: &&Member<'_>| {
                    member.id.is_some_and(|id| id.to_string() == past.target)
                };
                if let Some(member) = living.members.iter().find(spared) {
                    record.defragmented.retain(|name| name != member.name);
                }
            }
            OutcomeKind::Refused | OutcomeKind::Skipped => {}
        }
    }
    record
}

/// Why nothing can be done at this moment.
fn why_later(cluster: &Cluster, situation: &Situation<'_>, living: &Living<'_>) -> Option<String> {
    let votes = living.votes();
    if situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt) {
        return Some("Members also disagree on their data; that is settled first.".to_owned());
    }
    if !votes.has_quorum() {
        return Some(format!(
            "{} of {} voters are healthy; room is made once {} are.",
            votes.healthy,
            votes.voters,
            quorum(votes.voters)
        ));
    }
    if let Some(learner) = living.learner() {
        return Some(wait_for_the_learner(cluster, living, learner));
    }
    if let Some(fresh) = living.voters().find(|member| !member.started) {
        return Some(format!(
            "Room is made once {} has run for the first time or was replaced.",
            fresh.name
        ));
    }
    if living.leader().is_none() {
        return Some("Room is made once the voters agree on a leader.".to_owned());
    }
    None
}

fn wait_for_the_learner(cluster: &Cluster, living: &Living<'_>, learner: &Member<'_>) -> String {
    let name = learner.name;
    let what = format!("Room is made once the learner {name} votes or is taken out.");
    let voters = living.voters().count();
    if learner.is_healthy() {
        what
    } else if cluster.size.is_some_and(|size| size > voters) {
        format!(
            "{what} It is not up ({}). Where that lasts, set spec.size to {voters}: then {name} leaves at once.",
            learner.complaint()
        )
    } else {
        format!("{what} It is not up ({}).", learner.complaint())
    }
}

/// Whether a learner that cannot come up by itself keeps an attempt from being made that is due.
pub(super) fn is_held_up(situation: &Situation<'_>, living: &Living<'_>) -> bool {
    if !situation.snapshot.etcd.is_alarmed(AlarmKind::Nospace) {
        return false;
    }
    let Some(record) = &situation.memory.space_cure else {
        return true;
    };
    let lead = living.leader();
    let mut voters = living.voters();
    let leader = voters.find(|member| member.id == lead);
    let is_changed = leader
        .and_then(Member::status)
        .is_some_and(|status| has_changed(status, record));
    let tried = tried_for(situation, record);
    tried >= RETRY || record.compacted_revision.is_none() || (tried >= EARLY_RETRY && is_changed)
}

/// How long ago the last attempt began.
fn tried_for(situation: &Situation<'_>, record: &SpaceCure) -> Millis {
    let now = situation.snapshot.now;
    clock::read(&record.tried_at).map_or(RETRY, |at| now.since(at))
}

/// Takes the next step of an attempt, or begins another one.
fn attempt(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    sized: &[Sized<'_>],
    record: &mut SpaceCure,
    step: &mut Step,
) -> bool {
    let tried = tried_for(situation, record);
    let is_complete = sized.len() == living.voters().count();
    if is_complete && !sized.iter().any(Sized::is_full) {
        // With the quota of before, the next write would raise the alarm again.
        let guessed = sized.iter().find(|member| member.is_to_get_it);
        if let Some(member) = guessed.filter(|_| tried < RETRY) {
            wait_for_the_quota(member, step);
            return false;
        }
        disarm(situation, membership, living, step);
        return true;
    }
    let lead = living.leader();
    let Some(leader) = sized.iter().find(|member| Some(member.id) == lead) else {
        return false;
    };
    if let Some(revision) = compaction(record, leader, tried) {
        compact(situation, membership, living, revision, step);
        record.compacted_revision = Some(revision);
        return true;
    }
    if !leader.has_slack() && tried < SHOWN {
        step.find(FindingKind::Waiting, Reason::NoSpace, "etcd has no space left and serves only reads and deletes. Old revisions were given up; it is being seen how much room that makes.".to_owned());
        step.look_again(LATER, Reason::NoSpace);
        return false;
    }
    let mut undone: Vec<&Sized<'_>> = sized
        .iter()
        .filter(|member| {
            member.is_full() && !record.defragmented.iter().any(|name| name == member.name)
        })
        .filter(|member| !record.early || is_loose(member, leader))
        .collect();
    undone.sort_by_key(|member| (Some(member.id) == lead, member.name));
    let Some(next) = undone.first() else {
        if !sized.iter().any(Sized::is_full) {
            wait_for_the_silent(living, step);
            return false;
        }
        return retry_or_tell(situation, sized, leader, tried, record, step);
    };
    if !next.has_slack() && tried >= EARLY_RETRY && has_changed(leader.status, record) {
        begin_again(situation, true, record, step);
        return false;
    }
    if !next.has_slack() && tried < FOLLOWED {
        step.find(FindingKind::Waiting, Reason::NoSpace, "etcd has no space left and serves only reads and deletes. Old revisions were given up; members are taking that over.".to_owned());
        step.look_again(LATER, Reason::NoSpace);
        return false;
    }
    defragment(situation, membership, living, next, record, step)
}

/// The revision to compact to, if a compaction is due.
fn compaction(record: &SpaceCure, leader: &Sized<'_>, tried: Millis) -> Option<i64> {
    let revision = leader.status.revision?;
    let is_short = !leader.has_slack();
    match record.compacted_revision {
        None if record.early => Some(revision),
        None if revision > KEPT_REVISIONS => Some(revision - KEPT_REVISIONS),
        None => is_short.then_some(revision),
        // Refused writes harm more than watches that must begin anew.
        Some(done) => {
            (is_short && revision - done >= KEPT_REVISIONS && tried >= SHOWN).then_some(revision)
        }
    }
}

/// Whether defragmenting would make room. All members hold the same keys, so the leader's sizes tell it of a follower, too:
/// that one counts freed pages as used until its next write, and there is none.
const fn is_loose(member: &Sized<'_>, leader: &Sized<'_>) -> bool {
    member.has_slack() || leader.has_slack()
}

/// The reason is another one than the alarm's, for which nobody would be touched meanwhile.
fn wait_for_the_quota(member: &Sized<'_>, step: &mut Step) {
    step.find_of(
        FindingKind::Waiting,
        Reason::Reshaping,
        member.name,
        format!(
            "etcd has no space left and serves only reads and deletes. With the quota that the spec has now there is room: the \
             alarm is ended once the pod of {} was made again with it, or after {} minutes.",
            member.name,
            RETRY.0 / 60_000
        ),
    );
    step.look_again(LATER, Reason::NoSpace);
}

/// Those who answer have room; of the others it is not known.
fn wait_for_the_silent(living: &Living<'_>, step: &mut Step) {
    let silent = living.voters().filter(|member| !member.is_healthy());
    let names: Vec<&str> = silent.map(|member| member.name).collect();
    step.find(
        FindingKind::Waiting,
        Reason::NoSpace,
        format!(
            "etcd had no space left and serves only reads and deletes. The alarm is ended once it is known that {} \
             has room, too. To end it before that, at a member that answers: etcdctl alarm disarm",
            names.join(", ")
        ),
    );
    step.look_again(LATER, Reason::NoSpace);
}

/// Whether keys were changed since history was given up. Only deletes are served, so somebody makes room.
fn has_changed(leader: &EndpointStatus, record: &SpaceCure) -> bool {
    let revision = leader.revision;
    revision.is_some_and(|revision| record.compacted_revision.is_none_or(|done| revision > done))
}

fn begin_again(situation: &Situation<'_>, early: bool, record: &mut SpaceCure, step: &mut Step) {
    *record = SpaceCure {
        since: record.since.clone(),
        tried_at: clock::spell(situation.snapshot.now),
        early,
        compacted_revision: None,
        defragmented: Vec::new(),
    };
    step.find(
        FindingKind::Doing,
        Reason::NoSpace,
        "etcd has no space left and serves only reads and deletes. Room is looked for once more."
            .to_owned(),
    );
    step.look_again(SOON, Reason::NoSpace);
}

/// What was possible was done and some file is still too large.
fn retry_or_tell(
    situation: &Situation<'_>,
    sized: &[Sized<'_>],
    leader: &Sized<'_>,
    tried: Millis,
    record: &mut SpaceCure,
    step: &mut Step,
) -> bool {
    if tried >= RETRY || (tried >= EARLY_RETRY && has_changed(leader.status, record)) {
        begin_again(situation, tried < RETRY, record, step);
        return false;
    }
    // A compaction frees pages after it was answered: a member may have been defragmented too soon.
    let mut full = sized.iter().filter(|member| member.is_full());
    if tried >= EARLY_RETRY && full.any(|member| is_loose(member, leader)) {
        let compacted_revision = record.compacted_revision;
        begin_again(situation, true, record, step);
        record.compacted_revision = compacted_revision;
        return false;
    }
    let full: Vec<String> = sized
        .iter()
        .filter(|member| member.is_full())
        .map(|member| format!("{}: {} %", member.name, member.percent()))
        .collect();
    step.find(
        FindingKind::Blocked,
        Reason::NoSpace,
        format!(
            "etcd has no space left and serves only reads and deletes. Compacting and defragmenting did not help: of \
             their quota members still use {}; below 90 % the alarm is ended. Delete keys, which works meanwhile, or \
             raise spec.etcd.quotaBackendBytes. It is tried again within {} s once keys changed, \
             else every {} minutes.",
            full.join(", "),
            EARLY_RETRY.0 / 1000 + 10,
            RETRY.0 / 60_000
        ),
    );
    step.look_again(Millis::seconds(10), Reason::NoSpace);
    false
}
