//! A look at the world of one restore: its Secret and its store, until its backup was read whole.

use std::collections::BTreeMap;

use contract::{
    EtcdRestoreSpec, EtcdRestoreStatus, Observed, Place, Resource, RestoreView, Secret, Transfer,
};
use kube::Client;
use serde::Deserialize;

use super::access::Access;
use super::sight::Sight;
use super::{secret, store};

/// What a look found.
pub(crate) struct Looked {
    pub(crate) secrets: BTreeMap<String, Observed<Secret>>,
    pub(crate) view: Option<RestoreView>,
    pub(crate) sight: Sight,
}

/// Looks at the world of a restore. Of one that is over nothing is looked at, and nobody is asked once its backup was read.
pub(crate) async fn look(
    client: &Client,
    resource: &Resource,
    cluster: Observed<Box<Resource>>,
    transfer: Option<Transfer>,
) -> Looked {
    let mut looked = Looked {
        secrets: BTreeMap::new(),
        view: None,
        sight: Sight::default(),
    };
    let spec = EtcdRestoreSpec::deserialize(&resource.spec);
    let (Ok(spec), None) = (spec, resource.deleted) else {
        return looked;
    };
    let status = EtcdRestoreStatus::deserialize(&resource.status).unwrap_or_default();
    if status.is_over() {
        return looked;
    }
    looked.view = Some(RestoreView {
        cluster,
        in_the_way: Observed::Absent,
        transfer,
    });
    let source = spec.source();
    let place = Place::of(&source);
    let is_proven = status
        .proof
        .is_some_and(|proof| proof.generation == resource.generation);
    let Some(place) = place.filter(|_| !is_proven) else {
        return looked;
    };
    let access = match Access::of_claim(&place, &resource.namespace) {
        Some(claim) => Ok(claim),
        None => {
            let (shown, data) = secret::read(client, &resource.namespace, &place.secret).await;
            looked.secrets.insert(place.secret.clone(), shown);
            data.map(Access::Keys)
        }
    };
    let opened = access.and_then(|access| store::open(&source, &place, &access));
    looked.sight = Sight {
        store: opened.ok(),
        place: Some(place),
        ..Sight::default()
    };
    looked
}
