//! What of the spec a member's pod has, and what of it no spec changes.

use contract::{Effect, names};
use serde_json::{Value, json};

use crate::fixture::healthy;

/// The pod that is made again with this in `spec.pod`.
fn made(key: &str, value: Value) -> Value {
    let mut world = healthy(3).without_pod(1);
    world.snapshot.resource.spec["pod"][key] = value;
    let actions = world.decide().actions.into_iter();
    let mut pods = actions.filter_map(|action| match action.effect {
        Effect::Apply { object } => json!(object).get("pod").cloned(),
        _ => None,
    });
    pods.next().unwrap()
}

/// etcd reads from them whether it founds a cluster or joins one.
#[test]
fn no_annotation_of_the_spec_takes_the_place_of_the_operators() {
    let asked = json!({names::INITIAL_STATE_ANNOTATION: "new", "team": "infra"});
    let annotations = made("annotations", asked)["metadata"]["annotations"].take();
    assert_eq!(annotations[names::INITIAL_STATE_ANNOTATION], "existing");
    assert_eq!(annotations["team"], "infra");
}

#[test]
fn members_share_no_node_where_the_spec_says_so() {
    let terms = |asked: bool, kind: &str| {
        let pod = made("antiAffinity", json!(asked));
        let term = format!("{kind}DuringSchedulingIgnoredDuringExecution");
        pod["spec"]["affinity"]["podAntiAffinity"][term].is_array()
    };
    assert!(terms(true, "required") && !terms(true, "preferred"));
    assert!(terms(false, "preferred") && !terms(false, "required"));
}
