//! The pods that fill the founders' disks.

use super::*;

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
        "--initial-cluster=a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380",
        "--initial-cluster-token=token",
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
fn the_members_of_the_plan_are_filled_and_no_other() {
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
    other.status["restoration"]["founders"] = json!(["a-2", "a-3"]);
    assert_eq!(rule(&fills(filled()), &empty(&other)), "Unasked");
}

/// What a decision with this pod is refused for, while the cluster is with a proven EtcdRestore.
fn rules(pod: Value) -> Vec<&'static str> {
    let store = json!({
        "backupStorageType": "S3", "s3": {"path": "b/k", "awsSecret": "aws"},
    });
    rules_of(pod, store)
}

fn rules_of(pod: Value, store: Value) -> Vec<&'static str> {
    let mut spec = json!({"etcdCluster": {"name": "a"}});
    if let (Some(spec), Some(store)) = (spec.as_object_mut(), store.as_object()) {
        spec.extend(store.clone());
    }
    let mut snapshot = snapshot_of(at(RestorationStage::Filling));
    snapshot.operator_image = Some("binnacle:1".to_owned());
    snapshot.restores = Observed::Seen(vec![Resource {
        kind: "EtcdRestore".to_owned(),
        name: "a".to_owned(),
        uid: "uid-restore".to_owned(),
        generation: 1,
        spec,
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
    let changes: [Change; 18] = [
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
            pod["spec"]["initContainers"][1]["args"][6] = json!(
                "--initial-cluster=a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380,b=http://b:2380"
            );
        }),
        ("alone", |pod| {
            pod["spec"]["initContainers"][1]["args"][6] =
                json!("--initial-cluster=a-1=http://a-1.a.ns.svc:2380");
        }),
        ("with one who is somebody else", |pod| {
            pod["spec"]["initContainers"][1]["args"][6] =
                json!("--initial-cluster=a-1=http://a-1.a.ns.svc:2380,a-2=http://b.a.ns.svc:2380");
        }),
        ("of another cluster", |pod| {
            pod["spec"]["initContainers"][1]["args"][7] = json!("--initial-cluster-token=t");
        }),
        ("of the tool's own cluster", |pod| {
            let arguments = pod["spec"]["initContainers"][1]["args"].as_array_mut();
            arguments.expect("arguments").remove(7);
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
fn a_claim_as_a_store_is_the_one_that_is_named_and_nothing_is_written_to_it() {
    let store = json!({"backupStorageType": "PVC", "pvc": {"path": "backups/k"}});
    let pod = |claim: Value| {
        let mut pod = filled();
        let source = json!({"storageType": "PVC", "pvc": {"path": "backups/k"}});
        pod["spec"]["initContainers"][0]["args"][4] = json!(format!("--source={source}"));
        pod["spec"]["volumes"][1] =
            json!({"name": "store-credentials", "persistentVolumeClaim": claim});
        pod
    };
    let named = json!({"claimName": "backups", "readOnly": true});
    assert_eq!(rules_of(pod(named.clone()), store.clone()), [""; 0]);
    for other in [
        json!({"claimName": "backups"}),
        json!({"claimName": "backups", "readOnly": false}),
        json!({"claimName": "others", "readOnly": true}),
    ] {
        let found = rules_of(pod(other.clone()), store.clone());
        assert!(found.contains(&"Volume"), "{other}: {found:?}");
    }
    // A claim of somebody's is no store because a bucket is called so.
    let bucket =
        json!({"backupStorageType": "S3", "s3": {"path": "backups/k", "awsSecret": "aws"}});
    assert!(rules_of(pod(named), bucket).contains(&"Volume"));
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

/// What the tool writes into the data is whom the member dials: the names of the plan under a stranger's domain are the
/// stranger's members, and get all that is written.
#[test]
fn whom_the_tool_writes_down_is_reached_where_members_are() {
    for (argument, value) in [
        (
            6,
            "--initial-cluster=a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.evil.example:2380",
        ),
        (
            8,
            "--initial-advertise-peer-urls=http://a-1.evil.example:2380",
        ),
    ] {
        let mut pod = filled();
        pod["spec"]["initContainers"][1]["args"][argument] = json!(value);
        assert!(rules(pod).contains(&"Filling"), "{value}");
    }
}

/// The one with the store's Secret, too.
#[test]
fn no_container_that_fills_a_disk_runs_as_root() {
    for (field, value) in [
        ("runAsUser", json!(0)),
        ("runAsNonRoot", json!(false)),
        ("seccompProfile", json!({"type": "Unconfined"})),
    ] {
        for container in 0..3 {
            let mut pod = filled();
            pod["spec"]["initContainers"][container]["securityContext"][field] = value.clone();
            assert!(rules(pod).contains(&"PodSecurity"), "{container} {field}");
        }
    }
}
