//! What a member's pod may mount: its own claim, an empty directory, a Secret that the spec names.

use contract::EtcdClusterSpec;
use k8s_openapi::api::core::v1::Volume;

use crate::Refusal;

/// Own claim, empty directory, or a Secret that the spec names.
pub(super) fn judge_volume(
    pod: &str,
    volume: &Volume,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let Volume {
        name,
        empty_dir,
        persistent_volume_claim,
        secret,
        ..
    } = volume;
    let sources = Volume {
        name: name.clone(),
        empty_dir: empty_dir.clone(),
        persistent_volume_claim: persistent_volume_claim.clone(),
        secret: secret.clone(),
        ..Volume::default()
    };
    let is_own_claim = persistent_volume_claim
        .as_ref()
        .is_none_or(|claim| claim.claim_name == pod);
    let is_named = secret.as_ref().is_none_or(|secret| {
        secret
            .secret_name
            .as_deref()
            .is_some_and(|secret| named_secrets(spec).any(|named| named == secret))
    });
    if *volume != sources || !is_own_claim || !is_named {
        refusals.push(Refusal::Volume {
            name: pod.to_owned(),
            volume: name.clone(),
        });
    }
}

fn named_secrets(spec: &EtcdClusterSpec) -> impl Iterator<Item = &str> {
    let fixed = spec.tls.as_ref().and_then(|tls| tls.fixed.as_ref());
    let member = fixed.and_then(|fixed| fixed.member.as_ref());
    let secrets = [
        fixed.and_then(|fixed| fixed.operator_secret.as_deref()),
        member.and_then(|member| member.peer_secret.as_deref()),
        member.and_then(|member| member.server_secret.as_deref()),
    ];
    secrets.into_iter().flatten()
}
