//! That a member speaks TLS where the cluster does: no module may open a port in plain text, or to strangers.
//!
//! What the certificates are is not known here; the executor mounts the Secrets whole.

use contract::{EtcdClusterSpec, Snapshot, TlsRole, TlsSecrets};
use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::volume::{mounted, own_pods, role_of};
use crate::Refusal;
use crate::arguments::InitialCluster;

/// A founding member has TLS where the spec asks for it, any other where a living member has it; and whoever mounts
/// certificates uses them.
pub(super) fn judge_tls(
    pod: &str,
    start: InitialCluster,
    found: &PodSpec,
    container: &Container,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let wanted = TlsSecrets::of(spec.tls.as_ref(), &snapshot.resource.name);
    for role in TlsRole::ALL
        .into_iter()
        .filter(|role| role.mount().is_some())
    {
        let founds = start == InitialCluster::New && wanted.of_role(role).is_some();
        let others_do = own_pods(snapshot).any(|pod| mounted(pod, role).is_some());
        let has_files = found
            .volumes
            .iter()
            .flatten()
            .any(|volume| role_of(&volume.name) == Some(role));
        if !(founds || others_do || has_files) {
            continue;
        }
        if let Some(what) = why_open(role, has_files, container) {
            refusals.push(Refusal::Plaintext {
                name: pod.to_owned(),
                what,
            });
        }
    }
}

/// Says how the traffic of a role would be open to others, or `None` if it is not.
fn why_open(role: TlsRole, has_files: bool, container: &Container) -> Option<&'static str> {
    let (auth, urls): (&str, &[&str]) = match role {
        TlsRole::Peer => ("peer-client-cert-auth", &["listen-peer-urls"]),
        TlsRole::Server => (
            "client-cert-auth",
            &["listen-client-urls", "listen-client-http-urls"],
        ),
        TlsRole::Operator => return None,
    };
    let words = || {
        container
            .command
            .iter()
            .flatten()
            .chain(container.args.iter().flatten())
            .filter_map(|word| word.strip_prefix("--"))
    };
    let values = |flag: &'static str| {
        words().filter_map(move |word| word.strip_prefix(flag)?.strip_prefix('='))
    };
    let is_plain = urls.iter().copied().flat_map(values).any(|list| {
        list.split(',')
            .any(|url| !url.trim().starts_with("https://"))
    });
    let listens = urls
        .first()
        .is_some_and(|flag| values(flag).next().is_some());
    if !has_files {
        Some("it has no certificates")
    } else if !words().any(|word| word == auth) || values(auth).next().is_some() {
        Some("it takes callers without a certificate")
    } else if is_plain || !listens {
        Some("it listens in plain text")
    } else {
        None
    }
}
