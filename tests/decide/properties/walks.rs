//! P8: walks in which nothing else goes wrong, crashed around each of their actions.

use contract::Snapshot;
use simulator::{Deed, Fact, Fault, Mishap, OldPods, Plan, Release, simulate};

use super::quiet;
use crate::goal::{is_goal, is_hopeless};
use crate::history;
use crate::invariants::violations;

/// A plan, and a deed that it is about.
struct Walk {
    what: &'static str,
    plan: Plan,
    shows: fn(&Deed) -> bool,
}

impl Walk {
    fn of(
        size: i64,
        what: &'static str,
        faults: &[(i64, Fault)],
        shows: fn(&Deed) -> bool,
    ) -> Self {
        Self {
            what,
            plan: quiet(size, faults),
            shows,
        }
    }

    fn but(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }
}

fn walks() -> Vec<Walk> {
    let added = |deed: &Deed| matches!(deed, Deed::Added(_));
    let removed = |deed: &Deed| matches!(deed, Deed::Removed(_));
    let stopped = |deed: &Deed| matches!(deed, Deed::DeletedPod(_));
    let restarted = |deed: &Deed| matches!(deed, Deed::Restarted(_));
    let new = |deed: &Deed| matches!(deed, Deed::StartedNew(_));
    let wrote = |deed: &Deed| matches!(deed, Deed::Wrote(_));
    let old = |old: OldPods| move |plan: &mut Plan| plan.old = Some(old);
    vec![
        Walk::of(3, "birth of 3", &[], new),
        Walk::of(3, "3 to 5", &[(20_000, Fault::Resize(5))], added),
        Walk::of(5, "5 to 3", &[(20_000, Fault::Resize(3))], removed),
        Walk::of(3, "a disk lost", &[(20_000, Fault::Wipe(1))], added),
        Walk::of(
            3,
            "a claim deleted",
            &[(20_000, Fault::DeleteClaim(0))],
            added,
        ),
        Walk::of(
            1,
            "a claim that goes with its pod, and another pod policy",
            &[(20_000, Fault::CondemnClaim(0)), (20_500, Fault::Label(1))],
            added,
        ),
        Walk::of(
            3,
            "another pod policy",
            &[(20_000, Fault::Label(1))],
            stopped,
        ),
        Walk::of(
            3,
            "to 0 and back",
            &[(20_000, Fault::Resize(0)), (60_000, Fault::Resize(3))],
            stopped,
        ),
        Walk::of(
            3,
            "an upgrade",
            &[(60_000, Fault::Version(Release::new(6, 16)))],
            restarted,
        )
        .but(|plan| plan.version = Some(Release::new(5, 35))),
        Walk::of(3, "certificates", &[], wrote).but(|plan| plan.tls = true),
        Walk::of(3, "adoption", &[], stopped).but(old(OldPods::Renewed)),
    ]
    .into_iter()
    .chain(rescues())
    .collect()
}

/// Walks that begin with a loss, or give something up.
fn rescues() -> Vec<Walk> {
    let readdressed = |deed: &Deed| *deed == Deed::Wrote("UpdateMember");
    vec![
        Walk::of(
            3,
            "a consent after two disks were lost",
            &[
                (20_000, Fault::Wipe(0)),
                (20_000, Fault::Wipe(1)),
                (200_000, Fault::Consent),
            ],
            |deed| matches!(deed, Deed::StartedAlone(_)),
        ),
        Walk::of(
            3,
            "a restore over a living cluster",
            &[(20_000, Fault::BackUp), (30_000, Fault::Restore(true))],
            |deed| matches!(deed, Deed::GaveUp),
        ),
        Walk::of(
            1,
            "TLS on and off",
            &[(20_000, Fault::Tls(true)), (120_000, Fault::Tls(false))],
            readdressed,
        ),
        Walk::of(
            3,
            "TLS on, and off in the middle of it",
            &[(20_000, Fault::Tls(true)), (36_000, Fault::Tls(false))],
            readdressed,
        ),
        Walk::of(
            3,
            "space filled with history",
            &[(20_000, Fault::FillWithHistory)],
            |deed| matches!(deed, Deed::Disarmed(_)),
        ),
    ]
}

/// The operator ends before and after each single action of each walk.
#[test]
fn p8_a_crash_between_any_two_actions_is_harmless() {
    for Walk {
        what,
        plan: walk,
        shows,
    } in walks()
    {
        let mut tried = 0;
        let mut decide = |snapshot: &Snapshot| {
            let decision = reconciler::reconcile(snapshot);
            tried += u32::try_from(decision.actions.len()).unwrap_or(u32::MAX);
            decision
        };
        let calm = simulate(&walk, &mut decide, &is_goal, &is_hopeless, false);
        assert_eq!(violations(&calm), [], "{what}");
        let does_it = |fact: &Fact| matches!(fact, Fact::Deed { deed, .. } if shows(deed));
        let is_whole = calm.end.rested && is_goal(&calm.end.truth);
        assert!(
            is_whole && calm.facts.iter().any(does_it),
            "{what}: {calm:?}"
        );
        for number in 0..tried {
            for mishap in [Mishap::EndsBefore, Mishap::EndsAfter] {
                let mut plan = walk.clone();
                plan.mishaps.push((number, mishap));
                let found = violations(&history(&plan, false));
                assert_eq!(found, [], "{what}, {mishap:?} action {number}");
            }
        }
        eprintln!("{what}: {tried} actions, each with a crash before and after it");
    }
}
