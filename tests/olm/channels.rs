//! From channel to channel, in a catalog that grows meanwhile.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tests::olm::{self, Approval, GROWING_CATALOG, Publication, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::{Progress, wait};

use crate::Ground;
use crate::living::{Living, runs};

const PATIENCE: Duration = Duration::from_secs(180);

/// Whoever runs a release of `testing` that is newer than all of `prod` waits there, and nothing says so; once `prod` has
/// something newer, OLM goes there by itself, and from there back into `testing`.
pub(crate) async fn there_and_back(ground: &Ground) -> Result<()> {
    let young = grown(ground, &["0.1.0", "0.2.0"], &["0.1.0"]).await?;
    olm::serve(&ground.kubectl, GROWING_CATALOG, &young.catalog).await?;
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-channels")
        .await?
        .of_catalog(GROWING_CATALOG);
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("testing", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.2.0").await?;
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "living");
    cluster.create(spec::on_volumes(3)).await?;
    cluster.becomes_healthy(3).await?;
    let living = Living::of(cluster).await?;

    let plans = subscriber.plans().await?.len();
    let looks = looks(ground, &subscriber).await?;
    subscriber
        .subscribe("prod", Approval::Automatic, None)
        .await?;
    wait::until("OLM's looks at the channel", PATIENCE, async || {
        let seen = self::looks(ground, &subscriber).await?;
        ensure!(seen >= looks + 3, "it looked {} times", seen - looks);
        Ok(())
    })
    .await?;
    subscriber.is_at_the_head("prod").await?;
    subscriber.succeeds("0.2.0").await?;
    let waits = subscriber.plans().await?;
    ensure!(waits.len() == plans, "there is a plan more: {waits:?}");
    eprintln!("it waits: {}", subscriber.told().await);

    // What a maintainer publishes later: 0.3.0 in both channels, 0.4.0 in `testing`.
    let older = grown(
        ground,
        &["0.1.0", "0.2.0", "0.3.0", "0.4.0"],
        &["0.1.0", "0.3.0"],
    )
    .await?;
    let image = json!({"spec": {"image": older.catalog}}).to_string();
    ground
        .kubectl
        .run(&[
            "--namespace",
            olm::NAMESPACE,
            "patch",
            "catalogsource",
            GROWING_CATALOG,
            "--type=merge",
            "--patch",
            &image,
        ])
        .await?;
    subscriber.succeeds("0.3.0").await?;
    runs(ground, &subscriber, "0.3.0").await?;
    living.is_undisturbed().await?;

    subscriber
        .subscribe("testing", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    runs(ground, &subscriber, "0.4.0").await?;
    living.is_undisturbed().await?;
    living.looked_after_to_its_end().await?;
    subscriber.uninstall().await
}

/// These of the releases that are published already, in a catalog of their own.
async fn grown(ground: &Ground, versions: &[&str], promoted: &[&str]) -> Result<Publication> {
    let progress = Progress::silent();
    let registry = ground.testbed.registry(&progress).await?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("olm-growing");
    ground
        .publication
        .again(&registry, versions, promoted, &folder, &progress)
        .await
}

/// How often OLM has resolved what this namespace subscribes to, as its events and log tell it.
async fn looks(ground: &Ground, subscriber: &Subscriber) -> Result<usize> {
    let log = ground
        .kubectl
        .run(&[
            "--namespace",
            olm::NAMESPACE,
            "logs",
            "deployment/catalog-operator",
        ])
        .await?;
    let ours = log
        .lines()
        .filter(|line| line.contains("resolving sources") && line.contains(subscriber.namespace()));
    Ok(ours.count())
}
