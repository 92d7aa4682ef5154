//! The Secrets that one cluster names: each read by its name, projected to digests, dates and words.
//!
//! Nothing is listed or watched, so the operator needs no right to see the other Secrets of a namespace. Data stays in
//! here and in [`crate::etcd::Identity`]; nothing of it reaches a snapshot, a recording or a log.
//!
//! # Assumptions
//! Certificates are renewed hours or days before they end, so a Secret that was in order is read again after
//! [`IN_ORDER`], one that was not after [`IN_DOUBT`].

mod judge;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{Millis, Observed, Resource, Secret, TlsPolicy, TlsRole, TlsSecrets};
use k8s_openapi::api::core::v1 as core;
use kube::{Api, Client};
use serde::Deserialize;

use super::{live, project};
use crate::error::Chain;
use crate::etcd::Identity;
use crate::key::ClusterKey;

/// How long a Secret in order counts as seen.
const IN_ORDER: Duration = Duration::from_secs(30);
/// How long any other does: somebody may be about to correct it.
const IN_DOUBT: Duration = Duration::from_secs(2);
/// How long a Secret counts as seen while it cannot be read again.
const UNREADABLE: Duration = Duration::from_secs(60);

/// The Secrets of one cluster as they were last read.
#[derive(Default)]
pub struct Secrets {
    by_name: BTreeMap<String, Kept>,
}

struct Kept {
    at: Instant,
    read: Observed<Arc<Data>>,
    in_doubt: bool,
}

/// A Secret's own version and what its keys hold. It has no `Debug`, so that nobody prints it.
#[derive(Clone)]
struct Data {
    uid: String,
    owner: Option<String>,
    resource_version: String,
    keys: BTreeMap<String, Vec<u8>>,
}

/// What a snapshot shows of the Secrets, and with what the operator dials members.
pub struct Looked {
    /// By name; for the snapshot.
    pub secrets: BTreeMap<String, Observed<Secret>>,
    /// The operator's own certificate; none where no member speaks TLS with clients.
    pub identity: Option<Result<Identity, String>>,
}

impl Secrets {
    /// Reads what is due of the Secrets that the resource names or its members use, and forgets all others.
    pub async fn look(
        &mut self,
        client: &Client,
        key: &ClusterKey,
        resource: &Resource,
        now: Millis,
    ) -> Looked {
        let sets = named(resource);
        let authorities = authorities(resource);
        let names: BTreeSet<&str> = sets
            .iter()
            .flat_map(of_all_roles)
            .chain(authorities.as_deref())
            .collect();
        self.by_name.retain(|name, _| names.contains(name.as_str()));
        for name in names {
            if self.is_due(name, Instant::now()) {
                let read = read(client, &key.namespace, name).await;
                self.keep(name, read, Instant::now());
            }
        }
        let mut secrets = judge::project(&sets, |name| self.data(name), now);
        if let Some(name) = authorities {
            secrets.insert(name.clone(), judge::authorities(self.data(&name)));
        }
        for (name, kept) in &mut self.by_name {
            let in_order = |secret: &Secret| secret.problems.is_empty();
            let shown = secrets.get(name).and_then(Observed::seen);
            kept.in_doubt = !shown.is_some_and(in_order);
        }
        Looked {
            identity: self.identity(&sets, resource),
            secrets,
        }
    }

    /// To be called when a member did not answer: a renewed certificate may be the reason.
    pub fn doubt(&mut self) {
        for kept in self.by_name.values_mut() {
            kept.in_doubt = true;
        }
    }

    /// To be called when a Secret was written: the next look reads it.
    pub fn forget(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    fn is_due(&self, name: &str, now: Instant) -> bool {
        self.by_name.get(name).is_none_or(|kept| {
            let lasts = if kept.in_doubt { IN_DOUBT } else { IN_ORDER };
            now.saturating_duration_since(kept.at) >= lasts
        })
    }

    fn keep(&mut self, name: &str, read: Observed<Arc<Data>>, now: Instant) {
        let lasts = |kept: &Kept| {
            matches!(kept.read, Observed::Seen(_))
                && now.saturating_duration_since(kept.at) < UNREADABLE
        };
        if matches!(read, Observed::Unknown(_)) && self.by_name.get(name).is_some_and(lasts) {
            return;
        }
        let kept = Kept {
            at: now,
            read,
            in_doubt: false,
        };
        self.by_name.insert(name.to_owned(), kept);
    }

    fn data(&self, name: &str) -> Observed<Arc<Data>> {
        match self.by_name.get(name) {
            Some(kept) => kept.read.clone(),
            None => Observed::Unknown("not read yet".to_owned()),
        }
    }

    /// The operator's certificate: of the Secret that the spec names, else of the one it named when members were born.
    fn identity(
        &self,
        sets: &[TlsSecrets],
        resource: &Resource,
    ) -> Option<Result<Identity, String>> {
        let role = TlsRole::Operator;
        let name = sets.iter().find_map(|set| set.of_role(role))?;
        let data = match self.data(name) {
            Observed::Seen(data) => data,
            Observed::Absent => return Some(Err(format!("Secret {name} does not exist"))),
            Observed::Unknown(why) => {
                return Some(Err(format!("Secret {name} could not be read: {why}")));
            }
        };
        let files = role.files(|key| data.keys.contains_key(key));
        let pem = |key: &str| {
            let found = data.keys.get(key).map(Vec::as_slice);
            found.ok_or_else(|| format!("Secret {name} has no key {key}"))
        };
        let identity = || {
            let (certificate, key) = (pem(files.certificate)?, pem(files.key)?);
            let domain = self.domain(sets, resource);
            Identity::new(certificate, key, pem(files.authority)?, resource, &domain)
                .map_err(|error| format!("Secret {name}: {}", Chain(&error)))
        };
        Some(identity())
    }

    /// What follows `.svc` in the name by which members are verified: nothing where their certificate allows it, because
    /// that is what people were told to issue; else the cluster's domain.
    fn domain(&self, sets: &[TlsSecrets], resource: &Resource) -> String {
        let domain = resource
            .spec
            .pointer("/pod/ClusterDomain")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let name = sets.iter().find_map(|set| set.of_role(TlsRole::Server));
        let data = name.and_then(|name| self.data(name).seen().cloned());
        let is_for = |domain: &str| {
            let member =
                contract::names::member_host("*", &resource.name, &resource.namespace, domain);
            data.as_ref().is_some_and(|data| {
                judge::names(data, TlsRole::Server)
                    .iter()
                    .any(|name| contract::certificate_covers(name, &member))
            })
        };
        if !is_for("") && is_for(domain) {
            domain.to_owned()
        } else {
            String::new()
        }
    }
}

/// The Secrets of the spec, then those that members were born with. A spec that cannot be read names none.
fn named(resource: &Resource) -> Vec<TlsSecrets> {
    let policy = resource
        .spec
        .get("TLS")
        .and_then(|policy| TlsPolicy::deserialize(policy).ok());
    let in_use = resource
        .status
        .get("tls")
        .and_then(|secrets| TlsSecrets::deserialize(secrets).ok());
    let mut sets = vec![TlsSecrets::of(policy.as_ref(), &resource.name)];
    sets.extend(in_use);
    sets.dedup();
    sets
}

/// The Secret with the authorities, where the operator makes them.
fn authorities(resource: &Resource) -> Option<String> {
    let auto = resource.spec.pointer("/TLS/auto")?;
    (!auto.is_null()).then(|| contract::names::authorities_secret(&resource.name))
}

fn of_all_roles(set: &TlsSecrets) -> impl Iterator<Item = &str> {
    TlsRole::ALL
        .into_iter()
        .filter_map(|role| set.of_role(role))
}

async fn read(client: &Client, namespace: &str, name: &str) -> Observed<Arc<Data>> {
    let api: Api<core::Secret> = Api::namespaced(client.clone(), namespace);
    let what = || format!("Secret {namespace}/{name}");
    match live::within(what, api.get_opt(name)).await {
        Ok(Some(secret)) => Observed::Seen(Arc::new(Data {
            owner: project::controller(&secret.metadata),
            uid: secret.metadata.uid.unwrap_or_default(),
            resource_version: secret.metadata.resource_version.unwrap_or_default(),
            keys: secret
                .data
                .unwrap_or_default()
                .into_iter()
                .map(|(key, k8s_openapi::ByteString(bytes))| (key, bytes))
                .collect(),
        })),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}
