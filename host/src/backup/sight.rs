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

use super::access::Access;
use super::source::{self, Way};
use super::store::{self, Store};
use super::{rehearsal, secret};
use crate::error::Chain;
use crate::etcd::Connection;
use crate::key::ClusterKey;
use crate::observe::{World, being_restored};

/// The ways that a look found. Without a look there are none.
#[derive(Default)]
pub struct Sight {
    pub(super) store: Option<Store>,
    pub(super) place: Option<Place>,
    pub(super) is_periodic: bool,
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
    key: &ClusterKey,
    resource: &Resource,
    transfer: Option<Transfer>,
) -> Looked {
    let mut looked = Looked {
        secrets: BTreeMap::new(),
        view: None,
        sight: Sight::default(),
    };
    let spec = EtcdBackupSpec::deserialize(&resource.spec);
    let Ok(spec) = spec else {
        return looked;
    };
    let place = Place::of(&spec);
    let is_unnamed = place
        .as_ref()
        .is_some_and(|place| place.secret.is_empty() && !place.store.secret_keys().is_empty());
    let own = world.store_secret().filter(|_| is_unnamed);
    if own.is_some() {
        let not_read = Observed::Unknown("not read".to_owned());
        looked.secrets.insert(String::new(), not_read);
    }
    let is_going = resource.deleted.is_some();
    if is_going && !envelope::is_taken_along(resource) {
        return looked;
    }
    let status = EtcdBackupStatus::deserialize(&resource.status).unwrap_or_default();
    let is_over = !spec.is_periodic() && status.is_over();
    if is_over && !is_going && !spec.rehearses() && status.rehearsal_run.is_none() {
        return looked;
    }
    let rehearsal = match &status.rehearsal_run {
        Some(run) => rehearsal::look(client, resource, &run.id).await,
        None => Observed::Absent,
    };
    let mut view = BackupView {
        endpoints: Vec::new(),
        stored: Observed::Unknown("not asked for".to_owned()),
        transfer,
        rehearsal,
        being_restored: Observed::Unknown("not asked for".to_owned()),
        wanted: source::wanted(world, key, &spec),
        repository: source::repository(world, key, &spec),
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
    let mut read = async |shown_as: &str, namespace: &str, name: &str| {
        let (shown, data) = secret::read(client, namespace, name).await;
        looked.secrets.insert(shown_as.to_owned(), shown);
        data
    };
    let namespace = resource.namespace.as_str();
    let claim = place
        .as_ref()
        .and_then(|place| Access::of_claim(place, &resource.namespace));
    let named = place.as_ref().map(|place| place.secret.as_str());
    let access = match (claim, named.filter(|name| !name.is_empty())) {
        (Some(claim), _) => Ok(claim),
        (None, Some(name)) => read(name, namespace, name).await.map(Access::Keys),
        (None, None) => match own {
            Some(own) => read("", &own.namespace, &own.name).await.map(Access::Keys),
            None => Err("no Secret is named".to_owned()),
        },
    };
    if is_over && !is_going {
        looked.view = Some(view);
        return looked;
    }
    let tls = match spec
        .client_tls_secret
        .as_deref()
        .filter(|name| !name.is_empty())
    {
        Some(name) => Some(read(name, namespace, name).await),
        None => None,
    };
    let opened = match (&place, &access) {
        (Some(place), Ok(access)) => store::open(&spec, place, access),
        (Some(_), Err(why)) => Err(why.clone()),
        (None, _) => Err("the spec names no store".to_owned()),
    };
    let is_periodic = spec.is_periodic();
    let ways = async {
        if is_going {
            return Vec::new();
        }
        source::ways(world, key, &spec, tls.as_ref()).await
    };
    let stored = async {
        match (&place, &opened) {
            (Some(place), Ok(store)) => stored(is_periodic, place, store).await,
            (_, Err(why)) => Observed::Unknown(why.clone()),
            (None, Ok(_)) => Observed::Unknown("the spec names no store".to_owned()),
        }
    };
    let being_restored = being_restored(client, world, namespace);
    let (ways, stored, being_restored) = tokio::join!(ways, stored, being_restored);
    view.endpoints = futures::future::join_all(ways.iter().map(ask)).await;
    view.stored = stored;
    view.being_restored = being_restored;
    looked.view = Some(view);
    looked.sight = Sight {
        store: opened.ok(),
        place,
        is_periodic,
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
    is_periodic: bool,
    place: &Place,
    store: &Store,
) -> Observed<Vec<contract::StoredObject>> {
    if is_periodic {
        store.all(&format!("{}_v", place.key)).await
    } else {
        store.one(&place.key).await
    }
}

impl Sight {
    /// What the store has under the backup's own name at this moment.
    pub(crate) async fn stored(&self) -> Observed<Vec<contract::StoredObject>> {
        match (&self.store, &self.place) {
            (Some(store), Some(place)) => stored(self.is_periodic, place, store).await,
            (None, _) | (_, None) => Observed::Unknown("the store was not opened".to_owned()),
        }
    }
}
