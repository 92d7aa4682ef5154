//! The validators that public catalogs run, on the committed releases and on four that this source makes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use manifests::Table;
use serde_json::Value;

use crate::{four, root, run};

/// Warnings that docs/channels.md explains: the names of the channels, and a rule for events whose group the validator takes
/// for the version of it that is gone.
const ACCEPTED: [&str; 2] = [
    "channels are not following the recommended naming convention",
    "Migrate the API(s) for events",
];
/// Files of all bundles together may fill one ConfigMap.
const MOST_KIB: usize = 1024;

/// The committed bundle that follows the sources.
fn committed() -> Result<PathBuf> {
    let table = Table::read(&root()).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
    let newest = table.newest().context("there is no release")?;
    Ok(root().join("bundle").join(newest.version.to_string()))
}

#[tokio::test]
async fn opm_takes_the_catalogs() -> Result<()> {
    let made = four("catalogs")?.write_catalog()?;
    for configs in [root().join("catalog/configs"), made] {
        run(
            "opm-1.73.0",
            "opm",
            &["validate", &configs.display().to_string()],
        )
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_bundles_have_no_error_and_no_warning_but_those_that_are_explained() -> Result<()> {
    let four = four("bundles")?;
    let made = four.all().iter().map(|one| one.folder.clone());
    for folder in made.chain([committed()?]) {
        judge(&folder)
            .await
            .with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

async fn judge(folder: &Path) -> Result<()> {
    let folder = folder.display().to_string();
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
    Ok(())
}

#[tokio::test]
async fn a_bundle_fits_into_the_config_map_that_olm_makes_of_it() -> Result<()> {
    for one in four("sizes")?.all() {
        let kib = one.bundle.bytes().div_ceil(1024);
        eprintln!("bundle_kib {kib}");
        ensure!(kib <= MOST_KIB, "{kib} KiB of {MOST_KIB}");
    }
    Ok(())
}

/// What our catalog says of a bundle is what opm would say of it.
#[tokio::test]
async fn opm_renders_a_bundle_as_the_catalog_shows_it() -> Result<()> {
    let releases = four("rendered")?;
    let configs = releases.write_catalog()?.display().to_string();
    let ours = documents(&run("opm-1.73.0", "opm", &["render", &configs, "--output=json"]).await?)?;
    for release in releases.all() {
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

/// The JSON documents of a stream.
fn documents(text: &str) -> Result<Vec<Value>> {
    Ok(serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()?)
}
