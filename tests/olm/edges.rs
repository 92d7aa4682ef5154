//! Every edge of both channels, each walked with three living clusters, each under a writing client.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;
use crate::gap;
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

/// At the head of `testing` nothing comes of a change to `prod` and back but a word in the Subscription; on the way there is
/// something as soon as the channel has it.
pub(crate) async fn there_and_back(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "prod", "0.2.0").await?;
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "living");
    cluster.create(spec::in_pods(1)).await?;
    cluster.becomes_healthy(1).await?;
    subscriber
        .kubectl(&["delete", "installplans", "--all"])
        .await?;
    subscriber
        .subscribe("testing", Approval::Manual, Some("0.2.0"))
        .await?;
    subscriber.approve("0.3.0").await?;
    subscriber.succeeds("0.3.0").await?;
    subscriber.approve("0.4.0").await?;
    subscriber.succeeds("0.4.0").await?;
    // The head of `prod` is what runs, so it waits, and nothing is installed or removed.
    subscriber
        .subscribe("prod", Approval::Automatic, Some("0.2.0"))
        .await?;
    subscriber.is_at_the_head("prod").await?;
    subscriber.succeeds("0.4.0").await?;
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}

/// A namespace with the operator of a version, whose plans a person approves.
pub(crate) async fn begin(ground: &Ground, channel: &str, version: &str) -> Result<Subscriber> {
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

/// A cluster under a writing client.
struct Living {
    cluster: Cluster,
    standing: Standing,
    writer: Writer,
}

impl Living {
    async fn of(cluster: Cluster) -> Result<Self> {
        Ok(Self {
            standing: Standing::of(&cluster).await?,
            writer: Writer::start_trying(vec![cluster.client_address().await?], TRIES),
            cluster,
        })
    }

    /// Whether its clients and its members noticed nothing.
    async fn is_undisturbed(&self) -> Result<()> {
        let name = self.cluster.name();
        self.writer
            .goes_on(MORE_WRITES, Duration::from_secs(60))
            .await?;
        self.standing.is_kept(&self.cluster).await?;
        let restarts = restarts(&self.cluster).await?;
        ensure!(
            restarts == 0,
            "members of {name} were restarted {restarts} times"
        );
        Ok(())
    }

    async fn end(self) -> Result<Cluster> {
        let journal = self.writer.finish().await?;
        let (name, failed, all) = (self.cluster.name(), journal.failed, journal.len());
        ensure!(failed == 0, "{failed} of {all} writes to {name} failed");
        eprintln!(
            "{name}: {all} writes, the longest pause {:.1?}",
            journal.longest_pause
        );
        Ok(self.cluster)
    }
}

/// Approves one version after another and expects that the clusters do not notice.
async fn walk(ground: &Ground, subscriber: &Subscriber, versions: &[&str]) -> Result<()> {
    let mut clusters = Vec::new();
    for (name, mut wanted) in [
        ("living", spec::on_volumes(3)),
        ("second", spec::on_volumes(1)),
        ("third", spec::in_pods(1)),
    ] {
        // A share of the processors, so that an operator that compiles its module takes none from the members.
        wanted["pod"]["resources"] = json!({"requests": {"cpu": "300m"}});
        let size = wanted["size"].as_u64().context("it has a size")?;
        let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), name);
        cluster.create(wanted).await?;
        cluster.becomes_healthy(usize::try_from(size)?).await?;
        clusters.push(Living::of(cluster).await?);
    }
    for version in versions {
        let watch = gap::Watch::start(ground.testbed.client(), subscriber.namespace());
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
        for living in &clusters {
            let noticed = living.is_undisturbed().await;
            noticed.with_context(|| format!("in the upgrade to {version}"))?;
        }
        let gaps = watch.end().await?;
        let gap = gaps.iter().max().context("nobody took over")?;
        eprintln!(
            "operator_decision_gap_s {:.1} to {version}",
            gap.as_secs_f32()
        );
    }
    for living in clusters {
        // The successor looks after them: a changed size is followed.
        let cluster = living.end().await?;
        cluster.resize(1).await?;
        cluster.becomes_healthy(1).await?;
        cluster.delete().await?;
    }
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
