//! A member that uses more memory than it may: the kernel ends it, and a new one would end the same way.

use std::time::Duration;

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use etcd_client::{Client, ConnectOptions, GetOptions};
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;
use tokio::task::JoinSet;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
/// Enough for a member that nobody asks for much.
const LIMIT: &str = "96Mi";
const MORE: &str = "1Gi";
/// What is read at once: as much as a client takes in one answer.
const VALUES: usize = 12;
const VALUE: usize = 256 * 1024;
/// Clients that read it at the same time.
const READERS: usize = 96;

/// Reads everything from one member again and again, as a badly written client does, until it is dropped.
fn read_all(address: &str) -> JoinSet<()> {
    let readers = (0..READERS).map(|_| read(address.to_owned()));
    readers.collect()
}

async fn read(address: String) {
    let mut pace = tokio::time::interval(Duration::from_millis(200));
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        let options = ConnectOptions::new()
            .with_connect_timeout(Duration::from_secs(1))
            .with_timeout(Duration::from_secs(5));
        let Ok(mut client) = Client::connect([&address], Some(options)).await else {
            continue;
        };
        let all = GetOptions::new().with_prefix().with_serializable();
        while client.get("big/", Some(all.clone())).await.is_ok() {}
    }
}

/// The container's last end was the kernel's, as Kubernetes tells it.
async fn was_ended(cluster: &Cluster, member: &str) -> Result<()> {
    let what = format!("the end of {member} for its memory");
    wait::until(what, PATIENCE, async || {
        let status = cluster.pod(member).await?.status.unwrap_or_default();
        let containers = status.container_statuses.unwrap_or_default();
        let states = containers
            .iter()
            .flat_map(|one| [&one.state, &one.last_state]);
        let ends = states
            .flatten()
            .filter_map(|state| state.terminated.as_ref());
        let reasons: Vec<_> = ends.filter_map(|end| end.reason.as_deref()).collect();
        ensure!(reasons.contains(&"OOMKilled"), "{reasons:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn used_up(scenario: &mut Scenario) -> Result<()> {
    let mut small = spec::on_volumes(3);
    small["pod"]["resources"] = json!({"limits": {"memory": LIMIT}});
    let cluster = scenario.create_healthy("hungry", small).await?;
    let standing = Standing::of(&cluster).await?;
    let address = cluster.client_address().await?;
    let mut client = Client::connect([&address], None).await?;
    for number in 0..VALUES {
        let key = format!("big/{number}");
        client.put(key, vec![b'x'; VALUE], None).await?;
    }
    let leader = cluster.leader().await?;
    let names = cluster.member_names().await?;
    let Some(victim) = names.iter().find(|name| **name != leader) else {
        anyhow::bail!("members are {names:?}")
    };
    let writer = Writer::start(vec![address]);
    writer.goes_on(20, PATIENCE).await?;

    let pod = scenario
        .testbed()
        .pod_address(scenario.namespace(), victim)
        .await?;
    let readers = read_all(&format!("http://{pod}:2379"));
    was_ended(&cluster, victim).await?;
    let words = [
        victim.as_str(),
        "more memory than its limit",
        "raise spec.pod.resources.limits.memory",
    ];
    let (progressing, reason) = (ConditionStatus::True, "OutOfMemory");
    cluster
        .awaits_condition("Progressing", progressing, reason, &words, PATIENCE)
        .await?;
    scenario.is_looked_at_again().await?;
    standing.is_kept(&cluster).await?;
    writer.goes_on(20, PATIENCE).await?;
    drop(readers);

    // As the condition says.
    let more = json!({"pod": {"resources": {"limits": {"memory": MORE}}}});
    cluster.edit(more).await?;
    wait::until("three members with more memory", PATIENCE, async || {
        for pod in cluster.pods().await? {
            let limits = pod.spec.iter().flat_map(|spec| &spec.containers);
            let limits = limits.filter_map(|one| one.resources.as_ref()?.limits.as_ref());
            let has_more = limits
                .into_iter()
                .any(|limits| limits.get("memory").is_some_and(|memory| memory.0 == MORE));
            ensure!(has_more, "{:?} has no more", pod.metadata.name);
        }
        cluster.is_healthy(3).await
    })
    .await?;
    writer.finish().await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}
