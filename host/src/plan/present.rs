//! The present state of the cluster that is planned about, with the edit in it, and the module that decides.
//!
//! Everything but the resource is of the operator's last recorded look: nobody else can ask etcd.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use contract::{
    Dialect, EtcdClusterSpec, Objects, Observed, Resource, ResourceKind, Snapshot, TlsRole,
    TlsSecrets,
};
use kube::Client;
use serde::Deserialize as _;

use super::edit::{Edit, Edited};
use crate::key::ClusterKey;
use crate::module::{Source, digest};
use crate::observe::{self, at_this_instant};
use crate::operator::{self, Latest, Reach};
use crate::output;
use crate::recorder::{Record, Recording, kept_module, recordings};

/// Where the present state is to be had.
pub(super) enum Whence {
    Recording(PathBuf),
    Operator {
        reach: Reach,
        namespace: Option<String>,
    },
}

/// What a plan begins with.
pub(super) struct Present {
    /// As it was seen last, with the edited resource.
    pub(super) snapshot: Snapshot,
    /// The spec before the edit; none where there is no such cluster yet.
    pub(super) before: Option<Resource>,
    /// The module's bytes.
    pub(super) module: Vec<u8>,
}

impl Present {
    pub(super) async fn find(
        whence: Whence,
        edit: Edit,
        module: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let named = module.map(|path| Source::find(Some(path))).transpose()?;
        let named = named.map(|source| source.bytes);
        match whence {
            Whence::Recording(path) => recorded(&path, edit, named),
            Whence::Operator { reach, namespace } => living(reach, namespace, edit, named).await,
        }
    }
}

fn recorded(path: &Path, edit: Edit, named: Option<Vec<u8>>) -> anyhow::Result<Present> {
    let mut last: Option<(Record, Option<Vec<u8>>)> = None;
    for file in recordings(path)? {
        let mut recording = Recording::open(&file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                let record = record?;
                let is_newer = last.as_ref().is_none_or(|(last, _)| last.now <= record.now);
                if is_newer && is_of(&record, edit.dialect, &edit.name, edit.namespace.as_deref()) {
                    last = Some((record, None));
                }
            }
        }
        if let Some((record, module @ None)) = &mut last {
            let mut inside = recording.header().carried();
            let beside = || kept_module(file.parent()?, &record.module);
            *module = inside.remove(&record.module).or_else(beside);
        }
    }
    let Some((record, kept)) = last else {
        bail!(
            "{} holds no decision on a cluster {} of {}",
            path.display(),
            edit.name,
            edit.dialect.group()
        );
    };
    let module = named.or(kept).or_else(|| shipped(&record.module));
    let module = module.with_context(|| not_kept(&record.module))?;
    let snapshot = snapshot_of(&record)?;
    let edited = edit.in_place_of(snapshot.resource.clone());
    Ok(with(snapshot, edited, module))
}

async fn living(
    reach: Reach,
    operators: Option<String>,
    edit: Edit,
    named: Option<Vec<u8>>,
) -> anyhow::Result<Present> {
    let (client, namespace) = reach.client(edit.namespace.clone()).await?;
    let key = edit.key(&namespace);
    let operators = operators.unwrap_or_else(|| namespace.clone());
    let edited = edit.tried(&client, &namespace).await?;
    let is_new = edited.before.is_none();
    let uid = edited.after.uid.clone();
    let wanted = |record: &Record| {
        // What decides about other clusters is what would decide about a new one, but for canaries.
        is_new
            || (record.cluster.uid == uid
                && is_of(record, key.dialect, &key.name, Some(&namespace)))
    };
    if is_new {
        refuse_claims_left(&client, &key).await?;
    }
    let found = operator::latest(&client, &operators, wanted).await?;
    let (record, kept) = match found {
        Some(Latest { record, module, .. }) => (Some(record), module),
        None => (None, None),
    };
    let decides = record.as_ref().map(|record| record.module.as_str());
    let module = named
        .or(kept)
        .or_else(|| match decides {
            Some(name) => shipped(name),
            None => Source::find(None).ok().map(|source| source.bytes),
        })
        .with_context(|| not_kept(decides.unwrap_or("that would decide")))?;
    let snapshot = match record.filter(|_| !is_new) {
        Some(record) => snapshot_of(&record)?,
        None if is_new => unborn(edited.after.clone()),
        None => bail!(
            "no operator in the namespace {operators} has decided on {key} of {} lately: name its namespace with --operator-namespace",
            key.dialect.group()
        ),
    };
    Ok(with(snapshot, edited, module))
}

fn with(snapshot: Snapshot, edited: Edited, module: Vec<u8>) -> Present {
    let Edited { before, after } = edited;
    let mut snapshot = Snapshot {
        resource: after,
        outcomes: Vec::new(),
        ..snapshot
    };
    let policy = EtcdClusterSpec::deserialize(&snapshot.resource.spec);
    let policy = policy.ok().and_then(|spec| spec.tls);
    let named = TlsSecrets::of(policy.as_ref(), &snapshot.resource.name);
    for name in TlsRole::ALL.iter().filter_map(|role| named.of_role(*role)) {
        let unread = || Observed::Unknown("a plan reads no Secrets".to_owned());
        let secrets = &mut snapshot.secrets;
        secrets.entry(name.to_owned()).or_insert_with(unread);
    }
    Present {
        snapshot,
        before,
        module,
    }
}

/// Where members are numbered, a new cluster goes on with what an earlier one of its name left, and that nobody has read.
async fn refuse_claims_left(client: &Client, key: &ClusterKey) -> anyhow::Result<()> {
    if !key.dialect.numbers_members() {
        return Ok(());
    }
    match observe::claims(client, key).await {
        Observed::Seen(claims) if !claims.is_empty() => bail!(
            "there is no {} {key} yet, but volume claims of an earlier one: {}. A new one goes on with what is on them, which a \
             plan does not read",
            ResourceKind::EtcdCluster,
            claims.join(", ")
        ),
        Observed::Seen(_) | Observed::Absent => {}
        Observed::Unknown(why) => output::note(format_args!(
            "Planned as if no earlier cluster {key} had left volume claims, which were not looked for: {why}."
        )),
    }
    Ok(())
}

fn is_of(record: &Record, dialect: Dialect, name: &str, namespace: Option<&str>) -> bool {
    record.cluster.name == name
        && namespace.is_none_or(|namespace| record.cluster.namespace == namespace)
        && record.dialect_of(ResourceKind::EtcdCluster) == Some(dialect)
}

fn snapshot_of(record: &Record) -> anyhow::Result<Snapshot> {
    serde_json::from_str(record.snapshot.get())
        .with_context(|| format!("the snapshot of record {} cannot be read", record.seq))
}

/// A cluster of which there is nothing but the resource.
fn unborn(resource: Resource) -> Snapshot {
    Snapshot {
        objects: Objects {
            pods: Observed::Seen(Vec::new()),
            volumes: Observed::Seen(Vec::new()),
            services: Observed::Seen(Vec::new()),
            disruption_budgets: Observed::Seen(Vec::new()),
            foreign: Vec::new(),
        },
        restores: Observed::Seen(Vec::new()),
        ..at_this_instant(resource)
    }
}

fn shipped(wanted: &str) -> Option<Vec<u8>> {
    let bytes = Source::find(None).ok()?.bytes;
    (digest(&bytes) == wanted).then_some(bytes)
}

fn not_kept(name: &str) -> String {
    format!("the module {name} is not kept anywhere near: name one with --module")
}
