//! A world that is made of a snapshot goes the way of the world that the snapshot is of.

use contract::{OutcomeKind, Snapshot};
use serde_json::json;
use simulator::{Ending, Foresight, Plan, Release, foresee, simulate};

use crate::goal::{is_goal, is_hopeless};

/// Plans whose histories are gone on from.
const PLANS: u64 = 60;

/// The snapshots of a history in which nothing is changed but by the operator, at least so many of them.
fn snapshots(plan: &Plan) -> (Vec<Snapshot>, bool) {
    let mut seen = Vec::new();
    let mut decide = |snapshot: &Snapshot| {
        seen.push(snapshot.clone());
        reconciler::reconcile(snapshot)
    };
    let end = simulate(plan, &mut decide, &is_goal, &is_hopeless, false).end;
    (seen, end.rested)
}

fn from(snapshot: &Snapshot) -> Foresight {
    foresee(snapshot, &mut |snapshot| reconciler::reconcile(snapshot)).expect("all was read")
}

/// What was done, but for telling.
fn effects(foresight: &Foresight) -> Vec<String> {
    let passes = foresight.passes.iter();
    let tried = passes.flat_map(|pass| pass.decision.actions.iter().zip(&pass.outcomes));
    tried
        .filter(|(_, became)| became.outcome == OutcomeKind::Done)
        .map(|(action, _)| &action.effect)
        .filter(|effect| !effect.is_telling())
        .map(|effect| format!("{} {}", effect.name(), effect.target()))
        .collect()
}

fn members(foresight: &Foresight) -> usize {
    let last = foresight.passes.last().expect("there is a last pass");
    let membership = last.snapshot.etcd.membership.seen();
    membership.map_or(0, |membership| membership.members.len())
}

fn calm(seed: u64) -> Plan {
    let mut plan = Plan::of_seed(seed);
    plan.faults.clear();
    plan.mishaps.clear();
    // Pods of the archived operator's shape are made anew after the cluster has been at rest.
    plan.old = None;
    plan
}

#[test]
fn a_cluster_at_rest_is_foreseen_to_stay_so() {
    let mut rested = 0;
    for seed in 1..=PLANS {
        let (seen, has_rested) = snapshots(&calm(seed));
        let last = seen.last().expect("there are snapshots");
        if !has_rested {
            continue;
        }
        rested += 1;
        let foresight = from(last);
        assert_eq!(effects(&foresight), Vec::<String>::new(), "seed {seed}");
        assert!(foresight.ending != Ending::Unfinished, "seed {seed}");
    }
    assert!(rested > PLANS / 2, "{rested}");
}

#[test]
fn from_the_middle_of_a_birth_the_end_is_foreseen() {
    for seed in 1..=PLANS {
        let plan = calm(seed);
        let (seen, has_rested) = snapshots(&plan);
        let wanted = usize::try_from(plan.size).expect("a size");
        for part in 0..4 {
            let from_here = &seen[seen.len() * part / 4];
            let foresight = from(from_here);
            if has_rested && wanted > 0 {
                assert_eq!(
                    members(&foresight),
                    wanted,
                    "seed {seed}, {part} quarters: {:?}",
                    effects(&foresight)
                );
                assert_ne!(foresight.ending, Ending::Unfinished, "seed {seed}");
            }
        }
    }
}

#[test]
fn an_edited_size_and_version_are_foreseen_to_their_end() {
    let plan = Plan {
        version: Some(Release::new(5, 35)),
        size: 3,
        claims: true,
        ..calm(1)
    };
    let (mut seen, rested) = snapshots(&plan);
    assert!(rested);
    let mut last = seen.pop().expect("there are snapshots");
    last.resource.spec["size"] = json!(5);
    last.resource.spec["version"] = json!("3.6.16");
    last.resource.generation += 1;
    let foresight = from(&last);
    assert_eq!(foresight.ending, Ending::AtRest);
    assert_eq!(members(&foresight), 5);
    let effects = effects(&foresight);
    let count = |name: &str| {
        effects
            .iter()
            .filter(|effect| effect.starts_with(name))
            .count()
    };
    assert_eq!((count("AddLearner"), count("Promote")), (2, 2));
    assert!(count("SetImage") >= 3);
    let endpoints = &foresight
        .passes
        .last()
        .expect("one")
        .snapshot
        .etcd
        .endpoints;
    let versions = endpoints
        .iter()
        .filter_map(|endpoint| endpoint.status.seen());
    assert!(
        versions
            .into_iter()
            .all(|status| status.version == "3.6.16")
    );
}

/// What the module's own faults do to the end is told, not waited for.
#[test]
fn what_never_comes_to_rest_is_followed_for_a_while_only() {
    let (seen, _) = snapshots(&calm(2));
    let mut stubborn = |snapshot: &Snapshot| {
        let mut decision = reconciler::reconcile(snapshot);
        decision.actions.clear();
        decision
    };
    let foresight = foresee(&seen[0], &mut stubborn).expect("all was read");
    assert_eq!(foresight.ending, Ending::Standing);
}

/// What is foreseen waits for the backup first, too, which is taken to succeed.
#[test]
fn a_stop_is_foreseen_after_the_backup_that_it_waits_for() {
    let plan = (1..=PLANS)
        .map(calm)
        .find(|plan| plan.claims && plan.version.is_none() && plan.size > 0);
    let (seen, has_rested) = snapshots(&plan.expect("one has its data on claims"));
    assert!(has_rested);
    let mut last = seen.last().expect("there are snapshots").clone();
    last.resource.spec["size"] = json!(0);
    let guard = contract::Resource {
        kind: "EtcdBackup".to_owned(),
        name: "guard".to_owned(),
        spec: json!({
            "clusterRef": {"name": last.resource.name}, "storageType": "S3",
            "s3": {"path": "bucket/guard", "awsSecret": "aws"}, "backupPolicy": {"before": ["scaleToZero"]},
        }),
        status: json!({}),
        ..contract::Resource::default()
    };
    last.guards = contract::Observed::Seen(vec![guard]);
    let foresight = from(&last);
    let waits = |pass: &simulator::Pass| {
        let mut findings = pass.decision.report.findings.iter();
        findings.any(|finding| finding.reason == contract::Reason::BackupBeforeChange)
    };
    let stops = |pass: &simulator::Pass| {
        let mut actions = pass.decision.actions.iter();
        actions.any(|action| action.effect.name() == "Delete")
    };
    let waited = foresight.passes.iter().position(waits);
    let stopped = foresight.passes.iter().position(stops);
    assert!(
        waited.is_some() && waited < stopped,
        "{waited:?}, {stopped:?}"
    );
}
