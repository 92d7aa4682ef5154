//! The whole way of a new module: rolled out badly, noticed as a shadow, fixed, canaried, active, rolled back. One operator
//! lives through all of it, with one lease.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use contract::ModulePhase;
use host::module::digest;
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::sealed::marked;
use tests::testbed::wait;
use tokio::process::Command;

use super::variants::{NOTHING, answering};
use super::{PATIENCE, is_active, records, stock};

pub(crate) async fn rolled_out(scenario: &mut Scenario) -> Result<()> {
    let stock = stock(scenario)?;
    let built_in = digest(&stock);
    let (bad, fixed) = (answering(NOTHING)?, marked(&stock, "fixed")?);
    let trial = scenario
        .create_healthy("trial", spec::on_volumes(1))
        .await?;
    let shop = scenario.create_healthy("shop", spec::on_volumes(1)).await?;
    scenario
        .kubectl(&["label", "etcd", "trial", "tier=test"])
        .await?;
    let (process, lease) = (scenario.operator()?.id(), lease(scenario).await?);
    let next = scenario.module("next");

    // Rolled out as a shadow, it is noticed and harms nobody.
    pack_and_apply(scenario, "bad.wasm", &bad).await?;
    next.becomes(ModulePhase::InRole, &["not followed"]).await?;
    shop.delete_pod(&shop.member_names().await?.concat())
        .await?;
    shop.becomes_healthy(1).await?;
    wait::until("the bad module being noticed", PATIENCE, async || {
        let status = next.status().await?;
        ensure!(status.differences > 1, "{} differ", status.differences);
        Ok(())
    })
    .await?;
    let told = module_diff(scenario, 1).await?;
    ensure!(
        told.contains("Apply Pod") && told.contains("missing") && told.contains("/shop"),
        "binnacle module diff says: {told}"
    );
    eprintln!("{told}");
    let shown = scenario.kubectl(&["get", "rmod"]).await?;
    eprintln!("{shown}");

    // The fixed one is the same as what decides.
    pack_and_apply(scenario, "fixed.wasm", &fixed).await?;
    next.becomes(ModulePhase::InRole, &[&digest(&fixed), "not followed"])
        .await?;
    trial
        .delete_pod(&trial.member_names().await?.concat())
        .await?;
    trial.becomes_healthy(1).await?;
    next.decides(5).await?;
    let told = module_diff(scenario, 0).await?;
    ensure!(
        told.contains("None of"),
        "binnacle module diff says: {told}"
    );
    eprintln!("{told}");

    // As a canary it decides for the one cluster alone.
    let selected = json!({"matchLabels": {"tier": "test"}});
    next.edit(json!({"role": "Canary", "clusters": selected}))
        .await?;
    next.becomes(ModulePhase::InRole, &["tier=test"]).await?;
    is_active(scenario, &built_in).await?;
    trial.resize(3).await?;
    trial.becomes_healthy(3).await?;
    next.decides(3).await?;

    // As the active one it decides for all, and after a moment for none.
    next.edit(json!({"role": "Active", "clusters": null}))
        .await?;
    next.becomes(ModulePhase::InRole, &["decides."]).await?;
    is_active(scenario, &digest(&fixed)).await?;
    trial.resize(1).await?;
    trial.becomes_healthy(1).await?;
    next.decides(3).await?;
    next.delete().await?;
    is_active(scenario, &built_in).await?;
    shop.delete_pod(&shop.member_names().await?.concat())
        .await?;
    shop.becomes_healthy(1).await?;

    ensure!(
        scenario.operator()?.id() == process,
        "the operator was restarted"
    );
    ensure!(
        self::lease(scenario).await? == lease,
        "the lease changed hands"
    );
    scenario.stop_operator().await?;
    judge_recordings(scenario, &built_in, &digest(&fixed), &digest(&bad))
}

/// Which module decided for which cluster, in their order.
fn judge_recordings(scenario: &Scenario, built_in: &str, fixed: &str, bad: &str) -> Result<()> {
    let records = records(scenario)?;
    let mut turns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for record in &records {
        let of_cluster = turns.entry(&record.cluster.name).or_default();
        if of_cluster.last() != Some(&record.module.as_str()) {
            of_cluster.push(&record.module);
        }
    }
    // The canary and the active module are one to the trial cluster; the other one meets it later. Whether the trial cluster
    // was looked at once more before the end is not certain.
    ensure!(
        turns["trial"].starts_with(&[built_in, fixed])
            && turns["trial"].len() <= 3
            && turns["shop"] == [built_in, fixed, built_in],
        "the modules took turns: {turns:?}"
    );
    let canaried = records
        .iter()
        .position(|record| record.module == fixed)
        .context("it never decided")?;
    ensure!(
        records[canaried].cluster.name == "trial",
        "it decided first for {}",
        records[canaried].cluster.name
    );
    let shadows: BTreeSet<&str> = records
        .iter()
        .flat_map(|record| &record.shadows)
        .map(|shadow| shadow.module.as_str())
        .collect();
    ensure!(
        shadows == BTreeSet::from([bad, fixed]),
        "the shadows were {shadows:?}"
    );
    let recorded = records
        .iter()
        .flat_map(|record| &record.shadows)
        .filter(|shadow| shadow.difference.is_some())
        .all(|shadow| shadow.module == bad && shadow.answer.is_some());
    ensure!(recorded, "a difference is not recorded with its answer");
    Ok(())
}

/// As a person does it: `binnacle module pack FILE | kubectl apply`.
async fn pack_and_apply(scenario: &Scenario, file: &str, bytes: &[u8]) -> Result<()> {
    let path = scenario.folder().join(file);
    std::fs::write(&path, bytes)?;
    let packed = binnacle(
        scenario,
        &["module", "pack", text(&path)?, "--name", "next"],
        0,
    )
    .await?;
    scenario
        .kubectl_with_input(&["apply", "--server-side", "--filename", "-"], &packed)
        .await?;
    Ok(())
}

async fn module_diff(scenario: &Scenario, code: i32) -> Result<String> {
    let kubeconfig = scenario.testbed().kubeconfig();
    let arguments = [
        "module",
        "diff",
        "next",
        "--namespace",
        scenario.namespace(),
        "--kubeconfig",
        text(&kubeconfig)?,
    ];
    let json = [&arguments[..], &["--output", "json"]].concat();
    let told: Value = serde_json::from_str(&binnacle(scenario, &json, code).await?)?;
    ensure!(told["decisions"].as_i64() > Some(0), "{told}");
    binnacle(scenario, &arguments, code).await
}

async fn binnacle(scenario: &Scenario, arguments: &[&str], code: i32) -> Result<String> {
    let output = Command::new(&scenario.suite().programs.program)
        .args(arguments)
        .output()
        .await
        .context("binnacle cannot be started")?;
    ensure!(
        output.status.code() == Some(code),
        "binnacle {arguments:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path of letters")
}

/// Who holds the lease, and how often it changed hands.
async fn lease(scenario: &Scenario) -> Result<String> {
    let fields = "--output=jsonpath={.spec.holderIdentity} {.spec.leaseTransitions}";
    scenario
        .kubectl(&["get", "lease", "binnacle", fields])
        .await
}
