//! What the operator asks of the API server while a healthy cluster is at rest: counted on the way.

use std::time::Duration;

use anyhow::Result;
use tests::scenario::{Operator, Scenario, spec};
use tokio::time::sleep;

use crate::figure::{Aim, Figure};
use crate::gate::{kubeconfig, operators_client};
use crate::part::Bench;
use crate::proxy::{Proxy, is_write};
use crate::sight;

/// How long a cluster at rest is looked at: a minute, because the figures are by the minute.
const LOOK: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(60);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let scenario = Scenario::prepare(&bench.suite, "writes").await?;
    let proxy = Proxy::start(operators_client(&scenario).await?).await?;
    let kubeconfig = kubeconfig(&scenario, &proxy.gate.endpoint())?;
    let programs = &bench.suite.programs;
    let operator = Operator::start(
        &programs.program,
        &programs.module,
        scenario.namespace(),
        &kubeconfig,
        scenario.folder(),
    )
    .await?;
    operator.leads(START).await?;
    let cluster = scenario
        .create_healthy("quiet", spec::on_volumes(3))
        .await?;
    sight::rest(&cluster, 3).await?;
    proxy.take();
    sleep(LOOK).await;
    let asked = proxy.take();
    cluster.is_healthy(3).await?;
    cluster.delete().await?;
    operator.stop().await?;

    let (mut writes, mut lease, mut reads) = (0, 0, 0);
    for ((method, resource), count) in &asked {
        eprintln!("  {method} {resource}: {count} in {} s", LOOK.as_secs());
        *match (is_write(method), resource.as_str()) {
            (true, "leases") => &mut lease,
            (true, _) => &mut writes,
            (false, _) => &mut reads,
        } += count;
    }
    let figure = |name, count| Figure::median(name, "requests", vec![f64::from(count)]);
    Ok(vec![
        figure("api_writes_at_rest_per_min", writes).aiming_at(Aim::AtMost(0.0)),
        figure("lease_writes_per_min", lease),
        figure("api_reads_at_rest_per_min", reads),
    ])
}
