//! Every edge of both channels, each walked with a living cluster under a writing client.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;
use crate::standing::Standing;
use crate::writer::Writer;

/// What a client tries before it gives up: a busy machine may make the members elect a leader anew.
pub(crate) const TRIES: u32 = 3;
/// Writes that must still come through after an upgrade.
const MORE_WRITES: u64 = 50;

/// From the first release to the head of `testing`, one by one.
pub(crate) async fn testing(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.1.0").await?;
    walk(ground, &subscriber, &["0.2.0", "0.3.0", "0.4.0"]).await
}

/// From the first release of `prod` to its head, past one that was never promoted.
pub(crate) async fn prod(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "prod", "0.2.0").await?;
    walk(ground, &subscriber, &["0.4.0"]).await
}

/// A release that was never promoted is left for the head of `prod` by its range.
pub(crate) async fn from_testing_to_prod(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.3.0").await?;
    // A plan that waits keeps OLM from looking at the channel again; the documents say so.
    subscriber
        .kubectl(&["delete", "installplans", "--all"])
        .await?;
    subscriber
        .subscribe("prod", Approval::Manual, Some("0.3.0"))
        .await?;
    walk(ground, &subscriber, &["0.4.0"]).await
}

/// A namespace with the operator of a version, whose plans a person approves.
async fn begin(ground: &Ground, channel: &str, version: &str) -> Result<Subscriber> {
    let subscriber = Subscriber::new(
        &ground.testbed,
        &ground.kubectl,
        &format!("olm-{channel}-edge"),
    )
    .await?;
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe(channel, Approval::Manual, Some(version))
        .await?;
    subscriber.approve(version).await?;
    subscriber.succeeds(version).await?;
    Ok(subscriber)
}

/// Approves one version after another and expects that the cluster does not notice.
async fn walk(ground: &Ground, subscriber: &Subscriber, versions: &[&str]) -> Result<()> {
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "living");
    let mut wanted = spec::on_volumes(3);
    // A share of the processors, so that an operator that compiles its module takes none from the members.
    wanted["pod"]["resources"] = json!({"requests": {"cpu": "300m"}});
    cluster.create(wanted).await?;
    cluster.becomes_healthy(3).await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    for version in versions {
        let started = Instant::now();
        subscriber.approve(version).await?;
        subscriber.succeeds(version).await?;
        eprintln!(
            "olm_upgrade_s {:.1} to {version}",
            started.elapsed().as_secs_f32()
        );
        let wanted = &ground.publication.release(version)?.release.image;
        let deployment = subscriber.deployment().await?;
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        ensure!(
            container["image"] == wanted.as_str(),
            "{version} runs {}",
            container["image"]
        );
        writer.goes_on(MORE_WRITES, Duration::from_secs(60)).await?;
        standing.is_kept(&cluster).await?;
        ensure!(
            restarts(&cluster).await? == 0,
            "a member was restarted by the upgrade to {version}"
        );
    }
    let journal = writer.finish().await?;
    ensure!(
        journal.failed == 0,
        "{} of {} writes failed",
        journal.failed,
        journal.len()
    );
    eprintln!(
        "{} writes, the longest pause {:.1?}",
        journal.len(),
        journal.longest_pause
    );
    // The successor looks after it: a changed size is followed.
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}

/// How often containers of the members were restarted, in sum.
async fn restarts(cluster: &Cluster) -> Result<i32> {
    let pods = cluster.pods().await?;
    let containers = pods
        .into_iter()
        .filter_map(|pod| pod.status?.container_statuses)
        .flatten();
    Ok(containers.map(|container| container.restart_count).sum())
}
