//! Scaling: one member more or one less, when everybody is healthy.
//!
//! Growing adds a learner under a new name. Shrinking takes the newest voter and never the leader. Where a member's data
//! cannot move with its pod, a new member joins before the old one leaves.

use std::collections::BTreeSet;

use contract::{Effect, FindingKind, MemberId, Membership, Millis, Reason};

use super::{LATER, SOON, Step, leave, repair, reshape};
use crate::assess::{Living, Member, Situation};
use crate::entropy::Entropy;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

/// How long voters must have been connected before etcd lets the member list change (`HealthInterval` of its server).
const SETTLED: Millis = Millis::seconds(5);

/// Takes one step towards the wanted size. Says whether it did.
pub(super) fn scale(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let Some(wanted) = wanted(cluster, living) else {
        return false;
    };
    let voters = living.voters().count();
    let room = wanted + spare(cluster, living);
    if voters < room {
        grow(cluster, situation, membership, living, room, step);
    } else if voters > wanted {
        shrink(cluster, situation, membership, living, wanted, step);
    } else {
        return false;
    }
    true
}

/// Takes out a voter that is down, and was for longer than a member is waited for, where fewer are wanted: no repair may ever
/// bring it back. Says whether it did.
pub(super) fn shed(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let voters = living.voters().count();
    let leads = living.leader();
    let mut down = living.voters().filter(|member| {
        let is_overdue = member.down_for(situation.snapshot.now) >= repair::BEFORE_REPLACEMENT;
        !member.is_healthy() && is_overdue && member.id != leads
    });
    let spared = wanted(cluster, living).map(|wanted| (wanted, wanted + spare(cluster, living)));
    let (Some((wanted, room)), Some(leaver)) = (spared, down.next()) else {
        return false;
    };
    if voters <= room || leave::why_not(living, leaver).is_some() {
        return false;
    }
    let Some(id) = leaver.id else { return false };
    take_out(situation, membership, living, (leaver, id), wanted, step);
    true
}

/// Whether there are as many voters as there is room for, so that nobody is to join.
pub(super) fn is_full(cluster: &Cluster, living: &Living<'_>) -> bool {
    let wanted = wanted(cluster, living).or(cluster.size);
    wanted.is_some_and(|wanted| living.voters().count() >= wanted + spare(cluster, living))
}

/// How many are to vote. Without members there is nobody to agree on a smaller list, so size 0 is a concern of its own; but
/// whose claim goes with its pod leaves before all are stopped, a sole one once another one has its data. Where no size can be
/// followed another member takes its place, and of an even number it is missed by nobody.
fn wanted(cluster: &Cluster, living: &Living<'_>) -> Option<usize> {
    let is_going = living.voters().any(reshape::loses_its_disk);
    let voters = living.voters().count();
    match cluster.size {
        None if is_going => Some(voters.saturating_sub(1) | 1),
        Some(0) if is_going => Some(voters.saturating_sub(1).max(1)),
        None | Some(0) => None,
        Some(size) => Some(size),
    }
}

/// Members beyond the wanted number: one, while it is to take the place of another one.
fn spare(cluster: &Cluster, living: &Living<'_>) -> usize {
    usize::from(
        living
            .voters()
            .any(|member| reshape::is_to_be_replaced(cluster, member)),
    )
}

fn grow(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    wanted: usize,
    step: &mut Step,
) {
    let voters = living.voters().count();
    // etcd counts the new member as one that is not connected, and lets a sole member grow at any time.
    let is_settled = voters <= 1 || settled(situation, living) >= quorum(voters + 1);
    if !living.votes().has_quorum() || !is_settled {
        settle(situation, living, Reason::ScalingUp, step);
        return;
    }
    let resource = &situation.snapshot.resource;
    let foreign = &situation.snapshot.objects.foreign;
    let pods = situation.snapshot.objects.pods.seen().into_iter().flatten();
    let sets = situation.snapshot.old_sets.seen().into_iter().flatten();
    let taken: BTreeSet<&str> = living
        .members
        .iter()
        .map(|member| member.name)
        .chain(living.pods.keys().copied())
        .chain(living.volumes.keys().copied())
        // What others have under a member's name stays, and no member of that name could be made beside it.
        .chain(pods.map(|pod| pod.name.as_str()))
        .chain(foreign.iter().map(|foreign| foreign.name.as_str()))
        .chain(sets.map(|set| set.name.as_str()))
        .collect();
    let mut names = Entropy::of(situation.snapshot).members(cluster, &taken, 1);
    let name = names.pop().unwrap_or_default();
    let effect = Effect::AddLearner {
        name: name.clone(),
        peer_urls: vec![cluster.peer_url(&name)],
    };
    let mut action = pre::action(resource, effect).on_members(membership);
    action.pre.healthy_voters = u32::try_from(quorum(voters)).ok();
    step.actions.push(action);
    // The name is another one in each pass until one of them is taken, so it is not said.
    step.find(
        FindingKind::Doing,
        Reason::ScalingUp,
        format!("{voters} of {wanted} members vote; a new one joins as a learner."),
    );
    step.look_again(SOON, Reason::ScalingUp);
}

fn shrink(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    wanted: usize,
    step: &mut Step,
) {
    let Some(leaver) = outdated(cluster, living).or_else(|| newest(living)) else {
        return;
    };
    let voters = living.voters().count();
    match leave::why_not(living, leaver) {
        Some(leave::Obstacle::Leads) => {
            leave::move_leader(situation, membership, living, leaver, step)
        }
        Some(leave::Obstacle::Quorum(too_few)) => {
            step.find(
                FindingKind::Waiting,
                Reason::ScalingDown,
                format!("{} healthy voters would be left and {} are needed; waiting for members to come back.", too_few.healthy, too_few.needed),
            );
            step.look_again(LATER, Reason::ScalingDown);
        }
        Some(leave::Obstacle::NotListed) => {}
        // etcd refuses to go below a majority of voters that have been connected for long enough.
        None if settled(situation, living) <= quorum(voters - 1) => {
            settle(situation, living, Reason::ScalingDown, step);
        }
        None => {
            let Some(id) = leaver.id else { return };
            take_out(situation, membership, living, (leaver, id), wanted, step);
        }
    }
}

fn take_out(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    (leaver, id): (&Member<'_>, MemberId),
    wanted: usize,
    step: &mut Step,
) {
    let voters = living.voters().count();
    step.find_of(
        FindingKind::Doing,
        Reason::ScalingDown,
        leaver.name,
        format!(
            "{voters} members vote and {wanted} are wanted; {} leaves.",
            leaver.name
        ),
    );
    let note = format!("{} left; {} voters remain", leaver.name, voters - 1);
    let why = ("Member Removed", note);
    leave::remove(situation, membership, living, leaver, id, why, step);
}

/// Voters that have been healthy for so long that etcd counts them as connected.
fn settled(situation: &Situation<'_>, living: &Living<'_>) -> usize {
    let now = situation.snapshot.now;
    living
        .voters()
        .filter(|member| member.up_for(now) >= SETTLED)
        .count()
}

fn settle(situation: &Situation<'_>, living: &Living<'_>, what: Reason, step: &mut Step) {
    let now = situation.snapshot.now;
    let left = living
        .voters()
        .map(|member| SETTLED.0 - member.up_for(now).0)
        .filter(|left| *left > 0)
        .min()
        .unwrap_or(SETTLED.0);
    step.find(
        FindingKind::Waiting,
        Reason::Settling,
        format!(
            "{what} goes on once more voters have been connected for {} s, as etcd demands.",
            SETTLED.0 / 1000
        ),
    );
    step.look_again(Millis(left), Reason::Settling);
}

/// A voter that another one was made to replace: the leader is the last of them.
fn outdated<'l, 'a>(cluster: &Cluster, living: &'l Living<'a>) -> Option<&'l Member<'a>> {
    let leads = living.leader();
    living
        .voters()
        .filter(|member| reshape::is_to_be_replaced(cluster, member))
        .min_by_key(|member| (member.id == leads, member.name))
}

/// The voter whose pod is youngest; names decide between equals.
fn newest<'l, 'a>(living: &'l Living<'a>) -> Option<&'l Member<'a>> {
    living
        .voters()
        .max_by_key(|member| (member.pod.map(|pod| pod.created), member.name))
}
