//! A module out of a registry: by a tag and a login, Shadow and then Active by its digest; the tag is moved, the registry goes
//! away, the operator is restarted; and operators that want signatures of a key, and of an identity.

use anyhow::{Context, Result, ensure};
use contract::ModulePhase;
use fulcio::Sigstore;
use host::module::digest;
use host::signature::PublicKey;
use serde_json::{Value, json};
use tests::registry::Registry;
use tests::scenario::{Scenario, spec};
use tests::sealed::marked;
use tokio::process::Command;

use super::signer::{Signer, put_bundle, statement};
use super::{is_active, stock};

/// Name of the Secret with the login.
const PULL_SECRET: &str = "registry";
/// Whose identity signs, and who vouches for it.
const SUBJECT: &str = "release@example.com";
const ISSUER: &str = "https://accounts.example";

pub(crate) async fn from_registry(scenario: &mut Scenario) -> Result<()> {
    let stock = stock(scenario)?;
    let [first, second] = [marked(&stock, "first")?, marked(&stock, "second")?];
    let mut registry = Registry::start(&scenario.folder().join("registry"), true).await?;
    let cluster = scenario.create_healthy("kept", spec::on_volumes(1)).await?;
    let tag = registry.repository("team/module:1");
    let pushed = push(scenario, &registry, "first.wasm", &first, &tag).await?;

    // What the verb prints is applied as it is; whoever may not read is told what is missing.
    let object = pushed["object"].to_string();
    scenario
        .kubectl_with_input(&["apply", "--server-side", "--filename", "-"], &object)
        .await?;
    let next = scenario.module("next");
    next.becomes(
        ModulePhase::Refused,
        &["may not be read without a login", "pullSecret"],
    )
    .await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": PULL_SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": registry.docker_config()},
    });
    let secret = secret.to_string();
    scenario
        .kubectl_with_input(&["apply", "--server-side", "--filename", "-"], &secret)
        .await?;

    let oci = json!({"reference": tag, "pullSecret": PULL_SECRET});
    next.edit(json!({"source": {"oci": oci}})).await?;
    let status = next.becomes(ModulePhase::InRole, &["not followed"]).await?;
    let artifact = pushed["artifact"].as_str().context("an artifact")?;
    ensure!(status.artifact.as_deref() == Some(artifact), "{status:?}");
    eprintln!("{}", scenario.kubectl(&["get", "rmod"]).await?);

    next.edit(json!({"role": "Active"})).await?;
    next.becomes(ModulePhase::InRole, &["decides."]).await?;
    is_active(scenario, &digest(&first)).await?;
    next.decides(1).await?;

    // Whoever moves the tag exchanges nothing.
    push(scenario, &registry, "second.wasm", &second, &tag).await?;
    let status = next
        .becomes(
            ModulePhase::InRole,
            &["does not give it any more", &digest(&second)],
        )
        .await?;
    ensure!(status.digest == Some(digest(&first)), "{status:?}");
    eprintln!("{}", status.conditions[0].message);

    registry.stop().await?;
    scenario.kill_operator().await?;
    scenario.start_operator().await?;
    is_active(scenario, &digest(&first)).await?;
    let status = next
        .becomes(
            ModulePhase::InRole,
            &["copy that was kept", "cannot be reached"],
        )
        .await?;
    eprintln!("{}", status.conditions[0].message);
    cluster
        .delete_pod(&cluster.member_names().await?.concat())
        .await?;
    cluster.becomes_healthy(1).await?;
    next.decides(1).await?;
    registry.resume().await?;
    scenario.stop_operator().await?;
    signed(scenario, &registry, &first).await?;
    identified(scenario, &registry, &first).await
}

/// From one start to the next the operator wants signatures: not even the kept copy goes on without one.
async fn signed(scenario: &Scenario, registry: &Registry, module: &[u8]) -> Result<()> {
    let signer = Signer::new()?;
    let key = scenario.folder().join("cosign.pub");
    std::fs::write(&key, signer.public_key())?;
    let fingerprint = PublicKey::parse(&signer.public_key()).map_err(anyhow::Error::msg)?;
    let fingerprint = fingerprint.fingerprint().to_owned();
    let key = key.to_str().context("a path of letters")?;
    let namespace = scenario.namespace();
    let serving = [
        "--watch-namespace",
        namespace,
        "--module-signature-key",
        key,
    ];
    let operator = scenario.operator_serving(&serving).await?;
    let next = scenario.module("next");
    let status = next
        .becomes(
            ModulePhase::Refused,
            &["started with decides", "tried again"],
        )
        .await?;
    ensure!(status.digest.is_none(), "{status:?}");

    let tag = registry.repository("team/module:2");
    let pushed = push(scenario, registry, "first.wasm", module, &tag).await?;
    next.edit(json!({"source": {"oci": {"reference": tag}}}))
        .await?;
    let status = next
        .becomes(
            ModulePhase::Refused,
            &[
                "not signed as the operator's --module-signature-key asks for it",
                &fingerprint,
            ],
        )
        .await?;
    eprintln!("{}", status.conditions[0].message);
    let manifest = pushed["manifest"].as_str().context("a digest")?;
    Signer::new()?
        .sign(registry, "team/module", manifest)
        .await?;
    next.becomes(
        ModulePhase::Refused,
        &["no signature beside it is of this key"],
    )
    .await?;
    signer
        .sign_in_bundle(registry, "team/module", manifest)
        .await?;
    let status = next.becomes(ModulePhase::InRole, &["decides."]).await?;
    ensure!(status.signed_by == [fingerprint], "{status:?}");
    operator.stop().await
}

/// The same for an identity without a key, which an authority of this test's own certifies.
async fn identified(scenario: &Scenario, registry: &Registry, module: &[u8]) -> Result<()> {
    let sigstore = Sigstore::new();
    let roots = scenario.folder().join("trusted_root.json");
    std::fs::write(&roots, sigstore.trusted_root())?;
    let serving = [
        "--watch-namespace",
        scenario.namespace(),
        "--module-signature-trusted-root",
        roots.to_str().context("a path of letters")?,
        "--module-signature-issuer",
        ISSUER,
        "--module-signature-subject",
        SUBJECT,
    ];
    let operator = scenario.operator_serving(&serving).await?;
    let repository = "team/identity";
    let tag = registry.repository(&format!("{repository}:1"));
    let pushed = push(scenario, registry, "first.wasm", module, &tag).await?;
    let manifest = pushed["manifest"].as_str().context("a digest")?;
    let next = scenario.module("next");
    next.edit(json!({"source": {"oci": {"reference": tag}}}))
        .await?;
    let rule = "not signed as the operator's --module-signature-subject asks for it";
    next.becomes(ModulePhase::Refused, &[rule, "no signature beside it"])
        .await?;
    for subject in ["mallory@example.com", SUBJECT] {
        let statement = statement(manifest)?;
        let signature = sigstore.sign(ISSUER, subject, &fulcio::envelope(&statement));
        let bundle = signature.statement(&sigstore, &statement);
        put_bundle(registry, repository, manifest, bundle.into_bytes()).await?;
        if subject != SUBJECT {
            let status = next
                .becomes(ModulePhase::Refused, &[rule, "identity mismatch"])
                .await?;
            eprintln!("{}", status.conditions[0].message);
        }
    }
    let status = next.becomes(ModulePhase::InRole, &["decides."]).await?;
    ensure!(
        status.signed_by == [format!("{SUBJECT} by {ISSUER}")],
        "{status:?}"
    );
    operator.stop().await
}

/// As a person does it, with the login that `docker login` left.
async fn push(
    scenario: &Scenario,
    registry: &Registry,
    file: &str,
    bytes: &[u8],
    reference: &str,
) -> Result<Value> {
    let path = scenario.folder().join(file);
    std::fs::write(&path, bytes)?;
    let docker = scenario.folder().join("docker");
    std::fs::create_dir_all(&docker)?;
    std::fs::write(docker.join("config.json"), registry.docker_config())?;
    let mut command = Command::new(&scenario.suite().programs.program);
    command
        .args(["module", "push"])
        .arg(&path)
        .args([reference, "--plain-http", "--name", "next"])
        .env("DOCKER_CONFIG", docker);
    let told = command.output().await?;
    ensure!(
        told.status.success(),
        "binnacle module push: {}",
        String::from_utf8_lossy(&told.stderr)
    );
    eprintln!("{}", String::from_utf8_lossy(&told.stdout));
    let output = command.args(["--output", "json"]).output().await?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
