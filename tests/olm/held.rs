//! An upgrade that waits until no cluster is in mid-change, and goes on by itself.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::olm::{NEWER_FIELD, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;
use crate::edges::begin;

const PATIENCE: Duration = Duration::from_secs(180);

const DEFINITION: &str = "etcdclusters.etcd.database.coreos.com";

/// A cluster that is being born and finds no node holds the next release up. Its definitions come all the same, and the older
/// operator works under them. Once the cluster has its node and the change is finished, OLM goes on without a word.
pub(crate) async fn held(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.2.0").await?;
    let cluster = |name: &str| Cluster::new(ground.testbed.clone(), subscriber.namespace(), name);
    let steady = cluster("steady");
    steady.create(spec::in_pods(1)).await?;
    steady.becomes_healthy(1).await?;
    let unborn = cluster("unborn");
    let label = format!("held/{}", subscriber.namespace());
    unborn
        .create(json!({"size": 1, "pod": {"nodeSelector": {&label: "yes"}}}))
        .await?;
    let words = format!("In mid-change: {}/unborn", subscriber.namespace());
    upgradeable(&subscriber, "0.2.0", "False", &words).await?;
    ensure!(
        !knows_the_newer_field(ground).await?,
        "the definitions are newer already"
    );

    subscriber.approve("0.3.0").await?;
    let why = is_held(&subscriber, "0.3.0").await?;
    eprintln!("held: {why}");
    ensure!(why.contains("unborn"), "it does not say for whom: {why}");
    ensure!(
        knows_the_newer_field(ground).await?,
        "the definitions did not come"
    );
    // Who is held works on under them, also where a field is used that it does not know.
    steady.edit(json!({"size": 3, NEWER_FIELD: "kept"})).await?;
    steady.becomes_healthy(3).await?;
    let newer = cluster("newer");
    let mut wanted = spec::in_pods(1);
    wanted[NEWER_FIELD] = json!("kept");
    newer.create(wanted).await?;
    newer.becomes_healthy(1).await?;
    for one in [&steady, &newer] {
        let stored = one.resource().await?;
        let kept = &stored.data["spec"][NEWER_FIELD];
        ensure!(kept == "kept", "{} has {kept} left of it", one.name());
    }
    is_held(&subscriber, "0.3.0").await?;

    let nodes = ground
        .kubectl
        .run(&[
            "get",
            "nodes",
            "--output=jsonpath={.items[0].metadata.name}",
        ])
        .await?;
    let yes = format!("{label}=yes");
    ground.kubectl.run(&["label", "node", &nodes, &yes]).await?;
    let freed = Instant::now();
    unborn.becomes_healthy(1).await?;
    eprintln!(
        "the change was finished after {:.1} s",
        freed.elapsed().as_secs_f32()
    );
    subscriber.succeeds("0.3.0").await?;
    eprintln!("it went on within {:.1} s", freed.elapsed().as_secs_f32());
    let words = "No cluster is in mid-change";
    upgradeable(&subscriber, "0.3.0", "True", words).await?;
    for one in [steady, unborn, newer] {
        one.delete().await?;
    }
    let no = format!("{label}-");
    ground.kubectl.run(&["label", "node", &nodes, &no]).await?;
    subscriber.uninstall().await
}

/// Whether the stored definition is that of the third release or a later one.
async fn knows_the_newer_field(ground: &Ground) -> Result<bool> {
    let path = format!(
        "--output=jsonpath={{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.{NEWER_FIELD}}}"
    );
    let show = ["get", "customresourcedefinition", DEFINITION, &path];
    Ok(!ground.kubectl.run(&show).await?.is_empty())
}

/// Waits until OLM says that the release waits for the operator's consent, and answers in which words.
async fn is_held(subscriber: &Subscriber, version: &str) -> Result<String> {
    let name = format!("binnacle.v{version}");
    wait::until(format!("{name} being held"), PATIENCE, async || {
        let phases = subscriber.phases().await?;
        let phase = phases.get(&name).map(String::as_str);
        ensure!(phase == Some("Pending"), "CSVs are {phases:?}");
        let csv = subscriber
            .kubectl(&["get", "clusterserviceversion", &name, "--output=json"])
            .await?;
        let csv: Value = serde_json::from_str(&csv)?;
        let status = &csv["status"];
        ensure!(
            status["reason"] == "OperatorConditionNotUpgradeable",
            "it says {} {}",
            status["reason"],
            status["message"]
        );
        Ok(status["message"].as_str().unwrap_or_default().to_owned())
    })
    .await
}

/// Waits until the OperatorCondition of a version says so.
async fn upgradeable(
    subscriber: &Subscriber,
    version: &str,
    wanted: &str,
    words: &str,
) -> Result<()> {
    let name = format!("binnacle.v{version}");
    wait::until(
        format!("Upgradeable={wanted} of {name}"),
        PATIENCE,
        async || {
            let found = subscriber
                .kubectl(&["get", "operatorcondition", &name, "--output=json"])
                .await?;
            let found: Value = serde_json::from_str(&found)?;
            let conditions = found["spec"]["conditions"].as_array();
            let told = conditions
                .and_then(|all| all.iter().find(|one| one["type"] == "Upgradeable"))
                .context("nothing was told yet")?;
            let message = told["message"].as_str().unwrap_or_default();
            let is_so = told["status"] == wanted && message.contains(words);
            ensure!(is_so, "it says {told}");
            Ok(())
        },
    )
    .await
}
