//! What is wrong with a Secret in its role, in words.
//!
//! Names the Secret, the key and the reason. Everything told here keeps a new member from working.

use contract::{
    Millis, Observed, Reason, Secret, Snapshot, TlsFiles, TlsRole, certificate_covers, names,
};

use crate::clock;
use crate::validate::Cluster;

/// One thing that is wrong.
#[derive(Clone)]
pub(super) struct Complaint {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// The first thing that is wrong with a Secret in its role.
pub(super) fn complaint(
    cluster: &Cluster,
    snapshot: &Snapshot,
    role: TlsRole,
    name: &str,
    files: TlsFiles,
    members: &[&str],
) -> Option<Complaint> {
    let of = |reason, message| Some(Complaint { reason, message });
    let field = role.field();
    let secret = match snapshot.secrets.get(name) {
        Some(Observed::Seen(secret)) => secret,
        Some(Observed::Absent) => {
            return of(
                Reason::SecretMissing,
                format!(
                    "Secret {name} ({field}) does not exist in namespace {}. No member is started without it. Create it \
                     with the keys {}.",
                    cluster.namespace,
                    TlsFiles::in_words(role)
                ),
            );
        }
        Some(Observed::Unknown(why)) => {
            return of(
                Reason::SecretUnreadable,
                format!(
                    "Secret {name} ({field}) could not be read ({why}). Check that the operator may get Secrets in \
                     namespace {}.",
                    cluster.namespace
                ),
            );
        }
        None => {
            return of(
                Reason::SecretUnreadable,
                format!("Secret {name} ({field}) was not looked at yet."),
            );
        }
    };
    if let Some(key) = files
        .all()
        .into_iter()
        .find(|key| !secret.digests.contains_key(*key))
    {
        return of(
            Reason::SecretIncomplete,
            format!(
                "Secret {name} ({field}) has no key {key}. It needs the keys {}.",
                TlsFiles::in_words(role)
            ),
        );
    }
    if let Some((key, problem)) = files
        .all()
        .into_iter()
        .find_map(|key| Some((key, secret.problems.get(key)?)))
    {
        return of(
            Reason::CertificateInvalid,
            format!("Secret {name} ({field}), key {key}: {problem}."),
        );
    }
    out_of_time(secret, snapshot.now, files)
        .map(|(reason, key, when)| Complaint {
            reason,
            message: format!(
                "Secret {name} ({field}), key {key}: the certificate {when}. Put a valid one into the Secret; members \
                 read it without a restart."
            ),
        })
        .or_else(|| {
            let found = secret.names.get(files.certificate)?;
            if role == TlsRole::Peer && members.is_empty() && !is_found_by_dns(cluster, found) {
                return Some(Complaint {
                    reason: Reason::CertificateInvalid,
                    message: format!(
                        "Secret {name} ({field}), key {}: etcd lets a peer in when DNS finds the peer's address for a name in \
                         its certificate, and would find none for {}. Add the name {}, or a star before it and the \
                         cluster's domain after it.",
                        files.certificate,
                        found.join(", "),
                        peers_host(cluster),
                    ),
                });
            }
            let host = uncovered(cluster, role, found, members)?;
            Some(Complaint {
                reason: Reason::CertificateInvalid,
                message: format!(
                    "Secret {name} ({field}), key {}: the certificate is for {} and not for {host}, so nobody could verify \
                     a member. Issue one with that DNS name.",
                    files.certificate,
                    if found.is_empty() {
                        "no name".to_owned()
                    } else {
                        found.join(", ")
                    }
                ),
            })
        })
}

fn out_of_time(
    secret: &Secret,
    now: Millis,
    files: TlsFiles,
) -> Option<(Reason, &'static str, String)> {
    [files.certificate, files.authority]
        .into_iter()
        .find_map(|key| {
            let ended = secret.not_after.get(key).filter(|end| **end <= now);
            let begins = secret.not_before.get(key).filter(|begin| **begin > now);
            match (ended, begins) {
                (Some(end), _) => Some((
                    Reason::CertificateExpired,
                    key,
                    format!("expired at {}", clock::spell(*end)),
                )),
                (None, Some(begin)) => Some((
                    Reason::CertificateInvalid,
                    key,
                    format!("is not valid before {}", clock::spell(*begin)),
                )),
                (None, None) => None,
            }
        })
}

/// The name of the headless Service: DNS has the addresses of all members for it.
fn peers_host(cluster: &Cluster) -> String {
    let service = names::peer_service(&cluster.name);
    format!("{service}.{}.svc", cluster.namespace)
}

/// Whether etcd would find a peer's address among the names of its certificate: a plain name is looked up, and a name with
/// a star is compared with the name of the address, which ends in the cluster's domain
/// (<https://etcd.io/docs/v3.6/op-guide/security/#notes-for-tls-authentication>). People may have switched that off.
fn is_found_by_dns(cluster: &Cluster, found: &[String]) -> bool {
    let peers = peers_host(cluster);
    let is_switched_off = || {
        let mut environment = cluster.pod.etcd_env.iter().flatten();
        environment.any(|variable| variable.name.ends_with("PEER_SKIP_CLIENT_SAN_VERIFICATION"))
    };
    let is_found = |name: &String| {
        let (is_star, rest) = match name.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, name.as_str()),
        };
        rest.strip_prefix(peers.as_str())
            .is_some_and(|domain| domain.starts_with('.') || (domain.is_empty() && !is_star))
    };
    found.is_empty() || found.iter().any(is_found) || is_switched_off()
}

/// A name under which a member is verified and that the certificate is not for. Peers dial the whole address, the
/// operator the one without the cluster's domain or with it.
fn uncovered(
    cluster: &Cluster,
    role: TlsRole,
    found: &[String],
    members: &[&str],
) -> Option<String> {
    let domain = cluster.pod.cluster_domain.as_deref().unwrap_or_default();
    let domains: &[&str] = match role {
        TlsRole::Peer => &[domain],
        TlsRole::Server => &["", domain],
        TlsRole::Operator => return None,
    };
    let host = |member: &str, domain: &str| {
        names::member_host(member, &cluster.name, &cluster.namespace, domain)
    };
    let is_covered = |member: &&str| {
        domains.iter().any(|domain| {
            found
                .iter()
                .any(|name| certificate_covers(name, &host(member, domain)))
        })
    };
    let wanted = if members.is_empty() { &["*"] } else { members };
    wanted
        .iter()
        .find(|member| !is_covered(member))
        .map(|member| host(member, domains.first().copied().unwrap_or_default()))
}
