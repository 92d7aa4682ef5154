//! The condition of volumes that were refused to grow: why, and since when it is so.
//!
//! It is also the memory by which they are asked for again, for `Blocked` may have something graver to say.

use contract::{Condition, ConditionStatus, FindingKind, Reason};

use super::{VOLUMES, claim, merge};
use crate::assess::{Living, Situation};
use crate::clock;
use crate::step::{Step, storage};
use crate::validate::Cluster;

/// The condition of the volumes, while some are too small and were refused to grow for this very spec.
pub(in crate::status) fn volumes(
    conditions: &mut Vec<Condition>,
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &Step,
) {
    let refused = step.findings.iter().find(|finding| {
        finding.kind == FindingKind::Blocked && finding.reason == Reason::VolumeNotGrown
    });
    let now = situation.snapshot.now;
    let too_small = living.map(|living| storage::too_small(cluster, living));
    let Some(refused) = refused else {
        let grew = too_small.is_some_and(|volumes| volumes.is_empty());
        if grew || !storage::is_of_this_spec(situation) {
            conditions.retain(|condition| condition.kind != VOLUMES);
        }
        return;
    };
    let (reason, message) = (refused.reason, refused.message.clone());
    let claims = vec![claim(VOLUMES, ConditionStatus::False, reason, message)];
    merge(conditions, now, claims);
    // It was asked for again, and the answer is the same.
    if too_small.is_some_and(|volumes| storage::refusal(situation, &volumes).is_some())
        && let Some(told) = conditions.iter_mut().find(|told| told.kind == VOLUMES)
    {
        told.last_update_time = Some(clock::spell(now));
    }
}
