//! What a snapshot showed: what is wanted, etcd's members and their health, pods and disks.
//!
//! Tells observations as they are. Whether a cluster is well is the module's judgement.

mod backup;
mod restore;
mod schedule;

use contract::{
    AlarmKind, Endpoint, EndpointStatus, EtcdClusterSpec, Member, Membership, Observed, Pod,
    PodPhase, ResourceKind, Snapshot, VolumePhase,
};
use serde::Deserialize;

use super::words;
use crate::output::{count, span, table};

/// Paragraphs on all that was seen.
pub(super) fn tell(snapshot: &Snapshot) -> Vec<String> {
    if snapshot.resource.kind == ResourceKind::EtcdBackup.name() {
        return backup::tell(snapshot);
    }
    if snapshot.resource.kind == ResourceKind::EtcdRestore.name() {
        return restore::tell(snapshot);
    }
    if snapshot.resource.kind == ResourceKind::EtcdBackupSchedule.name() {
        return schedule::tell(snapshot);
    }
    let mut told = vec![wanted(snapshot)];
    if let Some(deleted) = snapshot.resource.deleted {
        let ago = span(snapshot.now.since(deleted));
        told.push(format!("Its deletion was asked for {ago} before.\n"));
    }
    told.push(members(snapshot));
    told.push(pods(snapshot));
    told.extend(volumes(snapshot));
    told.extend(alarms(snapshot));
    told.extend(departing(snapshot));
    told.extend(restore::asked(snapshot));
    told
}

fn wanted(snapshot: &Snapshot) -> String {
    match EtcdClusterSpec::deserialize(&snapshot.resource.spec) {
        Ok(spec) => {
            let size = usize::try_from(spec.size).map_or_else(
                |_| format!("{} members", spec.size),
                |size| count(size, "member"),
            );
            let version = spec
                .version
                .map(|version| format!(" of etcd {version}"))
                .unwrap_or_default();
            let disk = spec
                .pod
                .is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
            let disk = if disk {
                "each on a disk of its own"
            } else {
                "with their data in the pods"
            };
            let paused = if spec.paused == Some(true) {
                "; paused: nothing may be changed"
            } else {
                ""
            };
            format!("Wanted: {size}{version}, {disk}{paused}.\n")
        }
        Err(error) => format!("Wanted: the spec cannot be read ({error}).\n"),
    }
}

fn members(snapshot: &Snapshot) -> String {
    let membership = match &snapshot.etcd.membership {
        Observed::Seen(membership) => membership,
        Observed::Absent => return "etcd's member list: there was no pod to ask.\n".to_owned(),
        Observed::Unknown(why) => return format!("etcd's member list: unknown ({why}).\n"),
    };
    let Membership {
        cluster_id,
        linearizable,
        from,
        members,
    } = membership;
    let trust = if *linearizable {
        "confirmed by a majority".to_owned()
    } else {
        format!("only {from}'s own copy, which may be old")
    };
    let mut rows = vec![["MEMBER", "ID", "ROLE", "VERSION", "HEALTH"].map(str::to_owned)];
    rows.extend(members.iter().map(|member| member_row(member, snapshot)));
    format!(
        "etcd's member list ({trust}; cluster {cluster_id}): {}\n{}",
        count(members.len(), "member"),
        indented(&table(&rows))
    )
}

fn member_row(member: &Member, snapshot: &Snapshot) -> [String; 5] {
    let name = words::seen_name(member);
    let endpoint = endpoint(member, snapshot);
    let status = endpoint.and_then(|endpoint| endpoint.status.seen());
    let role = match status.and_then(|status| status.leader) {
        _ if member.learner => "learner",
        Some(leader) if leader == member.id => "leader",
        Some(_) | None => "voter",
    };
    [
        if name.is_empty() {
            "(not started)".to_owned()
        } else {
            name.to_owned()
        },
        member.id.to_string(),
        role.to_owned(),
        status.map_or_else(|| "-".to_owned(), |status| status.version.clone()),
        health(endpoint, snapshot),
    ]
}

/// The member's own endpoint: by what it says of itself, else by its pod's name.
fn endpoint<'a>(member: &Member, snapshot: &'a Snapshot) -> Option<&'a Endpoint> {
    let endpoints = &snapshot.etcd.endpoints;
    let says = |endpoint: &&Endpoint| {
        endpoint
            .status
            .seen()
            .is_some_and(|status| status.member_id == member.id)
    };
    endpoints.iter().find(says).or_else(|| {
        endpoints
            .iter()
            .find(|endpoint| endpoint.pod == words::seen_name(member))
    })
}

fn health(endpoint: Option<&Endpoint>, snapshot: &Snapshot) -> String {
    let Some(endpoint) = endpoint else {
        return "not asked: no pod of it has an address".to_owned();
    };
    match &endpoint.status {
        Observed::Seen(status) => answered(status, snapshot),
        Observed::Absent => "not asked".to_owned(),
        Observed::Unknown(why) => format!("does not answer: {why}"),
    }
}

fn answered(status: &EndpointStatus, snapshot: &Snapshot) -> String {
    let leader = match status.leader {
        None => "answers, but knows of no leader".to_owned(),
        Some(leader) if leader == status.member_id => "answers, and leads".to_owned(),
        Some(leader) => format!("answers, follows {}", words::member(leader, snapshot)),
    };
    if status.errors.is_empty() {
        leader
    } else {
        format!("{leader}; complains: {}", status.errors.join(", "))
    }
}

fn pods(snapshot: &Snapshot) -> String {
    let pods = match &snapshot.objects.pods {
        Observed::Seen(pods) if pods.is_empty() => return "Pods: none.\n".to_owned(),
        Observed::Seen(pods) => pods,
        Observed::Absent => return "Pods: none.\n".to_owned(),
        Observed::Unknown(why) => return format!("Pods: unknown ({why}).\n"),
    };
    let mut rows = vec![["POD", "NODE", "ADDRESS", "STATE"].map(str::to_owned)];
    rows.extend(pods.iter().map(|pod| {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        [
            pod.name.clone(),
            or_dash(&pod.node),
            or_dash(&pod.ip),
            pod_state(pod, snapshot),
        ]
    }));
    format!("Pods:\n{}", indented(&table(&rows)))
}

fn pod_state(pod: &Pod, snapshot: &Snapshot) -> String {
    let phase = match pod.phase {
        PodPhase::Pending => "pending",
        PodPhase::Running => "running",
        PodPhase::Succeeded => "ended",
        PodPhase::Failed => "failed",
        PodPhase::Unknown => "unknown, its node does not answer",
    };
    let ready = match (pod.ready, pod.ready_since) {
        (true, Some(since)) => format!("ready for {}", span(snapshot.now.since(since))),
        (true, None) => "ready".to_owned(),
        (false, _) => "not ready".to_owned(),
    };
    let mut facts = vec![phase.to_owned(), ready];
    facts.extend(pod.deleted.map(|_| "being deleted".to_owned()));
    facts.extend(
        pod.unschedulable
            .as_ref()
            .map(|why| format!("no node for it: {why}")),
    );
    facts.extend(pod.waiting.as_ref().map(|why| format!("waits: {why}")));
    if pod.restarts > 0 {
        let restarts = usize::try_from(pod.restarts).unwrap_or(usize::MAX);
        facts.push(count(restarts, "restart"));
        facts.extend(
            pod.last_exit
                .as_ref()
                .map(|exit| format!("last ended as {} ({})", exit.reason, exit.code)),
        );
        // etcd says in its last line why it ended, such as that its disk is empty.
        facts.extend(
            pod.last_exit
                .as_ref()
                .and_then(|exit| exit.message.trim().lines().last())
                .map(|said| format!("its last words: {said}")),
        );
    }
    facts.join(", ")
}

fn volumes(snapshot: &Snapshot) -> Option<String> {
    let volumes = match &snapshot.objects.volumes {
        Observed::Seen(volumes) if volumes.is_empty() => return None,
        Observed::Seen(volumes) => volumes,
        Observed::Absent => return None,
        Observed::Unknown(why) => return Some(format!("Disks: unknown ({why}).\n")),
    };
    let rows: Vec<[String; 3]> = volumes
        .iter()
        .map(|volume| {
            let phase = match volume.phase {
                VolumePhase::Pending => "waits for a volume",
                VolumePhase::Bound => "bound",
                VolumePhase::Lost => "lost its volume",
            };
            let going = if volume.deleted.is_some() {
                ", being deleted"
            } else {
                ""
            };
            let size = volume.capacity.as_ref().or(volume.requested.as_ref());
            [
                volume.name.clone(),
                size.cloned().unwrap_or_default(),
                format!("{phase}{going}"),
            ]
        })
        .collect();
    Some(format!("Disks:\n{}", indented(&table(&rows))))
}

fn alarms(snapshot: &Snapshot) -> Option<String> {
    let alarms = match &snapshot.etcd.alarms {
        Observed::Seen(alarms) => alarms,
        Observed::Absent | Observed::Unknown(_) => return None,
    };
    let told: Vec<String> = alarms
        .iter()
        .map(|alarm| {
            let kind = match alarm.kind {
                AlarmKind::Nospace => "out of space",
                AlarmKind::Corrupt => "data is corrupt",
            };
            let whose = alarm
                .member
                .map(|id| format!(" at {}", words::member(id, snapshot)));
            format!("{kind}{}", whose.unwrap_or_default())
        })
        .collect();
    (!told.is_empty()).then(|| format!("Alarms: {}.\n", told.join("; ")))
}

/// EtcdPeers that the archived operator left on their way out.
fn departing(snapshot: &Snapshot) -> Option<String> {
    let peers = match &snapshot.departing_peers {
        Observed::Seen(peers) => peers,
        Observed::Absent => return None,
        Observed::Unknown(why) => return Some(format!("EtcdPeers: unknown ({why}).\n")),
    };
    let told: Vec<String> = peers
        .iter()
        .map(|peer| {
            let claim = match &peer.claim {
                Observed::Seen(_) => "is there".to_owned(),
                Observed::Absent => "is gone".to_owned(),
                Observed::Unknown(why) => format!("is unknown: {why}"),
            };
            format!("{} (its volume claim {claim})", peer.name)
        })
        .collect();
    Some(format!(
        "EtcdPeers on their way out: {}.\n",
        told.join(", ")
    ))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
