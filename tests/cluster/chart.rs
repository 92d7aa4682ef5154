//! The Helm chart on a real Kubernetes: installed, upgraded, removed, installed again, while a cluster lives.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tests::scenario::{Scenario, spec};
use tests::testbed::Progress;
use tests::testbed::tools::Tool;
use tokio::process::Command;

use crate::standing::Standing;

const HELM: &str = "helm-3.19.0";
/// The release, and how long it may take on a machine that does much else.
const RELEASE: [&str; 3] = ["binnacle", "--wait", "--timeout=240s"];

pub(crate) async fn installed(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    // What the suite made in this namespace by the plain manifests, the release takes over; definitions are the suite's.
    for object in ["rolebinding", "role", "serviceaccount"] {
        scenario.kubectl(&["delete", object, "binnacle"]).await?;
    }
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chart");
    let chart = chart.to_str().context("the checkout's path is no text")?;
    let image = format!("image={}", scenario.load_build().await?);
    let values = ["--set", &image, "--set", "crds.install=false"];
    let install = [&["install"], &RELEASE[..], &[chart], &values[..]].concat();
    helm(scenario, &install).await?;
    let cluster = scenario
        .create_healthy("charted", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let standing = Standing::of(&cluster).await?;

    let more = [
        "--set",
        "env[0].name=BINNACLE_LOG",
        "--set",
        "env[0].value=debug",
    ];
    let upgrade = [&["upgrade"], &RELEASE[..], &[chart], &values[..], &more[..]].concat();
    helm(scenario, &upgrade).await?;
    let told = [
        "get",
        "deployment",
        "binnacle",
        "--output",
        "jsonpath={.spec.template.spec.containers[0].env}",
    ];
    let told = scenario.kubectl(&told).await?;
    ensure!(told.contains("BINNACLE_LOG"), "its variables are {told}");
    standing.is_kept(&cluster).await?;

    helm(scenario, &["uninstall", RELEASE[0], RELEASE[1], RELEASE[2]]).await?;
    let left = [
        "get",
        "deployments,serviceaccounts,roles",
        "--selector=app.kubernetes.io/name=binnacle",
        "--output=name",
    ];
    let left = scenario.kubectl(&left).await?;
    ensure!(left.is_empty(), "of the release is left {left}");
    standing.is_kept(&cluster).await?;
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "the data is gone"
    );

    helm(scenario, &install).await?;
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "the data is gone"
    );
    helm(scenario, &["uninstall", RELEASE[0]]).await.map(drop)
}

async fn helm(scenario: &Scenario, arguments: &[&str]) -> Result<String> {
    let folder = Tool::parse(HELM)?.ensure(&Progress::silent()).await?;
    let ended = Command::new(folder.join("helm"))
        .args(["--namespace", scenario.namespace()])
        .args(arguments)
        .env("KUBECONFIG", scenario.testbed().kubeconfig())
        .stdin(Stdio::null())
        .output()
        .await
        .context("helm cannot be started")?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    ensure!(
        ended.status.success(),
        "helm {arguments:?}: {said}{complaint}"
    );
    Ok(said)
}
