//! The suite `packaging`: bundle, catalog and chart before the tools of those who read them, without a Kubernetes.
//!
//! The tools are the real ones, built when they are first asked for.

mod chart;
mod definitions;
mod validators;

use std::path::{Path, PathBuf};

use anyhow::Result;
use tests::olm::Releases;
use tests::program;
use tests::testbed::Progress;
use tests::testbed::tools::Tool;

/// Where the four releases say that their operator lies.
const IMAGE: &str = "registry.example/binnacle@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The top of the checkout.
fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_path_buf()
}

/// Four releases in a folder that only the test of this name has.
fn four(test: &str) -> Result<Releases> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Releases::four(&folder.join("packaging").join(test), IMAGE)
}

/// Runs a program of a tool and answers what it printed.
async fn run(tool: &str, name: &str, arguments: &[&str]) -> Result<String> {
    let folder = Tool::parse(tool)?.ensure(&Progress::on_stderr()).await?;
    program::output(&folder.join(name), arguments).await
}
