//! Backups into the stores that are not Amazon's: the Secrets of old, and the same bytes back.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use axum::http::Method;
use contract::EtcdBackupStatus;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::Progress;
use tests::testbed::tools::Tool;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{KEY, apply, client_url, is_that_file, manifest, succeeded};
use crate::emulators::Emulator;
use crate::tap::{Head, Tap};

/// Azure's store, with the Secret of old.
pub(crate) async fn azure(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::azurite(scenario).await?;
    into(scenario, &server).await
}

/// Google's.
pub(crate) async fn google(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::gcs(scenario).await?;
    into(scenario, &server).await
}

/// Alibaba's. Its emulator looks at no signature, so each request's is compared with that of Alibaba's own SDK.
pub(crate) async fn alibaba(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::oss(scenario).await?;
    let tap = Tap::start(scenario, &server.endpoint()).await?;
    let (kind, mut block, secret) = server.target(KEY);
    block["oss"]["endpoint"] = json!(tap.endpoint());
    let (id, key) = (
        &secret["stringData"]["accessKeyID"],
        &secret["stringData"]["accessKeySecret"],
    );
    let credentials = [id, key].map(|text| text.as_str().unwrap_or_default());
    let status = taken(scenario, kind, &block, &secret).await?;
    is_that_file(&server.fetch(KEY).await?, &status).await?;

    let heads = tap.take();
    let asked: Vec<Value> = heads.iter().map(unsigned).collect();
    let theirs = signed(&asked, credentials).await?;
    ensure!(
        heads.len() == theirs.len() && heads.len() >= 3,
        "{} requests, {} signed",
        heads.len(),
        theirs.len()
    );
    for (head, theirs) in heads.iter().zip(&theirs) {
        let ours = head.headers.get("authorization");
        ensure!(
            ours == Some(theirs),
            "{} {}: ours is {ours:?}, the SDK's {theirs}",
            head.method,
            head.uri
        );
    }
    let has = |method: &Method, query: &str| {
        heads.iter().any(|head| {
            head.method == method && head.uri.query().unwrap_or_default().contains(query)
        })
    };
    ensure!(
        has(&Method::PUT, "partNumber") && has(&Method::POST, "uploadId"),
        "the backup was not stored in parts"
    );
    Ok(())
}

/// A request as Alibaba's SDK is asked for it.
fn unsigned(head: &Head) -> Value {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let path = head.uri.path().trim_start_matches('/');
    let (bucket, object) = path.split_once('/').unwrap_or((path, ""));
    let params: BTreeMap<String, String> = head
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let is_signed = |name: &str| {
        name.starts_with("x-oss-") || ["date", "content-type", "content-md5"].contains(&name)
    };
    let headers: BTreeMap<_, _> = head
        .headers
        .iter()
        .filter(|(name, _)| is_signed(name))
        .collect();
    json!({
        "method": head.method.as_str(), "bucket": bucket, "object": decoded(object),
        "params": params, "headers": headers,
    })
}

/// What Alibaba's SDK signs for these requests.
async fn signed(requests: &[Value], [id, secret]: [&str; 2]) -> Result<Vec<String>> {
    let folder = Tool::find("oss-sign", "3.0.2")?
        .ensure(&Progress::silent())
        .await?;
    let mut signer = Command::new(folder.join("oss-sign"))
        .args([id, secret])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = signer.stdin.take().context("no standard input")?;
    input.write_all(&serde_json::to_vec(requests)?).await?;
    drop(input);
    let output = signer.wait_with_output().await?;
    ensure!(
        output.status.success(),
        "oss-sign ended with {}",
        output.status
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

async fn into(scenario: &mut Scenario, server: &Emulator) -> Result<()> {
    let (kind, block, secret) = server.target(KEY);
    let status = taken(scenario, kind, &block, &secret).await?;
    is_that_file(&server.fetch(KEY).await?, &status).await
}

/// Backs a cluster up whose data is more than one piece of an upload.
async fn taken(
    scenario: &mut Scenario,
    kind: &str,
    block: &Value,
    secret: &Value,
) -> Result<EtcdBackupStatus> {
    apply(scenario, secret).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    let etcd = cluster.etcd().await?;
    for number in 0..10 {
        etcd.put(&format!("kept/{number}"), &"x".repeat(1 << 20))
            .await?;
    }
    let mut wanted = manifest("once", &client_url("http", &cluster), Value::Null);
    let asked = wanted["spec"].as_object_mut().context("no spec")?;
    asked.remove("s3");
    asked.insert("storageType".to_owned(), json!(kind));
    asked.extend(block.as_object().cloned().unwrap_or_default());
    apply(scenario, &wanted).await?;
    succeeded(scenario, "once").await
}
