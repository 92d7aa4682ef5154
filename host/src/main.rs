//! The binary `binnacle`.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    host::args::Args::parse().execute()
}
