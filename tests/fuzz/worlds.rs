//! Living worlds, each at a moment where the reconciler acts: what is fuzzed is what is decided there.
//!
//! Knows no reader.

use std::sync::OnceLock;

use contract::Snapshot;
use simulator::{Branch, Choice, Fault, Plan};

/// A world by its name, and what is seen of it.
pub(crate) type World = (String, Branch, Snapshot);

/// Moments of one story.
const MOMENTS: usize = 3;
/// Looks that no world needs.
const MANY: usize = 300;

/// Each after one fault, and one at rest; in all but the last something is to be done.
pub(crate) fn worlds() -> &'static [World] {
    static WORLDS: OnceLock<Vec<World>> = OnceLock::new();
    WORLDS.get_or_init(|| {
        let mut worlds = vec![acting("unborn", Branch::new(&plan()))];
        let rest = at_rest();
        let faults = [
            ("a pod is gone", Fault::DeletePod(0)),
            ("five are wanted", Fault::Resize(5)),
            ("one is wanted", Fault::Resize(1)),
        ];
        for (name, fault) in faults {
            let mut branch = rest.clone();
            branch.step(Choice::Suffer(fault, 0), reconciler::reconcile);
            worlds.extend(moments(name, branch));
        }
        let seen = rest.snapshot();
        worlds.push(("at rest".to_owned(), rest, seen));
        worlds
    })
}

/// The next moments at which something other than words is decided, three at most.
fn moments(name: &str, mut branch: Branch) -> Vec<World> {
    let mut worlds = Vec::new();
    for _ in 0..MANY {
        let snapshot = branch.snapshot();
        if worlds.len() == MOMENTS {
            break;
        }
        if acts(&snapshot) {
            let name = format!("{name}, moment {}", worlds.len());
            worlds.push((name, branch.clone(), snapshot));
        }
        branch.step(Choice::Look, reconciler::reconcile);
    }
    assert!(!worlds.is_empty(), "{name}: nothing is ever done");
    worlds
}

fn acting(name: &str, branch: Branch) -> World {
    let world = moments(name, branch).swap_remove(0);
    (name.to_owned(), world.1, world.2)
}

fn acts(snapshot: &Snapshot) -> bool {
    let decision = reconciler::reconcile(snapshot);
    decision
        .actions
        .iter()
        .any(|action| !action.effect.is_telling())
}

/// Three healthy voters, and nothing to do.
fn at_rest() -> Branch {
    let mut branch = Branch::new(&plan());
    for _ in 0..MANY {
        if branch.rests() > 1 && branch.truth().confirmed {
            return branch;
        }
        branch.step(Choice::Look, reconciler::reconcile);
    }
    panic!("it never rests: {:?}", branch.truth())
}

fn plan() -> Plan {
    Plan {
        seed: 5,
        size: 3,
        version: None,
        through: false,
        claims: true,
        local: false,
        tls: false,
        old: None,
        numbered: false,
        faults: Vec::new(),
        mishaps: Vec::new(),
    }
}
