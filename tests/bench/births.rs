//! A cluster of three from apply to three healthy voters, without TLS and with the operator's own, and the loss of one of
//! its pods: beside the yardstick, in turns.
//!
//! Both keep their data on volume claims.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tokio::time::Instant;

use crate::figure::{Aim, Figure};
use crate::part::Bench;
use crate::{sight, yardstick};

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "births").await?;
    let (mut births, mut yard_births) = (Vec::new(), Vec::new());
    let (mut deaths, mut yard_deaths) = (Vec::new(), Vec::new());
    let mut secure_births = Vec::new();
    for number in 0..bench.samples {
        let yard = format!("yard-{number}");
        yard_births.push(yardstick::ready(&scenario, &yard).await?.as_secs_f64());
        yard_deaths.push(
            lose_pod(&scenario, &scenario.cluster(&yard), &yardstick::pods(&yard))
                .await?
                .as_secs_f64(),
        );
        yardstick::remove(&scenario, &yard).await?;

        let mut secure = spec::on_volumes(3);
        secure["TLS"] = json!({"auto": {}});
        let cluster = scenario.cluster(&format!("secure-{number}"));
        secure_births.push(birth(&cluster, secure).await?.as_secs_f64());
        cluster.delete().await?;

        let cluster = scenario.cluster(&format!("born-{number}"));
        let plain = spec::on_volumes(3);
        births.push(birth(&cluster, plain).await?.as_secs_f64());
        cluster.becomes_healthy(3).await?;
        let members = cluster.member_names().await?;
        deaths.push(lose_pod(&scenario, &cluster, &members).await?.as_secs_f64());
        cluster.becomes_healthy(3).await?;
        cluster.delete().await?;
    }
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::ratio("ready_3_ratio", births, yard_births.clone()).aiming_at(Aim::AtMost(1.2)),
        Figure::ratio("tls_ready_3_ratio", secure_births, yard_births),
        Figure::ratio("pod_deleted_ratio", deaths, yard_deaths).aiming_at(Aim::AtMost(1.2)),
    ])
}

/// Creates the cluster and waits for three healthy voters.
async fn birth(cluster: &Cluster, spec: Value) -> Result<Duration> {
    let began = Instant::now();
    cluster.create(spec).await?;
    let formed = sight::of_healthy(cluster, 3, |_| Ok(())).await?;
    Ok(formed - began)
}

/// Deletes the pod of a follower: a leader's loss would measure an election as well.
async fn lose_pod(scenario: &Scenario, cluster: &Cluster, members: &[String]) -> Result<Duration> {
    for member in members {
        if !cluster.etcd_of(member).leads().await? {
            return sight::of_successor(scenario, member).await;
        }
    }
    None.context("no member follows")
}
