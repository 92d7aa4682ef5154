//! The archived operators beside this one: the locks by which they say that they are at work.
//!
//! Their locks are Endpoints and ConfigMaps, this operator's is a Lease; neither excludes the other. The host reads the
//! lock, decisions and the envelope judge it with the one rule that stands here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Millis, Pod, Resource, Snapshot, Volume, improbable, names};

/// The kind of object that an archived operator locks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum LockKind {
    /// A lock of coreos etcd-operator.
    #[default]
    Endpoints,
    /// A lock of improbable's etcd-cluster-operator.
    ConfigMap,
}

impl LockKind {
    /// As Kubernetes calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "Endpoints",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

/// The archived operator of a dialect.
#[derive(Debug)]
pub struct Predecessor {
    /// The Deployment of its manifests.
    pub deployment: &'static str,
    /// The namespace of its manifests, where they name one.
    pub namespace: Option<&'static str>,
    /// What it locks, in its own namespace: its releases differ.
    pub locks: &'static [(LockKind, &'static str)],
    /// Labels by which its pods and claims are known beside that of the cluster, where they are not those that are given here.
    pub marks: Option<Marks>,
}

/// What tells children that an archived operator made from those that are made here.
#[derive(Debug)]
pub struct Marks {
    /// A label and its value that they have.
    pub has: (&'static str, &'static str),
    /// A label that they lack.
    pub lacks: &'static str,
}

/// Of the first dialect: coreos etcd-operator.
pub(crate) static COREOS: Predecessor = Predecessor {
    deployment: "etcd-operator",
    namespace: None,
    locks: &[(LockKind::Endpoints, ETCD_OPERATOR)],
    marks: None,
};

/// Of the second dialect: improbable's etcd-cluster-operator, the final state and v0.2.0.
pub(crate) static IMPROBABLE: Predecessor = Predecessor {
    deployment: "eco-controller-manager",
    namespace: Some("eco-system"),
    locks: &[
        (
            LockKind::ConfigMap,
            "etcd-cluster-operator-controller-leader-election-helper",
        ),
        (LockKind::ConfigMap, "controller-leader-election-helper"),
    ],
    marks: Some(Marks {
        has: (improbable::APP_LABEL, names::APP),
        lacks: names::APP_LABEL,
    }),
};

const ETCD_OPERATOR: &str = "etcd-operator";

fn etcd_operator() -> String {
    ETCD_OPERATOR.to_owned()
}

/// Annotation of that object with the record of its holder.
pub const OLD_LOCK_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// A lock that nobody renewed for so long is given up whatever the clocks of two machines say.
const FORGOTTEN: Millis = Millis::seconds(24 * 3600);

/// The lock as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldLock {
    /// Kind of the locked object.
    #[serde(default)]
    pub kind: LockKind,
    /// Its name.
    #[serde(default = "etcd_operator")]
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Who holds it; empty when it was released.
    #[serde(default)]
    pub holder: String,
    /// When it was renewed, by its holder's clock.
    pub renewed: Millis,
    /// How long a renewal lasts.
    pub lasts: Millis,
    /// How long the host has seen it unchanged, by its own clock; never more than `lasts`.
    #[serde(default)]
    pub unchanged_for: Millis,
}

impl OldLock {
    /// Its kind, namespace and name, for people.
    #[must_use]
    pub fn object(&self) -> String {
        [self.kind.name(), " ", &self.namespace, "/", &self.name].concat()
    }

    /// Whether its holder may be at work. The holder's clock may be wrong, so a lock counts as given up only when it was
    /// seen unchanged for as long as a renewal lasts, or is a day old.
    #[must_use]
    pub fn may_be_held(&self, now: Millis) -> bool {
        !self.holder.is_empty()
            && self.unchanged_for < self.lasts
            && now.since(self.renewed) < FORGOTTEN
    }
}

/// A ReplicaSet by which the archived operator keeps the pod of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldSet {
    /// `metadata.name`; also the member's name.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// What the archived operator of a dialect made for a cluster, and which stands unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldChildren<'a> {
    /// Its pods, those that are going last.
    pub pods: Vec<&'a Pod>,
    /// Its volume claims.
    pub claims: Vec<&'a Volume>,
    /// Its ReplicaSets.
    pub sets: Vec<&'a OldSet>,
}

impl<'a> OldChildren<'a> {
    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        let pods = self.pods.iter().map(|pod| pod.name.as_str());
        let claims = self.claims.iter().map(|claim| claim.name.as_str());
        let sets = self.sets.iter().map(|set| set.name.as_str());
        pods.chain(claims).chain(sets)
    }

    /// Whether a pod or a ReplicaSet stands that is or makes the member of that name.
    #[must_use]
    pub fn may_run(&self, member: &str) -> bool {
        self.sets.iter().any(|set| set.name == member)
            || self
                .pods
                .iter()
                .any(|pod| pod.claim.as_deref() == Some(member))
    }
}

impl Snapshot {
    /// Pods, claims and ReplicaSets of the archived operator, which this operator neither made nor took over. None once the
    /// cluster's id is recorded, unless the status says that they are being taken over.
    #[must_use]
    pub fn old_children(&self) -> OldChildren<'_> {
        let resource = &self.resource;
        let Some(marks) = &resource.dialect().predecessor().marks else {
            return OldChildren::default();
        };
        let id = resource.status.get("clusterId");
        if id.is_some_and(|id| !id.is_null()) && !resource.is_being_taken_over() {
            return OldChildren::default();
        }
        let is_old = |owner: &Option<String>, labels: &BTreeMap<String, String>| {
            let (label, value) = marks.has;
            owner.as_deref() != Some(resource.uid.as_str())
                && labels.get(label).is_some_and(|found| found == value)
                && !labels.contains_key(marks.lacks)
        };
        let pods = self.objects.pods.seen().into_iter().flatten();
        let claims = self.objects.volumes.seen().into_iter().flatten();
        let mut pods: Vec<&Pod> = pods.filter(|pod| is_old(&pod.owner, &pod.labels)).collect();
        pods.sort_by_key(|pod| pod.deleted.is_some());
        OldChildren {
            pods,
            claims: claims
                .filter(|claim| is_old(&claim.owner, &claim.labels))
                .collect(),
            sets: self.old_sets.seen().into_iter().flatten().collect(),
        }
    }

    /// Whether the data on the claim of that name is at the volume's root, where the archived operator's members have it.
    #[must_use]
    pub fn has_data_at_root(&self, claim: &str) -> bool {
        if self.resource.dialect().predecessor().marks.is_none() {
            return false;
        }
        let claims = self.objects.volumes.seen().into_iter().flatten();
        let is_marked = |claim: &Volume| {
            let mark = claim.annotations.get(names::DATA_ANNOTATION);
            mark.is_some_and(|place| place == names::AT_ROOT)
        };
        let mut named = claims.filter(|found| found.name == claim);
        named.any(is_marked)
            || self
                .old_children()
                .claims
                .iter()
                .any(|old| old.name == claim)
    }
}

impl Resource {
    /// Whether its status says that members of the archived operator are being taken over.
    #[must_use]
    pub fn is_being_taken_over(&self) -> bool {
        self.status.get("takingOver") == Some(&Value::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(renewed_ago: i64, unchanged_for: i64) -> (OldLock, Millis) {
        let now = Millis::seconds(1_000_000);
        let lock = OldLock {
            kind: LockKind::Endpoints,
            name: etcd_operator(),
            namespace: "ns".to_owned(),
            holder: "etcd-operator-0".to_owned(),
            renewed: Millis(now.0 - renewed_ago * 1000),
            lasts: Millis::seconds(15),
            unchanged_for: Millis::seconds(unchanged_for),
        };
        (lock, now)
    }

    #[test]
    fn a_lock_is_given_up_when_it_was_watched_unchanged_whatever_its_holders_clock_says() {
        for renewed_ago in [-3600, 0, 60, 3600] {
            let (lock, now) = lock(renewed_ago, 14);
            assert!(lock.may_be_held(now), "{renewed_ago} s");
            let lock = OldLock {
                unchanged_for: Millis::seconds(15),
                ..lock
            };
            assert!(!lock.may_be_held(now), "{renewed_ago} s");
        }
    }

    #[test]
    fn a_lock_of_yesterday_and_a_released_one_hold_nobody_up() {
        let (old, now) = lock(25 * 3600, 0);
        assert!(!old.may_be_held(now));
        let (released, now) = lock(0, 0);
        let released = OldLock {
            holder: String::new(),
            ..released
        };
        assert!(!released.may_be_held(now));
    }
}
