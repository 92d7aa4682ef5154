//! From `etcd.database.coreos.com/v1beta2` into `etcd.improbable.io/v1alpha1`.

use contract::improbable::{self, Carried, NotCarried};
use contract::{
    EtcdBackupSpec, EtcdBackupStatus, EtcdClusterSpec, EtcdRestoreSpec, EtcdRestoreStatus,
    ResourceKind, names,
};
use serde::Deserialize as _;
use serde_json::Value;

use super::from::DATA;
use super::object::{Dialect, ImprobableKind, Object, Side, why_no_name};
use super::{Converted, Defaults};

/// Fields that the archived operator did not have, below the spec of a cluster, of a backup, of a restore.
const OF_OUR_OWN: [&[&str]; 3] = [
    &[
        "repository",
        "upgrade",
        "paused",
        "quorumRecovery",
        "etcd",
        "tls",
        "storage/whenDeleted",
        "podTemplate/metadata/labels",
        "podTemplate/antiAffinity",
        "podTemplate/nodeSelector",
        "podTemplate/tolerations",
        "podTemplate/etcdEnv",
        "podTemplate/securityContext",
        "podTemplate/topologySpreadConstraints",
        "podTemplate/priorityClassName",
        "podTemplate/imagePullSecrets",
        "podTemplate/probes",
        "podTemplate/clusterDomain",
    ],
    &[
        "source/clusterRef",
        "source/clientTLSSecret",
        "destination/secretName",
        "backupPolicy",
    ],
    &["source/secretName", "bumpRevision"],
];

/// Converts one object.
///
/// # Errors
/// What of it cannot be said.
pub(super) fn to(
    kind: ResourceKind,
    object: &Object,
    objects: &[Object],
    defaults: Defaults<'_>,
) -> Result<Converted, Vec<NotCarried>> {
    let mut converted = Converted::default();
    match kind {
        ResourceKind::EtcdCluster => cluster(object, objects, defaults, &mut converted)?,
        ResourceKind::EtcdBackup => backup(object, &mut converted)?,
        ResourceKind::EtcdRestore => restore(object, objects, defaults, &mut converted)?,
        // No object of the first dialect is one.
        ResourceKind::EtcdBackupSchedule => {}
    }
    Ok(converted)
}

fn cluster(
    object: &Object,
    objects: &[Object],
    defaults: Defaults<'_>,
    converted: &mut Converted,
) -> Result<(), Vec<NotCarried>> {
    let restore = objects
        .iter()
        .find(|restore| is_of(restore, object) && !is_over(restore));
    if let Some(restore) = restore {
        converted.remark(
            object,
            "the object itself",
            &format!(
                "its spec is in {}, which makes the cluster there; labels and annotations are not",
                restore.shown()
            ),
        );
        return Ok(());
    }
    let carried = cluster_spec(object, defaults, converted)?;
    converted.remark(
        object,
        DATA,
        "it stays on the claims that the cluster has here; one that is created from this is born empty. Carry it over by a backup and a restore",
    );
    let service = names::client_service(&object.name);
    converted.remark(
        object,
        &format!("the Service {service}"),
        &format!(
            "clients reach the members through the Service {} there",
            object.name
        ),
    );
    say(ImprobableKind::Cluster, object, &carried, converted);
    Ok(())
}

fn cluster_spec(
    object: &Object,
    defaults: Defaults<'_>,
    converted: &mut Converted,
) -> Result<improbable::EtcdClusterSpec, Vec<NotCarried>> {
    let mut spec: EtcdClusterSpec = object.spec(converted)?;
    let pod = spec.pod.as_mut();
    if let (Some(claim), Some(class)) = (
        pod.and_then(|pod| pod.persistent_volume_claim_spec.as_mut()),
        defaults.storage_class,
    ) {
        claim
            .storage_class_name
            .get_or_insert_with(|| class.to_owned());
    }
    let mut refused: Vec<NotCarried> = why_no_name(&object.name, "metadata.name")
        .into_iter()
        .collect();
    match improbable::cluster_to(spec) {
        Ok(Carried { spec, left }) if refused.is_empty() => {
            converted.remarks(object, left);
            Ok(spec)
        }
        Ok(_) => Err(refused),
        Err(why) => {
            refused.extend(why.into_iter().map(|mut why| {
                if why.field.ends_with("storageClassName") {
                    why.why.push_str(". Or name it with --storage-class");
                }
                why
            }));
            Err(refused)
        }
    }
}

fn backup(object: &Object, converted: &mut Converted) -> Result<(), Vec<NotCarried>> {
    let spec: EtcdBackupSpec = object.spec(converted)?;
    if spec.is_periodic() {
        let Carried { spec, left } = improbable::schedule_to(spec)?;
        converted.remarks(object, left);
        say(ImprobableKind::Schedule, object, &spec, converted);
        return Ok(());
    }
    let status = object.value.get("status");
    if status.is_some_and(|status| {
        EtcdBackupStatus::deserialize(status).is_ok_and(|status| status.is_over())
    }) {
        converted.remark(
            object,
            "all of it",
            "it is over here, and would be taken once more there",
        );
        return Ok(());
    }
    let Carried { spec, left } = improbable::backup_to(spec)?;
    converted.remarks(object, left);
    say(ImprobableKind::Backup, object, &spec, converted);
    Ok(())
}

fn restore(
    object: &Object,
    objects: &[Object],
    defaults: Defaults<'_>,
    converted: &mut Converted,
) -> Result<(), Vec<NotCarried>> {
    if is_over(object) {
        converted.remark(
            object,
            "all of it",
            "it is over here, and would be done once more there",
        );
        return Ok(());
    }
    let spec: EtcdRestoreSpec = object.spec(converted)?;
    let Some(cluster) = objects.iter().find(|cluster| is_of(object, cluster)) else {
        return Err(vec![NotCarried {
            field: "spec.etcdCluster.name".to_owned(),
            why: format!(
                "a restore makes the cluster there and has its spec. Put the EtcdCluster {:?} into the same file",
                spec.etcd_cluster.name
            ),
        }]);
    };
    let template = cluster_spec(cluster, defaults, converted).map_err(|mut why| {
        for why in &mut why {
            why.field = format!("{}, {}", cluster.shown(), why.field);
        }
        why
    })?;
    let Carried { spec, left } = improbable::restore_to(&spec, template)?;
    converted.remarks(object, left);
    say(ImprobableKind::Restore, object, &spec, converted);
    Ok(())
}

/// Whether `restore` is an EtcdRestore of the EtcdCluster `cluster`.
fn is_of(restore: &Object, cluster: &Object) -> bool {
    restore.dialect == Dialect::Coreos(ResourceKind::EtcdRestore)
        && cluster.dialect == Dialect::Coreos(ResourceKind::EtcdCluster)
        && restore.text("/spec/etcdCluster/name") == Some(&cluster.name)
        && restore.text("/metadata/namespace") == cluster.text("/metadata/namespace")
}

fn is_over(restore: &Object) -> bool {
    let status = restore.value.get("status");
    status.is_some_and(|status| {
        EtcdRestoreStatus::deserialize(status).is_ok_and(|status| status.is_over())
    })
}

/// The object, and which of its fields are of our own.
fn say(
    kind: ImprobableKind,
    object: &Object,
    spec: &impl serde::Serialize,
    converted: &mut Converted,
) {
    object.said_as(Side::Improbable, kind.name(), spec, converted);
    let [of_clusters, of_backups, of_restores] = OF_OUR_OWN;
    let places: &[(&str, &[&str])] = match kind {
        ImprobableKind::Cluster => &[("spec", of_clusters)],
        ImprobableKind::Backup => &[("spec", of_backups)],
        ImprobableKind::Schedule => &[("spec/backupTemplate", of_backups)],
        ImprobableKind::Restore => &[
            ("spec", of_restores),
            ("spec/clusterTemplate/spec", of_clusters),
        ],
        ImprobableKind::Peer => &[],
    };
    let said = converted.objects.last().cloned().unwrap_or(Value::Null);
    let own: Vec<String> = places
        .iter()
        .flat_map(|(place, fields)| fields.iter().map(move |field| format!("{place}/{field}")))
        .filter(|path| said.pointer(&format!("/{path}")).is_some())
        .map(|path| path.replace('/', "."))
        .collect();
    for (place, _) in places {
        if said
            .pointer(&format!("/{place}/clusterEndpoints"))
            .is_some()
        {
            converted.remark(
                object,
                "spec.etcdEndpoints",
                "several are written as v0.2.0 had them; the final state of that operator knows one URL alone",
            );
        }
    }
    if !own.is_empty() {
        converted.remark(
            object,
            &own.join(", "),
            "written as fields of Binnacle's own, which the archived operator does not know",
        );
    }
}
