//! How large volumes are: what the API server takes for one that is there, and when it has grown.
//!
//! As Kubernetes has it where a volume grows while it is used
//! (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims>). Decides nothing.

use contract::{Child, VolumePhase, quantity};

use crate::kubernetes::Claim;
use crate::plan::Fault;
use crate::timers::Timer;
use crate::world::World;

/// `spec.pod.persistentVolumeClaimSpec`, where there is one.
pub(crate) fn template(gibibytes: u32) -> serde_json::Value {
    let requests = serde_json::json!({"storage": format!("{gibibytes}Gi")});
    serde_json::json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": requests}})
}

/// Bytes of a size, as far as it is one.
fn bytes(size: Option<&String>) -> u128 {
    size.and_then(|size| quantity::bytes(size))
        .unwrap_or_default()
}

impl World {
    /// Whether the API server takes the size that is asked for. A claim without a volume keeps its own, and none shrinks.
    pub(crate) fn admit_size(&self, object: &Child) -> Result<(), &'static str> {
        let Child::PersistentVolumeClaim(claim) = object else {
            return Ok(());
        };
        let Some(found) = self.kube.claims.get(object.name()) else {
            return Ok(());
        };
        let asked = claim
            .spec
            .as_ref()
            .and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"));
        let asked = bytes(asked.map(|quantity| &quantity.0));
        let has = bytes(found.api.requested.as_ref());
        let mut faults = self.plan.faults.iter();
        let is_rigid = faults.any(|one| one.fault == Fault::Rigid && one.is_at(self.now));
        match asked.cmp(&has) {
            std::cmp::Ordering::Equal => Ok(()),
            _ if found.api.phase != VolumePhase::Bound => Err("spec is immutable after creation"),
            std::cmp::Ordering::Less => Err("field can not be less than status.capacity"),
            std::cmp::Ordering::Greater if is_rigid => Err("the storageclass must support resize"),
            std::cmp::Ordering::Greater => Ok(()),
        }
    }

    /// The disk of a claim that asks for more than its volume has.
    pub(crate) fn asks_to_grow(&self, object: &Child) -> Option<u32> {
        let is_claim = matches!(object, Child::PersistentVolumeClaim(_));
        let claim = self.kube.claims.get(object.name()).filter(|_| is_claim)?;
        let has = claim.api.capacity.as_ref()?;
        (bytes(claim.api.requested.as_ref()) > bytes(Some(has))).then_some(claim.number)
    }

    /// The volume of that number is made as large as its claim asks, once a pod uses it.
    pub(crate) fn enlarge(&mut self, number: u32) {
        let is_it = |claim: &&mut Claim| claim.number == number;
        let Some(claim) = self.kube.claims.values_mut().find(is_it) else {
            return;
        };
        let mut pods = self.kube.pods.values();
        if !pods.any(|pod| pod.disk == Some(number) && pod.process.is_some()) {
            self.after(2_000, 2_000, Timer::Enlarge(number));
            return;
        }
        claim.api.capacity.clone_from(&claim.api.requested);
        self.changed = true;
    }

    /// Names of claims whose volumes are smaller than the spec asks for.
    pub(crate) fn small_claims(&self) -> Vec<String> {
        let pod = self.kube.resource.spec.get("pod");
        let template = pod.and_then(|pod| pod.get("persistentVolumeClaimSpec"));
        let asked = template.and_then(|one| one["resources"]["requests"]["storage"].as_str());
        let asked = asked.and_then(quantity::bytes).unwrap_or_default();
        let claims = self.kube.claims.iter();
        claims
            .filter(|(_, claim)| self.is_own(&claim.api.owner))
            .filter(|(_, claim)| bytes(claim.api.capacity.as_ref()) < asked)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::{
        PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
    };
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    use super::*;
    use crate::plan::Plan;

    fn of(size: &str) -> Child {
        let requests = BTreeMap::from([("storage".to_owned(), Quantity(size.to_owned()))]);
        let mut claim = PersistentVolumeClaim {
            spec: Some(PersistentVolumeClaimSpec {
                resources: Some(VolumeResourceRequirements {
                    requests: Some(requests),
                    ..VolumeResourceRequirements::default()
                }),
                ..PersistentVolumeClaimSpec::default()
            }),
            ..PersistentVolumeClaim::default()
        };
        claim.metadata.name = Some("sim-a".to_owned());
        Child::PersistentVolumeClaim(claim)
    }

    #[test]
    fn a_volume_grows_when_its_member_runs_and_never_shrinks() {
        let mut world = World::new(&Plan::of_seed(1), false);
        world.kube.apply(&of("1Gi"), 0);
        assert!(world.admit_size(&of("2Gi")).is_err(), "there is no volume");
        let claim = world.kube.claims.get_mut("sim-a").expect("it was made");
        claim.api.phase = VolumePhase::Bound;
        claim.api.capacity = Some("1Gi".to_owned());
        assert_eq!(world.admit_size(&of("2Gi")), Ok(()));
        world.kube.apply(&of("2Gi"), 0);
        let number = world.asks_to_grow(&of("2Gi")).expect("it is small");
        world.enlarge(number);
        let has = |world: &World| world.kube.claims["sim-a"].api.capacity.clone();
        assert_eq!(has(&world).as_deref(), Some("1Gi"), "nobody uses it");
        assert!(world.admit_size(&of("1Gi")).is_err());
    }
}
