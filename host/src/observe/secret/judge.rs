//! From the data of Secrets to what a snapshot may show of them.
//!
//! Pure. Each certificate is held against the authority that will judge it: a peer's against that of its own Secret, a
//! member's against the operator's, the operator's against the members'.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::{Millis, Observed, Secret, TlsFiles, TlsRole, TlsSecrets, authority_keys};
use sha2::{Digest, Sha256};

use super::{Data, of_all_roles};
use crate::certificate::{self, Error, Facts, Usage};

/// What a snapshot shows of the Secrets in these sets.
pub(super) fn project(
    sets: &[TlsSecrets],
    data: impl Fn(&str) -> Observed<Arc<Data>>,
    now: Millis,
) -> BTreeMap<String, Observed<Secret>> {
    let mut shown = BTreeMap::new();
    for name in sets.iter().flat_map(of_all_roles) {
        let secret = match data(name) {
            Observed::Seen(data) => Observed::Seen(blank(&data)),
            Observed::Absent => Observed::Absent,
            Observed::Unknown(why) => Observed::Unknown(why),
        };
        shown.insert(name.to_owned(), secret);
    }
    for set in sets {
        for role in TlsRole::ALL {
            let Some(name) = set.of_role(role) else {
                continue;
            };
            let (Observed::Seen(own), Some(Observed::Seen(secret))) =
                (data(name), shown.get_mut(name))
            else {
                continue;
            };
            describe(&own, role, secret);
            for (judge, usage) in judges(role) {
                let judged_by = set
                    .of_role(judge)
                    .and_then(|name| Some((name, data(name).seen()?.clone())));
                if let Some((name, theirs)) = judged_by {
                    hold_against(&own, role, (name, &theirs, judge), usage, now, secret);
                }
            }
        }
    }
    shown
}

/// What a snapshot shows of the Secret with the authorities that the operator made. Of their keys it is nothing.
pub(super) fn authorities(data: Observed<Arc<Data>>) -> Observed<Secret> {
    let data = match data {
        Observed::Seen(data) => data,
        Observed::Absent => return Observed::Absent,
        Observed::Unknown(why) => return Observed::Unknown(why),
    };
    let mut secret = blank(&data);
    for role in [TlsRole::Peer, TlsRole::Server] {
        let (key, _) = authority_keys(role);
        let Some(bytes) = data.keys.get(key) else {
            continue;
        };
        let digest = format!("{:x}", Sha256::digest(bytes));
        secret.digests.insert(key.to_owned(), digest);
        match certificate::authorities(bytes) {
            Ok(facts) => {
                secret.not_before.insert(key.to_owned(), facts.not_before);
                secret.not_after.insert(key.to_owned(), facts.not_after);
                secret
                    .authorities
                    .insert(key.to_owned(), facts.fingerprints);
            }
            Err(error) => complain(&mut secret, key, &error),
        }
    }
    Observed::Seen(secret)
}

/// Whose authorities verify a role's certificate, and as what.
fn judges(role: TlsRole) -> Vec<(TlsRole, Usage)> {
    match role {
        TlsRole::Peer => vec![
            (TlsRole::Peer, Usage::Server),
            (TlsRole::Peer, Usage::Client),
        ],
        TlsRole::Server => vec![(TlsRole::Operator, Usage::Server)],
        TlsRole::Operator => vec![(TlsRole::Server, Usage::Client)],
    }
}

fn blank(data: &Data) -> Secret {
    Secret {
        uid: data.uid.clone(),
        owner: data.owner.clone(),
        resource_version: data.resource_version.clone(),
        digests: BTreeMap::new(),
        not_after: BTreeMap::new(),
        not_before: BTreeMap::new(),
        names: BTreeMap::new(),
        authorities: BTreeMap::new(),
        problems: BTreeMap::new(),
    }
}

fn files(data: &Data, role: TlsRole) -> TlsFiles {
    role.files(|key| data.keys.contains_key(key))
}

/// The names that a role's certificate is for; none when it cannot be read.
pub(super) fn names(data: &Data, role: TlsRole) -> Vec<String> {
    let pem = data.keys.get(files(data, role).certificate);
    let facts = pem.and_then(|pem| certificate::chain(pem).ok());
    facts.map(|facts| facts.names).unwrap_or_default()
}

/// Adds what the three files of a role say by themselves.
fn describe(data: &Data, role: TlsRole, secret: &mut Secret) {
    let files = files(data, role);
    for key in files.all() {
        if let Some(bytes) = data.keys.get(key) {
            let digest = format!("{:x}", Sha256::digest(bytes));
            secret.digests.insert(key.to_owned(), digest);
        }
    }
    let mut dates = |key: &'static str, read: fn(&[u8]) -> Result<Facts, Error>| {
        let facts = match read(data.keys.get(key)?) {
            Ok(facts) => facts,
            Err(error) => {
                complain(secret, key, &error);
                return None;
            }
        };
        if key == files.authority {
            let fingerprints = facts.fingerprints.clone();
            secret.authorities.insert(key.to_owned(), fingerprints);
        }
        secret.not_before.insert(key.to_owned(), facts.not_before);
        secret.not_after.insert(key.to_owned(), facts.not_after);
        Some(facts.names)
    };
    let names = dates(files.certificate, certificate::chain);
    dates(files.authority, certificate::authorities);
    let Some(names) = names else { return };
    secret.names.insert(files.certificate.to_owned(), names);
    let pair = data
        .keys
        .get(files.certificate)
        .zip(data.keys.get(files.key));
    if let Some((certificate, key)) = pair
        && let Err(error) = certificate::key_matches(certificate, key, files.certificate)
        && (role != TlsRole::Peer || is_conclusive(&error))
    {
        complain(secret, files.key, &error);
    }
}

/// Whether etcd would refuse it, too, and not only this host. Peers never speak with the host.
const fn is_conclusive(error: &Error) -> bool {
    match error {
        Error::Pem { .. } | Error::OtherKey { .. } | Error::NotVouchedFor { .. } => true,
        Error::Malformed { .. } | Error::UnknownKey { .. } => false,
    }
}

/// Adds a complaint where the authorities of `judge` do not vouch for the certificate.
fn hold_against(
    own: &Data,
    role: TlsRole,
    (name, theirs, judge): (&str, &Data, TlsRole),
    usage: Usage,
    now: Millis,
    secret: &mut Secret,
) {
    let (certificate, authority) = (files(own, role).certificate, files(theirs, judge).authority);
    let (Some(pem), Some(authorities)) = (own.keys.get(certificate), theirs.keys.get(authority))
    else {
        return;
    };
    let vouching = certificate::vouching(pem, authorities, usage, now);
    secret.authorities.insert(certificate.to_owned(), vouching);
    let place = format!("key {authority} of Secret {name}");
    if let Err(error) = certificate::is_vouched_for(pem, authorities, &place, usage, now)
        && is_conclusive(&error)
    {
        complain(secret, certificate, &error);
    }
}

/// The first complaint about a key is the one to tell.
fn complain(secret: &mut Secret, key: &str, error: &Error) {
    secret
        .problems
        .entry(key.to_owned())
        .or_insert_with(|| error.to_string());
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    const NOW: Millis = Millis(1_795_000_000_000);

    struct Authority {
        pem: String,
        issuer: Issuer<'static, KeyPair>,
    }

    fn authority() -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(params, key);
        Authority { pem, issuer }
    }

    /// A Secret whose certificate comes from `issuer` and which trusts `trusted`, under these keys.
    fn secret(issuer: &Authority, trusted: &Authority, keys: [&str; 3]) -> Arc<Data> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(["*.shop.prod.svc".to_owned()]).expect("names");
        let signed = params
            .signed_by(&key, &issuer.issuer)
            .expect("a certificate");
        let values = [signed.pem(), key.serialize_pem(), trusted.pem.clone()];
        let keys = keys.into_iter().zip(values);
        Arc::new(Data {
            uid: "u".to_owned(),
            owner: None,
            resource_version: "5".to_owned(),
            keys: keys
                .map(|(key, value)| (key.to_owned(), value.into_bytes()))
                .collect(),
        })
    }

    const CERT_MANAGER: [&str; 3] = ["tls.crt", "tls.key", "ca.crt"];
    const OLD_SERVER: [&str; 3] = ["server.crt", "server.key", "server-ca.crt"];
    const OLD_CLIENT: [&str; 3] = ["etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"];

    fn shown(secrets: &BTreeMap<&str, Arc<Data>>) -> BTreeMap<String, Observed<Secret>> {
        let set = TlsSecrets {
            peer: None,
            server: Some("servers".to_owned()),
            operator: Some("operator".to_owned()),
        };
        let data = |name: &str| {
            secrets
                .get(name)
                .map_or(Observed::Absent, |data| Observed::Seen(Arc::clone(data)))
        };
        project(&[set], data, NOW)
    }

    fn problems(secrets: &BTreeMap<&str, Arc<Data>>) -> Vec<String> {
        let all = shown(secrets);
        let seen = all.values().filter_map(Observed::seen);
        let each = seen.flat_map(|secret| &secret.problems);
        each.map(|(key, words)| format!("{key}: {words}")).collect()
    }

    #[test]
    fn certificates_that_vouch_for_one_another_across_secrets_and_layouts_have_no_problem() {
        let (servers, clients) = (authority(), authority());
        let secrets = BTreeMap::from([
            ("servers", secret(&servers, &clients, CERT_MANAGER)),
            ("operator", secret(&clients, &servers, OLD_CLIENT)),
        ]);
        assert_eq!(problems(&secrets), [""; 0]);
    }

    #[test]
    fn an_authority_that_does_not_vouch_for_the_other_side_is_named() {
        let (servers, clients) = (authority(), authority());
        let secrets = BTreeMap::from([
            ("servers", secret(&servers, &servers, OLD_SERVER)),
            ("operator", secret(&clients, &servers, OLD_CLIENT)),
        ]);
        let found = problems(&secrets);
        assert_eq!(found.len(), 1, "{found:?}");
        let words =
            "etcd-client.crt: key server-ca.crt of Secret servers, by which it will be verified";
        assert!(found[0].starts_with(words), "{found:?}");
    }

    #[test]
    fn a_renewed_certificate_beside_its_old_key_is_a_problem_of_the_key() {
        let all = authority();
        let mut servers = secret(&all, &all, CERT_MANAGER);
        let other = secret(&all, &all, CERT_MANAGER);
        Arc::make_mut(&mut servers)
            .keys
            .insert("tls.key".to_owned(), other.keys["tls.key"].clone());
        let secrets = BTreeMap::from([
            ("servers", servers),
            ("operator", secret(&all, &all, OLD_CLIENT)),
        ]);
        assert_eq!(
            problems(&secrets),
            ["tls.key: it is not the key of the certificate in tls.crt"]
        );
    }

    /// What a snapshot shows ends up in recordings.
    #[test]
    fn nothing_of_the_data_is_shown() {
        let all = authority();
        let servers = secret(&all, &all, CERT_MANAGER);
        let secrets = BTreeMap::from([("servers", Arc::clone(&servers))]);
        let text = serde_json::to_string(&shown(&secrets)).expect("JSON");
        for bytes in servers.keys.values() {
            let pem = String::from_utf8_lossy(bytes);
            for line in pem.lines().filter(|line| line.len() > 16) {
                assert!(!text.contains(line), "{line}");
            }
        }
        assert!(!text.contains("PRIVATE") && text.contains("*.shop.prod.svc"));
    }

    #[test]
    fn a_secret_that_is_not_there_is_absent_and_the_other_is_shown() {
        let all = authority();
        let secrets = BTreeMap::from([("servers", secret(&all, &all, CERT_MANAGER))]);
        let shown = shown(&secrets);
        assert_eq!(shown["operator"], Observed::Absent);
        let servers = shown["servers"].seen().expect("the Secret");
        assert_eq!(servers.digests.len(), 3);
        assert_eq!(servers.names["tls.crt"], ["*.shop.prod.svc"]);
    }
}
