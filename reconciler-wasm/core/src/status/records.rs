//! What is remembered of each member from pass to pass.
//!
//! Times change only when the state they date changes. Figures of a member's data are [`figures`]'s.

use contract::{MemberHealth, MemberRecord, MemberRole};

use super::figures;
use crate::assess::{Living, Member, Situation};
use crate::clock;
use crate::step::{Sleep, Step};
use crate::tls::Tls;

/// The records of a pass, sorted by name.
pub(crate) fn records(
    tls: &Tls,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &Step,
) -> Vec<MemberRecord> {
    let newest = figures::newest(living);
    living
        .members
        .iter()
        .map(|member| MemberRecord {
            plain_peer: tls.is_plain_peer(member.name),
            db_size: figures::db_size(member),
            raft_lag: figures::raft_lag(member, newest),
            ..record(situation, living, member, step)
        })
        .collect()
}

fn record(
    situation: &Situation<'_>,
    living: &Living<'_>,
    member: &Member<'_>,
    step: &Step,
) -> MemberRecord {
    let now = clock::spell(situation.snapshot.now);
    let health = member.remembered_health();
    let old = member.record;
    let role = remembered_role(member.role(), old);
    // Unknown and unhealthy are one state to the clock: a member that flaps between them is down all the time.
    let was_down = old.map(|old| old.health != MemberHealth::Healthy);
    let status = member.status();
    // A member that answers with another version has been restarted, whether anybody saw it down or not.
    let is_another = status.zip(old).is_some_and(|(status, old)| {
        old.version
            .as_ref()
            .is_some_and(|version| *version != status.version)
    });
    // Members that were stopped on purpose have their whole patience once the others run again.
    let wakes = step.sleep == Some(Sleep::Ends) && health != MemberHealth::Healthy;
    let begins_anew = is_another || wakes || living.is_freed(member);
    let is_same = !begins_anew && was_down == Some(health != MemberHealth::Healthy);
    let since = match (old, is_same) {
        (Some(old), true) => old.since.clone(),
        (Some(_) | None, _) => now.clone(),
    };
    let role_since = match old {
        Some(old) if old.role == role => old.role_since.clone(),
        Some(_) | None => now,
    };
    let recreations = match (health, old) {
        (MemberHealth::Healthy, _) | (_, None) => 0,
        (MemberHealth::Unhealthy | MemberHealth::Unknown, Some(old)) => {
            old.recreations.max(0) + i64::from(step.recreated.as_deref() == Some(member.name))
        }
    };
    MemberRecord {
        name: member.name.to_owned(),
        id: member.id.or_else(|| old.and_then(|old| old.id)),
        role,
        health,
        since,
        role_since,
        version: version(member, old),
        image: image(member, step, old),
        disk: disk(situation, member, step, old),
        recreations,
        plain_peer: false,
        db_size: None,
        raft_lag: 0,
    }
}

/// The version a member said last. One that was never healthy has proven no image yet, whatever it says.
fn version(member: &Member<'_>, old: Option<&MemberRecord>) -> Option<String> {
    let before = old.and_then(|old| old.version.clone());
    member
        .answer
        .filter(|_| member.is_healthy() || before.is_some())
        .map(|status| status.version.clone())
        .or(before)
}

/// Without a list a role is what it was.
fn remembered_role(role: MemberRole, old: Option<&MemberRecord>) -> MemberRole {
    match (role, old) {
        (MemberRole::Planned, Some(old)) => old.role,
        (MemberRole::Planned | MemberRole::Learner | MemberRole::Voter, _) => role,
    }
}

/// The image a member was last given, by this very pass where it is given one.
fn image(member: &Member<'_>, step: &Step, old: Option<&MemberRecord>) -> Option<String> {
    if let Some((_, image)) = step.moved.as_ref().filter(|(name, _)| name == member.name) {
        return Some(image.clone());
    }
    member
        .pod
        .map(|pod| pod.image.clone())
        .filter(|image| !image.is_empty())
        .or_else(|| old.and_then(|old| old.image.clone()))
}

/// A disk is remembered from the first time its member was healthy on it in the cluster that is recorded: a birth that
/// starts over gives the members other ones.
fn disk(
    situation: &Situation<'_>,
    member: &Member<'_>,
    step: &Step,
    old: Option<&MemberRecord>,
) -> Option<String> {
    let was_recorded = situation.memory.cluster_id.is_some();
    let is_on_it =
        member.is_healthy() && member.id.is_some() && (was_recorded || step.cluster_id.is_some());
    let now = member.disk_id().filter(|_| is_on_it).map(str::to_owned);
    // Somebody may have taken the claim's owner away from under a member that runs.
    now.or_else(|| {
        old.filter(|_| was_recorded)
            .and_then(|old| old.disk.clone())
    })
}
