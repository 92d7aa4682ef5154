//! TLS turned on and off on a living cluster, under a client that writes.

use anyhow::{Result, ensure};
use contract::names;
use kube::ResourceExt;
use serde_json::json;
use tests::scenario::{ClientFiles, Cluster, Scenario, spec};
use tests::testbed::wait;

use super::{PATIENCE, ROLL, connect, made};
use crate::writer::Writer;

/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;

/// Waits until peers reach all members by this scheme, and all pods take clients as the annotation says.
async fn turns(cluster: &Cluster, scheme: &str, plain: Option<&str>) -> Result<()> {
    wait::until(format!("members by {scheme}"), ROLL, async || {
        for pod in cluster.pods().await? {
            let name = pod.name_any();
            let found = pod.annotations().get(names::PLAIN_ANNOTATION);
            ensure!(found.map(String::as_str) == plain, "{name} is {found:?}");
            let volumes = pod.spec.iter().flat_map(|spec| &spec.volumes).flatten();
            let secrets = volumes.filter(|volume| volume.secret.is_some()).count();
            let wanted = if scheme == "https" { 2 } else { 0 };
            ensure!(secrets == wanted, "{name} has {secrets} Secrets");
        }
        cluster.is_healthy(3).await?;
        for member in cluster.members().await? {
            let urls = member.peer_urls;
            let is_so = urls
                .iter()
                .all(|url| url.starts_with(&format!("{scheme}://")));
            ensure!(is_so, "{urls:?}");
        }
        Ok(())
    })
    .await
}

/// On and off again, while clients write and move over.
pub(crate) async fn turned(scenario: &mut Scenario) -> Result<()> {
    let plain = scenario
        .create_healthy("turned", spec::on_volumes(3))
        .await?;
    let before = plain.member_names().await?;
    let id = plain.etcd().await?.cluster_id().await?;
    let address = plain.client_address().await?;
    let writer = Writer::start_trying(vec![address.clone()], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    plain
        .edit(json!({"TLS": {"auto": {}, "plainClients": true}}))
        .await?;
    turns(&plain, "https", Some(names::PLAIN_CLIENTS)).await?;
    writer.goes_on(50, PATIENCE).await?;
    writer.finish_unfailed("TLS on").await?;

    let secure = address.replace("http:", "https:");
    let name = format!("turned-client.{}.svc", scenario.namespace());
    let (client, trusted) = made(scenario, "turned").await?;
    connect(&trusted, &secure, &name, Some(&client)).await?;
    plain.edit(json!({"TLS": {"plainClients": null}})).await?;
    let files = ClientFiles::write(scenario.folder(), &client)?;
    let cluster = plain.clone().with_client(files);
    turns(&cluster, "https", None).await?;
    let mut known = connect(&trusted, &secure, &name, Some(&client)).await?;
    known.put("greeting", "hello", None).await?;
    ensure!(
        plain.etcd().await?.get("greeting").await.is_err(),
        "a client without TLS got in"
    );

    plain.edit(json!({"TLS": {"plainClients": true}})).await?;
    turns(&cluster, "https", Some(names::PLAIN_CLIENTS)).await?;
    let writer = Writer::start_trying(vec![address], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    plain.edit(json!({"TLS": null})).await?;
    turns(&plain, "http", None).await?;
    writer.goes_on(50, PATIENCE).await?;
    writer.finish_unfailed("TLS off").await?;
    let etcd = plain.etcd().await?;
    ensure!(etcd.get("greeting").await? == "hello", "the write is gone");
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    let after = plain.member_names().await?;
    ensure!(after == before, "{before:?} became {after:?}");
    ensure!(plain.status().await?.tls.is_none(), "the status has TLS");
    Ok(())
}
