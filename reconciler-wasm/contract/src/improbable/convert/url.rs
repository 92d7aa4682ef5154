//! The URLs of stores, and the words in them that stand for what an object is.
//!
//! S3 and Google alone: the archived operator knew no others.

use super::{NotCarried, Subject, left};
use crate::{EtcdBackupSpec, GcsStore, Place, S3Store, StoreKind};

/// A store's part of a backup's spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Store {
    pub(super) storage_type: String,
    pub(super) s3: Option<S3Store>,
    pub(super) gcs: Option<GcsStore>,
}

/// Whether each word of a template stays one for all backups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    Once,
    AgainAndAgain,
}

/// The store that a URL names.
///
/// # Errors
/// It names none that can be said in the first dialect.
pub(super) fn store_of(url: &str, field: &str, secret: Option<&str>) -> Result<Store, NotCarried> {
    let refuse = |why: String| left(field, why);
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| refuse(format!("{url:?} is no URL. Write it like s3://bucket/key")))?;
    let kind = match scheme {
        "s3" => StoreKind::S3,
        "gs" => StoreKind::Gcs,
        other => {
            return Err(refuse(format!(
                "{other}:// is no store; s3:// and gs:// are. Write it like s3://bucket/key"
            )));
        }
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = decoded(place)
        .ok_or_else(|| refuse(format!("{place:?} has a % that begins no character")))?;
    let secret = secret.map(str::to_owned).ok_or_else(|| {
        refuse(format!(
            "its credentials were the operator's own there. Here a Secret in the namespace of the object holds them, with {}: name it with --store-secret",
            words_of_keys(kind)
        ))
    })?;
    let mut store = Store {
        storage_type: kind.name().to_owned(),
        ..Store::default()
    };
    if kind == StoreKind::Gcs {
        if !query.is_empty() {
            return Err(refuse(format!(
                "{query:?} are settings that gs:// does not have. Take them out"
            )));
        }
        store.gcs = Some(GcsStore {
            path,
            gcp_secret: secret,
            endpoint: None,
        });
    } else {
        store.s3 = Some(bucket_of_s3(path, secret, query, field)?);
    }
    let spec = EtcdBackupSpec {
        storage_type: store.storage_type.clone(),
        s3: store.s3.clone(),
        gcs: store.gcs.clone(),
        ..EtcdBackupSpec::default()
    };
    if Place::of(&spec).is_none() {
        return Err(refuse(format!(
            "{url:?} is not a bucket and a key. Write it like {scheme}://bucket/key"
        )));
    }
    Ok(store)
}

fn bucket_of_s3(
    path: String,
    secret: String,
    query: &str,
    field: &str,
) -> Result<S3Store, NotCarried> {
    let refuse = |why: String| left(field, why);
    let mut store = S3Store {
        path,
        aws_secret: secret,
        ..S3Store::default()
    };
    let mut is_plain = false;
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let value = decoded(&value.replace('+', " "))
            .ok_or_else(|| refuse(format!("{setting:?} has a % that begins no character")))?;
        let truth = || match value.as_str() {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
            other => Err(refuse(format!(
                "{name} is true or false, and not {other:?}"
            ))),
        };
        match name {
            "endpoint" => store.endpoint = Some(value).filter(|value| !value.is_empty()),
            "region" => store.region = Some(value).filter(|value| !value.is_empty()),
            "s3ForcePathStyle" => store.force_path_style = truth()?.then_some(true),
            "disableSSL" => is_plain = truth()?,
            other => {
                return Err(refuse(format!(
                    "{other} is no setting of s3://; endpoint, region, s3ForcePathStyle and disableSSL are"
                )));
            }
        }
    }
    let scheme = if is_plain { "http" } else { "https" };
    store.endpoint = store.endpoint.map(|endpoint| {
        if endpoint.contains("://") {
            endpoint
        } else {
            format!("{scheme}://{endpoint}")
        }
    });
    Ok(store)
}

fn words_of_keys(kind: StoreKind) -> String {
    let keys: Vec<String> = kind
        .secret_keys()
        .iter()
        .map(|any| any.join(" or "))
        .collect();
    format!("the keys {}", keys.join(" and "))
}

/// The URL of a spec's store, and its Secret.
///
/// # Errors
/// The store is one that no URL of this dialect names.
pub(super) fn url_of(
    spec: &EtcdBackupSpec,
    field: &str,
) -> Result<(String, Option<String>), NotCarried> {
    let refuse = |why: String| left(field, why);
    let Some(kind) = StoreKind::of(spec) else {
        return Err(refuse(format!(
            "{:?} is none of S3, ABS, GCS, OSS and PVC",
            spec.storage_type
        )));
    };
    let place = Place::of(spec).ok_or_else(|| {
        left(
            &format!("spec.{}.path", kind.field()),
            "it is not BUCKET/KEY. Write it like my-bucket/etcd.backup",
        )
    })?;
    let path = encoded(&format!("{}/{}", place.bucket, place.key));
    let url = match kind {
        StoreKind::S3 => {
            let block = spec.s3.clone().unwrap_or_default();
            let endpoint = block.endpoint.filter(|endpoint| !endpoint.is_empty());
            let endpoint = endpoint.map(|endpoint| format!("endpoint={}", encoded(&endpoint)));
            let style = block.force_path_style.unwrap_or_default();
            let style = style.then(|| "s3ForcePathStyle=true".to_owned());
            let region = block.region.filter(|region| !region.is_empty());
            let region = region.map(|region| format!("region={}", encoded(&region)));
            let settings: Vec<String> = endpoint.into_iter().chain(region).chain(style).collect();
            let query = if settings.is_empty() { "" } else { "?" };
            format!("s3://{path}{query}{}", settings.join("&"))
        }
        StoreKind::Gcs => {
            let endpoint = spec.gcs.as_ref().and_then(|gcs| gcs.endpoint.as_deref());
            if endpoint.is_some_and(|endpoint| !endpoint.is_empty()) {
                return Err(left(
                    "spec.gcs.endpoint",
                    "gs:// means Google's own servers there. Use S3's protocol where the server speaks it",
                ));
            }
            format!("gs://{path}")
        }
        StoreKind::Abs | StoreKind::Oss | StoreKind::Pvc => {
            return Err(refuse(format!(
                "{kind} has no URL there: backups go to s3:// and gs:// alone"
            )));
        }
    };
    Ok((url, Some(place.secret).filter(|secret| !secret.is_empty())))
}

/// A template with what its words stand for.
///
/// # Errors
/// It has a word that is not known.
pub(super) fn filled(
    template: &str,
    subject: &Subject<'_>,
    times: Times,
    field: &str,
    not_carried: &mut Vec<NotCarried>,
) -> Result<String, NotCarried> {
    let refuse = |why: String| left(field, why);
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, inner)) = rest.split_once("{{") {
        filled.push_str(before);
        let (word, after) = inner
            .split_once("}}")
            .ok_or_else(|| refuse("a {{ has no }} after it".to_owned()))?;
        let word = word.trim();
        let known = match word {
            ".Name" => Some(subject.name),
            ".Namespace" => subject.namespace,
            ".UID" => subject.uid,
            ".CreationTimestamp" => subject.created,
            other => {
                return Err(refuse(format!(
                    "{{{{ {other} }}}} is not known; {{{{ .Name }}}}, {{{{ .Namespace }}}}, {{{{ .UID }}}} and {{{{ .CreationTimestamp }}}} are"
                )));
            }
        };
        match (times, word, known) {
            // Here one object takes all backups, and their keys get the revision and the time by themselves.
            (Times::AgainAndAgain, ".Name" | ".UID" | ".CreationTimestamp", _) => {
                if filled.ends_with(['-', '_', '.']) {
                    filled.pop();
                }
                if filled.ends_with('/') {
                    filled.push_str(subject.name);
                }
            }
            (_, ".CreationTimestamp", Some(known)) => filled.push_str(&as_go_prints(known)),
            (_, _, Some(known)) => filled.push_str(known),
            (_, _, None) => {
                return Err(refuse(format!(
                    "{{{{ {word} }}}} is not known from this file. Write what is to stand there, or take the file from `kubectl get --output yaml`"
                )));
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    if times == Times::AgainAndAgain {
        let shown = filled.split('?').next().unwrap_or_default();
        not_carried.push(left(
            field,
            format!("each backup is named {shown}_v<revision>_<time> here"),
        ));
    }
    Ok(filled)
}

/// A time as the template printed it: Go's own form, whose `+` came out as `&#43;` there.
fn as_go_prints(time: &str) -> String {
    match time.strip_suffix('Z').and_then(|time| time.split_once('T')) {
        Some((day, time)) => format!("{day} {time} +0000 UTC"),
        None => time.to_owned(),
    }
}

/// A text of a URL; none where a percent sign begins no character.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The text as it stands in a URL, and in a template.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/:._-~!$'()*,=@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
