//! Picks what to do: at most one quorum-relevant step a pass, with the harmless writes that accompany it.
//!
//! The order of concerns is a table of contents; each concern has its own file. Status and conditions are
//! rendered elsewhere.

mod adopt;
mod alarm;
mod birth;
mod budget;
mod consent;
mod corrupt;
mod depart;
mod domain;
mod ended;
mod failures;
mod furnish;
pub(crate) mod guard;
mod image;
mod inherit;
mod issue;
mod join;
mod last_words;
mod late;
mod leave;
mod left;
mod lost;
mod noop;
mod old_peers;
mod old_pods;
mod order;
mod recover;
mod renew;
mod repair;
mod reshape;
mod restore;
mod scale;
mod seal;
pub(crate) mod space;
pub(crate) mod storage;
mod strangers;
pub(crate) mod upgrade;
mod zero;

use contract::{
    Action, AlarmKind, Birth, ClusterId, Dialect, Effect, Finding, FindingKind, Millis, Reason,
    SpaceCure,
};

pub(crate) use inherit::inherit;
pub(crate) use recover::Change;
pub(crate) use restore::Change as Restoring;
pub(crate) use zero::{Sleep, refuse_zero};

use crate::assess::{Living, Situation, Stage};
use crate::validate::Cluster;

/// How soon to look again while something is under way.
pub(crate) const SOON: Millis = Millis(250);
/// How soon to look again while something slow is waited for.
pub(crate) const LATER: Millis = Millis::seconds(2);
/// How often members are looked at when all is well.
pub(crate) const AT_REST: Millis = Millis::seconds(10);

/// What a person can do about a pod whose end nobody reports.
const DEAD_NODE: &str = "A pod on a node that does not answer never ends by itself: make sure that the machine is off, then \
                         kubectl delete pod --force.";

/// What a pass does and found.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) actions: Vec<Action>,
    pub(crate) requeue: Option<(Millis, Reason)>,
    pub(crate) findings: Vec<Finding>,
    /// A new plan of the first members, to be remembered before any of it is done.
    pub(crate) birth: Option<Birth>,
    /// What becomes of the memory that the members are stopped on purpose; nothing changes when absent.
    pub(crate) sleep: Option<Sleep>,
    /// What becomes of the memory of a recovery; nothing changes when absent.
    pub(crate) recovery: Option<Change>,
    /// What becomes of the memory of a restoration; nothing changes when absent.
    pub(crate) restoration: Option<Restoring>,
    /// The backup that is waited for; what is remembered stays while its act is asked for when absent.
    pub(crate) backup_before: Option<contract::BackupBefore>,
    /// The member whose pod is taken down to be made again.
    pub(crate) recreated: Option<String>,
    /// What is done about a lack of space, to be remembered before it is done.
    pub(crate) space_cure: Option<SpaceCure>,
    /// The member whose image is changed, and the image.
    pub(crate) moved: Option<(String, String)>,
    /// The id to be recorded for ever.
    pub(crate) cluster_id: Option<ClusterId>,
    /// Whether members of the archived operator are being taken over from now on; nothing changes when absent.
    pub(crate) taking_over: Option<bool>,
    /// The generation of the authorities, once they are the ones asked for.
    pub(crate) authority_generation: Option<i64>,
}

impl Step {
    /// A step that only reports.
    pub(crate) fn report(finding: Finding) -> Self {
        Self {
            findings: vec![finding],
            ..Self::default()
        }
    }

    /// Calls fields of the spec as the dialect calls them, wherever people are told of them.
    pub(crate) fn say_in(&mut self, dialect: Dialect) {
        let events = self.actions.iter_mut().filter_map(|action| {
            if let Effect::Event { note, .. } = &mut action.effect {
                Some(note)
            } else {
                None
            }
        });
        let findings = self.findings.iter_mut().map(|finding| &mut finding.message);
        for words in findings.chain(events) {
            *words = dialect.in_its_words(std::mem::take(words));
        }
    }

    fn find(&mut self, kind: FindingKind, reason: Reason, message: String) {
        self.findings.push(Finding {
            kind,
            reason,
            message,
            member: None,
        });
    }

    fn find_of(&mut self, kind: FindingKind, reason: Reason, member: &str, message: String) {
        self.findings.push(Finding {
            kind,
            reason,
            message,
            member: Some(member.to_owned()),
        });
    }

    /// Asks for another look; the earliest wish wins.
    fn look_again(&mut self, after: Millis, why: Reason) {
        if self.requeue.is_none_or(|(earlier, _)| after < earlier) {
            self.requeue = Some((after, why));
        }
    }
}

/// What is done about a resource that is being deleted: nothing, because Kubernetes collects what it owns.
pub(crate) fn delete() -> Step {
    Step::report(Finding {
        kind: FindingKind::Note,
        reason: Reason::Deleting,
        message: "The resource is being deleted; Kubernetes collects its pods, volumes, Services and budget.".to_owned(),
        member: None,
    })
}

/// Picks the step of one pass.
pub(crate) fn step(cluster: &Cluster, situation: &Situation<'_>) -> Step {
    let mut step = Step {
        findings: cluster.findings.clone(),
        ..Step::default()
    };
    if cluster.paused {
        step.find(
            FindingKind::Blocked,
            Reason::Paused,
            "spec.paused is true: the status is kept up to date and nothing else is done. Set it to false to go on."
                .to_owned(),
        );
    } else if !adopt::is_held_off(situation, &mut step) {
        old_peers::attend(situation, &mut step);
        let outcomes = &situation.snapshot.outcomes;
        if inherit::attend(cluster, situation, &mut step) {
            failures::tell(outcomes, &mut step);
        } else {
            step.findings.extend(cluster.tls.findings());
            take(cluster, situation, &mut step);
            order::hold_back_failing(situation, &mut step);
            failures::tell(outcomes, &mut step);
            if let Stage::Formed { living, .. } = &situation.stage {
                failures::tell_broken_connections(
                    outcomes,
                    living,
                    situation.snapshot.now,
                    &mut step,
                );
            }
        }
    }
    step.findings.sort_by_key(|finding| rank(finding.kind));
    step.look_again(AT_REST, Reason::HealthCheck);
    step
}

/// Takes the step of the stage the cluster is in.
fn take(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) {
    let is_readable = !matches!(situation.stage, Stage::Unreadable { .. });
    if is_readable && restore::attend(cluster, situation, step) {
        return;
    }
    match &situation.stage {
        Stage::Unreadable { kind, why } => {
            // A right does not come back by itself; an API server does.
            let (found, way) = if why.contains("forbidden") {
                (FindingKind::Blocked, "Give the operator that right.")
            } else {
                (
                    FindingKind::Waiting,
                    "It is tried again until the API server answers.",
                )
            };
            step.find(
                found,
                Reason::KubernetesUnreadable,
                format!("{kind} could not be listed ({why}), so nothing is done. {way}"),
            );
            step.look_again(LATER, Reason::KubernetesUnreadable);
        }
        Stage::Unborn if adopt::has_vanished(situation.memory, step) => {}
        Stage::Unborn => birth::conceive(cluster, situation, step),
        Stage::Unrecorded(living) => adopt::take_over(cluster, situation, living, step),
        Stage::Forming { birth, living } => birth::attend(cluster, situation, birth, living, step),
        Stage::Formed { cluster_id, living } => {
            formed(cluster, situation, *cluster_id, living, step)
        }
    }
}

/// The concerns of a cluster that has formed, in their order.
fn formed(
    cluster: &Cluster,
    situation: &Situation<'_>,
    cluster_id: ClusterId,
    living: &Living<'_>,
    step: &mut Step,
) {
    late::send_away(situation, living, step);
    if recover::attend(cluster, situation, living, step) {
        return;
    }
    if zero::stay_asleep(cluster, situation, cluster_id, living, step) {
        return;
    }
    upgrade::say(cluster, living, step);
    old_pods::tell(cluster, situation, living, step);
    let is_sealed = seal::seal(cluster, situation, living, step);
    furnish::furnish(cluster, situation, Some(living), step);
    let is_alone = strangers::tell(cluster, situation, step);
    furnish::furnish_clients(cluster, situation, is_sealed && is_alone, step);
    if zero::fall_asleep(cluster, situation, living, step) {
        return;
    }
    repair::restore_pods(cluster, situation, living, step);
    issue::issue(cluster, situation, Some(living), step);
    let Some(membership) = living.membership else {
        let is_taken = upgrade::rescue(cluster, situation, living, step)
            || reshape::rescue_unlisted(cluster, situation, living, step);
        if !zero::say_waking(situation, living, step) {
            lost::say(situation, cluster_id, living, step);
            if !is_taken {
                consent::begin(cluster, situation, cluster_id, living, step);
            }
        }
        // Members that end on full disks come back on larger ones.
        storage::grow(cluster, situation, living, step);
        return;
    };
    domain::tell(cluster, membership, step);
    storage::tell_going(living, step);
    consent::retire(cluster, situation, living, step);
    if zero::is_up_again(situation, step) {
        return;
    }
    if corrupt::attend(situation, membership, living, step) {
        storage::grow(cluster, situation, living, step);
        return;
    }
    depart::finish(cluster, situation, living, step);
    // One quorum-relevant step a pass: the first concern that has one to take, or must wait, ends it. None of them gets
    // far while a new member would find no certificates that work.
    let is_taken = upgrade::rescue(cluster, situation, living, step)
        || reshape::rescue(cluster, situation, membership, living, step)
        || space::cure(cluster, situation, membership, living, step)
        || !cluster.tls.is_sound()
        || repair::replace(cluster, situation, membership, living, step)
        || join::attend(cluster, situation, membership, living, step)
        || situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt)
        || scale::shed(cluster, situation, membership, living, step)
        || repair::is_waiting(living)
        || space::is_under_way(step)
        || reshape::reshape(cluster, situation, membership, living, step)
        || scale::scale(cluster, situation, membership, living, step)
        || renew::renew(cluster, situation, membership, living, step);
    if !is_taken && !old_pods::must_come_first(cluster, living, step) {
        upgrade::roll(cluster, situation, membership, living, step);
    }
    storage::grow(cluster, situation, living, step);
}

const fn rank(kind: FindingKind) -> u8 {
    match kind {
        FindingKind::Invalid => 0,
        FindingKind::Blocked => 1,
        FindingKind::Doing => 2,
        FindingKind::Waiting => 3,
        FindingKind::Note => 4,
    }
}
