//! Claims and pods by the dozen, and the lives that come to many of them.

use contract::{Observed, Pod, Volume};
use serde_json::{Value, json};

use super::*;
use crate::fixtures::{
    action, apply, budget_json, claim_json, decision, pod_json, resource, snapshot_of,
};

fn claims(names: &[String], owner: &str) -> Vec<Volume> {
    let claim = |name: &String| {
        let claim = json!({
            "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "created": 0, "phase": "Bound",
            "owner": owner,
        });
        serde_json::from_value(claim).expect("a claim")
    };
    names.iter().map(claim).collect()
}

fn pods(names: &[String], owner: &str) -> Vec<Pod> {
    let pod = |name: &String| {
        let pod = json!({
            "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "created": 0, "phase": "Running",
            "owner": owner,
        });
        serde_json::from_value(pod).expect("a pod")
    };
    names.iter().map(pod).collect()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("a-{prefix}{number}"))
        .collect()
}

/// The cluster with so many pods, and with so many other claims.
fn with(pod_names: &[String], claim_names: &[String]) -> Snapshot {
    let mut snapshot = snapshot_of(resource());
    snapshot.objects.pods = Observed::Seen(pods(pod_names, "uid-a"));
    snapshot.objects.volumes = Observed::Seen(claims(claim_names, "uid-a"));
    snapshot
}

/// Makes an object of that kind and JSON under each of these names.
fn makes(kind: &str, like: &Value, names: &[String]) -> Decision {
    let made = names.iter().map(|name| {
        let mut object = like.clone();
        object["metadata"]["name"] = json!(name);
        apply(kind, object)
    });
    decision(made.collect())
}

fn refused(decision: &Decision, snapshot: &Snapshot) -> String {
    let mut refusals = Vec::new();
    judge_crowd(decision, snapshot, &mut refusals);
    refusals.iter().map(ToString::to_string).collect()
}

#[test]
fn one_decision_makes_no_crowd() {
    let alone = with(&[], &[]);
    for (kind, like) in [("persistentVolumeClaim", claim_json()), ("pod", pod_json())] {
        assert_eq!(refused(&makes(kind, &like, &names("x", 28)), &alone), "");
        let words = refused(&makes(kind, &like, &names("x", 29)), &alone);
        assert!(words.contains(": 29, at most 28 are allowed"), "{words}");
    }
    let whole = crate::permit(
        &makes("persistentVolumeClaim", &claim_json(), &names("x", 29)),
        &alone,
    );
    let rules: Vec<&str> = whole
        .expect_err("a crowd")
        .iter()
        .map(Refusal::rule)
        .collect();
    assert_eq!(rules, ["TooMany"]);
}

#[test]
fn no_crowd_comes_of_one_after_the_other() {
    let one = makes("persistentVolumeClaim", &claim_json(), &names("y", 1));
    assert_eq!(refused(&one, &with(&names("p", 13), &names("c", 14))), "");
    assert!(!refused(&one, &with(&names("p", 14), &names("c", 14))).is_empty());
    // Those that are going are still there.
    let mut going = with(&names("p", 14), &names("c", 14));
    if let Observed::Seen(pods) = &mut going.objects.pods {
        pods.iter_mut()
            .for_each(|pod| pod.deleted = Some(contract::Millis(1)));
    }
    assert!(!refused(&one, &going).is_empty());
}

#[test]
fn a_member_is_one_with_its_pod_and_its_claim() {
    let members = names("m", 28);
    let claimed = with(&[], &members);
    assert_eq!(refused(&makes("pod", &pod_json(), &members), &claimed), "");
    let running = with(&members, &[]);
    let again = makes("persistentVolumeClaim", &claim_json(), &members);
    assert_eq!(refused(&again, &running), "");
    let mut both = makes("persistentVolumeClaim", &claim_json(), &names("y", 1));
    both.actions
        .extend(makes("pod", &pod_json(), &names("y", 1)).actions);
    assert_eq!(refused(&both, &with(&names("m", 27), &names("m", 27))), "");
}

#[test]
fn what_is_anothers_or_of_another_kind_does_not_count() {
    let one = makes("persistentVolumeClaim", &claim_json(), &names("y", 1));
    let mut beside = with(&[], &[]);
    beside.objects.pods = Observed::Seen(pods(&names("p", 40), "uid-b"));
    beside.objects.volumes = Observed::Seen(claims(&names("c", 40), "uid-b"));
    assert_eq!(refused(&one, &beside), "");
    let crowded = with(&names("m", 40), &[]);
    let budget = apply("podDisruptionBudget", budget_json());
    assert_eq!(refused(&decision(vec![budget]), &crowded), "");
    let delete = action(Effect::Delete {
        kind: contract::ObjectKind::Pod,
        name: "a-m1".to_owned(),
        grace_seconds: None,
    });
    assert_eq!(refused(&decision(vec![delete]), &crowded), "");
}

#[test]
fn disks_that_restores_gave_up_stand_beside_up_to_a_bound() {
    let one = makes("persistentVolumeClaim", &claim_json(), &names("y", 1));
    let given_up = |field: &str, remembered: usize, there: usize| {
        let mut all = names("m", 28);
        all.extend(names("g", there));
        let mut snapshot = with(&[], &all);
        snapshot.resource.status[field] = json!({"givenUp": names("g", remembered)});
        snapshot
    };
    for field in ["restoration", "recovery"] {
        // With those who serve there is one too many in each.
        assert!(!refused(&one, &given_up(field, 7, 7)).is_empty());
    }
    let mut room = given_up("restoration", 7, 7);
    if let Observed::Seen(claims) = &mut room.objects.volumes {
        claims.remove(0);
    }
    assert_eq!(refused(&one, &room), "");
    // One that is remembered and gone makes no room.
    room.resource.status["restoration"]["givenUp"] = json!(names("h", 90));
    assert!(!refused(&one, &room).is_empty());
    let mut many = given_up("restoration", 71, 71);
    if let Observed::Seen(claims) = &mut many.objects.volumes {
        claims.remove(0);
    }
    assert!(!refused(&one, &many).is_empty());
}

#[test]
fn nobody_is_added_to_those_whom_nobody_knows() {
    let one = makes("persistentVolumeClaim", &claim_json(), &names("y", 1));
    let mut silent = with(&[], &[]);
    silent.objects.pods = Observed::Unknown("no answer".to_owned());
    assert!(refused(&one, &silent).contains("the pods could not be read: no answer"));
    assert_eq!(refused(&decision(Vec::new()), &silent), "");
    let mut silent = with(&[], &[]);
    silent.objects.volumes = Observed::Unknown("no answer".to_owned());
    assert!(refused(&one, &silent).contains("the claims could not be read"));
}
