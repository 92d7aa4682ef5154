//! Modules that cannot be used, and objects that cannot be: each is refused in words, and what decides stays.

use anyhow::{Result, bail, ensure};
use contract::ModulePhase;
use host::module::digest;
use serde_json::json;
use tests::scenario::{ReconcilerModule, Scenario, spec};
use tests::sealed::marked;

use super::variants::{importing, of_a_newer_schema, trapping};
use super::{from_config_map, is_active, packed, stock};

pub(crate) async fn refused(scenario: &mut Scenario) -> Result<()> {
    let stock = stock(scenario)?;
    let built_in = digest(&stock);
    let cluster = scenario.create_healthy("calm", spec::in_pods(1)).await?;
    refused_by_the_api_server(scenario).await?;

    let module = scenario.module("next");
    let nowhere = from_config_map("Active", "nowhere", &built_in);
    module.create(nowhere).await?;
    // The very module that was asked for is kept, so its source is not needed.
    module
        .becomes(
            ModulePhase::InRole,
            &["copy that was kept", "no ConfigMap nowhere"],
        )
        .await?;
    let other = digest(b"nobody has this");
    module.edit(json!({ "sha256": other })).await?;
    module
        .becomes(
            ModulePhase::Refused,
            &["no ConfigMap nowhere", &built_in, "stays in its role"],
        )
        .await?;
    module
        .awaits_event("ModuleRefused", "no ConfigMap nowhere")
        .await?;
    scenario.put_module("nowhere", &packed(&stock)?).await?;
    module
        .becomes(ModulePhase::Refused, &[&built_in, &other])
        .await?;

    for (name, bytes, words) in [
        ("script", b"#!/bin/sh\n".to_vec(), "not WebAssembly"),
        ("half", stock[..stock.len() / 2].to_vec(), "broken"),
        ("clock", importing()?, "imports wasi:clocks"),
        ("newer", of_a_newer_schema()?, "schema 7 to 7"),
        ("traps", trapping()?, "recorded snapshots are not decided"),
    ] {
        scenario.put_module(name, &packed(&bytes)?).await?;
        let source = json!({"configMap": {"name": name}});
        module
            .edit(json!({"source": source, "sha256": digest(&bytes)}))
            .await?;
        let status = module
            .becomes(ModulePhase::Refused, &[words, "stays in its role"])
            .await?;
        ensure!(
            status.digest.as_ref() == Some(&built_in),
            "{name}: {:?} is in the role",
            status.digest
        );
        is_active(scenario, &built_in).await?;
    }
    let missing = scenario.folder().join("missing.wasm");
    let source = json!({"configMap": null, "file": {"path": missing}});
    module.edit(json!({ "source": source })).await?;
    module
        .becomes(ModulePhase::Refused, &["missing.wasm cannot be read"])
        .await?;
    changed_under_way(scenario, &module, &stock).await?;
    cluster.is_healthy(1).await
}

/// Whoever may write ConfigMaps exchanges no module that is in its role.
async fn changed_under_way(
    scenario: &Scenario,
    module: &ReconcilerModule,
    stock: &[u8],
) -> Result<()> {
    let (ours, theirs) = (marked(stock, "ours")?, marked(stock, "theirs")?);
    scenario.put_module("mutable", &packed(&ours)?).await?;
    let source = json!({"file": null, "configMap": {"name": "mutable"}});
    module
        .edit(json!({"source": source, "sha256": digest(&ours)}))
        .await?;
    module.becomes(ModulePhase::InRole, &["decides"]).await?;
    scenario
        .change_module_source("mutable", &packed(&theirs)?)
        .await?;
    let status = module
        .becomes(
            ModulePhase::InRole,
            &["does not give it any more", &digest(&theirs)],
        )
        .await?;
    ensure!(status.digest == Some(digest(&ours)), "{status:?}");
    is_active(scenario, &digest(&ours)).await?;
    scenario.delete_module_source("mutable").await?;
    module
        .becomes(ModulePhase::InRole, &["any more", "no ConfigMap mutable"])
        .await?;
    is_active(scenario, &digest(&ours)).await
}

async fn refused_by_the_api_server(scenario: &Scenario) -> Result<()> {
    let module = scenario.module("never");
    let zeros = "0".repeat(64);
    let map = json!({"configMap": {"name": "m"}});
    let file = json!({"file": {"path": "/m.wasm"}});
    let both = json!({"configMap": {"name": "m"}, "builtIn": {}});
    for (spec, words) in [
        (
            json!({"role": "Active", "source": map}),
            "sha256 is required",
        ),
        (
            json!({"role": "Shadow", "source": both}),
            "exactly one of builtIn, configMap, file and oci",
        ),
        (
            json!({"role": "Shadow", "source": {}}),
            "exactly one of builtIn, configMap, file and oci",
        ),
        (
            json!({"role": "Canary", "source": file, "sha256": zeros}),
            "a Canary needs it",
        ),
        (
            json!({"role": "Canary", "source": file, "sha256": zeros, "clusters": {}}),
            "a Canary needs it",
        ),
        (
            json!({"role": "Active", "source": file, "sha256": zeros, "clusters": {"matchLabels": {"a": "b"}}}),
            "no other role has it",
        ),
        (
            json!({"role": "Active", "source": file, "sha256": "abc"}),
            "64 digits of lower-case hex",
        ),
        (
            json!({"role": "Shadow", "source": {"file": {"path": "m.wasm"}}}),
            "path is absolute",
        ),
        (
            json!({"role": "Shadow", "source": {"oci": {"reference": "team/module"}}}),
            "reference is REGISTRY/REPOSITORY:TAG",
        ),
        (
            json!({"role": "Shadow", "source": {"oci": {"reference": "https://ghcr.io/m:1"}}}),
            "reference is REGISTRY/REPOSITORY:TAG",
        ),
        (
            json!({"role": "Shadow", "source": file, "signature": {}}),
            "signature names exactly one",
        ),
        (
            json!({"role": "Shadow", "source": file, "signature": {"publicKey": "mine"}}),
            "publicKey is a public key in PEM",
        ),
        (
            json!({"role": "Shadow", "source": file, "signature": {"identity": {"issuer": "accounts.example", "subject": "me"}}}),
            "issuer is the address",
        ),
        (
            json!({"role": "Shadow", "source": file, "signature": {"identity": {"issuer": "https://accounts.example", "subject": ""}}}),
            "subject is who signs",
        ),
        (
            json!({"role": "Shadow", "source": {"builtIn": {}}, "signature": {"secret": {"name": "s"}}}),
            "signature is for modules from elsewhere",
        ),
        (json!({"role": "King", "source": file}), "role"),
    ] {
        let Err(refusal) = module.create(spec.clone()).await else {
            bail!("{spec} was taken")
        };
        ensure!(
            refusal.to_string().contains(words),
            "{words:?} is not in: {refusal}"
        );
    }
    Ok(())
}
