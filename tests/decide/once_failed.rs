//! Plans of histories that broke a promise once, kept as they were: what is drawn from a seed changes with the generator.
//!
//! Each is brought before the court that found it. A failing history prints its own case, see [`super::told`].

use serde::{Deserialize, Serialize};
use simulator::{Fault, Plan, Planned};

use super::court::Court;
use super::invariants::{Promise, Violation, can_break};
use super::model::plan;
use super::told::{PRINTED, tell};

const CASES: &str = include_str!("once_failed.yaml");

/// One of them. Nothing of it may be left out: who forgets the court would have it judged by another one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnceFailed {
    /// What was wrong; the promise itself where not every promise is asked of it.
    pub(super) what: String,
    pub(super) court: Court,
    pub(super) plan: Plan,
}

impl OnceFailed {
    /// Why its court cannot show what went wrong.
    fn misplaced(&self) -> Option<&'static str> {
        let Self { what, court, plan } = self;
        if matches!(court, Court::All | Court::Formed) {
            return None;
        }
        let Some(promise) = Promise::ALL.iter().find(|one| one.as_str() == *what) else {
            return Some("it does not say which promise it broke");
        };
        if !can_break(*court, *promise) {
            return Some("this court does not judge that promise");
        }
        match court {
            Court::All | Court::Formed | Court::Safety => None,
            Court::Mad if *plan != plan.clone().without_lost_disks() => {
                Some("what it loses may be lost by others than the module")
            }
            Court::Mad | Court::Trespass => (court.history(plan, true)
                == Court::All.history(plan, true))
            .then_some("the module does nothing mad in it"),
        }
    }
}

#[test]
fn what_once_failed_holds() {
    let cases: Vec<OnceFailed> = serde_yaml::from_str(CASES).expect("a list of plans");
    assert!(cases.len() >= 20);
    let again: Vec<String> = cases
        .into_iter()
        .filter_map(|case| {
            if let Some(why) = case.misplaced() {
                return Some(format!("before the wrong court, {}: {why}", case.what));
            }
            let OnceFailed { what, court, plan } = case;
            let violation = court.judge(&plan)?;
            Some(format!("again, {what}:\n{}", tell(plan, &violation, court)))
        })
        .collect();
    assert!(again.is_empty(), "{}", again.join("\n\n"));
}

/// Whoever takes over what is printed takes over the court.
#[test]
fn a_failing_history_prints_its_case_with_its_court() {
    let plan = plan(1);
    for court in [
        Court::All,
        Court::Safety,
        Court::Formed,
        Court::Mad,
        Court::Trespass,
    ] {
        let (promise, what) = (Promise::NoWriteIsLost, String::new());
        let told = tell(plan.clone(), &Violation { promise, what }, court);
        let (_, case) = told.split_once(PRINTED).expect("a case is printed");
        let cases: Vec<OnceFailed> = serde_yaml::from_str(case).expect("a list of plans");
        let found: Vec<_> = cases.iter().map(|one| (one.court, &one.plan)).collect();
        assert_eq!(found, [(court, &plan)]);
    }
}

#[test]
fn a_case_before_the_wrong_court_is_found_out() {
    let drawn = Plan::of_seed(1);
    let misplaced = |court: Court, what: &str, plan: &Plan| {
        let (what, plan) = (what.to_owned(), plan.clone());
        OnceFailed { what, court, plan }.misplaced()
    };
    let (lost, goal) = (Promise::NoWriteIsLost, Promise::GoalsAreReached);
    let safe = drawn.clone().without_lost_disks();
    assert_eq!(misplaced(Court::All, "anything", &drawn), None);
    assert_eq!(misplaced(Court::Safety, lost.as_str(), &drawn), None);
    assert_eq!(misplaced(Court::Mad, lost.as_str(), &safe), None);
    for (court, what, plan) in [
        (Court::Safety, "anything", &drawn),
        (Court::Safety, goal.as_str(), &drawn),
        (Court::Mad, Promise::BudgetsGuard.as_str(), &safe),
        (Court::Trespass, lost.as_str(), &safe),
    ] {
        assert_ne!(misplaced(court, what, plan), None, "{court:?} {what}");
    }
    let mut lossy = safe;
    lossy.faults.push(Planned {
        at: 1,
        lasts: 0,
        fault: Fault::Wipe(0),
    });
    assert_ne!(misplaced(Court::Mad, lost.as_str(), &lossy), None);
    let courtless = CASES.replacen("  court: all\n", "", 1);
    assert!(serde_yaml::from_str::<Vec<OnceFailed>>(&courtless).is_err());
}
