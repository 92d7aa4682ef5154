//! The node of the leader is cut off: for how long nobody's write is acknowledged, beside bare etcd's own election.
//!
//! The client writes to a member that stays. Where a write finds a way to some member is the client library's business.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use etcd_client::{Client, ConnectOptions};
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::{Node, wait};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::figure::Figure;
use crate::part::Bench;
use crate::yardstick;

const PATIENCE: Duration = Duration::from_secs(120);
/// Between two writes, and how long each has: so fine is what is measured.
const PACE: Duration = Duration::from_millis(10);
const GIVEN_UP: Duration = Duration::from_millis(100);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "losses").await?;
    let (mut gaps, mut yard_gaps) = (Vec::new(), Vec::new());
    for number in 0..bench.samples {
        let yard = format!("yard-{number}");
        yardstick::ready(&scenario, &yard).await?;
        let members = yardstick::pods(&yard);
        yard_gaps.push(lose(&scenario, &scenario.cluster(&yard), &members).await?);
        yardstick::remove(&scenario, &yard).await?;

        let mut apart = spec::on_volumes(3);
        apart["pod"]["antiAffinity"] = json!(true);
        let cluster = scenario
            .create_healthy(&format!("torn-{number}"), apart)
            .await?;
        let members = cluster.member_names().await?;
        gaps.push(lose(&scenario, &cluster, &members).await?);
        cluster.becomes_healthy(3).await?;
        cluster.delete().await?;
    }
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::median("node_loss_write_gap_ms", "ms", gaps).beside(yard_gaps),
    ])
}

/// Milliseconds between the last write before the cut and the first one after it. The node is back when this returns.
async fn lose(scenario: &Scenario, cluster: &Cluster, members: &[String]) -> Result<f64> {
    let mut nodes = BTreeSet::new();
    let (mut leader, mut survivor) = (None, None);
    for member in members {
        let spec = cluster.pod(member).await?.spec;
        let node = spec.and_then(|spec| spec.node_name);
        let node = node.with_context(|| format!("{member} is on no node"))?;
        if cluster.etcd_of(member).leads().await? {
            leader = Some(scenario.testbed().node(&node)?);
        } else {
            survivor = Some(member);
        }
        nodes.insert(node);
    }
    ensure!(nodes.len() == members.len(), "two share a node: {nodes:?}");
    let (leader, survivor) = (leader.context("no leader")?, survivor.context("no other")?);
    let address = scenario
        .testbed()
        .pod_address(scenario.namespace(), survivor)
        .await?;
    let writes = Writes::start(&format!("http://{address}:2379")).await?;
    let gap = cut(&leader, &writes).await;
    leader.mend().await?;
    leader.becomes(true, PATIENCE).await?;
    Ok(gap?.as_secs_f64() * 1_000.0)
}

/// An acknowledgement after the cut is that of another leader.
async fn cut(node: &Node, writes: &Writes) -> Result<Duration> {
    writes.since(Instant::now()).await?;
    let began = Instant::now();
    node.cut().await?;
    writes.since(Instant::now()).await?;
    Ok(writes.longest_pause_since(began))
}

/// Acknowledged writes of a client without patience, until dropped.
struct Writes {
    acknowledged: watch::Receiver<Vec<Instant>>,
    task: JoinHandle<()>,
}

impl Writes {
    async fn start(address: &str) -> Result<Self> {
        let options = ConnectOptions::new().with_connect_timeout(Duration::from_secs(2));
        let mut client = Client::connect([address], Some(options)).await?;
        let (tell, acknowledged) = watch::channel(Vec::new());
        let task = tokio::spawn(async move {
            let mut pace = tokio::time::interval(PACE);
            pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                pace.tick().await;
                if let Ok(Ok(_)) = timeout(GIVEN_UP, client.put("gap", "written", None)).await {
                    tell.send_modify(|all| all.push(Instant::now()));
                }
            }
        });
        Ok(Self { acknowledged, task })
    }

    /// Waits for ten writes that were acknowledged after this moment.
    async fn since(&self, moment: Instant) -> Result<()> {
        wait::until("acknowledged writes", PATIENCE, async || {
            let all = self.acknowledged.borrow();
            let after = all.iter().filter(|one| **one > moment).count();
            ensure!(after >= 10, "there are {after}");
            Ok(())
        })
        .await
    }

    /// The longest time without an acknowledgement from the last one before this moment on.
    fn longest_pause_since(&self, moment: Instant) -> Duration {
        let all = self.acknowledged.borrow();
        let first = all.partition_point(|one| *one < moment).saturating_sub(1);
        let pauses = all[first..].windows(2).map(|pair| pair[1] - pair[0]);
        pauses.max().unwrap_or_default()
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.task.abort();
    }
}
