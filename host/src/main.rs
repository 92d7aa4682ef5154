//! The binary `binnacle`.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::args::Args::read().execute()
}
