//! The SDK's own tests of a bundle, each in a pod, as whoever takes a bundle into a catalog runs them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::testbed::tools::Tool;
use tests::testbed::{Progress, images};
use tokio::process::Command;

use crate::Ground;

/// How many there are.
const TESTS: usize = 6;

/// All six pass, in a namespace that lets in restricted pods alone.
pub(crate) async fn passed(ground: &Ground) -> Result<()> {
    let progress = Progress::silent();
    let archive = images::olm::scorecard(&progress).await?;
    ground.testbed.load_image(&archive).await?;
    let namespace = ground.testbed.namespace("olm-scorecard").await?;
    let sdk = Tool::parse("operator-sdk-1.42.3")?
        .ensure(&progress)
        .await?
        .join("operator-sdk");
    let release = ground.publication.release("0.4.0")?;
    let output = Command::new(sdk)
        .arg("scorecard")
        .arg(&release.folder)
        .arg("--kubeconfig")
        .arg(ground.testbed.kubeconfig())
        .args(["--namespace", namespace.name()])
        .args(["--untar-image", images::olm::SCORECARD])
        .args(["--pod-security", "restricted"])
        .args(["--wait-time", "180s", "--output", "json"])
        .output()
        .await
        .context("operator-sdk cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    let list: Value = serde_json::from_str(&text).with_context(|| format!("{text}{told}"))?;
    let results: Vec<&Value> = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["status"]["results"].as_array())
        .flatten()
        .collect();
    for result in &results {
        eprintln!("scorecard: {} {}", result["name"], result["state"]);
    }
    let have_passed = results.iter().all(|result| result["state"] == "pass");
    ensure!(results.len() == TESTS && have_passed, "{text}{told}");
    Ok(())
}
