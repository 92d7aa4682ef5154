//! Clusters there and back again.

use serde_json::{Value, json};

use super::*;

fn theirs(spec: Value) -> EtcdClusterSpec {
    serde_json::from_value(spec).expect("a spec")
}

fn ours(spec: Value) -> crate::EtcdClusterSpec {
    serde_json::from_value(spec).expect("a spec")
}

/// All that their operator had.
fn sample() -> Value {
    json!({
        "replicas": 3, "version": "3.2.28",
        "storage": {"volumeClaimTemplate": {
            "storageClassName": "standard", "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "1Mi"}},
        }},
        "podTemplate": {
            "metadata": {"annotations": {"prometheus.io/path": "/metrics"}},
            "resources": {"limits": {"cpu": "2500m", "memory": "100Mi"}},
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname"},
            ]}},
        },
    })
}

#[test]
fn a_cluster_of_theirs_comes_back_as_it_was() {
    let carried = cluster_from(theirs(sample()));
    assert_eq!(carried.left, []);
    let pod = carried.spec.pod.clone().expect("pods");
    assert!(pod.retains_claims(), "their claims outlive their cluster");
    let processors = pod.etcd_env.expect("an environment");
    assert_eq!(
        serde_json::to_value(processors).expect("JSON"),
        json!([{"name": "GOMAXPROCS", "value": "2"}])
    );
    let back = cluster_to(carried.spec).expect("it can be said");
    assert_eq!(back.left, []);
    assert_eq!(serde_json::to_value(back.spec).expect("JSON"), sample());
}

#[test]
fn a_cluster_of_ours_comes_back_as_it_was() {
    let all = json!({
        "size": 5, "repository": "registry.example/etcd", "version": "3.6.16",
        "upgrade": {"throughMinors": true}, "paused": true,
        "quorumRecovery": {"clusterID": "531c971146267f50", "survivor": "a-1"},
        "pod": {
            "labels": {"team": "a"}, "annotations": {"note": "b"}, "nodeSelector": {"disk": "fast"},
            "antiAffinity": true, "tolerations": [{"key": "etcd", "operator": "Exists"}],
            "resources": {"requests": {"cpu": "100m"}},
            "etcdEnv": [{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1"}],
            "persistentVolumeClaimSpec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
            "securityContext": {"runAsUser": 1000}, "ClusterDomain": ".cluster.local",
        },
        "TLS": {"auto": {"generation": 2}, "plainClients": true},
    });
    let carried = cluster_to(ours(all.clone())).expect("it can be said");
    assert_eq!(carried.left, []);
    let back = cluster_from(carried.spec);
    assert_eq!(serde_json::to_value(back.spec).expect("JSON"), all);
}

#[test]
fn claims_go_with_the_cluster_only_where_they_did() {
    let spec = |policy: Value| {
        ours(json!({"size": 1, "version": "v3.6.16", "pod": {
            "persistentVolumeClaimSpec": {
                "storageClassName": "a", "resources": {"requests": {"storage": "1Gi"}},
            },
            "persistentVolumeClaimRetentionPolicy": policy,
        }}))
    };
    for (policy, wanted) in [
        (Value::Null, Some(WhenDeleted::Delete)),
        (json!({"whenDeleted": "Delete"}), Some(WhenDeleted::Delete)),
        (json!({"whenDeleted": "Retain"}), None),
    ] {
        let carried = cluster_to(spec(policy)).expect("it can be said").spec;
        assert_eq!(carried.version, "3.6.16");
        assert_eq!(
            carried.storage.and_then(|storage| storage.when_deleted),
            wanted
        );
    }
}

#[test]
fn what_their_cluster_needs_is_asked_for_by_the_names_of_ours() {
    let why = cluster_to(ours(json!({"size": 0}))).expect_err("it cannot be said");
    let fields: Vec<&str> = why.iter().map(|why| why.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.size",
            "spec.version",
            "spec.pod.persistentVolumeClaimSpec"
        ]
    );
    let no_class =
        json!({"size": 3, "version": "3.6.16", "pod": {"persistentVolumeClaimSpec": {}}});
    let why = cluster_to(ours(no_class)).expect_err("it cannot be said");
    assert_eq!(
        why.first().map(|why| why.field.as_str()),
        Some("spec.pod.persistentVolumeClaimSpec.storageClassName")
    );
}

#[test]
fn what_nothing_uses_and_what_means_more_there_is_said() {
    let mut spec = ours(json!({"size": 3, "version": "3.6.16", "pod": {
        "persistentVolumeClaimSpec": {
            "storageClassName": "a", "resources": {"requests": {"storage": "1Gi"}},
        },
        "busyboxImage": "busybox", "DNSTimeoutInSecond": 5,
        "resources": {"limits": {"cpu": "1"}},
    }}));
    let fields = |spec: &crate::EtcdClusterSpec| {
        let left = cluster_to(spec.clone()).expect("it can be said").left;
        left.into_iter().map(|left| left.field).collect::<Vec<_>>()
    };
    assert_eq!(
        fields(&spec),
        [
            "spec.pod.busyboxImage",
            "spec.pod.DNSTimeoutInSecond",
            "spec.pod.resources.limits.cpu"
        ]
    );
    let pod = spec.pod.as_mut().expect("pods");
    (pod.busybox_image, pod.dns_timeout_in_second) = (None, None);
    // One that is set by hand counts there as well.
    pod.etcd_env = Some(vec![EnvVar {
        name: GOMAXPROCS.to_owned(),
        value: Some("7".to_owned()),
        ..EnvVar::default()
    }]);
    assert!(fields(&spec).is_empty());
    let there = cluster_to(spec.clone()).expect("it can be said").spec;
    let back = cluster_from(there).spec.pod.and_then(|pod| pod.etcd_env);
    assert_eq!(back, spec.pod.and_then(|pod| pod.etcd_env));
}

#[test]
fn processors_are_the_whole_cores_of_the_limit_and_at_least_one() {
    for (limit, wanted) in [
        ("200m", Some("1")),
        ("1", Some("1")),
        ("1999m", Some("1")),
        ("2.5", Some("2")),
        ("4", Some("4")),
        ("four", None),
        ("é", None),
    ] {
        let limits = [(
            "cpu".to_owned(),
            serde_json::from_value(json!(limit)).expect("text"),
        )];
        let resources = ResourceRequirements {
            limits: Some(limits.into()),
            ..ResourceRequirements::default()
        };
        assert_eq!(processors(Some(&resources)).as_deref(), wanted, "{limit}");
    }
}
