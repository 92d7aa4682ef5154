//! What is stored of one EtcdBackup, for a person at a terminal: the same names, the same reading, the same proof as the
//! operator's.
//!
//! Reads and never writes. What it opens the store with is the Secret that the object names, as the API server gives it
//! to this person.

use anyhow::{Context as _, anyhow, bail, ensure};
use contract::{
    BackupKey, EtcdBackupSpec, EtcdBackupStatus, Observed, Place, ResourceKind, Stored,
    StoredObject,
};
use kube::Client;
use serde::Deserialize as _;

use super::access::Access;
use super::store::{self, Store};
use super::transfer;
use crate::key::ClusterKey;
use crate::observe;

/// The stored backups of one EtcdBackup.
pub(crate) struct Archive {
    spec: EtcdBackupSpec,
    place: Place,
    store: Store,
}

/// One stored backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name in the bucket.
    pub(crate) key: String,
    /// Its size in bytes.
    pub(crate) bytes: i64,
    /// What its name says; none for one that is taken once.
    pub(crate) named: Option<BackupKey>,
}

/// One that was taken later than the one with the highest revision.
fn younger<'a>(entries: &'a [Entry], newest: &Entry) -> Option<&'a Entry> {
    let newest = newest.named.as_ref()?;
    let is_younger = |entry: &&Entry| {
        let named = entry.named.as_ref();
        named.is_some_and(|named| named.is_younger(newest))
    };
    entries.iter().rfind(is_younger)
}

impl Archive {
    /// Opens the store of the EtcdBackup `namespace`/`name`.
    ///
    /// # Errors
    /// The object or its Secret cannot be read, or they open no store.
    pub(crate) async fn open(client: &Client, namespace: &str, name: &str) -> anyhow::Result<Self> {
        let key = ClusterKey::new(ResourceKind::EtcdBackup, namespace, name);
        let found = observe::resource(client, &key).await?;
        let resource = found.with_context(|| {
            format!("there is no EtcdBackup {namespace}/{name}: list them with `kubectl get etcdbackups --namespace {namespace}`")
        })?;
        let spec = EtcdBackupSpec::deserialize(&resource.spec)
            .with_context(|| format!("the spec of the EtcdBackup {key} cannot be read"))?;
        let place = Place::of(&spec).with_context(|| {
            let status = EtcdBackupStatus::deserialize(&resource.status).unwrap_or_default();
            let why = Some(status.reason).filter(|why| !why.is_empty());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            format!("the spec of the EtcdBackup {key} names no store and path{why}")
        })?;
        let access = Access::of(client, namespace, &place).await;
        let opened = access.and_then(|access| store::open(&spec, &place, &access));
        let store = opened.map_err(|why| anyhow!(why))?;
        Ok(Self { spec, place, store })
    }

    /// What is stored, the highest revision last.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    pub(crate) async fn list(&self) -> anyhow::Result<Vec<Entry>> {
        let is_periodic = self.spec.is_periodic();
        let found = if is_periodic {
            self.store.all(&format!("{}_v", self.place.key)).await
        } else {
            self.store.one(&self.place.key).await
        };
        let found = match found {
            // Of a bucket that does not exist the question for one object tells the same.
            Observed::Seen(found) if found.is_empty() => {
                if let Observed::Unknown(why) = self.store.all(&self.place.key).await {
                    return Err(anyhow!("{} does not tell: {why}", self.bucket()));
                }
                found
            }
            Observed::Seen(found) => found,
            Observed::Absent => Vec::new(),
            Observed::Unknown(why) => {
                return Err(anyhow!("{} does not tell: {why}", self.bucket()));
            }
        };
        let entry = |object: StoredObject| Entry {
            named: BackupKey::of(&object.key, &self.place.key),
            key: object.key,
            bytes: object.bytes,
        };
        let mut entries: Vec<Entry> = found.into_iter().map(entry).collect();
        // Whatever else begins so is not a backup of this object.
        entries.retain(|entry| !is_periodic || entry.named.is_some());
        entries.sort_by(|a, b| a.named.cmp(&b.named));
        Ok(entries)
    }

    /// The backup of this name, or the newest.
    ///
    /// # Errors
    /// The store does not answer, or has no such backup.
    pub(crate) async fn find(&self, key: Option<&str>) -> anyhow::Result<Entry> {
        let mut entries = self.list().await?;
        let bucket = self.bucket();
        let Some(key) = key else {
            let newest = entries
                .pop()
                .with_context(|| format!("{bucket} has no backup {} yet", self.place.key))?;
            if let Some(younger) = younger(&entries, &newest) {
                bail!(
                    "{} has the highest revision, and {} was taken later: the cluster began anew in between. Say with \
                     --key which one is meant",
                    newest.key,
                    younger.key
                );
            }
            return Ok(newest);
        };
        let found = entries.into_iter().find(|entry| entry.key == key);
        found.with_context(|| {
            format!(
                "{bucket} has no backup {key} of this object: list them with `binnacle backup ls`"
            )
        })
    }

    /// Gives all bytes of a backup to `take`; answers their sha-256 once etcd's own hash fitted them.
    ///
    /// # Errors
    /// The store fails, `take` does, or the bytes are no whole backup.
    pub(crate) async fn read(
        &self,
        key: &str,
        take: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> anyhow::Result<String> {
        let read = transfer::read_back(&self.store, key, transfer::FOUND, take).await;
        let passed = read.map_err(|failure| anyhow!(failure.why))?;
        Ok(passed.sha256)
    }

    /// Reads a backup from its first byte to its last and looks what etcd would find in it.
    ///
    /// # Errors
    /// The store fails, or what is stored is no whole backup.
    pub(crate) async fn prove(&self, key: &str) -> anyhow::Result<Stored> {
        let proven = transfer::prove(&self.store, key).await;
        proven.map_err(|failure| anyhow!(failure.why))
    }

    /// Bytes that [`Self::prove`] has read so far.
    pub(crate) fn passed(&self) -> i64 {
        self.store.progress.bytes()
    }

    /// The spec's words about the store, with the path of this very backup: what a restore reads from.
    ///
    /// # Errors
    /// The spec has no block for its store.
    pub(crate) fn source(&self, key: &str) -> anyhow::Result<serde_json::Value> {
        let field = self.place.store.field();
        let mut blocks = serde_json::to_value(&self.spec)?;
        let mut block = blocks[field].take();
        ensure!(block.is_object(), "spec.{field} is not there");
        block["path"] = format!("{}/{key}", self.place.bucket).into();
        Ok(serde_json::json!({"backupStorageType": self.place.store.name(), field: block}))
    }

    fn bucket(&self) -> String {
        format!("the {} bucket {}", self.place.store, self.place.bucket)
    }
}
