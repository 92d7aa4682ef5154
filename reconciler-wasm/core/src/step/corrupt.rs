//! The alarm for corrupt data: whose data is right is for a quorum of equal hashes to say, and for nobody else.
//!
//! etcd may name the wrong member, or none. It serves no client while the alarm stands, so the data does not change; the
//! member list, its changes, hashes and alarms go on.
//!
//! # Flow
//! 1. Compare the hashes of all voters, at one revision and one compacted revision, of one version of etcd: others hash
//!    differently.
//! 2. Without a quorum of equal hashes nothing is removed, deleted or added. A person must choose.
//! 3. A voter that such a quorum outvotes gives up leadership and is taken out; its disk is not used again. The ordinary
//!    growth replaces it, from a leader that is in the right.
//! 4. When all voters agree the alarm is ended.

use std::collections::BTreeMap;

use contract::{AlarmKind, EventType, FindingKind, HashKv, Membership, Reason};

use super::{LATER, SOON, Step, alarm, leave};
use crate::assess::{Living, Member, Situation};
use crate::pre;
use crate::quorum::quorum;

/// What must be equal before two hashes say anything, and the hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Evidence<'a> {
    version: &'a str,
    revision: i64,
    compact_revision: i64,
    /// The newest revision of the member: one that lacks the last writes agrees on those before.
    newest: Option<i64>,
    hash: u32,
}

impl Evidence<'_> {
    /// Whether this one, compared with `other`, holds other data.
    fn contradicts(&self, other: &Self) -> bool {
        self.version == other.version
            && self.revision == other.revision
            && self.compact_revision == other.compact_revision
            && self.hash != other.hash
    }
}

fn evidence<'a>(member: &'a Member<'_>) -> Option<Evidence<'a>> {
    let status = member.status()?;
    let HashKv {
        revision,
        compact_revision,
        hash,
    } = status.hash_kv.clone()?;
    Some(Evidence {
        version: &status.version,
        revision,
        compact_revision,
        newest: status.revision,
        hash,
    })
}

/// Works on the alarm, if it stands. Says whether this pass may touch nothing further.
pub(super) fn attend(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    if !situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt) {
        return false;
    }
    let voters: Vec<(&Member<'_>, Option<Evidence<'_>>)> = living
        .voters()
        .map(|member| (member, evidence(member)))
        .collect();
    let mut camps: BTreeMap<Evidence<'_>, usize> = BTreeMap::new();
    for (_, evidence) in &voters {
        if let Some(evidence) = evidence {
            *camps.entry(*evidence).or_default() += 1;
        }
    }
    let right = camps
        .iter()
        .find(|(_, count)| **count >= quorum(voters.len()))
        .map(|(evidence, _)| *evidence);
    let Some(right) = right else {
        tell(&voters, step);
        return true;
    };
    if let Some((outvoted, _)) = voters
        .iter()
        .find(|(_, evidence)| evidence.is_some_and(|evidence| evidence.contradicts(&right)))
    {
        replace(situation, membership, living, outvoted, step);
        return true;
    }
    let is_listed = situation.snapshot.etcd.alarms.seen().is_some();
    if is_listed && voters.iter().all(|(_, evidence)| *evidence == Some(right)) {
        disarm(situation, membership, living, step);
        return true;
    }
    let unclear: Vec<&str> = voters
        .iter()
        .filter(|(_, evidence)| *evidence != Some(right))
        .map(|(member, _)| member.name)
        .collect();
    step.find(
        FindingKind::Waiting,
        Reason::DataCorrupt,
        format!(
            "etcd found that members disagree on their data, and serves nobody. A quorum of them has equal hashes; the \
             alarm is ended once {} can be compared with it.",
            unclear.join(", ")
        ),
    );
    step.look_again(LATER, Reason::DataCorrupt);
    // Whoever is down is repaired: a quorum is known to hold the data.
    false
}

/// No quorum agrees, so every disk may be the one that counts.
fn tell(voters: &[(&Member<'_>, Option<Evidence<'_>>)], step: &mut Step) {
    let hashes: Vec<String> = voters
        .iter()
        .map(|(member, evidence)| match evidence {
            Some(Evidence {
                version,
                revision,
                compact_revision,
                newest,
                hash,
            }) => format!(
                "{}: {hash:08x} at revision {revision} of {}, compacted to {compact_revision}, etcd {version}",
                member.name,
                newest.map_or_else(|| "unknown".to_owned(), |newest| newest.to_string())
            ),
            None => format!("{}: unknown", member.name),
        })
        .collect();
    step.find(
        FindingKind::Blocked,
        Reason::DataCorrupt,
        format!(
            "etcd found that members disagree on their data, and serves nobody. No {} of {} voters have equal hashes, so \
             nobody knows whose data is right, and nothing is removed or deleted. Hashes: {}. Save a snapshot of each \
             member (etcdctl snapshot save), choose one, and restore the cluster from it.",
            quorum(voters.len()),
            voters.len(),
            hashes.join("; ")
        ),
    );
    step.look_again(super::AT_REST, Reason::DataCorrupt);
}

fn replace(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    outvoted: &Member<'_>,
    step: &mut Step,
) {
    let what = format!(
        "etcd found that members disagree on their data. {} differs from a quorum with equal hashes",
        outvoted.name
    );
    // A learner cannot be asked for its hash, and may have its data from a leader that is in the wrong.
    let (leaver, note) = match living.learner() {
        Some(learner) => (
            learner,
            format!(
                "{what}; the learner {} leaves first, because nobody can tell what it has",
                learner.name
            ),
        ),
        None => (outvoted, format!("{what}; a new member takes its place")),
    };
    match leave::why_not(living, leaver) {
        None => {
            let Some(id) = leaver.id else { return };
            step.find_of(
                FindingKind::Doing,
                Reason::DataCorrupt,
                leaver.name,
                format!("{note}."),
            );
            leave::remove(
                situation,
                membership,
                living,
                leaver,
                id,
                (Reason::DataCorrupt.name(), note),
                step,
            );
        }
        Some(leave::Obstacle::Leads) => {
            leave::move_leader(situation, membership, living, leaver, step);
        }
        Some(leave::Obstacle::Quorum(too_few)) => {
            step.find_of(
                FindingKind::Blocked,
                Reason::DataCorrupt,
                leaver.name,
                format!(
                    "{note}. It cannot be taken out: {} healthy voters would be left and {} are needed. Bring back another \
                     member first.",
                    too_few.healthy, too_few.needed
                ),
            );
            step.look_again(LATER, Reason::DataCorrupt);
        }
        Some(leave::Obstacle::NotListed) => {}
    }
}

fn disarm(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    alarm::disarm(AlarmKind::Corrupt, situation, membership, living, step);
    let words = "All voters have equal hashes; the alarm for corrupt data is ended";
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::DataCorrupt,
        words.to_owned(),
    ));
    step.find(
        FindingKind::Doing,
        Reason::DataCorrupt,
        format!("{words}, and etcd serves again."),
    );
    step.look_again(SOON, Reason::DataCorrupt);
}
