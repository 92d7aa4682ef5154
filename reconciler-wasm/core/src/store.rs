//! The store that a spec names: where in it, and what its Secret must hold.
//!
//! Knows neither backups nor restores.

use std::collections::BTreeMap;

use contract::{
    EtcdBackupSpec, Finding, FindingKind, Observed, Place, Reason, Secret, Snapshot, StoreKind,
};

type Secrets = BTreeMap<String, Observed<Secret>>;

/// The name under which a snapshot shows the operator's own Secret with credentials of stores, where it has one.
const OWN: &str = "";

/// Where the spec says that a backup is or goes; `type_field` is what it calls the kind of store. A Secret that it does not
/// name is the operator's own, where the snapshot shows one.
///
/// # Errors
/// It says so of no place, in words.
pub(crate) fn place(
    spec: &EtcdBackupSpec,
    type_field: &str,
    secrets: &Secrets,
) -> Result<Place, Finding> {
    let Some(store) = StoreKind::of(spec) else {
        let known: Vec<&str> = StoreKind::ALL.into_iter().map(StoreKind::name).collect();
        return Err(invalid(format!(
            "spec.{type_field} \"{}\" is not one of {}.",
            spec.storage_type,
            known.join(", ")
        )));
    };
    let field = store.field();
    let Some(place) = Place::of(spec) else {
        if !has_block(spec, store) {
            return Err(invalid(format!(
                "spec.{type_field} is {store}, and there is no spec.{field} that says where in it. Add it."
            )));
        }
        return Err(invalid(format!(
            "spec.{type_field} is {store}, but spec.{field}.path is not BUCKET/KEY. Write it like my-bucket/etcd.backup."
        )));
    };
    let is_unnamed = place.secret.is_empty() && !store.secret_keys().is_empty();
    if is_unnamed && !secrets.contains_key(OWN) {
        return Err(invalid(format!(
            "spec.{field} names no Secret with the credentials of the store."
        )));
    }
    Ok(place)
}

const fn has_block(spec: &EtcdBackupSpec, store: StoreKind) -> bool {
    match store {
        StoreKind::S3 => spec.s3.is_some(),
        StoreKind::Abs => spec.abs.is_some(),
        StoreKind::Gcs => spec.gcs.is_some(),
        StoreKind::Oss => spec.oss.is_some(),
        StoreKind::Pvc => spec.pvc.is_some(),
    }
}

/// What a Secret lacks of which one key of each list must be there. Where no key must be, no Secret is asked for.
pub(crate) fn why_incomplete(
    snapshot: &Snapshot,
    name: &str,
    keys: &[&[&str]],
) -> Option<(Reason, String)> {
    if keys.is_empty() {
        return None;
    }
    let (whose, place) = match name {
        OWN => ("of the operator for stores", "its own namespace"),
        name => (name, "this namespace"),
    };
    let secret = match snapshot.secrets.get(name) {
        Some(Observed::Seen(secret)) => secret,
        Some(Observed::Absent) => {
            return Some((
                Reason::SecretMissing,
                format!("the Secret {whose} does not exist in {place}"),
            ));
        }
        Some(Observed::Unknown(why)) => {
            return Some((
                Reason::SecretUnreadable,
                format!("the Secret {whose} could not be read: {why}"),
            ));
        }
        None => {
            let why = format!("the Secret {whose} was not looked at");
            return Some((Reason::SecretUnreadable, why));
        }
    };
    if let Some((key, problem)) = secret.problems.iter().next() {
        let words = format!("the Secret {whose}, key {key}: {problem}");
        return Some((Reason::SecretIncomplete, words));
    }
    let missing = keys
        .iter()
        .find(|any| !any.iter().any(|key| secret.digests.contains_key(*key)));
    missing.map(|any| {
        (
            Reason::SecretIncomplete,
            format!("the Secret {whose} has no key {}", any.join(" or ")),
        )
    })
}

fn invalid(message: String) -> Finding {
    Finding {
        kind: FindingKind::Invalid,
        reason: Reason::InvalidSpec,
        message,
        member: None,
    }
}
