//! Members that would start on other data, under other settings, elsewhere, or only to be killed.

use serde_json::{Value, json};

use super::{check_pod, container, rules_of};
use crate::fixtures::pod_json;

fn swap(pod: &mut Value, from: &str, to: &str) {
    let words = container(pod)["command"].as_array_mut().expect("a list");
    let word = words.iter_mut().find(|word| **word == from);
    *word.expect("the word") = json!(to);
}

#[test]
fn a_flag_that_is_not_of_the_list_is_refused() {
    for flag in [
        "--unsafe-no-fsync",
        "--unsafe-no-fsync=true",
        "--auto-compaction-retention=1",
        "--initial-cluster-token=other",
        "--enable-pprof",
        "--data-dir=/tmp/data",
        "--wal-dir=/tmp/wal",
        "--name=a-2",
        "--listen-client-urls=http://0.0.0.0:4001",
        "--advertise-client-urls=http://elsewhere.example:2379",
        "--initial-advertise-peer-urls=http://a-1.a.ns.svc.evil.example:2380",
        "--trusted-ca-file=/var/etcd/ca.crt",
        "--peer-trusted-ca-file=/etc/etcdtls/member/peer-tls/../ca.crt",
        "-data-dir=/tmp",
        "--",
    ] {
        check_pod("Start", |pod| container(pod)["args"] = json!([flag]));
    }
}

/// etcd has a default for each, and none of them is right.
#[test]
fn a_member_that_leaves_out_where_its_data_is_or_where_it_is_reached_is_refused() {
    let count = pod_json()["spec"]["containers"][0]["command"]
        .as_array()
        .map_or(0, Vec::len);
    for at in 1..count {
        check_pod("Start", |pod| {
            let words = container(pod)["command"].as_array_mut().expect("a list");
            words.remove(at);
        });
    }
}

#[test]
fn a_data_folder_elsewhere_is_refused() {
    check_pod("Start", |pod| {
        swap(pod, "--data-dir=/var/etcd/data", "--data-dir=/var/etcd")
    });
    check_pod("Volume", |pod| {
        container(pod)["volumeMounts"][0]["mountPath"] = json!("/var/other")
    });
    check_pod("Volume", |pod| {
        container(pod)["volumeMounts"][0]["subPath"] = json!("other")
    });
    check_pod("Volume", |pod| {
        container(pod)["volumeMounts"][0]["readOnly"] = json!(true)
    });
    check_pod("Volume", |pod| container(pod)["volumeMounts"] = json!([]));
    let volume = json!({"name": "etcd-data", "emptyDir": {}});
    check_pod("Volume", |pod| pod["spec"]["volumes"][0] = volume.clone());
    let in_the_pod = rules_of("pod", pod_json(), |pod, spec| {
        pod["spec"]["volumes"][0] = volume;
        spec["pod"] = json!({});
    });
    assert_eq!(in_the_pod, [""; 0]);
}

#[test]
fn a_setting_that_nobody_asked_for_is_refused() {
    let add = |pod: &mut Value, variable: &Value| {
        let list = container(pod)["env"].as_array_mut().expect("a list");
        list.push(variable.clone());
    };
    let unsafe_setting = json!({"name": "ETCD_UNSAFE_NO_FSYNC", "value": "true"});
    let preload = json!({"name": "LD_PRELOAD", "value": "/var/etcd/x.so"});
    for variable in [&unsafe_setting, &preload] {
        check_pod("Environment", |pod| add(pod, variable));
        let asked = rules_of("pod", pod_json(), |pod, spec| {
            add(pod, variable);
            spec["pod"]["etcdEnv"] = json!([variable]);
        });
        assert_eq!(asked, [""; 0]);
    }
    let other = rules_of("pod", pod_json(), |pod, spec| {
        add(pod, &json!({"name": "ETCD_SNAPSHOT_COUNT", "value": "1"}));
        spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_SNAPSHOT_COUNT", "value": "100000"}]);
    });
    assert_eq!(other, ["Environment"]);
    let made = rules_of("pod", pod_json(), |pod, spec| {
        let variable = json!({"name": "ETCD_DATA_DIR", "value": "/tmp"});
        add(pod, &variable);
        spec["pod"]["etcdEnv"] = json!([variable]);
    });
    assert_eq!(made, ["Environment"]);
}

/// The field goes before the variable, and neither is stretched.
#[test]
fn a_setting_with_a_field_is_as_the_field_says() {
    let found = |value: &str, env: bool| {
        rules_of("pod", pod_json(), |pod, spec| {
            let variable = json!({"name": "ETCD_QUOTA_BACKEND_BYTES", "value": value});
            let list = container(pod)["env"].as_array_mut().expect("a list");
            list.push(variable.clone());
            spec["etcd"] = json!({"quotaBackendBytes": "4Gi"});
            if env {
                spec["pod"]["etcdEnv"] = json!([variable]);
            }
        })
    };
    assert_eq!(found("4294967296", false), [""; 0]);
    assert_eq!(found("4294967296", true), [""; 0]);
    assert_eq!(found("2147483648", false), ["Environment"]);
    let left_out = |spec_of: fn(&mut Value)| rules_of("pod", pod_json(), |_, spec| spec_of(spec));
    assert_eq!(
        left_out(|spec| spec["etcd"] = json!({"quotaBackendBytes": "4Gi"})),
        ["Environment"],
        "etcd's own quota would raise an alarm long before"
    );
    assert_eq!(
        left_out(|spec| spec["pod"]["etcdEnv"] = json!([{"name": "TZ", "value": "UTC"}])),
        ["Environment"]
    );
    assert_eq!(
        left_out(|spec| spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_NAME", "value": "a"}])),
        [""; 0],
        "the command line has it"
    );
    assert_eq!(found("2147483648", true), ["Environment"]);
    let unsound = rules_of("pod", pod_json(), |pod, spec| {
        let variable = json!({"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1"});
        let list = container(pod)["env"].as_array_mut().expect("a list");
        list.push(variable);
        spec["etcd"] = json!({"quotaBackendBytes": 1});
    });
    assert_eq!(unsound, ["Environment"]);
}

#[test]
fn a_member_that_would_find_strangers_is_refused() {
    let list = "etcd.database.coreos.com/initial-cluster";
    let check = |found: &str| {
        let rules = rules_of("pod", pod_json(), |pod, _| {
            pod["metadata"]["annotations"][list] = json!(found);
        });
        assert!(rules.contains(&"PeerUrl"), "{found}: {rules:?}");
    };
    check("a-1=http://a-1.a.ns.svc.evil.example:2380");
    check("a-1=http://a-1.a.ns.svc:2380,a-2=http://evil.example:2380");
    check("a-1=http://a-2.a.ns.svc:2380");
}

#[test]
fn a_probe_that_kills_a_healthy_member_is_refused() {
    let check = |probe: Value| {
        check_pod("Probe", |pod| container(pod)["livenessProbe"] = probe);
    };
    let get = json!({"path": "/livez", "port": 2381});
    check(json!({"httpGet": get, "failureThreshold": 1, "periodSeconds": 1}));
    check(json!({"httpGet": get, "failureThreshold": 29, "periodSeconds": 1}));
    check(json!({"httpGet": get, "terminationGracePeriodSeconds": 1}));
    check(json!({"httpGet": {"path": "/readyz", "port": 2381}}));
    check(json!({"httpGet": {"path": "/health", "port": 2381}}));
    check(json!({"httpGet": {"path": "/livez", "port": 2379}}));
    check(json!({"httpGet": {"path": "/livez", "port": 2381, "scheme": "HTTPS"}}));
    check(json!({"exec": {"command": ["false"]}}));
    check(json!({"tcpSocket": {"port": 9}}));
    check(json!({}));
    let rules = rules_of("pod", pod_json(), |pod, spec| {
        spec["version"] = json!("3.4.28");
        container(pod)["image"] = json!("quay.io/coreos/etcd:v3.4.28");
        container(pod)["readinessProbe"]["httpGet"]["path"] = json!("/health");
    });
    assert_eq!(rules, ["Probe"]);
}

/// The kubelet's word on it leads clients, and counts for the disruption budget.
#[test]
fn a_probe_that_finds_a_member_ready_too_early_or_never_is_refused() {
    let check = |probe: Value| {
        check_pod("Probe", |pod| container(pod)["readinessProbe"] = probe);
    };
    check(Value::Null);
    check(json!({"httpGet": {"path": "/livez", "port": 2381}}));
    check(json!({"httpGet": {"path": "/readyz", "port": 2381}, "initialDelaySeconds": 86400}));
    check(json!({"httpGet": {"path": "/readyz", "port": 2381}, "successThreshold": 1000}));
    check(json!({"httpGet": {"path": "/readyz", "port": 2381}, "failureThreshold": 1000}));
    check_pod("Field", |pod| {
        container(pod)["startupProbe"] = json!({"httpGet": {"path": "/livez", "port": 2381}})
    });
}

/// A member that dies of impatience, or that nobody restarts, is not what was asked for.
#[test]
fn probes_are_as_patient_as_the_spec_says() {
    let rules = |startup: i32, liveness: [i32; 2], readiness: i32| {
        rules_of("pod", pod_json(), |pod, spec| {
            spec["pod"]["probes"] =
                json!({"startupSeconds": 600, "livenessSeconds": 115, "readinessSeconds": 20});
            let [period, failures] = liveness;
            container(pod)["livenessProbe"] = json!({
                "httpGet": {"path": "/livez", "port": 2381}, "initialDelaySeconds": startup,
                "periodSeconds": period, "failureThreshold": failures,
            });
            container(pod)["readinessProbe"] = json!({
                "httpGet": {"path": "/readyz", "port": 2381},
                "periodSeconds": 1, "failureThreshold": readiness,
            });
        })
    };
    assert_eq!(rules(600, [10, 12], 20), [""; 0]);
    assert_eq!(rules(600, [5, 23], 20), [""; 0]);
    assert_eq!(rules(60, [10, 12], 20), ["Probe"]);
    assert_eq!(rules(600, [10, 11], 20), ["Probe"]);
    assert_eq!(rules(600, [10, 13], 20), ["Probe"]);
    assert_eq!(rules(600, [10, 12], 3), ["Probe"]);
    let killing = rules_of("pod", pod_json(), |pod, spec| {
        spec["pod"]["probes"] = json!({"livenessSeconds": 3});
        container(pod)["livenessProbe"]["periodSeconds"] = json!(1);
        container(pod)["livenessProbe"]["failureThreshold"] = json!(3);
    });
    assert_eq!(killing, ["Probe"], "the spec cannot ask for it either");
}

#[test]
fn what_spec_pod_decides_is_as_it_says() {
    let near = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {"app": "etcd"}}, "topologyKey": "kubernetes.io/hostname",
    }]}});
    for (field, value) in [
        ("nodeSelector", json!({"kubernetes.io/hostname": "nowhere"})),
        ("tolerations", json!([{"operator": "Exists"}])),
        ("affinity", near),
    ] {
        check_pod("PodPolicy", |pod| pod["spec"][field] = value.clone());
        let asked = rules_of("pod", pod_json(), |pod, spec| {
            pod["spec"][field] = value.clone();
            spec["pod"][field] = value.clone();
        });
        assert_eq!(asked, [""; 0], "{field}");
        let unheard = rules_of("pod", pod_json(), |_, spec| spec["pod"][field] = value);
        assert_eq!(unheard, ["PodPolicy"], "{field}");
    }
    let little = json!({"limits": {"memory": "1Mi"}});
    check_pod("PodPolicy", |pod| {
        container(pod)["resources"] = little.clone()
    });
    let asked = rules_of("pod", pod_json(), |pod, spec| {
        container(pod)["resources"] = little.clone();
        spec["pod"]["resources"] = little;
    });
    assert_eq!(asked, [""; 0]);
    let default = json!({"requests": {"cpu": "100m", "memory": "100Mi"}});
    for (asked, is_allowed) in [(Value::Null, true), (json!({}), false)] {
        let rules = rules_of("pod", pod_json(), |pod, spec| {
            container(pod)["resources"] = default.clone();
            spec["pod"]["resources"] = asked.clone();
        });
        assert_eq!(rules.is_empty(), is_allowed, "{asked}: {rules:?}");
    }
    check_pod("PodPolicy", |pod| {
        pod["spec"]["terminationGracePeriodSeconds"] = json!(0)
    });
    check_pod(
        "PodPolicy",
        |pod| {
            pod["spec"]["topologySpreadConstraints"] =
                json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}])
        },
    );
}

#[test]
fn members_keep_off_one_another_strictly_only_where_the_spec_asks_for_it() {
    let strict = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {"etcd_cluster": "a"}}, "topologyKey": "kubernetes.io/hostname",
    }]}});
    check_pod("PodPolicy", |pod| pod["spec"]["affinity"] = strict.clone());
    let rules = |affinity: Value| {
        rules_of("pod", pod_json(), |pod, spec| {
            pod["spec"]["affinity"] = affinity;
            spec["pod"]["antiAffinity"] = json!(true);
        })
    };
    assert_eq!(rules(strict), [""; 0]);
    assert_eq!(rules(Value::Null), ["PodPolicy"]);
}
