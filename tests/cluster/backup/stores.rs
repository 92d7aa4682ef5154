//! Backups into the stores that are not Amazon's: the Secrets of old, and the same bytes back.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::http::Method;
use contract::EtcdBackupStatus;
use etcd_client::Client;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::tools::Tool;
use tests::testbed::{Progress, wait};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{KEY, apply, client_url, ended, is_that_file, manifest, succeeded};
use crate::emulators::Emulator;
use crate::tap::{Head, Tap};

/// On a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Azure's store, with the Secret of old, in several blocks.
pub(crate) async fn azure(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::azurite(scenario).await?;
    let status = Source::new(scenario, server.target(KEY), LARGE)
        .await?
        .taken("once")
        .await?;
    is_that_file(&server.fetch(KEY).await?, &status).await
}

/// Google's. Its test server takes no upload in parts, so the backup is a small one.
pub(crate) async fn google(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::gcs(scenario).await?;
    let status = Source::new(scenario, server.target(KEY), SMALL)
        .await?
        .taken("once")
        .await?;
    is_that_file(&server.fetch(KEY).await?, &status).await
}

/// Alibaba's. Its emulator looks at no signature, so each request's is compared with that of Alibaba's own SDK. Of an
/// object in parts it gives back the first one only, which must not pass for a backup.
pub(crate) async fn alibaba(scenario: &mut Scenario) -> Result<()> {
    let server = Emulator::oss(scenario).await?;
    let tap = Tap::start(scenario, &server.endpoint()).await?;
    let (kind, mut block, secret) = server.target(KEY);
    block["oss"]["endpoint"] = json!(tap.endpoint());
    let data = &secret["stringData"];
    let credentials = [&data["accessKeyID"], &data["accessKeySecret"]];
    let credentials = credentials.map(|text| text.as_str().unwrap_or_default().to_owned());
    let source = Source::new(scenario, (kind, block, secret), SMALL).await?;
    let status = source.taken("once").await?;
    is_that_file(&server.fetch(KEY).await?, &status).await?;

    source.fill(LARGE).await?;
    source.apply("large").await?;
    let lost = ended(source.scenario, "large").await?;
    ensure!(
        !lost.succeeded && lost.reason.contains("cannot be read back"),
        "what came back cut short ended as {lost:?}"
    );

    let heads = tap.take();
    let asked: Vec<Value> = heads.iter().map(unsigned).collect();
    let theirs = signed(&asked, &credentials).await?;
    ensure!(
        heads.len() == theirs.len(),
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
    for (method, query) in [
        (Method::PUT, ""),
        (Method::HEAD, ""),
        (Method::GET, ""),
        (Method::PUT, "partNumber"),
        (Method::POST, "uploadId"),
    ] {
        let is_such = |head: &Head| {
            head.method == method && head.uri.query().unwrap_or_default().contains(query)
        };
        ensure!(
            heads.iter().any(is_such),
            "no {method} {query} was compared"
        );
    }
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
async fn signed(requests: &[Value], credentials: &[String; 2]) -> Result<Vec<String>> {
    let folder = Tool::find("oss-sign", "3.0.2")?
        .ensure(&Progress::silent())
        .await?;
    let mut signer = Command::new(folder.join("oss-sign"))
        .args(credentials)
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

/// Values of a MiB that are less, and more, than one piece of an upload.
pub(crate) const SMALL: usize = 1;
pub(crate) const LARGE: usize = 10;

/// A cluster with data, and where its backups go.
pub(crate) struct Source<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) cluster: Cluster,
    kind: &'static str,
    block: Value,
}

impl<'a> Source<'a> {
    pub(crate) async fn new(
        scenario: &'a Scenario,
        (kind, block, secret): (&'static str, Value, Value),
        values: usize,
    ) -> Result<Self> {
        apply(scenario, &secret).await?;
        let cluster = scenario
            .create_healthy("plain", spec::on_volumes(1))
            .await?;
        let source = Self {
            scenario,
            cluster,
            kind,
            block,
        };
        source.fill(values).await?;
        Ok(source)
    }

    async fn fill(&self, values: usize) -> Result<()> {
        let address = self.cluster.client_address().await?;
        let mut etcd = Client::connect([address], None).await?;
        // Nodes hear of a Service a moment after the API server has it.
        wait::until("the client Service", PATIENCE, async || {
            Ok(etcd.clone().status().await.map(drop)?)
        })
        .await?;
        for number in 0..values {
            etcd.put(format!("kept/{number}"), vec![b'x'; 1 << 20], None)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn apply(&self, name: &str) -> Result<()> {
        let mut wanted = manifest(name, &client_url("http", &self.cluster), Value::Null);
        let asked = wanted["spec"].as_object_mut().context("no spec")?;
        asked.remove("s3");
        asked.insert("storageType".to_owned(), json!(self.kind));
        asked.insert("backupPolicy".to_owned(), json!({"timeoutInSecond": 15}));
        asked.extend(self.block.as_object().cloned().unwrap_or_default());
        apply(self.scenario, &wanted).await
    }

    pub(crate) async fn taken(&self, name: &str) -> Result<EtcdBackupStatus> {
        self.apply(name).await?;
        succeeded(self.scenario, name).await
    }
}
