//! Histories in which objects of others stand where the cluster's did: under its names, with its labels or without.
//!
//! What must hold of them is the invariants'. Whether the cluster comes to its goal is not asked: somebody else has what it
//! needs.

use contract::{Objects, Observed, Snapshot};
use simulator::{Plan, simulate};

use super::goal::{is_goal, is_hopeless};
use super::{Court, DOUBTED, MAD, OF_OTHERS, check, number, seeds};

#[test]
fn nothing_of_somebody_elses_is_changed_or_deleted() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_strangers, Court::Safety);
    eprintln!("{} histories with objects of others", seeds.len());
}

/// Nor does it rest on the module: the envelope knows whose each object is.
#[test]
fn a_mad_module_touches_nothing_of_somebody_elses() {
    let count = number("SIMULATOR_HISTORIES", OF_OTHERS) / MAD;
    let first = number("SIMULATOR_FIRST_SEED", 1);
    let seeds: Vec<u64> = (first..first + count).collect();
    check(&seeds, Plan::with_strangers, Court::Trespass);
    eprintln!("{count} histories with objects of others and a module gone mad");
}

/// Else the promise would be kept because nothing of somebody else's is ever in the way. To this module all is its own.
#[test]
fn objects_of_others_are_in_the_way() {
    let greedy = |snapshot: &Snapshot| {
        let mut snapshot = snapshot.clone();
        let owner = Some(snapshot.resource.uid.clone());
        let Objects {
            pods,
            volumes,
            services,
            disruption_budgets,
            foreign,
        } = &mut snapshot.objects;
        foreign.clear();
        let own = [
            owners(pods, |pod| &mut pod.owner),
            owners(volumes, |claim| &mut claim.owner),
            owners(services, |service| &mut service.owner),
            owners(disruption_budgets, |budget| &mut budget.owner),
        ];
        for found in own.into_iter().flatten() {
            found.clone_from(&owner);
        }
        reconciler::reconcile(&snapshot)
    };
    let mut refused = 0;
    for seed in 1..=40 {
        let plan = Plan::with_strangers(seed);
        let told = simulate(&plan, &mut { greedy }, &is_goal, &is_hopeless, true);
        let mut lines = told.words.iter();
        refused += u32::from(lines.any(|line| line.ends_with("belongs to somebody else")));
    }
    eprintln!("in {refused} of 40 histories the envelope keeps what is somebody else's");
    assert!(refused > 10);
}

fn owners<T>(
    list: &mut Observed<Vec<T>>,
    owner: impl Fn(&mut T) -> &mut Option<String>,
) -> Vec<&mut Option<String>> {
    match list {
        Observed::Seen(list) => list.iter_mut().map(owner).collect(),
        Observed::Absent | Observed::Unknown(_) => Vec::new(),
    }
}
