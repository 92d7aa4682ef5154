//! Takes over a cluster whose members the archived operator keeps in another shape: each by a ReplicaSet, with its data at
//! the root of its volume.
//!
//! # Flow
//! 1. Claims without pods are taken up like those of an earlier cluster: [`super::left`].
//! 2. A cluster whose member list a quorum of those pods confirms is recorded as [`super::adopt`] records any, and marked as
//!    being taken over. Nothing else is done about it as long as it is.
//! 3. One member after the other, the leader last: its ReplicaSet is deleted, which ends its pod; its claim becomes this
//!    cluster's; its pod is made on it. The next one waits until all are healthy and have caught up.
//! 4. Those who have come over and do not get well are replaced meanwhile, like those of any cluster.
//! 5. When no member has a ReplicaSet any more the mark goes, and the rest of a cluster's life begins.
//!
//! # Guarantees
//! No healthy member is stopped while another one is not. No pod is made on a claim while somebody could make another one on
//! it. The Service stays as it was until the end: it selects the pods of both operators.

mod turn;

use std::collections::BTreeSet;

use contract::{
    EtcdClusterStatus, EventType, Finding, FindingKind, Observed, OldChildren, Reason, Snapshot,
    TlsSecrets,
};

use super::upgrade::version_of_image;
use super::{LATER, SOON, Step, adopt};
use crate::assess::{Living, Situation, Stage};
use crate::pre;
use crate::validate::Cluster;
use turn::go_on;

/// The oldest minor version of etcd 3 that is taken over: older ones know no learners.
const OLDEST: u64 = 4;

/// Has the cluster follow what the archived operator left: data at the roots of volumes, and plain text until its members are
/// taken over.
pub(crate) fn inherit(cluster: &mut Cluster, snapshot: &Snapshot, memory: &EtcdClusterStatus) {
    if cluster.dialect.predecessor().marks.is_none() {
        return;
    }
    let claims = snapshot.objects.volumes.seen().into_iter().flatten();
    let names = claims.map(|claim| claim.name.as_str());
    let rooted = names.filter(|name| snapshot.has_data_at_root(name));
    cluster.rooted = rooted.map(str::to_owned).collect();
    let is_theirs =
        memory.taking_over || (memory.cluster_id.is_none() && !cluster.rooted.is_empty());
    if is_theirs && !cluster.wanted_tls.is_plain() {
        cluster.wanted_tls = TlsSecrets::default();
        cluster.generation = None;
        cluster.findings.push(Finding {
            kind: FindingKind::Waiting,
            reason: Reason::TlsNotApplied,
            message: "spec.TLS is in effect once the members of the archived operator are taken over: they speak plain text."
                .to_owned(),
            member: None,
        });
    }
}

/// Takes the next step where the archived operator keeps members, or did until a moment ago. Says whether nothing else may
/// be done in this pass.
pub(super) fn attend(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    let old = situation.snapshot.old_children();
    if !situation.memory.taking_over && old.names().next().is_none() {
        return false;
    }
    match &situation.stage {
        Stage::Unreadable { .. } => false,
        Stage::Formed { cluster_id, living } => {
            go_on(cluster, situation, (*cluster_id, living), &old, step);
            true
        }
        // Nothing runs: they are an earlier cluster's.
        Stage::Unrecorded(_) if is_at_rest(situation, &old) => false,
        Stage::Unrecorded(living) => {
            begin(cluster, situation, living, &old, step);
            true
        }
        Stage::Unborn | Stage::Forming { .. } => {
            leave_alone(
                &old,
                "This cluster has not formed, and is not theirs.",
                step,
            );
            true
        }
    }
}

fn is_at_rest(situation: &Situation<'_>, old: &OldChildren<'_>) -> bool {
    let sets = situation.snapshot.old_sets.seen();
    old.pods.is_empty() && sets.is_some_and(Vec::is_empty)
}

/// Records the cluster, where it can be taken over.
fn begin(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    old: &OldChildren<'_>,
    step: &mut Step,
) {
    if adopt::is_lock_unread(situation, step) {
        return;
    }
    if let Some(why) = obstacle(cluster, situation, old) {
        leave_alone(old, &why, step);
    } else if adopt::record(situation, living, step) {
        step.taking_over = Some(true);
    } else {
        let why = "They are taken over once a quorum of their members answers here.";
        leave_alone(old, why, step);
    }
}

/// Why the cluster cannot be taken over, and what to do about it.
fn obstacle(cluster: &Cluster, situation: &Situation<'_>, old: &OldChildren<'_>) -> Option<String> {
    if let Observed::Unknown(why) = &situation.snapshot.old_sets {
        return Some(format!(
            "Their ReplicaSets could not be listed ({why}). Give this operator the right to list and delete them; the \
             manifests do."
        ));
    }
    if situation.snapshot.old_sets == Observed::Absent {
        return Some(
            "This host does not look for their ReplicaSets; it is older than this module."
                .to_owned(),
        );
    }
    if let Some(claim) = old.claims.iter().find(|claim| claim.owner.is_some()) {
        return Some(format!(
            "The volume claim {} belongs to somebody, who could take it away; the archived operator gave its claims no owner. \
             Take its owner reference off.",
            claim.name
        ));
    }
    old.pods.iter().find_map(|pod| {
        let Some(version) = version_of_image(&pod.image) else {
            return Some(format!("The image {} of {} names no version.", pod.image, pod.name));
        };
        if version.minor < OLDEST {
            return Some(format!(
                "{} runs etcd {version}, and older ones than 3.{OLDEST} are not taken over. Bring it there with the archived \
                 operator first, one minor version after the other.",
                pod.name
            ));
        }
        let member = pod.labels.get(cluster.dialect.member_label());
        (member.is_none() || pod.claim != member.cloned()).then(|| {
            format!(
                "{} has no volume claim of its member's name, so its data cannot move to another pod. Store a snapshot, and \
                 restore it into a cluster of another name.",
                pod.name
            )
        })
    })
}

/// Says what stands, that it is left as it is, and why.
fn leave_alone(old: &OldChildren<'_>, why: &str, step: &mut Step) {
    let names: Vec<&str> = old.names().collect::<BTreeSet<_>>().into_iter().collect();
    step.find(
        FindingKind::Blocked,
        Reason::AwaitingAdoption,
        format!(
            "The archived operator's pods, volume claims and ReplicaSets of this cluster stand ({}) and are left as they are; \
             the members go on without an operator. {why}",
            names.join(", ")
        ),
    );
    step.look_again(LATER, Reason::AwaitingAdoption);
}

/// Ends the take-over.
fn finish(situation: &Situation<'_>, old: &OldChildren<'_>, step: &mut Step) {
    let left: Vec<&str> = old.names().collect::<BTreeSet<_>>().into_iter().collect();
    let rest = if left.is_empty() {
        String::new()
    } else {
        format!(
            " What the archived operator made for members that there are not stays, and is nobody's: {}.",
            left.join(", ")
        )
    };
    let message = format!("All members run in pods of this operator.{rest}");
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::Adopted,
        message.clone(),
    ));
    step.taking_over = Some(false);
    step.find(FindingKind::Doing, Reason::Adopted, message);
    step.look_again(SOON, Reason::Adopted);
}
