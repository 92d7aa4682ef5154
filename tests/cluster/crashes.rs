//! An operator that ends before and after every single thing it writes, through the life of a cluster.
//!
//! A gate before the API server keeps the first write of one life, and of the next life the answer to it; each time the
//! operator is killed then. What it asks of etcd lies between two writes: where the second of them is kept, the next life
//! begins with what etcd did and nobody noted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use kube::Client;
use serde_json::json;
use tests::scenario::{Cluster, Operator, Programs, Scenario, spec};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::gate::{Gate, HERE, forward, kubeconfig, operators_client};
use crate::upgrade::{load, of_version};
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
/// A stage of the cluster's life is over when it is healthy and nothing was written for so long.
const QUIET: Duration = Duration::from_secs(4);
/// More lives than any stage takes.
const LIVES: u32 = 300;

/// The way to the API server.
struct Way {
    kubeconfig: PathBuf,
    toll: Arc<Toll>,
}

/// What becomes of writes.
#[derive(Default)]
struct Toll {
    /// They get there; else they are kept.
    is_open: AtomicBool,
    /// One has come.
    came: Notify,
}

async fn pass_on(
    State((upstream, toll)): State<(Client, Arc<Toll>)>,
    request: Request,
) -> Response {
    let is_lease = request.uri().path().contains("/leases");
    if request.method() == Method::GET || is_lease {
        return forward(&upstream, request).await;
    }
    if toll.is_open.load(Ordering::SeqCst) {
        forward(&upstream, request).await;
    }
    toll.came.notify_one();
    // Nobody is told that it is done.
    std::future::pending().await
}

/// What is done in one life of the cluster: some 250 lives of the operator, or those in which a group differs from the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Birth, growing, shrinking, a lost disk, an upgrade.
    Whole,
    /// Birth and a lost disk.
    Short,
}

pub(crate) async fn around_each_write(scenario: &mut Scenario) -> Result<()> {
    live_through(scenario, Course::Whole).await
}

/// As [`around_each_write`], of the birth and of a lost disk alone.
pub(crate) async fn around_each_write_in_short(scenario: &mut Scenario) -> Result<()> {
    live_through(scenario, Course::Short).await
}

async fn live_through(scenario: &mut Scenario, course: Course) -> Result<()> {
    scenario.stop_operator().await?;
    let toll = Arc::new(Toll::default());
    let state = (operators_client(scenario).await?, Arc::clone(&toll));
    let gate = Gate::open(HERE, Router::new().fallback(pass_on).with_state(state)).await?;
    let way = Way {
        kubeconfig: kubeconfig(scenario, &gate.endpoint())?,
        toll,
    };
    let is_whole = course == Course::Whole;
    if is_whole {
        load(scenario, &["3.7.3"]).await?;
    }
    let spec = of_version(spec::on_volumes(3), "3.6.16");
    let cluster = scenario.create("mortal", spec).await?;
    let mut lives = vec![live(scenario, &way, &cluster, 3).await?];
    let id = cluster.etcd().await?.cluster_id().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    let sizes: &[i64] = if is_whole { &[5, 3] } else { &[] };
    for size in sizes.iter().copied() {
        cluster.resize(size).await?;
        let members = usize::try_from(size)?;
        lives.push(live(scenario, &way, &cluster, members).await?);
    }
    let leader = cluster.leader().await?;
    let claim = ["delete", "pvc", &leader, "--wait=false"];
    scenario.kubectl(&claim).await?;
    cluster.delete_pod(&leader).await?;
    lives.push(live(scenario, &way, &cluster, 3).await?);
    if is_whole {
        cluster.edit(json!({"version": "3.7.3"})).await?;
        lives.push(live(scenario, &way, &cluster, 3).await?);
        for name in cluster.member_names().await? {
            let version = cluster.etcd_of(&name).version().await?;
            ensure!(version == "3.7.3", "{name} runs {version}");
        }
    }
    writer.goes_on(20, PATIENCE).await?;
    let journal = writer.finish().await?;
    eprintln!(
        "  lives of the operator at birth, to the sizes {sizes:?}, for a lost disk, for an upgrade: {lives:?}; {} writes were acknowledged",
        journal.len()
    );
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    Ok(())
}

/// One operator after the other, until there is nothing left to write. Answers how many it took.
async fn live(scenario: &Scenario, way: &Way, cluster: &Cluster, size: usize) -> Result<u32> {
    let Programs { program, module } = &scenario.suite().programs;
    let namespace = scenario.namespace();
    let serving = [
        "--namespace",
        namespace,
        "--watch-namespace",
        namespace,
        // Whoever has the name has the lease.
        "--identity",
        "mortal",
    ];
    for life in 1..=LIVES {
        way.toll
            .is_open
            .store(life.is_multiple_of(2), Ordering::SeqCst);
        let (kubeconfig, folder) = (&way.kubeconfig, scenario.folder());
        let operator =
            Operator::start_serving(program, module, &serving, kubeconfig, folder).await?;
        let began = Instant::now();
        loop {
            if timeout(QUIET, way.toll.came.notified()).await.is_ok() {
                break;
            }
            if cluster.is_healthy(size).await.is_ok() {
                operator.stop().await?;
                return Ok(life);
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "nothing was written for {PATIENCE:?}: {}",
                operator.last_words()
            );
        }
        operator.kill().await?;
        // A second one that came at the same time.
        let _ = timeout(Duration::ZERO, way.toll.came.notified()).await;
    }
    anyhow::bail!("{LIVES} lives were not enough")
}
