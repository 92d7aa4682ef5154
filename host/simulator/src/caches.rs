//! What the operator's watches hold between two looks: the newest snapshot, brought up to date in place.
//!
//! Owns which of a snapshot's facts come out of caches. What etcd answers is asked anew each time.

use contract::{Millis, ObjectKind as Kind, Objects, Observed, Snapshot};

use crate::world::World;

impl World {
    /// What an operator knows that has just begun: the objects, and nothing of etcd.
    pub(crate) fn first_look(&self) -> Snapshot {
        let mut snapshot = Snapshot::bare(self.kube.resource.clone(), Millis(0), String::new());
        snapshot.operator_image = Some("binnacle:sim".to_owned());
        snapshot.old_lock = self.given.old_lock.clone();
        self.bring_up_to_date(&mut snapshot);
        snapshot
    }

    /// What has not changed stays as it is: to copy the world at each look took a fifth of a history's time.
    pub(crate) fn bring_up_to_date(&self, snapshot: &mut Snapshot) {
        if snapshot.resource.resource_version != self.kube.resource.resource_version {
            snapshot.resource = self.kube.resource.clone();
        }
        list(&mut snapshot.restores, self.restores.iter());
        let guards = self.guard.iter().map(|guard| &guard.api);
        list(&mut snapshot.guards, guards);
        let is_looked_for = self.recorded().is_none() || snapshot.resource.is_being_taken_over();
        if self.plan.numbered && is_looked_for {
            list(&mut snapshot.old_sets, self.kube.sets.values());
        } else {
            snapshot.old_sets = Observed::Absent;
        }
        let Objects {
            pods,
            volumes,
            services,
            disruption_budgets,
            foreign,
        } = &mut snapshot.objects;
        *foreign = self.foreign();
        let is_shown = |kind: Kind, name: &str, owner: &Option<String>| {
            self.is_shown(kind, name, owner.as_deref())
        };
        let all = self.kube.pods.values().map(|pod| &pod.api);
        list(
            pods,
            all.filter(|pod| is_shown(Kind::Pod, &pod.name, &pod.owner)),
        );
        let all = self.kube.claims.values().map(|claim| &claim.api);
        list(
            volumes,
            all.filter(|one| is_shown(Kind::PersistentVolumeClaim, &one.name, &one.owner)),
        );
        let all = self.kube.services.values();
        list(
            services,
            all.filter(|one| is_shown(Kind::Service, &one.name, &one.owner)),
        );
        let all = self.kube.budgets.values();
        list(
            disruption_budgets,
            all.filter(|one| is_shown(Kind::PodDisruptionBudget, &one.name, &one.owner)),
        );
    }
}

/// Puts what there is into a cache, in order.
fn list<'a, T: Clone + PartialEq + 'a>(
    cache: &mut Observed<Vec<T>>,
    objects: impl Iterator<Item = &'a T>,
) {
    let mut held = match std::mem::replace(cache, Observed::Absent) {
        Observed::Seen(held) => held,
        Observed::Absent | Observed::Unknown(_) => Vec::new(),
    };
    let mut count = 0;
    for object in objects {
        match held.get_mut(count) {
            Some(same) if same == object => {}
            Some(other) => *other = object.clone(),
            None => held.push(object.clone()),
        }
        count += 1;
    }
    held.truncate(count);
    *cache = Observed::Seen(held);
}
