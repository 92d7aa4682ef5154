//! Garbage collection: what an EtcdCluster owned goes after it, one object after the other, while the next one of that name
//! is there already.
//!
//! Owns when which object goes. How a pod or a claim ends is [`crate::life`]'s.

use contract::{Millis, ObjectKind as Kind, names};

use crate::kubernetes::Claim;
use crate::strangers::OWNER;
use crate::timers::Timer;
use crate::world::World;

impl World {
    /// Somebody deletes the EtcdCluster and makes one of the same name and spec.
    pub(crate) fn recreate(&mut self) {
        let confirmed = self.recorded().and_then(|cluster| {
            let peers = self.peers();
            self.etcd.confirmed(cluster, &peers)
        });
        let stays = self.plan.numbered && confirmed.is_some();
        let number = self.kube.number();
        let clock = self.clock();
        let resource = &mut self.kube.resource;
        resource.uid = format!("uid-cluster-{number}");
        resource.generation = 1;
        resource.created = clock;
        resource.status = serde_json::Value::Null;
        // Whoever deletes a cluster gives up what it has, where the claims do not stay or hold no quorum's data any more,
        // and what is only on claims that are being deleted.
        let claims = self.kube.claims.values();
        let kept: Vec<u32> = claims
            .filter(|claim| stays && claim.api.deleted.is_none())
            .map(|claim| claim.number)
            .collect();
        let disks = kept.iter().filter_map(|disk| self.etcd.data(*disk));
        self.acknowledged
            .retain(|write| disks.clone().any(|data| data.holds(*write)));
        self.founded = None;
        self.strangers.came = true;
        self.touch();
        self.collect_later();
    }

    /// The collector looks before long.
    pub(crate) fn collect_later(&mut self) {
        self.after(20, 4_000, Timer::Collect);
    }

    /// One object whose owner is gone goes.
    pub(crate) fn collect(&mut self) {
        let ownerless = self.ownerless();
        if ownerless.is_empty() {
            return;
        }
        let (kind, name) = ownerless[self.rng.usize(0..ownerless.len())].clone();
        self.tell(|_| format!("      {} {name} is collected", kind.name()));
        self.remove(kind, &name, None);
        if kind == Kind::PodDisruptionBudget {
            self.budget_went = Some(self.now);
        }
        self.changed = true;
        self.settle();
        self.collect_later();
    }

    /// Whether the object belonged to an EtcdCluster of this name that is gone.
    pub(crate) fn is_of_one_gone(&self, owner: &Option<String>) -> bool {
        let own = &self.kube.resource.uid;
        owner
            .as_ref()
            .is_some_and(|owner| owner != own && owner != OWNER)
    }

    fn ownerless(&self) -> Vec<(Kind, String)> {
        let is_left = |owner: &Option<String>, deleted: Option<Millis>| {
            deleted.is_none() && self.is_of_one_gone(owner)
        };
        let kube = &self.kube;
        let pods = kube
            .pods
            .iter()
            .map(|(name, pod)| (Kind::Pod, name, &pod.api.owner, pod.api.deleted));
        let is_marked = |claim: &Claim| claim.api.annotations.contains_key(names::OWNER_ANNOTATION);
        let claims = kube.claims.iter().filter(|(_, claim)| !is_marked(claim));
        let claims = claims.map(|(name, claim)| {
            (
                Kind::PersistentVolumeClaim,
                name,
                &claim.api.owner,
                claim.api.deleted,
            )
        });
        let services = kube
            .services
            .iter()
            .map(|(name, service)| (Kind::Service, name, &service.owner, None));
        let budgets = kube
            .budgets
            .iter()
            .map(|(name, budget)| (Kind::PodDisruptionBudget, name, &budget.owner, None));
        let secrets = kube
            .secrets
            .iter()
            .map(|(name, secret)| (Kind::Secret, name, &secret.owner, None));
        pods.chain(claims)
            .chain(services)
            .chain(budgets)
            .chain(secrets)
            .filter(|(_, _, owner, deleted)| is_left(owner, *deleted))
            .map(|(kind, name, _, _)| (kind, name.clone()))
            .collect()
    }
}
