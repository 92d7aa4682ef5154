//! What a pod may run before etcd: nothing, or the three containers that fill its disk from the backup of the EtcdRestore
//! that the cluster is with.
//!
//! The first and the last are the operator's own image with these very words, the middle one is etcd's tool in the image
//! that the member runs, told exactly whom the plan has. The store's Secret is in the first alone. Shares no code with the reconciler.

use contract::{EtcdBackupSpec, EtcdRestoreSpec, Place, Restoration, Snapshot, StoreKind, names};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, PersistentVolumeClaimVolumeSource, Pod, PodSpec, SecretVolumeSource, Volume,
};

use super::security::judge_container_security;
use crate::address::Addresses;
use crate::restore::RestoreHead;
use crate::{Refusal, ResourceHead};

/// Judges the first containers of a pod, and where the store's Secret is.
pub(super) fn judge_filling(
    pod: &Pod,
    name: &str,
    found: &PodSpec,
    addresses: Addresses<'_>,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let mut refuse = |what: String| {
        refusals.push(Refusal::Filling {
            name: name.to_owned(),
            what,
        });
    };
    let volumes = || found.volumes.iter().flatten();
    let store = volumes().find(|volume| volume.name == names::STORE_VOLUME);
    let is_marked = pod
        .metadata
        .annotations
        .as_ref()
        .is_some_and(|annotations| annotations.contains_key(names::FILLED_ANNOTATION));
    let containers = found.init_containers.as_deref().unwrap_or_default();
    if containers.is_empty() {
        if store.is_some() || is_marked {
            refuse("it has the store's Secret and nothing to do with it".to_owned());
        }
        return;
    }
    if !is_marked {
        refuse("its annotation does not say whether it is filled".to_owned());
    }
    let Some(asked) = asked(snapshot) else {
        refuse("no EtcdRestore that is proven asks for it".to_owned());
        return;
    };
    let etcd = found.containers.first();
    let mounts_store = |container: &Container| {
        let mut mounts = container.volume_mounts.iter().flatten();
        mounts.any(|mount| mount.name == names::STORE_VOLUME)
    };
    if etcd.is_some_and(mounts_store) {
        refuse("etcd would have the store's Secret".to_owned());
    }
    let expected = [
        names::FETCH_CONTAINER,
        names::RESTORE_CONTAINER,
        names::PLACE_CONTAINER,
    ];
    let found_names: Vec<&str> = containers.iter().map(|one| one.name.as_str()).collect();
    if found_names != expected {
        refuse(format!("before etcd it runs {}", found_names.join(", ")));
        return;
    }
    let operator = snapshot.operator_image.as_deref();
    let member = etcd.and_then(|etcd| etcd.image.as_deref());
    for container in containers {
        let is_tool = container.name == names::RESTORE_CONTAINER;
        let image = if is_tool { member } else { operator };
        if image.is_none() || container.image.as_deref() != image {
            refuse(format!(
                "the container {} runs the image {}",
                container.name,
                container.image.as_deref().unwrap_or_default()
            ));
        }
        if mounts_store(container) != (container.name == names::FETCH_CONTAINER) {
            refuse(format!(
                "the store's Secret and the container {}",
                container.name
            ));
        }
        if let Some(what) = why_not_as_expected(container, name, addresses, &asked) {
            refuse(format!("the container {}: {what}", container.name));
        }
    }
    for container in containers {
        judge_container_security(name, container, refusals);
    }
}

/// What the stored status is with.
struct Asked {
    restoration: Restoration,
    /// The EtcdRestore of it, proven and not over.
    head: RestoreHead,
    /// Where its backup is.
    source: EtcdBackupSpec,
}

fn asked(snapshot: &Snapshot) -> Option<Asked> {
    let restoration = ResourceHead::of(&snapshot.resource).restoration?;
    let restores = snapshot.restores.seen()?;
    let own = restores
        .iter()
        .find(|resource| resource.uid == restoration.uid)?;
    let head = RestoreHead::of(own);
    let source = head.spec.as_ref().map(EtcdRestoreSpec::source)?;
    (head.proof.is_some() && !head.deleted && !head.over).then_some(Asked {
        restoration,
        head,
        source,
    })
}

/// Says what of a container is not as it must be; none when all is.
fn why_not_as_expected(
    container: &Container,
    member: &str,
    addresses: Addresses<'_>,
    asked: &Asked,
) -> Option<String> {
    let allowed = Container {
        args: container.args.clone(),
        command: container.command.clone(),
        env: container.env.clone(),
        image: container.image.clone(),
        name: container.name.clone(),
        resources: container.resources.clone(),
        security_context: container.security_context.clone(),
        termination_message_policy: container.termination_message_policy.clone(),
        volume_mounts: container.volume_mounts.clone(),
        ..Container::default()
    };
    if *container != allowed {
        return Some("it sets a field that it may not have".to_owned());
    }
    let variables = container.env.as_deref().unwrap_or_default();
    if !variables.iter().all(reads_filled) {
        return Some("it reads another variable than whether the disk is filled".to_owned());
    }
    let mounts = container.volume_mounts.iter().flatten();
    let is_in_place = |name: &str, path: &str| match name {
        names::DATA_VOLUME => path == names::DATA_MOUNT,
        names::STORE_VOLUME => path == names::STORE_MOUNT,
        _ => false,
    };
    for mount in mounts {
        if !is_in_place(&mount.name, &mount.mount_path) || mount.sub_path.is_some() {
            return Some(format!("it mounts {} at {}", mount.name, mount.mount_path));
        }
    }
    let program = container.command.as_deref().unwrap_or_default();
    let arguments = container.args.as_deref().unwrap_or_default();
    let is_tool = container.name == names::RESTORE_CONTAINER;
    let is_program = match program {
        [program] if is_tool => matches!(
            program.as_str(),
            "/usr/local/bin/etcdutl" | "/usr/local/bin/etcdctl"
        ),
        [program] => program == names::OPERATOR_PROGRAM,
        _ => false,
    };
    if !is_program {
        return Some(format!("it runs {program:?}"));
    }
    let is_fetch = container.name == names::FETCH_CONTAINER;
    let verbs: &[&str] = match (is_tool, is_fetch) {
        (true, _) => &["snapshot", "restore"],
        (false, true) => &["member", "fetch"],
        (false, false) => &["member", "place"],
    };
    let Some((found, rest)) = arguments.split_at_checked(verbs.len()) else {
        return Some("it has no verb".to_owned());
    };
    if found != verbs {
        return Some(format!("it does {found:?}"));
    }
    let sha256 = asked.head.proof.as_ref().map(|proof| proof.sha256.as_str());
    let wrong = rest.iter().find(|word| {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        let is_allowed = if is_tool {
            is_tools(word, member, addresses, &asked.restoration)
        } else {
            match flag {
                "--skip" => true,
                "--sha256" => is_fetch && Some(value) == sha256,
                "--source" => is_fetch && is_source(value, &asked.source),
                _ => false,
            }
        };
        !is_allowed
    });
    if let Some(word) = wrong {
        return Some(format!("the argument {word:?}"));
    }
    let needed: &[&str] = match (is_tool, is_fetch) {
        (true, _) => &["--initial-cluster=", "--initial-cluster-token="],
        (false, true) => &["--sha256=", "--source="],
        (false, false) => &[],
    };
    let missing = needed
        .iter()
        .find(|flag| !rest.iter().any(|word| word.starts_with(*flag)));
    missing.map(|flag| format!("the argument {flag} is missing"))
}

/// A word of the command line of etcd's tool: into the folder of the filling, as one of those whom the plan has, and the
/// hash is checked.
fn is_tools(word: &str, member: &str, addresses: Addresses<'_>, plan: &Restoration) -> bool {
    let (flag, value) = word.split_once('=').unwrap_or((word, ""));
    let folder = format!("{}/{}", names::DATA_MOUNT, names::FILLING_FOLDER);
    match flag {
        "--name" => value == member,
        "--data-dir" => value == format!("{folder}/data"),
        "--initial-cluster" => is_of_founders(value, addresses, &plan.founders),
        "--initial-cluster-token" => plan.token.as_deref() == Some(value),
        "--initial-advertise-peer-urls" => value
            .split(',')
            .all(|url| addresses.is_of(member, url, names::PEER_PORT)),
        "--bump-revision" | "--mark-compacted" | "--help" => true,
        _ => word == format!("{folder}/{}", names::FETCHED_FILE),
    }
}

/// Two members with the same data and unlike lists would be two clusters, and whoever is listed elsewhere a stranger.
fn is_of_founders(initial_cluster: &str, addresses: Addresses<'_>, founders: &[String]) -> bool {
    let listed: Option<Vec<&str>> = initial_cluster
        .split(',')
        .map(|entry| {
            let (name, url) = entry.split_once('=')?;
            addresses.is_of(name, url, names::PEER_PORT).then_some(name)
        })
        .collect();
    listed.is_some_and(|mut listed| {
        listed.sort_unstable();
        let mut founders: Vec<&str> = founders.iter().map(String::as_str).collect();
        founders.sort_unstable();
        listed == founders
    })
}

fn is_source(value: &str, source: &EtcdBackupSpec) -> bool {
    serde_json::from_str::<EtcdBackupSpec>(value).is_ok_and(|found| found == *source)
}

fn reads_filled(variable: &EnvVar) -> bool {
    let path = format!("metadata.annotations['{}']", names::FILLED_ANNOTATION);
    let source = variable.value_from.as_ref();
    let field = source.and_then(|source| source.field_ref.as_ref());
    variable.value.is_none()
        && field.is_some_and(|field| field.field_path == path)
        && source.is_some_and(|source| {
            source.secret_key_ref.is_none()
                && source.config_map_key_ref.is_none()
                && source.resource_field_ref.is_none()
        })
}

/// Whether this is the Secret that the EtcdRestore names, mounted whole.
pub(super) fn is_stores_secret(
    volume: &Volume,
    secret: &SecretVolumeSource,
    snapshot: &Snapshot,
) -> bool {
    let whole = SecretVolumeSource {
        default_mode: secret.default_mode,
        secret_name: secret.secret_name.clone(),
        ..SecretVolumeSource::default()
    };
    let place = asked(snapshot).and_then(|asked| Place::of(&asked.source));
    volume.name == names::STORE_VOLUME
        && *secret == whole
        && place.is_some_and(|place| {
            !place.secret.is_empty() && Some(&place.secret) == secret.secret_name.as_ref()
        })
}

/// Whether this is the claim that the EtcdRestore names as its store, and nothing can be written to it.
pub(super) fn is_stores_claim(
    volume: &str,
    claim: &PersistentVolumeClaimVolumeSource,
    snapshot: &Snapshot,
) -> bool {
    let place = asked(snapshot).and_then(|asked| Place::of(&asked.source));
    volume == names::STORE_VOLUME
        && claim.read_only == Some(true)
        && place
            .is_some_and(|place| place.store == StoreKind::Pvc && place.bucket == claim.claim_name)
}

/// Whether a pod fills its disk.
pub(crate) fn fills(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    let containers = spec.and_then(|spec| spec.init_containers.as_ref());
    containers.is_some_and(|containers| !containers.is_empty())
}
