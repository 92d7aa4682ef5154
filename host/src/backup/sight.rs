//! A look at the world of one backup: its Secrets, its endpoints, its store, and what this host moves for it.
//!
//! Keeps the ways to endpoints and store for the effects of the same pass. Of a backup that is over nobody is asked, and no
//! Secret is read unless it is tried whether it restores.

use std::collections::BTreeMap;

use contract::{
    BackupView, EtcdBackupSpec, EtcdBackupStatus, Observed, Place, Resource, Secret,
    SourceEndpoint, Transfer, TransferState,
};
use kube::Client;
use serde::Deserialize;

use super::source::{self, Way};
use super::store::{self, Store};
use super::{rehearsal, secret};
use crate::error::Chain;
use crate::etcd::Connection;
use crate::observe::World;

/// The ways that a look found. Without a look there are none.
#[derive(Default)]
pub struct Sight {
    pub(super) store: Option<Store>,
    pub(super) place: Option<Place>,
    pub(super) ways: BTreeMap<String, Connection>,
}

/// What a look found.
pub(crate) struct Looked {
    pub(crate) secrets: BTreeMap<String, Observed<Secret>>,
    pub(crate) view: Option<BackupView>,
    pub(crate) sight: Sight,
}

/// Looks at the world of a backup.
pub(crate) async fn look(
    client: &Client,
    world: &World,
    resource: &Resource,
    transfer: Option<Transfer>,
) -> Looked {
    let mut looked = Looked {
        secrets: BTreeMap::new(),
        view: None,
        sight: Sight::default(),
    };
    let spec = EtcdBackupSpec::deserialize(&resource.spec);
    let (Ok(spec), None) = (spec, resource.deleted) else {
        return looked;
    };
    let status = EtcdBackupStatus::deserialize(&resource.status).unwrap_or_default();
    let is_over = !spec.is_periodic() && status.is_over();
    if is_over && !spec.rehearses() && status.rehearsal_run.is_none() {
        return looked;
    }
    let place = Place::of(&spec);
    let rehearsal = match &status.rehearsal_run {
        Some(run) => rehearsal::look(client, resource, &run.id).await,
        None => Observed::Absent,
    };
    let mut view = BackupView {
        endpoints: Vec::new(),
        stored: Observed::Unknown("not asked for".to_owned()),
        transfer,
        rehearsal,
        wanted: source::wanted(world, &resource.namespace, &spec),
        repository: source::repository(world, &resource.namespace, &spec),
    };
    let is_moving = view
        .transfer
        .as_ref()
        .is_some_and(|transfer| matches!(transfer.state, TransferState::Running { .. }));
    if is_moving {
        view.stored = Observed::Unknown("not asked for during a transfer".to_owned());
        looked.view = Some(view);
        return looked;
    }
    let mut read = async |name: &str| {
        let (shown, data) = secret::read(client, &resource.namespace, name).await;
        looked.secrets.insert(name.to_owned(), shown);
        data
    };
    let named = place.as_ref().map(|place| place.secret.as_str());
    let credentials = match named.filter(|name| !name.is_empty()) {
        Some(name) => read(name).await,
        None => Err("no Secret is named".to_owned()),
    };
    if is_over {
        looked.view = Some(view);
        return looked;
    }
    let tls = match spec
        .client_tls_secret
        .as_deref()
        .filter(|name| !name.is_empty())
    {
        Some(name) => Some(read(name).await),
        None => None,
    };
    let opened = match (&place, &credentials) {
        (Some(place), Ok(data)) => store::open(&spec, place, data),
        (Some(_), Err(why)) => Err(why.clone()),
        (None, _) => Err("the spec names no store".to_owned()),
    };
    let (ways, stored) = tokio::join!(
        source::ways(world, &resource.namespace, &spec, tls.as_ref()),
        stored(&spec, place.as_ref(), &opened),
    );
    view.endpoints = futures::future::join_all(ways.iter().map(ask)).await;
    view.stored = stored;
    looked.view = Some(view);
    looked.sight = Sight {
        store: opened.ok(),
        place,
        ways: ways
            .into_iter()
            .filter_map(|Way { url, connection }| Some((url, connection.ok()?)))
            .collect(),
    };
    looked
}

async fn ask(way: &Way) -> SourceEndpoint {
    let status = match &way.connection {
        Ok(connection) => match connection.status().await {
            Ok(status) => Observed::Seen(status),
            Err(error) => Observed::Unknown(Chain(&error).to_string()),
        },
        Err(why) => Observed::Unknown(why.clone()),
    };
    SourceEndpoint {
        url: way.url.clone(),
        status,
    }
}

/// What the store has under the backup's own name.
async fn stored(
    spec: &EtcdBackupSpec,
    place: Option<&Place>,
    opened: &Result<Store, String>,
) -> Observed<Vec<contract::StoredObject>> {
    let (Some(place), Ok(store)) = (place, opened) else {
        return Observed::Unknown(opened.as_ref().err().cloned().unwrap_or_default());
    };
    if spec.is_periodic() {
        store.all(&format!("{}_v", place.key)).await
    } else {
        store.one(&place.key).await
    }
}

impl Sight {
    /// What the store has under the names of a periodic backup at this moment.
    pub(crate) async fn stored(&self) -> Observed<Vec<contract::StoredObject>> {
        match (&self.store, &self.place) {
            (Some(store), Some(place)) => store.all(&format!("{}_v", place.key)).await,
            (None, _) | (_, None) => Observed::Unknown("the store was not opened".to_owned()),
        }
    }
}
