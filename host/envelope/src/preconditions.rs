//! Which preconditions an effect must carry; the table is in the crate's documentation.
//!
//! Looks at the decision alone. Whether they hold is [`crate::check`]'s question.

use contract::{
    Action, BackupEffect, Child, Effect, ObjectKind, ObjectPrecondition, PeerEffect, Preconditions,
    RestoreEffect, ScheduleEffect,
};

use crate::Refusal;
use crate::arguments::InitialCluster;
use crate::fresh::claim_of;
use crate::pod::{fills, is_alone};

/// Adds a refusal for each precondition that `action` lacks. `before` are the actions of the decision before it.
pub(crate) fn require(action: &Action, before: &[Action], refusals: &mut Vec<Refusal>) {
    let Action { effect, pre } = action;
    let missing = missing(effect, pre, before);
    refusals.extend(
        missing
            .into_iter()
            .map(|field| Refusal::MissingPrecondition {
                effect: effect.name(),
                target: effect.target(),
                field,
            }),
    );
}

fn missing(effect: &Effect, pre: &Preconditions, before: &[Action]) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let mut need = |there: bool, field: &'static str| {
        if !there {
            missing.push(field);
        }
    };
    let present = matches!(pre.object, Some(ObjectPrecondition::Present { .. }));
    let is_birth = pre.birth_token.is_some();
    let is_departed = pre.departed.is_some();
    match effect {
        Effect::UpdateStatus { .. } => need(pre.resource_version.is_some(), "resourceVersion"),
        Effect::Event { .. } => {}
        Effect::Issue { .. } => need(pre.object.is_some(), "object"),
        Effect::Apply { object } => {
            need(pre.object.is_some(), "object");
            if let Child::Pod(pod) = &**object {
                // A pod that is there is changed by effects of their own, which count votes.
                need(pre.object == Some(ObjectPrecondition::Absent), "object");
                let initial = InitialCluster::of_pod(pod);
                need(initial != InitialCluster::New || is_birth, "birthToken");
                need(!initial.joins() || pre.cluster_id.is_some(), "clusterId");
                need(!initial.joins() || pre.members.is_some(), "members");
                let claim = claim_of(pod);
                let is_fresh = claim
                    .as_ref()
                    .is_none_or(|claim| makes_claim(before, claim));
                need(is_fresh || pre.claim_uid.is_some(), "claimUid");
                need(!is_alone(pod) || pre.recovery, "recovery");
                need(!fills(pod) || pre.restore.is_some(), "restore");
            }
        }
        Effect::AnnotatePod { name, annotations } => {
            need(present, "object");
            let joins = InitialCluster::new(name, annotations).joins();
            need(!joins || pre.cluster_id.is_some(), "clusterId");
            need(!joins || pre.members.is_some(), "members");
        }
        Effect::TakeUpClaim { .. } => need(present, "object"),
        Effect::RetireReplicaSet { .. } => {
            need(present, "object");
            need(pre.touches.is_some(), "touches");
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
            need(pre.healthy_voters.is_some(), "healthyVoters");
        }
        Effect::Peer(effect) => {
            let deletes = matches!(effect, PeerEffect::DeleteClaim { .. });
            need(present || !deletes, "object");
            need(pre.departed.as_deref() == Some(effect.target()), "departed");
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
        }
        Effect::SetImage { .. } => {
            need(present, "object");
            need(pre.object_version.is_some(), "objectVersion");
            if pre.touches.is_some() {
                need(pre.cluster_id.is_some(), "clusterId");
                need(pre.members.is_some(), "members");
                need(pre.healthy_voters.is_some(), "healthyVoters");
            }
        }
        Effect::Delete {
            kind: ObjectKind::Pod,
            ..
        } => {
            need(present, "object");
            if !is_departed && !is_birth && pre.touches.is_some() {
                need(pre.cluster_id.is_some(), "clusterId");
                need(pre.members.is_some(), "members");
                need(pre.healthy_voters.is_some(), "healthyVoters");
            }
        }
        Effect::Delete {
            kind: ObjectKind::PersistentVolumeClaim,
            ..
        } => {
            need(present, "object");
            need(is_departed || is_birth, "departed");
        }
        Effect::Delete {
            kind:
                ObjectKind::Service
                | ObjectKind::PodDisruptionBudget
                | ObjectKind::Secret
                | ObjectKind::ReplicaSet,
            ..
        } => need(present, "object"),
        Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. } => {
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
            need(pre.healthy_voters.is_some(), "healthyVoters");
        }
        Effect::Compact { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. } => {
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
            need(pre.healthy_voters.is_some(), "healthyVoters");
        }
        Effect::Defragment { .. } => {
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
            need(pre.healthy_voters.is_some(), "healthyVoters");
            need(pre.touches.is_some(), "touches");
        }
        Effect::MoveLeader { .. } => {
            need(pre.cluster_id.is_some(), "clusterId");
            need(pre.members.is_some(), "members");
            need(pre.leader.is_some(), "leader");
        }
        Effect::Backup(effect) => match effect {
            BackupEffect::UpdateStatus { .. } => {
                need(pre.resource_version.is_some(), "resourceVersion");
            }
            BackupEffect::Take(_)
            | BackupEffect::Verify { .. }
            | BackupEffect::Rehearse(_)
            | BackupEffect::EndRehearsal { .. } => need(pre.run.is_some(), "run"),
            BackupEffect::Delete { .. }
            | BackupEffect::Hold { .. }
            | BackupEffect::Release { .. } => {}
        },
        Effect::Restore(effect) => match effect {
            RestoreEffect::UpdateStatus { .. } => {
                need(pre.resource_version.is_some(), "resourceVersion");
            }
            RestoreEffect::Prove { .. } => need(pre.run.is_some(), "run"),
            RestoreEffect::CreateCluster { .. } => {}
        },
        Effect::Schedule(effect) => match effect {
            ScheduleEffect::UpdateStatus { .. } => {
                need(pre.resource_version.is_some(), "resourceVersion");
            }
            ScheduleEffect::CreateBackup { .. } => need(pre.run.is_some(), "run"),
            ScheduleEffect::DeleteBackup { .. } => need(present, "object"),
            ScheduleEffect::Release { .. } => {}
        },
    }
    missing
}

/// Whether a pod is deleted for the next one on the same claim, or for one that sleeps there.
pub(crate) fn relies_on_claim(pre: &Preconditions) -> bool {
    let is_next = pre.departed.is_none() && pre.birth_token.is_none() && pre.restore.is_none();
    let is_named = pre.claim_uid.is_some() || (pre.touches.is_some() && !pre.recovery);
    (pre.scaled_to_zero && pre.departed.is_none()) || (is_next && is_named)
}

/// Whether an action before this one makes the claim, so that no snapshot can know its uid.
fn makes_claim(before: &[Action], name: &str) -> bool {
    before.iter().any(|action| {
        action.pre.object == Some(ObjectPrecondition::Absent)
            && matches!(&action.effect, Effect::Apply { object }
                if object.kind() == ObjectKind::PersistentVolumeClaim && object.name() == name)
    })
}
