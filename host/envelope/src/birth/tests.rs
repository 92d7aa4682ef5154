//! First plans, beside what stands and beside nothing.

use contract::{Dialect, EtcdClusterStatus, Observed, Pod, Resource, Snapshot, Volume};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixtures::{resource, snapshot_of, unborn};
use crate::{Refusal, ResourceHead};

use super::judge_birth;

/// A resource of which nothing is recorded.
fn unrecorded() -> Snapshot {
    snapshot_of(Resource {
        status: Value::Null,
        ..resource()
    })
}

/// Why no cluster may be planned in that world; empty where one may.
fn refused(snapshot: &Snapshot) -> String {
    let plan = EtcdClusterStatus::deserialize(&unborn().status).expect("a status");
    let mut refusals = Vec::new();
    let recorded = ResourceHead::of(&snapshot.resource);
    judge_birth(&plan, &recorded, snapshot, &mut refusals);
    let words = |refusal: &Refusal| {
        if let Refusal::NotBirth { why } = refusal {
            why.clone()
        } else {
            format!("{refusal:?}")
        }
    };
    refusals.iter().map(words).collect()
}

fn pod(owner: Option<&str>) -> Pod {
    let pod = json!({
        "name": "a-1", "uid": "p1", "resourceVersion": "1", "created": 0, "phase": "Running", "owner": owner,
    });
    serde_json::from_value(pod).expect("a pod")
}

fn claim(owner: Option<&str>) -> Volume {
    let claim = json!({
        "name": "a-2", "uid": "v1", "resourceVersion": "1", "created": 0, "phase": "Bound", "owner": owner,
    });
    serde_json::from_value(claim).expect("a claim")
}

#[test]
fn a_cluster_is_planned_where_nothing_stands() {
    assert_eq!(refused(&unrecorded()), "");
}

#[test]
fn no_cluster_is_planned_beside_pods_or_claims_that_nobody_remembers() {
    let mut beside_a_pod = unrecorded();
    beside_a_pod.objects.pods = Observed::Seen(vec![pod(Some("uid-a"))]);
    let mut beside_a_claim = unrecorded();
    beside_a_claim.objects.volumes = Observed::Seen(vec![claim(Some("uid-a"))]);
    for (world, name) in [(beside_a_pod, "a-1"), (beside_a_claim, "a-2")] {
        let why = refused(&world);
        assert_eq!(
            why,
            format!("{name} stands, and no plan of this cluster has it")
        );
    }
}

#[test]
fn what_is_somebody_elses_is_in_the_way_of_no_plan() {
    let mut beside_others = unrecorded();
    beside_others.objects.pods = Observed::Seen(vec![pod(Some("uid-b"))]);
    beside_others.objects.volumes = Observed::Seen(vec![claim(None)]);
    assert_eq!(refused(&beside_others), "");
}

#[test]
fn no_cluster_is_planned_beside_what_the_archived_operator_left() {
    let mut left = pod(Some("uid-set"));
    let predecessor = Dialect::Improbable.predecessor();
    let marks = predecessor.marks.as_ref().expect("it marks its pods");
    let (label, value) = marks.has;
    left.labels.insert(label.to_owned(), value.to_owned());
    let mut world = unrecorded();
    world.resource.api_version = Dialect::Improbable.api_version();
    world.objects.pods = Observed::Seen(vec![left]);
    assert_eq!(
        refused(&world),
        "a-1 stands, and no plan of this cluster has it"
    );
}

#[test]
fn no_cluster_is_planned_where_nobody_knows_what_stands() {
    let mut unlisted = unrecorded();
    unlisted.objects.volumes = Observed::Unknown("timeout".to_owned());
    assert_eq!(refused(&unlisted), "claims could not be listed: timeout");
}

/// Who starts over has pods and claims of the attempt before.
#[test]
fn a_plan_that_follows_a_plan_is_judged_elsewhere() {
    let mut starting_over = snapshot_of(unborn());
    starting_over.objects.pods = Observed::Seen(vec![pod(Some("uid-a"))]);
    assert_eq!(refused(&starting_over), "");
}
