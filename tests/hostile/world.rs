//! The simulated clusters that hostile modules are let loose on: each of three members, at one moment.
//!
//! Knows no module. What stands in a snapshot it gives by name, so that an answer can be right in all but one thing.

use std::collections::BTreeMap;

use contract::{Membership, Observed, Snapshot, names};
use serde::Deserialize;
use simulator::{Branch, Choice, Fault, MemberTruth, OldPods, Plan};

/// Looks that no world needs.
const MANY: u32 = 300;

/// Which moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum World {
    /// Nothing is there but the resource.
    Unborn,
    /// Three healthy voters.
    #[default]
    Healthy,
    /// The same, with their data in their pods.
    InPods,
    /// Two of three answer; the one that leads does.
    OneSilent,
    /// A fourth member was added and does not run yet.
    SickLearner,
    /// Somebody deleted a pod.
    PodGone,
    /// Three healthy voters of a paused cluster.
    Paused,
    /// The authorities of the cluster's certificates are there, and nothing that they signed.
    Unsigned,
    /// Three that the archived operator left and that run, of which no status knows yet.
    Left,
}

impl World {
    pub(crate) fn build(self) -> Branch {
        match self {
            Self::Unborn => Branch::new(&plan()),
            Self::Unsigned => {
                let branch = Branch::new(&Plan {
                    tls: true,
                    ..plan()
                });
                until(branch, |branch| {
                    let Snapshot {
                        secrets, resource, ..
                    } = branch.snapshot();
                    let place = names::authorities_secret(&resource.name);
                    matches!(secrets.get(&place), Some(Observed::Seen(_)))
                })
            }
            Self::Left => Branch::new(&Plan {
                old: Some(OldPods::Kept),
                ..plan()
            }),
            Self::Healthy => healthy(),
            Self::InPods => grown(&Plan {
                claims: false,
                ..plan()
            }),
            Self::OneSilent => silent(),
            Self::SickLearner => {
                let is_sick = |member: &MemberTruth| member.learner && !member.healthy;
                until(suffering(Fault::Resize(4)), |branch| {
                    branch.truth().members.iter().any(is_sick)
                })
            }
            Self::PodGone => {
                let mut branch = healthy();
                branch.step(Choice::Suffer(Fault::DeletePod(0), 0), nothing);
                branch
            }
            Self::Paused => {
                let mut branch = healthy();
                branch.step(Choice::Suffer(Fault::Pause, 10_000_000), nothing);
                branch
            }
        }
    }
}

/// Lets the reconciler work until `is_there`.
pub(crate) fn until(mut branch: Branch, is_there: impl Fn(&Branch) -> bool) -> Branch {
    for _ in 0..MANY {
        if is_there(&branch) {
            return branch;
        }
        branch.step(Choice::Look, reconciler::reconcile);
    }
    panic!("it never comes to that: {:?}", branch.truth())
}

/// What stands in the snapshot, by the name that answers call it.
pub(crate) fn words(branch: &Branch, snapshot: &Snapshot) -> BTreeMap<&'static str, String> {
    let resource = &snapshot.resource;
    let truth = branch.truth();
    let mut words = BTreeMap::from([
        ("uid", resource.uid.clone()),
        ("version", resource.resource_version.clone()),
        ("namespace", resource.namespace.clone()),
        ("name", resource.name.clone()),
    ]);
    if let Some(list) = snapshot.etcd.membership.seen() {
        let Membership { cluster_id, .. } = list;
        words.insert("cluster", cluster_id.to_string());
        words.insert("members", list.fingerprint().0);
    }
    let leads = |member: &&MemberTruth| truth.leader == Some(member.id);
    let voters = || truth.members.iter().filter(|member| !member.learner);
    let followers = || voters().filter(|member| !leads(member));
    let roles = [
        ("leader", voters().find(leads)),
        ("follower", followers().find(|member| member.healthy)),
        ("other", followers().filter(|member| member.healthy).nth(1)),
        (
            "learner",
            truth.members.iter().find(|member| member.learner),
        ),
    ];
    let keys = [
        ["leader", "leaderName", "leaderPod", "leaderClaim"],
        ["follower", "followerName", "followerPod", "followerClaim"],
        ["other", "otherName", "otherPod", "otherClaim"],
        ["learner", "learnerName", "learnerPod", "learnerClaim"],
    ];
    for ((_, member), [id, name, pod_uid, claim_uid]) in roles.into_iter().zip(keys) {
        let Some(member) = member else { continue };
        words.insert(id, member.id.to_string());
        words.insert(name, member.name.clone());
        let mut pods = snapshot.objects.pods.seen().into_iter().flatten();
        let mut volumes = snapshot.objects.volumes.seen().into_iter().flatten();
        let pod = pods.find(|pod| pod.name == member.name);
        let claim = volumes.find(|claim| claim.name == member.name);
        words.extend(pod.map(|pod| (pod_uid, pod.uid.clone())));
        words.extend(claim.map(|claim| (claim_uid, claim.uid.clone())));
    }
    words
}

fn plan() -> Plan {
    Plan {
        seed: 5,
        size: 3,
        version: None,
        through: false,
        claims: true,
        local: false,
        tls: false,
        old: None,
        numbered: false,
        faults: Vec::new(),
        mishaps: Vec::new(),
    }
}

fn healthy() -> Branch {
    grown(&plan())
}

fn grown(plan: &Plan) -> Branch {
    until(Branch::new(plan), |branch| {
        branch.rests() > 1 && branch.truth().confirmed
    })
}

fn suffering(fault: Fault) -> Branch {
    let mut branch = healthy();
    branch.step(Choice::Suffer(fault, 0), reconciler::reconcile);
    branch
}

/// A follower's process stands still, and nobody but its neighbours has noticed.
fn silent() -> Branch {
    let leader = healthy().truth().leader;
    let frozen = (0..3).map(|which| {
        let mut branch = healthy();
        branch.step(Choice::Suffer(Fault::Freeze(which), 10_000_000), nothing);
        branch
    });
    let follows = |branch: &Branch| {
        let truth = branch.truth();
        let healthy = truth.members.iter().filter(|member| member.healthy);
        truth.confirmed && truth.leader == leader && healthy.count() == 2
    };
    frozen
        .into_iter()
        .find(follows)
        .expect("one of three leads, two follow")
}

fn nothing(_: &Snapshot) -> contract::Decision {
    serde_json::from_str(small::NOTHING).expect("a decision")
}
