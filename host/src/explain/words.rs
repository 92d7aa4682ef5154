//! Effects, outcomes, triggers and reasons as people say them.

use std::collections::BTreeMap;

use contract::{
    Action, BackupEffect, Effect, EtcdClusterStatus, MemberId, Millis, Order, OutcomeKind,
    PeerEffect, Phase, Reason, RestoreEffect, ScheduleEffect, Snapshot, names,
};

use crate::output::{count, span};

/// What made the host look.
pub(super) fn trigger(trigger: &str) -> String {
    match trigger.split_once(':') {
        Some(("watch", kind)) => format!("something about its {kind} changed"),
        Some(("requeue", reason)) => {
            format!("the time had come that the decision before asked for ({reason})")
        }
        Some(_) | None => match trigger {
            "retry" => "the look before could not be finished".to_owned(),
            "transfer" => "the transfer of its backup ended".to_owned(),
            "leadership" => "this instance began to lead and looks at every cluster".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// The same in a few words, for lists.
pub(super) fn cause(trigger: &str) -> String {
    match trigger.split_once(':') {
        Some(("watch", kind)) => format!("change of {kind}"),
        Some(("requeue", reason)) => format!("time for {reason}"),
        Some(_) | None => match trigger {
            "retry" => "look unfinished".to_owned(),
            "transfer" => "transfer ended".to_owned(),
            "leadership" => "began to lead".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// A reason with its meaning.
pub(super) fn reason(reason: Reason) -> String {
    format!("{}: {}", reason.name(), reason.meaning().trim())
}

/// When the cluster is looked at again.
pub(super) fn requeue(after: Millis, why: Reason) -> String {
    format!(
        "Looks again after {}, or at the next change. {}",
        span(after),
        reason(why)
    )
}

/// What an effect does in a few words, for lists, where equal ones are counted.
pub(super) fn deed(effect: &Effect) -> String {
    let words = match effect {
        Effect::Apply { object } => return format!("apply {}", object.kind().name()),
        Effect::Delete { kind, .. } => return format!("delete {}", kind.name()),
        Effect::UpdateStatus { .. }
        | Effect::Backup(BackupEffect::UpdateStatus { .. })
        | Effect::Restore(RestoreEffect::UpdateStatus { .. })
        | Effect::Schedule(ScheduleEffect::UpdateStatus { .. }) => "write status",
        Effect::Event { .. } => "tell event",
        Effect::AnnotatePod { annotations, .. } if is_seal(annotations) => "seal Pod",
        Effect::AnnotatePod { .. } => "annotate Pod",
        Effect::TakeUpClaim { .. } => "take up PersistentVolumeClaim",
        Effect::RetireReplicaSet { .. } => "retire ReplicaSet",
        Effect::Peer(PeerEffect::DeleteClaim { .. }) => "delete PersistentVolumeClaim of EtcdPeer",
        Effect::Peer(PeerEffect::Release { .. }) => "release EtcdPeer",
        Effect::SetImage { .. } => "set image of Pod",
        Effect::Issue { .. } => "issue Secret",
        Effect::AddLearner { .. } => "add learner",
        Effect::Promote { .. } => "promote learner",
        Effect::RemoveMember { .. } => "remove member",
        Effect::UpdateMember { .. } => "change address of member",
        Effect::MoveLeader { .. } => "move leader",
        Effect::Compact { .. } => "compact history",
        Effect::Defragment { .. } => "defragment member",
        Effect::AppendNoop => "append no-op",
        Effect::Disarm { .. } => "end alarm",
        Effect::Downgrade { to: Some(_) } => "begin downgrade",
        Effect::Downgrade { to: None } => "end downgrade",
        Effect::Backup(BackupEffect::Take(_)) => "take backup",
        Effect::Backup(BackupEffect::Verify { .. }) => "read back backup",
        Effect::Backup(BackupEffect::Delete { .. }) => "delete stored backup",
        Effect::Backup(BackupEffect::Rehearse(_)) => "rehearse restore",
        Effect::Backup(BackupEffect::EndRehearsal { .. }) => "end rehearsal",
        Effect::Backup(BackupEffect::Hold { .. }) => "put on finalizer",
        Effect::Backup(BackupEffect::Release { .. })
        | Effect::Schedule(ScheduleEffect::Release { .. }) => "take off finalizer",
        Effect::Restore(RestoreEffect::Prove { .. }) => "prove backup",
        Effect::Restore(RestoreEffect::CreateCluster { .. }) => "create EtcdCluster",
        Effect::Schedule(ScheduleEffect::CreateBackup { .. }) => "create EtcdBackup",
        Effect::Schedule(ScheduleEffect::DeleteBackup { .. }) => "delete EtcdBackup",
    };
    words.to_owned()
}

/// One action, as what it does.
pub(crate) fn action(action: &Action, snapshot: &Snapshot) -> String {
    match &action.effect {
        Effect::UpdateStatus { status } => {
            format!("Write the cluster's status: {}", status_words(status))
        }
        Effect::Event { kind, reason, note } => {
            format!("Tell by an event ({kind:?}, {reason}): {note}")
        }
        Effect::Apply { object } => {
            format!(
                "Create or bring up to date the {} {}",
                object.kind().name(),
                object.name()
            )
        }
        Effect::AnnotatePod { name, annotations } => annotate(name, annotations),
        Effect::SetImage {
            name,
            image,
            annotations: _,
        } => format!("Restart the container of the pod {name} with the image {image}"),
        Effect::Issue { secret, order } => {
            let what = match order {
                Order::Authorities => {
                    "fresh authorities, beside the newest that are there".to_owned()
                }
                Order::NewestAuthorities => "the newest authorities alone".to_owned(),
                Order::Certificate { names, .. } if names.is_empty() => {
                    "a fresh certificate and key".to_owned()
                }
                Order::Certificate { names, .. } => {
                    format!("a fresh certificate and key for {}", names.join(", "))
                }
                Order::Trust { .. } => "the list of all authorities".to_owned(),
            };
            format!("Put into the Secret {secret}: {what}")
        }
        Effect::Delete {
            kind,
            name,
            grace_seconds,
        } => {
            let grace = grace_seconds
                .map(|seconds| format!(", giving it {seconds} s to end"))
                .unwrap_or_default();
            format!("Delete the {} {name}{grace}", kind.name())
        }
        Effect::AddLearner { name, peer_urls } => format!(
            "Add {name} to etcd's member list as a learner, which receives the data and has no vote yet (reached at {})",
            peer_urls.join(", ")
        ),
        Effect::Promote { member: id } => {
            format!("Give the learner {} its vote", member(*id, snapshot))
        }
        Effect::RemoveMember { member: id } => {
            format!("Remove {} from etcd's member list", member(*id, snapshot))
        }
        Effect::UpdateMember {
            member: id,
            peer_urls,
        } => format!(
            "Have peers reach {} at {}",
            member(*id, snapshot),
            peer_urls.join(", ")
        ),
        Effect::MoveLeader { to } => format!("Make {} the leader", member(*to, snapshot)),
        Effect::Compact { revision } => format!(
            "Compact etcd's history up to the revision {revision}; no key is deleted, but older states of keys are gone"
        ),
        Effect::Defragment { member: id } => format!(
            "Defragment {}, which answers nobody until its data file is rewritten",
            member(*id, snapshot)
        ),
        Effect::TakeUpClaim { name, .. } => format!("Make the volume claim {name}, which an earlier cluster of this name left, this cluster's"),
        Effect::RetireReplicaSet { name, .. } => format!("Delete the ReplicaSet {name} of the archived operator, which ends the pod of that member"),
        Effect::AppendNoop => "Append an entry to etcd's log that changes nothing, so that a member that got its data as a snapshot serves"
            .to_owned(),
        Effect::Disarm { kind, member: id } => {
            let whose = id.map_or_else(String::new, |id| format!(" of {}", member(id, snapshot)));
            format!("End the alarm {}{whose}", kind.name())
        }
        Effect::Downgrade { to: Some(to) } => {
            format!(
                "Have etcd make the members' data files fit for {to}, so that members can be taken back to it"
            )
        }
        Effect::Downgrade { to: None } => {
            "End the way back to an older minor version: etcd stays at the one that all members run"
                .to_owned()
        }
        Effect::Peer(PeerEffect::DeleteClaim { name }) => format!("Delete the volume claim of the EtcdPeer {name}, whose member left etcd's list"),
        Effect::Peer(PeerEffect::Release { name, .. }) => format!("Take the archived operator's finalizer off the EtcdPeer {name}"),
        Effect::Backup(effect) => backup(effect),
        Effect::Restore(effect) => restore(effect),
        Effect::Schedule(effect) => schedule(effect),
    }
}

/// One action on a backup, as what it does.
fn backup(effect: &BackupEffect) -> String {
    match effect {
        BackupEffect::UpdateStatus { status } => {
            let how = match (&status.run, status.succeeded, status.reason.as_str()) {
                (Some(run), _, _) => format!("the run {} to {}", run.id, run.key),
                (None, true, _) => "succeeded".to_owned(),
                (None, false, "") => "not taken yet".to_owned(),
                (None, false, why) => format!("failed, {why}"),
            };
            format!("Write the backup's status: {how}")
        }
        BackupEffect::Take(take) => format!(
            "Stream the data of {} to {}, and read back what is stored",
            take.endpoint, take.key
        ),
        BackupEffect::Verify { key, .. } => format!("Read back what is stored as {key}"),
        BackupEffect::Delete { key } => format!("Delete the stored backup {key}"),
        BackupEffect::Rehearse(rehearse) => format!(
            "Restore {} into a throw-away member of {}, which nobody reaches, and ask what it holds",
            rehearse.key, rehearse.image
        ),
        BackupEffect::EndRehearsal { run } => format!("Delete the pod of the rehearsal {run}"),
        BackupEffect::Hold { finalizer } => format!("Put on the finalizer {finalizer}"),
        BackupEffect::Release { finalizer } => format!("Take off the finalizer {finalizer}"),
    }
}

/// One action on a restore, as what it does.
fn restore(effect: &RestoreEffect) -> String {
    match effect {
        RestoreEffect::UpdateStatus { status } => {
            let how = match (status.succeeded, status.reason.as_str()) {
                (true, _) => "succeeded".to_owned(),
                (false, "") => format!("{:?}", status.phase),
                (false, why) => format!("failed, {why}"),
            };
            format!("Write the restore's status: {how}")
        }
        RestoreEffect::Prove { key, .. } => {
            format!("Read {key} from its first byte to its last")
        }
        RestoreEffect::CreateCluster { name, .. } => {
            format!("Create EtcdCluster {name}, which is born from the backup")
        }
    }
}

/// One action on a schedule, as what it does.
fn schedule(effect: &ScheduleEffect) -> String {
    match effect {
        ScheduleEffect::UpdateStatus { status } => {
            let next = status.next_schedule_time.as_deref();
            let how = match &status.run {
                Some(run) => format!("EtcdBackup {} for {}", run.id, run.at),
                None => format!("the next one at {}", next.unwrap_or("no time")),
            };
            format!("Write the schedule's status: {how}")
        }
        ScheduleEffect::CreateBackup { name, .. } => {
            format!("Create EtcdBackup {name} of the schedule's template")
        }
        ScheduleEffect::DeleteBackup { name } => {
            format!("Delete EtcdBackup {name}, which is over and beyond the history limits")
        }
        ScheduleEffect::Release { finalizer } => format!("Take off the finalizer {finalizer}"),
    }
}

/// The start of a member is what its pod's annotations say.
fn is_seal(annotations: &BTreeMap<String, String>) -> bool {
    annotations.contains_key(names::INITIAL_STATE_ANNOTATION)
}

/// Annotations with a meaning of their own are told by it, others as they are.
fn annotate(pod: &str, annotations: &BTreeMap<String, String>) -> String {
    if is_seal(annotations) {
        return format!(
            "Seal {pod}: it has its data now, and from here on it can start from its own disk only, never with an empty one"
        );
    }
    let pairs = annotations
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    format!(
        "Annotate the pod {pod}: {}",
        pairs.collect::<Vec<_>>().join(", ")
    )
}

/// `example-x1 (8e9e05c52164694d)`, as far as the snapshot knows the name.
pub(super) fn member(id: MemberId, snapshot: &Snapshot) -> String {
    let membership = snapshot.etcd.membership.seen();
    let member = membership.and_then(|list| list.members.iter().find(|member| member.id == id));
    match member.map(seen_name) {
        Some(name) if !name.is_empty() => format!("{name} ({id})"),
        Some(_) | None => format!("the member {id}"),
    }
}

/// The name a member published, else the one in its peer URL.
pub(super) fn seen_name(member: &contract::Member) -> &str {
    if !member.name.is_empty() {
        return &member.name;
    }
    member
        .peer_urls
        .first()
        .and_then(|url| contract::names::member_of_url(url))
        .unwrap_or_default()
}

/// How an action ended.
pub(super) fn outcome(kind: OutcomeKind, message: &str) -> String {
    match kind {
        OutcomeKind::Done => "done".to_owned(),
        OutcomeKind::Refused => format!("refused, nothing happened: {message}"),
        // Where it may have happened all the same the message says so.
        OutcomeKind::Failed => format!("failed: {message}"),
        OutcomeKind::Skipped => format!("not tried: {message}"),
    }
}

fn status_words(status: &EtcdClusterStatus) -> String {
    let phase = match status.phase {
        Phase::None => "no phase yet",
        Phase::Creating => "Creating",
        Phase::Running => "Running",
        Phase::Failed => "Failed",
    };
    let members = usize::try_from(status.size).unwrap_or_default();
    format!(
        "{phase}, {} of {} healthy",
        status.ready_members,
        count(members, "member")
    )
}
