//! A living cluster as coreos etcd-operator 0.9.4 left it, made by hand: bare pods, Services, a status.
//!
//! Spelled here in full on purpose: it is what that operator wrote, not what the code of this one says.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario};
use tests::testbed::{Progress, images, wait};

/// The version it runs; the archived operator cannot run a newer minor version.
pub(crate) const VERSION: &str = "3.4.34";
/// Where its images come from: with a shell, which the old probes need.
const REPOSITORY: &str = "testbed.binnacle/etcd-with-shell";
/// How long the members may take to start one after another.
const PATIENCE: Duration = Duration::from_secs(120);
/// What master and 0.9.4 wrote to both Services, and what Kubernetes stopped reading in 2022.
const TOLERATE: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/// What is left by the archived operator.
pub(crate) struct Left<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) name: &'s str,
    /// Member names, the seed first.
    pub(crate) members: [String; 3],
    pub(crate) on_volumes: bool,
}

impl Left<'_> {
    /// Makes the objects in the order of that operator, ending with its status.
    pub(crate) async fn make(&self) -> Result<Cluster> {
        let archive = images::etcd_with_shell(VERSION, &Progress::silent()).await?;
        self.scenario.testbed().load_image(&archive).await?;
        // That operator's pods know nothing of the `restricted` standard that the suite's namespaces demand.
        self.scenario
            .kubectl(&[
                "label",
                "namespace",
                self.scenario.namespace(),
                "pod-security.kubernetes.io/enforce=privileged",
                "--overwrite",
            ])
            .await?;
        let cluster = self.scenario.create(self.name, self.spec()).await?;
        let uid = cluster
            .resource()
            .await?
            .metadata
            .uid
            .context("the resource has no UID")?;
        for service in [self.peer_service(&uid), self.client_service(&uid)] {
            self.apply(&service).await?;
        }
        for count in 1..=self.members.len() {
            self.make_member(&uid, count, &cluster).await?;
        }
        // Those Kubernetes versions published addresses for the annotation's sake; newer ones do not.
        let patch = r#"{"spec":{"publishNotReadyAddresses":false}}"#;
        self.scenario
            .kubectl(&[
                "patch",
                "service",
                self.name,
                "--type=merge",
                "--patch",
                patch,
            ])
            .await?;
        let status = json!({"status": {
            "phase": "Running",
            "size": self.members.len(),
            "serviceName": format!("{}-client", self.name),
            "clientPort": 2379,
            "members": {"ready": self.members},
            "currentVersion": VERSION,
            "targetVersion": "",
            "conditions": [{
                "type": "Available", "status": "True", "reason": "Cluster available", "message": "",
                "lastUpdateTime": "2019-05-07T09:00:00Z", "lastTransitionTime": "2019-05-07T09:00:00Z",
            }],
        }});
        self.scenario
            .kubectl(&[
                "patch",
                "etcdcluster",
                self.name,
                "--subresource=status",
                "--type=merge",
                "--patch",
                &status.to_string(),
            ])
            .await?;
        Ok(cluster)
    }

    /// The spec as that operator wrote it back, with its defaults.
    fn spec(&self) -> Value {
        let mut pod = json!({"resources": {}, "ClusterDomain": ""});
        if self.on_volumes {
            pod["persistentVolumeClaimSpec"] = claim_spec();
        }
        json!({"size": self.members.len(), "repository": REPOSITORY, "version": VERSION, "pod": pod})
    }

    async fn make_member(&self, uid: &str, count: usize, cluster: &Cluster) -> Result<()> {
        let name = self.members.get(count - 1).context("too few names")?;
        if count > 1 {
            let seed = cluster.etcd_of(&self.members[0]);
            let url = self.peer_url(name);
            wait::until("MemberAdd being taken", PATIENCE, async || {
                seed.add_voter(name, &url).await
            })
            .await?;
        }
        if self.on_volumes {
            self.apply(&json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": self.metadata(name, uid),
                "spec": claim_spec(),
            }))
            .await?;
        }
        self.apply(&self.pod(name, uid, &self.members[..count]))
            .await?;
        wait::until(format!("{name} being ready"), PATIENCE, async || {
            let pod = cluster.pod(name).await?;
            let conditions = pod.status.and_then(|status| status.conditions);
            let is_ready = conditions
                .unwrap_or_default()
                .iter()
                .any(|one| one.type_ == "Ready" && one.status == "True");
            ensure!(is_ready, "it is not Ready");
            Ok(())
        })
        .await
    }

    fn pod(&self, name: &str, uid: &str, members: &[String]) -> Value {
        let host = self.host(name);
        let (state, token) = match members {
            [_seed] => (
                "new",
                " --initial-cluster-token=9f6ac5f8-d7a0-4b4b-a3f5-6f2b4a1c0d11",
            ),
            _ => ("existing", ""),
        };
        let initial: Vec<String> = members
            .iter()
            .map(|member| format!("{member}={}", self.peer_url(member)))
            .collect();
        let command = format!(
            "/usr/local/bin/etcd --data-dir=/var/etcd/data --name={name} \
             --initial-advertise-peer-urls={} --listen-peer-urls=http://0.0.0.0:2380 \
             --listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://{host}:2379 \
             --initial-cluster={} --initial-cluster-state={state}{token}",
            self.peer_url(name),
            initial.join(","),
        );
        let command: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        let probe = |delay: i64, timeout: i64, period: i64| {
            json!({
                "exec": {"command": ["/bin/sh", "-ec", "ETCDCTL_API=3 etcdctl endpoint status"]},
                "initialDelaySeconds": delay, "timeoutSeconds": timeout, "periodSeconds": period, "failureThreshold": 3,
            })
        };
        let data = if self.on_volumes {
            json!({"name": "etcd-data", "persistentVolumeClaim": {"claimName": name}})
        } else {
            json!({"name": "etcd-data", "emptyDir": {}})
        };
        let image = format!("{REPOSITORY}:v{VERSION}");
        let mut metadata = self.metadata(name, uid);
        metadata["labels"]["etcd_node"] = json!(name);
        metadata["annotations"] = json!({"etcd.version": VERSION});
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {
                "initContainers": [{
                    "name": "check-dns", "image": image,
                    // Today's busybox looks for no name in the search domains.
                    "command": ["/bin/sh", "-c", format!(
                        "TIMEOUT_READY=0\nwhile ( ! nslookup {host}.cluster.local )\ndo\nsleep 1\ndone"
                    )],
                }],
                "containers": [{
                    "name": "etcd", "image": image, "command": command,
                    "ports": [
                        {"name": "server", "containerPort": 2380, "protocol": "TCP"},
                        {"name": "client", "containerPort": 2379, "protocol": "TCP"},
                    ],
                    "livenessProbe": probe(10, 10, 60),
                    "readinessProbe": probe(1, 5, 5),
                    "volumeMounts": [{"name": "etcd-data", "mountPath": "/var/etcd"}],
                }],
                "hostname": name, "subdomain": self.name, "restartPolicy": "Never",
                "automountServiceAccountToken": false, "volumes": [data],
            },
        })
    }

    fn peer_service(&self, uid: &str) -> Value {
        let mut service = self.service(
            self.name,
            uid,
            json!([
                {"name": "client", "port": 2379, "targetPort": 2379, "protocol": "TCP"},
                {"name": "peer", "port": 2380, "targetPort": 2380, "protocol": "TCP"},
            ]),
        );
        service["spec"]["clusterIP"] = json!("None");
        service["spec"]["publishNotReadyAddresses"] = json!(true);
        service
    }

    fn client_service(&self, uid: &str) -> Value {
        self.service(
            &format!("{}-client", self.name),
            uid,
            json!([{"name": "client", "port": 2379, "targetPort": 2379, "protocol": "TCP"}]),
        )
    }

    fn service(&self, name: &str, uid: &str, ports: Value) -> Value {
        let mut metadata = self.metadata(name, uid);
        metadata["annotations"] = json!({TOLERATE: "true"});
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"ports": ports, "selector": {"app": "etcd", "etcd_cluster": self.name}},
        })
    }

    fn metadata(&self, name: &str, uid: &str) -> Value {
        json!({
            "name": name,
            "labels": {"app": "etcd", "etcd_cluster": self.name},
            "ownerReferences": [{
                "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": self.name,
                "uid": uid, "controller": true,
            }],
        })
    }

    fn host(&self, member: &str) -> String {
        format!("{member}.{}.{}.svc", self.name, self.scenario.namespace())
    }

    fn peer_url(&self, member: &str) -> String {
        format!("http://{}:2380", self.host(member))
    }

    /// Created as that operator did, not applied: so that its field manager is another's.
    async fn apply(&self, object: &Value) -> Result<()> {
        self.scenario
            .kubectl_with_input(
                &["create", "--field-manager=etcd-operator", "--filename", "-"],
                &object.to_string(),
            )
            .await
            .map(drop)
    }
}

fn claim_spec() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
}

/// Writes the lock of the archived operator, as if it had been renewed at this moment.
pub(crate) async fn renew_lock(scenario: &Scenario, holder: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    let record = json!({
        "holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": "2019-05-07T09:00:00Z",
        "renewTime": now.to_string(), "leaderTransitions": 1,
    });
    let object = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {
            "name": "etcd-operator",
            "annotations": {"control-plane.alpha.kubernetes.io/leader": record.to_string()},
        },
    });
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], &object.to_string())
        .await
        .map(drop)
}
