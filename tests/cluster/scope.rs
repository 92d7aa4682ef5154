//! Which namespaces and which clusters in them an operator serves.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

const PATIENCE: Duration = Duration::from_secs(60);

/// Beside the operator of this namespace runs one of all namespaces, as the archived operator was run.
pub(crate) async fn cluster_wide(scenario: &mut Scenario) -> Result<()> {
    let wide = scenario.cluster("wide");
    scenario
        .kubectl_with_input(&["create", "--filename", "-"], &scoped("wide").to_string())
        .await?;
    let words = "leaves what has the annotation etcd.database.coreos.com/scope";
    wide.awaits_event("Warning", "NotServed", words).await?;
    is_untouched(&wide).await?;

    let home = Scenario::prepare(scenario.suite(), "of-all").await?;
    let of_all = home.operator_serving(&["-cluster-wide"]).await?;
    wide.becomes_healthy(1).await?;
    let narrow = scenario
        .create_healthy("narrow", spec::on_volumes(1))
        .await?;
    narrow
        .awaits_event("Warning", "NotServed", "runs with -cluster-wide")
        .await?;
    // Two that take one backup would take it twice.
    scenario
        .kubectl_with_input(&["create", "--filename", "-"], &backup("copy").to_string())
        .await?;
    wait::until("a word on the backup", PATIENCE, async || {
        let words = "--field-selector=reason=NotServed,involvedObject.kind=EtcdBackup";
        let told = scenario.kubectl(&["get", "events", words]).await?;
        ensure!(told.contains("runs with -cluster-wide"), "{told}");
        Ok(())
    })
    .await?;
    of_all.stop().await
}

/// One operator, two namespaces by name, and a third that is none of its business.
pub(crate) async fn several_namespaces(scenario: &mut Scenario) -> Result<()> {
    let (second, third) = (
        Scenario::prepare(scenario.suite(), "second").await?,
        Scenario::prepare(scenario.suite(), "third").await?,
    );
    scenario.stop_operator().await?;
    let both = format!("{},{}", scenario.namespace(), second.namespace());
    let operator = scenario
        .operator_serving(&["--watch-namespace", &both])
        .await?;
    let elsewhere = third.create("served", spec::on_volumes(1)).await?;
    for ground in [&*scenario, &second] {
        let cluster = ground.create_healthy("served", spec::on_volumes(1)).await?;
        cluster
            .etcd()
            .await?
            .put("here", ground.namespace())
            .await?;
    }
    is_untouched(&elsewhere).await?;
    operator.stop().await
}

async fn is_untouched(cluster: &Cluster) -> Result<()> {
    let children = Children::of(cluster).await?.uids();
    ensure!(children.is_empty(), "it has {children:?}");
    let resource = cluster.resource().await?;
    let status = resource.data.get("status");
    ensure!(status.is_none(), "its status is {status:?}");
    Ok(())
}

fn backup(name: &str) -> Value {
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdBackup",
        "metadata": {"name": name},
        "spec": {
            "etcdEndpoints": ["http://127.0.0.1:1"],
            "storageType": "S3",
            "s3": {"path": "backups/copy", "awsSecret": "absent"},
        },
    })
}

fn scoped(name: &str) -> Value {
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {"name": name, "annotations": {"etcd.database.coreos.com/scope": "clusterwide"}},
        "spec": spec::on_volumes(1),
    })
}
