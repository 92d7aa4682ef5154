//! Watches: each keeps one kind in one scope on its shelf and tells which clusters changed.
//!
//! Objects are projected the moment they arrive, so nothing larger than a projection is kept.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use contract::{Dialect, ResourceKind, names};
use futures::StreamExt;
use kube::runtime::watcher as watch_objects;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tracing::{debug, info, warn};

use super::shelf::{Projected, Scope, Shelf};
use crate::backoff::Backoff;
use crate::error::Chain;
use crate::key::ClusterKey;

/// Objects per page of a list: the peak of memory, not its steady state.
const PAGE: u32 = 50;
/// Half a second up to five: an API server that comes back is noticed soon.
const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(5),
};

/// The custom resources themselves: everything in scope.
#[must_use]
pub fn resources() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}

/// Children: whatever carries `app=etcd`.
#[must_use]
pub fn children() -> watcher::Config {
    resources().labels(&format!("{}={}", names::APP_LABEL, names::APP))
}

/// The resource an object is: itself.
pub fn own_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    let namespace = object.namespace()?;
    let kind = ResourceKind::EtcdCluster;
    Some(ClusterKey::new(kind, &namespace, &object.name_any()))
}

/// As [`own_key`], for clusters of the second dialect.
pub fn improbable_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        dialect: Dialect::Improbable,
        ..own_key(object)?
    })
}

/// As [`own_key`], for backups.
pub fn backup_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        kind: ResourceKind::EtcdBackup,
        ..own_key(object)?
    })
}

/// As [`own_key`], for backups of the second dialect.
pub fn improbable_backup_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        dialect: Dialect::Improbable,
        ..backup_key(object)?
    })
}

/// As [`own_key`], for restores.
pub fn restore_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        kind: ResourceKind::EtcdRestore,
        ..own_key(object)?
    })
}

/// As [`own_key`], for restores of the second dialect.
pub fn improbable_restore_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        dialect: Dialect::Improbable,
        ..restore_key(object)?
    })
}

/// As [`own_key`], for schedules of backups.
pub fn schedule_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    Some(ClusterKey {
        kind: ResourceKind::EtcdBackupSchedule,
        ..improbable_key(object)?
    })
}

/// The cluster a child names in its label; none for objects of other applications called etcd.
pub fn labelled_key<K: ResourceExt>(object: &K) -> Option<ClusterKey> {
    let (dialect, name) = Dialect::of_labels(object.labels())?;
    let kind = ResourceKind::EtcdCluster;
    Some(ClusterKey {
        dialect,
        ..ClusterKey::new(kind, &object.namespace()?, name)
    })
}

/// Keeps one kind of one scope on its shelf, for ever. Errors become the shelf's state and are tried again. `changed` is
/// called with each cluster whose view changed, and with none when a list ended or failed.
///
/// After an error everything is listed anew: a watch that merely resumes says nothing until something changes, and
/// until then the shelf could not be told from a stale one.
pub async fn keep<K, T>(
    api: Api<K>,
    config: watcher::Config,
    scope: Scope,
    shelf: &Shelf<T>,
    home: fn(&K) -> Option<ClusterKey>,
    project: fn(K) -> T,
    changed: impl Fn(Option<ClusterKey>),
) where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    T: Projected,
{
    let mut failures = 0;
    loop {
        let mut events = std::pin::pin!(watch_objects(api.clone(), config.clone()));
        let mut shown = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => shown.clear(),
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    let id = (object.namespace().unwrap_or_default(), object.name_any());
                    let touched = match home(&object) {
                        Some(key) => shelf.put(key, project(object)),
                        None => shelf.remove(&id.0, &id.1).into_iter().collect(),
                    };
                    shown.insert(id);
                    touched.into_iter().map(Some).for_each(&changed);
                }
                Ok(Event::InitDone) => {
                    shelf
                        .listed(&scope, &shown)
                        .into_iter()
                        .map(Some)
                        .for_each(&changed);
                    shown.clear();
                    changed(None);
                    if std::mem::take(&mut failures) > 0 {
                        info!("Watch answers again");
                    }
                }
                Ok(Event::Delete(object)) => {
                    let namespace = object.namespace().unwrap_or_default();
                    shelf
                        .remove(&namespace, &object.name_any())
                        .into_iter()
                        .map(Some)
                        .for_each(&changed);
                }
                // The API server's ordinary way to ask for a fresh list, which the stream does by itself.
                Err(watcher::Error::WatchError(status)) if status.code == 410 => {
                    debug!("Watch expired")
                }
                Err(error) => {
                    if failures == 0 {
                        warn!(error = %Chain(&error), "Watch failed; it is tried again");
                    } else {
                        debug!(error = %Chain(&error), "Watch still fails");
                    }
                    shelf.failed(&scope, why(&error), Instant::now());
                    changed(None);
                    break;
                }
            }
        }
        tokio::time::sleep(RETRY.delay(failures)).await;
        failures += 1;
    }
}

/// The words of the API server where it had any, else those of the transport.
fn why(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.message.clone(),
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => Chain(error).to_string(),
    }
}
