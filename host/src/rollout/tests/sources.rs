//! Sources that come late, change, or hold what is refused, and what becomes of the modules from them.

use super::*;

#[test]
fn a_source_that_may_come_is_tried_again_and_a_bad_module_is_not() {
    let mut fleet = Fleet::new();
    fleet.create("next", 0, spec("Active"));
    let missing = fetch::Error::NoObject {
        kind: "ConfigMap",
        name: "m".to_owned(),
        namespace: "infra".to_owned(),
    };
    let outcome = Outcome {
        asked: Some(Err(missing.into())),
        resumed: None,
    };
    fleet.take("next", outcome);
    fleet.says(
        "next",
        ModulePhase::Refused,
        &["no ConfigMap m", "tried again"],
    );
    assert!(fleet.entry("next").retry(Instant::now()).is_none());
    let later = Instant::now() + Duration::from_secs(3);
    assert!(fleet.entry("next").retry(later).is_some());
    assert!(
        fleet.entry("next").retry(later).is_none(),
        "it is under way"
    );
    fleet.refused("next");
    assert!(matches!(
        fleet.entry("next").attempt,
        Attempt::Refused { again: None, .. }
    ));
}

#[test]
fn a_source_that_changes_under_way_is_told_and_changes_nothing() {
    let mut fleet = Fleet::new();
    fleet.create("a", 1, spec("Active"));
    let module = fleet.module("a", false);
    let digest = module.digest().to_owned();
    fleet.loaded("a", module);
    let began = Instant::now();
    assert!(fleet.entry("a").look(began).is_none(), "it was just loaded");
    let later = began + Duration::from_secs(60);
    let look = fleet.entry("a").look(later).expect("its time has come");
    assert_eq!(look.standing.as_ref(), Some(&digest));
    assert!(fleet.entry("a").look(later).is_none(), "one look at a time");

    let other = || Looked::Other(Some("2".to_owned()), "it holds sha256:1".to_owned());
    assert!(fleet.entry("a").looked(1, other()).is_none());
    fleet.says(
        "a",
        ModulePhase::InRole,
        &["decides", "not give it any more", "sha256:1"],
    );
    assert_eq!(fleet.deciding(), [digest.clone(), digest.clone()]);
    assert!(fleet.entry("a").looked(1, Looked::Unchanged).is_none());
    fleet.says("a", ModulePhase::InRole, &["not give it any more"]);
    assert!(
        fleet
            .entry("a")
            .looked(1, Looked::Same("3".to_owned()))
            .is_none()
    );
    let message = fleet.status("a").conditions.remove(0).message;
    assert!(!message.contains("any more"), "{message}");
    assert!(
        fleet.entry("a").looked(0, other()).is_none(),
        "an older spec was meant"
    );
    let message = fleet.status("a").conditions.remove(0).message;
    assert!(!message.contains("any more"), "{message}");
}

#[test]
fn a_shadow_of_no_digest_follows_what_its_source_holds() {
    let mut fleet = Fleet::new();
    let mut loose = spec("Shadow");
    loose["sha256"] = Value::Null;
    fleet.create("a", 1, loose);
    let module = fleet.module("a", false);
    fleet.loaded("a", module);
    let later = Instant::now() + Duration::from_secs(60);
    assert!(
        fleet.entry("a").look(later).is_none(),
        "the first look begins the time"
    );
    let later = later + Duration::from_secs(60);
    assert!(fleet.entry("a").look(later).is_some());
    let order = fleet.entry("a").looked(1, Looked::New("2".to_owned()));
    assert!(order.is_some_and(|order| !order.has_fallen));
    let next = fleet.module("b", false);
    let digest = next.digest().to_owned();
    fleet.loaded("a", next);
    assert_eq!(fleet.status("a").digest, Some(digest));
}

/// Whatever a source held meanwhile, a Shadow that asks for no digest takes what it holds next.
#[test]
fn a_shadow_of_no_digest_follows_its_source_past_what_was_refused() {
    let mut fleet = Fleet::new();
    let mut loose = spec("Shadow");
    loose["sha256"] = Value::Null;
    fleet.create("a", 1, loose);
    fleet.refused("a");
    let words = ["tried again when its source holds something else"];
    fleet.says("a", ModulePhase::Refused, &words);
    let period = Duration::from_secs(60);
    let mut now = Instant::now();
    assert!(
        fleet.entry("a").look(now).is_none(),
        "it was just looked at"
    );
    now += period;
    let look = fleet.entry("a").look(now).expect("its time has come");
    assert_eq!(look.standing, None);
    let order = fleet.entry("a").looked(1, Looked::New("2".to_owned()));
    assert!(order.is_some());
    let good = fleet.module("good", false);
    let digest = good.digest().to_owned();
    fleet.loaded("a", good);
    fleet.says("a", ModulePhase::InRole, &[&digest]);

    assert!(
        fleet
            .entry("a")
            .looked(1, Looked::New("3".to_owned()))
            .is_some()
    );
    fleet.refused("a");
    fleet.says("a", ModulePhase::Refused, &[&digest, "stays in its role"]);
    now += period;
    let look = fleet.entry("a").look(now).expect("its time has come");
    assert_eq!(look.standing.as_ref(), Some(&digest));
    assert!(
        fleet
            .entry("a")
            .looked(1, Looked::Same("4".to_owned()))
            .is_none()
    );
    fleet.says("a", ModulePhase::InRole, &[&digest]);
}

#[test]
fn what_a_refused_module_made_of_recorded_snapshots_is_shown() {
    let mut fleet = Fleet::new();
    fleet.create("next", 0, spec("Active"));
    let test = SelfTest {
        snapshots: 64,
        differing: 60,
        failures: 7,
    };
    let first = "record 9: the module trapped".to_owned();
    let refused = Error::SelfTest {
        test: test.clone(),
        first,
    };
    let outcome = Outcome {
        asked: Some(Err(refused)),
        resumed: None,
    };
    fleet.take("next", outcome);
    fleet.says(
        "next",
        ModulePhase::Refused,
        &["7 of the last 64", "record 9"],
    );
    assert_eq!(fleet.status("next").self_test, Some(test));
}
