//! The last decision on a cluster, with the module that made it, out of the operators' newest files.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use contract::Millis;
use kube::Client;

use super::{Connection, running};
use crate::module::digest;
use crate::recorder::{Kept, Record, backwards, module_name};

/// The last decision, and what can be said about the ones before it.
pub(crate) struct Latest {
    pub(crate) record: Record,
    /// The module that decided, where the operator keeps it.
    pub(crate) module: Option<Vec<u8>>,
    /// The decisions on the same cluster before it in the same file, newest first.
    pub(crate) before: Vec<Record>,
}

/// Decisions before the last one that are looked at.
const BEFORE: usize = 500;

/// The last decision that `wanted` accepts by any operator of the namespace; none when there is no such decision.
pub(crate) async fn latest(
    client: &Client,
    namespace: &str,
    wanted: impl Fn(&Record) -> bool,
) -> anyhow::Result<Option<Latest>> {
    let mut newest: Option<Latest> = None;
    for operator in running(client, namespace, None).await? {
        let of_pod = async {
            let mut connection = operator.connect().await?;
            latest_of(&mut connection, &wanted).await
        };
        let found = of_pod.await.with_context(|| {
            let name = operator.name();
            format!("the pod {namespace}/{name} does not tell what it recorded")
        })?;
        let at = |latest: &Latest| latest.record.now;
        if found.as_ref().map(at).unwrap_or(Millis(0))
            > newest.as_ref().map(at).unwrap_or(Millis(0))
        {
            newest = found;
        }
    }
    Ok(newest)
}

async fn latest_of(
    connection: &mut Connection,
    wanted: &impl Fn(&Record) -> bool,
) -> anyhow::Result<Option<Latest>> {
    let files = connection.list().await?;
    let segments = files.iter().filter(|file| file.is_segment());
    let mut found = Vec::new();
    for segment in segments.rev() {
        let content = fetch(connection, segment).await?;
        let Some(content) = content else { continue };
        backwards(content.path(), |record| {
            if wanted(&record) {
                found.push(record);
            }
            found.len() <= BEFORE
        })
        .with_context(|| format!("{} cannot be read", segment.name))?;
        if !found.is_empty() {
            break;
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let record = found.remove(0);
    let name = module_name(&record.module);
    let kept = files.iter().find(|file| file.name == name);
    let module = match kept {
        Some(kept) => fetch(connection, kept).await?,
        None => None,
    };
    let bytes = module.map(|file| read_module(file.path(), &record.module));
    Ok(Some(Latest {
        module: bytes.transpose()?,
        record,
        before: found,
    }))
}

fn read_module(path: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    ensure!(
        digest(&bytes) == name,
        "what is kept as the module {name} is another one"
    );
    Ok(bytes)
}

/// A file of its own for what comes, which goes with it; none when it is forgotten by now.
async fn fetch(
    connection: &mut Connection,
    file: &Kept,
) -> anyhow::Result<Option<tempfile::NamedTempFile>> {
    let Some(mut body) = connection.open_file(&file.name).await? else {
        return Ok(None);
    };
    let mut content = tempfile::NamedTempFile::new().context("no temporary file can be made")?;
    while let Some(piece) = body.next().await? {
        content.write_all(&piece)?;
    }
    Ok(Some(content))
}
