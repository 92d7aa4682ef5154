//! Judges one decision by the very snapshot it was made on, counting votes anew.
//!
//! Shares no code with the reconciler or the envelope. A voter counts as healthy when it answers for this cluster and
//! follows a leader, which is the least that can be asked: who fails here fails by any measure.

use std::collections::BTreeSet;

use contract::{
    ClusterId, Decision, Effect, EndpointStatus, EtcdClusterStatus, Member, MemberId, ObjectKind,
    Observed, Recovery, RecoveryStage, Snapshot, names,
};
use serde::Deserialize;

use crate::goal::majority;
use crate::model::{formed, plan};
use crate::raised::decision;

struct Votes<'a> {
    snapshot: &'a Snapshot,
    cluster: Option<ClusterId>,
    members: &'a [Member],
}

impl<'a> Votes<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let list = snapshot.etcd.membership.seen();
        Self {
            snapshot,
            cluster: list.map(|list| list.cluster_id),
            members: list.map(|list| list.members.as_slice()).unwrap_or_default(),
        }
    }

    fn is_healthy(&self, id: MemberId) -> bool {
        let answers = self.snapshot.etcd.endpoints.iter();
        answers
            .filter_map(|endpoint| endpoint.status.seen())
            .any(|status| {
                Some(status.cluster_id) == self.cluster
                    && status.member_id == id
                    && status.leader.is_some()
            })
    }

    /// There is a cluster, and nobody said whom it has.
    fn is_unknown(&self) -> bool {
        let status = &self.snapshot.resource.status;
        self.cluster.is_none() && status["clusterId"].is_string()
    }

    /// Who votes; a list may have somebody twice.
    fn ids(&self) -> BTreeSet<MemberId> {
        let voters = self.members.iter().filter(|member| !member.learner);
        voters.map(|member| member.id).collect()
    }

    fn voters(&self) -> usize {
        self.ids().len()
    }

    /// How many voters are healthy and not among those.
    fn up(&self, down: &BTreeSet<MemberId>) -> usize {
        let ids = self.ids();
        let others = ids.difference(down);
        others.filter(|id| self.is_healthy(**id)).count()
    }

    fn voter(&self, name: &str) -> Option<&Member> {
        let named = |member: &&Member| {
            let url = member.peer_urls.first();
            !member.learner && url.and_then(|url| names::member_of_url(url)) == Some(name)
        };
        self.members.iter().find(named)
    }
}

/// How many actions of the decision bear on a quorum.
pub(super) fn quorum_relevant(decision: &Decision) -> usize {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter(|effect| {
            matches!(
                effect,
                Effect::RemoveMember { .. }
                    | Effect::Promote { .. }
                    | Effect::SetImage { .. }
                    | Effect::Defragment { .. }
                    | Effect::Delete {
                        kind: ObjectKind::Pod,
                        ..
                    }
            )
        })
        .count()
}

/// Why an action of the decision, alone or after those before it, would leave fewer healthy voters than a quorum, or asks
/// for a change of members that no quorum is there to commit.
pub(super) fn costs_quorum(snapshot: &Snapshot, decision: &Decision) -> Option<String> {
    let votes = Votes::of(snapshot);
    let spec = &snapshot.resource.spec;
    // A person asked for the end of the quorum, or agreed to it.
    let is_wished = spec.get("size") == Some(&0.into())
        || is_recovering(snapshot)
        || snapshot.resource.deleted.is_some();
    // Who an action before takes down has no vote meanwhile.
    let mut down: BTreeSet<MemberId> = BTreeSet::new();
    for action in &decision.actions {
        let (voters, healthy) = (votes.voters(), votes.up(&down));
        if changes_members(&action.effect) && healthy < majority(voters) {
            let name = action.effect.name();
            return Some(format!(
                "{name} while {healthy} of {voters} voters are healthy"
            ));
        }
        let (needed, left) = match &action.effect {
            Effect::RemoveMember { member } => {
                let is_voter = votes
                    .members
                    .iter()
                    .any(|one| one.id == *member && !one.learner);
                if !is_voter {
                    continue;
                }
                let is_up = votes.is_healthy(*member) && !down.contains(member);
                let left = healthy - usize::from(is_up);
                (majority(voters.saturating_sub(1)), left)
            }
            Effect::Promote { member } => {
                let gained = usize::from(votes.is_healthy(*member));
                (majority(voters + 1), healthy + gained)
            }
            Effect::SetImage { name, .. }
            | Effect::Delete {
                kind: ObjectKind::Pod,
                name,
                ..
            } => {
                if is_wished {
                    continue;
                }
                if votes.is_unknown() && is_ready(snapshot, name) {
                    let what = action.effect.name();
                    return Some(format!(
                        "{what} of {name}, which is ready, and nobody says who votes"
                    ));
                }
                let Some(voter) = votes.voter(name).filter(|voter| votes.is_healthy(voter.id))
                else {
                    continue;
                };
                down.insert(voter.id);
                // One or two voters have no quorum without one of them: a declared interruption.
                (
                    majority(voters).min(voters.saturating_sub(1)),
                    votes.up(&down),
                )
            }
            Effect::Defragment { member } => {
                down.insert(*member);
                (
                    majority(voters).min(voters.saturating_sub(1)),
                    votes.up(&down),
                )
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
            | Effect::UpdateMember { .. }
            | Effect::MoveLeader { .. }
            | Effect::Compact { .. }
            | Effect::AppendNoop
            | Effect::Disarm { .. }
            | Effect::Downgrade { .. }
            | Effect::Peer(_)
            | Effect::Backup(_)
            | Effect::Restore(_)
            | Effect::Schedule(_) => continue,
        };
        if left < needed {
            let name = action.effect.name();
            return Some(format!(
                "{name} leaves {left} healthy voters, {needed} are needed"
            ));
        }
    }
    None
}

fn is_ready(snapshot: &Snapshot, name: &str) -> bool {
    let mut pods = snapshot.objects.pods.seen().into_iter().flatten();
    pods.any(|pod| pod.name == name && pod.ready && pod.deleted.is_none())
}

/// Whether the status says that this cluster goes on from one member, for which the others are stopped.
fn is_recovering(snapshot: &Snapshot) -> bool {
    let status = EtcdClusterStatus::deserialize(&snapshot.resource.status).unwrap_or_default();
    let own = status.cluster_id.map(|id| id.to_string());
    let recovery = status.recovery.filter(Recovery::is_under_way);
    recovery.is_some_and(|recovery| Some(recovery.cluster_id) == own)
}

/// etcd commits these with the votes of today.
const fn changes_members(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::AddLearner { .. }
            | Effect::Promote { .. }
            | Effect::RemoveMember { .. }
            | Effect::UpdateMember { .. }
    )
}

/// Why the decision changes the membership too fast.
pub(super) fn hurries(snapshot: &Snapshot, decision: &Decision) -> Option<String> {
    let votes = Votes::of(snapshot);
    let effects = || decision.actions.iter().map(|action| &action.effect);
    let changes = effects().filter(|effect| changes_members(effect)).count();
    if changes > 1 {
        return Some(format!("{changes} membership changes at once"));
    }
    let adds = effects().any(|effect| matches!(effect, Effect::AddLearner { .. }));
    let under_way = votes
        .members
        .iter()
        .find(|member| member.learner || member.name.is_empty())?;
    adds.then(|| format!("one more is added while {} is under way", under_way.id))
}

/// Else a learner could come, go or get its vote where one of two voters answers: none of that takes a vote away.
#[test]
fn the_judge_of_votes_finds_out_a_change_that_no_quorum_commits() {
    let mut seen = formed(&plan(3)).snapshot();
    let Observed::Seen(list) = &mut seen.etcd.membership else {
        panic!("three members have a list");
    };
    list.members[2].learner = true;
    let (voter, learner) = (list.members[1].id, list.members[2].id);
    let answers = |change: fn(&mut Observed<EndpointStatus>)| {
        let mut alone = seen.clone();
        for endpoint in &mut alone.etcd.endpoints {
            let status = endpoint.status.seen();
            if status.is_some_and(|status| status.member_id == voter) {
                change(&mut endpoint.status);
            }
        }
        alone
    };
    let silent = answers(|status| *status = Observed::Unknown("no answer".to_owned()));
    let elsewhere = answers(|status| {
        if let Observed::Seen(status) = status {
            status.cluster_id = ClusterId(status.cluster_id.0 + 1);
        }
    });
    let added = Effect::AddLearner {
        name: "sim-new".to_owned(),
        peer_urls: Vec::new(),
    };
    let removed = Effect::RemoveMember { member: learner };
    for effect in [added, removed, Effect::Promote { member: learner }] {
        let decided = decision(&seen, vec![effect]);
        assert_eq!(costs_quorum(&seen, &decided), None);
        for alone in [&silent, &elsewhere] {
            assert!(costs_quorum(alone, &decided).is_some(), "{decided:?}");
        }
    }
}

/// Each alone costs nothing: of three that are healthy one may be restarted, or one may leave.
#[test]
fn the_judge_of_votes_adds_up_what_a_decision_does() {
    let seen = formed(&plan(3)).snapshot();
    let list = seen.etcd.membership.seen().expect("three members");
    let pods = seen.objects.pods.seen().expect("three pods");
    let (first, second) = (&list.members[0], &list.members[1]);
    let pod = pods.iter().find(|pod| pod.name == first.name);
    let deleted = Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.expect("its pod").name.clone(),
        grace_seconds: None,
    };
    let removed = |member: &Member| Effect::RemoveMember { member: member.id };
    let is_costly = |effects: Vec<Effect>| costs_quorum(&seen, &decision(&seen, effects)).is_some();
    assert!(!is_costly(vec![deleted.clone()]));
    assert!(!is_costly(vec![removed(second)]));
    assert!(!is_costly(vec![deleted.clone(), removed(first)]));
    assert!(is_costly(vec![deleted, removed(second)]));
}

/// A consent that stands, to whatever cluster, is no recovery yet.
#[test]
fn the_judge_of_votes_finds_out_a_stop_for_a_recovery_that_is_not_under_way() {
    let mut seen = formed(&plan(3)).snapshot();
    let mut status = EtcdClusterStatus::deserialize(&seen.resource.status).expect("it was told");
    let own = status.cluster_id.expect("it was recorded").to_string();
    let pods = seen.objects.pods.seen().expect("three pods are seen");
    let deleted = |pod: &contract::Pod| Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.name.clone(),
        grace_seconds: None,
    };
    let survivor = pods[0].name.clone();
    let stopped = decision(&seen, pods.iter().map(deleted).collect());
    seen.resource.spec["quorumRecovery"] =
        serde_json::json!({"clusterID": own, "survivor": survivor});
    assert!(costs_quorum(&seen, &stopped).is_some());
    for (cluster, stage, is_under_way) in [
        (own.as_str(), RecoveryStage::Stopping, true),
        (own.as_str(), RecoveryStage::Void, false),
        ("77", RecoveryStage::Stopping, false),
    ] {
        status.recovery = Some(Recovery {
            cluster_id: cluster.to_owned(),
            survivor: survivor.clone(),
            stage,
            started_at: String::new(),
            given_up: Vec::new(),
        });
        seen.resource.status = serde_json::to_value(&status).expect("a status is JSON");
        assert_eq!(costs_quorum(&seen, &stopped).is_none(), is_under_way);
    }
}
