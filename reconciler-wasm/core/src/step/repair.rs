//! The repair ladder of a voter: wait, make its pod again on its own disk, replace it.
//!
//! A disk is given up only when it is known to be gone, or after long patience, and never when that could cost
//! the quorum.

mod missing;
mod oom;
pub(super) mod unproven;

use contract::{Effect, EventType, FindingKind, Membership, Millis, ObjectKind, Pod, Reason};

use super::{LATER, SOON, Step, image, last_words, leave, noop, strangers, upgrade};
use crate::assess::{Disk, Living, Member, Situation, has_ended};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

pub(super) use missing::restore_pods;

/// How long a running member may be down before its pod is made again on the same disk.
pub(super) const BEFORE_RECREATION: Millis = Millis::seconds(150);
/// How long a member may be down before it is replaced by a new one.
pub(super) const BEFORE_REPLACEMENT: Millis = Millis::seconds(330);
/// How often a pod is made again before that.
const RECREATIONS: i64 = 3;

/// Replaces one voter that is lost, or waits for it. Says whether this pass may change the member list no further.
pub(super) fn replace(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let mut changed = false;
    noop::wake_the_silent(situation, membership, living, step);
    for member in living.voters().filter(|member| !member.is_healthy()) {
        match verdict(cluster, situation, living, member) {
            Verdict::Wait(reason, message) => {
                step.find_of(FindingKind::Waiting, reason, member.name, message);
                let after = if reason == Reason::MemberUnhealthy {
                    LATER
                } else {
                    SOON
                };
                step.look_again(after, reason);
            }
            Verdict::Restart | Verdict::Replace(..) if changed => {
                let message = format!("{} is next to be repaired.", member.name);
                step.find_of(
                    FindingKind::Waiting,
                    Reason::MemberUnhealthy,
                    member.name,
                    message,
                );
            }
            // A confirmed list and too few healthy voters contradict each other: whoever answers may be somebody else.
            Verdict::Restart if !living.votes().has_quorum() => {
                let message = format!(
                    "{}: {}. Its pod is made again once enough others are healthy.",
                    member.name,
                    member.complaint()
                );
                step.find_of(
                    FindingKind::Waiting,
                    Reason::MemberUnhealthy,
                    member.name,
                    message,
                );
                step.look_again(LATER, Reason::MemberUnhealthy);
            }
            Verdict::Restart => {
                restart(situation, membership, living, member, step);
                changed = true;
            }
            // One change of the member list at a time: a learner is seen to first.
            Verdict::Replace(reason, _) if living.learner().is_some() => {
                step.find_of(
                    FindingKind::Waiting,
                    reason,
                    member.name,
                    format!(
                        "{} is to be replaced, once the learner that is joining votes or is taken out.",
                        member.name
                    ),
                );
            }
            Verdict::Replace(reason, message) => {
                changed = try_replace(situation, membership, living, member, reason, message, step);
            }
        }
    }
    changed
}

/// Whether some voter is to be replaced, which waits for the learner that is on its way.
pub(super) fn is_replacement_due(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
) -> bool {
    let mut down = living.voters().filter(|member| !member.is_healthy());
    down.any(|member| {
        let verdict = verdict(cluster, situation, living, member);
        matches!(verdict, Verdict::Replace(..))
    })
}

/// Whether some voter is not healthy, so that nothing but its repair is due.
pub(super) fn is_waiting(living: &Living<'_>) -> bool {
    living.voters().any(|member| !member.is_healthy())
}

/// Whether the members that are down still have their disks, so that the quorum may come back by itself.
pub(super) fn can_return(living: &Living<'_>) -> bool {
    let hopeful = living
        .voters()
        .filter(|member| member.is_healthy() || member.disk == Disk::Kept)
        .count();
    hopeful >= quorum(living.voters().count())
}

/// Why a member is down, with what is known of its disk.
pub(super) fn lost_words(member: &Member<'_>) -> String {
    match member.disk {
        Disk::Lost => format!("its disk is gone or empty ({})", member.complaint()),
        Disk::Kept | Disk::Unmade => member.complaint().to_owned(),
    }
}

/// Whether a member that never answered waits for an image that nobody runs or asks for any more. It has nothing to go back
/// to, and a new member gets the image that the others run.
fn is_left_behind(cluster: &Cluster, living: &Living<'_>, member: &Member<'_>, pod: &Pod) -> bool {
    let has_run = member.record.is_some_and(|record| record.version.is_some());
    let is_wanted = pod.image == cluster.image || build::running_image(living) == Some(&pod.image);
    !has_run && !is_wanted
}

enum Verdict {
    Wait(Reason, String),
    Restart,
    Replace(Reason, String),
}

fn verdict(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    member: &Member<'_>,
) -> Verdict {
    let now = situation.snapshot.now;
    let down = living.down_for(member, now);
    let name = member.name;
    if member.disk == Disk::Lost {
        let is_ending = member
            .pod
            .is_some_and(|pod| pod.deleted.is_some() && pod.running);
        if is_ending && down < BEFORE_REPLACEMENT {
            let message =
                format!("{name}: its pod is still being terminated; it is replaced if that lasts.");
            return Verdict::Wait(Reason::PodTerminating, message);
        }
        return Verdict::Replace(
            Reason::DiskLost,
            format!("{name} lost its disk; a new member takes its place."),
        );
    }
    if member.estranged {
        let message = format!(
            "{name}: {}; nothing is done with it meanwhile.",
            member.complaint()
        );
        return Verdict::Wait(Reason::ForeignObject, message);
    }
    let Some(pod) = member.pod else {
        return podless(cluster, situation, member, down);
    };
    // Who holds its deletion up may do so for ever.
    let is_held_up = pod.deleted.is_some() && down >= BEFORE_REPLACEMENT;
    if has_ended(pod) && pod.claim.is_some() && !is_held_up {
        return Verdict::Wait(
            Reason::PodMissing,
            format!("The pod of {name} has ended; it is being made again."),
        );
    }
    if let Some(message) = oom::why_down(situation, name, pod) {
        return Verdict::Wait(Reason::OutOfMemory, message);
    }
    let is_replaced = down >= BEFORE_REPLACEMENT && is_left_behind(cluster, living, member, pod);
    if let Some(why) = image::problem(pod).filter(|_| !is_replaced && pod.deleted.is_none()) {
        let back = member
            .record
            .filter(|_| upgrade::is_on_its_way(member))
            .and_then(|record| record.version.as_deref())
            .map_or(String::new(), |ran| {
                let back = if pod.image.ends_with(&format!(":v{ran}")) {
                    "spec.repository back to what it was".to_owned()
                } else {
                    format!("spec.version back to {ran}")
                };
                format!(" No other member is touched; set {back} to return.")
            });
        return Verdict::Wait(
            Reason::ImagePull,
            format!(
                "{name}: the image {} cannot be had ({why}). Check spec.repository, spec.version and the registry.{back}",
                pod.image
            ),
        );
    }
    if let Some((reason, message)) = upgrade::why_down(situation, member) {
        return Verdict::Wait(reason, message);
    }
    if let Some((reason, message)) = unproven::why_down(cluster, situation, living, member) {
        return Verdict::Wait(reason, message);
    }
    if down >= BEFORE_REPLACEMENT {
        return Verdict::Replace(
            Reason::ReplacingMember,
            format!(
                "{name} has been down for more than {} s ({}); a new member takes its place.",
                BEFORE_REPLACEMENT.0 / 1000,
                member.complaint()
            ),
        );
    }
    if let Some(why) = &pod.unschedulable {
        return Verdict::Wait(
            Reason::Unschedulable,
            format!(
                "{name}: no node takes its pod ({why}). It is replaced when that lasts, if the quorum allows it."
            ),
        );
    }
    if pod.deleted.is_some() {
        let next = if member.volume.is_some_and(|claim| claim.stays()) {
            "it is made again on its own disk"
        } else {
            "its data goes with it, and a new member takes its place"
        };
        return Verdict::Wait(
            Reason::PodTerminating,
            format!("{name}: its pod is being terminated; {next}."),
        );
    }
    let recreations = member.record.map_or(0, |record| record.recreations);
    // A pod that was made again has the same patience as the one before it.
    let waited = down.min(situation.snapshot.now.since(pod.created));
    let keeps_disk = member.volume.is_some_and(|claim| claim.stays());
    if waited >= BEFORE_RECREATION && recreations < RECREATIONS && keeps_disk {
        return Verdict::Restart;
    }
    let reason = if pod
        .waiting
        .as_deref()
        .is_some_and(|why| why.starts_with("CrashLoopBackOff"))
    {
        Reason::CrashLoop
    } else {
        Reason::MemberUnhealthy
    };
    let last_words = last_words::of(pod);
    Verdict::Wait(
        reason,
        format!(
            "{name}: {}.{last_words} Its pod is made again after {} s, and it is replaced after {} s, if the quorum allows it.",
            member.complaint(),
            BEFORE_RECREATION.0 / 1000,
            BEFORE_REPLACEMENT.0 / 1000
        ),
    )
}

/// Of a voter without a pod. One that was added by hand under a name that is none of this cluster's, or somebody else's pod's,
/// gets no pod, so it is waited for no longer than for others.
fn podless(
    cluster: &Cluster,
    situation: &Situation<'_>,
    member: &Member<'_>,
    down: Millis,
) -> Verdict {
    let name = member.name;
    let is_taken = strangers::namesake(situation, name).is_some();
    let is_ours = name.starts_with(&format!("{}-", cluster.name));
    if member.disk != Disk::Unmade || (is_ours && !is_taken) {
        let (reason, why) = if is_taken {
            (Reason::ForeignObject, "a pod of somebody else has its name")
        } else {
            (Reason::PodMissing, "it is being made again")
        };
        return Verdict::Wait(reason, format!("{name} has no pod; {why}."));
    }
    let seconds = BEFORE_REPLACEMENT.0 / 1000;
    let what = "is in etcd's member list and never started, and gets no pod";
    if down < BEFORE_REPLACEMENT {
        let message =
            format!("{name} {what}. It is taken out after {seconds} s, if the quorum allows it.");
        return Verdict::Wait(Reason::MemberUnhealthy, message);
    }
    let message = format!("{name} {what} for more than {seconds} s; it is taken out.");
    Verdict::Replace(Reason::ReplacingMember, message)
}

/// Deletes the pod of a voter that is down anyway; it is made again on the same disk.
fn restart(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    step: &mut Step,
) {
    let Some(pod) = member.pod else { return };
    let resource = &situation.snapshot.resource;
    let effect = Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.name.clone(),
        grace_seconds: None,
    };
    let mut action = pre::action(resource, effect)
        .present(&pod.uid)
        .on_members(membership);
    action.pre.touches = member.id;
    action.pre.healthy_voters = u32::try_from(quorum(living.voters().count())).ok();
    step.actions.push(action);
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::MemberUnhealthy,
        format!(
            "{} does not come back by itself; its pod is made again on its own disk",
            member.name
        ),
    ));
    step.find_of(
        FindingKind::Doing,
        Reason::MemberUnhealthy,
        member.name,
        format!(
            "{} does not come back by itself ({}); its pod is made again on its own disk.",
            member.name,
            member.complaint()
        ),
    );
    step.recreated = Some(member.name.to_owned());
    step.look_again(SOON, Reason::PodTerminating);
}

fn try_replace(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    reason: Reason,
    message: String,
    step: &mut Step,
) -> bool {
    match leave::why_not(living, member) {
        None => {
            let Some(id) = member.id else { return false };
            step.find_of(FindingKind::Doing, reason, member.name, message.clone());
            leave::remove(
                situation,
                membership,
                living,
                member,
                id,
                ("Replacing Dead Member", message),
                step,
            );
            true
        }
        Some(leave::Obstacle::Quorum(too_few)) => {
            step.find_of(
                FindingKind::Blocked,
                reason,
                member.name,
                format!(
                    "{message} It cannot be taken out: {} healthy voters would be left and {} are needed. Bring back \
                     another member first, or restore from a backup.",
                    too_few.healthy, too_few.needed
                ),
            );
            step.look_again(LATER, reason);
            false
        }
        // Where its kubelet alone is gone, it goes on leading from a pod that never ends.
        Some(leave::Obstacle::Leads) => {
            let message = format!("{message} Waiting for another leader.");
            step.find_of(FindingKind::Waiting, reason, member.name, message);
            if member.answer.is_some() {
                leave::move_leader(situation, membership, living, member, step);
            }
            step.look_again(SOON, reason);
            true
        }
        Some(leave::Obstacle::NotListed) => false,
    }
}
