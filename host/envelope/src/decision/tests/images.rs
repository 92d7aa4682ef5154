//! Which image a living pod may get.

use super::*;

/// Pod `a-3` with this image and a spec that asks for that version: the rules its next image breaks.
fn rules_of_image(spec: serde_json::Value, runs: &str, next: &str) -> Vec<&'static str> {
    let mut snapshot = snapshot_of(resource());
    for (key, value) in spec.as_object().expect("an object") {
        snapshot.resource.spec[key] = value.clone();
    }
    snapshot.objects.pods = contract::Observed::Seen(vec![running_pod("a-3", runs, None)]);
    rules_of_move(&snapshot, next)
}

fn running_pod(name: &str, image: &str, restarts_before: Option<&str>) -> contract::Pod {
    let mut pod = json!({
        "name": name, "uid": "uid-3", "resourceVersion": "5", "owner": "uid-a", "created": 0,
        "phase": "Running", "running": true, "restarts": 2, "image": image,
    });
    if let Some(count) = restarts_before {
        pod["annotations"] = json!({ names::RESTARTS_ANNOTATION: count });
    }
    serde_json::from_value(pod).expect("a pod")
}

fn rules_of_move(snapshot: &contract::Snapshot, next: &str) -> Vec<&'static str> {
    let version = next.rsplit_once(":v").map_or("", |(_, version)| version);
    let annotations = BTreeMap::from([
        (names::VERSION_ANNOTATION.to_owned(), version.to_owned()),
        (names::RESTARTS_ANNOTATION.to_owned(), "2".to_owned()),
    ]);
    let mut action = change(
        Effect::SetImage {
            name: "a-3".to_owned(),
            image: next.to_owned(),
            annotations,
        },
        2,
    );
    action.pre.object = present("uid-3");
    action.pre.object_version = Some("5".to_owned());
    action.pre.touches = Some(MemberId(3));
    let refusals = permit(&decision(vec![action]), snapshot)
        .err()
        .unwrap_or_default();
    refusals.iter().map(crate::Refusal::rule).collect()
}

#[test]
fn a_living_pod_gets_the_asked_image_and_no_other() {
    let spec = json!({"version": "3.6.17", "repository": "example.org/etcd"});
    let of = |next| rules_of_image(spec.clone(), "example.org/etcd:v3.6.16", next);
    assert_eq!(of("example.org/etcd:v3.6.17"), [""; 0]);
    assert_eq!(of("evil.example/etcd:v3.6.17"), ["Image"]);
    assert_eq!(of("example.org/etcd:v3.6.18"), ["Image"]);
    assert_eq!(of("example.org/etcd:latest"), ["Image", "Annotation"]);
}

/// The repository of the spec may be one that nothing can be had from.
#[test]
fn a_member_returns_to_the_version_it_ran_by_the_image_that_others_have() {
    let of = |ran: &str, next| {
        let mut snapshot = snapshot_of(resource());
        snapshot.resource.spec["repository"] = json!("nowhere.example/etcd@sha256:00");
        snapshot.resource.status["memberRecords"] = json!([{ "name": "a-3", "version": ran }]);
        snapshot.objects.pods = contract::Observed::Seen(vec![
            running_pod("a-2", "example.org/etcd:v3.6.16", None),
            running_pod("a-3", "nowhere.example/etcd:v3.6.16", None),
        ]);
        rules_of_move(&snapshot, next)
    };
    assert_eq!(of("3.6.16", "example.org/etcd:v3.6.16"), [""; 0]);
    assert_eq!(of("3.6.15", "example.org/etcd:v3.6.16"), ["Image"]);
    assert_eq!(of("3.6.16", "evil.example/etcd:v3.6.16"), ["Image"]);
}

/// It never answered, so it has nothing that an older version could not read.
#[test]
fn a_member_that_never_answered_gets_the_version_of_the_others_from_the_specs_repository() {
    let of = |records: serde_json::Value, next| {
        let mut snapshot = snapshot_of(resource());
        snapshot.resource.spec["version"] = json!("3.7.3");
        snapshot.resource.spec["repository"] = json!("example.org/etcd");
        snapshot.resource.status["memberRecords"] = records;
        let runs = running_pod("a-3", "gone.example/etcd:v3.5.35", None);
        snapshot.objects.pods = contract::Observed::Seen(vec![runs]);
        rules_of_move(&snapshot, next)
    };
    let others = json!([{"name": "a-2", "version": "3.5.35"}, {"name": "a-3"}]);
    assert_eq!(of(others.clone(), "example.org/etcd:v3.5.35"), [""; 0]);
    assert_eq!(of(others.clone(), "evil.example/etcd:v3.5.35"), ["Image"]);
    assert_eq!(of(others, "example.org/etcd:v3.5.34"), ["Image"]);
    let newer = json!([{"name": "a-2", "version": "3.5.35"}, {"name": "a-3", "version": "3.6.16"}]);
    assert_eq!(of(newer, "example.org/etcd:v3.5.35"), ["Image"]);
}

#[test]
fn versions_on_the_way_are_for_specs_that_allow_a_long_way() {
    let of = |through: bool, next| {
        let spec = json!({"version": "3.7.3", "upgrade": {"throughMinors": through}});
        rules_of_image(spec, "quay.io/coreos/etcd:v3.5.20", next)
    };
    assert_eq!(of(true, "quay.io/coreos/etcd:v3.6.16"), [""; 0]);
    assert_eq!(of(false, "quay.io/coreos/etcd:v3.6.16"), ["Image"]);
    assert_eq!(of(true, "quay.io/coreos/etcd:v3.5.19"), ["Image"]);
    assert_eq!(of(true, "quay.io/coreos/etcd:v3.7.4"), ["Image"]);
}

#[test]
fn one_member_is_restarted_at_a_time() {
    let next = "quay.io/coreos/etcd:v3.6.16";
    let with = |restarts_before| {
        let mut snapshot = snapshot_of(resource());
        let other = running_pod("a-2", next, restarts_before);
        snapshot.objects.pods = contract::Observed::Seen(vec![
            other,
            running_pod("a-3", "quay.io/coreos/etcd:v3.5.35", None),
        ]);
        rules_of_move(&snapshot, next)
    };
    assert_eq!(with(Some("2")), ["RestartPending"]);
    assert_eq!(with(Some("1")), [""; 0]);
    assert_eq!(with(None), [""; 0]);
}

/// A status is what pods are made again from.
#[test]
fn the_status_remembers_no_image_of_another_registry() {
    let of = |image: &str| {
        let mut status = recorded();
        let record = json!({
            "name": "a-3", "role": "Voter", "health": "Healthy", "since": "", "roleSince": "", "image": image,
        });
        status.member_records = vec![serde_json::from_value(record).expect("a record")];
        rules(vec![update(status)])
    };
    assert_eq!(of("quay.io/coreos/etcd:v3.6.16"), [""; 0]);
    assert_eq!(of("evil.example/etcd:v3.6.16"), ["Image"]);
}
