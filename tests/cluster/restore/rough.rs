//! Restores by a way that is bad, and of backups that bring trouble along: a used up quota, and users.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::tools::{ETCD_VERSION, Tool};
use tests::testbed::wait;
use tokio::process::Command;

use super::{PATIENCE, back_up, holds, status, succeeded, told, wish};
use crate::backup::{KEY, apply, fill};
use crate::minio::MinIo;
use crate::unruly::{Mood, Unruly};

/// Values of a MiB: more than one piece of a download.
const VALUES: usize = 12;
/// root and its password, as `--user` takes them.
const ROOT: &str = "root:of-a-test";

/// Of a store that cuts downloads, answers 503 or is slow, the backup is waited for with the cause; and so it is by members
/// that are to be filled. No half of it becomes a member.
pub(crate) async fn bad_way(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    let hands = Unruly::before(scenario, &store).await?;
    apply(scenario, &store.secret("aws")).await?;
    let source = scenario
        .create_healthy("source", spec::on_volumes(1))
        .await?;
    fill(&source, VALUES).await?;
    back_up(scenario, &store, &source).await?;
    let mut block = store.block(KEY, "aws");
    block["endpoint"] = json!(hands.endpoint());

    hands.becomes(Mood::Refuses);
    apply(scenario, &wish("anew", "anew", block)).await?;
    let said = says(scenario, "anew", "the store failed").await?;
    eprintln!("{said}");
    hands.becomes(Mood::CutsDownloads);
    wait::until("a download that was cut", PATIENCE, async || {
        ensure!(hands.hurt() > 2, "{} messages were cut", hands.hurt());
        let status = status(scenario, "anew").await?;
        ensure!(status.proof.is_none(), "half of it is proven");
        Ok(())
    })
    .await?;
    hands.becomes(Mood::Slow(4 << 20));
    holds(scenario, "anew", "does not exist").await?;

    hands.becomes(Mood::CutsDownloads);
    let cluster = scenario.create("anew", spec::on_volumes(3)).await?;
    let words = ["EtcdRestore anew", "It ended with", "delete etcdrestore"];
    cluster.becomes_blocked("Restoring", &words).await?;
    ensure!(hands.hurt() > 2, "{} messages were cut", hands.hurt());
    hands.becomes(Mood::Calm);
    succeeded(scenario, "anew").await?;
    cluster.becomes_healthy(3).await?;
    let etcd = cluster.etcd().await?;
    for number in 0..VALUES {
        let value = etcd.get(&format!("kept/{number}")).await?;
        ensure!(value.len() == 1 << 20, "{} bytes are left", value.len());
    }
    Ok(())
}

/// What an etcd knows of users and of its used up quota is restored with its keys: both are told, and neither is for ever.
pub(crate) async fn with_trouble(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let mut small = spec::on_volumes(1);
    small["pod"]["etcdEnv"] = json!([{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "8388608"}]);
    let source = scenario.create_healthy("source", small).await?;
    let refused = fill(&source, 100).await.err();
    let refused = refused.context("etcd took everything")?.to_string();
    ensure!(refused.contains("space"), "it says {refused}");
    back_up(scenario, &store, &source).await?;
    apply(scenario, &wish("full", "full", store.block(KEY, "aws"))).await?;
    let cluster = scenario.create("full", spec::on_volumes(3)).await?;
    succeeded(scenario, "full").await?;
    cluster.becomes_healthy(3).await?;
    wait::until("a write after NOSPACE", PATIENCE, async || {
        cluster.etcd().await?.put("later", "yes").await
    })
    .await?;
    cluster.delete().await?;
    source.delete().await?;

    let source = scenario
        .create_healthy("locked", spec::on_volumes(1))
        .await?;
    source.etcd().await?.put("kept", "yes").await?;
    let member = source.leader().await?;
    etcdctl(scenario, &member, &["user", "add", ROOT]).await?;
    etcdctl(scenario, &member, &["user", "grant-role", "root", "root"]).await?;
    etcdctl(scenario, &member, &["auth", "enable"]).await?;
    let file = save(scenario, &source).await?;
    store.bucket()?.write("locked", file).await?;
    apply(
        scenario,
        &wish("users", "users", store.block("locked", "aws")),
    )
    .await?;
    let cluster = scenario.create("users", spec::on_volumes(3)).await?;
    let words = ["user name is empty", "auth disable"];
    cluster.becomes_blocked("MembersUnknown", &words).await?;
    eprintln!("{}", told(&status(scenario, "users").await?));
    let founders = cluster
        .status()
        .await?
        .restoration
        .context("no plan")?
        .founders;
    let founder = founders.first().context("no founder")?;
    // Two of three are enough for the condition, and the first may be the third to start.
    wait::until("users to be let go", PATIENCE, async || {
        etcdctl(scenario, founder, &["auth", "disable", "--user", ROOT]).await
    })
    .await?;
    succeeded(scenario, "users").await?;
    cluster.becomes_healthy(3).await?;
    let kept = cluster.etcd().await?.get("kept").await?;
    ensure!(kept == "yes", "the key is {kept:?}");
    Ok(())
}

/// Waits until its conditions have these words.
async fn says(scenario: &Scenario, name: &str, words: &str) -> Result<String> {
    wait::until(
        format!("restore {name} to say {words:?}"),
        PATIENCE,
        async || {
            let told = told(&status(scenario, name).await?);
            ensure!(told.contains(words), "{told}");
            Ok(told)
        },
    )
    .await
}

async fn etcdctl(scenario: &Scenario, member: &str, arguments: &[&str]) -> Result<String> {
    let exec = ["exec", member, "--", "etcdctl"];
    scenario.kubectl(&[&exec, arguments].concat()).await
}

/// A backup of an etcd that lets in its users alone, by hand.
async fn save(scenario: &Scenario, cluster: &Cluster) -> Result<Vec<u8>> {
    let file = scenario.folder().join("by-hand.db");
    let address = cluster.client_address().await?;
    let saved = Command::new(Tool::find("etcd", ETCD_VERSION)?.folder()?.join("etcdctl"))
        .args([&format!("--endpoints={address}"), "--user", ROOT])
        .args(["snapshot", "save"])
        .arg(&file)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&saved.stderr).into_owned();
    ensure!(saved.status.success(), "etcdctl: {said}");
    Ok(tokio::fs::read(file).await?)
}
