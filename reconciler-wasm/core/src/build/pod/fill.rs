//! The first containers of a member whose disk is filled from a backup: fetch it, make a data folder of it, put that into
//! its place.
//!
//! The first and the last are the operator's own program, the middle one is etcd's own tool. Nothing is written where the
//! member's data is but by the last, in one step, and never over data. Once the member answered, an annotation of the pod
//! makes all three do nothing. The credentials are mounted into the first alone.

use contract::{EtcdBackupSpec, Place, StoreKind, names};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, ObjectFieldSelector, PersistentVolumeClaimVolumeSource,
    SecretVolumeSource, Volume, VolumeMount,
};
use semver::Version;

use super::container::{restricted, version_of};
use super::start::together;
use crate::validate::Cluster;

/// The variable that the annotation is read into.
const FILLED: &str = "BINNACLE_FILLED";

/// What a disk is filled from.
pub(crate) struct Filling<'a> {
    /// The operator's own image.
    pub(crate) image: &'a str,
    /// Where the backup is.
    pub(crate) source: &'a EtcdBackupSpec,
    /// The store, and the Secret with its credentials.
    pub(crate) place: &'a Place,
    /// Of the bytes that were proven; others are not taken.
    pub(crate) sha256: &'a str,
    /// Who is filled from it, and is a member of the cluster that comes of it.
    pub(crate) founders: &'a [String],
    /// `--initial-cluster-token`.
    pub(crate) token: &'a str,
    /// By how much the revision is raised.
    pub(crate) bump: i64,
}

/// The credentials, for the one container that fetches; of a claim, the claim itself.
pub(super) fn volume(filling: &Filling<'_>) -> Volume {
    let Place {
        store,
        secret,
        bucket,
        key: _,
    } = filling.place;
    let name = names::STORE_VOLUME.to_owned();
    match store {
        StoreKind::Pvc => Volume {
            name,
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: bucket.clone(),
                read_only: Some(true),
            }),
            ..Volume::default()
        },
        StoreKind::S3 | StoreKind::Abs | StoreKind::Gcs | StoreKind::Oss => Volume {
            name,
            secret: Some(SecretVolumeSource {
                secret_name: Some(secret.clone()),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        },
    }
}

/// The containers, in their order.
pub(super) fn containers(
    cluster: &Cluster,
    member: &str,
    image: &str,
    filling: &Filling<'_>,
) -> Vec<Container> {
    let skip = format!("--skip=$({FILLED})");
    // Our own types always have a JSON form; without one nothing can be fetched, which the container says.
    let source = serde_json::to_string(filling.source).unwrap_or_default();
    let fetch = [
        "member".to_owned(),
        "fetch".to_owned(),
        skip.clone(),
        format!("--sha256={}", filling.sha256),
        format!("--source={source}"),
    ];
    let place = ["member".to_owned(), "place".to_owned(), skip];
    let operator = names::OPERATOR_PROGRAM;
    let mut fetch = container(
        names::FETCH_CONTAINER,
        filling.image,
        operator,
        fetch.into(),
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
    let (tool, arguments) = restore(cluster, member, image, filling);
    vec![
        fetch,
        container(names::RESTORE_CONTAINER, image, tool, arguments),
        container(
            names::PLACE_CONTAINER,
            filling.image,
            operator,
            place.into(),
        ),
    ]
}

/// etcd's tool, and what it is told. Its `--help` prints and does nothing, also when it is said `--help=false` otherwise.
fn restore(
    cluster: &Cluster,
    member: &str,
    image: &str,
    filling: &Filling<'_>,
) -> (&'static str, Vec<String>) {
    let version = Version::parse(&version_of(image)).ok();
    let folder = format!("{}/{}", names::DATA_MOUNT, names::FILLING_FOLDER);
    let mut arguments = vec![
        "snapshot".to_owned(),
        "restore".to_owned(),
        format!("{folder}/{}", names::FETCHED_FILE),
        format!("--help=$({FILLED})"),
        format!("--data-dir={folder}/data"),
        format!("--name={member}"),
        format!("--initial-cluster={}", together(cluster, filling.founders)),
        format!("--initial-cluster-token={}", filling.token),
        format!("--initial-advertise-peer-urls={}", cluster.peer_url(member)),
    ];
    if filling.bump > 0 && version.as_ref().is_none_or(can_bump) {
        arguments.push(format!("--bump-revision={}", filling.bump));
        arguments.push("--mark-compacted".to_owned());
    }
    let tool = if version.is_some_and(|version| version.minor < 5) {
        "/usr/local/bin/etcdctl"
    } else {
        "/usr/local/bin/etcdutl"
    };
    (tool, arguments)
}

/// Whether the tool of this version raises the revision.
const fn can_bump(version: &Version) -> bool {
    match version.minor {
        4 => version.patch >= 34,
        5 => version.patch >= 10,
        _ => true,
    }
}

fn container(name: &str, image: &str, program: &str, arguments: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec![program.to_owned()]),
        args: Some(arguments),
        env: Some(vec![EnvVar {
            name: FILLED.to_owned(),
            value: None,
            value_from: Some(EnvVarSource {
                field_ref: Some(ObjectFieldSelector {
                    api_version: Some("v1".to_owned()),
                    field_path: format!("metadata.annotations['{}']", names::FILLED_ANNOTATION),
                }),
                ..EnvVarSource::default()
            }),
        }]),
        security_context: Some(restricted()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![VolumeMount {
            name: names::DATA_VOLUME.to_owned(),
            mount_path: names::DATA_MOUNT.to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    }
}
