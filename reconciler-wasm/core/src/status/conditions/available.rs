//! The condition `Available`: whether a quorum serves, as far as it is known.
//!
//! Takes over the words of findings that explain it better. Does not know what is done about it.

use contract::{AlarmKind, ConditionStatus, Reason};

use super::{AVAILABLE, Claim, claim};
use crate::assess::{Health, Living, Situation, Stage};
use crate::quorum::quorum;
use crate::status::is_unread;
use crate::step::Step;

pub(super) fn available(
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &Step,
    asleep: bool,
) -> Claim {
    let at_zero = step
        .findings
        .iter()
        .find(|finding| matches!(finding.reason, Reason::ScaledToZero | Reason::WakingUp));
    let at_restore = step
        .findings
        .iter()
        .find(|finding| matches!(finding.reason, Reason::Restoring | Reason::RestoreWaiting));
    let Some(living) = living else {
        return match &situation.stage {
            Stage::Unreadable { kind, why } => claim(
                AVAILABLE,
                ConditionStatus::Unknown,
                Reason::KubernetesUnreadable,
                format!("{kind} could not be listed: {why}"),
            ),
            Stage::Unborn if let Some(finding) = at_restore => claim(
                AVAILABLE,
                ConditionStatus::False,
                finding.reason,
                finding.message.clone(),
            ),
            Stage::Unborn if let Some(finding) = at_zero => claim(
                AVAILABLE,
                ConditionStatus::False,
                finding.reason,
                finding.message.clone(),
            ),
            Stage::Unborn | Stage::Unrecorded(_) | Stage::Forming { .. } | Stage::Formed { .. } => {
                claim(
                    AVAILABLE,
                    ConditionStatus::False,
                    Reason::Forming,
                    "No member answers yet.".to_owned(),
                )
            }
        };
    };
    let votes = living.votes();
    let counted = format!("{} of {} voters are healthy", votes.healthy, votes.voters);
    if situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt) {
        return claim(
            AVAILABLE,
            ConditionStatus::False,
            Reason::DataCorrupt,
            "etcd found that its members disagree on their data, and serves nobody.".to_owned(),
        );
    }
    if votes.has_quorum() && (living.membership.is_some() || step.cluster_id.is_some()) {
        return claim(
            AVAILABLE,
            ConditionStatus::True,
            Reason::QuorumHealthy,
            format!("{counted}."),
        );
    }
    let lost = step.findings.iter().find(|finding| {
        matches!(
            finding.reason,
            Reason::QuorumLost
                | Reason::DataLost
                | Reason::ClusterIdMismatch
                | Reason::RecoveringQuorum
                | Reason::Restoring
        )
    });
    if asleep && lost.is_none() {
        let (reason, message) = at_zero.map_or_else(
            || {
                (
                    Reason::ScaledToZero,
                    "The members are stopped on purpose.".to_owned(),
                )
            },
            |finding| (finding.reason, finding.message.clone()),
        );
        return claim(AVAILABLE, ConditionStatus::False, reason, message);
    }
    if matches!(situation.stage, Stage::Forming { .. }) {
        return claim(
            AVAILABLE,
            ConditionStatus::False,
            Reason::Forming,
            format!("{counted}; {} are needed.", quorum(votes.voters)),
        );
    }
    if votes.has_quorum() {
        return claim(
            AVAILABLE,
            ConditionStatus::Unknown,
            Reason::MembersUnknown,
            format!("{counted}, but none confirms the member list."),
        );
    }
    let unknown = living
        .voters()
        .filter(|member| matches!(member.health, Health::Unknown(_)))
        .count();
    if votes.healthy + unknown >= quorum(votes.voters)
        || is_unread(&situation.snapshot.objects.pods)
    {
        return claim(
            AVAILABLE,
            ConditionStatus::Unknown,
            Reason::MembersUnknown,
            format!(
                "{counted}, {unknown} could not be asked; {} are needed.",
                quorum(votes.voters)
            ),
        );
    }
    let (reason, message) = lost.map_or_else(
        || {
            (
                Reason::QuorumLost,
                format!("{counted}; {} are needed.", quorum(votes.voters)),
            )
        },
        |finding| (finding.reason, finding.message.clone()),
    );
    claim(AVAILABLE, ConditionStatus::False, reason, message)
}
