//! The figures of docs/benchmarks.md, measured on the testbed in one run, into `bench.json` of the target folder.
//!
//! Ratios are to a yardstick of the same run. Judges nothing: whether a figure is good is for people.

mod backups;
mod births;
mod decisions;
mod disks;
mod figure;
#[path = "../cluster/gate.rs"]
#[expect(dead_code, reason = "figures need less of it than scenarios")]
mod gate;
mod histories;
mod losses;
mod memory;
#[path = "../cluster/minio.rs"]
#[expect(dead_code, reason = "figures need less of it than scenarios")]
mod minio;
mod part;
mod proxy;
mod replays;
mod restores;
mod sight;
mod sizes;
mod swaps;
mod upgrades;
#[path = "../cluster/writer.rs"]
#[expect(dead_code, reason = "figures need less of it than scenarios")]
mod writer;
mod writes;
mod yardstick;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use tests::operator::Build;
use tests::scenario::{Programs, Suite};
use tests::testbed::{Progress, Testbed, default_name};

use part::{Bench, Part};

/// Measures the figures of docs/benchmarks.md.
#[derive(Parser)]
struct Arguments {
    /// Only the parts that measure a figure of this name, or of names that begin so. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How often each is measured.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    samples: u16,
    /// Measures the operator that stands beside this program, built as this one is, instead of a release: with
    /// `cargo bench --profile dev`, to see in minutes whether all of it can be measured at all.
    #[arg(long)]
    as_built: bool,
    /// cargo says so to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("The figures cannot be measured: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every part could be measured.
async fn run(arguments: &Arguments) -> Result<bool> {
    let parts = Part::chosen(&arguments.only)?;
    let progress = Progress::on_stderr();
    let testbed = Testbed::up(&default_name(), &progress)
        .await
        .context("there is no testbed")?;
    progress.finish("the testbed is up");
    let programs = if arguments.as_built {
        Programs::build().await?
    } else {
        let build = Build::make().await?;
        Programs {
            program: build.program,
            module: build.module,
        }
    };
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let suite = Suite::prepare(testbed, programs, temporary.join("bench")).await?;
    let mut bench = Bench::new(suite, usize::from(arguments.samples));

    let file = temporary.parent().unwrap_or(temporary).join("bench.json");
    let mut figures = Vec::new();
    let mut is_whole = true;
    for part in parts {
        eprintln!("Measuring {}", part.figures().join(", "));
        match part.measure(&mut bench).await {
            Ok(measured) => figures.extend(measured),
            // The others are worth having all the same.
            Err(error) => {
                eprintln!(
                    "{} cannot be measured: {error:#}",
                    part.figures().join(", ")
                );
                is_whole = false;
            }
        }
        std::fs::write(&file, serde_json::to_vec_pretty(&figures)?)?;
    }
    eprint!("\n{}", figure::table(&figures));
    eprintln!("Written to {}", file.display());
    Ok(is_whole)
}
