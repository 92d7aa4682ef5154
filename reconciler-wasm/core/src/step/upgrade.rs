//! Moves members to another version or repository: in place, one at a time, the leader last.
//!
//! # Flow
//! 1. [`plan`] says which image all members are to have next; a way through several minor versions has several stages.
//! 2. [`rescue`] gives a member that is down and has another image the planned one: it has nothing to lose by it.
//! 3. `roll` restarts the others one by one, when everybody is healthy: followers by name, then the leader, which
//!    hands over first. On the way back to an older minor version, those that run it already come last, and
//!    [`downgrade`] has etcd make the data files fit for it before the first one moves.
//!
//! # Guarantees
//! The next member is touched only after the one before answers with the version of its image, follows the leader and
//! has applied what the leader has. A member that does not come back ends the roll where it is, with a quorum of the
//! others.

mod downgrade;
mod path;
mod plan;
mod rescue;

use std::collections::BTreeMap;

use contract::{
    Action, Effect, FindingKind, Membership, Millis, Observed, Reason, RiskyAct, Snapshot, names,
};

use super::repair::unproven;
use super::{LATER, SOON, Step, guard};
use crate::assess::{Living, Member, Situation, says_no_data};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

pub(crate) use path::is_inconsistent;
pub(crate) use plan::{Direction, Plan, Stage, is_on_its_way, plan, version_of_image};
use plan::{is_restart_due, is_restart_pending};
pub(super) use rescue::rescue;

/// How far a member's log may be behind the leader's: both were asked at slightly different times, and clients write.
const LAG: u64 = 1_000;
/// How long all members must have run a minor version before the next one: the leader compares their versions every
/// four seconds (`monitorVersionInterval` of etcd's server) and only then raises the cluster's.
const AGREEMENT: Millis = Millis::seconds(10);
/// How long a restart with another image may take before it is called slow.
const RESTART: Millis = Millis::seconds(60);

/// Says what stands between the asked version and the running one, where that waits for a person.
pub(super) fn say(cluster: &Cluster, living: &Living<'_>, step: &mut Step) {
    if let Plan::Blocked(why) = plan(cluster, living) {
        // The version is that of an image then, and the sentence names the field.
        let asked = match cluster.keeps_images {
            Some(_) => String::new(),
            None => format!("spec.version {}: ", cluster.version),
        };
        let message = format!("{asked}{why} The members stay as they are.");
        step.find(FindingKind::Blocked, Reason::UpgradePath, message);
    }
}

/// Takes one step towards the planned image, when everybody is healthy.
pub(super) fn roll(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let stage = match plan(cluster, living) {
        Plan::Settled => None,
        Plan::Move(stage) => Some(stage),
        Plan::Blocked(_) => return,
    };
    if downgrade::end(situation, membership, living, stage.as_ref(), step) {
        return;
    }
    let Some(stage) = stage else { return };
    if let Some((kind, reason, member, message)) = why_wait(cluster, situation, living, &stage) {
        match member {
            Some(member) => step.find_of(kind, reason, member, message),
            None => step.find(kind, reason, message),
        }
        let after = match kind {
            FindingKind::Blocked => LATER,
            FindingKind::Invalid
            | FindingKind::Waiting
            | FindingKind::Doing
            | FindingKind::Note => SOON,
        };
        step.look_again(after, reason);
        return;
    }
    if is_restart_due(living) {
        return;
    }
    // Also before etcd's own downgrade is asked for, which rewrites the data files.
    if let Some((kind, why)) = guard::why_not(situation, RiskyAct::Upgrade, &cluster.image, step) {
        let message = format!("The members are moved to {} once {why}.", cluster.version);
        step.find(kind, Reason::BackupBeforeChange, message);
        return;
    }
    if downgrade::begin(situation, membership, living, &stage, step) {
        return;
    }
    let leads = living.leader();
    let outdated = living
        .voters()
        .filter(|member| member.pod.is_some_and(|pod| pod.image != stage.image));
    // On the way back, who runs the old minor version still is all that keeps the cluster from taking on the new one.
    let keeps_back = |member: &Member<'_>| {
        plan::version_ran(member).is_none_or(|ran| ran.minor <= stage.version.minor)
    };
    let Some(member) = outdated.min_by_key(|member| (keeps_back(member), member.id == leads))
    else {
        return;
    };
    if member.id == leads && hand_over(situation, membership, living, member, &stage, step) {
        return;
    }
    let Some(action) = set_image(situation, member, &stage)
        .and_then(|action| on_quorum(action, membership, member))
    else {
        return;
    };
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::Upgrading,
        member.name,
        format!("{} is restarted with {}.", member.name, stage.image),
    );
    step.moved = Some((member.name.to_owned(), stage.image));
    step.look_again(SOON, Reason::Upgrading);
}

type Wait<'a> = (FindingKind, Reason, Option<&'a str>, String);

/// What must pass before the next member is touched.
fn why_wait<'a>(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'a>,
    stage: &Stage,
) -> Option<Wait<'a>> {
    if let Some(why) = why_held(situation.snapshot, living) {
        let message = format!("The members are moved to {} once {why}.", cluster.version);
        return Some((FindingKind::Waiting, Reason::UpgradeHeld, None, message));
    }
    let Some(leader) = living
        .leader()
        .and_then(|id| living.voters().find(|member| member.id == Some(id)))
        .and_then(Member::status)
    else {
        let message = "Voters do not agree on a leader yet.".to_owned();
        return Some((FindingKind::Waiting, Reason::UpgradeHeld, None, message));
    };
    let unfinished = living
        .voters()
        .find_map(|member| why_unfinished(member, stage, leader.raft_index));
    unfinished.or_else(|| why_disagreed(situation, living, stage))
}

/// What speaks against touching any member.
fn why_held(snapshot: &Snapshot, living: &Living<'_>) -> Option<String> {
    match &snapshot.etcd.alarms {
        Observed::Seen(alarms) if alarms.is_empty() => {}
        Observed::Seen(_) => return Some("etcd's alarm is disarmed".to_owned()),
        Observed::Absent => return Some("etcd answers whether an alarm stands".to_owned()),
        Observed::Unknown(why) => {
            return Some(format!("etcd answers whether an alarm stands ({why})"));
        }
    }
    living
        .members
        .iter()
        .find(|member| !member.is_healthy() || member.learner)
        .map(|member| {
            format!(
                "{} is a healthy voter ({})",
                member.name,
                member.complaint()
            )
        })
}

/// Why a healthy voter is not through with its own restart.
fn why_unfinished<'a>(member: &Member<'a>, stage: &Stage, leader_index: u64) -> Option<Wait<'a>> {
    let (pod, status) = (member.pod?, member.status()?);
    let name = member.name;
    let waiting = |reason, message| Some((FindingKind::Waiting, reason, Some(name), message));
    if is_restart_pending(pod) {
        return waiting(
            Reason::Upgrading,
            format!(
                "{name} has the image {}; its kubelet restarts it.",
                pod.image
            ),
        );
    }
    if pod.image == stage.image && status.version != stage.version.to_string() {
        return Some((
            FindingKind::Blocked,
            Reason::UpgradeStuck,
            Some(name),
            format!(
                "{name} runs the image {} and answers as etcd {}. No other member is touched. Set spec.repository to \
                 one whose tags tell the version.",
                pod.image, status.version
            ),
        ));
    }
    if status.raft_applied_index.saturating_add(LAG) < leader_index {
        return waiting(
            Reason::CatchingUp,
            format!("{name} receives what it missed while it was restarted."),
        );
    }
    if !pod.ready {
        return waiting(Reason::CatchingUp, format!("{name} is not Ready yet."));
    }
    None
}

/// Why members have not agreed on the minor version that they run, where the next one follows.
fn why_disagreed<'a>(
    situation: &Situation<'_>,
    living: &Living<'a>,
    stage: &Stage,
) -> Option<Wait<'a>> {
    if stage.direction != Direction::Up {
        return None;
    }
    let now = situation.snapshot.now;
    let late = living.voters().find(|member| {
        let lags = member.status().is_some_and(|status| {
            let minor = minor_of(&status.version);
            status
                .storage_version
                .as_ref()
                .is_some_and(|storage| minor_of(storage) != minor)
        });
        lags || member.up_for(now) < AGREEMENT
    });
    late.map(|member| {
        (
            FindingKind::Waiting,
            Reason::Upgrading,
            Some(member.name),
            format!(
                "All members must have agreed on the version they run before {} follows; {} is not through.",
                stage.version, member.name
            ),
        )
    })
}

fn minor_of(version: &str) -> Option<u64> {
    version.split('.').nth(1)?.parse().ok()
}

/// Moves leadership from `from` to a voter that has the planned image. Says whether there is one.
fn hand_over(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    from: &Member<'_>,
    stage: &Stage,
    step: &mut Step,
) -> bool {
    let target = living.voters().find(|member| {
        member.is_healthy()
            && member.id != from.id
            && member.pod.is_some_and(|pod| pod.image == stage.image)
    });
    let Some((target, to)) = target.and_then(|member| Some((member, member.id?))) else {
        return false;
    };
    let resource = &situation.snapshot.resource;
    let mut action = pre::action(resource, Effect::MoveLeader { to }).on_members(membership);
    action.pre.leader = from.id;
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::MovingLeader,
        from.name,
        format!(
            "{} leads and is restarted last; leadership moves to {}.",
            from.name, target.name
        ),
    );
    step.look_again(SOON, Reason::MovingLeader);
    true
}

fn set_image(situation: &Situation<'_>, member: &Member<'_>, stage: &Stage) -> Option<Action> {
    let pod = member.pod?;
    let annotations = BTreeMap::from([
        (
            names::VERSION_ANNOTATION.to_owned(),
            stage.version.to_string(),
        ),
        (
            names::RESTARTS_ANNOTATION.to_owned(),
            pod.restarts_before_image(),
        ),
    ]);
    let effect = Effect::SetImage {
        name: pod.name.clone(),
        image: stage.image.clone(),
        annotations,
    };
    let mut action = pre::action(&situation.snapshot.resource, effect).present(&pod.uid);
    action.pre.object_version = Some(pod.resource_version.clone());
    Some(action)
}

/// The other voters must be a quorum without it. Where one or two vote there is none, and all the others must be healthy.
fn on_quorum(action: Action, membership: &Membership, member: &Member<'_>) -> Option<Action> {
    let voters = membership.voters().count();
    let mut action = action.on_members(membership);
    action.pre.touches = Some(member.id?);
    action.pre.healthy_voters = u32::try_from(quorum(voters).min(voters.saturating_sub(1))).ok();
    Some(action)
}

/// What is waited for of a voter that is down with an image it never answered with; none when the repair ladder is to
/// see to it. A new member in its place would fare no better.
pub(super) fn why_down(situation: &Situation<'_>, member: &Member<'_>) -> Option<(Reason, String)> {
    let pod = member
        .pod
        .filter(|pod| pod.deleted.is_none() && pod.unschedulable.is_none())?;
    // Whose own words are that it has no data, that one no image helps.
    if !is_on_its_way(member) || says_no_data(Some(pod)) {
        return None;
    }
    let (name, image) = (member.name, &pod.image);
    // What has not begun yet may wait for its volume, which no image helps.
    let has_begun = |why: &String| !unproven::STARTS.contains(&why.as_str());
    let keeps_ending = pod.waiting.as_ref().is_some_and(has_begun) && !is_restart_pending(pod);
    if keeps_ending {
        let last_words = pod.last_exit.as_ref().map_or(String::new(), |exit| {
            format!(" It ended with {} (code {}).", exit.reason, exit.code)
        });
        let ran = member
            .record
            .and_then(|record| record.version.clone())
            .unwrap_or_default();
        return Some((
            Reason::UpgradeStuck,
            format!(
                "{name} does not run with {image} ({}).{last_words} No other member is touched. See kubectl logs \
                 {name}; set spec.version back to {ran} to return.",
                member.complaint()
            ),
        ));
    }
    (member.down_for(situation.snapshot.now) < RESTART).then(|| {
        (
            Reason::Upgrading,
            format!("{name} restarts with {image} ({}).", member.complaint()),
        )
    })
}
