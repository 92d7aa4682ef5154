//! Reconciler modules that are swapped while clusters live: good ones, bad ones, and the way from one to the other.

mod refused;
mod registry;
mod rollout;
#[path = "../registry/signer.rs"]
mod signer;
mod variants;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{MODULE_KIND, ModulePhase, OutcomeKind};
use host::module::digest;
use host::recorder::{Record, Recording, recordings};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tests::scenario::{MODULE_DEFINITION, Scenario, definition_of, spec};
use tests::sealed::marked;
use tests::testbed::wait;

pub(crate) use refused::refused;
pub(crate) use registry::from_registry;
pub(crate) use rollout::rolled_out;

use crate::writer::Writer;
use variants::trapping;

const PATIENCE: Duration = Duration::from_secs(120);
/// Swaps while a cluster grows and shrinks again.
const SWAPS: u8 = 30;
/// From one swap to the next, where the machine loads modules as fast.
const EVERY: Duration = Duration::from_secs(1);

/// An object for a module that lies in the ConfigMap of this name.
fn from_config_map(role: &str, name: &str, digest: &str) -> Value {
    json!({"role": role, "source": {"configMap": {"name": name}}, "sha256": digest})
}

/// As `binnacle module pack` does it: the stock module is larger than a ConfigMap.
fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(zstd::encode_all(bytes, 3)?)
}

fn stock(scenario: &Scenario) -> Result<Vec<u8>> {
    Ok(std::fs::read(&scenario.suite().programs.module)?)
}

/// Waits until the operator says that this module is the active one.
async fn is_active(scenario: &Scenario, digest: &str) -> Result<()> {
    let labels = format!("role=\"Active\",digest=\"{digest}\"");
    let operator = scenario.operator()?;
    wait::until(format!("{digest} being active"), PATIENCE, async || {
        let found = operator.metric("binnacle_module{", &labels).await?;
        ensure!(found == 1.0, "it is not");
        Ok(())
    })
    .await
}

/// Everything that the operator recorded; it must have stopped.
fn records(scenario: &Scenario) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for file in recordings(&scenario.folder().join("recordings"))? {
        let mut recording = Recording::open(&file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                found.push(record?);
            }
        }
    }
    Ok(found)
}

pub(crate) async fn restarted(scenario: &mut Scenario) -> Result<()> {
    let stock = stock(scenario)?;
    let built_in = digest(&stock);
    let [first, second] = [marked(&stock, "first")?, marked(&stock, "second")?];
    let cluster = scenario.create_healthy("kept", spec::in_pods(1)).await?;
    for (name, bytes) in [("first", &first), ("second", &second)] {
        scenario.put_module(name, &packed(bytes)?).await?;
    }
    let [older, younger] = [scenario.module("older"), scenario.module("a-younger")];
    older
        .create(from_config_map("Active", "first", &digest(&first)))
        .await?;
    let status = older.becomes(ModulePhase::InRole, &["decides"]).await?;
    let tested = status.self_test.clone().context("there was no self-test")?;
    ensure!(
        tested.snapshots > 0 && tested.failures == 0 && tested.differing == 0,
        "{tested:?}"
    );
    ensure!(
        status.abi.as_deref() == Some("binnacle:reconciler@1.0.0")
            && status.schemas.as_deref() == Some("1")
            && status.size == i64::try_from(first.len()).ok(),
        "{status:?}"
    );
    older.decides(1).await?;

    // Creation times are whole seconds: the younger one must be of a later second.
    wait::until("another second", PATIENCE, async || {
        let name = "a-younger";
        let spec = from_config_map("Active", "second", &digest(&second));
        let older = created(scenario, "older").await?;
        if scenario.module(name).create(spec).await.is_ok()
            && created(scenario, name).await? > older
        {
            return Ok(());
        }
        scenario.module(name).delete().await?;
        anyhow::bail!("they are of one second")
    })
    .await?;
    younger
        .becomes(ModulePhase::Waiting, &["older is older"])
        .await?;
    older
        .becomes(ModulePhase::InRole, &["a-younger asks for the same role"])
        .await?;
    younger
        .awaits_event("ModuleWaiting", "older is older")
        .await?;
    is_active(scenario, &digest(&first)).await?;

    scenario.delete_module_source("first").await?;
    scenario.kill_operator().await?;
    scenario.start_operator().await?;
    is_active(scenario, &digest(&first)).await?;
    older
        .becomes(
            ModulePhase::InRole,
            &["copy that was kept", "no ConfigMap first"],
        )
        .await?;
    older.decides(1).await?;

    older.delete().await?;
    is_active(scenario, &digest(&second)).await?;
    younger.delete().await?;
    is_active(scenario, &built_in).await?;
    cluster.is_healthy(1).await?;
    scenario.stop_operator().await?;
    let after_restart = records(scenario)?;
    let names: Vec<&str> = after_restart
        .iter()
        .skip_while(|record| record.module == built_in)
        .map(|record| record.module.as_str())
        .collect();
    let mut turns = names.clone();
    turns.dedup();
    ensure!(
        turns.first() == Some(&digest(&first).as_str()) && turns.len() <= 3,
        "the modules took turns: {turns:?}"
    );
    Ok(())
}

async fn created(scenario: &Scenario, name: &str) -> Result<String> {
    let path = "--output=jsonpath={.metadata.creationTimestamp}";
    scenario.kubectl(&["get", "rmod", name, path]).await
}

pub(crate) async fn fallen_back(scenario: &mut Scenario) -> Result<()> {
    let built_in = digest(&stock(scenario)?);
    let bad = trapping()?;
    scenario.put_module("traps", &bad).await?;
    let module = scenario.module("hasty");
    // Nothing is recorded yet, so the self-test has nothing to find the fault with.
    module
        .create(from_config_map("Active", "traps", &digest(&bad)))
        .await?;
    module.becomes(ModulePhase::InRole, &["decides"]).await?;
    let cluster = scenario.create("lucky", spec::in_pods(1)).await?;
    module
        .becomes(
            ModulePhase::FellBack,
            &[&digest(&bad), "4 failures", "started with decides"],
        )
        .await?;
    module
        .awaits_event("ModuleFellBack", "4 failures within ten minutes")
        .await?;
    is_active(scenario, &built_in).await?;
    let counted = scenario
        .operator()?
        .metric("binnacle_module_fallbacks_total", "")
        .await?;
    ensure!(counted == 1.0, "{counted} are counted");
    cluster.becomes_healthy(1).await?;

    scenario.kill_operator().await?;
    scenario.start_operator().await?;
    module
        .becomes(ModulePhase::FellBack, &[&digest(&bad)])
        .await?;
    is_active(scenario, &built_in).await?;

    // Now there are snapshots to try it on.
    module.edit(json!({"failureLimit": 100})).await?;
    module
        .becomes(
            ModulePhase::Refused,
            &["recorded snapshots are not decided"],
        )
        .await?;
    cluster.is_healthy(1).await
}

pub(crate) async fn swapped_under_load(scenario: &mut Scenario) -> Result<()> {
    let stock = stock(scenario)?;
    let cluster = scenario.create_healthy("busy", spec::in_pods(1)).await?;
    let mut sources = Vec::new();
    for mark in ["left", "right"] {
        let bytes = marked(&stock, mark)?;
        let path = scenario.folder().join(format!("{mark}.wasm"));
        std::fs::write(&path, &bytes)?;
        sources.push((path, digest(&bytes)));
    }
    let spec_of = |swap: u8| {
        let (path, digest) = &sources[usize::from(swap % 2)];
        json!({"role": "Active", "source": {"file": {"path": path}}, "sha256": digest})
    };
    let module = scenario.module("swapped");
    module.create(spec_of(0)).await?;
    module.becomes(ModulePhase::InRole, &[]).await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    cluster.resize(3).await?;
    // A spec that is changed before its module is ready is followed no more, so each is waited for.
    let mut clock = tokio::time::interval(EVERY);
    for swap in 1..=SWAPS {
        clock.tick().await;
        module.edit(spec_of(swap)).await?;
        module.becomes(ModulePhase::InRole, &[]).await?;
    }
    cluster.becomes_healthy(3).await?;
    writer.goes_on(20, PATIENCE).await?;
    let journal = writer.finish().await?;
    let swaps = scenario
        .operator()?
        .metric("binnacle_module_swaps_total", "")
        .await?;
    let failed = scenario
        .operator()?
        .metric("binnacle_passes_total", "outcome=\"Failed\"")
        .await?;
    ensure!(failed == 0.0, "{failed} passes failed");
    ensure!(swaps > f64::from(SWAPS), "only {swaps} swaps");
    scenario.stop_operator().await?;

    let records = records(scenario)?;
    let is_gapless = records
        .windows(2)
        .all(|pair| pair[1].seq == pair[0].seq + 1);
    ensure!(is_gapless, "records are missing");
    let mut by_module: BTreeMap<&str, usize> = BTreeMap::new();
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &records {
        *by_module.entry(&record.module).or_default() += 1;
        for result in &record.results {
            if result.outcome.outcome == OutcomeKind::Done {
                *done.entry(&result.outcome.effect).or_default() += 1;
            }
        }
    }
    eprintln!(
        "  {swaps} swaps, {} decisions by {} modules, {} writes; done: {done:?}",
        records.len(),
        by_module.len(),
        journal.len()
    );
    ensure!(by_module.len() >= 3, "only {by_module:?} decided");
    for effect in ["AddLearner", "Promote"] {
        let count = done.get(effect).copied().unwrap_or_default();
        ensure!(count == 2, "{effect} was done {count} times");
    }
    Ok(())
}

pub(crate) async fn not_installed(scenario: &mut Scenario) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(scenario.testbed().client());
    scenario.stop_operator().await?;
    definitions
        .delete(MODULE_DEFINITION, &DeleteParams::default())
        .await?;
    wait::until("the end of the definition", PATIENCE, async || {
        let found = definitions.get_opt(MODULE_DEFINITION).await?;
        ensure!(found.is_none(), "it is there");
        Ok(())
    })
    .await?;
    let lived = live_without(scenario).await;
    // Whoever comes next needs it, whatever became of this one.
    scenario
        .suite()
        .apply_definition(definition_of(MODULE_KIND)?)
        .await?;
    lived?;
    let module = scenario.module("late");
    module
        .create(json!({"role": "Active", "source": {"builtIn": {}}}))
        .await?;
    module.becomes(ModulePhase::InRole, &["decides"]).await?;
    Ok(())
}

async fn live_without(scenario: &mut Scenario) -> Result<()> {
    scenario.start_operator().await?;
    scenario.create_healthy("plain", spec::in_pods(1)).await?;
    let log = std::fs::read_to_string(scenario.folder().join("operator.log"))?;
    let said = log.matches("has no ReconcilerModules").count();
    ensure!(said == 1, "the log says so {said} times");
    Ok(())
}
