//! Definitions of custom resources only grow from release to release: OLM v1 judges them by crdify before it upgrades, and
//! stored objects must stay valid under OLM v0, too.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::olm::Releases;

use crate::{IMAGE, four, root, run};

const CRDIFY: &str = "crdify-0.5.0";

/// Compares the definitions of a bundle with those of the next.
async fn compare(older: &Path, newer: &Path) -> Result<usize> {
    let mut compared = 0;
    for entry in fs::read_dir(older.join("manifests"))? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if name.ends_with("customresourcedefinition.yaml") {
            let [older, newer] = [older, newer]
                .map(|folder| format!("file://{}/manifests/{name}", folder.display()));
            let rules = format!("{}/packaging/crdify.yaml", env!("CARGO_MANIFEST_DIR"));
            run(CRDIFY, "crdify", &["--config", &rules, &older, &newer]).await?;
            compared += 1;
        }
    }
    Ok(compared)
}

#[tokio::test]
async fn each_release_takes_what_the_one_before_stored() -> Result<()> {
    let four = four("definitions")?;
    let releases: Vec<_> = four.all().iter().map(|one| one.folder.clone()).collect();
    // Those that were published once; the last one follows the sources.
    let table = manifests::Table::read(&root()).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
    let committed = table.releases.iter().map(|release| {
        let version = release.version.to_string();
        root().join("bundle").join(version)
    });
    let mut compared = 0;
    for all in [releases, committed.collect()] {
        for pair in all.windows(2) {
            compared += compare(&pair[0], &pair[1]).await?;
        }
    }
    ensure!(compared >= 12, "only {compared} definitions were compared");
    Ok(())
}

#[tokio::test]
async fn a_narrower_definition_is_found_out() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packaging/narrower");
    let mut releases = Releases::new(&folder)?;
    let older = releases
        .add("0.1.0", IMAGE.to_owned(), |_, _| ())?
        .folder
        .clone();
    let newer = releases.add("0.2.0", IMAGE.to_owned(), |_, object| {
        if object["spec"]["names"]["kind"] == "EtcdCluster" {
            let schema = &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let spec = &mut schema["properties"]["spec"];
            spec["description"] = json!("Words may change.");
            spec["properties"]["size"]["maximum"] = json!(3);
        }
    })?;
    let newer = newer.folder.clone();
    let refused = compare(&older, &newer).await;
    let words = format!("{:#}", refused.err().context("it was not found out")?);
    ensure!(
        words.contains("maximum - ERROR") && words.matches("ERROR").count() == 1,
        "{words}"
    );
    Ok(())
}

/// What a bundle needs so that OLM v1 installs it, too, beyond definitions that grow.
#[tokio::test]
async fn the_bundle_asks_for_nothing_that_a_cluster_extension_lacks() -> Result<()> {
    let four = four("v1")?;
    let newest = four.release("0.4.0")?;
    let objects = newest.bundle.objects()?;
    let csv = objects.first().context("the bundle is empty")?;
    let all = json!({"type": "AllNamespaces", "supported": true});
    let modes = csv["spec"]["installModes"].as_array();
    ensure!(
        modes.is_some_and(|modes| modes.contains(&all)),
        "AllNamespaces is not supported"
    );
    for absent in [
        "/spec/apiservicedefinitions",
        "/spec/webhookdefinitions",
        "/spec/customresourcedefinitions/required",
        "/spec/install/spec/clusterPermissions",
    ] {
        ensure!(csv.pointer(absent).is_none(), "{absent} is there");
    }
    let files: Vec<_> = newest.bundle.files.keys().collect();
    ensure!(
        !files.iter().any(|file| file.ends_with("dependencies.yaml")),
        "it has dependencies: {files:?}"
    );
    for definition in &objects[1..] {
        let conversion = definition.pointer("/spec/conversion/strategy");
        ensure!(
            conversion.and_then(Value::as_str).unwrap_or("None") == "None",
            "{} converts by {conversion:?}",
            definition["metadata"]["name"]
        );
    }
    Ok(())
}
