//! That a member speaks TLS where the cluster does: no module may open a port in plain text, or to strangers.
//!
//! Where TLS is turned on or off, etcd's list says how peers reach a member, and the spec how clients do. What the
//! certificates are is not known here; the executor mounts the Secrets whole.

use contract::{EtcdClusterSpec, MemberId, ObjectKind, Snapshot, TlsRole, TlsSecrets, names};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use serde_json::Value;

use super::volume::{mounted, own_pods, role_of};
use crate::Refusal;
use crate::arguments::InitialCluster;
use crate::secrets::{is_planned, remembered};

/// A founding member has TLS where the spec asks for it and did so when the cluster was planned, any other where a living
/// member has it, unless it is to be reached in plain text; and whoever mounts certificates uses them.
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
    let planned = is_planned(snapshot).then(|| remembered(snapshot).unwrap_or_default());
    // A plan that is given up makes room for one by the spec.
    let asks = |role: TlsRole| {
        let was_asked = planned
            .as_ref()
            .is_none_or(|all| all.of_role(role).is_some());
        was_asked && wanted.of_role(role).is_some()
    };
    for role in TlsRole::ALL
        .into_iter()
        .filter(|role| role.mount().is_some())
    {
        let founds = start == InitialCluster::New && asks(role);
        let others_do = own_pods(snapshot).any(|pod| mounted(pod, role).is_some());
        let has_files = found
            .volumes
            .iter()
            .flatten()
            .any(|volume| role_of(&volume.name) == Some(role));
        // Whoever founds a cluster anew in plain text does not join those that are there.
        let joins = start != InitialCluster::New && others_do;
        if !(founds || joins || has_files) {
            continue;
        }
        let may_be_plain = start != InitialCluster::New
            && match role {
                TlsRole::Peer => is_reached_in_plain(pod, &wanted, snapshot),
                TlsRole::Server | TlsRole::Operator => wanted.server.is_none(),
            };
        if may_be_plain && !has_files {
            continue;
        }
        let takes_both =
            role == TlsRole::Server && spec.tls.as_ref().is_some_and(|policy| policy.plain_clients);
        let may_listen = takes_both || (role == TlsRole::Peer && may_be_plain);
        if let Some(what) = why_open(role, has_files, may_listen, container) {
            refusals.push(Refusal::Plaintext {
                name: pod.to_owned(),
                what,
            });
        }
    }
}

/// Whether peers reach a pod with certificates in plain text is read off its annotation, which must be so.
pub(super) fn judge_plain(pod: &Pod, container: &Container, refusals: &mut Vec<Refusal>) {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let annotations = pod.metadata.annotations.as_ref();
    let told = annotations.and_then(|all| all.get(names::PLAIN_ANNOTATION));
    let mut told = told.into_iter().flat_map(|told| told.split(','));
    let says_plain = told.any(|who| who == names::PLAIN_PEERS);
    let words = container.command.iter().chain(&container.args).flatten();
    let mut listens = words.filter_map(|word| word.strip_prefix("--listen-peer-urls="));
    let is_plain = listens.any(|urls| urls.starts_with("http://"));
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref());
    let mut volumes = volumes.into_iter().flatten();
    let has_files = volumes.any(|volume| role_of(&volume.name) == Some(TlsRole::Peer));
    if says_plain != (has_files && is_plain) {
        refusals.push(Refusal::Annotation {
            kind: ObjectKind::Pod,
            name: name.to_owned(),
            annotation: names::PLAIN_ANNOTATION.to_owned(),
        });
    }
}

/// A listed member other than `except` whose pod listens at none of the addresses that peers have for it.
pub(crate) fn other_to_turn(except: MemberId, snapshot: &Snapshot) -> Option<MemberId> {
    let listens_plain = |pod: &contract::Pod| {
        let plain = pod.annotations.get(names::PLAIN_ANNOTATION);
        let mut plain = plain.into_iter().flat_map(|plain| plain.split(','));
        pod.peer_secret.is_none() || plain.any(|who| who == names::PLAIN_PEERS)
    };
    let rows = snapshot.etcd.membership.seen()?.members.iter();
    let mut rows = rows.filter(|row| row.id != except);
    let other = rows.find(|row| {
        let addresses = row.peer_urls.iter().filter_map(|url| {
            let name = names::member_of_url(url);
            let pod = own_pods(snapshot).find(|pod| name == Some(pod.name.as_str()))?;
            Some(listens_plain(pod) == url.starts_with("http://"))
        });
        let listens: Vec<bool> = addresses.collect();
        !listens.is_empty() && !listens.contains(&true)
    });
    other.map(|row| row.id)
}

/// Whether etcd's list has an address in plain text for the member. Where no quorum shows the list: whether the status
/// remembers one, or a cluster without certificates between its members, or the spec asks for none.
fn is_reached_in_plain(pod: &str, wanted: &TlsSecrets, snapshot: &Snapshot) -> bool {
    let list = snapshot.etcd.membership.seen();
    let Some(list) = list.filter(|list| list.linearizable) else {
        let records = snapshot.resource.status.get("memberRecords");
        let mut records = records.and_then(Value::as_array).into_iter().flatten();
        let is_remembered = records.any(|record| {
            record.get("name").and_then(Value::as_str) == Some(pod)
                && record.get("plainPeer") == Some(&Value::Bool(true))
        });
        let status = &snapshot.resource.status;
        let speak_plain = !status["clusterId"].is_null() && status["tls"]["peer"].is_null();
        return wanted.peer.is_none() || is_remembered || speak_plain;
    };
    let mut urls = list.members.iter().flat_map(|member| &member.peer_urls);
    urls.any(|url| names::member_of_url(url) == Some(pod) && url.starts_with("http://"))
}

/// Says how the traffic of a role would be open to others, or `None` if it is not, but for what may be in plain text.
fn why_open(
    role: TlsRole,
    has_files: bool,
    may_listen: bool,
    container: &Container,
) -> Option<&'static str> {
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
    } else if (is_plain && !may_listen) || !listens {
        Some("it listens in plain text")
    } else {
        None
    }
}
