//! Judges one action against a fresh read, immediately before its effect.
//!
//! First the preconditions that the module gave, then the envelope's own rules, which hold whatever was given:
//! nobody else's object, no `new` in a living cluster, no disk of a listed member, no program that is too old for the
//! data, never fewer healthy voters than a quorum.

mod alarm;
mod clock;
mod disk;
mod downgrade;
mod membership;
mod precondition;
mod recovery;
mod restart;
mod restoration;
mod zero;

use contract::{Action, Child, Effect, ObjectKind, Observed, names};

use crate::arguments::InitialCluster;
use crate::backup::check_backup;
use crate::fresh::{Fresh, reads};
use crate::peer::check_peer;
use crate::pod::{fills, is_alone};
use crate::restore::check_restore;
use crate::schedule::check_schedule;
use crate::{Reads, Refusal, ResourceHead};
pub use alarm::AlarmRefusal;
pub(crate) use alarm::check_loss;
use alarm::{check_compaction, check_defragmentation, check_disarm, check_noop};
pub use clock::CLOCKS_DIFFER;
pub(crate) use clock::check_clock;
use disk::{check_claim_deletion, check_pod_deletion, check_start, check_unborn};
use downgrade::{check_data, check_downgrade};
pub use membership::has_received;
pub(crate) use membership::living;
use membership::{check_addition, check_address, check_move, check_promotion, check_removal};
use precondition::{check_birth, check_claim, check_etcd, check_object, check_resource};
use recovery::{check_alone, check_recovery};
use restart::{check_hand_over, check_restart};
use restoration::{check_filling, check_restoration};
use zero::check_sleep;

/// Says whether the action may be carried out now.
///
/// # Errors
/// The first rule that it breaks; nothing of the action may happen then.
pub fn check(action: &Action, fresh: &Fresh) -> Result<(), Refusal> {
    let Action { effect, pre } = action;
    if !fresh.lease_held {
        return Err(Refusal::LeaseLost);
    }
    let resource = check_resource(effect, pre, fresh)?;
    let Reads {
        object,
        claim,
        etcd: _,
        clock: _,
        stored: _,
        restore: _,
        scheduled: _,
    } = reads(action);
    let object = match object {
        Some((kind, name)) => {
            let owners = owners(effect, resource);
            check_object(kind, &name, pre, &owners, &fresh.object)?
        }
        None => None,
    };
    // Where the data is in the pod there is none, and the archived operator gave its own no owner.
    let is_on_claim = match effect.kind() {
        Some(ObjectKind::Pod) => object.is_none_or(|head| head.claim.is_some()),
        Some(ObjectKind::ReplicaSet) => false,
        Some(_) | None => true,
    };
    if let Some(name) = claim.filter(|_| is_on_claim) {
        check_claim(&name, pre, resource, &fresh.claim)?;
    }
    check_birth(pre, resource)?;
    check_etcd(action, resource, &fresh.etcd)?;
    match effect {
        Effect::UpdateStatus { status } => {
            check_sleep(status, resource, &fresh.etcd)?;
            check_recovery(status, resource, &fresh.etcd)?;
            check_restoration(status, resource, &fresh.restore, &fresh.etcd)
        }
        Effect::Event { .. } => Ok(()),
        Effect::Apply { object } => match &**object {
            Child::Pod(pod) => {
                if is_alone(pod) {
                    check_alone(object.name(), pre, resource, &fresh.etcd)?;
                }
                if fills(pod) {
                    check_filling(object.name(), pre, resource, &fresh.restore)?;
                }
                check_start(
                    InitialCluster::of_pod(pod),
                    object.name(),
                    pre,
                    resource,
                    &fresh.etcd,
                )
            }
            // Nobody's writes are taken before the status says in which cluster they are.
            Child::Service(_)
                if object.name() == names::client_service(&resource.name)
                    && resource.cluster_id == Observed::Absent =>
            {
                Err(Refusal::Unborn)
            }
            Child::PersistentVolumeClaim(_) | Child::Service(_) | Child::PodDisruptionBudget(_) => {
                Ok(())
            }
        },
        Effect::AnnotatePod { name, annotations } => check_start(
            InitialCluster::new(name, annotations),
            name,
            pre,
            resource,
            &fresh.etcd,
        ),
        Effect::TakeUpClaim { from, .. } if from.is_empty() && resource.taking_over => Ok(()),
        Effect::TakeUpClaim { name, from: _ } => check_unborn(name, resource),
        Effect::RetireReplicaSet { name, owner: _ } => check_hand_over(name, pre, resource, fresh),
        Effect::SetImage { name, image, .. } => {
            check_data(image, pre, &fresh.etcd)?;
            check_restart(name, pre, resource, object, &fresh.etcd)
        }
        Effect::Delete {
            kind: ObjectKind::Pod,
            name,
            grace_seconds: _,
        } => check_pod_deletion(name, pre, resource, object, fresh),
        Effect::Delete {
            kind: ObjectKind::PersistentVolumeClaim,
            name,
            grace_seconds: _,
        } => check_claim_deletion(name, pre, resource, &fresh.etcd),
        Effect::Delete {
            kind:
                ObjectKind::Service
                | ObjectKind::PodDisruptionBudget
                | ObjectKind::Secret
                | ObjectKind::ReplicaSet,
            ..
        } => Ok(()),
        Effect::Issue { .. } => check_clock(&fresh.clock_ahead),
        Effect::AddLearner { name, peer_urls } => {
            check_addition(name, peer_urls, resource, &fresh.etcd)
        }
        Effect::Promote { member } => check_promotion(*member, resource, &fresh.etcd),
        Effect::RemoveMember { member } => check_removal(*member, resource, &fresh.etcd),
        Effect::UpdateMember { member, peer_urls } => {
            check_address(*member, peer_urls, resource, &fresh.etcd)
        }
        Effect::MoveLeader { to } => check_move(*to, resource, &fresh.etcd),
        Effect::Compact { revision } => check_compaction(*revision, resource, &fresh.etcd),
        Effect::Defragment { member } => check_defragmentation(*member, resource, &fresh.etcd),
        Effect::AppendNoop => check_noop(resource, &fresh.etcd),
        Effect::Disarm { kind, member: _ } => check_disarm(*kind, resource, &fresh.etcd),
        Effect::Downgrade { to } => check_downgrade(to.as_deref(), resource, &fresh.etcd),
        Effect::Peer(effect) => check_peer(effect, resource, &fresh.etcd),
        Effect::Backup(effect) => check_backup(effect, fresh),
        Effect::Restore(effect) => check_restore(effect, fresh),
        Effect::Schedule(effect) => check_schedule(effect, pre, resource, fresh),
    }
}

/// Whose the object may be that the effect touches; none stands for nobody's.
fn owners<'a>(effect: &'a Effect, resource: &'a ResourceHead) -> Vec<Option<&'a str>> {
    let owner = match effect {
        Effect::TakeUpClaim { from, .. } => from,
        Effect::RetireReplicaSet { owner, .. } => owner,
        // The archived operator gave its claims no owner.
        Effect::Peer(_) => return vec![None, Some(&resource.uid)],
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::Apply { .. }
        | Effect::AnnotatePod { .. }
        | Effect::SetImage { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => &resource.uid,
    };
    vec![Some(owner.as_str()).filter(|owner| !owner.is_empty())]
}

#[cfg(test)]
mod tests;
