//! Has certificates made where the spec leaves them to the operator: authorities, what they sign, and others in time.
//!
//! # Flow of a change of authorities
//! 1. Fresh authorities stand beside the old ones; every Secret gets both into its list.
//! 2. Members restart one by one and trust both; that is [`super::renew`]'s.
//! 3. Fresh certificates come from the new authorities, which members read without a restart.
//! 4. When they have reached every pod, the old authorities go; members restart once more and trust the new ones alone.
//!
//! # Guarantees
//! At each moment everybody trusts whoever everybody else shows.

use contract::{
    Effect, EventType, FindingKind, Millis, Observed, Order, Reason, Secret, TlsRole,
    authority_keys, certificate_covers, names,
};

use super::{LATER, SOON, Step, domain};
use crate::assess::{Living, Situation};
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// A certificate is made anew when less than this part of its time is left; an authority, too.
const LAST_PART: i64 = 3;
/// How old a certificate must be to be in every pod: the kubelet looks once a minute or so, and a certificate begins some
/// minutes before it was made, because clocks differ.
const SPREAD: Millis = Millis::seconds(900);

/// Asks for what is missing. Says whether members should not be born before it is there.
pub(super) fn issue(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &mut Step,
) -> bool {
    let Some(generation) = cluster.generation else {
        return false;
    };
    let (snapshot, memory) = (situation.snapshot, situation.memory);
    if say_foreign(cluster, situation, step) {
        return true;
    }
    let is_born = memory.cluster_id.is_some() || memory.birth.is_some();
    let place = names::authorities_secret(&cluster.name);
    let authorities = match snapshot.secrets.get(&place) {
        Some(Observed::Seen(secret)) => secret,
        Some(Observed::Absent) if !is_born || cluster.tls.in_use.is_plain() => {
            order(situation, &place, None, Order::Authorities, step);
            step.authority_generation = Some(generation);
            return true;
        }
        Some(Observed::Absent) => {
            step.find(
                FindingKind::Blocked,
                Reason::SecretMissing,
                format!(
                    "Secret {place} with the cluster's authorities is gone, so no certificate can be renewed. Put it back. \
                     Members run on until their certificates end."
                ),
            );
            return true;
        }
        Some(Observed::Unknown(_)) | None => {
            step.look_again(LATER, Reason::SecretUnreadable);
            return true;
        }
    };
    let ground = Ground {
        cluster,
        situation,
        living,
        authorities,
    };
    let mut is_quiet = true;
    for role in TlsRole::ALL {
        let name = names::made_secret(&cluster.name, role);
        if let Some((found, wanted)) = ground.missing(role, &name) {
            order(situation, &name, found, wanted, step);
            is_quiet = false;
        }
    }
    if !is_quiet || !is_born {
        return !is_quiet;
    }
    let recorded = memory.authority_generation.unwrap_or(generation);
    if ground.is_changing() {
        if ground.has_spread() {
            order(
                situation,
                &place,
                Some(authorities),
                Order::NewestAuthorities,
                step,
            );
            step.authority_generation = Some(generation);
        }
    } else if (generation > recorded || ground.is_old()) && ground.is_calm() {
        order(
            situation,
            &place,
            Some(authorities),
            Order::Authorities,
            step,
        );
    }
    false
}

/// Names Secrets of somebody else that stand where the operator's own must be. Says whether there are any.
fn say_foreign(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    let snapshot = situation.snapshot;
    let made = TlsRole::ALL.map(|role| names::made_secret(&cluster.name, role));
    let all = made
        .into_iter()
        .chain([names::authorities_secret(&cluster.name)]);
    let foreign: Vec<String> = all
        .filter(|name| {
            let found = snapshot.secrets.get(name).and_then(Observed::seen);
            found.is_some_and(|secret| secret.owner.as_deref() != Some(&snapshot.resource.uid))
        })
        .collect();
    if foreign.is_empty() {
        return false;
    }
    step.find(
        FindingKind::Blocked,
        Reason::ForeignObject,
        format!(
            "Secret {} belongs to somebody else and is left alone, but spec.TLS.auto needs that name. Name such Secrets in \
             spec.TLS.static instead, or delete or rename them.",
            foreign.join(", ")
        ),
    );
    step.look_again(LATER, Reason::ForeignObject);
    true
}

struct Ground<'g, 'a> {
    cluster: &'g Cluster,
    situation: &'g Situation<'a>,
    living: Option<&'g Living<'a>>,
    authorities: &'a Secret,
}

impl<'a> Ground<'_, 'a> {
    /// What a role's Secret lacks, with the Secret as it is.
    fn missing(&self, role: TlsRole, name: &str) -> Option<(Option<&'a Secret>, Order)> {
        let certificate = || {
            Some(Order::Certificate {
                role,
                names: self.names(role),
                by: self.signer(role)?.to_owned(),
            })
        };
        let found = match self.situation.snapshot.secrets.get(name) {
            Some(Observed::Seen(secret)) => secret,
            Some(Observed::Absent) => return Some((None, certificate()?)),
            Some(Observed::Unknown(_)) | None => return None,
        };
        let files = contract::MADE_FILES;
        let is_whole = [files.certificate, files.key]
            .into_iter()
            .all(|key| found.digests.contains_key(key) && !found.problems.contains_key(key));
        let vouching = found.authorities.get(files.certificate);
        let is_by_signer = vouching
            .zip(self.signer(role))
            .is_some_and(|(vouching, signer)| vouching.iter().any(|one| one == signer));
        let trusted = found.authorities.get(files.authority);
        // The list comes first: whether the certificate is vouched for is known only then.
        if trusted.map(Vec::as_slice) != Some(self.list(role)) && is_whole_but_trust(found) {
            return Some((Some(found), Order::Trust { role }));
        }
        if is_whole
            && is_by_signer
            && self.is_named(role, found)
            && is_in_time(found, files.certificate, self.now())
        {
            return None;
        }
        Some((Some(found), certificate()?))
    }

    fn now(&self) -> Millis {
        self.situation.snapshot.now
    }

    /// Fingerprints of the authorities for a role, newest first.
    fn list(&self, role: TlsRole) -> &'a [String] {
        let (list, _) = authority_keys(role);
        self.authorities
            .authorities
            .get(list)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The newest authority that every member trusts.
    fn signer(&self, role: TlsRole) -> Option<&'a str> {
        let list = self.list(role);
        list.iter()
            .find(|one| self.is_trusted(role, one))
            .or_else(|| list.last())
            .map(String::as_str)
    }

    /// Whether every pod trusts the authority, but those on their way out whose members have left: on a node that does not
    /// answer they never end, and nobody talks with them any more.
    fn is_trusted(&self, role: TlsRole, authority: &str) -> bool {
        self.living.is_none_or(|living| {
            let is_listed = |name: &str| living.members.iter().any(|member| member.name == name);
            living
                .pods
                .iter()
                .filter(|(name, pod)| {
                    pod.deleted.is_none() || living.membership.is_none() || is_listed(name)
                })
                .all(|(_, pod)| crate::tls::trusts(pod, role, authority))
        })
    }

    /// The names a role's certificate must be for.
    fn names(&self, role: TlsRole) -> Vec<String> {
        let Cluster {
            name, namespace, ..
        } = self.cluster;
        let asked = self.cluster.pod.cluster_domain.as_deref();
        let mut domains = vec![""];
        domains.extend(asked.filter(|domain| !domain.is_empty()));
        for listed in self.listed_domains() {
            if !domains.contains(&listed) {
                domains.push(listed);
            }
        }
        let member = |domain: &&str| names::member_host("*", name, namespace, domain);
        let client =
            |domain: &&str| format!("{}.{namespace}.svc{domain}", names::client_service(name));
        match role {
            // etcd lets a peer in whose address DNS has for a name in its certificate: the Service's has all of them.
            TlsRole::Peer => domains
                .iter()
                .map(member)
                .chain([format!("{}.{namespace}.svc", names::peer_service(name))])
                .collect(),
            TlsRole::Server => domains
                .iter()
                .flat_map(|domain| [member(domain), client(domain)])
                .chain(["localhost".to_owned()])
                .collect(),
            TlsRole::Operator => Vec::new(),
        }
    }

    /// Members keep the address that they joined with, and are dialed there.
    fn listed_domains(&self) -> impl Iterator<Item = &'a str> {
        let list = self.situation.snapshot.etcd.membership.seen();
        let members = list.into_iter().flat_map(|list| &list.members);
        let urls = members.flat_map(|member| &member.peer_urls);
        let found = urls.filter_map(|url| domain::of(self.cluster, url));
        found.filter(|domain| {
            domain.starts_with('.')
                && domain
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-'))
        })
    }

    fn is_named(&self, role: TlsRole, found: &Secret) -> bool {
        let none = Vec::new();
        let has = found
            .names
            .get(contract::MADE_FILES.certificate)
            .unwrap_or(&none);
        let is_for = |wanted: &String| has.iter().any(|name| certificate_covers(name, wanted));
        self.names(role).iter().all(is_for)
    }

    /// Old and new authorities stand beside one another.
    fn is_changing(&self) -> bool {
        TlsRole::ALL
            .into_iter()
            .any(|role| self.list(role).len() > 1)
    }

    /// Certificates of the newest authorities have reached every pod, and every pod trusts them.
    fn has_spread(&self) -> bool {
        TlsRole::ALL.into_iter().all(|role| {
            let Some(newest) = self.list(role).first() else {
                return false;
            };
            let name = names::made_secret(&self.cluster.name, role);
            let secret = self
                .situation
                .snapshot
                .secrets
                .get(&name)
                .and_then(Observed::seen);
            let since = secret.and_then(|secret| {
                let key = contract::MADE_FILES.certificate;
                let vouching = secret.authorities.get(key)?;
                vouching
                    .contains(newest)
                    .then(|| secret.not_before.get(key).copied())?
            });
            self.is_trusted(role, newest)
                && since.is_some_and(|since| self.now().since(since) >= SPREAD)
        })
    }

    /// An authority is near its end.
    fn is_old(&self) -> bool {
        TlsRole::ALL
            .into_iter()
            .any(|role| !is_in_time(self.authorities, authority_keys(role).0, self.now()))
    }

    fn is_calm(&self) -> bool {
        self.living.is_some_and(|living| {
            living.membership.is_some()
                && living.learner().is_none()
                && living.voters().all(crate::assess::Member::is_healthy)
        })
    }
}

/// Whether the certificate and the key are there, so that the list can be put beside them.
fn is_whole_but_trust(found: &Secret) -> bool {
    let files = contract::MADE_FILES;
    [files.certificate, files.key]
        .into_iter()
        .all(|key| found.digests.contains_key(key))
}

/// Whether it has begun and does not end soon. What a wrong clock dated begins in time to come.
fn is_in_time(secret: &Secret, key: &str, now: Millis) -> bool {
    let (Some(begin), Some(end)) = (secret.not_before.get(key), secret.not_after.get(key)) else {
        return false;
    };
    *begin <= now && end.0.saturating_sub(now.0) >= end.0.saturating_sub(begin.0) / LAST_PART
}

fn order(
    situation: &Situation<'_>,
    secret: &str,
    found: Option<&Secret>,
    order: Order,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let what = match &order {
        Order::Authorities => "fresh authorities",
        Order::NewestAuthorities => "the newest authorities alone",
        Order::Certificate { .. } => "a fresh certificate",
        Order::Trust { .. } => "the list of all authorities",
    };
    let effect = Effect::Issue {
        secret: secret.to_owned(),
        order,
    };
    let action = pre::action(resource, effect);
    step.actions.push(match found {
        Some(found) => action.present(&found.uid),
        None => action.absent(),
    });
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::IssuingCertificates,
        format!("Secret {secret} gets {what}"),
    ));
    step.find(
        FindingKind::Doing,
        Reason::IssuingCertificates,
        format!("Secret {secret} gets {what}."),
    );
    step.look_again(SOON, Reason::IssuingCertificates);
}
