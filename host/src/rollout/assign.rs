//! Which of the modules that are ready is in force: the lineup that follows from all objects.
//!
//! Pure. Of two objects that ask for the role Active the older one has it, ready or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::ModuleRole;

use super::entry::{Entry, Place};
use crate::roster::{Canary, Lineup, Seat};

/// What follows from all objects.
#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) lineup: Lineup,
    /// The object that has the role Active.
    pub(super) holder: Option<String>,
    /// Those that ask for it and wait.
    pub(super) waiting: Vec<String>,
}

/// Puts everybody in place; `built_in` decides where no object says otherwise.
pub(super) fn assign(built_in: &Arc<Seat>, entries: &BTreeMap<String, Entry>) -> Assigned {
    let mut by_age: Vec<&Entry> = entries.values().collect();
    by_age.sort_by_key(|entry| (entry.resource.created, &entry.resource.name));
    let mut asking = by_age
        .iter()
        .filter(|entry| entry.role() == Some(ModuleRole::Active))
        .map(|entry| entry.resource.name.clone());
    let holder = asking.next();
    let waiting = asking.collect();
    let mut lineup = Lineup::alone(Arc::clone(built_in));
    for entry in by_age {
        let Some(standing) = &entry.standing else {
            continue;
        };
        match &standing.place {
            Place::Active(seat) => {
                if holder.as_ref() == Some(&entry.resource.name) {
                    lineup.active = Arc::clone(seat);
                }
            }
            Place::Canary(clusters, seat) => lineup.canaries.push(Canary {
                clusters: clusters.clone(),
                seat: Arc::clone(seat),
            }),
            Place::Shadow(shadow) => lineup.shadows.push(Arc::clone(shadow)),
        }
    }
    Assigned {
        lineup,
        holder,
        waiting,
    }
}
