//! What clients are answered while members are killed, frozen, cut off and replaced: one order explains all of it.
//!
//! Each client talks to one member and to no other, so that a member that does not know of the others' deeds would show.
//! Each key is written for a moment, and read once more, of whoever is a member by then, when all is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use etcd_client::{Client, Compare, CompareOp, ConnectOptions, Txn, TxnOp};
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;
use tokio::sync::oneshot;

use crate::disks::wipe;
use crate::linear::{Answered, Asked, Operation, is_linearizable};

const PATIENCE: Duration = Duration::from_secs(120);
/// Clients of each member.
const CLIENTS: usize = 2;
/// Operations of one key, in whose midst faults begin and end.
const OF_A_KEY: u64 = 30;
/// As many turns of a key a lost answer takes: a write that may happen at any later time, or never, doubles the states in
/// which a key may be.
const OF_A_LOSS: u64 = 4;
/// What a client waits for an answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Between a client's operations.
const PACE: Duration = Duration::from_millis(25);
/// How long a member stays frozen, or cut off.
const FAULT: Duration = Duration::from_secs(5);

/// What all clients share.
struct Traffic {
    since: Instant,
    /// Operations begun; they choose the key, and make values unique.
    begun: AtomicU64,
    answered: AtomicU64,
    stop: AtomicBool,
}

pub(crate) async fn linearizable(scenario: &mut Scenario) -> Result<()> {
    let mut apart = spec::on_volumes(3);
    apart["pod"]["antiAffinity"] = json!(true);
    let cluster = scenario.create_healthy("linear", apart).await?;
    let traffic = Arc::new(Traffic {
        since: Instant::now(),
        begun: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    let mut clients = Vec::new();
    for member in cluster.member_names().await? {
        let address = scenario
            .testbed()
            .pod_address(scenario.namespace(), &member)
            .await?;
        for _ in 0..CLIENTS {
            let (number, address) = (clients.len(), format!("http://{address}:2379"));
            clients.push(tokio::spawn(ask(Arc::clone(&traffic), number, address)));
        }
    }
    let suffered = suffer(scenario, &cluster, &traffic).await;
    traffic.stop.store(true, Ordering::Relaxed);
    let mut keys: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
    for client in clients {
        for (key, operation) in client.await.context("a client failed")? {
            keys.entry(key).or_default().push(operation);
        }
    }
    suffered?;
    cluster.becomes_healthy(3).await?;
    look_back(scenario, &cluster, &traffic, &mut keys).await?;
    check(keys).await
}

/// Reads every key once more, of one member after the other: no key is in use for as long as a fault lasts, so that no other
/// read of it comes after one in which it was lost.
async fn look_back(
    scenario: &Scenario,
    cluster: &Cluster,
    traffic: &Traffic,
    keys: &mut BTreeMap<u64, Vec<Operation>>,
) -> Result<()> {
    let mut members = Vec::new();
    for member in cluster.member_names().await? {
        let address = scenario
            .testbed()
            .pod_address(scenario.namespace(), &member)
            .await?;
        members.push(connect(&format!("http://{address}:2379")).await?);
    }
    let (count, last) = (members.len(), members.len() * CLIENTS);
    for (turn, (key, operations)) in keys.iter_mut().enumerate() {
        let client = &mut members[turn % count];
        let began = traffic.now();
        let name = format!("linear/{key:08}");
        let answered = perform(client, &name, Asked::Get).await?;
        operations.push(Operation {
            client: last,
            asked: Asked::Get,
            began,
            ended: Some((traffic.now(), answered)),
        });
    }
    Ok(())
}

/// Kills, freezes and cuts off, and mends whatever it hurt; the last one loses its disk, and the operator replaces it.
async fn suffer(scenario: &Scenario, cluster: &Cluster, traffic: &Traffic) -> Result<()> {
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    traffic.goes_on(200).await?;
    let leader = cluster.leader().await?;
    testbed.kill_member(namespace, &leader).await?;
    traffic.goes_on(200).await?;

    wait::until("all members serving", PATIENCE, async || {
        cluster.is_healthy(3).await
    })
    .await?;
    let leader = cluster.leader().await?;
    testbed.freeze_member(namespace, &leader).await?;
    let went_on = traffic.lasts(FAULT).await;
    testbed.thaw_member(namespace, &leader).await?;
    went_on?;
    traffic.goes_on(200).await?;

    wait::until("all members serving", PATIENCE, async || {
        cluster.is_healthy(3).await
    })
    .await?;
    let leader = cluster.leader().await?;
    let node = cluster
        .pod(&leader)
        .await?
        .spec
        .and_then(|spec| spec.node_name);
    let node = testbed.node(&node.context("the leader is on no node")?)?;
    node.cut().await?;
    let went_on = traffic.lasts(FAULT).await;
    node.mend().await?;
    node.becomes(true, PATIENCE).await?;
    went_on?;
    traffic.goes_on(200).await?;

    wait::until("all members serving", PATIENCE, async || {
        cluster.is_healthy(3).await
    })
    .await?;
    let leader = cluster.leader().await?;
    let lost = cluster.etcd_of(&leader).id().await?;
    wipe(scenario, &[&leader]).await?;
    wait::until("another member in its place", PATIENCE, async || {
        let members = cluster.members().await?;
        ensure!(
            members.iter().all(|member| member.id != lost),
            "members are {members:?}"
        );
        cluster.is_healthy(3).await
    })
    .await?;
    traffic.goes_on(200).await
}

impl Traffic {
    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Waits until so many more operations were answered.
    async fn goes_on(&self, count: u64) -> Result<()> {
        let wanted = self.answered.load(Ordering::Relaxed) + count;
        wait::until(format!("{count} more answers"), PATIENCE, async || {
            let have = self.answered.load(Ordering::Relaxed);
            ensure!(have >= wanted, "{} are missing", wanted - have);
            Ok(())
        })
        .await
    }

    /// Lets it last, with answers from whoever is left.
    async fn lasts(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.goes_on(20).await?;
        }
        Ok(())
    }
}

/// Asks one member one thing after the other; which key each was about.
async fn ask(traffic: Arc<Traffic>, number: usize, address: String) -> Vec<(u64, Operation)> {
    let mut history = Vec::new();
    let mut read = BTreeMap::new();
    let mut connected = None;
    while !traffic.stop.load(Ordering::Relaxed) {
        tokio::time::sleep(PACE).await;
        let mut client = match connected.take() {
            Some(client) => client,
            // A connection that lost an answer is not asked again.
            None => match connect(&address).await {
                Ok(client) => client,
                Err(_) => continue,
            },
        };
        let turn = traffic.begun.fetch_add(1, Ordering::Relaxed);
        let key = turn / OF_A_KEY;
        let asked = match turn % 4 {
            0 | 1 => Asked::Get,
            2 => Asked::Put(turn),
            _ => Asked::Swap(read.get(&key).copied().flatten(), turn),
        };
        let began = traffic.now();
        let name = format!("linear/{key:08}");
        let answer = tokio::time::timeout(ANSWER, perform(&mut client, &name, asked)).await;
        let ended = answer.ok().and_then(Result::ok).map(|answered| {
            traffic.answered.fetch_add(1, Ordering::Relaxed);
            if let Answered::Got(value) = answered {
                read.insert(key, value);
            }
            (traffic.now(), answered)
        });
        connected = ended.map(|_| client);
        if ended.is_none() && asked != Asked::Get {
            traffic.begun.fetch_add(OF_A_LOSS, Ordering::Relaxed);
        }
        // A read without an answer says nothing.
        if ended.is_some() || asked != Asked::Get {
            history.push((
                key,
                Operation {
                    client: number,
                    asked,
                    began,
                    ended,
                },
            ));
        }
    }
    history
}

async fn connect(address: &str) -> Result<Client> {
    let options = ConnectOptions::new()
        .with_connect_timeout(ANSWER)
        .with_timeout(ANSWER);
    Ok(tokio::time::timeout(ANSWER, Client::connect([address], Some(options))).await??)
}

async fn perform(client: &mut Client, key: &str, asked: Asked) -> Result<Answered> {
    match asked {
        Asked::Get => {
            let answer = client.get(key, None).await?;
            let value = answer
                .kvs()
                .first()
                .map(|pair| pair.value_str()?.parse().context("a number"));
            Ok(Answered::Got(value.transpose()?))
        }
        Asked::Put(value) => {
            client.put(key, value.to_string(), None).await?;
            Ok(Answered::Put)
        }
        Asked::Swap(from, to) => {
            let is_same = match from {
                Some(from) => Compare::value(key, CompareOp::Equal, from.to_string()),
                None => Compare::version(key, CompareOp::Equal, 0),
            };
            let put = TxnOp::put(key, to.to_string(), None);
            let answer = client
                .txn(Txn::new().when([is_same]).and_then([put]))
                .await?;
            Ok(Answered::Swapped(answer.succeeded()))
        }
    }
}

/// Checks each key's history.
async fn check(keys: BTreeMap<u64, Vec<Operation>>) -> Result<()> {
    let operations: Vec<&Operation> = keys.values().flatten().collect();
    let unknown = operations
        .iter()
        .filter(|operation| operation.ended.is_none())
        .count();
    let swaps = operations
        .iter()
        .filter(|operation| matches!(operation.ended, Some((_, Answered::Swapped(true)))))
        .count();
    eprintln!(
        "  {} operations on {} keys: {swaps} swaps succeeded, {unknown} have no answer",
        operations.len(),
        keys.len()
    );
    ensure!(swaps > 0, "no swap ever succeeded");
    ensure!(unknown > 0, "the faults were not felt");
    for (key, operations) in keys {
        let lines: Vec<String> = operations.iter().map(Operation::to_string).collect();
        let words = lines.join("\n");
        // A thread of its own: the suite would wait for the end of one that never comes to a judgement.
        let (told, checked) = oneshot::channel();
        std::thread::spawn(move || told.send(is_linearizable(&operations)));
        let is_linearizable = tokio::time::timeout(PATIENCE, checked)
            .await
            .with_context(|| format!("key {key} is not judged after {PATIENCE:?}:\n{words}"))??;
        ensure!(is_linearizable, "no order explains key {key}:\n{words}");
    }
    Ok(())
}
