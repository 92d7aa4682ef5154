//! TLS turned on and off while the cluster lives: with which Secrets members are started next, and whom peers reach in
//! plain text meanwhile.
//!
//! # Flow between members
//! On: every member is started with the certificates and goes on to listen in plain text, so that everybody can speak
//! both; then one after the other gets an address with `https` and is started to listen there. Off: one after the other
//! gets an address with `http`; when all have one, members are started without certificates. Each half can be turned
//! round in its middle. With clients a member speaks as the spec has it from its next start on.

use std::collections::BTreeMap;

use contract::{
    EtcdClusterStatus, Membership, Observed, Pod, Snapshot, TlsRole, TlsSecrets, names,
};

use super::complaint::{Complaint, complaint};
use crate::assess::name_of;
use crate::validate::Cluster;

/// How far a change is. By default nothing changes.
#[derive(Clone, Default)]
pub(super) struct Turn {
    /// What is wrong with Secrets that the spec asks for and no member uses yet.
    pub(super) awaited: Vec<Complaint>,
    /// Why nothing is turned now, although the spec may ask for it.
    pub(super) why_not: Option<String>,
    /// Members with an address, and whether peers reach them there in plain text.
    plain: BTreeMap<String, bool>,
    /// New members are reached in plain text.
    new_in_plain: bool,
    /// Whether all are to be reached in plain text; none while they stay as they are.
    goal: Option<bool>,
}

impl Turn {
    pub(super) fn is_plain(&self, member: &str) -> bool {
        self.plain.get(member).copied().unwrap_or(self.new_in_plain)
    }

    pub(super) fn is_misplaced(&self, member: &str) -> bool {
        self.goal.is_some_and(|goal| self.is_plain(member) != goal)
    }

    /// Whether members with another address than they are to have get one in plain text.
    pub(super) fn goes_plain(&self) -> bool {
        self.goal == Some(true)
    }
}

/// Brings the Secrets that members are started with nearer to those of the spec.
pub(super) fn follow(
    cluster: &Cluster,
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
    members: &[&str],
    in_use: &mut TlsSecrets,
) -> Turn {
    let mut turn = Turn {
        why_not: why_not(cluster, snapshot, memory),
        ..Turn::default()
    };
    let wanted = &cluster.wanted_tls;
    let was_plain = in_use.peer.is_none();
    let wakes = is_waking(cluster, memory);
    if (wakes || turn.why_not.is_none()) && in_use.server.is_none() && wanted.server.is_some() {
        // Turned round in its middle: whoever is started next speaks as the others still do.
        in_use.server = own(snapshot).find_map(|pod| pod.server_secret.clone());
    }
    if wakes {
        // All of them are started next, and with clients each speaks as the spec has it.
        turn.awaited = begin(cluster, snapshot, members, false, in_use);
    }
    if turn.why_not.is_none() {
        // Until it is known at which addresses members are reached, nobody could be started to listen there.
        let are_reached = confirmed(snapshot, memory).is_some();
        turn.awaited = begin(cluster, snapshot, members, are_reached, in_use);
        if wanted.server.is_none() {
            in_use.server = None;
        }
    }
    // Until the last member has been started without certificates, the operator needs its own.
    if in_use.server.is_none() && !heard(snapshot, memory).any(|pod| pod.server_secret.is_some()) {
        in_use.operator = None;
    }
    if memory.cluster_id.is_none() {
        return turn;
    }
    turn.plain = addresses(snapshot, memory, was_plain);
    if in_use.peer.is_none() {
        // A request that was on its way when the others were turned can come after them; nobody listens at its address.
        turn.goal = turn.why_not.is_none().then_some(true);
        return turn;
    }
    let all_speak_both = heard(snapshot, memory).all(|pod| pod.peer_secret == in_use.peer);
    turn.new_in_plain = !all_speak_both;
    if turn.why_not.is_none() {
        turn.goal = match wanted.peer {
            Some(_) => all_speak_both.then_some(false),
            None => Some(true),
        };
        turn.new_in_plain |= wanted.peer.is_none();
        if wanted.peer.is_none() && is_all_plain(&turn, snapshot, memory) {
            in_use.peer = None;
        }
    }
    turn
}

/// Takes on the Secrets of roles that have none, where they work. Says what is wrong with them otherwise.
fn begin(
    cluster: &Cluster,
    snapshot: &Snapshot,
    members: &[&str],
    are_reached: bool,
    in_use: &mut TlsSecrets,
) -> Vec<Complaint> {
    let wanted = &cluster.wanted_tls;
    let begins = |role: TlsRole| in_use.of_role(role).is_none() && wanted.of_role(role).is_some();
    let (peer, server) = (
        are_reached && begins(TlsRole::Peer),
        begins(TlsRole::Server),
    );
    let roles = [
        (TlsRole::Peer, peer),
        (TlsRole::Server, server),
        (TlsRole::Operator, server),
    ];
    let wrong: Vec<Complaint> = roles
        .into_iter()
        .filter(|(_, begins)| *begins)
        .filter_map(|(role, _)| {
            let name = wanted.of_role(role)?;
            let found = snapshot.secrets.get(name).and_then(Observed::seen);
            let has = |key: &str| found.is_some_and(|secret| secret.digests.contains_key(key));
            complaint(cluster, snapshot, role, name, role.files(has), members)
        })
        .collect();
    if wrong.is_empty() {
        if peer {
            in_use.peer.clone_from(&wanted.peer);
        }
        if server {
            in_use.server.clone_from(&wanted.server);
        }
    }
    wrong
}

/// Whether members that were stopped are about to be started again.
fn is_waking(cluster: &Cluster, memory: &EtcdClusterStatus) -> bool {
    memory.asleep_since.is_some() && !cluster.paused && cluster.size.is_some_and(|size| size > 0)
}

/// What must pass before anything is turned, in words for people.
fn why_not(cluster: &Cluster, snapshot: &Snapshot, memory: &EtcdClusterStatus) -> Option<String> {
    let is_recovered = memory
        .recovery
        .as_ref()
        .is_some_and(|one| one.is_under_way());
    let is_restored = memory
        .restoration
        .as_ref()
        .is_some_and(|one| one.is_under_way());
    let has_old = own(snapshot).any(|pod| {
        !pod.annotations
            .contains_key(names::INITIAL_CLUSTER_ANNOTATION)
    });
    let words = if memory.cluster_id.is_none() {
        "the members form a cluster first"
    } else if cluster.paused {
        "spec.paused is true"
    } else if memory.asleep_since.is_some() {
        "the members are stopped. Set spec.TLS back until they run again"
    } else if is_recovered || is_restored {
        "the cluster is being recovered first"
    } else if has_old {
        "pods as the archived operator made them stay as they are. Have them renewed first (see docs/coming-from-coreos.md)"
    } else {
        return None;
    };
    Some(words.to_owned())
}

/// Members with an address, as the confirmed list has it, else as it is remembered; and whether it is one in plain text.
fn addresses(
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
    was_plain: bool,
) -> BTreeMap<String, bool> {
    let mut plain: BTreeMap<String, bool> = memory
        .member_records
        .iter()
        .map(|record| (record.name.clone(), was_plain || record.plain_peer))
        .collect();
    let list = confirmed(snapshot, memory);
    for member in list.into_iter().flat_map(|list| &list.members) {
        let is_plain = member
            .peer_urls
            .iter()
            .any(|url| url.starts_with("http://"));
        plain.insert(name_of(member).to_owned(), is_plain);
    }
    plain
}

/// The members of the cluster, where a quorum says who they are.
fn confirmed<'a>(snapshot: &'a Snapshot, memory: &EtcdClusterStatus) -> Option<&'a Membership> {
    let list = snapshot.etcd.membership.seen()?;
    (list.linearizable && Some(list.cluster_id) == memory.cluster_id).then_some(list)
}

/// Whether peers reach everybody in plain text, and everybody listens there.
fn is_all_plain(turn: &Turn, snapshot: &Snapshot, memory: &EtcdClusterStatus) -> bool {
    let list = confirmed(snapshot, memory);
    let mut listed = list.into_iter().flat_map(|list| &list.members).peekable();
    listed.peek().is_some()
        && listed.all(|member| turn.plain.get(name_of(member)) == Some(&true))
        && heard(snapshot, memory).all(listens_plain)
}

/// Whether the pod listens to its peers in plain text.
pub(super) fn listens_plain(pod: &Pod) -> bool {
    let plain = pod.annotations.get(names::PLAIN_ANNOTATION);
    pod.peer_secret.is_none()
        || plain.is_some_and(|plain| plain.split(',').any(|who| who == names::PLAIN_PEERS))
}

/// The cluster's own pods, but those on their way out whose members have left: nobody talks with them any more, and on a node
/// that does not answer they never end.
fn heard<'a>(snapshot: &'a Snapshot, memory: &EtcdClusterStatus) -> impl Iterator<Item = &'a Pod> {
    let list = confirmed(snapshot, memory);
    own(snapshot).filter(move |pod| {
        let is_listed = |list: &Membership| list.members.iter().any(|row| name_of(row) == pod.name);
        pod.deleted.is_none() || list.is_none_or(is_listed)
    })
}

/// The cluster's own pods.
fn own(snapshot: &Snapshot) -> impl Iterator<Item = &Pod> {
    let pods = snapshot.objects.pods.seen().into_iter().flatten();
    pods.filter(|pod| pod.owner.as_deref() == Some(snapshot.resource.uid.as_str()))
}
