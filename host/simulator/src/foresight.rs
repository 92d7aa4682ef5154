//! What a module would do from a snapshot on, and what would become of it, until there is nothing left to do.
//!
//! The operator's loop, the envelope and the world are those of [`crate::simulate`]; here nothing goes wrong. Times are the
//! model's: an order of things and of their lengths, no promise.

use contract::{Decision, FindingKind, Millis, PastOutcome, Reason, Snapshot};

use crate::history::Operator;
use crate::world::World;

/// So many passes in a row that look at the same and do nothing are the end, where nothing is waited for.
const RESTING: u32 = 3;
/// How long something is waited for that does not come.
const PATIENCE: i64 = 1_800_000;
/// Passes that nobody reads to the end.
const MANY: u32 = 2_000;

/// One pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The time since the beginning.
    pub at: Millis,
    /// What was seen.
    pub snapshot: Snapshot,
    /// What was decided.
    pub decision: Decision,
    /// What became of its actions.
    pub outcomes: Vec<PastOutcome>,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is nothing to do and nothing is waited for.
    AtRest,
    /// Nothing is done any more, though something is waited for or needs a person: the last pass says what.
    Standing,
    /// It went on for as long as it was followed.
    Unfinished,
}

/// All passes to the end.
#[derive(Clone, Debug)]
pub struct Foresight {
    /// In their order. The last one is the end's.
    pub passes: Vec<Pass>,
    /// How it ends.
    pub ending: Ending,
}

/// Foresees what `decide` would do.
///
/// # Errors
/// Why there is nothing to go on from, in words.
pub fn foresee(
    snapshot: &Snapshot,
    decide: &mut dyn FnMut(&Snapshot) -> Decision,
) -> Result<Foresight, String> {
    let mut world = World::present(snapshot)?;
    let mut operator = Operator::new();
    let mut passes: Vec<Pass> = Vec::new();
    let (mut resting, mut acted_at) = (0, 0);
    let ending = loop {
        operator.wait(&mut world);
        let mut decided = None;
        let at = Millis(world.now);
        let pass = operator.pass(&mut world, &mut |snapshot| {
            let decision = decide(snapshot);
            decided = Some((snapshot.clone(), decision.clone()));
            decision
        });
        let (Some(pass), Some((snapshot, decision))) = (pass, decided) else {
            continue;
        };
        let still = !pass.acted && !is_waiting(&decision);
        resting = if still { resting + 1 } else { 0 };
        if pass.acted {
            acted_at = world.now;
        }
        passes.push(Pass {
            at,
            snapshot,
            decision,
            outcomes: operator.outcomes().to_vec(),
        });
        if resting >= RESTING {
            break Ending::AtRest;
        }
        if world.now - acted_at > PATIENCE {
            break Ending::Standing;
        }
        if passes.len() >= MANY as usize {
            break Ending::Unfinished;
        }
    };
    Ok(Foresight { passes, ending })
}

/// Whether something may still come of doing nothing.
fn is_waiting(decision: &Decision) -> bool {
    let waits = |kind| match kind {
        FindingKind::Waiting | FindingKind::Doing | FindingKind::Blocked | FindingKind::Invalid => {
            true
        }
        FindingKind::Note => false,
    };
    let findings = &decision.report.findings;
    let is_routine = |why| matches!(why, Reason::HealthCheck);
    findings.iter().any(|finding| waits(finding.kind))
        || decision
            .requeue
            .is_some_and(|requeue| !is_routine(requeue.why))
}
