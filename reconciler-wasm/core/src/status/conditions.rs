//! Conditions: what holds of the cluster, with a reason from one list and a sentence for people.
//!
//! Each type is always there once a cluster was looked at, so that its absence never means anything. Those of certificates
//! and of refused volumes are there where there are such.

mod applied;
mod available;
mod certificates;
mod turn;
mod volumes;

use contract::{AlarmKind, Condition, ConditionStatus, Finding, FindingKind, Millis, Reason};

use applied::spec_applied;
use available::available;
pub(super) use certificates::certificates;
pub(super) use turn::event;
use turn::merge;
pub(super) use volumes::volumes;

use crate::assess::{Living, Situation, Stage};
use crate::step::Step;
use crate::step::upgrade::{self, Direction, Plan};
use crate::validate::Cluster;

pub(crate) const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const DEGRADED: &str = "Degraded";
const SCALING: &str = "Scaling";
const UPGRADING: &str = "Upgrading";
const RECOVERING: &str = "Recovering";
pub(crate) const BLOCKED: &str = "Blocked";
const CERTIFICATES: &str = "CertificatesValid";
pub(crate) const VOLUMES: &str = "VolumesGrown";

/// What an alarm of etcd means for those who use it; the graver one first.
const ALARMS: [(AlarmKind, Reason, &str); 2] = [
    (
        AlarmKind::Corrupt,
        Reason::DataCorrupt,
        "etcd found that its members disagree on their data, and serves nobody.",
    ),
    (
        AlarmKind::Nospace,
        Reason::NoSpace,
        "etcd has no space left and serves only reads and deletes.",
    ),
];

/// One condition before its times are known.
struct Claim {
    kind: &'static str,
    status: ConditionStatus,
    reason: Reason,
    message: String,
}

/// Conditions of a spec that cannot be followed.
pub(super) fn refused(
    conditions: &mut Vec<Condition>,
    now: Millis,
    formed: bool,
    invalid: &Finding,
) {
    let mut claims = vec![claim(
        BLOCKED,
        ConditionStatus::True,
        invalid.reason,
        invalid.message.clone(),
    )];
    claims.push(claim(
        PROGRESSING,
        ConditionStatus::False,
        invalid.reason,
        "Nothing is done until the spec is corrected.".to_owned(),
    ));
    if formed {
        claims.extend(
            [AVAILABLE, DEGRADED, SCALING, UPGRADING, RECOVERING].map(|kind| {
                let words = "Members are not looked at until the spec is corrected.";
                claim(
                    kind,
                    ConditionStatus::Unknown,
                    invalid.reason,
                    words.to_owned(),
                )
            }),
        );
    } else {
        claims.push(claim(
            AVAILABLE,
            ConditionStatus::False,
            invalid.reason,
            "No member was started.".to_owned(),
        ));
    }
    merge(conditions, now, claims);
}

/// Conditions of a pass.
pub(super) fn render(
    conditions: &mut Vec<Condition>,
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &Step,
    asleep: bool,
) {
    let claims = vec![
        available(situation, living, step, asleep),
        progressing(step),
        degraded(situation, living, asleep),
        scaling(cluster, situation, living, asleep),
        upgrading(cluster, situation, living),
        recovering(step),
        blocked(step),
        spec_applied(step),
    ];
    merge(conditions, situation.snapshot.now, claims);
}

fn claim(kind: &'static str, status: ConditionStatus, reason: Reason, message: String) -> Claim {
    Claim {
        kind,
        status,
        reason,
        message,
    }
}

fn progressing(step: &Step) -> Claim {
    let under_way = step
        .findings
        .iter()
        .find(|finding| matches!(finding.kind, FindingKind::Doing | FindingKind::Waiting));
    match (under_way, stuck(step)) {
        (Some(finding), _) => claim(
            PROGRESSING,
            ConditionStatus::True,
            finding.reason,
            finding.message.clone(),
        ),
        (None, Some(finding)) => claim(
            PROGRESSING,
            ConditionStatus::False,
            finding.reason,
            format!("Nothing is under way; {BLOCKED} says why."),
        ),
        (None, None) => claim(
            PROGRESSING,
            ConditionStatus::False,
            Reason::AsSpecified,
            "Nothing is under way.".to_owned(),
        ),
    }
}

/// What nothing but a person can change.
fn stuck(step: &Step) -> Option<&Finding> {
    step.findings
        .iter()
        .find(|finding| matches!(finding.kind, FindingKind::Invalid | FindingKind::Blocked))
}

fn degraded(situation: &Situation<'_>, living: Option<&Living<'_>>, asleep: bool) -> Claim {
    let formed = matches!(situation.stage, Stage::Formed { .. });
    let down: Vec<String> = living
        .into_iter()
        .flat_map(Living::voters)
        .filter(|member| formed && !member.is_healthy())
        .map(|member| format!("{}: {}", member.name, member.complaint()))
        .collect();
    if let Stage::Unreadable { kind, why } = &situation.stage {
        return claim(
            DEGRADED,
            ConditionStatus::Unknown,
            Reason::KubernetesUnreadable,
            format!("{kind} could not be listed: {why}"),
        );
    }
    if asleep {
        return claim(
            DEGRADED,
            ConditionStatus::False,
            Reason::ScaledToZero,
            "The members are stopped on purpose.".to_owned(),
        );
    }
    for (alarm, reason, message) in ALARMS {
        if situation.snapshot.etcd.is_alarmed(alarm) {
            return claim(DEGRADED, ConditionStatus::True, reason, message.to_owned());
        }
    }
    if down.is_empty() {
        return claim(
            DEGRADED,
            ConditionStatus::False,
            Reason::AsSpecified,
            "No voter is down.".to_owned(),
        );
    }
    claim(
        DEGRADED,
        ConditionStatus::True,
        Reason::MemberUnhealthy,
        down.join("; "),
    )
}

fn scaling(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    asleep: bool,
) -> Claim {
    let voters = living.map_or(0, |living| living.voters().count());
    let even = cluster
        .findings
        .iter()
        .find(|finding| finding.reason == Reason::EvenSize);
    let still = || {
        let (reason, message) = even.map_or_else(
            || {
                (
                    Reason::AsSpecified,
                    "The number of members is as asked.".to_owned(),
                )
            },
            |finding| (finding.reason, finding.message.clone()),
        );
        claim(SCALING, ConditionStatus::False, reason, message)
    };
    if !matches!(situation.stage, Stage::Formed { .. }) {
        return still();
    }
    let Some(wanted) = cluster.size else {
        return claim(
            SCALING,
            ConditionStatus::False,
            Reason::InvalidSpec,
            "The asked number of members cannot be followed.".to_owned(),
        );
    };
    if asleep && wanted == 0 {
        return claim(
            SCALING,
            ConditionStatus::False,
            Reason::ScaledToZero,
            "The members are stopped, as asked.".to_owned(),
        );
    }
    let sizes = format!("{voters} members vote and {wanted} are wanted.");
    match voters.cmp(&wanted) {
        std::cmp::Ordering::Equal => still(),
        std::cmp::Ordering::Less => claim(SCALING, ConditionStatus::True, Reason::ScalingUp, sizes),
        std::cmp::Ordering::Greater => {
            claim(SCALING, ConditionStatus::True, Reason::ScalingDown, sizes)
        }
    }
}

fn upgrading(cluster: &Cluster, situation: &Situation<'_>, living: Option<&Living<'_>>) -> Claim {
    let formed = living.filter(|_| matches!(situation.stage, Stage::Formed { .. }));
    match formed.map(|living| upgrade::plan(cluster, living)) {
        Some(Plan::Move(stage)) => claim(
            UPGRADING,
            ConditionStatus::True,
            Reason::Upgrading,
            match stage.direction {
                Direction::Within | Direction::Up => format!("upgrading to {}", cluster.version),
                Direction::Back | Direction::Down => format!("going back to {}", cluster.version),
            },
        ),
        Some(Plan::Blocked(why)) => {
            claim(UPGRADING, ConditionStatus::False, Reason::UpgradePath, why)
        }
        Some(Plan::Settled) | None => claim(
            UPGRADING,
            ConditionStatus::False,
            Reason::AsSpecified,
            "Members run the asked version.".to_owned(),
        ),
    }
}

/// A recovery ends when the claims of those who were given up are cleared away. A restore that waits is told here too:
/// the EtcdRestore repeats it.
fn recovering(step: &Step) -> Claim {
    let under_way = step.findings.iter().find(|finding| {
        matches!(
            finding.reason,
            Reason::RecoveringQuorum | Reason::Restoring | Reason::RestoreWaiting
        )
    });
    under_way.map_or_else(
        || {
            claim(
                RECOVERING,
                ConditionStatus::False,
                Reason::AsSpecified,
                "No quorum is being recovered.".to_owned(),
            )
        },
        |finding| {
            let status = if finding.reason == Reason::RestoreWaiting {
                ConditionStatus::False
            } else {
                ConditionStatus::True
            };
            claim(RECOVERING, status, finding.reason, finding.message.clone())
        },
    )
}

fn blocked(step: &Step) -> Claim {
    stuck(step).map_or_else(
        || {
            claim(
                BLOCKED,
                ConditionStatus::False,
                Reason::AsSpecified,
                "Nothing waits for a person.".to_owned(),
            )
        },
        |finding| {
            claim(
                BLOCKED,
                ConditionStatus::True,
                finding.reason,
                finding.message.clone(),
            )
        },
    )
}
