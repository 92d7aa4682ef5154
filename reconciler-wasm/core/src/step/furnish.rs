//! The objects around the members: the Services for peers and for clients; the disruption budget is [`budget`]'s.
//!
//! Writes what differs and nothing else. An object of somebody else is left alone and named.

use contract::{Child, Effect, FindingKind, ObjectKind, Observed, Reason, Service, names};

use super::{LATER, Step, budget};
use crate::assess::{Living, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// Applies the peers' Service and the budget where they differ. `living` is none at birth.
pub(super) fn furnish(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &mut Step,
) {
    service(
        cluster,
        situation,
        build::peer_service(cluster, &situation.snapshot.resource),
        step,
    );
    budget::keep(cluster, situation, living, step);
}

/// Whether no client was told of the cluster: the Service for them does not stand, or nobody knows.
pub(super) fn is_without_clients(cluster: &Cluster, situation: &Situation<'_>) -> bool {
    services(situation, &names::client_service(&cluster.name)).is_none()
}

/// Whether clients may have been told of the cluster: the Service for them stands, or nobody knows.
pub(super) fn may_have_clients(cluster: &Cluster, situation: &Situation<'_>) -> bool {
    let seen = situation.snapshot.objects.services.seen();
    seen.is_none() || !is_without_clients(cluster, situation)
}

/// Applies the Service for clients where it differs. It is made only once a majority is sealed: what a client writes
/// must never depend on a disk that could be founded anew.
pub(super) fn furnish_clients(
    cluster: &Cluster,
    situation: &Situation<'_>,
    is_sealed: bool,
    step: &mut Step,
) {
    if !is_sealed && is_without_clients(cluster, situation) {
        return;
    }
    service(
        cluster,
        situation,
        build::client_service(cluster, &situation.snapshot.resource),
        step,
    );
}

/// Whether somebody else's object stands where the peers' Service must be, without which no member can start.
pub(super) fn is_obstructed(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    let name = names::peer_service(&cluster.name);
    let foreign = foreign_owner(
        situation,
        ObjectKind::Service,
        &name,
        services(situation, &name),
    );
    if let Some(owner) = foreign {
        say_foreign(ObjectKind::Service, &name, &owner, step);
        return true;
    }
    false
}

fn services<'a>(situation: &Situation<'a>, name: &str) -> Option<&'a Service> {
    situation
        .snapshot
        .objects
        .services
        .seen()
        .and_then(|list| list.iter().find(|service| service.name == name))
}

fn service(
    cluster: &Cluster,
    situation: &Situation<'_>,
    wanted: k8s_openapi::api::core::v1::Service,
    step: &mut Step,
) {
    if let Observed::Unknown(why) = &situation.snapshot.objects.services {
        step.find(
            FindingKind::Waiting,
            Reason::KubernetesUnreadable,
            format!("Services could not be listed ({why})."),
        );
        return;
    }
    let name = wanted.metadata.name.clone().unwrap_or_default();
    let found = services(situation, &name);
    if let Some(owner) = foreign_owner(situation, ObjectKind::Service, &name, found) {
        say_foreign(ObjectKind::Service, &name, &owner, step);
        return;
    }
    if found.is_some_and(|found| {
        found.deleted.is_some() || build::is_service_as_wanted(found, &wanted, cluster)
    }) {
        return;
    }
    let action = pre::action(
        &situation.snapshot.resource,
        Effect::Apply {
            object: Box::new(Child::Service(wanted)),
        },
    );
    step.actions.push(match found {
        Some(found) => action.present(&found.uid),
        None => action.absent(),
    });
}

fn foreign_owner(
    situation: &Situation<'_>,
    kind: ObjectKind,
    name: &str,
    found: Option<&Service>,
) -> Option<String> {
    let refused = situation
        .snapshot
        .objects
        .foreign
        .iter()
        .find(|foreign| foreign.is(kind, name));
    match (found, refused) {
        (_, Some(foreign)) => Some(foreign.owner.clone()),
        (Some(found), None)
            if found.owner.as_deref() != Some(situation.snapshot.resource.uid.as_str()) =>
        {
            Some(found.owner.clone().map_or_else(
                || "nobody".to_owned(),
                |uid| format!("an object with UID {uid}"),
            ))
        }
        (Some(_) | None, None) => None,
    }
}

pub(super) fn say_foreign(kind: ObjectKind, name: &str, owner: &str, step: &mut Step) {
    step.find(
        FindingKind::Blocked,
        Reason::ForeignObject,
        format!(
            "{} {name} belongs to {owner} and is left alone, but this cluster needs that name. Delete it if nobody \
             needs it, or create the cluster under another name.",
            kind.name()
        ),
    );
    step.look_again(LATER, Reason::ForeignObject);
}
