//! Every edge of both channels, each walked with three living clusters, each under a writing client.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;
use tests::olm::{Approval, DEPRECATED, Subscriber};

use crate::Ground;
use crate::living::{Living, runs, upgrade};

/// How long three upgrades in a row may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// From the first release to the head of `testing`, one by one. The first one is deprecated, which the Subscription says as
/// long as it runs.
pub(crate) async fn testing(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.1.0").await?;
    let (version, message) = DEPRECATED;
    let words = format!("olm.bundle/binnacle.v{version}: {message}");
    subscriber.is_told("BundleDeprecated", &words).await?;
    walk(ground, &subscriber, &["0.2.0", "0.3.0", "0.4.0"]).await
}

/// The same way by OLM alone, once the Subscription says so.
pub(crate) async fn automatic(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.1.0").await?;
    let clusters = Living::three(ground, &subscriber).await?;
    let started = Instant::now();
    subscriber
        .subscribe("testing", Approval::Automatic, Some("0.1.0"))
        .await?;
    subscriber.forget_plans().await?;
    subscriber.succeeds_within("0.4.0", PATIENCE).await?;
    eprintln!(
        "three upgrades by OLM alone took {:.1} s",
        started.elapsed().as_secs_f32()
    );
    runs(ground, &subscriber, "0.4.0").await?;
    let plans = subscriber.plans().await?;
    for version in ["0.2.0", "0.3.0", "0.4.0"] {
        let name = format!("binnacle.v{version}");
        let is_by_itself = |plan: &&Value| {
            let installs = plan["spec"]["clusterServiceVersionNames"].as_array();
            plan["spec"]["approval"] == "Automatic"
                && plan["status"]["phase"] == "Complete"
                && installs.is_some_and(|names| names.iter().any(|one| *one == name.as_str()))
        };
        ensure!(
            plans.iter().any(|plan| is_by_itself(&plan)),
            "no plan of OLM's own for {name} is among {plans:?}"
        );
    }
    for living in clusters {
        living.is_undisturbed().await?;
        living.looked_after_to_its_end().await?;
    }
    subscriber.uninstall().await
}

/// From the first release of `prod` to its head, past one that was never promoted.
pub(crate) async fn prod(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "prod", "0.2.0").await?;
    walk(ground, &subscriber, &["0.4.0"]).await
}

/// A release that was never promoted is left for the head of `prod` by its range.
pub(crate) async fn from_testing_to_prod(ground: &Ground) -> Result<()> {
    into_prod(ground, "0.3.0").await
}

/// The oldest release of all goes to the head of `prod` at once, past everything in between.
pub(crate) async fn at_once(ground: &Ground) -> Result<()> {
    into_prod(ground, "0.1.0").await
}

/// From a version of `testing` that `prod` does not have to the head of `prod`.
async fn into_prod(ground: &Ground, version: &str) -> Result<()> {
    let subscriber = begin(ground, "testing", version).await?;
    subscriber
        .subscribe("prod", Approval::Manual, Some(version))
        .await?;
    // A plan that waits keeps OLM from looking at the channel again; the documents say so, and in which order.
    subscriber.forget_plans().await?;
    walk(ground, &subscriber, &["0.4.0"]).await
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

/// Approves one version after another and expects that the clusters do not notice.
async fn walk(ground: &Ground, subscriber: &Subscriber, versions: &[&str]) -> Result<()> {
    let clusters = Living::three(ground, subscriber).await?;
    for version in versions {
        upgrade(ground, subscriber, version, &clusters).await?;
    }
    for living in clusters {
        living.looked_after_to_its_end().await?;
    }
    subscriber.uninstall().await
}
