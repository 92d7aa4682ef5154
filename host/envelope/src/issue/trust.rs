//! Whom running members trust, which no order may break: at each moment everybody trusts whoever everybody else shows.
//!
//! A member trusts the authorities that it was started with, and its pod is told which those are ([`crate::pod::trusts`]).
//! Members that do not mount the Secrets of the operator's own making see nothing of an order.
//!
//! # What the snapshot does not show
//! Whether clients that people run trust an authority. Whether the operator itself is let in meanwhile, whose own list is
//! the next order's, is not judged either. Where a person put other authorities in the place of those that members trust,
//! nobody could sign what is trusted: the oldest may sign then, as always.

use contract::{
    Action, Effect, MADE_FILES, Millis, Observed, Order, Pod, Secret, Snapshot, TlsRole,
    authority_keys, names,
};

use crate::fresh::ResourceHead;
use crate::pod::{mounted, own_pods, trusts};
use crate::secrets::is_planned;

/// How old a certificate must be to be in every pod: the kubelet looks once a minute or so, and what is made begins
/// some minutes before it was made, because clocks differ.
const IN_EVERY_POD: Millis = Millis::seconds(900);

/// Says why an order would leave members that refuse one another, if it would.
pub(super) fn why_not(order: &Order, before: &[Action], snapshot: &Snapshot) -> Option<String> {
    // By the snapshot one cannot say what the other leaves.
    let is_mixed = before.iter().any(|action| {
        matches!(&action.effect, Effect::Issue { order: other, .. }
            if is_of_authorities(order) || is_of_authorities(other))
    });
    if is_mixed {
        return Some("authorities beside another order".to_owned());
    }
    if matches!(snapshot.objects.pods, Observed::Unknown(_)) {
        return Some("certificates for pods that could not be listed".to_owned());
    }
    let place = names::authorities_secret(&snapshot.resource.name);
    let found = snapshot.secrets.get(&place);
    let trust = found.and_then(Observed::seen).map(|authorities| Trust {
        snapshot,
        authorities,
    });
    match (order, trust) {
        (Order::Trust { .. }, _) => None,
        (Order::Authorities | Order::NewestAuthorities, Some(trust)) => trust.why_not_drop(),
        (Order::Certificate { role, by, .. }, Some(trust)) => trust.why_not_sign(*role, by),
        (Order::Authorities, None) if found == Some(&Observed::Absent) => has_users(snapshot)
            .then(|| "fresh authorities in place of those that members trust".to_owned()),
        (Order::Authorities | Order::NewestAuthorities | Order::Certificate { .. }, None) => {
            Some("authorities that were not seen".to_owned())
        }
    }
}

const fn is_of_authorities(order: &Order) -> bool {
    match order {
        Order::Authorities | Order::NewestAuthorities => true,
        Order::Certificate { .. } | Order::Trust { .. } => false,
    }
}

/// Whether members of a cluster that was born run with certificates of the operator's own making.
fn has_users(snapshot: &Snapshot) -> bool {
    let id = snapshot.resource.status.get("clusterId");
    let is_born = id.is_some_and(|id| !id.is_null()) || is_planned(snapshot);
    is_born
        && TlsRole::ALL
            .into_iter()
            .any(|role| users(snapshot, role).next().is_some())
}

/// The members that judge the certificates of a role. A pod on its way out whose member has left judges none: nobody talks with
/// it any more, and on a node that does not answer it never ends.
fn users(snapshot: &Snapshot, role: TlsRole) -> impl Iterator<Item = &Pod> {
    let judge = match role {
        TlsRole::Peer => TlsRole::Peer,
        TlsRole::Server | TlsRole::Operator => TlsRole::Server,
    };
    let secret = names::made_secret(&snapshot.resource.name, judge);
    own_pods(snapshot)
        .filter(|pod| pod.deleted.is_none() || !has_left(snapshot, &pod.name))
        .filter(move |pod| mounted(pod, judge) == Some(secret.as_str()))
}

/// Whether a quorum of the recorded cluster confirms a list without the member.
fn has_left(snapshot: &Snapshot, member: &str) -> bool {
    let recorded = ResourceHead::of(&snapshot.resource).cluster_id;
    let list = snapshot.etcd.membership.seen();
    list.filter(|list| list.linearizable && recorded.seen() == Some(&list.cluster_id))
        .is_some_and(|list| {
            let mut urls = list.members.iter().flat_map(|row| &row.peer_urls);
            let mut named = list.members.iter().map(|row| row.name.as_str());
            !named.any(|name| name == member)
                && !urls.any(|url| names::member_of_url(url) == Some(member))
        })
}

struct Trust<'a> {
    snapshot: &'a Snapshot,
    authorities: &'a Secret,
}

impl Trust<'_> {
    /// Newest first.
    fn list(&self, role: TlsRole) -> &[String] {
        let (list, _) = authority_keys(role);
        let list = self.authorities.authorities.get(list);
        list.map(Vec::as_slice).unwrap_or_default()
    }

    fn is_trusted(&self, role: TlsRole, authority: &str) -> bool {
        users(self.snapshot, role).all(|pod| trusts(&pod.annotations, role, authority))
    }

    /// The oldest is the one that members were started with; any other signs when all of them trust it.
    fn why_not_sign(&self, role: TlsRole, by: &str) -> Option<String> {
        let list = self.list(role);
        if !list.iter().any(|one| one == by) {
            return Some(format!("the authority {by}"));
        }
        let is_oldest = list.last().is_some_and(|oldest| oldest == by);
        (!is_oldest && !self.is_trusted(role, by))
            .then(|| format!("the authority {by}, which not every member trusts yet"))
    }

    /// The older ones go when nobody shows a certificate of theirs and everybody trusts the newest.
    fn why_not_drop(&self) -> Option<String> {
        TlsRole::ALL.into_iter().find_map(|role| {
            let [newest, _, ..] = self.list(role) else {
                return None;
            };
            let what = if !self.is_trusted(role, newest) {
                "not every member trusts the newest authority yet"
            } else if !self.is_in_every_pod(role, newest) {
                "certificates of older authorities may be in use"
            } else {
                return None;
            };
            Some(format!("fewer authorities, although {what}"))
        })
    }

    /// Whether a role's certificate comes from this authority and has had time to reach every pod.
    fn is_in_every_pod(&self, role: TlsRole, authority: &str) -> bool {
        let name = names::made_secret(&self.snapshot.resource.name, role);
        let Some(Observed::Seen(secret)) = self.snapshot.secrets.get(&name) else {
            return false;
        };
        let key = MADE_FILES.certificate;
        let vouching = secret.authorities.get(key);
        vouching.is_some_and(|all| all.iter().any(|one| one == authority))
            && secret
                .not_before
                .get(key)
                .is_some_and(|begin| self.snapshot.now.since(*begin) >= IN_EVERY_POD)
    }
}

#[cfg(test)]
mod tests;
