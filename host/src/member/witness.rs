//! `binnacle member witness`: what the etcd of this pod holds, for a rehearsal of a restore. It is left where the kubelet
//! takes a container's last words from.
//!
//! Asks nobody outside of the pod. Compares nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use contract::{Contents, Millis, RehearsalState, names};
use tokio::time::{Instant, sleep};

use crate::error::Chain;
use crate::etcd::Connection;

/// Between two attempts while etcd starts.
const PAUSE: Duration = Duration::from_millis(100);

/// Arguments of `binnacle member witness`.
#[derive(Debug, clap::Args)]
pub struct WitnessArgs {
    /// The revision that etcd is asked about; 0 is its newest
    #[arg(long, value_name = "NUMBER")]
    revision: i64,
    /// How long etcd may take to open its data and to read all of it
    #[arg(long, value_name = "SECONDS")]
    within: u64,
    /// The folder of the member's disk
    #[arg(long, value_name = "DIR", default_value = names::DATA_MOUNT)]
    disk: PathBuf,
    /// Where the answer is written
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log")]
    to: PathBuf,
}

/// Asks etcd and writes down what it says.
///
/// # Errors
/// etcd does not serve that revision in time, or the answer cannot be written.
pub fn witness(args: &WitnessArgs) -> anyhow::Result<()> {
    let WitnessArgs {
        revision,
        within,
        disk,
        to,
    } = args;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let contents = runtime.block_on(ask(*revision, Duration::from_secs(*within)))?;
    let began = fetched(&disk.join(names::FILLING_FOLDER).join(names::FETCHED_FILE));
    let took = began.and_then(|began| SystemTime::now().duration_since(began).ok());
    let took = took.unwrap_or_default().as_millis();
    let answer = RehearsalState::Answered {
        contents,
        took: Millis(i64::try_from(took).unwrap_or(i64::MAX)),
    };
    std::fs::write(to, serde_json::to_vec(&answer)?)
        .with_context(|| format!("{} cannot be written", to.display()))
}

async fn ask(revision: i64, within: Duration) -> anyhow::Result<Contents> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, names::CLIENT_PORT as u16));
    let member = Connection::at(address, None).await?;
    let end = Instant::now() + within;
    loop {
        match member.contents(revision).await {
            Ok(contents) => return Ok(contents),
            Err(error) if Instant::now() >= end => bail!(
                "etcd did not serve the restored data within {} s: {}",
                within.as_secs(),
                Chain(&error)
            ),
            Err(_starting) => sleep(PAUSE).await,
        }
    }
}

/// When the backup began to be fetched, as far as the file system knows.
fn fetched(file: &Path) -> Option<SystemTime> {
    let found = std::fs::metadata(file).ok()?;
    found.created().or_else(|_| found.modified()).ok()
}
