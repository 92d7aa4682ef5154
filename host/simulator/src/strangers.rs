//! Objects of somebody else under names that the cluster uses: how they come to be, which of them the operator knows, and
//! whether it touches one.
//!
//! Nothing runs in them. Those without the cluster's labels are in no cache: the operator meets them when it reads afresh.

use std::collections::BTreeMap;

use contract::{Action, Child, Effect, ForeignObject, ObjectKind, TlsRole, names};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::secrets;
use crate::world::{NAME, World};

/// Their owner.
pub(crate) const OWNER: &str = "uid-of-somebody-else";

/// What the operator does not see of its own accord, and what of that it has met.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Strangers {
    /// There was one, or an object of a cluster that is gone.
    pub(crate) came: bool,
    unlabelled: Vec<(ObjectKind, String)>,
    met: Vec<(ObjectKind, String)>,
}

impl World {
    /// Somebody removes one of the cluster's objects, where it is there, and makes one of their own of that name.
    pub(crate) fn intrude(&mut self, which: u32) {
        let (kind, which) = match (which % 5, which / 5) {
            (0, rest) => (ObjectKind::Pod, rest),
            (1, rest) => (ObjectKind::PersistentVolumeClaim, rest),
            (2, rest) => (ObjectKind::Service, rest),
            (3, rest) => (ObjectKind::PodDisruptionBudget, rest),
            (_, rest) => (ObjectKind::Secret, rest),
        };
        let (is_labelled, which) = (which % 2 == 0, which / 2);
        let Some(name) = self.name_to_take(kind, which) else {
            return;
        };
        self.strangers.came = true;
        self.remove_at_once(kind, &name);
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            labels: is_labelled.then(|| names::labels(NAME)),
            owner_references: Some(vec![OwnerReference {
                uid: OWNER.to_owned(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        };
        if !is_labelled {
            self.strangers.unlabelled.push((kind, name.clone()));
        }
        let object = match kind {
            ObjectKind::Pod => Child::Pod(core::Pod {
                metadata,
                ..core::Pod::default()
            }),
            ObjectKind::PersistentVolumeClaim => {
                Child::PersistentVolumeClaim(core::PersistentVolumeClaim {
                    metadata,
                    ..core::PersistentVolumeClaim::default()
                })
            }
            ObjectKind::Service => Child::Service(core::Service {
                metadata,
                ..core::Service::default()
            }),
            ObjectKind::PodDisruptionBudget => Child::PodDisruptionBudget(PodDisruptionBudget {
                metadata,
                ..PodDisruptionBudget::default()
            }),
            ObjectKind::Secret => {
                let number = self.kube.number();
                self.kube
                    .secrets
                    .insert(name, secrets::blank(number, OWNER));
                self.changed = true;
                return;
            }
            ObjectKind::ReplicaSet => return,
        };
        self.kube.apply(&object, self.clock().0);
        self.changed = true;
    }

    fn name_to_take(&self, kind: ObjectKind, which: u32) -> Option<String> {
        Some(match kind {
            ObjectKind::Pod | ObjectKind::PersistentVolumeClaim => self.chosen(which)?,
            ObjectKind::Service if which.is_multiple_of(2) => names::client_service(NAME),
            ObjectKind::Service => names::peer_service(NAME),
            ObjectKind::PodDisruptionBudget => names::disruption_budget(NAME),
            ObjectKind::Secret => match which % 4 {
                0 => names::authorities_secret(NAME),
                1 => names::made_secret(NAME, TlsRole::Peer),
                2 => names::made_secret(NAME, TlsRole::Server),
                _ => names::made_secret(NAME, TlsRole::Operator),
            },
            ObjectKind::ReplicaSet => return None,
        })
    }

    fn remove_at_once(&mut self, kind: ObjectKind, name: &str) {
        if kind == ObjectKind::PersistentVolumeClaim {
            self.delete_pod(name, Some(0));
        }
        self.remove(kind, name, Some(0));
    }

    /// Somebody other than the operator removes an object.
    pub(crate) fn remove(&mut self, kind: ObjectKind, name: &str, grace: Option<i64>) {
        match kind {
            ObjectKind::Pod => self.delete_pod(name, grace),
            ObjectKind::PersistentVolumeClaim => self.delete_claim(name),
            ObjectKind::Service => {
                self.kube.services.remove(name);
            }
            ObjectKind::PodDisruptionBudget => {
                self.kube.budgets.remove(name);
            }
            ObjectKind::Secret => {
                self.kube.secrets.remove(name);
            }
            ObjectKind::ReplicaSet => self.retire(name),
        }
    }

    pub(crate) fn is_own(&self, owner: &Option<String>) -> bool {
        owner.as_deref() != Some(OWNER) && !self.is_of_one_gone(owner)
    }

    /// Whether a watch by labels shows this object.
    pub(crate) fn is_shown(&self, kind: ObjectKind, name: &str, owner: Option<&str>) -> bool {
        let mut unlabelled = self.strangers.unlabelled.iter();
        owner != Some(OWNER) || !unlabelled.any(|one| one.0 == kind && one.1 == name)
    }

    /// The operator remembers what stands where it wanted to put something, as the host does.
    pub(crate) fn meet(&mut self, action: &Action) {
        let Effect::Apply { object } = &action.effect else {
            return;
        };
        let met = (object.kind(), object.name().to_owned());
        if self.strangers.came
            && self.is_of_others(met.0, &met.1)
            && !self.strangers.met.contains(&met)
        {
            self.strangers.met.push(met);
            self.strangers.met.sort();
        }
    }

    /// What the operator has met and what still stands there.
    pub(crate) fn foreign(&self) -> Vec<ForeignObject> {
        let met = self.strangers.met.iter();
        let standing = met.filter(|(kind, name)| self.is_of_others(*kind, name));
        let foreign = standing.map(|(kind, name)| ForeignObject {
            kind: *kind,
            name: name.clone(),
            owner: "Somebody/else".to_owned(),
        });
        self.given.foreign.iter().cloned().chain(foreign).collect()
    }

    /// The objects of somebody else as they are, with those of a cluster that is gone or without. What an effect did to
    /// them is seen here, whatever it was said to be about.
    pub(crate) fn of_others(&self, with_gone: bool) -> BTreeMap<(ObjectKind, String), String> {
        if !self.strangers.came {
            return BTreeMap::new();
        }
        let is_counted = |owner: &Option<String>| {
            !self.is_own(owner) && (with_gone || !self.is_of_one_gone(owner))
        };
        let kube = &self.kube;
        let pods = kube.pods.iter().map(|(name, pod)| {
            let words = format!("{:?}", pod.api);
            (ObjectKind::Pod, name, &pod.api.owner, words)
        });
        let claims = kube.claims.iter().map(|(name, claim)| {
            let (kind, words) = (
                ObjectKind::PersistentVolumeClaim,
                format!("{:?}", claim.api),
            );
            (kind, name, &claim.api.owner, words)
        });
        let services = kube.services.iter().map(|(name, service)| {
            let words = format!("{service:?}");
            (ObjectKind::Service, name, &service.owner, words)
        });
        let budgets = kube.budgets.iter().map(|(name, budget)| {
            let words = format!("{budget:?}");
            (ObjectKind::PodDisruptionBudget, name, &budget.owner, words)
        });
        let secrets = kube.secrets.iter().map(|(name, secret)| {
            let words = format!("{secret:?}");
            (ObjectKind::Secret, name, &secret.owner, words)
        });
        pods.chain(claims)
            .chain(services)
            .chain(budgets)
            .chain(secrets)
            .filter(|(_, _, owner, _)| is_counted(owner))
            .map(|(kind, name, _, words)| ((kind, name.clone()), words))
            .collect()
    }

    fn is_of_others(&self, kind: ObjectKind, name: &str) -> bool {
        let head = self.kube.head(kind, name);
        let head = head.seen();
        head.is_some_and(|head| !self.is_own(&head.owner))
    }
}
