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
use std::fmt;

use contract::{Effect, EtcdView, MemberId, OutcomeKind, PastOutcome, Snapshot};
use simulator::{Seat, Supposition, verdict};

use super::{Step, is_alone};

/// How far changes of members were compared.
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
}

/// What is known of one cluster so far.
#[derive(Default)]
pub(super) struct Known {
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

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            steps,
            sure,
            unseen,
            lists,
        } = self;
        write!(
            f,
            "{steps} changes of members, {sure} of them told for sure, {unseen} refused for streams that broke unseen, {lists} member lists"
        )
    }
}

impl Compared {
    pub(super) const fn is_seldom_unseen(&self) -> bool {
        self.unseen * 20 <= self.steps
    }
}

impl Known {
    pub(super) fn compare(
        &mut self,
        step: &Step,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) {
        let Step {
            of,
            seq,
            snapshot,
            acts,
        } = step;
        if let Some(list) = seats(&snapshot.etcd)
            && let Some(expected) = self.expected.take()
            && is_alone(expected.at, snapshot.now.0)
        {
            compared.lists += 1;
            let Expected { after, seats, .. } = expected;
            if list != seats {
                differences.push(format!(
                    "{of}: after record {after} the members are {list:?}, in the model {seats:?}"
                ));
            }
        }
        note_connected(snapshot, &mut self.since);
        for (action, past) in acts {
            let PastOutcome {
                outcome, message, ..
            } = past;
            let said = match outcome {
                OutcomeKind::Done => Ok(()),
                // The model has no users: whom etcd does not know, no rule of membership was asked for.
                OutcomeKind::Failed if is_of_users(message) => continue,
                OutcomeKind::Failed if message.starts_with("etcdserver: ") => Err(message.as_str()),
                // No member was asked, or nobody knows what it said.
                OutcomeKind::Failed | OutcomeKind::Refused | OutcomeKind::Skipped => continue,
            };
            let Some(answers) = answers(snapshot, self, &action.effect) else {
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
                    self.expected = Some(Expected {
                        after: *seq,
                        at: snapshot.now.0,
                        seats: seats.clone(),
                    });
                }
                // What was refused changed nobody.
                Some(Err(_)) => self.expect(*seq, snapshot),
                None if broken(snapshot, &action.effect)
                    .as_ref()
                    .is_some_and(agrees) =>
                {
                    compared.unseen += 1;
                    self.expect(*seq, snapshot);
                }
                None => differences.push(format!(
                    "{of}: {} {} was answered with {said:?}, the model says {answers:?}",
                    action.effect.name(),
                    action.effect.target()
                )),
            }
        }
    }
}

impl Known {
    /// The members are to stay who they are in the snapshot.
    fn expect(&mut self, after: u64, snapshot: &Snapshot) {
        self.expected = seats(&snapshot.etcd).map(|seats| Expected {
            after,
            at: snapshot.now.0,
            seats,
        });
    }
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
