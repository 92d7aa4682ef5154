//! Runs a program to its end and turns its failure into a sentence.
//!
//! Programs that must stay are started by [`super::process`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncWriteExt;

/// A program with its arguments, to be run to its end.
pub(crate) struct Command {
    inner: tokio::process::Command,
    shown: String,
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        Self {
            inner: tokio::process::Command::new(program),
            shown: program.to_string_lossy().into_owned(),
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&arg.as_ref().to_string_lossy());
        self.inner.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.inner.current_dir(folder);
        self
    }

    /// Runs it and answers what it printed; a failure carries what it complained about.
    pub(crate) async fn run(self) -> Result<String> {
        self.run_with_input("").await
    }

    /// As [`Self::run`], with `input` on its standard input.
    pub(crate) async fn run_with_input(mut self, input: &str) -> Result<String> {
        let shown = &self.shown;
        let mut child = self
            .inner
            .stdin(if input.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("`{shown}` cannot be started"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early closes its input; its own complaint says more than ours.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child
            .wait_with_output()
            .await
            .with_context(|| format!("`{shown}` was lost"))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!(
                "`{shown}` failed ({}): {}",
                output.status,
                tail(complaint.trim())
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Finds a program on PATH or where system programs usually lie.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The end of a long complaint; compilers and runtimes say the reason last.
fn tail(text: &str) -> &str {
    const KEPT: usize = 2_000;
    let mut start = text.len().saturating_sub(KEPT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
