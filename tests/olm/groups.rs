//! OperatorGroups that cannot be: what OLM says of them, and that taking the mistake back is all it needs.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;

const PATIENCE: Duration = Duration::from_secs(180);

/// None, two in one namespace, and one whose namespace another installation serves.
pub(crate) async fn wrong(ground: &Ground) -> Result<()> {
    let first = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-group").await?;
    first.subscribe("prod", Approval::Automatic, None).await?;
    // Nothing says so: only that nothing comes of it.
    let told = wait::until(
        "the end of a look at the Subscription",
        PATIENCE,
        async || {
            let told = first
                .kubectl(&[
                    "get",
                    "subscription",
                    "binnacle",
                    "--output=jsonpath={.status.conditions}",
                ])
                .await?;
            ensure!(!told.is_empty(), "it has no conditions yet");
            Ok(told)
        },
    )
    .await?;
    let phases = first.phases().await?;
    ensure!(phases.is_empty(), "without a group there is {phases:?}");
    eprintln!("without a group: {told}");

    first.group(&[first.namespace()]).await?;
    first.succeeds("0.4.0").await?;
    let cluster = Cluster::new(ground.testbed.clone(), first.namespace(), "kept");
    cluster.create(spec::in_pods(1)).await?;
    cluster.becomes_healthy(1).await?;

    let another = json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "another", "namespace": first.namespace()},
        "spec": {"targetNamespaces": [first.namespace()]},
    });
    ground
        .kubectl
        .run_with_input(&["apply", "--filename", "-"], &another.to_string())
        .await?;
    fails(&first, "TooManyOperatorGroups").await?;
    first
        .kubectl(&["delete", "operatorgroup", "another"])
        .await?;
    first.succeeds("0.4.0").await?;

    let second = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-group").await?;
    second.group(&[first.namespace()]).await?;
    second.subscribe("prod", Approval::Automatic, None).await?;
    fails(&second, "InterOperatorGroupOwnerConflict").await?;
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;
    second.group(&[second.namespace()]).await?;
    second.succeeds("0.4.0").await?;
    second.uninstall().await?;
    cluster.delete().await?;
    first.uninstall().await
}

/// Waits until the release has failed for this reason.
async fn fails(subscriber: &Subscriber, reason: &str) -> Result<()> {
    wait::until(reason, PATIENCE, async || {
        let csv = subscriber
            .kubectl(&[
                "get",
                "clusterserviceversion",
                "binnacle.v0.4.0",
                "--output=json",
            ])
            .await?;
        let csv: Value = serde_json::from_str(&csv)?;
        let status = &csv["status"];
        let is_so = status["phase"] == "Failed" && status["reason"] == reason;
        ensure!(
            is_so,
            "it is {} for {}: {}",
            status["phase"],
            status["reason"],
            status["message"]
        );
        eprintln!("{reason}: {}", status["message"]);
        Ok(())
    })
    .await
}
