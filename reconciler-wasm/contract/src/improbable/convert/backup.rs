//! Backups in the other dialect: one, or one again and again.
//!
//! This dialect has a kind for each, the first one a rhythm in the spec. What it cannot say of a rhythm's policy stands in
//! `backupPolicy` there.

mod rhythm;

use super::url::{self, Times};
use super::{Carried, NotCarried, Subject, left};
use crate::improbable::{
    ClusterEndpoint, EtcdBackupDestination, EtcdBackupScheduleSpec, EtcdBackupSource,
    EtcdBackupSpec,
};
use crate::{BackupPolicy, GcsStore};

const TEMPLATE: &str = "spec.destination.objectURLTemplate";

/// A backup of this dialect, said in the first one.
///
/// # Errors
/// What it needs and does not say, or what cannot be said there.
pub fn backup_from(
    spec: EtcdBackupSpec,
    subject: &Subject<'_>,
) -> Result<Carried<crate::EtcdBackupSpec>, Vec<NotCarried>> {
    one_from(spec, subject, Times::Once).map_err(|why| vec![why])
}

/// A schedule of this dialect, said as a periodic backup of the first one.
///
/// # Errors
/// As [`backup_from`].
pub fn schedule_from(
    spec: EtcdBackupScheduleSpec,
    subject: &Subject<'_>,
) -> Result<Carried<crate::EtcdBackupSpec>, Vec<NotCarried>> {
    let EtcdBackupScheduleSpec {
        schedule,
        backup_template,
        backup_spec,
        successful_backups_history_limit,
        failed_backups_history_limit,
    } = spec;
    let one = |why| vec![why];
    let never_fired = backup_template.is_none() && backup_spec.is_some();
    let (template, inside) = match (backup_template, backup_spec) {
        (Some(template), None) => (template, "spec.backupTemplate."),
        (None, Some(template)) => (template, "spec.backupSpec."),
        (None, None) => {
            return Err(one(left(
                "spec.backupTemplate",
                "it is missing. Say what each backup looks like",
            )));
        }
        (Some(_), Some(_)) => {
            return Err(one(left(
                "spec.backupSpec",
                "it is v0.2.0's name of backupTemplate, which is there as well. Keep one of them",
            )));
        }
    };
    let within = |about: NotCarried| NotCarried {
        field: about.field.replacen("spec.", inside, 1),
        ..about
    };
    let carried = one_from(template, subject, Times::AgainAndAgain);
    let mut carried = carried.map_err(|why| one(within(why)))?;
    carried.left = carried.left.into_iter().map(within).collect();
    rhythm::read(&schedule, &mut carried).map_err(one)?;
    if never_fired {
        carried.left.push(left(
            "spec.backupSpec",
            "v0.2.0 never took the backups of a schedule; these are taken",
        ));
    }
    for (field, limit) in [
        (
            "spec.successfulBackupsHistoryLimit",
            successful_backups_history_limit,
        ),
        (
            "spec.failedBackupsHistoryLimit",
            failed_backups_history_limit,
        ),
    ] {
        if limit.is_some() {
            carried.left.push(left(
                field,
                "it counts EtcdBackups, and here one takes all. How many stored backups are kept is spec.backupPolicy.maxBackups",
            ));
        }
    }
    Ok(carried)
}

/// A backup of the first dialect that is taken once, said in this one.
///
/// # Errors
/// What cannot be said here.
pub fn backup_to(spec: crate::EtcdBackupSpec) -> Result<Carried<EtcdBackupSpec>, Vec<NotCarried>> {
    one_to(spec, Times::Once)
        .map(|spec| Carried {
            spec,
            left: Vec::new(),
        })
        .map_err(|why| vec![why])
}

/// A periodic backup of the first dialect, said as a schedule of this one.
///
/// # Errors
/// What cannot be said here.
pub fn schedule_to(
    spec: crate::EtcdBackupSpec,
) -> Result<Carried<EtcdBackupScheduleSpec>, Vec<NotCarried>> {
    let one = |why| vec![why];
    let schedule = rhythm::spell(&spec).map_err(one)?;
    let template = one_to(spec, Times::AgainAndAgain).map_err(one)?;
    let names = left(
        "the names of the backups",
        "they end in the name of each EtcdBackup there, and not in revision and time; what is stored already has other names and is kept by nobody's rule",
    );
    Ok(Carried {
        spec: EtcdBackupScheduleSpec {
            schedule,
            backup_template: Some(template),
            ..EtcdBackupScheduleSpec::default()
        },
        left: vec![names],
    })
}

fn one_from(
    spec: EtcdBackupSpec,
    subject: &Subject<'_>,
    times: Times,
) -> Result<Carried<crate::EtcdBackupSpec>, NotCarried> {
    let EtcdBackupSpec {
        source,
        cluster_endpoints,
        destination,
        backup_policy,
    } = spec;
    if source.is_some() && cluster_endpoints.is_some() {
        return Err(left(
            "spec.clusterEndpoints",
            "it is v0.2.0's form of source, which is there as well. Keep one of them",
        ));
    }
    let EtcdBackupSource {
        cluster_url,
        cluster_ref,
        client_tls_secret,
    } = source.unwrap_or_default();
    let of_old = cluster_endpoints.into_iter().flatten().map(|endpoint| {
        let ClusterEndpoint { scheme, host, port } = endpoint;
        format!("{scheme}://{host}:{port}")
    });
    let endpoints: Vec<String> = cluster_url.into_iter().chain(of_old).collect();
    if endpoints.is_empty() && cluster_ref.is_none() {
        return Err(left(
            "spec.source.clusterURL",
            "it is missing. Say whose data is backed up",
        ));
    }
    let mut not_carried = Vec::new();
    let store = store_from(destination, subject, times, &mut not_carried)?;
    Ok(Carried {
        spec: crate::EtcdBackupSpec {
            etcd_endpoints: (!endpoints.is_empty()).then_some(endpoints),
            cluster_ref,
            storage_type: store.storage_type,
            client_tls_secret,
            backup_policy,
            s3: store.s3,
            abs: None,
            gcs: store.gcs,
            oss: None,
            pvc: None,
        },
        left: not_carried,
    })
}

fn store_from(
    destination: EtcdBackupDestination,
    subject: &Subject<'_>,
    times: Times,
    not_carried: &mut Vec<NotCarried>,
) -> Result<url::Store, NotCarried> {
    let EtcdBackupDestination {
        object_url_template,
        secret_name,
        local,
        gcs_bucket,
    } = destination;
    let secret = secret_name.as_deref().or(subject.store_secret);
    match (object_url_template, gcs_bucket, local) {
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => Err(left(
            TEMPLATE,
            "local and gcsBucket are v0.2.0's forms of it, and one is there as well. Keep one of them",
        )),
        (Some(template), None, None) => {
            let url = url::filled(&template, subject, times, TEMPLATE, not_carried)?;
            url::store_of(&url, TEMPLATE, secret)
        }
        (None, Some(bucket), local) => {
            if local.is_some() {
                not_carried.push(left(
                    "spec.destination.local",
                    "gcsBucket is there as well, and v0.2.0 took that one alone",
                ));
            }
            store_of_old(bucket, secret, subject, times, not_carried)
        }
        (None, None, Some(_)) => Err(left(
            "spec.destination.local",
            "a folder of the operator's pod holds no backups here. Write objectURLTemplate with a bucket, such as s3://bucket/key",
        )),
        (None, None, None) => Err(left(TEMPLATE, "it is missing. Say where the backup goes")),
    }
}

/// The bucket of v0.2.0, which named its objects after the time.
fn store_of_old(
    bucket: crate::improbable::GcsBucket,
    secret: Option<&str>,
    subject: &Subject<'_>,
    times: Times,
    not_carried: &mut Vec<NotCarried>,
) -> Result<url::Store, NotCarried> {
    let field = "spec.destination.gcsBucket";
    let named = bucket
        .credentials
        .and_then(|credentials| credentials.secret_key_selector);
    let keys = ["access-token", "credentials.json"];
    if let Some(named) = named
        .as_ref()
        .filter(|named| !keys.contains(&named.key.as_str()))
    {
        not_carried.push(left(
            "spec.destination.gcsBucket.credentials",
            format!(
                "the key {:?} of the Secret {} is looked for under access-token or credentials.json here",
                named.key, named.name
            ),
        ));
    }
    let secret = named.as_ref().map(|named| named.name.as_str()).or(secret);
    let (name, words) = match (times, subject.created) {
        (Times::Once, Some(created)) => (
            created,
            "v0.2.0 named the object after the time at which it began, and here that is when the EtcdBackup was created",
        ),
        (Times::Once, None) => (
            subject.name,
            "v0.2.0 named the object after the time, and here it has the name of the EtcdBackup",
        ),
        (Times::AgainAndAgain, _) => (
            subject.name,
            "v0.2.0 named each object after the time, and here revision and time are at its end",
        ),
    };
    not_carried.push(left(field, words));
    let url = format!("gs://{}/{name}.db", bucket.bucket_name);
    let mut store = url::store_of(&url, field, secret)?;
    store.gcs = store.gcs.map(|gcs| GcsStore {
        path: format!("{}/{name}.db", bucket.bucket_name),
        ..gcs
    });
    Ok(store)
}

fn one_to(spec: crate::EtcdBackupSpec, times: Times) -> Result<EtcdBackupSpec, NotCarried> {
    let (url, secret_name) = url::url_of(&spec, "spec.storageType")?;
    let crate::EtcdBackupSpec {
        etcd_endpoints,
        cluster_ref,
        storage_type: _,
        client_tls_secret,
        backup_policy,
        s3: _,
        abs: _,
        gcs: _,
        oss: _,
        pvc: _,
    } = spec;
    let mut endpoints = etcd_endpoints.unwrap_or_default();
    if endpoints.is_empty() && cluster_ref.is_none() {
        return Err(left(
            "spec.etcdEndpoints",
            "neither it nor clusterRef says whose data is backed up",
        ));
    }
    let cluster_endpoints = if endpoints.len() > 1 {
        if cluster_ref.is_some() || client_tls_secret.is_some() {
            return Err(left(
                "spec.etcdEndpoints",
                "there a source that speaks TLS, or is named, has one URL. Keep one of them, or a Service in front of all",
            ));
        }
        let all = std::mem::take(&mut endpoints);
        Some(all.iter().map(|url| apart(url)).collect::<Result<_, _>>()?)
    } else {
        None
    };
    let source = EtcdBackupSource {
        cluster_url: endpoints.pop(),
        cluster_ref,
        client_tls_secret,
    };
    let each = match times {
        Times::Once => "",
        // There an object is written anew under the same name otherwise.
        Times::AgainAndAgain => "_{{ .Name }}",
    };
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url.as_str(), String::new()),
    };
    Ok(EtcdBackupSpec {
        source: (source != EtcdBackupSource::default()).then_some(source),
        cluster_endpoints,
        destination: EtcdBackupDestination {
            object_url_template: Some(format!("{path}{each}{query}")),
            secret_name,
            local: None,
            gcs_bucket: None,
        },
        backup_policy: backup_policy
            .map(rhythm::taken_out)
            .filter(|policy| *policy != BackupPolicy::default()),
    })
}

/// A URL as v0.2.0 wrote it.
fn apart(url: &str) -> Result<ClusterEndpoint, NotCarried> {
    let parts = || {
        let (scheme, rest) = url.split_once("://")?;
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':')?;
        Some(ClusterEndpoint {
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    };
    parts().ok_or_else(|| {
        left(
            "spec.etcdEndpoints",
            format!("{url:?} is not SCHEME://HOST:PORT, as several of them are written there"),
        )
    })
}

#[cfg(test)]
mod tests;
