//! The pod of a rehearsal: a backup is restored in it into a member that nobody reaches, and a witness says what that holds.
//!
//! etcd listens on the pod's own loopback address alone. The store's Secret is in the container that fetches, and no token of
//! Kubernetes is in any. The pod has no disk but its own and belongs to the EtcdBackup, with which it goes. Whether what the
//! witness says is what was backed up is the module's judgement.

mod state;

use contract::{
    AbsStore, EtcdBackupSpec, GcsStore, Observed, OssStore, Place, PvcStore, RehearsalPod,
    Rehearse, Resource, S3Store, StoreKind, names,
};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, Pod,
    PodSecurityContext, PodSpec, SeccompProfile, SecretVolumeSource, SecurityContext, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde::Deserialize as _;

use crate::error::Chain;
use crate::execute::{Error, Executor, Pass, kubernetes};
use crate::observe::{self, project};

/// Whom the processes run as.
const USER: i64 = 65532;
/// How long etcd may take to open its data and to read all of it, in seconds.
const WITNESS_WITHIN: u64 = 120;
/// The name of the restored member.
const MEMBER: &str = "rehearsal";

/// Sees how the pod of a rehearsal stands.
pub(super) async fn look(
    client: &Client,
    resource: &Resource,
    run: &str,
) -> Observed<RehearsalPod> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &resource.namespace);
    let name = names::rehearsal_pod(run);
    let what = || format!("Pod {}/{name}", resource.namespace);
    match observe::within(what, api.get_opt(&name)).await {
        Ok(Some(pod)) => Observed::Seen(RehearsalPod {
            state: state::of(&pod),
            deleted: pod.metadata.deletion_timestamp.is_some(),
        }),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

/// Makes the pod; one of this very rehearsal stays as it is.
pub(super) async fn begin(
    executor: &Executor,
    pass: &Pass<'_>,
    wanted: &Rehearse,
) -> Result<(), Error> {
    let rejected = |why: &str| Error::Rejected {
        why: why.to_owned(),
    };
    let spec = EtcdBackupSpec::deserialize(&pass.resource.spec);
    let spec = spec.map_err(|error| rejected(&error.to_string()))?;
    let place = Place::of(&spec).ok_or_else(|| rejected("the spec names no store"))?;
    let pod = pod(pass.resource, &spec, &place, wanted)
        .ok_or_else(|| rejected("the spec has no form as JSON"))?;
    let api: Api<Pod> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let params = PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    };
    kubernetes::within(async {
        match api.create(&params, &pod).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            made => made.map(drop),
        }
    })
    .await
}

/// Deletes the pod, if it is this backup's.
pub(super) async fn end(executor: &Executor, pass: &Pass<'_>, run: &str) -> Result<(), Error> {
    let api: Api<Pod> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let name = names::rehearsal_pod(run);
    kubernetes::within(async {
        let Some(pod) = api.get_opt(&name).await? else {
            return Ok(());
        };
        if project::controller(&pod.metadata).as_ref() != Some(&pass.resource.uid) {
            return Ok(());
        }
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(kube::api::Preconditions {
                uid: pod.metadata.uid,
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        match api.delete(&name, &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            deleted => deleted.map(drop),
        }
    })
    .await
}

/// The pod; none where the spec has no form as JSON.
fn pod(
    resource: &Resource,
    spec: &EtcdBackupSpec,
    place: &Place,
    wanted: &Rehearse,
) -> Option<Pod> {
    let source = serde_json::to_string(&source(spec, place, &wanted.key)).ok()?;
    let folder = format!("{}/{}", names::DATA_MOUNT, names::FILLING_FOLDER);
    let peer = format!("http://127.0.0.1:{}", names::PEER_PORT);
    let client = format!("http://127.0.0.1:{}", names::CLIENT_PORT);
    let operator = |name: &str, arguments: Vec<String>| {
        let program = names::OPERATOR_PROGRAM.to_owned();
        let words = [vec!["member".to_owned(), name.to_owned()], arguments].concat();
        container(name, &wanted.operator_image, program, words)
    };
    let mut fetch = operator(
        names::FETCH_CONTAINER,
        vec![
            format!("--sha256={}", wanted.sha256),
            format!("--source={source}"),
        ],
    );
    fetch
        .volume_mounts
        .get_or_insert_default()
        .push(VolumeMount {
            name: names::STORE_VOLUME.to_owned(),
            mount_path: names::STORE_MOUNT.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        });
    let tool = if wanted.image.contains(":v3.4.") {
        "etcdctl"
    } else {
        "etcdutl"
    };
    let common = [
        format!("--name={MEMBER}"),
        format!("--data-dir={folder}/data"),
        format!("--initial-cluster={MEMBER}={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
    ];
    let restore = [
        "snapshot".to_owned(),
        "restore".to_owned(),
        format!("{folder}/{}", names::FETCHED_FILE),
    ];
    let restore = container(
        names::RESTORE_CONTAINER,
        &wanted.image,
        format!("/usr/local/bin/{tool}"),
        [&restore[..], &common[..]].concat(),
    );
    let listen = [
        format!("--listen-peer-urls={peer}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
    ];
    // It goes on beside the witness, and ends with it.
    let etcd = Container {
        restart_policy: Some("Always".to_owned()),
        ..container(
            names::ETCD_CONTAINER,
            &wanted.image,
            "/usr/local/bin/etcd".to_owned(),
            [&common[..], &listen[..]].concat(),
        )
    };
    let witness = operator(
        names::WITNESS_CONTAINER,
        vec![
            format!("--revision={}", wanted.revision),
            format!("--within={WITNESS_WITHIN}"),
        ],
    );
    Some(Pod {
        metadata: metadata(resource, &wanted.run),
        spec: Some(PodSpec {
            active_deadline_seconds: Some((wanted.within.0 / 1000).max(1)),
            automount_service_account_token: Some(false),
            containers: vec![witness],
            enable_service_links: Some(false),
            init_containers: Some(vec![fetch, restore, etcd]),
            restart_policy: Some("Never".to_owned()),
            security_context: Some(PodSecurityContext {
                fs_group: Some(USER),
                run_as_group: Some(USER),
                run_as_non_root: Some(true),
                run_as_user: Some(USER),
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    localhost_profile: None,
                }),
                ..PodSecurityContext::default()
            }),
            termination_grace_period_seconds: Some(1),
            volumes: Some(vec![
                Volume {
                    name: names::DATA_VOLUME.to_owned(),
                    empty_dir: Some(EmptyDirVolumeSource::default()),
                    ..Volume::default()
                },
                store_volume(place),
            ]),
            ..PodSpec::default()
        }),
        status: None,
    })
}

/// The credentials of the store; of a claim, the claim itself.
fn store_volume(place: &Place) -> Volume {
    let name = names::STORE_VOLUME.to_owned();
    match place.store {
        StoreKind::Pvc => Volume {
            name,
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: place.bucket.clone(),
                read_only: Some(true),
            }),
            ..Volume::default()
        },
        StoreKind::S3 | StoreKind::Abs | StoreKind::Gcs | StoreKind::Oss => Volume {
            name,
            secret: Some(SecretVolumeSource {
                secret_name: Some(place.secret.clone()),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        },
    }
}

fn metadata(resource: &Resource, run: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(names::rehearsal_pod(run)),
        namespace: Some(resource.namespace.clone()),
        labels: Some([(names::APP_LABEL.to_owned(), names::REHEARSAL_APP.to_owned())].into()),
        owner_references: Some(vec![OwnerReference {
            api_version: resource.api_version.clone(),
            block_owner_deletion: Some(false),
            controller: Some(true),
            kind: resource.kind.clone(),
            name: resource.name.clone(),
            uid: resource.uid.clone(),
        }]),
        ..ObjectMeta::default()
    }
}

fn container(name: &str, image: &str, program: String, arguments: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec![program]),
        args: Some(arguments),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(vec!["ALL".to_owned()]),
            }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![VolumeMount {
            name: names::DATA_VOLUME.to_owned(),
            mount_path: names::DATA_MOUNT.to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    }
}

/// What of the spec says where one stored backup is.
fn source(spec: &EtcdBackupSpec, place: &Place, key: &str) -> EtcdBackupSpec {
    let path = format!("{}/{key}", place.bucket);
    EtcdBackupSpec {
        storage_type: spec.storage_type.clone(),
        s3: spec.s3.clone().map(|store| S3Store {
            path: path.clone(),
            ..store
        }),
        abs: spec.abs.clone().map(|store| AbsStore {
            path: path.clone(),
            ..store
        }),
        gcs: spec.gcs.clone().map(|store| GcsStore {
            path: path.clone(),
            ..store
        }),
        oss: spec.oss.clone().map(|store| OssStore {
            path: path.clone(),
            ..store
        }),
        pvc: spec.pvc.is_some().then(|| PvcStore { path: path.clone() }),
        ..EtcdBackupSpec::default()
    }
}

#[cfg(test)]
mod tests;
