//! Pods that are missing, made again on the disks that are there.
//!
//! Needs no quorum: it is how a cluster comes back. Knows no patience and replaces nobody.

use contract::{FindingKind, MemberRole, Reason};

use super::super::{LATER, SOON, Step, birth::apply, ended, furnish, strangers};
use crate::assess::{Disk, Living, Member, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// Makes missing pods again on the disks that are there. Needs no quorum: it is how a cluster comes back, and then also
/// a member that never said its name may hold a vote's worth of data. A sealed pod on an empty disk ends by itself.
pub(in crate::step) fn restore_pods(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    if !cluster.tls.can_build() {
        return;
    }
    let resource = &situation.snapshot.resource;
    ended::take_away(situation, living, step);
    let no_list = living.membership.is_none();
    let mut members = living.members.iter();
    let founder = members.find(|member| member.has_founded_anew());
    // Before clients are told of the cluster nothing was written that could be lacking.
    let must_wait = no_list && furnish::may_have_clients(cluster, situation);
    let missing = living
        .members
        .iter()
        .filter(|member| member.pod.is_none() && !member.estranged)
        .filter(|member| member.started || (no_list && !has_only_learned(member)));
    for member in missing {
        let Some(volume) = member.volume else {
            continue;
        };
        if member.disk != Disk::Kept {
            continue;
        }
        if let Some(other) = founder.filter(|_| must_wait) {
            hold_back(member, other, step);
            continue;
        }
        if strangers::tell_of_namesake(situation, member.name, step) {
            continue;
        }
        let pod = build::pod_again(cluster, resource, living, member);
        let mut action = pre::action(resource, apply(contract::Child::Pod(pod))).absent();
        action.pre.claim_uid = Some(volume.uid.clone());
        step.actions.push(action);
        step.find_of(
            FindingKind::Doing,
            Reason::PodMissing,
            member.name,
            format!(
                "{} has no pod; it is made again on its own disk.",
                member.name
            ),
        );
        step.look_again(SOON, Reason::PodMissing);
    }
}

/// Whether it is remembered as a learner that has never been healthy, so that no quorum is made with it.
fn has_only_learned(member: &Member<'_>) -> bool {
    let record = member.record;
    record.is_some_and(|record| record.role == MemberRole::Learner && record.disk.is_none())
}

/// Beside a member that founded the cluster anew nobody is started: without what only a third one may hold, they could be
/// a quorum. Once that one is there, they all have it.
fn hold_back(member: &Member<'_>, founder: &Member<'_>, step: &mut Step) {
    let (name, founder) = (member.name, founder.name);
    step.find_of(
        FindingKind::Waiting,
        Reason::DiskLost,
        name,
        format!(
            "{name} has no pod, and none is made yet: the disk of {founder} was emptied while it could not be told to start \
             on its own data only, so it founded the cluster anew, and with {name} it could be a quorum that lacks what was \
             written. It is made once another member answers. If none comes back, delete the pod and the volume claim of \
             {founder}."
        ),
    );
    step.look_again(LATER, Reason::DiskLost);
}
