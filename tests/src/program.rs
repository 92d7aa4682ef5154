//! Runs a program to its end and answers what it printed, or its complaint.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

/// What the program printed. One that fails is an error with all that it said.
pub async fn output(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
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
