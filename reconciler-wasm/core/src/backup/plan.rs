//! Turns the stored spec of a backup into a plan, or says what is invalid about it.
//!
//! The raw spec stops here. Looks at no other object.

use contract::{
    BackupPolicy, EtcdBackupSpec, Finding, FindingKind, Millis, Place, Reason, RiskyAct, Snapshot,
    VERIFY_BY_RESTORE,
};

use super::retention::Retention;
use super::rhythm::Rhythm;
use crate::{store, stored};

/// How long a backup that is due may wait for its endpoints, Secrets and store, where the spec says nothing.
const TO_BEGIN: Millis = Millis::seconds(60);
/// How long it may take, where the spec says nothing: only a bound, for what hangs is noticed earlier.
const TO_END: Millis = Millis::seconds(3600);

/// A backup that can be taken.
pub(super) struct Plan {
    pub(super) place: Place,
    /// The Secret with the client's certificate.
    pub(super) tls: Option<String>,
    /// The cluster that the spec names; none where it has URLs.
    pub(super) cluster: Option<String>,
    /// When it is taken again; none where it is taken once.
    pub(super) rhythm: Option<Rhythm>,
    /// Before which acts on the cluster one is taken.
    pub(super) before: Vec<RiskyAct>,
    /// Whether no more are taken for now.
    pub(super) is_suspended: bool,
    /// Which are kept.
    pub(super) retention: Retention,
    /// When it is tried whether the newest restores; none where it is not.
    pub(super) rehearsals: Option<Rehearsals>,
    /// How long a backup that is due may wait.
    pub(super) patience: Millis,
    /// How long it may take.
    pub(super) within: Millis,
}

/// When it is tried whether the newest backup restores.
pub(super) enum Rehearsals {
    /// Once it is stored.
    Each,
    /// At these times.
    At(Rhythm),
}

/// Plans what is stored.
///
/// # Errors
/// The first thing that makes the spec impossible to follow, in words.
pub(super) fn plan(snapshot: &Snapshot) -> Result<Plan, Finding> {
    let resource = &snapshot.resource;
    let spec: EtcdBackupSpec = stored::spec(&resource.spec).map_err(invalid)?;
    let named = spec.cluster_ref.as_ref().map(|named| named.name.clone());
    let cluster = named.filter(|name| !name.is_empty());
    let urls = spec.etcd_endpoints.as_deref().unwrap_or_default();
    match (&cluster, urls) {
        (None, []) => {
            return Err(invalid(
                "neither spec.etcdEndpoints nor spec.clusterRef.name says what is backed up. Give one of them."
                    .to_owned(),
            ));
        }
        (Some(_), [_, ..]) => {
            return Err(invalid(
                "spec.etcdEndpoints and spec.clusterRef both say what is backed up. Take one of them out."
                    .to_owned(),
            ));
        }
        (Some(_), []) | (None, [_, ..]) => {}
    }
    let wrong = urls.iter().find(|url| {
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"));
        rest.is_none_or(str::is_empty)
    });
    if let Some(url) = wrong {
        return Err(invalid(format!(
            "spec.etcdEndpoints: \"{url}\" is not a URL. Write it like http://example-client:2379."
        )));
    }
    let tls = spec
        .client_tls_secret
        .clone()
        .filter(|name| !name.is_empty());
    let place = store::place(&spec, "storageType", &snapshot.secrets)?;
    let policy = spec.backup_policy.clone().unwrap_or_default();
    if let Some(seconds) = policy.backup_interval_in_second.filter(|value| *value < 0) {
        return Err(invalid(format!(
            "spec.backupPolicy.backupIntervalInSecond {seconds} is negative. Leave it out or set it to 0 or more."
        )));
    }
    if cluster.is_none() && !spec.before().is_empty() {
        return Err(invalid(
            "spec.backupPolicy.before names acts on a cluster, and spec.clusterRef.name names none. Set it, or take before out."
                .to_owned(),
        ));
    }
    let in_policy = |why: String| invalid(format!("spec.backupPolicy.{why}."));
    let retention = Retention::of(&policy).map_err(in_policy)?;
    let rhythm = Rhythm::of(&policy, &resource.uid).map_err(in_policy)?;
    let rehearsals = rehearsals(&policy).map_err(in_policy)?;
    if rehearsals.is_some() && place.secret.is_empty() && !place.store.secret_keys().is_empty() {
        return Err(invalid(
            "spec.backupPolicy.verify restores in a pod of this namespace, which has a Secret of this namespace alone, and the spec names none. Name one, or take verify out."
                .to_owned(),
        ));
    }
    if let Some(seconds) = policy.timeout_in_second.filter(|value| *value < 0) {
        return Err(invalid(format!(
            "spec.backupPolicy.timeoutInSecond {seconds} is negative. Leave it out or set it to 0 or more."
        )));
    }
    let timeout = policy.timeout_in_second.filter(|seconds| *seconds > 0);
    let timeout = timeout.map(|seconds| Millis::seconds(seconds.min(7 * 24 * 3600)));
    Ok(Plan {
        place,
        tls,
        cluster,
        rhythm,
        before: spec.before().to_vec(),
        is_suspended: policy.suspend == Some(true),
        retention,
        rehearsals,
        patience: timeout.unwrap_or(TO_BEGIN),
        within: timeout.unwrap_or(TO_END),
    })
}

fn rehearsals(policy: &BackupPolicy) -> Result<Option<Rehearsals>, String> {
    let rhythm = Rhythm::of_rehearsals(policy)?;
    match policy.verify.as_deref().unwrap_or_default() {
        "" if rhythm.is_some() => Err(
            "verifySchedule says when backups are verified, and verify does not say how. Set it to restore, or take both out"
                .to_owned(),
        ),
        "" => Ok(None),
        VERIFY_BY_RESTORE => Ok(Some(rhythm.map_or(Rehearsals::Each, Rehearsals::At))),
        other => Err(format!(
            "verify \"{other}\" is not restore, the one way there is"
        )),
    }
}

fn invalid(message: String) -> Finding {
    Finding {
        kind: FindingKind::Invalid,
        reason: Reason::InvalidSpec,
        message,
        member: None,
    }
}
