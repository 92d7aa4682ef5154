//! The yardstick: a hand-written StatefulSet of three etcd members, with parallel start and static bootstrap.
//!
//! It is as fast as Kubernetes lets etcd be, and heals nothing. Images, user, probes and volumes are those of the
//! operator's pods.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;
use tokio::time::Instant;

use crate::sight;

const PATIENCE: Duration = Duration::from_secs(120);

/// From apply to three ready members.
pub(crate) async fn ready(scenario: &Scenario, name: &str) -> Result<Duration> {
    let (sets, services) = (api::<StatefulSet>(scenario), api::<Service>(scenario));
    let params = PostParams::default();
    let began = Instant::now();
    services.create(&params, &parsed(service(name))?).await?;
    sets.create(&params, &parsed(set(name))?).await?;
    let ready = sight::of(sets, name, |set| {
        let status = set.status.as_ref().context("no status")?;
        ensure!(
            status.ready_replicas == Some(3),
            "{:?} are ready",
            status.ready_replicas
        );
        Ok(())
    })
    .await?;
    Ok(ready - began)
}

/// The names of its pods.
pub(crate) fn pods(name: &str) -> Vec<String> {
    (0..3).map(|number| format!("{name}-{number}")).collect()
}

/// Removes it with its volumes.
pub(crate) async fn remove(scenario: &Scenario, name: &str) -> Result<()> {
    let params = DeleteParams::default();
    api::<StatefulSet>(scenario).delete(name, &params).await?;
    api::<Service>(scenario).delete(name, &params).await?;
    let (pods, claims) = (api::<Pod>(scenario), api::<PersistentVolumeClaim>(scenario));
    let of_it = ListParams::default().labels(&format!("yardstick={name}"));
    wait::until(format!("the end of {name}"), PATIENCE, async || {
        let left = pods.list(&of_it).await?.items.len() + claims.list(&of_it).await?.items.len();
        ensure!(left == 0, "{left} pods and claims are left");
        Ok(())
    })
    .await
}

fn api<K>(scenario: &Scenario) -> Api<K>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(scenario.testbed().client(), scenario.namespace())
}

fn parsed<K: DeserializeOwned>(object: Value) -> Result<K> {
    Ok(serde_json::from_value(object)?)
}

fn service(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {"yardstick": name},
            "ports": [{"name": "client", "port": 2379}, {"name": "peer", "port": 2380}],
        },
    })
}

fn set(name: &str) -> Value {
    let peers: Vec<_> = pods(name)
        .iter()
        .map(|pod| format!("{pod}=http://{pod}.{name}:2380"))
        .collect();
    let arguments = [
        "--name=$(NAME)".to_owned(),
        "--data-dir=/var/etcd/data".to_owned(),
        format!("--initial-cluster={}", peers.join(",")),
        format!("--initial-advertise-peer-urls=http://$(NAME).{name}:2380"),
        format!("--advertise-client-urls=http://$(NAME).{name}:2379"),
        "--listen-peer-urls=http://0.0.0.0:2380".to_owned(),
        "--listen-client-urls=http://0.0.0.0:2379".to_owned(),
        "--listen-metrics-urls=http://0.0.0.0:2381".to_owned(),
    ];
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 3,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
            "selector": {"matchLabels": {"yardstick": name}},
            "template": {
                "metadata": {"labels": {"yardstick": name}},
                "spec": {
                    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                        "weight": 100,
                        "podAffinityTerm": {
                            "topologyKey": "kubernetes.io/hostname",
                            "labelSelector": {"matchLabels": {"yardstick": name}},
                        },
                    }]}},
                    "automountServiceAccountToken": false,
                    "securityContext": {
                        "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                        "fsGroupChangePolicy": "OnRootMismatch",
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "etcd",
                        "image": "quay.io/coreos/etcd:v3.6.16",
                        "command": ["/usr/local/bin/etcd"],
                        "args": arguments,
                        "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "readinessProbe": {
                            "httpGet": {"path": "/readyz", "port": 2381}, "periodSeconds": 1, "timeoutSeconds": 3,
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "volumeMounts": [{"name": "data", "mountPath": "/var/etcd"}],
                    }],
                },
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data", "labels": {"yardstick": name}},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    })
}
