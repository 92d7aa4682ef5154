//! The model of etcd held against recordings: each change of members that real members were asked for is asked of the
//! model, in the state that the snapshot saw, and both must answer the same.
//!
//! A snapshot does not say everything: how long members have been connected is known only from the snapshots before it,
//! and a learner catches up meanwhile. So the model is asked twice, for the worst and for the best of what may be, and
//! what the real members said must be among its answers. Where both are the same the step is told for sure.
//!
//! A stream between two members can break without any snapshot showing it; for 5 s etcd then changes no members. Such
//! an answer is no difference where the model gives it, too, once nobody is connected for long, but it is counted:
//! more than a few would say that the model's rule is not etcd's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use contract::{Decision, Effect, EtcdView, MemberId, OutcomeKind, PastOutcome, Snapshot};
use host::lease;
use host::recorder::{Record, Recording, recordings};
use simulator::{Seat, Supposition, verdict};

/// How far model and recordings were compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Changes of members that real members answered.
    pub(crate) steps: usize,
    /// Those where the model had one answer only.
    pub(crate) sure: usize,
    /// Refusals that the model gives only if streams between members broke without a snapshot showing it.
    pub(crate) unseen: usize,
    /// Member lists that were seen after such a change and compared with the model's.
    pub(crate) lists: usize,
    /// Where the model is not as etcd was, in words.
    pub(crate) differences: Vec<String>,
}

/// What is known of one cluster so far.
#[derive(Default)]
struct Known {
    /// Since when each member has answered and followed a leader, in milliseconds.
    since: BTreeMap<MemberId, i64>,
    /// What the next list must be.
    expected: Option<Expected>,
}

/// What a change leaves.
struct Expected {
    /// The record of the change.
    after: u64,
    /// Its time, in milliseconds.
    at: i64,
    seats: Vec<Seat>,
}

impl Compared {
    /// Whether no answer differs, and streams seldom explain one.
    pub(crate) fn agrees(&self) -> bool {
        self.differences.is_empty() && self.unseen * 20 <= self.steps
    }
}

impl Expected {
    /// Whoever stood still longer than its lease is not the only one who changed members meanwhile.
    fn holds_at(&self, now: i64) -> bool {
        u128::try_from(now - self.at).is_ok_and(|past| past < lease::DURATION.as_millis())
    }
}

/// Compares all recordings of these folders or files.
pub(crate) fn compare(of: &[PathBuf]) -> Result<Compared> {
    let mut compared = Compared::default();
    for place in of {
        let mut clusters: BTreeMap<String, Known> = BTreeMap::new();
        for file in recordings(place)? {
            let mut recording = Recording::open(&file)?;
            while let Some(frame) = recording.next_frame()? {
                for record in frame.records() {
                    let record = record?;
                    let known = clusters.entry(record.cluster.uid.clone()).or_default();
                    step(&record, known, &mut compared)
                        .with_context(|| format!("record {} of {}", record.seq, file.display()))?;
                }
            }
        }
    }
    Ok(compared)
}

fn step(record: &Record, known: &mut Known, compared: &mut Compared) -> Result<()> {
    let snapshot: Snapshot = serde_json::from_str(record.snapshot.get())?;
    let of = format!("record {} of {}", record.seq, record.cluster.name);
    if let Some(list) = seats(&snapshot.etcd)
        && let Some(expected) = known.expected.take()
        && expected.holds_at(snapshot.now.0)
    {
        compared.lists += 1;
        let Expected { after, seats, .. } = expected;
        if list != seats {
            compared.differences.push(format!(
                "{of}: after record {after} the members are {list:?}, in the model {seats:?}"
            ));
        }
    }
    note_connected(&snapshot, &mut known.since);
    let Some(answer) = &record.answer else {
        return Ok(());
    };
    let decision: Decision = serde_json::from_str(answer.get())?;
    for (action, result) in decision.actions.iter().zip(&record.results) {
        let PastOutcome {
            outcome, message, ..
        } = &result.outcome;
        let said = match outcome {
            OutcomeKind::Done => Ok(()),
            // The model has no users: whom etcd does not know, no rule of membership was asked for.
            OutcomeKind::Failed if is_of_users(message) => continue,
            OutcomeKind::Failed if message.starts_with("etcdserver: ") => Err(message.as_str()),
            // No member was asked, or nobody knows what it said.
            OutcomeKind::Failed | OutcomeKind::Refused | OutcomeKind::Skipped => continue,
        };
        let Some(answers) = answers(&snapshot, known, &action.effect) else {
            continue;
        };
        compared.steps += 1;
        compared.sure += usize::from(answers[0] == answers[1]);
        let agrees = |answer: &Result<Vec<Seat>, &str>| match (answer, said) {
            (Ok(_), Ok(())) => true,
            (Err(model), Err(real)) => real.starts_with(model),
            (Ok(_), Err(_)) | (Err(_), Ok(())) => false,
        };
        match answers.iter().find(|answer| agrees(answer)) {
            Some(Ok(seats)) => {
                known.expected = Some(Expected {
                    after: record.seq,
                    at: snapshot.now.0,
                    seats: seats.clone(),
                });
            }
            Some(Err(_)) => {}
            None if broken(&snapshot, &action.effect)
                .as_ref()
                .is_some_and(agrees) =>
            {
                compared.unseen += 1
            }
            None => compared.differences.push(format!(
                "{of}: {} {} was answered with {said:?}, the model says {answers:?}",
                action.effect.name(),
                action.effect.target()
            )),
        }
    }
    Ok(())
}

fn is_of_users(message: &str) -> bool {
    let of_users = ["user name is empty", "permission denied"];
    of_users.iter().any(|words| message.contains(words))
}

/// The model's answers, for the worst and for the best of what the snapshot leaves open.
fn answers(
    snapshot: &Snapshot,
    known: &Known,
    effect: &Effect,
) -> Option<[Result<Vec<Seat>, &'static str>; 2]> {
    let now = snapshot.now.0;
    let connected = known.since.iter().map(|(id, since)| (*id, now - since));
    let worst = Supposition {
        connected: &connected.collect(),
        caught_up: false,
    };
    let best = Supposition {
        connected: &BTreeMap::new(),
        caught_up: true,
    };
    let ask = |suppose| verdict(&snapshot.etcd, suppose, effect);
    Some([ask(worst)?, ask(best)?])
}

/// The model's answer where every stream between members broke a moment ago.
fn broken(snapshot: &Snapshot, effect: &Effect) -> Option<Result<Vec<Seat>, &'static str>> {
    let statuses = snapshot.etcd.endpoints.iter();
    let connected = statuses
        .filter_map(|endpoint| endpoint.status.seen())
        .map(|status| (status.member_id, 0));
    let suppose = Supposition {
        connected: &connected.collect(),
        caught_up: true,
    };
    verdict(&snapshot.etcd, suppose, effect)
}

/// The confirmed member list, as the model spells it.
fn seats(view: &EtcdView) -> Option<Vec<Seat>> {
    let list = view.membership.seen().filter(|list| list.linearizable)?;
    let members = list.members.iter();
    let mut seats: Vec<Seat> = members
        .map(|member| {
            let url = member.peer_urls.first().cloned().unwrap_or_default();
            (url, member.learner)
        })
        .collect();
    seats.sort();
    Some(seats)
}

fn note_connected(snapshot: &Snapshot, since: &mut BTreeMap<MemberId, i64>) {
    let statuses = snapshot.etcd.endpoints.iter();
    let following: Vec<MemberId> = statuses
        .filter_map(|endpoint| endpoint.status.seen())
        .filter(|status| status.leader.is_some())
        .map(|status| status.member_id)
        .collect();
    since.retain(|id, _| following.contains(id));
    for id in following {
        since.entry(id).or_insert(snapshot.now.0);
    }
}
