//! The manifests that coreos etcd-operator documents: applied as they are, they do what they say, or say what is not used.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use tests::scenario::{Cluster, Scenario};

const PATIENCE: Duration = Duration::from_secs(60);

/// The first walk-through: a cluster of nothing but size and version, used from inside a member and through its Service.
pub(crate) async fn size_and_version(scenario: &mut Scenario) -> Result<()> {
    let cluster = apply(
        scenario,
        "example-etcd-cluster",
        r#"
  size: 3
  version: "3.6.16"
"#,
    )
    .await?;
    cluster.becomes_healthy(3).await?;
    let spec = some_pod(&cluster).await?;
    ensure!(
        container(&spec)?.image.as_deref() == Some("quay.io/coreos/etcd:v3.6.16"),
        "the image is {:?}",
        container(&spec)?.image
    );
    let names = cluster.member_names().await?;
    let [one, other, ..] = names.as_slice() else {
        anyhow::bail!("members are {names:?}")
    };
    // Nodes learn of the Service a moment after it was made.
    cluster.client_address().await?;
    let service = "--endpoints=http://example-etcd-cluster-client:2379";
    scenario
        .kubectl(&["exec", one, "--", "etcdctl", service, "put", "foo", "bar"])
        .await?;
    let read = scenario
        .kubectl(&["exec", other, "--", "etcdctl", service, "get", "foo"])
        .await?;
    ensure!(read == "foo\nbar\n", "etcdctl read {read:?}");
    let own = scenario
        .kubectl(&["exec", one, "--", "etcdctl", "endpoint", "health"])
        .await;
    ensure!(own.is_ok(), "{own:?}");
    Ok(())
}

/// Labels, node selector, tolerations, resources, settings, a budget of attempts for DNS, an image for it, a domain; and
/// what the archived operator did not have: priority, Secrets for pulling, spreading.
pub(crate) async fn pod_policy(scenario: &mut Scenario) -> Result<()> {
    let node = scenario
        .testbed()
        .nodes()
        .first()
        .context("no node")?
        .name();
    let cluster = apply(
        scenario,
        "with-policy",
        &format!(
            r#"
  size: 1
  version: "v3.6.16"
  repository: quay.io/coreos/etcd
  pod:
    labels:
      team: storage
    annotations:
      example.com/note: kept
    nodeSelector:
      kubernetes.io/hostname: {node}
    tolerations:
    - key: example.com/etcd
      operator: Exists
      effect: NoSchedule
    resources:
      limits:
        cpu: 300m
        memory: 200Mi
      requests:
        cpu: 20m
        memory: 50Mi
    etcdEnv:
    - name: ETCD_AUTO_COMPACTION_RETENTION
      value: "1"
    securityContext:
      runAsNonRoot: true
      runAsUser: 9000
      fsGroup: 9000
    busyboxImage: busybox:1.28.0-glibc
    DNSTimeoutInSecond: 10
    ClusterDomain: .cluster.local
    priorityClassName: system-cluster-critical
    imagePullSecrets:
    - name: pull
    topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          etcd_cluster: with-policy
"#
        ),
    )
    .await?;
    cluster.becomes_healthy(1).await?;
    let pod = cluster.pods().await?.pop().context("no pod")?;
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    ensure!(
        labels.get("team").map(String::as_str) == Some("storage"),
        "{labels:?}"
    );
    let annotations = pod.metadata.annotations.clone().unwrap_or_default();
    ensure!(
        annotations.contains_key("example.com/note"),
        "{annotations:?}"
    );
    let spec = pod.spec.context("the pod has no spec")?;
    ensure!(
        spec.node_name.as_deref() == Some(node.as_str()),
        "it is on {:?}",
        spec.node_name
    );
    ensure!(
        spec.tolerations
            .iter()
            .flatten()
            .any(|one| one.key.as_deref() == Some("example.com/etcd")),
        "it tolerates {:?}",
        spec.tolerations
    );
    ensure!(
        spec.priority_class_name.as_deref() == Some("system-cluster-critical"),
        "its priority is {:?}",
        spec.priority_class_name
    );
    let secrets = spec.image_pull_secrets.iter().flatten();
    ensure!(
        secrets.map(|one| one.name.as_str()).eq(["pull"]),
        "its image is pulled with {:?}",
        spec.image_pull_secrets
    );
    ensure!(
        spec.topology_spread_constraints.iter().flatten().count() == 1,
        "it is spread by {:?}",
        spec.topology_spread_constraints
    );
    let user = spec
        .security_context
        .as_ref()
        .and_then(|context| context.run_as_user);
    ensure!(user == Some(9000), "it runs as {user:?}");
    ensure!(spec.init_containers.is_none(), "it has an init container");
    let container = container(&spec)?;
    let limits = container
        .resources
        .as_ref()
        .and_then(|all| all.limits.clone());
    ensure!(
        limits
            .unwrap_or_default()
            .get("memory")
            .map(|one| one.0.as_str())
            == Some("200Mi"),
        "its resources are {:?}",
        container.resources
    );
    ensure!(
        container.env.iter().flatten().any(|one| {
            one.name == "ETCD_AUTO_COMPACTION_RETENTION" && one.value.as_deref() == Some("1")
        }),
        "its settings are {:?}",
        container.env
    );
    let urls = scenario
        .kubectl(&[
            "exec",
            &pod.metadata.name.unwrap_or_default(),
            "--",
            "etcdctl",
            "member",
            "list",
        ])
        .await?;
    ensure!(
        urls.contains(".svc.cluster.local:2380"),
        "members are at {urls}"
    );
    cluster
        .awaits_condition(
            "SpecApplied",
            ConditionStatus::False,
            "AcceptedNotUsed",
            &["busyboxImage", "DNSTimeoutInSecond", "no init container"],
            PATIENCE,
        )
        .await?;
    let told = scenario
        .kubectl(&["describe", "etcd", "with-policy"])
        .await?;
    ensure!(
        told.contains("busyboxImage is accepted and not used"),
        "{told}"
    );
    Ok(())
}

/// Members that keep apart, in both spellings, and members on volumes.
pub(crate) async fn apart_and_on_volumes(scenario: &mut Scenario) -> Result<()> {
    let short = apply(
        scenario,
        "apart",
        r#"
  size: 3
  version: "3.6.16"
  pod:
    antiAffinity: true
"#,
    )
    .await?;
    let full = apply(
        scenario,
        "persistent",
        r#"
  size: 1
  version: "3.6.16"
  pod:
    affinity:
      podAntiAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            labelSelector:
              matchExpressions:
              - key: etcd_cluster
                operator: In
                values: ["persistent"]
            topologyKey: kubernetes.io/hostname
    persistentVolumeClaimSpec:
      accessModes:
      - ReadWriteOnce
      resources:
        requests:
          storage: 1Gi
"#,
    )
    .await?;
    short.becomes_healthy(3).await?;
    full.becomes_healthy(1).await?;
    let nodes = short.pods().await?;
    let nodes: std::collections::BTreeSet<_> = nodes.iter().filter_map(node_of).collect();
    ensure!(nodes.len() == 3, "three members share the nodes {nodes:?}");
    let spec = some_pod(&full).await?;
    let affinity = serde_json::to_string(&spec.affinity)?;
    ensure!(affinity.contains("matchExpressions"), "{affinity}");
    let is_on_claim = spec
        .volumes
        .iter()
        .flatten()
        .any(|volume| volume.persistent_volume_claim.is_some());
    ensure!(is_on_claim, "its volumes are {:?}", spec.volumes);
    full.awaits_condition(
        "SpecApplied",
        ConditionStatus::True,
        "AsSpecified",
        &[],
        PATIENCE,
    )
    .await
    .map(drop)
}

/// The documented version is one that no successor can run.
pub(crate) async fn old_version(scenario: &mut Scenario) -> Result<()> {
    for version in ["3.1.10", "3.2.13", "3.3.27"] {
        let name = format!("of-{}", version.replace('.', "-"));
        let cluster = apply(
            scenario,
            &name,
            &format!("\n  size: 3\n  version: \"{version}\"\n"),
        )
        .await?;
        cluster
            .becomes_blocked("UnsupportedVersion", &[version, "3.6.16", "3.4.34"])
            .await?;
        let pods = cluster.pods().await?.len();
        ensure!(pods == 0, "{pods} pods were made");
    }
    Ok(())
}

/// Applies a manifest as a person has it.
async fn apply(scenario: &Scenario, name: &str, spec: &str) -> Result<Cluster> {
    let manifest = format!(
        "apiVersion: \"etcd.database.coreos.com/v1beta2\"\nkind: \"EtcdCluster\"\nmetadata:\n  name: \"{name}\"\nspec:{spec}"
    );
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], &manifest)
        .await?;
    Ok(scenario.cluster(name))
}

async fn some_pod(cluster: &Cluster) -> Result<PodSpec> {
    let mut pods = cluster.pods().await?;
    let pod = pods.pop().context("no pod")?;
    pod.spec.context("the pod has no spec")
}

fn container(spec: &PodSpec) -> Result<&Container> {
    spec.containers.first().context("the pod has no container")
}

fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
}
