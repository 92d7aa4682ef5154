//! Before whom a history is brought: by which module it is lived through, and of which promises it is judged.
//!
//! What the promises mean is [`super::invariants`]'. It does not know where plans come from.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use simulator::{Fact, History, Plan, simulate};

use crate::goal::{is_goal, is_hopeless};
use crate::invariants::{Promise, Violation, judge, unsafe_deed, violations};
use crate::mad;

/// As `once_failed.yaml` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Court {
    /// Of every promise.
    All,
    /// Of those of safety; whether it comes to its goal is not asked.
    Safety,
    /// Of every promise; but where no cluster was ever recorded, claims that stayed hold nothing, and the operator says so
    /// and waits.
    Formed,
    /// Of a module gone mad: what no module may bring about.
    Mad,
    /// Of a module gone mad, among objects of others: whether it touches one.
    Trespass,
}

impl Court {
    /// The history of a plan.
    pub(crate) fn history(self, plan: &Plan, tell: bool) -> History {
        match self {
            Self::All | Self::Safety | Self::Formed => {
                let mut decide = reconciler::reconcile;
                simulate(plan, &mut decide, &is_goal, &is_hopeless, tell)
            }
            Self::Mad | Self::Trespass => {
                simulate(plan, &mut mad::decide, &is_goal, &is_hopeless, tell)
            }
        }
    }

    /// The first promise that a plan breaks.
    pub(crate) fn judge(self, plan: &Plan) -> Option<Violation> {
        answered(|| self.judge_history(&self.history(plan, false)))
    }

    fn judge_history(self, history: &History) -> Option<Violation> {
        match self {
            Self::All => violations(history).into_iter().next(),
            Self::Formed => {
                let formed = |fact: &Fact| matches!(fact, Fact::Deed { before, .. } if before.cluster.is_some());
                Self::All.judge_history(history).filter(|violation| {
                    violation.promise != Promise::GoalsAreReached
                        || history.facts.iter().any(formed)
                })
            }
            Self::Safety | Self::Mad | Self::Trespass => {
                let mut facts = history.facts.iter();
                facts.find_map(|fact| self.judge_fact(fact))
            }
        }
    }

    /// What is broken by a fact alone, however the history ends.
    pub(crate) fn judge_fact(self, fact: &Fact) -> Option<Violation> {
        match self {
            Self::All | Self::Formed => judge(fact),
            Self::Safety => {
                let of_rest = [Promise::NothingSpins, Promise::GoalsAreRest];
                judge(fact).filter(|violation| !of_rest.contains(&violation.promise))
            }
            Self::Mad => unsafe_deed(fact),
            Self::Trespass => {
                judge(fact).filter(|violation| violation.promise == Promise::OthersKeepTheirs)
            }
        }
    }
}

/// A panic is a snapshot without an answer.
pub(crate) fn answered(judge: impl FnOnce() -> Option<Violation>) -> Option<Violation> {
    catch_unwind(AssertUnwindSafe(judge)).unwrap_or_else(|_| {
        Some(Violation {
            promise: Promise::SnapshotsAreAnswered,
            what: "a panic".to_owned(),
        })
    })
}
