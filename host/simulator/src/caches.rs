//! What the operator's watches hold between two looks: the newest snapshot, brought up to date in place.
//!
//! Owns which of a snapshot's facts come out of caches. What etcd answers is asked anew each time.

use contract::{Millis, ObjectKind as Kind, Objects, Observed, Snapshot};

use crate::plan::Fault;
use crate::world::World;

/// What tells the operator of one kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// The EtcdCluster and what is asked of it by others.
    Resources,
    Pods,
    Claims,
    /// Services and budgets, and the objects of others under the cluster's names.
    Around,
}

impl Watch {
    const fn numbered(number: u32) -> Self {
        match number % 4 {
            0 => Self::Resources,
            1 => Self::Pods,
            2 => Self::Claims,
            _ => Self::Around,
        }
    }
}

impl World {
    /// What an operator knows that has just begun: the objects, and nothing of etcd.
    pub(crate) fn first_look(&self) -> Snapshot {
        let mut snapshot = Snapshot::bare(self.kube.resource.clone(), Millis(0), String::new());
        snapshot.operator_image = Some("binnacle:sim".to_owned());
        snapshot.old_lock = self.given.old_lock.clone();
        self.bring_up_to_date(&mut snapshot, &[]);
        snapshot
    }

    /// The watches that tell nothing at this time.
    pub(crate) fn deaf(&self) -> Vec<Watch> {
        let faults = self.plan.faults.iter();
        faults
            .filter(|planned| planned.is_at(self.now))
            .filter_map(|planned| {
                if let Fault::Deaf(watch) = planned.fault {
                    Some(Watch::numbered(watch))
                } else {
                    None
                }
            })
            .collect()
    }

    /// What has not changed stays as it is: to copy the world at each look took a fifth of a history's time.
    /// Where a watch tells nothing, what it told before stays.
    pub(crate) fn bring_up_to_date(&self, snapshot: &mut Snapshot, deaf: &[Watch]) {
        let is_told = |watch: Watch| !deaf.contains(&watch);
        if is_told(Watch::Resources) {
            self.tell_resources(snapshot);
        }
        self.tell_objects(snapshot, is_told);
    }

    fn tell_resources(&self, snapshot: &mut Snapshot) {
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
    }

    fn tell_objects(&self, snapshot: &mut Snapshot, is_told: impl Fn(Watch) -> bool) {
        let Objects {
            pods,
            volumes,
            services,
            disruption_budgets,
            foreign,
        } = &mut snapshot.objects;
        let is_shown = |kind: Kind, name: &str, owner: &Option<String>| {
            self.is_shown(kind, name, owner.as_deref())
        };
        if is_told(Watch::Pods) {
            let all = self.kube.pods.values().map(|pod| &pod.api);
            list(
                pods,
                all.filter(|pod| is_shown(Kind::Pod, &pod.name, &pod.owner)),
            );
        }
        if is_told(Watch::Claims) {
            let all = self.kube.claims.values().map(|claim| &claim.api);
            list(
                volumes,
                all.filter(|one| is_shown(Kind::PersistentVolumeClaim, &one.name, &one.owner)),
            );
        }
        if is_told(Watch::Around) {
            *foreign = self.foreign();
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
