//! What a member's pod may mount: its own claim, an empty directory, the Secret of its role in its own place.

use contract::{EtcdClusterSpec, Pod, Snapshot, TlsRole, TlsSecrets, names};
use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, PodSpec,
    SecretVolumeSource, Volume, VolumeMount,
};

use super::fill::{is_stores_claim, is_stores_secret};
use crate::Refusal;
use crate::secrets::remembered;

/// Own claim, empty directory, or the Secret that the spec names for the role the volume is called after.
pub(super) fn judge_volume(
    pod: &str,
    volume: &Volume,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
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
    // A limit would end the pod with its data; memory does not outlive the node.
    let is_plain = empty_dir
        .as_ref()
        .is_none_or(|empty| *empty == EmptyDirVolumeSource::default());
    let is_own = |claim: &PersistentVolumeClaimVolumeSource| {
        claim.claim_name == pod && claim.read_only != Some(true)
    };
    let is_own_claim = persistent_volume_claim
        .as_ref()
        .is_none_or(|claim| is_own(claim) || is_stores_claim(name, claim, snapshot));
    let is_named = secret.as_ref().is_none_or(|secret| {
        is_secret_of_its_role(name, secret, spec, snapshot)
            || is_stores_secret(volume, secret, snapshot)
    });
    if *volume != sources || !is_plain || !is_own_claim || !is_named {
        refusals.push(Refusal::Volume {
            name: pod.to_owned(),
            volume: name.clone(),
        });
    }
}

/// After an edit of the spec it may also be the Secret that a pod of the cluster has for that role, or that the status
/// remembers for it, where no pod is left: each was judged when it was written.
fn is_secret_of_its_role(
    volume: &str,
    secret: &SecretVolumeSource,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
) -> bool {
    let whole = SecretVolumeSource {
        default_mode: secret.default_mode,
        secret_name: secret.secret_name.clone(),
        ..SecretVolumeSource::default()
    };
    let (Some(role), Some(name)) = (role_of(volume), secret.secret_name.as_deref()) else {
        return false;
    };
    let named = TlsSecrets::of(spec.tls.as_ref(), &snapshot.resource.name);
    let is_in_use = own_pods(snapshot).any(|pod| mounted(pod, role) == Some(name));
    let is_remembered = || remembered(snapshot).is_some_and(|all| all.of_role(role) == Some(name));
    *secret == whole && (named.of_role(role) == Some(name) || is_in_use || is_remembered())
}

/// The role whose certificates a volume holds.
pub(super) fn role_of(volume: &str) -> Option<TlsRole> {
    TlsRole::ALL
        .into_iter()
        .find(|role| role.mount().is_some_and(|(name, _)| name == volume))
}

/// The cluster's own pods.
pub(crate) fn own_pods(snapshot: &Snapshot) -> impl Iterator<Item = &Pod> {
    let owner = snapshot.resource.uid.as_str();
    let pods = snapshot.objects.pods.seen().into_iter().flatten();
    pods.filter(move |pod| pod.owner.as_deref() == Some(owner))
}

/// The Secret a living pod has for a role.
pub(crate) fn mounted(pod: &Pod, role: TlsRole) -> Option<&str> {
    match role {
        TlsRole::Peer => pod.peer_secret.as_deref(),
        TlsRole::Server => pod.server_secret.as_deref(),
        TlsRole::Operator => None,
    }
}

/// Certificates and data are mounted in their one place each, nobody writes to certificates, and data is where the spec
/// asks for it.
pub(super) fn judge_mounts(
    pod: &str,
    found: &PodSpec,
    container: &Container,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let mut refuse = |volume: &str| {
        let refusal = Refusal::Volume {
            name: pod.to_owned(),
            volume: volume.to_owned(),
        };
        if !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    };
    let folder = if snapshot.has_data_at_root(pod) {
        names::DATA_FOLDER
    } else {
        names::DATA_MOUNT
    };
    let mounts = || container.volume_mounts.iter().flatten();
    for mount in mounts() {
        let role = role_of(&mount.name).and_then(TlsRole::mount);
        let place = match role {
            Some((_, path)) => Some((path, Some(true))),
            None => (mount.name == names::DATA_VOLUME).then_some((folder, None)),
        };
        let allowed = place.map(|(path, read_only)| VolumeMount {
            name: mount.name.clone(),
            mount_path: path.to_owned(),
            read_only,
            ..VolumeMount::default()
        });
        if allowed.as_ref() != Some(mount) {
            refuse(&mount.name);
        }
    }
    let asked = spec.pod.as_ref();
    let is_on_claim = asked.is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
    let data = found.volumes.iter().flatten();
    let mut data = data.filter(|volume| volume.name == names::DATA_VOLUME);
    let keeps = data.any(|volume| {
        volume.persistent_volume_claim.is_some() || (volume.empty_dir.is_some() && !is_on_claim)
    });
    if !keeps || !mounts().any(|mount| mount.name == names::DATA_VOLUME) {
        refuse(names::DATA_VOLUME);
    }
}
