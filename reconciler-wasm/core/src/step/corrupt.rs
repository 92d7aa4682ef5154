//! The alarm for corrupt data: whose data is right is for a quorum of equal hashes to say, and for nobody else.
//!
//! etcd may name the wrong member, or none. It serves no client while the alarm stands, so the data does not change; the
//! member list, its changes, hashes and alarms go on.
//!
//! # Flow
//! 1. Compare the hashes of all voters, at one revision and one compacted revision. Equal ones agree, whatever version of
//!    etcd they are of. Different ones contradict each other only within one version: patches, too, changed what is hashed.
//! 2. Without a quorum of equal hashes nothing is removed, deleted or added. A person must choose.
//! 3. A voter that such a quorum outvotes gives up leadership and is taken out; its disk is not used again. The ordinary
//!    growth replaces it, from a leader that is in the right.
//! 4. When all voters agree the alarm is ended.
//! 5. One that answers and compares with no such quorum may be right or wrong: a person may give it up.

use std::collections::BTreeMap;

use contract::{AlarmKind, EventType, FindingKind, HashKv, Membership, Millis, Reason};

use super::{LATER, SOON, Step, alarm, leave};
use crate::assess::{Living, Member, Situation};
use crate::clock;
use crate::pre;
use crate::quorum::quorum;
use crate::status::conditions::AVAILABLE;

/// How long a member may need to apply what the others have, which makes it one that can be compared.
const APPLIED: Millis = Millis::seconds(60);

/// A voter, with what is known of its data.
type Voter<'l, 'a> = (&'l Member<'a>, Option<Evidence>);

/// What must be equal before two hashes say anything, and the hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Evidence {
    revision: i64,
    compact_revision: i64,
    /// The newest revision of the member: one that lacks the last writes agrees on those before.
    newest: Option<i64>,
    hash: u32,
}

impl Evidence {
    /// Whether this one, of the same revisions as `other`, has another hash.
    const fn differs(&self, other: &Self) -> bool {
        self.revision == other.revision
            && self.compact_revision == other.compact_revision
            && self.hash != other.hash
    }
}

fn evidence(member: &Member<'_>) -> Option<Evidence> {
    let status = member.status()?;
    let HashKv {
        revision,
        compact_revision,
        hash,
    } = status.hash_kv.clone()?;
    Some(Evidence {
        revision,
        compact_revision,
        newest: status.revision,
        hash,
    })
}

fn version<'a>(member: &'a Member<'_>) -> Option<&'a str> {
    member.status().map(|status| status.version.as_str())
}

/// Whether one of the quorum with equal hashes, who hashes like this voter, shows that it holds other data.
fn is_outvoted(
    (member, evidence): &Voter<'_, '_>,
    right: &Evidence,
    voters: &[Voter<'_, '_>],
) -> bool {
    let mut agreeing = voters.iter().filter(|(_, theirs)| *theirs == Some(*right));
    evidence.is_some_and(|own| own.differs(right))
        && agreeing.any(|(other, _)| version(other) == version(member))
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
    let voters: Vec<Voter<'_, '_>> = living
        .voters()
        .map(|member| (member, evidence(member)))
        .collect();
    let mut camps: BTreeMap<Evidence, usize> = BTreeMap::new();
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
        .find(|voter| is_outvoted(voter, &right, &voters))
    {
        replace(situation, membership, living, outvoted, step);
        return true;
    }
    let is_listed = situation.snapshot.etcd.alarms.seen().is_some();
    if is_listed && voters.iter().all(|(_, evidence)| *evidence == Some(right)) {
        disarm(situation, membership, living, step);
        return true;
    }
    tell_unclear(situation, &voters, &right, step);
    // Whoever is down is repaired: a quorum is known to hold the data.
    false
}

/// A quorum is known to agree, and it is not known of all others whether they do.
fn tell_unclear(
    situation: &Situation<'_>,
    voters: &[Voter<'_, '_>],
    right: &Evidence,
    step: &mut Step,
) {
    let unclear = voters.iter().filter(|(_, own)| *own != Some(*right));
    let names: Vec<&str> = unclear.clone().map(|(member, _)| member.name).collect();
    let what = format!(
        "etcd found that members disagree on their data, and serves nobody. A quorum of them has equal hashes; the alarm is \
         ended once {} can be compared with it.",
        names.join(", ")
    );
    step.look_again(LATER, Reason::DataCorrupt);
    // Nobody writes meanwhile, so whoever answers has soon applied all there is.
    let has_lasted = stands_for(situation) >= APPLIED;
    let mut lasting = unclear.filter(|(member, own)| {
        member.is_healthy() && (has_lasted || own.is_some_and(|own| own.differs(right)))
    });
    let Some((member, _)) = lasting.next() else {
        step.find(FindingKind::Waiting, Reason::DataCorrupt, what);
        return;
    };
    let (name, namespace) = (member.name, &situation.snapshot.resource.namespace);
    let claim = member.volume.map_or_else(String::new, |_| {
        format!("kubectl --namespace {namespace} delete pvc {name} --wait=false; ")
    });
    step.find_of(
        FindingKind::Blocked,
        Reason::DataCorrupt,
        name,
        format!(
            "{what} {name} answers, and its hash says nothing beside theirs: it is of another version of etcd, or of other \
             revisions. Hashes: {}. To give up what {name} has and get a new member with the data of the others: \
             {claim}kubectl --namespace {namespace} delete pod {name}",
            spell(voters)
        ),
    );
}

/// How long the alarm has been standing, as far as the status remembers.
fn stands_for(situation: &Situation<'_>) -> Millis {
    let mut conditions = situation.memory.conditions.iter();
    conditions
        .find(|one| one.kind == AVAILABLE && one.reason == Reason::DataCorrupt.name())
        .and_then(|one| one.last_transition_time.as_deref())
        .map_or(Millis(0), |since| {
            clock::passed(since, situation.snapshot.now)
        })
}

fn spell(voters: &[Voter<'_, '_>]) -> String {
    let hashes: Vec<String> = voters
        .iter()
        .map(|(member, evidence)| match evidence {
            Some(Evidence {
                revision,
                compact_revision,
                newest,
                hash,
            }) => format!(
                "{}: {hash:08x} at revision {revision} of {}, compacted to {compact_revision}, etcd {}",
                member.name,
                newest.map_or_else(|| "unknown".to_owned(), |newest| newest.to_string()),
                version(member).unwrap_or_default()
            ),
            None => format!("{}: unknown", member.name),
        })
        .collect();
    hashes.join("; ")
}

/// No quorum agrees, so every disk may be the one that counts.
fn tell(voters: &[Voter<'_, '_>], step: &mut Step) {
    step.find(
        FindingKind::Blocked,
        Reason::DataCorrupt,
        format!(
            "etcd found that members disagree on their data, and serves nobody. No {} of {} voters have equal hashes, so \
             nobody knows whose data is right, and nothing is removed or deleted. Hashes: {}. Save a snapshot of each \
             member (etcdctl snapshot save), choose one, and restore the cluster from it.",
            quorum(voters.len()),
            voters.len(),
            spell(voters)
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
