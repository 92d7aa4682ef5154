//! Gives a member that is down another image: the planned one, or the one it ran when it cannot go on.
//!
//! It has nothing to lose by it. One at a time all the same, because an image may be one that does not run.

use contract::{Action, FindingKind, Pod, Reason, RiskyAct};
use semver::Version;

use super::plan::{
    self, Direction, Plan, Stage, is_on_its_way, is_restart_due, is_restart_pending, plan,
    version_of_image,
};
use super::{on_quorum, set_image};
use crate::assess::{Disk, Living, Member, Situation};
use crate::step::{SOON, Step, guard, image};
use crate::validate::Cluster;

/// Gives a voter that is down, or a learner whose image cannot be had, the image it is to have. Says whether it did.
pub(in crate::step) fn rescue(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let stage = match plan(cluster, living) {
        Plan::Settled => return false,
        Plan::Move(stage) => Some(stage),
        Plan::Blocked(_) => None,
    };
    if is_restart_due(living)
        || living
            .voters()
            .any(|member| is_proving(member, stage.as_ref()))
    {
        return false;
    }
    let down: Vec<&Member<'_>> = living
        .members
        .iter()
        .filter(|member| {
            let is_down = !member.is_healthy() && !living.is_freed(member);
            let is_held = if member.learner {
                // Another one would have the image that the others have, and be held up as well.
                member.pod.and_then(image::problem).is_some()
            } else {
                // One that never answered has nothing to return to, and is replaced when it stays away.
                has_answered(member) || is_elsewhere(cluster, member)
            };
            is_down && member.disk == Disk::Kept && is_held
        })
        .collect();
    // What runs is not kept down by its image, so it waits for the backup that is asked for.
    let runs = |member: &Member<'_>| member.pod.is_some_and(|pod| pod.running);
    let waits = stage.is_some()
        && down.iter().any(|member| runs(member))
        && guard::why_not(situation, RiskyAct::Upgrade, &cluster.image, step).is_some();
    let rescued = down
        .into_iter()
        .filter(|member| !waits || !runs(member))
        .find_map(|member| {
            let pod = member
                .pod
                .filter(|pod| pod.deleted.is_none() && pod.unschedulable.is_none())?;
            // Of a version that nobody has answered with, nobody knows that there is an image.
            let may_move = member.learner || has_answered(member);
            let planned = stage
                .clone()
                .filter(|stage| may_move && may_go_on(cluster, living, (member, pod), stage));
            let gets = |next: Stage| {
                let action = change(situation, living, member, pod, &next)?;
                Some((member, pod, next, action))
            };
            let may_return = planned.is_none() || is_elsewhere(cluster, member);
            planned.and_then(gets).or_else(|| {
                let ran = what_it_ran(cluster, living, member, pod);
                ran.filter(|_| may_return).and_then(gets)
            })
        });
    let Some((member, pod, next, action)) = rescued else {
        return false;
    };
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::Upgrading,
        member.name,
        format!(
            "{} is down with {} and gets {}: {}.",
            member.name,
            pod.image,
            next.image,
            member.complaint()
        ),
    );
    step.moved = Some((member.name.to_owned(), next.image));
    step.look_again(SOON, Reason::Upgrading);
    true
}

fn has_answered(member: &Member<'_>) -> bool {
    member.record.is_some_and(|record| record.version.is_some())
}

/// Whether its image cannot be had, and the spec asks for another repository: what replaces the member would start from the
/// same one as it.
fn is_elsewhere(cluster: &Cluster, member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| {
        let there = version_of_image(&pod.image).map(|version| cluster.image_of(&version));
        image::problem(pod).is_some() && there.is_some_and(|there| there != pod.image)
    })
}

/// Whether it has the planned image and has not answered with it. Without its data, or a node, it never will.
fn is_proving(member: &Member<'_>, stage: Option<&Stage>) -> bool {
    !member.answers()
        && member.disk == Disk::Kept
        && is_on_its_way(member)
        && member
            .pod
            .zip(stage)
            .is_some_and(|(pod, stage)| pod.image == stage.image && pod.unschedulable.is_none())
}

/// Whether the member's data can be read by the stage's version. Within what members run, that is where its image has
/// not taken the cluster further meanwhile. Else the member was given the version before; or, on the way up, the
/// data files say that the cluster has taken on the minor version before, and the member's own answer that its log can be
/// read. On the way down nobody knows of a member that does not answer.
fn may_go_on(
    cluster: &Cluster,
    living: &Living<'_>,
    (member, pod): (&Member<'_>, &Pod),
    stage: &Stage,
) -> bool {
    let was_given =
        version_of_image(&pod.image).is_some_and(|image| image.minor == stage.version.minor);
    let is_taken_on = || {
        living.voters().filter_map(Member::status).any(|status| {
            super::minor_of(&status.version).is_some_and(|minor| {
                minor + 1 == stage.version.minor
                    && status.storage_version.as_deref().and_then(super::minor_of) == Some(minor)
            })
        })
    };
    match stage.direction {
        Direction::Within => may_return(living, pod, stage.version.minor),
        Direction::Back => true,
        Direction::Up => was_given || (plan::is_saved(cluster, living, member) && is_taken_on()),
        Direction::Down => was_given,
    }
}

/// The image a member ran before it was given one that it never answered with, where it cannot have taken the cluster
/// to a newer version with that one. From where the spec says by now: what it ran may be gone from where it was. One that
/// never answered gets what the others run.
fn what_it_ran(
    cluster: &Cluster,
    living: &Living<'_>,
    member: &Member<'_>,
    pod: &Pod,
) -> Option<Stage> {
    let ran = if has_answered(member) {
        plan::version_ran(member)
    } else {
        lowest_recorded(living)
    };
    ran.filter(|_| is_on_its_way(member) || image::problem(pod).is_some())
        .filter(|_| !pod.running)
        .filter(|version| may_return(living, pod, version.minor))
        .map(|version| Stage {
            image: cluster.image_of(&version),
            direction: Direction::Within,
            version,
        })
        .filter(|stage| !cluster.is_of_another_repository || is_had(living, &stage.image))
}

/// The oldest version that a voter last answered with: a cluster between two is still at the older one.
fn lowest_recorded(living: &Living<'_>) -> Option<Version> {
    let records = living.voters().filter_map(|voter| voter.record);
    let versions = records.filter_map(|record| Version::parse(record.version.as_deref()?).ok());
    versions.min()
}

/// Whether some member has this image, or had it last: of no other one is it known that it exists.
fn is_had(living: &Living<'_>, image: &str) -> bool {
    living.members.iter().any(|member| {
        let record = member.record.and_then(|record| record.image.as_deref());
        let pod = member.pod.map(|pod| pod.image.as_str());
        record == Some(image) || pod == Some(image)
    })
}

/// Whether the pod's image has certainly not taken the cluster to a newer minor version than this one: it is none, or
/// never ran, or some member keeps the cluster back.
fn may_return(living: &Living<'_>, pod: &Pod, minor: u64) -> bool {
    // A pod that was made again with the image has no count to compare with.
    let waits_for_image = pod
        .waiting
        .as_deref()
        .is_some_and(|why| why.contains("Image"));
    let never_ran = is_restart_pending(pod) || (pod.restarts == 0 && waits_for_image);
    never_ran
        || version_of_image(&pod.image).is_some_and(|image| image.minor <= minor)
        || living.voters().any(|voter| plan::keeps_back(voter, minor))
}

/// The change of a member's image that costs no vote, or that the others can bear.
fn change(
    situation: &Situation<'_>,
    living: &Living<'_>,
    member: &Member<'_>,
    pod: &Pod,
    next: &Stage,
) -> Option<Action> {
    if pod.image == next.image {
        return None;
    }
    let action = set_image(situation, member, next)?;
    // A container that does not run has no vote to lose. Without a quorum, only what was begun is finished or undone.
    if !pod.running && (living.votes().has_quorum() || is_begun(living, member, next)) {
        return Some(action);
    }
    let others_are_healthy = living
        .voters()
        .all(|other| other.name == member.name || other.is_healthy());
    let membership = living.membership.filter(|_| others_are_healthy)?;
    on_quorum(action, membership, member)
}

/// Whether the member was being moved already, or stays within what it ran. A sole voter has nobody to wait for.
fn is_begun(living: &Living<'_>, member: &Member<'_>, next: &Stage) -> bool {
    living.voters().count() == 1
        || is_on_its_way(member)
        || plan::version_ran(member).is_some_and(|ran| ran.minor == next.version.minor)
}
