//! Disks that are full, and disks that are slow: told, waited for, and nobody is replaced for it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use etcd_client::Client;
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(150);
/// Writes that the slow disk does in a second: etcd asks for one with each entry of its log.
const SLOW: u32 = 2;
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;

/// A member whose disk has no byte left ends again and again; the others go on, and it does when there is room.
pub(crate) async fn full(scenario: &mut Scenario) -> Result<()> {
    let mut small = spec::on_volumes(3);
    let claim = &mut small["pod"]["persistentVolumeClaimSpec"];
    claim["storageClassName"] = json!("local-small");
    claim["resources"]["requests"]["storage"] = json!("160Mi");
    let cluster = scenario.create_healthy("brimful", small).await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(20, PATIENCE).await?;
    let victim = follower(&cluster).await?;
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());

    let words = [victim.as_str(), "no space left on device"];
    let etcd = Client::connect([cluster.client_address().await?], None).await?;
    let told = wait::until("words on the full disk", PATIENCE, async || {
        // Whatever etcd gives back as it ends is taken, too.
        testbed.fill_volume(namespace, &victim).await?;
        // What a slow machine writes by itself fits into the pages that the database has.
        etcd.clone()
            .put("large", vec![b'x'; 64 << 10], None)
            .await?;
        let conditions = cluster.status().await?.conditions;
        let progressing = conditions.iter().find(|one| one.kind == "Progressing");
        let progressing = progressing.context("no condition Progressing")?;
        let is_told = words.iter().all(|word| progressing.message.contains(word));
        ensure!(is_told, "{}: {}", progressing.reason, progressing.message);
        Ok(progressing.clone())
    })
    .await?;
    eprintln!("  {}: {}", told.reason, told.message);
    ensure!(
        told.status == ConditionStatus::True,
        "it stands at {told:?}"
    );
    writer.goes_on(50, PATIENCE).await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await?;

    let filler = testbed.volume_folder(namespace, &victim).await?;
    std::fs::remove_file(filler.join("filler"))?;
    cluster.becomes_healthy(3).await?;
    writer.finish_unfailed("a full disk").await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}

/// The leader's disk takes seconds for what others do at once: writes are late, and nobody is taken for lost.
pub(crate) async fn slow(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("sluggish", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    let victim = cluster.leader().await?;
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    testbed.slow_disk(namespace, &victim, Some(SLOW)).await?;
    let looked = async {
        for _ in 0..3 {
            writer.goes_on(10, PATIENCE).await?;
            scenario.is_looked_at_again().await?;
        }
        standing.is_kept(&cluster).await
    };
    let seen = looked.await;
    testbed.slow_disk(namespace, &victim, None).await?;
    seen?;
    cluster.becomes_healthy(3).await?;
    writer.finish_unfailed("a slow disk").await?;
    standing.is_kept(&cluster).await
}

async fn follower(cluster: &Cluster) -> Result<String> {
    let leader = cluster.leader().await?;
    let names = cluster.member_names().await?;
    let other = names.into_iter().find(|name| *name != leader);
    other.context("nobody follows")
}
