//! Learners that are cut off from the others, and not from the operator, at each moment of their way to a vote.
//!
//! A learner asks for no votes, so it goes on naming its leader, and etcd promotes it for what the leader once heard of it.

use contract::{LEARNER_UNHEARD, Snapshot};
use simulator::{Deed, Fact, Fault, History, Plan, Planned, simulate};

use super::goal::{is_goal, is_hopeless};
use super::properties::quiet;
use super::told::tell;
use super::{Court, violations};

/// From one member to two, a vote that nobody reaches costs the quorum at once.
const GROWS_AT: i64 = 20_000;
/// For how many milliseconds before its vote a member is cut off, and how far apart the moments are: before that it has not
/// caught up.
const WINDOW: i64 = 500;
const STEP: usize = if cfg!(debug_assertions) { 20 } else { 10 };
/// Longer than a learner is waited for.
const LASTS: i64 = 400_000;

fn plan(size: i64, cut: Option<(i64, u32)>) -> Plan {
    let mut plan = quiet(size, &[(GROWS_AT, Fault::Resize(size + 1))]);
    plan.faults.extend(cut.map(|(at, node)| Planned {
        at,
        lasts: LASTS,
        fault: Fault::Partition(node),
    }));
    plan
}

/// The history, and whether a vote was asked for that the operator's own look refused.
fn lived(plan: &Plan) -> (History, bool) {
    let mut is_unheard = false;
    let mut decide = |snapshot: &Snapshot| {
        let mut past = snapshot.outcomes.iter();
        is_unheard |= past.any(|past| past.message.starts_with(LEARNER_UNHEARD));
        reconciler::reconcile(snapshot)
    };
    let history = simulate(plan, &mut decide, &is_goal, &is_hopeless, false);
    (history, is_unheard)
}

#[test]
fn no_member_that_is_cut_off_gets_a_vote_whenever_that_happens() {
    let (mut count, mut unheard) = (0, 0);
    for size in [1, 2, 3] {
        let calm = lived(&plan(size, None)).0;
        let voted = calm.facts.iter().rev().find_map(|fact| match fact {
            Fact::Deed {
                at,
                deed: Deed::Promoted(_),
                ..
            } => Some(*at),
            Fact::Deed { .. }
            | Fact::Refused { .. }
            | Fact::Trespassed { .. }
            | Fact::Spun { .. }
            | Fact::Said { .. }
            | Fact::Stirred { .. }
            | Fact::Elected { .. } => None,
        });
        let voted = voted.expect("the new member gets its vote");
        for at in (voted - WINDOW..=voted).step_by(STEP) {
            for node in 0..3 {
                let plan = plan(size, Some((at, node)));
                let (history, is_unheard) = lived(&plan);
                count += 1;
                unheard += u32::from(is_unheard);
                if let Some(violation) = violations(&history).into_iter().next() {
                    panic!("{}", tell(plan, &violation, Court::All));
                }
            }
        }
    }
    eprintln!(
        "of {count} histories {unheard} have a learner that names a leader and does not hear of it"
    );
    assert!(unheard > 10);
}
