//! From a Subscription to a healthy cluster.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::olm::{Approval, CPU, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;

/// What an EtcdCluster without `spec.repository` and `spec.version` runs.
const IMAGE: &str = "quay.io/coreos/etcd:v3.6.16";

/// The head of `testing`, approved by OLM itself, in its own namespace.
pub(crate) async fn testing(ground: &Ground) -> Result<()> {
    let started = Instant::now();
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-testing").await?;
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("testing", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    let installed = started.elapsed();
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "first");
    cluster.create(spec::on_volumes(3)).await?;
    cluster.becomes_healthy(3).await?;
    eprintln!(
        "olm_subscription_to_cr_healthy_s {:.1}, of which OLM {:.1}",
        started.elapsed().as_secs_f32(),
        installed.as_secs_f32()
    );

    let wanted = &ground.publication.release("0.4.0")?.release.image;
    let deployment = subscriber.deployment().await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    ensure!(
        container["image"] == wanted.as_str(),
        "it runs {}",
        container["image"]
    );
    let asked = &container["resources"]["requests"]["cpu"];
    ensure!(
        asked == CPU,
        "the Subscription asks for {CPU} and the pod has {asked}"
    );
    only_what_a_mirror_has(&subscriber).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}

/// A mirror has the related images and those of etcd that EtcdClusters name; no pod asks for another one.
async fn only_what_a_mirror_has(subscriber: &Subscriber) -> Result<()> {
    let named = [
        "get",
        "clusterserviceversion",
        "binnacle.v0.4.0",
        "--output=json",
    ];
    let csv: Value = serde_json::from_str(&subscriber.kubectl(&named).await?)?;
    let related = csv["spec"]["relatedImages"].as_array();
    let related = related.context("there are no related images")?;
    let pods: Value = serde_json::from_str(
        &subscriber
            .kubectl(&["get", "pods", "--output=json"])
            .await?,
    )?;
    let pods = pods["items"].as_array().context("there are no pods")?;
    let containers = pods
        .iter()
        .flat_map(|pod| ["containers", "initContainers"].map(|kind| pod["spec"][kind].as_array()));
    let mut images: Vec<&str> = containers
        .flatten()
        .flatten()
        .filter_map(|container| container["image"].as_str())
        .collect();
    images.sort_unstable();
    images.dedup();
    let (ours, etcd): (Vec<&str>, Vec<&str>) = images
        .into_iter()
        .partition(|image| related.iter().any(|one| one["image"] == *image));
    ensure!(!ours.is_empty(), "nothing of {related:?} runs");
    ensure!(etcd == [IMAGE], "also {etcd:?} runs");
    Ok(())
}

/// `spec.config`: resources, variables, placement. The operator runs as they say, and what the bundle sets stays.
pub(crate) async fn configured(ground: &Ground) -> Result<()> {
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-config").await?;
    subscriber.group(&[subscriber.namespace()]).await?;
    let config = json!({
        "resources": {"requests": {"cpu": CPU, "memory": "80Mi"}, "limits": {"memory": "700Mi"}},
        "env": [{"name": "RUST_LOG", "value": "info,kube=warn"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "stage", "operator": "Equal", "value": "etcd", "effect": "NoSchedule"}],
    });
    subscriber
        .subscribe_with("prod", Approval::Automatic, None, &config)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    let pods = subscriber
        .kubectl(&[
            "get",
            "pods",
            "--selector",
            "app.kubernetes.io/name=binnacle",
            "--output=json",
        ])
        .await?;
    let pods: Value = serde_json::from_str(&pods)?;
    let pod = &pods["items"][0]["spec"];
    let container = &pod["containers"][0];
    ensure!(
        container["resources"] == config["resources"],
        "it has {}",
        container["resources"]
    );
    let variables = container["env"].as_array().cloned().unwrap_or_default();
    ensure!(
        variables.contains(&config["env"][0])
            && variables.iter().any(|one| one["name"] == "WATCH_NAMESPACE"),
        "its variables are {variables:?}"
    );
    ensure!(
        pod["nodeSelector"] == config["nodeSelector"],
        "its nodes are {}",
        pod["nodeSelector"]
    );
    let tolerations = pod["tolerations"].as_array().cloned().unwrap_or_default();
    ensure!(
        tolerations.contains(&config["tolerations"][0]),
        "it tolerates {tolerations:?}"
    );
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "first");
    cluster.create(spec::in_pods(1)).await?;
    cluster.becomes_healthy(1).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}
