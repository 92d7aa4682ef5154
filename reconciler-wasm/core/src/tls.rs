//! Which certificates the members use, and what is wrong with them in words.
//!
//! The scheme is part of every address that etcd remembers, so TLS between members is turned on and off in steps, which
//! [`turn`] knows. Reads digests and dates of Secrets; their data is nowhere here.

mod authorities;
mod complaint;
mod turn;
mod validity;

use contract::{
    EtcdClusterStatus, Finding, FindingKind, Observed, Pod, Reason, Snapshot, TlsFiles, TlsRole,
    TlsSecrets, names,
};

use crate::validate::Cluster;
use complaint::{Complaint, complaint};
use turn::Turn;

use authorities::Authorities;

pub(crate) use authorities::{Change, trusts};
pub(crate) use validity::{expiring, records};

/// The certificates of a cluster.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// The Secrets that members are started with.
    pub(crate) in_use: TlsSecrets,
    peer: Option<TlsFiles>,
    server: Option<TlsFiles>,
    /// What keeps new members from working; empty when all is well.
    complaints: Vec<Complaint>,
    authorities: Authorities,
    /// A pod that is made would find its files.
    can_build: bool,
    /// The operator makes the certificates, so what is missing is its own to do.
    is_made: bool,
    /// How the spec differs from what is in use.
    not_applied: Option<String>,
    /// Members take clients without TLS, too.
    plain_clients: bool,
    turn: Turn,
}

impl Tls {
    /// The files of a role's Secret; none when that traffic is plain text.
    pub(crate) const fn files(&self, role: TlsRole) -> Option<TlsFiles> {
        match role {
            TlsRole::Peer => self.peer,
            TlsRole::Server => self.server,
            TlsRole::Operator => None,
        }
    }

    /// The scheme by which peers reach a member.
    pub(crate) fn peer_scheme(&self, member: &str) -> &'static str {
        if self.peer.is_some() && !self.turn.is_plain(member) {
            "https"
        } else {
            "http"
        }
    }

    /// The schemes by which members take clients.
    pub(crate) const fn client_schemes(&self) -> &'static [&'static str] {
        match (self.server.is_some(), self.plain_clients) {
            (false, _) => &["http"],
            (true, false) => &["https"],
            (true, true) => &["https", "http"],
        }
    }

    /// The scheme of the addresses that members tell clients. Whoever asks them without TLS must be able to use these.
    pub(crate) const fn client_scheme(&self) -> &'static str {
        match (self.server.is_some(), self.plain_clients) {
            (true, false) => "https",
            (false, _) | (true, true) => "http",
        }
    }

    /// Whether peers reach a member in plain text although members have certificates for one another.
    pub(crate) fn is_plain_peer(&self, member: &str) -> bool {
        self.peer.is_some() && self.turn.is_plain(member)
    }

    /// Whether a member is to have another address than it has in etcd's list.
    pub(crate) fn is_misplaced(&self, member: &str) -> bool {
        self.turn.is_misplaced(member)
    }

    /// The schemes of the address that a misplaced member has, and of the one that it is to have.
    pub(crate) fn turned_schemes(&self) -> (&'static str, &'static str) {
        if self.turn.goes_plain() {
            ("https", "http")
        } else {
            ("http", "https")
        }
    }

    /// What the annotation of a new pod says of plain text; none where all that has certificates insists on them.
    pub(crate) fn plain(&self, member: &str) -> Option<String> {
        let peers = self.is_plain_peer(member).then_some(names::PLAIN_PEERS);
        let clients = (self.server.is_some() && self.plain_clients).then_some(names::PLAIN_CLIENTS);
        let all: Vec<&str> = [peers, clients].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(","))
    }

    /// Whether the pod of a member listens at the address that peers have for it.
    pub(crate) fn is_reached(&self, member: &str, pod: &Pod) -> bool {
        turn::listens_plain(pod) == (self.peer_scheme(member) == "http")
    }

    /// Whether the pod of a member was started with the certificates that members are started with.
    pub(crate) fn fits(&self, member: &str, pod: &Pod) -> bool {
        pod.peer_secret.as_deref() == self.in_use.of_role(TlsRole::Peer)
            && pod.server_secret.as_deref() == self.in_use.of_role(TlsRole::Server)
            && pod.annotations.get(names::PLAIN_ANNOTATION) == self.plain(member).as_ref()
    }

    /// Whether a new member would find certificates that work.
    pub(crate) const fn is_sound(&self) -> bool {
        self.complaints.is_empty()
    }

    /// Whether a pod can be made at all: which files it needs is known.
    pub(crate) const fn can_build(&self) -> bool {
        self.can_build
    }

    /// What the annotation of a new pod says of its authorities; none without TLS.
    pub(crate) fn authorities(&self) -> Option<String> {
        (!self.in_use.is_plain()).then(|| self.authorities.spell())
    }

    /// How the authorities of a member differ from those of the Secrets.
    pub(crate) fn authorities_changed(&self, pod: &Pod, snapshot: &Snapshot) -> Change {
        authorities::change(pod, &self.authorities, &self.in_use, snapshot)
    }

    /// What a person should know of the certificates.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding> {
        let complaints = self
            .complaints
            .iter()
            .filter(|complaint| !self.is_made || complaint.reason == Reason::SecretUnreadable)
            .map(|complaint| (complaint.reason, complaint.message.clone()));
        let awaited = self
            .turn
            .awaited
            .iter()
            .filter(|complaint| !self.is_made || complaint.reason == Reason::SecretUnreadable)
            .map(|complaint| (complaint.reason, complaint.message.clone()));
        let not_applied = self
            .not_applied
            .iter()
            .map(|message| (Reason::TlsNotApplied, message.clone()));
        complaints
            .chain(awaited)
            .chain(not_applied)
            .map(|(reason, message)| Finding {
                kind: FindingKind::Blocked,
                reason,
                message,
                member: None,
            })
    }
}

/// The certificates of a cluster as it stands.
pub(crate) fn of(cluster: &Cluster, snapshot: &Snapshot, memory: &EtcdClusterStatus) -> Tls {
    let wanted = &cluster.wanted_tls;
    let is_born = memory.birth.is_some() || memory.cluster_id.is_some();
    let mut in_use = in_use(wanted, is_born, snapshot, memory);
    let members: Vec<&str> = memory
        .member_records
        .iter()
        .map(|record| record.name.as_str())
        .collect();
    let turn = turn::follow(cluster, snapshot, memory, &members, &mut in_use);
    if in_use.server.is_some() && wanted.operator.is_some() {
        // Which certificate the operator shows is no business of the members' pods.
        in_use.operator.clone_from(&wanted.operator);
    }
    Tls {
        not_applied: is_born
            .then(|| not_applied(wanted, &in_use, &turn))
            .flatten(),
        turn,
        ..resolve(cluster, snapshot, in_use, &members)
    }
}

/// The certificates of a cluster that is founded anew, by the spec.
pub(crate) fn of_newborn(cluster: &Cluster, snapshot: &Snapshot) -> Tls {
    resolve(cluster, snapshot, cluster.wanted_tls.clone(), &[])
}

/// As remembered; else as the pods of the cluster have it; else, before it is born, as the spec wants it.
fn in_use(
    wanted: &TlsSecrets,
    is_born: bool,
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
) -> TlsSecrets {
    if let Some(remembered) = &memory.tls {
        return remembered.clone();
    }
    let mut own = snapshot
        .objects
        .pods
        .seen()
        .into_iter()
        .flatten()
        .filter(|pod| pod.owner.as_deref() == Some(snapshot.resource.uid.as_str()));
    match own.next() {
        Some(pod) => TlsSecrets {
            peer: pod.peer_secret.clone(),
            server: pod.server_secret.clone(),
            operator: None,
        },
        None if is_born => TlsSecrets::default(),
        None => wanted.clone(),
    }
}

fn not_applied(wanted: &TlsSecrets, in_use: &TlsSecrets, turn: &Turn) -> Option<String> {
    let is_under_way = |role: TlsRole| {
        turn.why_not.is_none() && (wanted.of_role(role).is_none() || in_use.of_role(role).is_none())
    };
    let differences: Vec<String> = [TlsRole::Peer, TlsRole::Server]
        .into_iter()
        .filter_map(|role| {
            let words = |secret: Option<&str>| {
                secret.map_or_else(|| "plain text".to_owned(), |name| format!("Secret {name}"))
            };
            let (asked, found) = (wanted.of_role(role), in_use.of_role(role));
            (asked != found && !is_under_way(role)).then(|| {
                format!(
                    "{} asks for {} and members use {}",
                    role.field(),
                    words(asked),
                    words(found)
                )
            })
        })
        .collect();
    (!differences.is_empty()).then(|| {
        let way = turn.why_not.clone().unwrap_or_else(|| {
            "members of a living cluster do not go from one Secret to another. Put the new certificates into the Secret \
             that is in use, or turn TLS off first"
                .to_owned()
        });
        format!(
            "{}. That is not in effect: {way}.",
            differences.join("; ")
        )
    })
}

fn resolve(cluster: &Cluster, snapshot: &Snapshot, in_use: TlsSecrets, members: &[&str]) -> Tls {
    let mut complaints = Vec::new();
    let mut can_build = true;
    let mut files = |role: TlsRole| {
        let name = in_use.of_role(role)?;
        let found = snapshot.secrets.get(name);
        let has = |key: &str| {
            found
                .and_then(Observed::seen)
                .is_some_and(|secret| secret.digests.contains_key(key))
        };
        let files = role.files(has);
        complaints.extend(complaint(cluster, snapshot, role, name, files, members));
        let is_in_pods = role.mount().is_some();
        can_build &= !is_in_pods || files.all().into_iter().all(has);
        Some(files)
    };
    let (peer, server) = (files(TlsRole::Peer), files(TlsRole::Server));
    files(TlsRole::Operator);
    Tls {
        authorities: Authorities::of(&in_use, snapshot),
        in_use,
        peer,
        server,
        complaints,
        can_build,
        is_made: cluster.generation.is_some(),
        not_applied: None,
        plain_clients: cluster.plain_clients,
        turn: Turn::default(),
    }
}
