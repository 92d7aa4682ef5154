//! Growing and shrinking, from the change of `size` until that many voters are healthy.
//!
//! Each begins after a rest: etcd changes its member list only while a quorum has been connected for five seconds, which
//! is no time of the operator's.

use anyhow::{Result, ensure};
use tests::scenario::{Cluster, Scenario, spec};
use tokio::time::Instant;

use crate::figure::{Aim, Figure};
use crate::part::Bench;
use crate::sight;

pub(crate) async fn measure(bench: &mut Bench, samples: usize) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "sizes").await?;
    let (mut up, mut down, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..samples {
        let cluster = scenario
            .create_healthy(&format!("elastic-{number}"), spec::on_volumes(3))
            .await?;
        up.push(resize(&cluster, 3, 5).await?);
        down.push(resize(&cluster, 5, 3).await?);
        again.push(resize(&cluster, 3, 5).await?);
        cluster.delete().await?;
    }
    scenario.stop_operator().await?;
    bench.recorded = Some(scenario.folder().join("recordings"));
    Ok(vec![
        Figure::median("scale_3_to_5_s", "s", up).aiming_at(Aim::AtMost(5.0)),
        Figure::median("scale_5_to_3_s", "s", down).aiming_at(Aim::AtMost(3.0)),
        Figure::median("scale_3_to_5_again_s", "s", again).aiming_at(Aim::AtMost(5.0)),
    ])
}

/// Seconds, after a rest.
async fn resize(cluster: &Cluster, from: usize, to: i64) -> Result<f64> {
    sight::rest(cluster, from).await?;
    let began = Instant::now();
    cluster.resize(to).await?;
    let done = sight::of_healthy(cluster, to, |status| {
        ensure!(!sight::is_true(status, "Scaling"), "it is scaling");
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(usize::try_from(to)?).await?;
    Ok((done - began).as_secs_f64())
}
