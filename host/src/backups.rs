//! `binnacle backup`: the stored backups of an EtcdBackup, for a person at a terminal.
//!
//! Lists, fetches and proves them with the person's own rights: they need to read the EtcdBackup and the Secret it names,
//! and the store must be in reach from here.

mod get;
mod list;
mod restore;
mod verify;

use kube::Client;

use crate::backup::{self, Archive};
use crate::operator::Reach;

pub use get::{GetArgs, get};
pub use list::{ListArgs, list};
pub use restore::{RestoreArgs, restore};
pub use verify::{VerifyArgs, verify};

/// Which EtcdBackup is meant, and where.
#[derive(Debug, clap::Args)]
struct Whose {
    /// The EtcdBackup
    name: String,
    /// Its namespace; without it, that of the kubeconfig
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// Which of its backups is meant.
#[derive(Debug, clap::Args)]
struct Which {
    #[command(flatten)]
    whose: Whose,
    /// The backup's name in the bucket, as `binnacle backup ls` prints it; without it, the newest
    #[arg(long)]
    key: Option<String>,
}

/// What was opened.
struct Opened {
    archive: Archive,
    client: Client,
    namespace: String,
}

impl Whose {
    async fn open(self) -> anyhow::Result<Opened> {
        let Self {
            name,
            namespace,
            reach,
        } = self;
        let (client, namespace) = reach.client(namespace).await?;
        backup::prepare();
        let archive = Archive::open(&client, &namespace, &name).await?;
        Ok(Opened {
            archive,
            client,
            namespace,
        })
    }
}
