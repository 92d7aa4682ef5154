//! Clusters that grow and shrink while they are used.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use etcd_client::Client;
use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use libtest_mimic::Trial;
use serde_json::json;
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use crate::harness::Scenarios;
use crate::writer::Writer;

/// More than etcd keeps of its log for those that lag behind: 10,000 until a snapshot, and the last 5,000.
const MANY: u32 = 16_000;
/// Writes under way at a time.
const AT_A_TIME: usize = 256;
/// Sizes that a cluster of one gets until a new member had to wait; three are mostly enough.
const GROWS: [i64; 6] = [3, 1, 3, 5, 1, 3];
/// The port that members call one another on.
const PEERS: u16 = 2380;

/// The long ones first.
pub(crate) fn trials(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial(
            "scale::from_one_to_seven_members_and_back_with_an_even_size_on_the_way",
            to_seven_and_back,
        ),
        scenarios.trial(
            "scale::a_paused_cluster_is_told_about_and_left_alone",
            paused,
        ),
        scenarios.trial(
            "scale::a_cluster_that_nobody_writes_to_grows_after_many_writes",
            in_silence,
        ),
        scenarios.trial(
            "scale::a_connection_that_the_leader_takes_for_broken_holds_up_no_growth",
            one_way,
        ),
        scenarios.trial(
            "scale::a_learner_that_is_cut_off_gets_no_vote_before_it_is_reached_again",
            cut_off,
        ),
        scenarios.trial(
            "scale::no_acknowledged_write_is_lost_from_3_to_5_to_3",
            up_and_down_under_writes,
        ),
        scenarios.trial(
            "scale::a_size_changed_in_mid_flight_is_followed",
            edited_in_mid_flight,
        ),
    ]
}

async fn up_and_down_under_writes(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("busy", spec::on_volumes(3)).await?;
    let id = cluster.etcd().await?.cluster_id().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    let soon = Duration::from_secs(30);
    writer.goes_on(50, soon).await?;
    for size in [5, 3] {
        cluster.resize(size).await?;
        cluster.becomes_healthy(usize::try_from(size)?).await?;
        writer.goes_on(50, soon).await?;
    }
    let journal = writer.finish().await?;
    eprintln!(
        "  {} writes were acknowledged, the longest pause was {:?}",
        journal.len(),
        journal.longest_pause
    );
    ensure!(
        journal.longest_pause < Duration::from_secs(20),
        "no write was acknowledged for {:?}",
        journal.longest_pause
    );
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    cluster
        .awaits_event("Normal", "New Member Added", "got its vote")
        .await?;
    cluster
        .awaits_event("Normal", "Member Removed", "left")
        .await
}

/// New members get their data as a snapshot, after which etcd serves nobody before the next entry of its log. That may be
/// the one with which a new member tells its name, so it grows until somebody had to wait for another one.
async fn in_silence(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("silent", spec::on_volumes(1))
        .await?;
    let client = Client::connect([cluster.client_address().await?], None).await?;
    stream::iter(0..MANY)
        .map(|number| {
            let mut client = client.clone();
            async move { client.put(format!("key/{}", number % 100), "x", None).await }
        })
        .buffer_unordered(AT_A_TIME)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    let mut entries = 0.0;
    for size in GROWS {
        cluster.resize(size).await?;
        cluster.becomes_healthy(usize::try_from(size)?).await?;
        let label = "effect=\"AppendNoop\"";
        entries = scenario
            .operator()?
            .metric("binnacle_effects_total", label)
            .await?;
        if entries > 0.0 {
            break;
        }
    }
    ensure!(entries > 0.0, "nobody needed an entry that changes nothing");
    eprintln!("  {entries} entries that change nothing were appended");
    let last = cluster.etcd().await?.get("key/99").await?;
    ensure!(last == "x", "the data is {last:?}");
    Ok(())
}

/// One follower cannot be called by the leader and calls it all the same: everybody is well, and etcd says at the leader,
/// and only there, that the cluster is not.
async fn one_way(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("one-way", spec::on_volumes(3))
        .await?;
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    let leader = cluster.leader().await?;
    let mut members = cluster.members().await?;
    members.retain(|member| member.name != leader);
    let follower = members.first().context("nobody follows")?;
    let address = testbed.pod_address(namespace, &follower.name).await?;
    let address = address.to_string();
    testbed
        .refuse_way(namespace, &leader, &address, PEERS)
        .await?;
    let taken = format!("--peer-urls={}", follower.peer_urls.join(","));
    let add = ["member", "add", "nobody", "--learner", &taken];
    let refuses = async || {
        let answer = testbed.etcdctl(namespace, &leader, "http", &add).await;
        let words = answer.err().map(|error| format!("{error:#}"));
        let words = words.context("the address is another member's")?;
        ensure!(words.contains("unhealthy cluster"), "it says {words}");
        Ok(())
    };
    let soon = Duration::from_secs(60);
    wait::until("the leader's refusal", soon, &refuses).await?;
    cluster.becomes_healthy(3).await?;
    cluster.resize(5).await?;
    cluster.becomes_healthy(5).await?;
    ensure!(
        cluster.leader().await? == leader,
        "another member leads by now"
    );
    // It takes the connection for whole again whenever the follower calls, until its own next call.
    wait::until("the leader's refusal once more", soon, refuses).await
}

/// A new member has caught up and is cut off from its leader, though not from the operator. It goes on naming that leader, and
/// etcd would promote it: of two voters there would be one, and no quorum.
async fn cut_off(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("lonely", spec::on_volumes(1))
        .await?;
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    let (leader, etcd) = (cluster.leader().await?, cluster.etcd().await?);
    // Of a log with so many entries a few may be missing.
    for number in 0..100 {
        etcd.put("count", &number.to_string()).await?;
    }
    cluster.resize(2).await?;
    let soon = Duration::from_secs(60);
    let new = wait::until("the new member's pod", soon, async || {
        let mut names = cluster.pods().await?.into_iter().map(|pod| pod.name_any());
        let new = names.find(|name| *name != leader);
        new.context("there is none")
    })
    .await?;
    cluster.edit(json!({"paused": true})).await?;
    let status = async |name: &str| {
        let status = ["endpoint", "status", "--write-out=json"];
        let told = testbed.etcdctl(namespace, name, "http", &status).await?;
        let told: serde_json::Value = serde_json::from_str(&told)?;
        let status = told.pointer("/0/Status").cloned();
        status.with_context(|| format!("it says {told}"))
    };
    let follows = async || {
        let (of, by) = (status(&leader).await?, status(&new).await?);
        let is_led = by["isLearner"] == true && by["leader"] == of["leader"];
        ensure!(is_led, "the learner says {by}, the leader {of}");
        Ok((of["raftIndex"].clone(), by["raftIndex"].clone()))
    };
    wait::until("its catching up", soon, async || {
        let (sent, received) = follows().await?;
        ensure!(
            sent == received,
            "{sent} entries, of which it has {received}"
        );
        Ok(())
    })
    .await?;
    for (from, to) in [(&leader, &new), (&new, &leader)] {
        let to = testbed.pod_address(namespace, to).await?.to_string();
        testbed.refuse_way(namespace, from, &to, PEERS).await?;
    }
    // A connection that stands may deliver once more.
    wait::until("the last entry to arrive", soon, async || {
        etcd.put("count", "unheard").await?;
        let (sent, received) = follows().await?;
        ensure!(sent != received, "entry {sent} arrived");
        Ok(())
    })
    .await?;
    cluster.edit(json!({"paused": false})).await?;
    let words = ["receives nothing from it", "network policy"];
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "LearnerCatchingUp",
            &words,
            soon,
        )
        .await?;
    follows().await?;
    cluster.etcd().await?.put("still", "written").await?;
    for name in [&leader, &new] {
        testbed.mend_pod(namespace, name).await?;
    }
    cluster.becomes_healthy(2).await?;
    let kept = cluster.etcd().await?.get("still").await?;
    ensure!(kept == "written", "the data is {kept:?}");
    Ok(())
}

async fn edited_in_mid_flight(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("fickle", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    let id = etcd.cluster_id().await?;
    etcd.put("kept", "yes").await?;
    cluster.resize(5).await?;
    wait::until(
        "the first member more",
        Duration::from_secs(60),
        async || {
            let members = cluster.members().await?;
            ensure!(members.len() > 3, "members are {members:?}");
            Ok(())
        },
    )
    .await?;
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    let last = cluster.etcd().await?;
    ensure!(last.cluster_id().await? == id, "it is another cluster");
    ensure!(last.get("kept").await? == "yes", "the data is gone");
    Ok(())
}

/// All the sizes there are, and an even one, which is followed and told.
async fn to_seven_and_back(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("tall", spec::on_volumes(1)).await?;
    let etcd = cluster.etcd().await?;
    let id = etcd.cluster_id().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    let soon = Duration::from_secs(60);
    writer.goes_on(20, soon).await?;
    for size in [3, 5, 7, 4, 1] {
        cluster.resize(size).await?;
        cluster.becomes_healthy(usize::try_from(size)?).await?;
        writer.goes_on(20, soon).await?;
        if size == 4 {
            let kind = "Scaling";
            cluster
                .awaits_condition(kind, ConditionStatus::False, "EvenSize", &["4"], soon)
                .await?;
        }
    }
    let journal = writer.finish().await?;
    eprintln!(
        "  {} writes were acknowledged, the longest pause was {:?}",
        journal.len(),
        journal.longest_pause
    );
    let last = cluster.etcd().await?;
    ensure!(last.cluster_id().await? == id, "it is another cluster");
    Ok(())
}

async fn paused(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("still", spec::on_volumes(3))
        .await?;
    cluster.edit(json!({"paused": true})).await?;
    cluster
        .becomes_blocked("Paused", &["spec.paused is true"])
        .await?;
    let names = cluster.member_names().await?;
    cluster.delete_pod(&names[0]).await?;
    cluster.resize(5).await?;
    let soon = Duration::from_secs(60);
    cluster
        .awaits_condition(
            "Degraded",
            ConditionStatus::True,
            "MemberUnhealthy",
            &[&names[0]],
            soon,
        )
        .await?;
    scenario.is_looked_at_again().await?;
    let (pods, members) = (cluster.pods().await?, cluster.members().await?);
    ensure!(pods.len() == 2, "{} pods are there", pods.len());
    ensure!(members.len() == 3, "members are {members:?}");
    let status = cluster.status().await?;
    ensure!(
        status.ready_members == 2,
        "{} are ready",
        status.ready_members
    );
    cluster.edit(json!({"paused": false})).await?;
    cluster.becomes_healthy(5).await
}
