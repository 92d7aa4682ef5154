//! How many simulated histories a minute are made and judged, on all processors of the machine.
//!
//! By the very test of `make check`, with other seeds for each sample.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tests::{cargo, pace};
use tokio::process::Command;

use crate::figure::{Aim, Figure};
use crate::part::Bench;

/// Histories of one sample: enough that the start does not count.
const HISTORIES: u64 = 20_000;

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut rates = Vec::new();
    for sample in 0..bench.samples {
        let first = u64::try_from(sample)? * HISTORIES + 1;
        rates.push(rate(first).await?);
    }
    Ok(vec![
        Figure::median(pace::HISTORIES, "histories", rates).aiming_at(Aim::AtLeast(pace::AIM)),
    ])
}

/// Runs the histories from this seed on; what the test says of their pace.
async fn rate(first: u64) -> Result<f64> {
    let test = Command::from(cargo::command("cargo"))
        .args(["test", "--quiet", "--profile", "proof"])
        .args(["--package", "decide", "--test", "decide", "--"])
        .args(["--exact", "no_history_breaks_a_promise", "--nocapture"])
        .env("SIMULATOR_HISTORIES", HISTORIES.to_string())
        .env("SIMULATOR_FIRST_SEED", first.to_string())
        .stdin(Stdio::null())
        .output()
        .await
        .context("cargo cannot be started")?;
    let told = String::from_utf8_lossy(&test.stdout);
    ensure!(
        test.status.success(),
        "the histories fail:\n{told}{}",
        String::from_utf8_lossy(&test.stderr)
    );
    pace::told(&told).with_context(|| format!("the test says no pace: {told}"))
}
