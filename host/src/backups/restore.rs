//! `binnacle backup restore`: asks the operator, by an EtcdRestore, to let a cluster go on from a backup, and follows it.
//!
//! Restores nothing itself: what may be given up for it is the sealed module's to judge and the person's to consent to.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use contract::{EtcdRestoreStatus, ResourceKind, RestorePhase};
use kube::Client;
use kube::api::PostParams;
use kube::core::DynamicObject;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{Opened, Which};
use crate::key::ClusterKey;
use crate::observe;
use crate::operator::in_words;
use crate::output::{self, Format};
use crate::run::runtime;

/// Between two looks at the EtcdRestore.
const LOOK: Duration = Duration::from_secs(1);

/// Arguments of `binnacle backup restore`.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    which: Which,
    /// The EtcdCluster that goes on from the backup; one that does not exist is born from it when it is created
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// Consent to give up what the living cluster has: its id, as `status.clusterId` and the EtcdRestore's condition name it
    #[arg(long, value_name = "CLUSTER-ID")]
    replaces: Option<String>,
    /// Print the EtcdRestore for `kubectl create` instead of creating and following it
    #[arg(long)]
    dry_run: bool,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Creates the EtcdRestore and follows it to its end.
///
/// # Errors
/// The backup cannot be found, the API server refuses, or the restore fails.
pub fn restore(args: RestoreArgs) -> anyhow::Result<()> {
    let RestoreArgs {
        which,
        cluster,
        replaces,
        dry_run,
        output,
    } = args;
    let Which { whose, key } = which;
    runtime()?.block_on(async {
        let opened = whose.open().await?;
        let entry = opened.archive.find(key.as_deref()).await?;
        let mut spec = opened.archive.source(&entry.key)?;
        spec["etcdCluster"] = json!({ "name": cluster });
        if let Some(id) = replaces {
            spec["replaces"] = id.into();
        }
        let Opened {
            client, namespace, ..
        } = opened;
        let wanted = json!({
            "apiVersion": format!("{}/{}", contract::GROUP, contract::VERSION),
            "kind": ResourceKind::EtcdRestore.name(),
            "metadata": {"generateName": format!("{cluster}-"), "namespace": namespace},
            "spec": spec,
        });
        if dry_run {
            return print(&wanted, output);
        }
        let name = create(&client, &namespace, wanted).await?;
        output::note(format_args!(
            "EtcdRestore {namespace}/{name}: {cluster} goes on from {}",
            entry.key
        ));
        let status = tokio::select! {
            status = follow(&client, &namespace, &name) => status?,
            _ = tokio::signal::ctrl_c() => bail!(
                "interrupted: the EtcdRestore {namespace}/{name} goes on without this terminal. Follow it with `kubectl \
                 --namespace {namespace} get etcdrestore {name} --watch`; as long as the members are not stopped it is \
                 taken back with `kubectl --namespace {namespace} delete etcdrestore {name}`"
            ),
        };
        ensure!(
            status.succeeded,
            "the EtcdRestore {namespace}/{name} failed: {}",
            status.reason
        );
        match output {
            Format::Json => output::print_json(&json!({"name": name, "status": status}))?,
            Format::Text => output::print(format_args!(
                "{cluster} has its full size and is healthy, with the data of {}.\n",
                entry.key
            ))?,
        }
        Ok(())
    })
}

fn print(wanted: &Value, output: Format) -> anyhow::Result<()> {
    Ok(match output {
        Format::Text => output::print(serde_yaml::to_string(wanted)?),
        Format::Json => output::print_json(wanted),
    }?)
}

fn key_of(namespace: &str, name: &str) -> ClusterKey {
    ClusterKey::new(ResourceKind::EtcdRestore, namespace, name)
}

async fn create(client: &Client, namespace: &str, wanted: Value) -> anyhow::Result<String> {
    let object: DynamicObject = serde_json::from_value(wanted)?;
    let restores = observe::neighbours(client, &key_of(namespace, ""));
    let created = restores.create(&PostParams::default(), &object).await;
    let created = created
        .map_err(in_words)
        .context("the EtcdRestore cannot be created")?;
    created.metadata.name.context("it was given no name")
}

/// Tells each new phase and each new reason to wait, until it is over.
async fn follow(client: &Client, namespace: &str, name: &str) -> anyhow::Result<EtcdRestoreStatus> {
    let key = key_of(namespace, name);
    let mut told = String::new();
    loop {
        let found = observe::resource(client, &key).await.with_context(|| {
            format!("the EtcdRestore {key} goes on and cannot be followed any more")
        })?;
        let found =
            found.with_context(|| format!("the EtcdRestore {key} was deleted meanwhile"))?;
        let status = Option::<EtcdRestoreStatus>::deserialize(&found.status)?.unwrap_or_default();
        let words = words(&status);
        if words != told {
            output::note(format_args!("  {words}"));
            told = words;
        }
        if status.is_over() {
            return Ok(status);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// How far it is: the phase, and what the operator says of it.
fn words(status: &EtcdRestoreStatus) -> String {
    let phase = match status.phase {
        RestorePhase::None => "waiting for an operator to look at it",
        RestorePhase::Proving => "reading the backup whole, before anything is touched",
        RestorePhase::Waiting => "waiting",
        RestorePhase::Restoring => "restoring",
        RestorePhase::Succeeded => "succeeded",
        RestorePhase::Failed => "failed",
    };
    let newest = status
        .conditions
        .iter()
        .find(|condition| !condition.message.is_empty());
    newest.map_or_else(
        || phase.to_owned(),
        |condition| format!("{phase}: {}", condition.message),
    )
}
