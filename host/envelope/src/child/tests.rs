//! One good child of each kind, and each thing that makes it a bad one.

mod reach;
mod start;
mod tls;

use contract::names;
use serde_json::{Value, json};

use crate::fixtures::{
    apply, budget_json, claim_json, decision, pod_json, resource, service_json, snapshot_of,
};
use crate::permit;

/// Rules that a child breaks after `change`.
fn rules_of(
    kind: &str,
    object: Value,
    change: impl FnOnce(&mut Value, &mut Value),
) -> Vec<&'static str> {
    let mut resource = resource();
    let mut object = object;
    change(&mut object, &mut resource.spec);
    let decision = decision(vec![apply(kind, object)]);
    let refusals = permit(&decision, &snapshot_of(resource))
        .err()
        .unwrap_or_default();
    refusals.iter().map(super::Refusal::rule).collect()
}

#[test]
fn a_claim_without_an_owner_passes_only_where_the_spec_wants_it_to_stay() {
    let marked = || {
        let mut claim = claim_json();
        claim["metadata"]["ownerReferences"] = Value::Null;
        claim["metadata"]["annotations"] =
            serde_json::json!({"etcd.database.coreos.com/owner": "uid-a"});
        claim
    };
    let retain = |spec: &mut Value| {
        spec["pod"]["persistentVolumeClaimRetentionPolicy"] =
            serde_json::json!({"whenDeleted": "Retain"});
    };
    let kind = "persistentVolumeClaim";
    assert_eq!(rules_of(kind, marked(), |_, spec| retain(spec)), [""; 0]);
    assert_eq!(rules_of(kind, marked(), |_, _| ()), ["Owner"]);
    let others = rules_of(kind, marked(), |claim, spec| {
        retain(spec);
        claim["metadata"]["annotations"]["etcd.database.coreos.com/owner"] = "uid-b".into();
    });
    assert_eq!(others, ["Owner"]);
    let pods = rules_of("pod", pod_json(), |pod, spec| {
        retain(spec);
        pod["metadata"]["ownerReferences"] = Value::Null;
        pod["metadata"]["annotations"]["etcd.database.coreos.com/owner"] = "uid-a".into();
    });
    assert_eq!(pods, ["Owner", "Annotation"]);
}

fn check_pod(rule: &str, change: impl FnOnce(&mut Value)) {
    assert_eq!(rules_of("pod", pod_json(), |pod, _| change(pod)), [rule]);
}

fn container(pod: &mut Value) -> &mut Value {
    &mut pod["spec"]["containers"][0]
}

#[test]
fn good_children_pass() {
    assert!(rules_of("pod", pod_json(), |_, _| ()).is_empty());
    assert!(rules_of("persistentVolumeClaim", claim_json(), |_, _| ()).is_empty());
    assert!(rules_of("service", service_json(), |_, _| ()).is_empty());
    assert!(rules_of("podDisruptionBudget", budget_json(), |_, _| ()).is_empty());
}

#[test]
fn a_child_of_another_place_name_or_owner_is_refused() {
    check_pod("ForeignNamespace", |pod| {
        pod["metadata"]["namespace"] = json!("kube-system")
    });
    check_pod("Owner", |pod| {
        pod["metadata"]["ownerReferences"][0]["uid"] = json!("other")
    });
    check_pod("Owner", |pod| {
        pod["metadata"]["ownerReferences"][0]["controller"] = json!(false)
    });
    check_pod("Owner", |pod| {
        pod["metadata"]["ownerReferences"] = json!([])
    });
    check_pod("Label", |pod| {
        pod["metadata"]["labels"]["etcd_cluster"] = json!("b")
    });
    check_pod("Label", |pod| {
        pod["metadata"]["labels"]["role"] = json!("payments")
    });
    for key in ["sidecar.istio.io/inject", names::RESTARTS_ANNOTATION] {
        check_pod("Annotation", |pod| {
            pod["metadata"]["annotations"][key] = json!("true")
        });
    }
    check_pod("Field", |pod| {
        pod["metadata"]["finalizers"] = json!(["stay.example.org/x"])
    });
    for name in ["b-1", "a", "a-b-1", "a-", "a-UPPER", "a-01234567890"] {
        let rules = rules_of("service", service_json(), |service, _| {
            service["metadata"]["name"] = json!(name);
            service["spec"]["publishNotReadyAddresses"] = json!(name == "a");
            if name == "a" {
                service["spec"]["ports"] =
                    json!([{"name": "client", "port": 2379}, {"name": "peer", "port": 2380}]);
            }
        });
        assert_eq!(rules.is_empty(), name == "a", "{name}");
        let rules = rules_of("persistentVolumeClaim", claim_json(), |claim, _| {
            claim["metadata"]["name"] = json!(name)
        });
        assert_eq!(rules, ["ForeignName"], "{name}");
    }
}

#[test]
fn labels_and_annotations_of_the_spec_are_allowed() {
    let rules = rules_of("pod", pod_json(), |pod, spec| {
        pod["metadata"]["labels"]["role"] = json!("payments");
        pod["metadata"]["annotations"]["sidecar.istio.io/inject"] = json!("true");
        spec["pod"]["labels"] = json!({"role": "payments"});
        spec["pod"]["annotations"] = json!({"sidecar.istio.io/inject": "true"});
    });
    assert!(rules.is_empty(), "{rules:?}");
}

#[test]
fn a_priority_and_secrets_for_pulling_are_those_of_the_spec() {
    let both = |object: &mut Value, name: &str| {
        object["priorityClassName"] = json!(name);
        object["imagePullSecrets"] = json!([{"name": name}]);
    };
    for (asked, found, rules) in [
        ("etcd", "etcd", &[][..]),
        ("other", "etcd", &["Field", "Field"]),
        ("etcd", "", &["Field", "Field"]),
    ] {
        let found = rules_of("pod", pod_json(), |pod, spec| {
            if !found.is_empty() {
                both(&mut pod["spec"], found);
            }
            both(&mut spec["pod"], asked);
        });
        assert_eq!(found, rules, "{asked}");
    }
}

#[test]
fn a_pod_that_reaches_its_node_is_refused() {
    for field in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
        check_pod("Field", |pod| pod["spec"][field] = json!(true));
    }
    check_pod("Field", |pod| {
        container(pod)["ports"][0]["hostPort"] = json!(2379)
    });
    check_pod("Field", |pod| pod["spec"]["nodeName"] = json!("master"));
    check_pod("Field", |pod| {
        pod["spec"]["priorityClassName"] = json!("system-node-critical")
    });
    let initial = rules_of("pod", pod_json(), |pod, _| {
        pod["spec"]["initContainers"] = json!([{"name": "x"}])
    });
    assert!(initial.contains(&"Filling"), "{initial:?}");
    check_pod("Field", |pod| {
        container(pod)["lifecycle"] = json!({"preStop": {"exec": {"command": ["x"]}}})
    });
    check_pod("Probe", |pod| {
        container(pod)["livenessProbe"]["httpGet"]["host"] = json!("169.254.169.254")
    });
    check_pod("Volume", |pod| {
        pod["spec"]["volumes"][0] = json!({"name": "etcd-data", "hostPath": {"path": "/"}})
    });
    check_pod("PodSecurity", |pod| {
        container(pod)["securityContext"]["privileged"] = json!(true)
    });
}

#[test]
fn a_pod_with_rights_at_the_api_server_is_refused() {
    check_pod("ServiceAccountToken", |pod| {
        pod["spec"]["automountServiceAccountToken"] = json!(true)
    });
    check_pod("Field", |pod| {
        pod["spec"]["serviceAccountName"] = json!("admin")
    });
    check_pod("Volume", |pod| {
        let source = json!({"serviceAccountToken": {"path": "token"}});
        pod["spec"]["volumes"][0] =
            json!({"name": "etcd-data", "projected": {"sources": [source]}});
    });
}

#[test]
fn a_secret_that_the_spec_does_not_name_is_refused() {
    let volume = json!({"name": "tls", "secret": {"secretName": "s"}});
    let variable = json!({"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
    let add = |list: &mut Value, item: Value| list.as_array_mut().expect("a list").push(item);
    check_pod("Volume", |pod| {
        add(&mut pod["spec"]["volumes"], volume.clone())
    });
    check_pod("Environment", |pod| {
        add(&mut container(pod)["env"], variable.clone())
    });
    check_pod("Field", |pod| {
        container(pod)["envFrom"] = json!([{"secretRef": {"name": "s"}}])
    });
    let rules = rules_of("pod", pod_json(), |pod, spec| {
        add(&mut container(pod)["env"], variable.clone());
        spec["pod"]["etcdEnv"] = json!([variable]);
    });
    assert!(rules.is_empty(), "{rules:?}");
}

#[test]
fn another_members_claim_is_refused() {
    check_pod("Volume", |pod| {
        pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = json!("a-2")
    });
}

#[test]
fn a_pod_less_restricted_than_restricted_is_refused() {
    check_pod("PodSecurity", |pod| {
        pod["spec"]["securityContext"]["runAsUser"] = json!(0)
    });
    check_pod("PodSecurity", |pod| {
        pod["spec"]["securityContext"]["runAsNonRoot"] = json!(false)
    });
    check_pod("PodSecurity", |pod| {
        pod["spec"]["securityContext"]["seccompProfile"]["type"] = json!("Unconfined")
    });
    check_pod("PodSecurity", |pod| {
        pod["spec"]["securityContext"]["sysctls"] = json!([{"name": "a", "value": "b"}])
    });
    check_pod("PodSecurity", |pod| {
        container(pod)["securityContext"]["allowPrivilegeEscalation"] = json!(true)
    });
    check_pod("PodSecurity", |pod| {
        container(pod)["securityContext"]["capabilities"]["drop"] = json!([])
    });
    check_pod("PodSecurity", |pod| {
        container(pod)["securityContext"]["capabilities"]["add"] = json!(["NET_RAW"])
    });
    check_pod("PodSecurity", |pod| {
        container(pod)["securityContext"]["runAsUser"] = json!(0)
    });
}

/// Its data is another user's, or its container is never started.
#[test]
fn a_security_context_that_nobody_asked_for_is_refused() {
    for (field, value) in [
        ("runAsUser", json!(1000)),
        ("runAsGroup", json!(1000)),
        ("fsGroup", json!(1000)),
        (
            "seccompProfile",
            json!({"type": "Localhost", "localhostProfile": "none"}),
        ),
    ] {
        check_pod("PodSecurity", |pod| {
            pod["spec"]["securityContext"][field] = value.clone();
        });
        if field != "fsGroup" {
            check_pod("PodSecurity", |pod| {
                container(pod)["securityContext"][field] = value;
            });
        }
    }
}

#[test]
fn a_security_context_that_people_asked_for_is_allowed() {
    let asked = json!({"runAsUser": 0, "fsGroup": 0});
    let filtered =
        json!({"runAsUser": 0, "fsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}});
    let rules = |found: &Value| {
        rules_of("pod", pod_json(), |pod, spec| {
            pod["spec"]["securityContext"] = found.clone();
            spec["pod"]["securityContext"] = asked.clone();
        })
    };
    assert_eq!(rules(&filtered), [""; 0]);
    assert_eq!(rules(&asked), ["PodSecurity"]);
}

#[test]
fn an_image_of_another_repository_is_refused() {
    for image in [
        "evil.example/etcd:v3.6.16",
        "quay.io/coreos/etcd",
        "quay.io/coreos/etcd:",
        "quay.io/coreos/etcd-evil:v3.6.16",
        "quay.io/coreos/etcd:v3@sha256:00",
        "quay.io/coreos/etcd:v3/other",
        "quay.io/coreos/etcd:x:v3.6.16",
        "quay.io/coreos/etcd:5000/evil/etcd:v3.6.16",
    ] {
        check_pod("Image", |pod| container(pod)["image"] = json!(image));
    }
    let rules = rules_of("pod", pod_json(), |pod, spec| {
        container(pod)["image"] = json!("host:5000/etcd:v3.6.16");
        spec["repository"] = json!("host:5000/etcd");
    });
    assert!(rules.is_empty(), "{rules:?}");
}

#[test]
fn an_image_that_an_own_pod_runs_outlives_an_edit_of_the_spec() {
    let mut snapshot = snapshot_of(resource());
    snapshot.resource.spec["repository"] = json!("new.example/etcd");
    let decision = decision(vec![apply("pod", pod_json())]);
    assert!(permit(&decision, &snapshot).is_err());
    let pod = json!({
        "name": "a-2", "uid": "u", "resourceVersion": "1", "created": 0, "phase": "Running",
        "owner": "uid-a", "image": "quay.io/coreos/etcd:v3.6.16",
    });
    let pod: contract::Pod = serde_json::from_value(pod).expect("a pod");
    let foreign = contract::Pod {
        owner: Some("other".to_owned()),
        ..pod.clone()
    };
    snapshot.objects.pods = contract::Observed::Seen(vec![foreign]);
    assert!(permit(&decision, &snapshot).is_err());
    snapshot.objects.pods = contract::Observed::Seen(vec![pod]);
    assert_eq!(permit(&decision, &snapshot), Ok(()));
}

#[test]
fn a_pod_that_runs_something_else_is_refused() {
    check_pod("Containers", |pod| {
        let mut second = container(pod).clone();
        second["name"] = json!("miner");
        pod["spec"]["containers"]
            .as_array_mut()
            .expect("a list")
            .push(second);
    });
    check_pod("Containers", |pod| container(pod)["name"] = json!("miner"));
    check_pod("Start", |pod| {
        container(pod)["command"][0] = json!("/bin/sh")
    });
    check_pod("Start", |pod| container(pod)["args"] = json!(["rm"]));
}

/// The preconditions are read off the annotations, so nothing else may say how etcd starts.
#[test]
fn a_start_that_the_preconditions_cannot_see_is_refused() {
    for argument in [
        "--initial-cluster-state=new",
        "--initial-cluster-state",
        "--initial-cluster=a-1=http://x:2380",
        "--force-new-cluster",
        "--force-new-cluster=true",
        "--config-file=/x",
        "--discovery=http://x",
    ] {
        check_pod("Start", |pod| container(pod)["args"] = json!([argument]));
    }
    check_pod("Start", |pod| {
        container(pod)["env"][1] = json!({"name": "ETCD_INITIAL_CLUSTER_STATE", "value": "new"})
    });
    for name in ["ETCD_INITIAL_CLUSTER_STATE", "ETCD_FORCE_NEW_CLUSTER"] {
        let rules = rules_of("pod", pod_json(), |pod, spec| {
            let variable = json!({"name": name, "value": "new"});
            container(pod)["env"]
                .as_array_mut()
                .expect("a list")
                .push(variable.clone());
            spec["pod"]["etcdEnv"] = json!([variable]);
        });
        assert_eq!(rules, ["Start"], "{name}");
    }
    check_pod("Start", |pod| pod["metadata"]["annotations"] = json!({}));
}

#[test]
fn a_claim_other_than_the_specs_is_refused() {
    let check = |change: fn(&mut Value, &mut Value)| {
        assert_eq!(
            rules_of("persistentVolumeClaim", claim_json(), change),
            ["Claim"]
        );
    };
    check(|claim, _| claim["spec"]["volumeName"] = json!("somebody-elses"));
    check(|claim, _| {
        claim["spec"]["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": "x"})
    });
    check(|claim, _| claim["spec"]["resources"]["requests"]["storage"] = json!("9Ti"));
    check(|_, spec| spec["pod"]["persistentVolumeClaimSpec"] = Value::Null);
}

#[test]
fn a_service_that_opens_more_is_refused() {
    let check = |rule: &str, path: &str, value: Value| {
        let rules = rules_of("service", service_json(), |service, _| {
            service["spec"][path] = value
        });
        assert_eq!(rules, [rule], "{path}");
    };
    check("Selector", "selector", json!({"app": "etcd"}));
    check(
        "Selector",
        "selector",
        json!({"app": "etcd", "etcd_cluster": "b"}),
    );
    check("Selector", "selector", Value::Null);
    check("Field", "type", json!("NodePort"));
    check("Field", "type", json!("ExternalName"));
    check("Field", "externalName", json!("example.org"));
    check("Field", "externalIPs", json!(["10.0.0.1"]));
    check("Field", "clusterIP", json!("10.0.0.1"));
    check(
        "Field",
        "ports",
        json!([{"name": "client", "port": 2379, "nodePort": 30000}]),
    );
}

#[test]
fn a_budget_without_sense_is_refused() {
    let check = |rule: &str, path: &str, value: Value| {
        let rules = rules_of("podDisruptionBudget", budget_json(), |budget, _| {
            budget["spec"][path] = value
        });
        assert_eq!(rules, [rule], "{path}");
    };
    check("Budget", "minAvailable", json!(0));
    check("Budget", "minAvailable", json!(8));
    check("Budget", "minAvailable", json!("50%"));
    check("Field", "maxUnavailable", json!(1));
    check(
        "Selector",
        "selector",
        json!({"matchLabels": {"app": "etcd"}}),
    );
}

/// People who harden the pod's context have not asked for a container that undoes it.
#[test]
fn a_container_does_not_undo_the_context_that_people_asked_for() {
    let hardened = json!({"runAsUser": 65532, "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    for (field, value) in [
        ("runAsUser", json!(0)),
        ("runAsNonRoot", json!(false)),
        ("seccompProfile", json!({"type": "Unconfined"})),
    ] {
        for asked in [hardened.clone(), json!({"fsGroup": 1000})] {
            let rules = rules_of("pod", pod_json(), |pod, spec| {
                pod["spec"]["securityContext"] = asked.clone();
                pod["spec"]["securityContext"]["seccompProfile"] =
                    json!({"type": "RuntimeDefault"});
                spec["pod"]["securityContext"] = asked;
                container(pod)["securityContext"][field] = value.clone();
            });
            assert_eq!(rules, ["PodSecurity"], "{field}");
        }
    }
}

/// A limit ends every member's pod with its data once clients have written so much; memory does not outlive its node.
#[test]
fn data_within_a_pod_is_on_the_nodes_disk_without_a_limit() {
    for empty in [json!({"sizeLimit": "64Mi"}), json!({"medium": "Memory"})] {
        let rules = rules_of("pod", pod_json(), |pod, spec| {
            pod["spec"]["volumes"][0] = json!({"name": "etcd-data", "emptyDir": empty});
            spec["pod"] = json!({});
        });
        assert_eq!(rules, ["Volume"], "{empty}");
    }
    let rules = rules_of("pod", pod_json(), |pod, spec| {
        pod["spec"]["volumes"][0] = json!({"name": "etcd-data", "emptyDir": {}});
        spec["pod"] = json!({});
    });
    assert_eq!(rules, [""; 0]);
    check_pod("Volume", |pod| {
        pod["spec"]["volumes"][0]["persistentVolumeClaim"]["readOnly"] = json!(true)
    });
}

/// Else a cluster could be moved to another version pod by pod, though nobody asked for it.
#[test]
fn a_pod_is_made_with_the_version_that_is_asked_and_no_other() {
    for tag in ["v3.7.3", "v3.6.15", "latest"] {
        check_pod("Image", |pod| {
            container(pod)["image"] = json!(format!("quay.io/coreos/etcd:{tag}"))
        });
    }
}
