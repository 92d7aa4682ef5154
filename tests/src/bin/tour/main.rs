//! `make run`: a Kubernetes, the operator in it, a cluster that becomes healthy, a key written and read.
//!
//! Each step finds what an earlier run left, so that a second run takes seconds. Decides nothing about etcd.
#![expect(clippy::print_stdout, reason = "this is a command line")]

mod farewell;
mod ground;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use manifests::Installation;
use tests::operator::{self, Build};
use tests::testbed::{Progress, Testbed, default_name};

use ground::Ground;

/// How long the operator may take to run on a machine that is busy.
const OPERATOR_READY_WITHIN: Duration = Duration::from_secs(120);

/// Shows Binnacle at work on a real Kubernetes.
#[derive(Parser)]
enum Verb {
    /// Bring up what is missing and watch a cluster become healthy.
    Run,
    /// Remove the Kubernetes that `run` started, and all in it.
    Stop,
    /// Build the operator's image, as an archive.
    Image {
        /// The image's name.
        #[arg(long, env = "IMAGE", default_value = "binnacle:dev")]
        image: String,
        /// Where the archive goes.
        #[arg(long, default_value = "binnacle.tar")]
        archive: PathBuf,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Verb::parse() {
        Verb::Run => run().await,
        Verb::Stop => stop().await,
        Verb::Image { image, archive } => build_image(&image, &archive).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let started = Instant::now();
    heading(1, "A Kubernetes");
    let ground = Ground::find().await?;
    println!("  {}", ground.title());

    heading(2, "The operator, its sealed module, its image");
    let image = ground.image().await?;
    println!("  {image}");

    heading(3, "Its installation");
    let installation = Installation {
        namespace: ground::NAMESPACE.to_owned(),
        image,
    };
    operator::install(ground.kubectl(), &installation).await?;
    operator::ready(
        &ground.client(),
        &installation.namespace,
        &installation.image,
        OPERATOR_READY_WITHIN,
    )
    .await?;
    println!(
        "  deployment/binnacle is ready in namespace {}",
        installation.namespace
    );

    heading(4, "An etcd cluster of three members");
    let cluster = story::watch(&ground).await?;

    heading(5, "A key, through the cluster's Service");
    farewell::write_and_read(&ground, &cluster).await?;
    farewell::say(&ground, &cluster, started.elapsed());
    Ok(())
}

async fn stop() -> Result<()> {
    let progress = Progress::on_stderr();
    Testbed::remove(&default_name(), &progress).await?;
    progress
        .finish("Nothing of `make run` is left. Built tools stay in the cache for the next time.");
    Ok(())
}

async fn build_image(image: &str, archive: &std::path::Path) -> Result<()> {
    let build = Build::make().await?;
    build
        .archive_as(image, archive, &Progress::silent())
        .await?;
    println!("{image} is in {}", archive.display());
    Ok(())
}

fn heading(number: u8, what: &str) {
    println!("\n[{number}/5] {what}");
}
