//! The suite `cluster`: what the operator does on a real Kubernetes, with real nodes, disks and members of etcd.
//!
//! Each scenario has a namespace and an operator of its own. Those that disturb nobody run side by side; those that hurt
//! a node or the API server run alone; the last one replays the recordings of all the others.

mod adopt;
mod answers;
mod asked;
mod backup;
mod bad_input;
mod beside;
mod birth;
mod chart;
mod clocks;
mod consent;
mod consistency;
mod coreos;
mod corrupt;
mod crashes;
mod disks;
mod drop_in;
mod edited;
mod emulators;
mod gate;
mod harness;
mod improbable;
#[path = "../decide/linear.rs"]
mod linear;
mod long;
mod members;
mod memory;
mod minio;
#[path = "../replay/model.rs"]
mod model;
mod modules;
mod nodes;
mod operators;
mod recordings;
mod reshape;
mod restarts;
mod restore;
mod rights;
mod saved;
mod scale;
mod scope;
mod serial;
mod settings;
mod space;
mod standing;
mod strangers;
mod surroundings;
mod tap;
mod tls;
mod trouble;
mod unruly;
mod upgrade;
mod users;
mod volumes;
mod worn;
mod writer;
mod zero;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use libtest_mimic::Arguments;
use tests::scenario::{Programs, Suite};
use tests::testbed::{Progress, Testbed, default_name};
use tokio::runtime::Runtime;

use harness::Scenarios;

/// Scenarios at a time: they mostly wait, for two processors all the same.
const AT_A_TIME: usize = 4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("The suite `cluster` cannot run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let runtime = Runtime::new()?;
    let suite = if arguments.list {
        None
    } else {
        Some(runtime.block_on(prepare())?)
    };
    let scenarios = Scenarios::new(&runtime, suite.as_ref());
    let mut has_failed = false;
    for (trials, at_a_time) in [
        (long::leave_out(beside::side_by_side(&scenarios)), AT_A_TIME),
        (serial::alone(&scenarios), 1),
        (serial::afterwards(&scenarios), 1),
    ] {
        let mut arguments = arguments.clone();
        arguments.test_threads = Some(arguments.test_threads.unwrap_or(at_a_time).min(at_a_time));
        has_failed |= libtest_mimic::run(&arguments, trials).has_failed();
    }
    Ok(ExitCode::from(u8::from(has_failed)))
}

/// What the scenarios stand on: the testbed, the operator, the custom resource.
async fn prepare() -> Result<Suite> {
    let progress = Progress::on_stderr();
    let testbed = Testbed::up(&default_name(), &progress)
        .await
        .context("there is no testbed")?;
    let programs = Programs::build().await?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster");
    eprintln!(
        "Recordings, logs and the evidence of failures are in {}",
        folder.display()
    );
    Suite::prepare(testbed, programs, folder).await
}
