//! Clusters that live through upgrades of their operator, each under a writing client.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tests::olm::Subscriber;
use tests::scenario::{Cluster, spec};

use crate::Ground;
use crate::gap;
use crate::standing::Standing;
use crate::writer::Writer;

/// What a client tries before it gives up: a busy machine may make the members elect a leader anew.
pub(crate) const TRIES: u32 = 3;
/// Writes that must still come through after an upgrade.
const MORE_WRITES: u64 = 50;

/// A cluster under a writing client.
pub(crate) struct Living {
    cluster: Cluster,
    standing: Standing,
    writer: Writer,
}

impl Living {
    /// Begins to write to a healthy cluster.
    pub(crate) async fn of(cluster: Cluster) -> Result<Self> {
        Ok(Self {
            standing: Standing::of(&cluster).await?,
            writer: Writer::start_trying(vec![cluster.client_address().await?], TRIES),
            cluster,
        })
    }

    /// Three clusters, healthy and written to.
    pub(crate) async fn three(ground: &Ground, subscriber: &Subscriber) -> Result<Vec<Self>> {
        let mut all = Vec::new();
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
            all.push(Self::of(cluster).await?);
        }
        Ok(all)
    }

    /// Whether its clients and its members noticed nothing.
    pub(crate) async fn is_undisturbed(&self) -> Result<()> {
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

    /// Grows to three members under the client: etcd lets a new member that got a snapshot serve with the next write only.
    pub(crate) async fn grown(self) -> Result<Self> {
        self.cluster.resize(3).await?;
        self.cluster.becomes_healthy(3).await?;
        Ok(self)
    }

    /// Ends the client, none of whose writes may have failed.
    pub(crate) async fn end(self) -> Result<Cluster> {
        let journal = self.writer.finish().await?;
        let (name, failed, all) = (self.cluster.name(), journal.failed, journal.len());
        ensure!(failed == 0, "{failed} of {all} writes to {name} failed");
        eprintln!(
            "{name}: {all} writes, the longest pause {:.1?}",
            journal.longest_pause
        );
        Ok(self.cluster)
    }

    /// Ends the client; the operator follows another size of the cluster, which then goes.
    pub(crate) async fn looked_after_to_its_end(self) -> Result<()> {
        let cluster = self.end().await?;
        cluster.resize(1).await?;
        cluster.becomes_healthy(1).await?;
        cluster.delete().await
    }
}

/// Approves a version and expects that the clusters do not notice.
pub(crate) async fn upgrade(
    ground: &Ground,
    subscriber: &Subscriber,
    version: &str,
    clusters: &[Living],
) -> Result<()> {
    let watch = gap::Watch::start(ground.testbed.client(), subscriber.namespace());
    let started = Instant::now();
    subscriber.approve(version).await?;
    subscriber.succeeds(version).await?;
    eprintln!(
        "olm_upgrade_s {:.1} to {version}",
        started.elapsed().as_secs_f32()
    );
    runs(ground, subscriber, version).await?;
    for living in clusters {
        let noticed = living.is_undisturbed().await;
        noticed.with_context(|| format!("in the upgrade to {version}"))?;
    }
    let gaps = watch.end().await?;
    let gap = gaps.iter().max().context("nobody took over")?;
    eprintln!(
        "operator_decision_gap_s {:.1} to {version}",
        gap.as_secs_f32()
    );
    Ok(())
}

/// Whether the operator runs the image of a version.
pub(crate) async fn runs(ground: &Ground, subscriber: &Subscriber, version: &str) -> Result<()> {
    let wanted = &ground.publication.release(version)?.release.image;
    let deployment = subscriber.deployment().await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    ensure!(
        container["image"] == wanted.as_str(),
        "{version} runs {}",
        container["image"]
    );
    Ok(())
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
