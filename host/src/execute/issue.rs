//! Certificates: keys are made here and written into the cluster's Secrets, and are nowhere else afterwards.
//!
//! What is asked for is the order's business. The authorities are read at this moment, so that a certificate never comes
//! from one that is not there any more.

use std::collections::BTreeMap;

use contract::{
    MADE_FILES, Millis, ObjectPrecondition, Order, Preconditions, TlsRole, authority_keys, names,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};

use super::kubernetes::within;
use super::{Error, Executor, Pass};
use crate::authority::{self, Pair, Use};
use crate::certificate;
use crate::error::Chain;

/// Kinds of traffic, each with authorities of its own: a client's certificate must not open the peers' port.
const GROUPS: [TlsRole; 2] = [TlsRole::Peer, TlsRole::Server];

type Data = BTreeMap<String, ByteString>;

/// Carries out an order.
pub(super) async fn issue(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    secret: &str,
    order: &Order,
) -> Result<(), Error> {
    let api: Api<Secret> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let found = within(api.get_opt(secret)).await?;
    let version = found
        .as_ref()
        .and_then(|found| found.metadata.resource_version.clone());
    let old = found.and_then(|found| found.data).unwrap_or_default();
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let data = match order {
        Order::Authorities => fresh_authorities(pass, &old, now)?,
        Order::NewestAuthorities => newest_authorities(&old)?,
        Order::Certificate { role, names, by } => {
            let authorities = authorities(&api, pass).await?;
            fresh_certificate(pass, &authorities, *role, names, by, now)?
        }
        Order::Trust { role } => {
            let authorities = authorities(&api, pass).await?;
            let mut data = old;
            let list = list(&authorities, *role)?;
            data.insert(MADE_FILES.authority.to_owned(), bytes(&certificates(&list)));
            data
        }
    };
    let kind = match order {
        Order::Authorities | Order::NewestAuthorities => "Opaque",
        Order::Certificate { .. } | Order::Trust { .. } => "kubernetes.io/tls",
    };
    let object = Secret {
        data: Some(data),
        type_: Some(kind.to_owned()),
        metadata: metadata(pass, secret),
        ..Secret::default()
    };
    write(&api, pre, object, version).await
}

/// Creates, which can never overwrite, or applies onto exactly the object and version that was read.
async fn write(
    api: &Api<Secret>,
    pre: &Preconditions,
    mut object: Secret,
    version: Option<String>,
) -> Result<(), Error> {
    let name = object.metadata.name.clone().unwrap_or_default();
    match &pre.object {
        Some(ObjectPrecondition::Present { uid }) => {
            object.metadata.uid = Some(uid.clone());
            object.metadata.resource_version = version;
            let params = PatchParams::apply(names::FIELD_MANAGER).force();
            within(api.patch(&name, &params, &Patch::Apply(&object))).await?;
        }
        Some(ObjectPrecondition::Absent) | None => {
            let params = PostParams {
                field_manager: Some(names::FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            within(api.create(&params, &object)).await?;
        }
    }
    Ok(())
}

fn metadata(pass: &Pass<'_>, name: &str) -> ObjectMeta {
    let resource = pass.resource;
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(resource.namespace.clone()),
        labels: Some(resource.dialect().labels(&resource.name)),
        owner_references: Some(vec![OwnerReference {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            name: resource.name.clone(),
            uid: resource.uid.clone(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..ObjectMeta::default()
    }
}

async fn authorities(api: &Api<Secret>, pass: &Pass<'_>) -> Result<Data, Error> {
    let name = names::authorities_secret(&pass.resource.name);
    let found = within(api.get_opt(&name)).await?;
    let found = found.ok_or_else(|| rejected(format!("Secret {name} does not exist")))?;
    Ok(found.data.unwrap_or_default())
}

/// A fresh pair for each kind of traffic, before the newest that is there.
fn fresh_authorities(pass: &Pass<'_>, old: &Data, now: Millis) -> Result<Data, Error> {
    let mut data = Data::new();
    for group in GROUPS {
        let who = match group {
            TlsRole::Peer => "members",
            TlsRole::Server | TlsRole::Operator => "clients",
        };
        let name = format!("{} {who} {}", pass.key, now.0 / 1000);
        let mut pairs = vec![authority::found(&name, now).map_err(|error| made(&error))?];
        if !old.is_empty() {
            pairs.extend(list(old, group)?.into_iter().take(1));
        }
        put(&mut data, group, &pairs);
    }
    Ok(data)
}

fn newest_authorities(old: &Data) -> Result<Data, Error> {
    let mut data = Data::new();
    for group in GROUPS {
        let mut pairs = list(old, group)?;
        pairs.truncate(1);
        put(&mut data, group, &pairs);
    }
    Ok(data)
}

fn put(data: &mut Data, group: TlsRole, pairs: &[Pair]) {
    let (certificates_key, keys_key) = authority_keys(group);
    let keys: String = pairs.iter().map(|pair| pair.key.as_str()).collect();
    data.insert(certificates_key.to_owned(), bytes(&certificates(pairs)));
    data.insert(keys_key.to_owned(), bytes(&keys));
}

fn fresh_certificate(
    pass: &Pass<'_>,
    authorities: &Data,
    role: TlsRole,
    names: &[String],
    by: &str,
    now: Millis,
) -> Result<Data, Error> {
    let list = list(authorities, role)?;
    let is_meant = |pair: &&Pair| {
        let facts = certificate::authorities(pair.certificate.as_bytes());
        facts.is_ok_and(|facts| facts.fingerprints.iter().any(|one| one == by))
    };
    let signing = list
        .iter()
        .find(is_meant)
        .ok_or_else(|| rejected(format!("there is no authority {by} any more")))?;
    let usage = match role {
        TlsRole::Peer | TlsRole::Server => Use::Both,
        TlsRole::Operator => Use::Client,
    };
    let subject = pass.key.to_string();
    let pair =
        authority::sign(signing, &subject, names, usage, now).map_err(|error| made(&error))?;
    Ok(Data::from([
        (MADE_FILES.certificate.to_owned(), bytes(&pair.certificate)),
        (MADE_FILES.key.to_owned(), bytes(&pair.key)),
        (MADE_FILES.authority.to_owned(), bytes(&certificates(&list))),
    ]))
}

/// The authorities for a role with their keys, newest first.
fn list(data: &Data, role: TlsRole) -> Result<Vec<Pair>, Error> {
    let (certificates, keys) = authority_keys(role);
    let text = |key: &str| {
        let found = data.get(key).map(|ByteString(bytes)| bytes.as_slice());
        String::from_utf8_lossy(found.unwrap_or_default()).into_owned()
    };
    let pairs = authority::pairs(&text(certificates), &text(keys));
    pairs.ok_or_else(|| {
        rejected(format!(
            "keys {certificates} and {keys} of the authorities' Secret do not belong together"
        ))
    })
}

fn certificates(pairs: &[Pair]) -> String {
    pairs.iter().map(|pair| pair.certificate.as_str()).collect()
}

fn bytes(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

fn made(error: &authority::Error) -> Error {
    rejected(Chain(error).to_string())
}

fn rejected(why: String) -> Error {
    Error::Rejected { why }
}
