//! Secrets with certificates that the operator makes. There are no keys and no bytes: fingerprints are numbers.

use std::collections::BTreeMap;

use contract::{MADE_FILES, Millis, Observed, Order, Secret, TlsRole, authority_keys, names};
use envelope::CLOCKS_DIFFER;
use k8s_openapi::api::core::v1 as core;

use crate::fact::Deed;
use crate::world::World;

/// Whether a spec leaves certificates to the operator.
pub(crate) fn is_secure(spec: &serde_json::Value) -> bool {
    let auto = spec.get("TLS").and_then(|tls| tls.get("auto"));
    auto.is_some_and(|auto| !auto.is_null())
}

/// How long certificates and authorities last.
const LASTS: Millis = Millis::seconds(90 * 86_400);

impl World {
    /// Brings what a snapshot shows up to date: the Secrets that the operator makes, whether they are there or not.
    pub(crate) fn look_at_secrets(&self, held: &mut BTreeMap<String, Observed<Secret>>) {
        let resource = &self.kube.resource;
        // Those of the spec, and those that members are started with.
        if !is_secure(&resource.spec) && resource.status.get("tls").is_none() {
            if *held != self.given.secrets {
                held.clone_from(&self.given.secrets);
            }
            return;
        }
        let made = TlsRole::ALL.map(|role| names::made_secret(&resource.name, role));
        let all = made
            .into_iter()
            .chain([names::authorities_secret(&resource.name)]);
        for name in all {
            match (self.kube.secrets.get(&name), held.get(&name)) {
                (Some(secret), Some(Observed::Seen(same))) if same == secret => {}
                (None, Some(Observed::Absent)) => {}
                (Some(secret), _) => drop(held.insert(name, Observed::Seen(secret.clone()))),
                (None, _) => drop(held.insert(name, Observed::Absent)),
            }
        }
    }

    /// Carries out an order.
    pub(crate) fn issue(&mut self, name: &str, order: &Order) -> Result<Deed, &'static str> {
        let place = names::authorities_secret(&self.kube.resource.name);
        // Dated by the operator's clock, a little back, as the host does.
        let now = Millis(self.clock().0 + self.off - CLOCKS_DIFFER);
        let number = self.kube.number();
        let mut secret = self
            .kube
            .secrets
            .get(name)
            .cloned()
            .unwrap_or_else(|| blank(number, &self.kube.resource.uid));
        secret.resource_version = number.to_string();
        let list_of = |role: TlsRole| {
            let authorities = self.kube.secrets.get(&place);
            let list = authorities.and_then(|all| all.authorities.get(authority_keys(role).0));
            list.cloned().ok_or("there are no authorities")
        };
        match order {
            Order::Authorities | Order::NewestAuthorities => {
                for role in [TlsRole::Peer, TlsRole::Server] {
                    let (key, _) = authority_keys(role);
                    let list = secret.authorities.entry(key.to_owned()).or_default();
                    list.truncate(1);
                    if *order == Order::Authorities {
                        list.insert(0, format!("{key}-{number}"));
                    }
                    date(&mut secret, key, now);
                }
            }
            Order::Certificate { role, names, by } => {
                let list = list_of(*role)?;
                if !list.contains(by) {
                    return Err("no such authority");
                }
                let (certificate, key) = (MADE_FILES.certificate, MADE_FILES.key);
                secret.names.insert(certificate.to_owned(), names.clone());
                secret.digests.insert(key.to_owned(), number.to_string());
                secret
                    .authorities
                    .insert(certificate.to_owned(), vec![by.clone()]);
                date(&mut secret, certificate, now);
                trust(&mut secret, list, now);
            }
            Order::Trust { role } => trust(&mut secret, list_of(*role)?, now),
        }
        self.kube.secrets.insert(name.to_owned(), secret);
        self.changed = true;
        Ok(Deed::Wrote("Issue"))
    }
}

/// The Secret in the volume that holds the certificates of a role.
pub(crate) fn of_pod(pod: &core::Pod, role: TlsRole) -> Option<String> {
    let (name, _path) = role.mount()?;
    let volumes = pod.spec.as_ref()?.volumes.as_ref()?;
    let volume = volumes.iter().find(|volume| volume.name == name)?;
    volume.secret.as_ref()?.secret_name.clone()
}

pub(crate) fn blank(number: u32, owner: &str) -> Secret {
    Secret {
        uid: format!("secret-{number}"),
        owner: Some(owner.to_owned()),
        resource_version: String::new(),
        digests: BTreeMap::new(),
        not_after: BTreeMap::new(),
        not_before: BTreeMap::new(),
        names: BTreeMap::new(),
        authorities: BTreeMap::new(),
        problems: BTreeMap::new(),
    }
}

fn trust(secret: &mut Secret, list: Vec<String>, now: Millis) {
    let key = MADE_FILES.authority;
    secret.authorities.insert(key.to_owned(), list);
    date(secret, key, now);
}

fn date(secret: &mut Secret, key: &str, now: Millis) {
    let key = key.to_owned();
    secret.digests.insert(key.clone(), now.0.to_string());
    secret.not_before.insert(key.clone(), now);
    secret.not_after.insert(key, Millis(now.0 + LASTS.0));
}
