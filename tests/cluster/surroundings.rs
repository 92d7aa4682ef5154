//! Trouble with what everybody stands on: a node, the API server, the definition of the custom resource.
//!
//! Whatever was broken is mended before a scenario tells how it ended.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::ConditionStatus;
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, definition, spec};
use tests::testbed::{Progress, images, wait};
use tokio::time::Instant;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(240);
/// How long the API server is away.
const OUTAGE: Duration = Duration::from_secs(30);

/// On a machine that had built nothing yet, the second of two scenarios found its archive gone while it wrote it; and on a
/// slow one a node refused the second, because the first had just made the same image.
pub(crate) async fn one_image_twice(scenario: &mut Scenario) -> Result<()> {
    let archive = scenario.folder().join("image.tar");
    let progress = Progress::silent();
    let build = || images::operator("twice:1", Path::new("/bin/true"), &[], &archive, &progress);
    let (one, other) = tokio::join!(build(), build());
    one?;
    other?;
    let testbed = scenario.testbed();
    tokio::try_join!(testbed.load_image(&archive), testbed.load_image(&archive)).map(drop)
}

pub(crate) async fn node_cut_off(scenario: &mut Scenario) -> Result<()> {
    let mut apart = spec::on_volumes(3);
    apart["pod"]["antiAffinity"] = json!(true);
    let cluster = scenario.create_healthy("torn", apart).await?;
    let standing = Standing::of(&cluster).await?;
    let victim = cluster.leader().await?;
    let node = cluster
        .pod(&victim)
        .await?
        .spec
        .and_then(|spec| spec.node_name);
    let node = scenario
        .testbed()
        .node(&node.context("the leader is on no node")?)?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;

    node.cut().await?;
    let noticed = async {
        node.becomes(false, PATIENCE).await?;
        cluster
            .awaits_condition(
                "Degraded",
                ConditionStatus::True,
                "MemberUnhealthy",
                &[&victim],
                PATIENCE,
            )
            .await?;
        cluster
            .awaits_condition(
                "Available",
                ConditionStatus::True,
                "QuorumHealthy",
                &["2 of 3"],
                PATIENCE,
            )
            .await?;
        writer.goes_on(100, PATIENCE).await
    };
    let noticed = noticed.await;
    node.mend().await?;
    node.becomes(true, PATIENCE).await?;
    noticed?;

    cluster.becomes_healthy(3).await?;
    writer.finish().await?;
    standing.is_kept(&cluster).await
}

/// `kubectl drain` asks the budget: one node is emptied, the next one not before the first member is back.
pub(crate) async fn drained(scenario: &mut Scenario) -> Result<()> {
    let mut apart = spec::on_volumes(3);
    apart["pod"]["antiAffinity"] = json!(true);
    let cluster = scenario.create_healthy("drained", apart).await?;
    let standing = Standing::of(&cluster).await?;
    let leader = cluster.leader().await?;
    let names = cluster.member_names().await?;
    let other = names.iter().find(|name| **name != leader);
    let other = other.context("there is one member only")?;
    let mut nodes = Vec::new();
    for name in [&leader, other] {
        let node = cluster
            .pod(name)
            .await?
            .spec
            .and_then(|spec| spec.node_name);
        nodes.push(node.context("it is on no node")?);
    }
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    let drained = drain_both(scenario, &cluster, &leader, &nodes, &writer).await;
    for node in &nodes {
        let uncordon = ["uncordon", node.as_str()];
        scenario.testbed().run_kubectl(&uncordon, "").await?;
    }
    drained?;
    cluster.becomes_healthy(3).await?;
    writer.finish().await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}

async fn drain_both(
    scenario: &Scenario,
    cluster: &Cluster,
    leader: &str,
    nodes: &[String],
    writer: &Writer,
) -> Result<()> {
    let testbed = scenario.testbed();
    let selector = format!("--pod-selector={}={}", cluster.label(), cluster.name());
    let drain = async |node: &str, patience: &str| {
        let timeout = format!("--timeout={patience}");
        let verb = ["drain", node, &selector, &timeout, "--ignore-daemonsets"];
        testbed.run_kubectl(&verb, "").await
    };
    let [first, second] = nodes else {
        bail!("two nodes are meant, not {nodes:?}")
    };
    drain(first, "120s").await?;
    let refused = drain(second, "10s").await;
    let words = format!("{:#}", refused.err().context("two of three were evicted")?);
    ensure!(words.contains("disruption budget"), "{words}");
    cluster
        .awaits_condition(
            "Degraded",
            ConditionStatus::True,
            "MemberUnhealthy",
            &[leader],
            PATIENCE,
        )
        .await?;
    writer.goes_on(50, PATIENCE).await?;
    testbed.run_kubectl(&["uncordon", first], "").await?;
    cluster.becomes_healthy(3).await?;
    drain(second, "120s").await?;
    writer.goes_on(50, PATIENCE).await
}

pub(crate) async fn api_server_down(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("alone", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;

    scenario.testbed().stop_api_server().await?;
    let since = Instant::now();
    let served = async {
        while since.elapsed() < OUTAGE {
            writer.goes_on(50, PATIENCE).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let served = served.await;
    scenario.testbed().start_api_server().await?;
    served?;

    cluster.becomes_healthy(3).await?;
    standing.is_kept(&cluster).await?;
    cluster.resize(4).await?;
    cluster.becomes_healthy(4).await?;
    writer.finish().await.map(drop)
}

pub(crate) async fn wrong_types(scenario: &mut Scenario) -> Result<()> {
    let neighbour = scenario
        .create_healthy("neighbour", spec::on_volumes(1))
        .await?;
    let odd = [
        ("word", json!({"size": "three"}), ["spec.size", "three"]),
        ("number", json!({"size": 1, "pod": 7}), ["spec.pod", "7"]),
    ];
    scenario
        .suite()
        .apply_definition(without_validation()?)
        .await?;
    let stored = async {
        for (name, spec, _) in &odd {
            wait::until(format!("{name} being stored"), PATIENCE, async || {
                scenario.cluster(name).create(spec.clone()).await
            })
            .await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let stored = stored.await;
    scenario.suite().apply_definition(definition()?).await?;
    stored?;
    wait::until("the validation being back", PATIENCE, async || {
        let probe = scenario.cluster("probe");
        let refused = probe.create(json!({"size": "four"})).await;
        ensure!(
            refused.is_err_and(|error| error.to_string().contains("size")),
            "the API server takes any type"
        );
        Ok(())
    })
    .await?;

    for (name, _, words) in &odd {
        let odd = scenario.cluster(name);
        odd.becomes_blocked("InvalidSpec", words).await?;
        odd.awaits_event("Warning", "InvalidSpec", words[0]).await?;
        let made = Children::of(&odd).await?;
        ensure!(made.is_empty(), "{made} was made for {name}");
    }
    neighbour.resize(3).await?;
    neighbour.becomes_healthy(3).await?;
    for (name, ..) in odd {
        let corrected = scenario.cluster(name);
        corrected.edit(json!({"size": 1, "pod": null})).await?;
        corrected.becomes_healthy(1).await?;
    }
    Ok(())
}

/// The definition as it was before the API had a schema.
fn without_validation() -> Result<Value> {
    let mut definition = definition()?;
    let version = definition
        .pointer_mut("/spec/versions/0")
        .context("the definition has no version")?;
    version["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    // The scale subresource would insist on a number.
    version["subresources"] = json!({"status": {}});
    Ok(definition)
}
