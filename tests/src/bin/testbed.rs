//! The command line of the testbed: up, down, and what lies between.
//!
//! All work is the library's.

#![expect(clippy::print_stdout, reason = "the command line prints")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use tests::testbed::tools::Tool;
use tests::testbed::{DEFAULT_NAME, Progress, Testbed, images, volumes};

/// A real Kubernetes on this machine: a control plane and three nodes.
#[derive(Parser)]
#[command(name = "testbed", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Bring it up, or find it running and mend it.
    Up(Name),
    /// Remove it: processes, namespaces, links, cgroups, data.
    Down(Name),
    /// Say which of its processes run.
    Status(Name),
    /// Build what a testbed needs, or the tools named, into the cache.
    BuildTools {
        /// Tools as NAME-VERSION, for example etcd-3.5.35; none means those that every testbed needs.
        tools: Vec<String>,
    },
    /// Build the operator's image, as an archive, and load it into the nodes if the testbed is up.
    Image {
        #[command(flatten)]
        name: Name,
        /// The operator's program.
        #[arg(long)]
        program: PathBuf,
        /// The image's name.
        #[arg(long, env = "IMAGE", default_value = "binnacle:dev")]
        image: String,
        /// Where the archive goes.
        #[arg(long)]
        archive: PathBuf,
        /// More files, as FROM=TO.
        #[arg(long = "file", value_name = "FROM=TO")]
        files: Vec<String>,
    },
    /// Take the images of an archive into the nodes.
    Load {
        #[command(flatten)]
        name: Name,
        /// A docker or OCI archive.
        archive: PathBuf,
    },
    /// Build etcd's image of a version and take it into the nodes.
    LoadEtcd {
        #[command(flatten)]
        name: Name,
        /// One of those that build-tools knows.
        version: String,
    },
    /// Make volumes available again when their claims are gone; a process of the testbed.
    #[command(hide = true)]
    RecycleVolumes(Name),
}

#[derive(Args)]
struct Name {
    /// The testbed's name; two names never meet.
    #[arg(long, env = "BINNACLE_TESTBED", default_value = DEFAULT_NAME)]
    name: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse().verb).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(verb: Verb) -> Result<()> {
    let progress = Progress::on_stderr();
    match verb {
        Verb::Up(Name { name }) => {
            let testbed = Testbed::up(&name, &progress).await?;
            progress.finish(&format!("testbed {name} is up"));
            println!("export KUBECONFIG={}", testbed.kubeconfig().display());
        }
        Verb::Down(Name { name }) => {
            Testbed::remove(&name, &progress).await?;
            progress.finish(&format!("testbed {name} is gone"));
        }
        Verb::Status(Name { name }) => status(&name).await?,
        Verb::BuildTools { tools } => build_tools(&tools, &progress).await?,
        Verb::Image {
            name: Name { name },
            program,
            image,
            archive,
            files,
        } => {
            let files = files
                .iter()
                .map(|file| file.split_once('=').context("--file is FROM=TO"));
            let files = files.collect::<Result<Vec<_>>>()?;
            let files: Vec<_> = files
                .into_iter()
                .map(|(from, to)| (from.as_ref(), to))
                .collect();
            images::operator(&image, &program, &files, &archive, &progress).await?;
            let testbed = Testbed::find(&name).await?;
            if let Some(testbed) = &testbed {
                testbed.load_image(&archive).await?;
            }
            let loaded = if testbed.is_some() {
                " and is loaded"
            } else {
                ""
            };
            progress.finish(&format!(
                "image {image} is in {}{loaded}",
                archive.display()
            ));
        }
        Verb::Load {
            name: Name { name },
            archive,
        } => {
            find(&name).await?.load_image(&archive).await?;
            progress.finish(&format!("{} is loaded", archive.display()));
        }
        Verb::LoadEtcd {
            name: Name { name },
            version,
        } => {
            find(&name).await?.load_etcd(&version, &progress).await?;
            progress.finish(&format!("etcd {version} is loaded"));
        }
        Verb::RecycleVolumes(Name { name }) => volumes::recycle(&name).await?,
    }
    Ok(())
}

async fn find(name: &str) -> Result<Testbed> {
    Testbed::find(name)
        .await?
        .with_context(|| format!("there is no testbed {name}; `testbed up` makes one"))
}

async fn status(name: &str) -> Result<()> {
    let testbed = find(name).await?;
    for (process, pid) in testbed.processes() {
        match pid {
            Some(pid) => println!("{process:<28} runs as {pid}"),
            None => println!("{process:<28} does not run"),
        }
    }
    println!(
        "kubeconfig {}\nlogs       {}",
        testbed.kubeconfig().display(),
        testbed.logs().display()
    );
    testbed.ready(std::time::Duration::from_secs(2)).await
}

async fn build_tools(tools: &[String], progress: &Progress) -> Result<()> {
    let tools = if tools.is_empty() {
        Tool::needed()?
    } else {
        tools
            .iter()
            .map(|tool| Tool::parse(tool))
            .collect::<Result<Vec<_>>>()?
    };
    for tool in tools {
        println!("{}", tool.ensure(progress).await?.display());
    }
    progress.finish("the tools are built");
    Ok(())
}
