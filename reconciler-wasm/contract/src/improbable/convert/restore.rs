//! A restore in the other dialect.
//!
//! There it makes the cluster and has its spec; here it names the cluster, which is an object of its own.

use super::url::{self, Store};
use super::{Carried, NotCarried, Subject, left};
use crate::ClusterRef;
use crate::improbable::{ClusterTemplate, EtcdClusterSpec, EtcdRestoreSpec, RestoreSource};

const OBJECT_URL: &str = "spec.source.objectURL";

/// A restore of this dialect, said in the first one. Its cluster is carried over by itself, see [`super::cluster_from`].
///
/// # Errors
/// What it needs and does not say, or what cannot be said there.
pub fn restore_from(
    spec: &EtcdRestoreSpec,
    subject: &Subject<'_>,
) -> Result<Carried<crate::EtcdRestoreSpec>, Vec<NotCarried>> {
    let EtcdRestoreSpec {
        source: RestoreSource {
            object_url,
            secret_name,
        },
        cluster_template,
        bump_revision,
    } = spec;
    if cluster_template.cluster_name.is_empty() {
        return Err(vec![left(
            "spec.clusterTemplate.clusterName",
            "it is missing. Name the cluster that is made",
        )]);
    }
    let mut not_carried = Vec::new();
    let secret = secret_name.as_deref().or(subject.store_secret);
    let Store {
        storage_type,
        s3,
        gcs,
    } = url::store_of(object_url, OBJECT_URL, secret).map_err(|why| vec![why])?;
    if gcs.is_some() {
        not_carried.push(left(
            OBJECT_URL,
            "names in Google's store may begin with a slash where that operator wrote them; copy such an object to a name without one",
        ));
    }
    Ok(Carried {
        spec: crate::EtcdRestoreSpec {
            etcd_cluster: ClusterRef {
                name: cluster_template.cluster_name.clone(),
            },
            backup_storage_type: storage_type,
            replaces: None,
            bump_revision: *bump_revision,
            cluster_template: None,
            s3,
            abs: None,
            gcs,
            oss: None,
            pvc: None,
        },
        left: not_carried,
    })
}

/// A restore of the first dialect, said in this one with the spec of its cluster.
///
/// # Errors
/// What cannot be said here.
pub fn restore_to(
    spec: &crate::EtcdRestoreSpec,
    cluster: EtcdClusterSpec,
) -> Result<Carried<EtcdRestoreSpec>, Vec<NotCarried>> {
    let (object_url, secret_name) =
        url::url_of(&spec.source(), "spec.backupStorageType").map_err(|why| vec![why])?;
    let mut not_carried = Vec::new();
    if spec.replaces.is_some() {
        not_carried.push(left(
            "spec.replaces",
            "a cluster that lives is not given up there: a restore makes one that does not exist yet",
        ));
    }
    Ok(Carried {
        spec: EtcdRestoreSpec {
            source: RestoreSource {
                object_url,
                secret_name,
            },
            cluster_template: ClusterTemplate {
                cluster_name: spec.etcd_cluster.name.clone(),
                spec: cluster,
            },
            bump_revision: spec.bump_revision,
        },
        left: not_carried,
    })
}

#[cfg(test)]
mod tests;
