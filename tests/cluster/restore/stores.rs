//! Clusters that are born from backups in the stores that are not Amazon's, with the Secrets of old.

use anyhow::{Result, ensure};
use contract::{GROUP, VERSION};
use etcd_client::{Client, GetResponse};
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::{PATIENCE, show, succeeded};
use crate::backup::{KEY, LARGE, SMALL, Source, apply};
use crate::emulators::Emulator;

/// Azure's, in several blocks.
pub(crate) async fn from_azure(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::azurite(scenario).await?;
    born(scenario, server.target(KEY), LARGE).await
}

/// Google's. Its test server takes no upload in parts, so the backup is a small one.
pub(crate) async fn from_google(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::gcs(scenario).await?;
    born(scenario, server.target(KEY), SMALL).await
}

/// Alibaba's, whose emulator gives back the first part of an object only, so the backup has one.
pub(crate) async fn from_alibaba(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::oss(scenario).await?;
    born(scenario, server.target(KEY), SMALL).await
}

/// A cluster is backed up, and another one is born from it and grows: the same keys with the same values.
pub(super) async fn born(
    scenario: &mut Scenario,
    (kind, block, secret): (&'static str, Value, Value),
    values: usize,
) -> Result<()> {
    scenario.load_operator().await?;
    let source = Source::new(scenario, (kind, block.clone(), secret), values).await?;
    source.taken("once").await?;
    let scenario = source.scenario;
    let mut wish = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdRestore",
        "metadata": {"name": "born"},
        "spec": {"etcdCluster": {"name": "born"}, "backupStorageType": kind},
    });
    if let (Some(spec), Some(block)) = (wish["spec"].as_object_mut(), block.as_object()) {
        spec.extend(block.clone());
    }
    apply(scenario, &wish).await?;
    let cluster = scenario.create("born", spec::on_volumes(3)).await?;
    succeeded(scenario, "born").await?;
    cluster.becomes_healthy(3).await?;
    let mut before = Client::connect([source.cluster.client_address().await?], None).await?;
    let address = cluster.client_address().await?;
    // A Service whose pods are only just ready may lead nowhere yet.
    let mut after = wait::until("an answer of what was born", PATIENCE, async || {
        let mut etcd = Client::connect([&address], None).await?;
        etcd.status().await?;
        Ok(etcd)
    })
    .await?;
    // One answer holds no more than 4 MiB.
    for key in (0..values).map(|number| format!("kept/{number}")) {
        let [before, after] = [
            before.get(key.as_str(), None).await?,
            after.get(key.as_str(), None).await?,
        ];
        let value = |answer: &GetResponse| answer.kvs().first().map(|pair| pair.value().to_vec());
        ensure!(
            value(&before).is_some() && value(&before) == value(&after),
            "{key} is another one"
        );
    }
    show(scenario, "born").await
}
