//! What a person should weigh before a plan is followed: votes that are left, data that goes, ways that do not lead back.
//!
//! Counts votes from snapshots alone; whether a step is right, the module has judged.

use std::collections::BTreeSet;

use contract::{Effect, EtcdClusterSpec, ObjectKind, Snapshot};
use serde::Deserialize as _;
use simulator::Pass;

use super::steps::done;
use crate::output::count;

/// One sentence each, the gravest first.
pub(super) fn risks(passes: &[Pass]) -> Vec<String> {
    let mut found = [
        BTreeSet::new(),
        BTreeSet::new(),
        BTreeSet::new(),
        BTreeSet::new(),
    ];
    let stops = passes.last().is_some_and(|pass| is_to_stop(&pass.snapshot));
    if stops
        && passes
            .iter()
            .any(|pass| done(pass).any(|action| is_stop(&action.effect)))
    {
        found[0]
            .insert("With the size 0 nothing serves until the size is raised again.".to_owned());
    }
    for pass in passes {
        let refused = !pass.decision.actions.is_empty() && pass.outcomes.is_empty();
        if refused {
            found[0].insert(
                "The envelope refuses a decision of this module: nothing of it would be done."
                    .to_owned(),
            );
        }
        for action in done(pass) {
            let votes = votes(&action.effect, &pass.snapshot);
            if let Some((grave, words)) = votes.filter(|_| !(stops && is_stop(&action.effect))) {
                found[if grave { 0 } else { 3 }].insert(words);
            }
            if let Some(words) = data(&action.effect, &pass.snapshot) {
                found[1].insert(words);
            }
        }
    }
    found[2].extend(one_way(passes));
    found.into_iter().flatten().collect()
}

fn is_to_stop(snapshot: &Snapshot) -> bool {
    let spec = EtcdClusterSpec::deserialize(&snapshot.resource.spec);
    spec.is_ok_and(|spec| spec.size == 0)
}

const fn is_stop(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Delete {
            kind: ObjectKind::Pod,
            ..
        }
    )
}

/// Who is away while the effect happens, and what that leaves.
fn votes(effect: &Effect, snapshot: &Snapshot) -> Option<(bool, String)> {
    let membership = snapshot.etcd.membership.seen()?;
    let statuses = || {
        let endpoints = snapshot.etcd.endpoints.iter();
        endpoints.filter_map(|endpoint| Some((endpoint, endpoint.status.seen()?)))
    };
    let away = match effect {
        Effect::SetImage { name, .. }
        | Effect::Delete {
            kind: ObjectKind::Pod,
            name,
            ..
        } => statuses().find(|(endpoint, _)| endpoint.pod == *name)?.1,
        Effect::Defragment { member } => {
            statuses()
                .find(|(_, status)| status.member_id == *member)?
                .1
        }
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::Apply { .. }
        | Effect::AnnotatePod { .. }
        | Effect::TakeUpClaim { .. }
        | Effect::RetireReplicaSet { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Peer(_)
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => return None,
    };
    let voters: Vec<_> = membership.voters().map(|member| member.id).collect();
    if !voters.contains(&away.member_id) {
        return None;
    }
    let healthy = statuses()
        .filter(|(_, status)| status.leader.is_some() && voters.contains(&status.member_id))
        .count();
    let (left, quorum) = (healthy.saturating_sub(1), voters.len() / 2 + 1);
    let of = count(voters.len(), "voter");
    if left < quorum {
        let words = format!(
            "The cluster does not serve while a member is away: {left} of {of} are left, and {quorum} are needed."
        );
        return Some((true, words));
    }
    (left == quorum).then(|| {
        let words = format!(
            "While a member is away, no other may fail: {left} of {of} are left, and {quorum} are needed."
        );
        (false, words)
    })
}

fn data(effect: &Effect, snapshot: &Snapshot) -> Option<String> {
    let Effect::Delete { kind, name, .. } = effect else {
        return None;
    };
    let pods = snapshot.objects.pods.seen().into_iter().flatten();
    let in_pod = |name: &String| {
        let mut pods = pods;
        pods.any(|pod| pod.name == *name && pod.claim.is_none())
    };
    match kind {
        ObjectKind::PersistentVolumeClaim => {
            Some(format!("The data on the claim {name} is deleted."))
        }
        ObjectKind::Pod if in_pod(name) => {
            Some(format!("The data in the pod {name} goes with it."))
        }
        ObjectKind::Pod
        | ObjectKind::Service
        | ObjectKind::PodDisruptionBudget
        | ObjectKind::Secret
        | ObjectKind::ReplicaSet => None,
    }
}

/// etcd takes on a minor version once all members run it, and does not go back.
fn one_way(passes: &[Pass]) -> Option<String> {
    let (first, last) = (passes.first()?, passes.last()?);
    let from = lowest_minor(&first.snapshot)?;
    let to = lowest_minor(&last.snapshot)?;
    (from < to).then(|| {
        format!(
            "Once every member runs etcd 3.{to}, the cluster does not go back to 3.{from}: a backup from before is the only way."
        )
    })
}

fn lowest_minor(snapshot: &Snapshot) -> Option<u64> {
    let statuses = snapshot.etcd.endpoints.iter();
    let statuses = statuses.filter_map(|endpoint| endpoint.status.seen());
    let versions = statuses.filter_map(|status| semver::Version::parse(&status.version).ok());
    versions.map(|version| version.minor).min()
}
