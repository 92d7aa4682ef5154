//! Clusters beside the archived operator, which says by a ConfigMap that it is at work.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tests::scenario::Scenario;
use tests::testbed::wait;
use tokio::time::Instant;

use super::theirs::{PEERS, Theirs};
use super::{OF_THE_FINAL_STATE, PATIENCE};

/// Of v0.2.0, and of the final state.
pub(super) const LOCKS: [&str; 2] = [
    "controller-leader-election-helper",
    "etcd-cluster-operator-controller-leader-election-helper",
];
pub(super) const HOLDER: &str = "eco-controller-manager-6d5f7c9b8-x2x4k_0b8f";
/// How long each lock is seen to be renewed.
pub(super) const AT_WORK: Duration = Duration::from_secs(8);

/// Nothing is made while either lock is renewed, and the cluster is born once nobody renews it.
pub(super) async fn held_off(scenario: &mut Scenario) -> Result<()> {
    renew(scenario, LOCKS[0]).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    for lock in LOCKS {
        let began = Instant::now();
        while began.elapsed() < AT_WORK {
            renew(scenario, lock).await?;
            let words = [HOLDER, "deployment eco-controller-manager --replicas=0"];
            cluster.tells(&words).await?;
            for kind in ["pods", "pvc", PEERS] {
                let made = cluster.labelled(kind).await?;
                ensure!(made.is_empty(), "beside {lock} were made: {made:?}");
            }
        }
        // The one before it counts as renewed for a while.
        let named = format!("/{lock})");
        wait::until("the name of the lock", PATIENCE, async || {
            renew(scenario, lock).await?;
            let told = cluster.status().await?["conditions"].to_string();
            ensure!(told.contains(&named), "{told}");
            Ok(())
        })
        .await?;
    }
    cluster.becomes_healthy(1).await
}

pub(super) async fn renew(scenario: &Scenario, lock: &str) -> Result<()> {
    let now = k8s_openapi::jiff::Timestamp::now();
    let record = json!({
        "holderIdentity": HOLDER, "leaseDurationSeconds": 15, "acquireTime": "2020-05-07T09:00:00Z",
        "renewTime": now.to_string(), "leaderTransitions": 1,
    });
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": lock,
            "annotations": {"control-plane.alpha.kubernetes.io/leader": record.to_string()},
        },
    });
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], &object.to_string())
        .await
        .map(drop)
}
