//! Restarts members that know other authorities than their Secrets do: one at a time, the leader last.
//!
//! A pod is deleted and made again on its own disk. Where that would cost data or an outage, it is said instead.

use contract::{Effect, EventType, FindingKind, Membership, Millis, ObjectKind, Reason};

use super::{LATER, SOON, Step, failures, leave};
use crate::assess::{Living, Member, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::tls::Change;
use crate::validate::Cluster;

/// How long every voter must have been healthy before the next one is restarted.
const CALM: Millis = Millis::seconds(5);

/// Restarts one member, or waits until it may. Says whether this pass may do no more to members.
pub(super) fn renew(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let snapshot = situation.snapshot;
    let change = |member: &&Member<'_>| {
        let pod = member.pod?;
        Some(cluster.tls.authorities_changed(pod, snapshot))
            .filter(|change| *change != Change::None)
    };
    let outdated: Vec<&Member<'_>> = living
        .voters()
        .filter(|member| change(member).is_some())
        .collect();
    let Some(first) = outdated.first() else {
        return false;
    };
    let list: Vec<&str> = outdated.iter().map(|member| member.name).collect();
    let list = list.join(", ");
    if outdated
        .iter()
        .any(|member| change(member) == Some(Change::AtOnce))
    {
        step.find(
            FindingKind::Blocked,
            Reason::AuthoritiesChanged,
            format!(
                "The Secrets hold other authorities than {list} trust, and none in between: a member that restarts could \
                 not speak with one that did not. No member is restarted. Put the old authorities beside the new ones \
                 and the certificates of the old ones back; when all members were restarted, renew the certificates, \
                 then take the old authorities out."
            ),
        );
        return false;
    }
    let voters = living.voters().count();
    let is_in_pods = outdated.iter().any(|member| member.volume.is_none());
    if is_in_pods || voters < 3 {
        let way = match (is_in_pods, voters < 3) {
            (false, _) => {
                "an outage of some seconds, so it is left to you: delete the pods one after the other, each when the others \
                 are healthy."
            }
            (true, false) => {
                "data that is kept in pods, so it is left to you: delete the pods one after the other, each when as many \
                 members as spec.size asks for vote and are healthy."
            }
            (true, true) => {
                "data that is kept in pods, of which there are too few: delete none of them. Set spec.size to 3 first; then \
                 delete the old ones one after the other, each when three members vote and are healthy."
            }
        };
        step.find(
            FindingKind::Blocked,
            Reason::AuthoritiesChanged,
            format!(
                "The authorities of the Secrets changed, and {list} trust the old list until they restart. That would cost {way}"
            ),
        );
        return false;
    }
    if living
        .voters()
        .any(|member| member.up_for(snapshot.now) < CALM)
    {
        step.find(
            FindingKind::Waiting,
            Reason::AuthoritiesChanged,
            format!("{list} restart one by one to trust the authorities of the Secrets, when all have been healthy for {} s.", CALM.0 / 1000),
        );
        step.look_again(LATER, Reason::AuthoritiesChanged);
        return true;
    }
    let leader = living.leader();
    match outdated.iter().find(|member| member.id != leader) {
        Some(follower) => restart(cluster, situation, membership, living, follower, step),
        None => leave::move_leader(situation, membership, living, first, step),
    }
    true
}

fn restart(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    step: &mut Step,
) {
    let Some(pod) = member.pod.filter(|pod| pod.deleted.is_none()) else {
        return;
    };
    let resource = &situation.snapshot.resource;
    let effect = Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.name.clone(),
        grace_seconds: None,
    };
    let mut action = pre::action(resource, effect)
        .present(&pod.uid)
        .on_members(membership)
        .followed_by(build::pod_again(cluster, resource, living, member));
    action.pre.touches = member.id;
    action.pre.healthy_voters = u32::try_from(quorum(living.voters().count())).ok();
    step.actions.push(action);
    let note = format!(
        "{} restarts to trust the authorities of its Secrets",
        member.name
    );
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::AuthoritiesChanged,
        note.clone(),
    ));
    if failures::tell_refused_successor(&situation.snapshot.outcomes, &pod.name, step) {
        return;
    }
    let doing = FindingKind::Doing;
    step.find_of(
        doing,
        Reason::AuthoritiesChanged,
        member.name,
        format!("{note}."),
    );
    step.look_again(SOON, Reason::AuthoritiesChanged);
}
