//! A restoration on a fresh read that agrees, and on each one that does not.

use contract::{
    Action, Effect, EtcdClusterStatus, EtcdRestoreSpec, ObjectKind, Observed, Resource,
    Restoration, RestorationStage, RestoreRef, SnapshotProof,
};
use serde_json::{Value, json};

use crate::check::check;
use crate::fixtures::{
    CLUSTER_ID, action, apply, decision, fresh_of, pod_json, present, resource, snapshot_of,
};
use crate::{Fresh, Refusal, RestoreHead, permit};

const STAGES: [RestorationStage; 5] = [
    RestorationStage::Waiting,
    RestorationStage::Stopping,
    RestorationStage::Filling,
    RestorationStage::Growing,
    RestorationStage::Done,
];

fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

fn reference() -> RestoreRef {
    RestoreRef {
        name: "a".to_owned(),
        uid: "uid-restore".to_owned(),
    }
}

fn restoration(stage: RestorationStage) -> Restoration {
    let is_planned = !matches!(
        stage,
        RestorationStage::Waiting | RestorationStage::Stopping
    );
    Restoration {
        restore: "a".to_owned(),
        uid: "uid-restore".to_owned(),
        stage,
        started_at: None,
        ended_at: None,
        replaces: Some(CLUSTER_ID),
        seed: is_planned.then(|| "a-1".to_owned()),
        token: is_planned.then(|| "token".to_owned()),
        given_up: vec!["a-9".to_owned()],
    }
}

fn at(stage: RestorationStage) -> Resource {
    let mut resource = resource();
    resource.status["restoration"] = json!(restoration(stage));
    if stage == RestorationStage::Filling {
        resource.status["clusterId"] = Value::Null;
    }
    resource
}

fn head() -> RestoreHead {
    let spec = json!({"etcdCluster": {"name": "a"}, "backupStorageType": "S3"});
    RestoreHead {
        uid: "uid-restore".to_owned(),
        deleted: false,
        spec: serde_json::from_value::<EtcdRestoreSpec>(spec).ok(),
        proof: Some(SnapshotProof::default()),
        over: false,
    }
}

fn consenting(id: &str) -> RestoreHead {
    let mut head = head();
    if let Some(spec) = &mut head.spec {
        spec.replaces = Some(id.to_owned());
    }
    head
}

/// A proven EtcdRestore; nobody leads.
fn lost(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource).silent(2).silent(3);
    fresh.restore = Observed::Seen(head());
    fresh.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
    if let Observed::Seen(status) = &mut fresh.etcd.endpoints[0].status {
        status.leader = None;
    }
    fresh
}

fn living(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource);
    fresh.restore = Observed::Seen(head());
    fresh
}

/// No pod is left.
fn empty(resource: &Resource) -> Fresh {
    let mut fresh = lost(resource).without_object();
    fresh.etcd.membership = Observed::Absent;
    fresh.etcd.endpoints.clear();
    fresh
}

fn writes(stage: RestorationStage) -> Action {
    let cluster_id = (stage != RestorationStage::Filling).then_some(CLUSTER_ID);
    let status = EtcdClusterStatus {
        cluster_id,
        restoration: Some(restoration(stage)),
        ..EtcdClusterStatus::default()
    };
    let mut action = action(Effect::UpdateStatus {
        status: Box::new(status),
    });
    action.pre.resource_version = Some("7".to_owned());
    action
}

#[test]
fn it_begins_with_a_proof_and_without_a_quorum() {
    let begins = writes(RestorationStage::Stopping);
    let resource = at(RestorationStage::Waiting);
    assert_eq!(rule(&begins, &lost(&resource)), "");
    assert_eq!(rule(&begins, &living(&resource)), "Unasked");
    let changes: [fn(&mut RestoreHead); 5] = [
        |head| head.proof = None,
        |head| head.over = true,
        |head| head.deleted = true,
        |head| "another".clone_into(&mut head.uid),
        |head| {
            if let Some(spec) = &mut head.spec {
                "b".clone_into(&mut spec.etcd_cluster.name);
            }
        },
    ];
    for change in changes {
        let mut head = head();
        change(&mut head);
        let mut fresh = lost(&resource);
        fresh.restore = Observed::Seen(head);
        assert_eq!(rule(&begins, &fresh), "Unasked");
    }
    let mut fresh = lost(&resource);
    fresh.restore = Observed::Unknown("timed out".to_owned());
    assert_eq!(rule(&begins, &fresh), "Unread");
    fresh.restore = Observed::Absent;
    assert_eq!(rule(&begins, &fresh), "Unasked");
}

#[test]
fn members_that_only_elect_a_leader_are_not_lost() {
    let begins = writes(RestorationStage::Stopping);
    let voter = |name: &str| json!({"name": name, "role": "Voter"});
    let mut resource = at(RestorationStage::Waiting);
    resource.status["memberRecords"] = json!([voter("a-1"), voter("a-2"), voter("a-3")]);
    assert_eq!(rule(&begins, &lost(&resource)), "", "one of three answers");
    let mut electing = living(&resource);
    electing.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
    for endpoint in &mut electing.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.leader = None;
        }
    }
    assert_eq!(rule(&begins, &electing), "Unasked");
}

#[test]
fn a_living_cluster_is_given_up_by_a_consent_that_names_it() {
    let begins = writes(RestorationStage::Stopping);
    let resource = at(RestorationStage::Waiting);
    for (id, expected) in [("c1", ""), ("c2", "Unasked")] {
        let mut fresh = living(&resource);
        fresh.restore = Observed::Seen(consenting(id));
        assert_eq!(rule(&begins, &fresh), expected, "{id}");
    }
}

#[test]
fn stages_come_in_their_order() {
    let allowed = |before, after| {
        let fresh = match after {
            RestorationStage::Growing | RestorationStage::Done => living(&at(before)),
            RestorationStage::Filling => empty(&at(before)),
            RestorationStage::Waiting | RestorationStage::Stopping => lost(&at(before)),
        };
        rule(&writes(after), &fresh).is_empty()
    };
    let found: Vec<_> = STAGES
        .into_iter()
        .flat_map(|before| STAGES.map(|after| (before, after)))
        .filter(|(before, after)| before != after && allowed(*before, *after))
        .collect();
    let expected: Vec<_> = STAGES.windows(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_id_is_given_up_only_when_nobody_of_before_is_left() {
    let gives_up = writes(RestorationStage::Filling);
    let resource = at(RestorationStage::Stopping);
    let permitted = |action: &Action, resource: &Resource| {
        permit(
            &decision(vec![action.clone()]),
            &snapshot_of(resource.clone()),
        )
        .is_ok()
    };
    assert!(permitted(&gives_up, &resource));
    assert!(!permitted(&gives_up, &at(RestorationStage::Waiting)));
    assert!(!permitted(&gives_up, &self::resource()));
    assert_eq!(rule(&gives_up, &empty(&resource)), "");
    assert_eq!(rule(&gives_up, &lost(&resource)), "Unasked", "one answers");
}

#[test]
fn one_under_way_is_not_forgotten_and_neither_is_whose_claims_are_kept() {
    let mut forgets = writes(RestorationStage::Growing);
    let mut drops = writes(RestorationStage::Growing);
    if let Effect::UpdateStatus { status } = &mut forgets.effect {
        status.restoration = None;
    }
    if let Effect::UpdateStatus { status } = &mut drops.effect
        && let Some(one) = &mut status.restoration
    {
        one.given_up.clear();
    }
    let growing = living(&at(RestorationStage::Growing));
    assert_eq!(rule(&forgets, &growing), "Unasked");
    assert_eq!(rule(&drops, &growing), "Unasked");
    let stopping = lost(&at(RestorationStage::Stopping));
    assert_eq!(rule(&forgets, &stopping), "", "nothing was lost yet");
    assert_eq!(rule(&forgets, &living(&at(RestorationStage::Done))), "");
}

fn stops() -> Action {
    let mut action = action(Effect::Delete {
        kind: ObjectKind::Pod,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    action.pre.object = present("uid-3");
    action.pre.restore = Some(reference());
    action
}

#[test]
fn pods_are_stopped_while_the_status_says_so_and_their_disks_stay() {
    let resource = at(RestorationStage::Stopping);
    assert_eq!(rule(&stops(), &lost(&resource)), "");
    assert_eq!(rule(&stops(), &living(&resource)), "Unasked");
    for stage in STAGES
        .into_iter()
        .filter(|stage| *stage != RestorationStage::Stopping)
    {
        assert_eq!(rule(&stops(), &lost(&at(stage))), "Unasked", "{stage:?}");
    }
    let mut in_pod = lost(&resource);
    if let Observed::Seen(pod) = &mut in_pod.object {
        pod.claim = None;
        pod.running = true;
    }
    assert_eq!(rule(&stops(), &in_pod), "StillRunning");
    in_pod.restore = Observed::Seen(consenting("c1"));
    assert_eq!(rule(&stops(), &in_pod), "");
}

fn deletes_claim(name: &str) -> Action {
    let mut action = action(Effect::Delete {
        kind: ObjectKind::PersistentVolumeClaim,
        name: name.to_owned(),
        grace_seconds: None,
    });
    action.pre.object = present("uid-3");
    action.pre.cluster_id = Some(CLUSTER_ID);
    action.pre.departed = Some(name.to_owned());
    action
}

#[test]
fn a_claim_of_before_goes_only_when_the_cluster_is_whole() {
    let growing = at(RestorationStage::Growing);
    assert_eq!(rule(&deletes_claim("a-9"), &living(&growing)), "");
    let sick = living(&growing).silent(3);
    assert_eq!(rule(&deletes_claim("a-9"), &sick), "TooFewHealthy");
    let joining = living(&growing).with_learner();
    assert_eq!(rule(&deletes_claim("a-9"), &joining), "Outstanding");
    let mut small = growing.clone();
    small.spec["size"] = json!(5);
    assert_eq!(
        rule(&deletes_claim("a-9"), &living(&small)),
        "TooFewHealthy"
    );
    assert_eq!(
        rule(&deletes_claim("a-8"), &sick),
        "",
        "of one who left afterwards"
    );
}

/// A pod `a-1` that fills its disk, as the contract has it.
fn filled() -> Value {
    let mut pod = pod_json();
    pod["metadata"]["annotations"]["etcd.database.coreos.com/filled"] = json!("false");
    let environment = json!([{"name": "BINNACLE_FILLED", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.annotations['etcd.database.coreos.com/filled']"}}}]);
    let source = json!({"storageType": "S3", "s3": {"path": "b/k", "awsSecret": "aws"}});
    let disk = json!({"name": "etcd-data", "mountPath": "/var/etcd"});
    let security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let container = |name: &str, image: &str, program: &str, arguments: Value| {
        json!({
            "name": name, "image": image, "command": [program], "args": arguments,
            "env": environment, "volumeMounts": [disk], "securityContext": security,
        })
    };
    let own = "/usr/local/bin/binnacle";
    let mut fetch = container(
        "fetch",
        "binnacle:1",
        own,
        json!([
            "member",
            "fetch",
            "--skip=$(BINNACLE_FILLED)",
            "--sha256=abc",
            format!("--source={source}")
        ]),
    );
    let store =
        json!({"name": "store-credentials", "mountPath": "/etc/binnacle/store", "readOnly": true});
    fetch["volumeMounts"] = json!([disk, store]);
    let tool = json!([
        "snapshot",
        "restore",
        "/var/etcd/restore/snapshot.db",
        "--help=$(BINNACLE_FILLED)",
        "--data-dir=/var/etcd/restore/data",
        "--name=a-1",
        "--initial-cluster=a-1=http://a-1.a.ns.svc:2380",
        "--initial-cluster-token=t",
        "--initial-advertise-peer-urls=http://a-1.a.ns.svc:2380",
        "--bump-revision=7",
        "--mark-compacted",
    ]);
    let place = json!(["member", "place", "--skip=$(BINNACLE_FILLED)"]);
    pod["spec"]["initContainers"] = json!([
        fetch,
        container(
            "restore",
            "quay.io/coreos/etcd:v3.6.16",
            "/usr/local/bin/etcdutl",
            tool
        ),
        container("place", "binnacle:1", own, place),
    ]);
    let volume = json!({"name": "store-credentials", "secret": {"secretName": "aws"}});
    if let Some(volumes) = pod["spec"]["volumes"].as_array_mut() {
        volumes.push(volume);
    }
    pod
}

fn fills(pod: Value) -> Action {
    let mut action = apply("pod", pod);
    action.pre.restore = Some(reference());
    action
}

#[test]
fn the_member_of_the_plan_is_filled_and_no_other() {
    let fresh = |stage| empty(&at(stage));
    assert_eq!(
        rule(&fills(filled()), &fresh(RestorationStage::Filling)),
        ""
    );
    for stage in STAGES
        .into_iter()
        .filter(|stage| *stage != RestorationStage::Filling)
    {
        assert_eq!(
            rule(&fills(filled()), &fresh(stage)),
            "Unasked",
            "{stage:?}"
        );
    }
    let mut unproven = fresh(RestorationStage::Filling);
    unproven.restore = Observed::Seen(RestoreHead {
        proof: None,
        ..head()
    });
    assert_eq!(rule(&fills(filled()), &unproven), "Unasked");
    let mut other = at(RestorationStage::Filling);
    other.status["restoration"]["seed"] = json!("a-2");
    assert_eq!(rule(&fills(filled()), &empty(&other)), "Unasked");
}

/// What a decision with this pod is refused for, while the cluster is with a proven EtcdRestore.
fn rules(pod: Value) -> Vec<&'static str> {
    let mut snapshot = snapshot_of(at(RestorationStage::Filling));
    snapshot.operator_image = Some("binnacle:1".to_owned());
    snapshot.restores = Observed::Seen(vec![Resource {
        kind: "EtcdRestore".to_owned(),
        name: "a".to_owned(),
        uid: "uid-restore".to_owned(),
        generation: 1,
        spec: json!({
            "etcdCluster": {"name": "a"}, "backupStorageType": "S3",
            "s3": {"path": "b/k", "awsSecret": "aws"},
        }),
        status: json!({"proof": {"sha256": "abc", "generation": 1}}),
        ..Resource::default()
    }]);
    let refusals = permit(&decision(vec![fills(pod)]), &snapshot);
    let refusals = refusals.err().unwrap_or_default();
    refusals.iter().map(Refusal::rule).collect()
}

#[test]
fn what_fills_a_disk_is_what_was_proven_and_nothing_else() {
    assert_eq!(rules(filled()), [""; 0]);
    type Change = (&'static str, fn(&mut Value));
    let changes: [Change; 14] = [
        ("another image fetches", |pod| {
            pod["spec"]["initContainers"][0]["image"] = json!("curl:1");
        }),
        ("another tool restores", |pod| {
            pod["spec"]["initContainers"][1]["command"] = json!(["/bin/sh"]);
        }),
        ("another image restores", |pod| {
            pod["spec"]["initContainers"][1]["image"] = json!("binnacle:1");
        }),
        ("other bytes are taken", |pod| {
            pod["spec"]["initContainers"][0]["args"][3] = json!("--sha256=abd");
        }),
        ("any bytes are taken", |pod| {
            let arguments = pod["spec"]["initContainers"][0]["args"].as_array_mut();
            arguments.expect("arguments").remove(3);
        }),
        ("from elsewhere", |pod| {
            let other = json!({"storageType": "S3", "s3": {"path": "b/other", "awsSecret": "aws"}});
            pod["spec"]["initContainers"][0]["args"][4] = json!(format!("--source={other}"));
        }),
        ("the hash is not checked", |pod| {
            pod["spec"]["initContainers"][1]["args"][3] = json!("--skip-hash-check");
        }),
        ("right into the data", |pod| {
            pod["spec"]["initContainers"][1]["args"][4] = json!("--data-dir=/var/etcd/data");
        }),
        ("with others", |pod| {
            pod["spec"]["initContainers"][1]["args"][6] =
                json!("--initial-cluster=a-1=http://a-1.a.ns.svc:2380,b=http://b:2380");
        }),
        ("etcd has the Secret", |pod| {
            pod["spec"]["containers"][0]["volumeMounts"] =
                json!([{"name": "store-credentials", "mountPath": "/x"}]);
        }),
        ("the tool has the Secret", |pod| {
            pod["spec"]["initContainers"][1]["volumeMounts"][0]["name"] =
                json!("store-credentials");
        }),
        ("a fourth container", |pod| {
            let more = pod["spec"]["initContainers"][2].clone();
            let containers = pod["spec"]["initContainers"].as_array_mut();
            containers.expect("containers").push(more);
        }),
        ("a variable of a Secret", |pod| {
            pod["spec"]["initContainers"][0]["env"] = json!([{"name": "X", "valueFrom": {
                "secretKeyRef": {"name": "others", "key": "k"}}}]);
        }),
        ("no annotation", |pod| {
            let annotations = pod["metadata"]["annotations"].as_object_mut();
            annotations
                .expect("annotations")
                .remove("etcd.database.coreos.com/filled");
        }),
    ];
    for (what, change) in changes {
        let mut pod = filled();
        change(&mut pod);
        let found = rules(pod);
        assert!(found.contains(&"Filling"), "{what}: {found:?}");
    }
    let mut secret = filled();
    secret["spec"]["volumes"][1]["secret"]["secretName"] = json!("others");
    assert!(rules(secret).contains(&"Volume"));
    let mut privileged = filled();
    privileged["spec"]["initContainers"][1]["securityContext"]["privileged"] = json!(true);
    assert!(rules(privileged).contains(&"PodSecurity"));
}

#[test]
fn the_stores_secret_is_in_no_other_pod() {
    let mut pod = pod_json();
    let volume = json!({"name": "store-credentials", "secret": {"secretName": "aws"}});
    if let Some(volumes) = pod["spec"]["volumes"].as_array_mut() {
        volumes.push(volume);
    }
    assert!(rules(pod).contains(&"Filling"));
}

#[test]
fn no_cluster_is_planned_empty_while_a_restore_is_asked_for() {
    let mut snapshot = snapshot_of(resource());
    snapshot.resource.status = Value::Null;
    let pending = Resource {
        name: "r".to_owned(),
        spec: json!({"etcdCluster": {"name": "a"}}),
        ..Resource::default()
    };
    let status: EtcdClusterStatus =
        serde_json::from_value(json!({"birth": crate::fixtures::birth()})).expect("a status");
    let mut plans = action(Effect::UpdateStatus {
        status: Box::new(status),
    });
    plans.pre.resource_version = Some("7".to_owned());
    let decision = decision(vec![plans]);
    assert!(permit(&decision, &snapshot).is_ok());
    snapshot.restores = Observed::Seen(vec![pending.clone()]);
    assert!(permit(&decision, &snapshot).is_err());
    let over = Resource {
        status: json!({"succeeded": true}),
        ..pending
    };
    snapshot.restores = Observed::Seen(vec![over]);
    assert!(permit(&decision, &snapshot).is_ok());
}
