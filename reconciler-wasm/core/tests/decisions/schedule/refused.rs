//! Schedules on which nothing is made: what cannot be followed, what is being deleted, what another operator serves.

use contract::{Effect, FindingKind, Observed, OldLock, Reason, ScheduleEffect, improbable};
use serde_json::json;

use super::{CREATED, events, first, made, of, template, with};

#[test]
fn what_cannot_be_followed_is_told_once_and_not_tried_again() {
    let limits = json!({"schedule": "@daily", "backupTemplate": template(), "failedBackupsHistoryLimit": -1});
    for (mut schedule, words) in [
        (
            of("99 3 * * *"),
            "spec.schedule: schedule \"99 3 * * *\" cannot be read",
        ),
        (of("CRON_TZ=Mars/Base 0 3 * * *"), "is not the IANA name"),
        (of("0 0 31 2 *"), "never comes"),
        (of("@every soon"), "@every 1h30m"),
        (
            with(&json!({"schedule": "@daily"})),
            "Say what each backup looks like",
        ),
        (with(&limits), "failedBackupsHistoryLimit -1 is negative"),
    ] {
        let decision = schedule.decide(100_000);
        assert_eq!(made(&decision), [""; 0]);
        let (kind, _, found) = first(&decision);
        assert_eq!(kind, FindingKind::Invalid);
        assert!(found.contains(words), "{found}");
        assert!(decision.requeue.is_none(), "{:?}", decision.requeue);
        assert_eq!(events(&decision).len(), 1);
        assert_eq!(schedule.status.conditions[0].message, found);
        let again = schedule.decide(200_000);
        assert_eq!(again.actions, [], "it is told once");
    }
}

#[test]
fn the_old_finalizer_goes_with_the_schedule_and_nothing_is_made_then() {
    let mut going = of("@every 1m");
    going.snapshot.resource.deleted = Some(CREATED);
    going.snapshot.resource.finalizers = vec![
        "somebody/else".to_owned(),
        improbable::SCHEDULE_FINALIZER.to_owned(),
    ];
    let decision = going.decide(1000);
    let [only] = decision.actions.as_slice() else {
        panic!("{:?}", decision.actions);
    };
    assert_eq!(
        only.effect,
        Effect::Schedule(ScheduleEffect::Release {
            finalizer: improbable::SCHEDULE_FINALIZER.to_owned()
        })
    );
    going.snapshot.resource.finalizers.pop();
    assert_eq!(going.decide(1001).actions, []);
    // While it lives it stays as it is.
    let mut living = of("@daily");
    living.snapshot.resource.finalizers = vec![improbable::SCHEDULE_FINALIZER.to_owned()];
    let decision = living.decide(0);
    assert!(
        decision
            .actions
            .iter()
            .all(|action| action.effect.is_telling())
    );
}

#[test]
fn beside_the_archived_operator_no_backup_is_made() {
    let mut often = of("@every 1m");
    often.look(0);
    let lock: OldLock = serde_json::from_value(json!({
        "namespace": "eco-system", "name": "controller-leader-election-helper", "holder": "eco-controller-manager-1",
        "renewed": CREATED.0 + 59_000, "lasts": 15_000, "unchangedFor": 0,
    }))
    .unwrap();
    often.snapshot.old_lock = Observed::Seen(lock);
    let decision = often.decide(60);
    assert_eq!(made(&decision), [""; 0]);
    let (kind, reason, words) = first(&decision);
    assert_eq!(
        (kind, reason),
        (FindingKind::Blocked, Reason::OldOperatorActive)
    );
    assert!(
        words.contains("eco-controller-manager --replicas=0"),
        "{words}"
    );
}
