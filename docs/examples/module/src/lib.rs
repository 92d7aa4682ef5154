//! The stock reconciler, but no image is changed on a Friday.
//!
//! Judges nothing else: all other decisions are those of the crate `reconciler`. `now` in the snapshot is the only clock.

#[cfg(target_arch = "wasm32")]
mod glue;

use contract::{
    Decision, Description, Effect, Finding, FindingKind, Millis, Reason, Requeue, Snapshot,
};

const DAY: i64 = 24 * 3600 * 1000;
/// The first day of Unix time was a Thursday.
const FRIDAY: i64 = 1;
/// Until the next look at the calendar.
const LOOK_AGAIN: Millis = Millis::seconds(3600);

/// What this module says of itself.
#[must_use]
pub fn describe() -> Description {
    Description {
        name: "no-fridays".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..reconciler::describe()
    }
}

/// The stock decision. On a Friday, in UTC, it ends before the first change of an image, unless such a change has begun:
/// members of two versions are no place to rest.
pub fn reconcile(snapshot: &Snapshot) -> Decision {
    let decision = reconciler::reconcile(snapshot);
    if is_friday(snapshot.now) && !has_begun(snapshot) {
        hold(decision)
    } else {
        decision
    }
}

const fn is_friday(now: Millis) -> bool {
    now.0.div_euclid(DAY).rem_euclid(7) == FRIDAY
}

/// Whether the members' pods run more than one image.
fn has_begun(snapshot: &Snapshot) -> bool {
    let pods = snapshot.objects.pods.seen();
    let mut images = pods.into_iter().flatten().map(|pod| &pod.image);
    let first = images.next();
    images.any(|image| Some(image) != first)
}

/// Cuts the decision off. Actions happen in their order, so what comes before the cut can stand alone.
fn hold(mut decision: Decision) -> Decision {
    let is_change = |action: &contract::Action| matches!(action.effect, Effect::SetImage { .. });
    let Some(at) = decision.actions.iter().position(is_change) else {
        return decision;
    };
    decision.actions.truncate(at);
    decision.report.findings.insert(
        0,
        Finding {
            kind: FindingKind::Waiting,
            reason: Reason::UpgradeHeld,
            message: "It is Friday: no image is changed before Saturday, 0:00 UTC.".to_owned(),
            member: None,
        },
    );
    let sooner = decision.requeue.map_or(LOOK_AGAIN, |requeue| requeue.after);
    decision.requeue = Some(Requeue {
        after: sooner.min(LOOK_AGAIN),
        why: Reason::UpgradeHeld,
    });
    decision
}

#[cfg(test)]
mod tests {
    use contract::{Action, Preconditions, Report, SCHEMA};

    use super::*;

    fn decision(effects: Vec<Effect>) -> Decision {
        let action = |effect| Action {
            effect,
            pre: Preconditions::default(),
        };
        Decision {
            schema: SCHEMA,
            actions: effects.into_iter().map(action).collect(),
            requeue: None,
            report: Report::default(),
        }
    }

    fn compact() -> Effect {
        Effect::Compact { revision: 1 }
    }

    fn set_image() -> Effect {
        Effect::SetImage {
            name: "kv-a".to_owned(),
            image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
            annotations: [].into(),
        }
    }

    #[test]
    fn fridays_are_known_by_the_snapshots_time_alone() {
        // 2026-11-20 was one.
        let friday = Millis(1_795_132_800_000);
        assert!(is_friday(friday));
        assert!(is_friday(Millis(friday.0 + DAY - 1)));
        assert!(!is_friday(Millis(friday.0 - 1)));
        assert!(!is_friday(Millis(friday.0 + DAY)));
    }

    #[test]
    fn what_comes_before_a_changed_image_is_done_and_the_rest_waits() {
        let held = hold(decision(vec![compact(), set_image(), compact()]));
        assert_eq!(held.actions.len(), 1);
        assert_eq!(held.report.findings[0].reason, Reason::UpgradeHeld);
        assert_eq!(held.requeue.map(|requeue| requeue.after), Some(LOOK_AGAIN));
    }

    #[test]
    fn a_decision_without_such_a_change_stays_as_it_is() {
        let plain = decision(vec![compact()]);
        assert_eq!(hold(plain.clone()), plain);
    }
}
