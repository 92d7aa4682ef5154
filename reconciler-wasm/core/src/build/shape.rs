//! The shape of a pod: a digest of that part of `spec.pod` which its pod was made from.
//!
//! A later version of the operator builds other pods from the same spec, and the same shape: to update the operator
//! restarts nobody.

use contract::PodPolicy;

/// The digest (FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>) of what a changed policy makes pods anew for.
///
/// Left out is what a pod on its way cannot take over: claims have their own life, and addresses are those that etcd
/// has in its list.
pub(crate) fn shape(policy: &PodPolicy) -> String {
    let shaping = PodPolicy {
        persistent_volume_claim_spec: None,
        persistent_volume_claim_retention_policy: None,
        busybox_image: None,
        dns_timeout_in_second: None,
        cluster_domain: None,
        ..policy.clone()
    };
    // Our own types always have a JSON form; if one had none, all pods would have the same shape.
    let text = serde_json::to_vec(&shaping).unwrap_or_default();
    let digest = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{digest:016x}")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

    use super::*;

    #[test]
    fn only_what_makes_pods_anew_changes_the_shape() {
        let plain = PodPolicy::default();
        let with_busybox = PodPolicy {
            busybox_image: Some("busybox".to_owned()),
            ..plain.clone()
        };
        let with_claims = PodPolicy {
            persistent_volume_claim_spec: Some(PersistentVolumeClaimSpec::default()),
            ..plain.clone()
        };
        let with_label = PodPolicy {
            labels: Some([("team".to_owned(), "infra".to_owned())].into()),
            ..plain.clone()
        };
        assert_eq!(shape(&plain), shape(&with_busybox));
        assert_eq!(shape(&plain), shape(&with_claims));
        assert_ne!(shape(&plain), shape(&with_label));
    }
}
