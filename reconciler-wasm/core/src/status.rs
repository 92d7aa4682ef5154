//! Renders the status: conditions for people, records for the next pass.
//!
//! A status that says the same as the stored one is not written again. Messages hold no times, so that a cluster at
//! rest stays at rest.

pub(crate) mod conditions;
mod figures;
mod records;

use contract::{
    ClusterId, Effect, EtcdClusterStatus, EventType, Finding, MemberHealth, MemberNames,
    MemberRecord, MemberRole, Observed, Phase, Reason, Resource, Restoration, RestorationStage,
    Snapshot, names,
};

use crate::assess::{Living, Member, Situation, Stage};
use crate::clock;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::step::upgrade::{self, Plan};
use crate::step::{self, Change, Restoring, Sleep, Step};
use crate::tls;
use crate::validate::Cluster;

/// An event that tells a finding no status can hold.
pub(crate) fn tell(resource: &Resource, finding: &Finding) -> contract::Action {
    pre::event_of(
        resource,
        EventType::Warning,
        finding.reason,
        finding.message.clone(),
    )
}

/// The status of a resource whose spec cannot be followed: what was known stays, the conditions say why.
pub(crate) fn refused(
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
    invalid: &Finding,
) -> EtcdClusterStatus {
    let mut status = memory.clone();
    status.observed_generation = Some(snapshot.resource.generation);
    conditions::refused(
        &mut status.conditions,
        snapshot.now,
        memory.cluster_id.is_some(),
        invalid,
    );
    status
}

/// The status of a pass.
pub(crate) fn render(
    cluster: &Cluster,
    situation: &Situation<'_>,
    step: &Step,
) -> EtcdClusterStatus {
    let memory = situation.memory;
    let snapshot = situation.snapshot;
    let living = match &situation.stage {
        Stage::Unreadable { .. } | Stage::Unborn => None,
        Stage::Unrecorded(living)
        | Stage::Forming { birth: _, living }
        | Stage::Formed {
            cluster_id: _,
            living,
        } => Some(living),
    };
    let restoration = match &step.restoration {
        Some(Restoring::Set(restoration)) => Some(restoration.clone()),
        Some(Restoring::Forget) => None,
        None => memory.restoration.clone(),
    };
    let is_filled = restoration
        .as_ref()
        .is_some_and(|one| one.stage == RestorationStage::Filling);
    // From here on what was before is given up: another cluster comes of it.
    let begins = is_filled
        && memory
            .restoration
            .as_ref()
            .is_none_or(|before| before.stage != RestorationStage::Filling);
    let cluster_id = memory.cluster_id.filter(|_| !is_filled).or(step.cluster_id);
    let birth = match cluster_id {
        Some(_) => None,
        None => step
            .birth
            .clone()
            .or_else(|| memory.birth.clone())
            .filter(|_| !is_filled),
    };
    // Members are born with what the spec names, and keep it.
    let secrets = if step.birth.is_some() {
        &cluster.wanted_tls
    } else {
        &cluster.tls.in_use
    };
    // Members that an earlier restore filled still run, recorded or not, while the next one stops them.
    let is_restored = restoration.as_ref().is_some_and(Restoration::is_under_way);
    let is_remembered = is_restored && memory.tls.is_some();
    let is_born = cluster_id.is_some() || birth.is_some() || is_filled || is_remembered;
    // That all is plain text is remembered as long as a pod tells otherwise.
    let tls = Some(secrets.clone())
        .filter(|secrets| is_born && (!secrets.is_plain() || snapshot_has_certificates(snapshot)));
    let mut status = EtcdClusterStatus {
        phase: phase(memory.phase, cluster_id, birth.is_some() || is_filled),
        reason: String::new(),
        control_paused: cluster.paused,
        conditions: memory.conditions.clone(),
        size: memory.size,
        ready_members: memory.ready_members,
        selector: cluster.dialect.selector(&cluster.name),
        service_name: names::client_service(&cluster.name),
        client_port: Some(i64::from(names::CLIENT_PORT)),
        members: memory.members.clone(),
        current_version: memory.current_version.clone(),
        target_version: String::new(),
        observed_generation: Some(snapshot.resource.generation),
        cluster_id,
        taking_over: step.taking_over.unwrap_or(memory.taking_over),
        birth,
        tls,
        authority_generation: step.authority_generation.or(memory.authority_generation),
        certificates: tls::records(cluster, snapshot, memory),
        asleep_since: match step.sleep {
            Some(Sleep::Begins) => Some(clock::spell(snapshot.now)),
            Some(Sleep::Ends) => None,
            None => memory.asleep_since.clone(),
        },
        recovery: match &step.recovery {
            Some(Change::Set(recovery)) => Some(recovery.clone()),
            Some(Change::Forget) => None,
            None => memory.recovery.clone(),
        },
        restoration,
        backup_before: step::guard::remembered(cluster, situation, living, step),
        member_records: match living {
            Some(living) => records::records(&cluster.tls, situation, living, step),
            None => memory.member_records.clone(),
        },
        space_cure: step::space::remembered(situation, step),
        decided_by: memory.decided_by.clone(),
    };
    if let Some(living) = living {
        count(&mut status, living);
        if let (Stage::Formed { .. }, Plan::Move(_)) =
            (&situation.stage, upgrade::plan(cluster, living))
        {
            status.target_version = cluster.version.to_string();
        }
    } else if matches!(situation.stage, Stage::Unborn) {
        // The archived operator may have told of some.
        count_nobody(&mut status);
    }
    if begins {
        forget_members(&mut status);
    }
    let asleep = status.asleep_since.is_some();
    conditions::render(
        &mut status.conditions,
        cluster,
        situation,
        living,
        step,
        asleep,
    );
    conditions::volumes(&mut status.conditions, cluster, situation, living, step);
    conditions::certificates(
        &mut status.conditions,
        cluster,
        snapshot,
        &status.certificates,
        step,
    );
    status
}

fn snapshot_has_certificates(snapshot: &Snapshot) -> bool {
    let pods = snapshot.objects.pods.seen().into_iter().flatten();
    let mut own = pods.filter(|pod| pod.owner.as_deref() == Some(snapshot.resource.uid.as_str()));
    own.any(|pod| pod.peer_secret.is_some() || pod.server_secret.is_some())
}

/// Nothing of those who were there before is true of whoever comes.
fn forget_members(status: &mut EtcdClusterStatus) {
    count_nobody(status);
    status.member_records.clear();
    status.asleep_since = None;
    status.recovery = None;
    status.space_cure = None;
}

fn count_nobody(status: &mut EtcdClusterStatus) {
    status.size = 0;
    status.ready_members = 0;
    status.members = MemberNames::default();
}

fn phase(before: Phase, cluster_id: Option<ClusterId>, planned: bool) -> Phase {
    match (cluster_id, planned) {
        (Some(_), _) => Phase::Running,
        (None, true) => Phase::Creating,
        (None, false) => before,
    }
}

fn count(status: &mut EtcdClusterStatus, living: &Living<'_>) {
    let (ready, unready): (Vec<&Member<'_>>, Vec<&Member<'_>>) = living
        .members
        .iter()
        .partition(|member| member.is_healthy() && !member.learner);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    status.size = number(living.members.len());
    status.ready_members = number(ready.len());
    let names = |members: Vec<&Member<'_>>| {
        members
            .iter()
            .map(|member| member.name.to_owned())
            .collect()
    };
    status.members = MemberNames {
        ready: names(ready),
        unready: names(unready),
    };
    let lowest = status
        .member_records
        .iter()
        .filter(|record| record.role == MemberRole::Voter)
        .filter_map(|record| record.version.as_deref())
        .filter_map(|version| semver::Version::parse(version).ok())
        .min();
    if let Some(lowest) = lowest {
        status.current_version = lowest.to_string();
    }
}

/// Puts the status before all other actions where it says something new, with the events of what changed. `is_stored`
/// says whether the memory is what the API server has.
pub(crate) fn write_if_changed(
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
    is_stored: bool,
    status: EtcdClusterStatus,
    step: &mut Step,
) {
    if is_stored && status == *memory {
        return;
    }
    let resource = &snapshot.resource;
    let mut first = Vec::new();
    let events = transitions(memory, &status);
    let falls_asleep = status.asleep_since.is_some() && memory.asleep_since.is_none();
    let mut action = pre::action(
        resource,
        Effect::UpdateStatus {
            status: Box::new(status),
        },
    );
    action.pre.resource_version = Some(resource.resource_version.clone());
    // What sleeps must be whole at this very moment.
    if let Some(list) = snapshot.etcd.membership.seen().filter(|_| falls_asleep) {
        action = action.on_members(list);
        action.pre.healthy_voters = u32::try_from(quorum(list.voters().count())).ok();
    }
    first.push(action);
    first.extend(
        events
            .into_iter()
            .map(|(kind, reason, note)| pre::event(resource, kind, &reason, note)),
    );
    first.append(&mut step.actions);
    step.actions = first;
}

/// Events are told once: when a condition or a member changes.
fn transitions(
    before: &EtcdClusterStatus,
    after: &EtcdClusterStatus,
) -> Vec<(EventType, String, String)> {
    let mut events = Vec::new();
    for condition in &after.conditions {
        let old = before
            .conditions
            .iter()
            .find(|old| old.kind == condition.kind);
        if let Some(event) = conditions::event(old, condition) {
            events.push(event);
        }
    }
    for record in &after.member_records {
        let old = before
            .member_records
            .iter()
            .find(|old| old.name == record.name);
        let was = old.map(|old| old.health);
        if after.member_records.len() == 1 && has_founded_again(before, after, old, record) {
            events.push((
                EventType::Warning,
                Reason::DataLost.name().to_owned(),
                format!("{} founded the cluster anew on another disk than it was remembered on; what was written before went with that one. Restore a backup if you need it.", record.name),
            ));
        }
        if let (Some(from), Some(to)) = (old.and_then(|old| old.version.as_ref()), &record.version)
            && from != to
        {
            events.push((
                EventType::Normal,
                "Member Upgraded".to_owned(),
                format!("Member {} upgraded from {from} to {to}", record.name),
            ));
        }
        if is_restarting(old, record) {
            continue;
        }
        match (was, record.health) {
            (Some(MemberHealth::Healthy), MemberHealth::Unhealthy | MemberHealth::Unknown)
                if after.asleep_since.is_none() =>
            {
                events.push((
                    EventType::Warning,
                    Reason::MemberUnhealthy.name().to_owned(),
                    format!("Member {} is not healthy", record.name),
                ))
            }
            (Some(MemberHealth::Unhealthy | MemberHealth::Unknown), MemberHealth::Healthy)
                if record.role == MemberRole::Voter
                    && old.is_some_and(|old| old.disk.is_some()) =>
            {
                events.push((
                    EventType::Normal,
                    "MemberHealthy".to_owned(),
                    format!("Member {} is healthy again", record.name),
                ));
            }
            (None | Some(_), _) => {}
        }
    }
    events
}

/// Whether the only member serves the same cluster, under the same id, on another disk: nobody was there to give it the data.
fn has_founded_again(
    before: &EtcdClusterStatus,
    after: &EtcdClusterStatus,
    old: Option<&MemberRecord>,
    record: &MemberRecord,
) -> bool {
    let is_same = before.cluster_id.is_some() && before.cluster_id == after.cluster_id;
    let disks = old
        .filter(|old| old.id == record.id)
        .map(|old| (&old.disk, &record.disk));
    is_same && matches!(disks, Some((Some(was), Some(is))) if was != is)
}

/// Whether the member is down because it was given another image: that it is not healthy meanwhile is as meant.
fn is_restarting(old: Option<&MemberRecord>, record: &MemberRecord) -> bool {
    let is_moved = |record: &MemberRecord| {
        let image = record.image.as_deref().and_then(upgrade::version_of_image);
        image.is_some_and(|image| record.version.as_deref() != Some(&image.to_string()))
    };
    is_moved(record) || old.is_some_and(is_moved)
}

/// Whether objects that say how the cluster stands could not be read.
pub(crate) const fn is_unread<T>(observed: &Observed<T>) -> bool {
    matches!(observed, Observed::Unknown(_))
}
