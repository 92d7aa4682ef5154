//! Two of three nodes lost at a time: nobody has a quorum until one is back.
//!
//! Whatever was broken is mended before a scenario tells how it ended.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::ConditionStatus;
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::Node;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(240);

/// The second goes while the first is away, and Kubernetes gives up the pods of both.
pub(crate) async fn both_cut_off(scenario: &mut Scenario) -> Result<()> {
    let mut apart = spec::on_volumes(3);
    apart["pod"]["antiAffinity"] = json!(true);
    // It waits five minutes where nobody says anything else.
    apart["pod"]["tolerations"] = json!([
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
    ]);
    let cluster = scenario.create_healthy("severed", apart).await?;
    let standing = Standing::of(&cluster).await?;
    let leader = cluster.leader().await?;
    let mut victims = cluster.member_names().await?;
    victims.sort_by_key(|name| *name != leader);
    victims.truncate(2);
    let mut nodes = Vec::new();
    for victim in &victims {
        let spec = cluster.pod(victim).await?.spec;
        let node = spec.and_then(|spec| spec.node_name);
        let node = node.with_context(|| format!("{victim} is on no node"))?;
        nodes.push(scenario.testbed().node(&node)?);
    }
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;

    let lost = lose_both(scenario, &cluster, &victims, &nodes, &writer, &standing).await;
    for node in &nodes {
        node.mend().await?;
    }
    for node in &nodes {
        node.becomes(true, PATIENCE).await?;
    }
    lost?;
    cluster.becomes_healthy(3).await?;
    writer.finish().await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}

async fn lose_both(
    scenario: &Scenario,
    cluster: &Cluster,
    victims: &[String],
    nodes: &[Node],
    writer: &Writer,
    standing: &Standing,
) -> Result<()> {
    let ([first, second], [one, other]) = (victims, nodes) else {
        bail!("two are meant, not {victims:?}")
    };
    one.cut().await?;
    one.becomes(false, PATIENCE).await?;
    let (down, reason) = (ConditionStatus::True, "MemberUnhealthy");
    cluster
        .awaits_condition("Degraded", down, reason, &[first], PATIENCE)
        .await?;
    writer.goes_on(50, PATIENCE).await?;

    other.cut().await?;
    other.becomes(false, PATIENCE).await?;
    let words = [
        "of 3 voters are healthy",
        first,
        second,
        "Nothing is removed or deleted",
    ];
    let (lost, reason) = (ConditionStatus::False, "QuorumLost");
    cluster
        .awaits_condition("Available", lost, reason, &words, PATIENCE)
        .await?;
    scenario.is_looked_at_again().await?;
    let deletions = scenario
        .operator()?
        .metric("binnacle_effects_total", "effect=\"Delete\"")
        .await?;
    ensure!(deletions == 0.0, "it deleted {deletions} times");
    standing.has_its_objects_but_for(cluster, &[]).await?;

    // With the first one back there is a quorum again, whatever became of the other.
    one.mend().await?;
    one.becomes(true, PATIENCE).await?;
    let (available, reason) = (ConditionStatus::True, "QuorumHealthy");
    cluster
        .awaits_condition("Available", available, reason, &["2 of 3"], PATIENCE)
        .await?;
    writer.goes_on(50, PATIENCE).await
}
