//! The real kubectl against one cluster: what a person would type, with its complaint when it fails.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A kubectl and the cluster it talks to.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program.
    pub program: PathBuf,
    /// The kubeconfig; the environment's when there is none.
    pub kubeconfig: Option<PathBuf>,
}

impl Kubectl {
    /// Runs it and answers what it printed.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.run_with_input(arguments, "").await
    }

    /// Runs it with `input` on its standard input and answers what it printed.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let shown = format!("kubectl {}", arguments.join(" "));
        let mut command = Command::new(&self.program);
        if let Some(kubeconfig) = &self.kubeconfig {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early closes its input; its own complaint says more than ours.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child
            .wait_with_output()
            .await
            .with_context(|| format!("`{shown}` was lost"))?;
        if !output.status.success() {
            bail!(
                "`{shown}` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
