//! Backups that are none, stores that refuse: words, and a cluster that is not touched.

use anyhow::{Result, ensure};
use contract::RestorePhase;
use serde_json::{Value, json};
use tests::scenario::{Children, Scenario, spec};

use super::{back_up, ended, holds, status, wish};
use crate::backup::{KEY, apply};
use crate::minio::{self, MinIo};

pub(crate) async fn bad_backups(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    apply(
        scenario,
        &minio::secret("wrong", "minio-user", "not-the-password"),
    )
    .await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    back_up(scenario, &store, &cluster).await?;
    let bucket = store.bucket()?;
    let whole = bucket.read(KEY).await?.to_vec();
    let mut flipped = whole.clone();
    flipped[5000] ^= 1;
    let cut = whole[..whole.len() - 1000].to_vec();
    let page = b"<html>not a backup</html>".repeat(1000);
    for (key, bytes) in [
        ("cut", cut),
        ("flipped", flipped),
        ("empty", Vec::new()),
        ("page", page),
    ] {
        bucket.write(key, bytes).await?;
    }
    let uids = Children::of(&cluster).await?.uids();
    let elsewhere = |path: &str| {
        let mut block = store.block("x", "aws");
        block["path"] = json!(path);
        block
    };
    let cases: [(&str, Value, &str); 7] = [
        ("cut", store.block("cut", "aws"), "cut short or damaged"),
        (
            "flipped",
            store.block("flipped", "aws"),
            "cut short or damaged",
        ),
        (
            "empty",
            store.block("empty", "aws"),
            "0 bytes are no snapshot",
        ),
        ("page", store.block("page", "aws"), "cut short or damaged"),
        (
            "absent",
            store.block("absent", "aws"),
            "the bucket has no object absent",
        ),
        ("bucketless", elsewhere("no-such-bucket/x"), "NoSuchBucket"),
        (
            "wrong",
            store.block(KEY, "wrong"),
            "refuses these credentials",
        ),
    ];
    for (name, block, _) in &cases {
        apply(scenario, &wish(name, "plain", block.clone())).await?;
    }
    for (name, _, words) in &cases {
        let status = ended(scenario, name).await?;
        ensure!(!status.succeeded, "{name} succeeded");
        ensure!(
            status.phase == RestorePhase::Failed && status.reason.contains(words),
            "{name} says: {}",
            status.reason
        );
        eprintln!("{name}: {}", status.reason);
    }

    // What may pass is waited for, without end.
    apply(
        scenario,
        &wish("secretless", "plain", store.block(KEY, "none")),
    )
    .await?;
    let waits = tests::testbed::wait::until(
        "the missing Secret to be told",
        super::PATIENCE,
        async || {
            let status = status(scenario, "secretless").await?;
            let words = super::told(&status);
            ensure!(words.contains("the Secret none does not exist"), "{words}");
            Ok(status)
        },
    )
    .await?;
    ensure!(!waits.is_over(), "it failed: {}", waits.reason);
    scenario
        .kubectl(&["delete", "etcdrestore", "secretless"])
        .await?;

    // A good backup of a living cluster is only asked about.
    apply(scenario, &wish("good", "plain", store.block(KEY, "aws"))).await?;
    holds(scenario, "good", "has a quorum").await?;
    ensure!(
        Children::of(&cluster).await?.uids() == uids,
        "something was touched"
    );
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "the data is gone"
    );
    let events = scenario.kubectl(&["get", "events"]).await?;
    ensure!(
        events.contains("RestoreFailed"),
        "no event tells of a failure"
    );
    cluster.is_healthy(1).await
}
