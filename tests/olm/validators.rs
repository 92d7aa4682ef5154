//! The validators that public catalogs run, on what this source generates.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::testbed::Progress;
use tests::testbed::tools::Tool;
use tokio::process::Command;

use crate::Ground;

/// Warnings that docs/channels.md explains: the names of the channels, and a rule for events whose group the validator takes
/// for the version of it that is gone.
const ACCEPTED: [&str; 2] = [
    "channels are not following the recommended naming convention",
    "Migrate the API(s) for events",
];

/// opm, operator-verify and the SDK, on catalog and newest bundle.
pub(crate) async fn all(ground: &Ground) -> Result<()> {
    let configs = ground.publication.configs.display().to_string();
    run("opm-1.73.0", "opm", &["validate", &configs]).await?;
    let newest = ground.publication.release("0.4.0")?;
    let folder = newest.folder.display().to_string();
    run(
        "operator-verify-0.45.0",
        "operator-verify",
        &["manifests", &folder],
    )
    .await?;
    let text = run(
        "operator-sdk-1.42.3",
        "operator-sdk",
        &[
            "bundle",
            "validate",
            &folder,
            "--select-optional",
            "suite=operatorframework",
            "--optional-values=k8s-version=1.36",
            "--output",
            "json-alpha1",
        ],
    )
    .await?;
    let result: Value = serde_json::from_str(&text).with_context(|| format!("no JSON: {text}"))?;
    ensure!(result["passed"] == true, "{result:#}");
    let unexpected: Vec<_> = result["outputs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["type"] != "info")
        .filter(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            !ACCEPTED.iter().any(|accepted| message.contains(accepted))
        })
        .collect();
    ensure!(unexpected.is_empty(), "{unexpected:#?}");
    eprintln!("bundle_kib {}", newest.bundle.bytes().div_ceil(1024));
    Ok(())
}

/// What our catalog says of a bundle is what opm would say of it.
pub(crate) async fn rendered(ground: &Ground) -> Result<()> {
    let configs = ground.publication.configs.display().to_string();
    let ours = documents(&run("opm-1.73.0", "opm", &["render", &configs, "--output=json"]).await?)?;
    for release in &ground.publication.releases {
        let folder = release.folder.display().to_string();
        let rendered = run(
            "opm-1.73.0",
            "opm",
            &[
                "render",
                &folder,
                "--alpha-image-ref-template",
                "placeholder",
                "--migrate-level",
                "bundle-object-to-csv-metadata",
                "--output=json",
            ],
        )
        .await?;
        let mut theirs = documents(&rendered)?
            .pop()
            .context("opm rendered nothing")?;
        let name = release.release.name();
        let mut ours = ours
            .iter()
            .find(|one| one["schema"] == "olm.bundle" && one["name"] == name.as_str())
            .cloned()
            .with_context(|| format!("{name} is not in the catalog"))?;
        for one in [&mut ours, &mut theirs] {
            one["image"] = Value::Null;
            let images = one["relatedImages"]
                .as_array_mut()
                .context("no related images")?;
            // The bundle's own has no name, and a template gives it another reference.
            images.retain(|image| image["name"] != "");
            let properties = one["properties"].as_array_mut().context("no properties")?;
            properties
                .sort_by_key(|one| (one["type"].to_string(), one["value"]["kind"].to_string()));
        }
        ensure!(ours == theirs, "{name}: ours {ours:#}\nopm's {theirs:#}");
    }
    Ok(())
}

/// Runs a tool and answers what it printed.
async fn run(tool: &str, program: &str, arguments: &[&str]) -> Result<String> {
    let program: PathBuf = Tool::parse(tool)?
        .ensure(&Progress::silent())
        .await?
        .join(program);
    let output = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .with_context(|| format!("{} cannot be started", program.display()))?;
    let (out, complaint) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    ensure!(
        output.status.success(),
        "{} {}: {out}{complaint}",
        program.display(),
        arguments.join(" ")
    );
    Ok(out.into_owned())
}

/// The JSON documents of a stream.
fn documents(text: &str) -> Result<Vec<Value>> {
    Ok(serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()?)
}
