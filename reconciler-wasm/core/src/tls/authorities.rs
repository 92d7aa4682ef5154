//! Whom members trust: etcd reads the list of authorities when it starts, and a pod remembers which list that was.
//!
//! Certificates and keys are another matter: etcd reads them anew for each connection.

use std::collections::BTreeSet;

use contract::{Observed, Pod, Snapshot, TlsRole, TlsSecrets, names};

/// Fingerprints of the authorities of one member, by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Authorities {
    peer: BTreeSet<String>,
    server: BTreeSet<String>,
}

/// What lies between the authorities members were started with and those of the Secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// A restart is all that is missing: until then everybody trusts everybody.
    Restart,
    /// Members that restart and members that did not would not trust one another.
    AtOnce,
}

impl Authorities {
    /// As the Secrets have them.
    pub(super) fn of(secrets: &TlsSecrets, snapshot: &Snapshot) -> Self {
        let of = |role: TlsRole| fingerprints(secrets, snapshot, role, |files| files.authority);
        Self {
            peer: of(TlsRole::Peer),
            server: of(TlsRole::Server),
        }
    }

    /// As the annotation of a pod spells them.
    pub(crate) fn spell(&self) -> String {
        let list = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(",");
        format!("peer={};server={}", list(&self.peer), list(&self.server))
    }

    /// As a pod remembers them; none for a pod that nobody told.
    fn of_pod(pod: &Pod) -> Option<Self> {
        let (peer, server) = pod
            .annotations
            .get(names::AUTHORITIES_ANNOTATION)?
            .split_once(';')?;
        let list = |text: &str, role: &str| {
            let fingerprints = text.strip_prefix(role)?.split(',');
            Some(
                fingerprints
                    .filter(|fingerprint| !fingerprint.is_empty())
                    .map(str::to_owned)
                    .collect(),
            )
        };
        Some(Self {
            peer: list(peer, "peer=")?,
            server: list(server, "server=")?,
        })
    }

    const fn of_role(&self, role: TlsRole) -> &BTreeSet<String> {
        match role {
            TlsRole::Peer => &self.peer,
            TlsRole::Server | TlsRole::Operator => &self.server,
        }
    }
}

/// Whether a member was started with this authority for a role.
pub(crate) fn trusts(pod: &Pod, role: TlsRole, authority: &str) -> bool {
    Authorities::of_pod(pod).is_some_and(|known| known.of_role(role).contains(authority))
}

/// How the authorities of one member differ from those of the Secrets.
pub(super) fn change(
    pod: &Pod,
    now: &Authorities,
    secrets: &TlsSecrets,
    snapshot: &Snapshot,
) -> Change {
    let Some(then) = Authorities::of_pod(pod) else {
        return Change::None;
    };
    if then == *now {
        return Change::None;
    }
    let is_gradual = [TlsRole::Peer, TlsRole::Server].into_iter().all(|role| {
        let (then, now) = (then.of_role(role), now.of_role(role));
        then.is_subset(now) || now.is_subset(then)
    });
    // Peers show their certificates to members that were not restarted yet, too.
    let shown = fingerprints(secrets, snapshot, TlsRole::Peer, |files| files.certificate);
    let is_known = secrets.peer.is_none() || !shown.is_disjoint(&then.peer);
    if is_gradual && is_known {
        Change::Restart
    } else {
        Change::AtOnce
    }
}

fn fingerprints(
    secrets: &TlsSecrets,
    snapshot: &Snapshot,
    role: TlsRole,
    key: impl Fn(contract::TlsFiles) -> &'static str,
) -> BTreeSet<String> {
    let secret = secrets
        .of_role(role)
        .and_then(|name| snapshot.secrets.get(name))
        .and_then(Observed::seen);
    let Some(secret) = secret else {
        return BTreeSet::new();
    };
    let files = role.files(|key| secret.digests.contains_key(key));
    let found = secret.authorities.get(key(files));
    found.into_iter().flatten().cloned().collect()
}
