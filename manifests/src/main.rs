//! `generate write | check | print`: the committed YAML, or the same for another namespace or image.
#![expect(clippy::print_stdout, reason = "this is a command line")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use manifests::{Installation, objects, stale, write, yaml};

/// Generates the YAML that installs Binnacle.
#[derive(Parser)]
struct Arguments {
    /// The top of the checkout.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write all generated files.
    Write,
    /// Say which files `write` would change, and fail if there are any.
    Check,
    /// Print one installation, for `kubectl apply --filename -`.
    Print {
        /// The namespace that the operator runs in and looks after.
        #[arg(long, default_value = "default")]
        namespace: String,
        /// The operator's image.
        #[arg(long, default_value = "binnacle:dev")]
        image: String,
    },
}

fn main() -> Result<ExitCode> {
    let Arguments { root, verb } = Arguments::parse();
    match verb {
        Verb::Write => {
            for file in write(&root)? {
                println!("wrote {}", file.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Check => {
            let stale = stale(&root)?;
            for file in &stale {
                println!(
                    "{} is not what the generator writes; run `make generate`",
                    file.display()
                );
            }
            Ok(ExitCode::from(u8::from(!stale.is_empty())))
        }
        Verb::Print { namespace, image } => {
            print!("{}", yaml(&objects(&Installation { namespace, image })?)?);
            Ok(ExitCode::SUCCESS)
        }
    }
}
