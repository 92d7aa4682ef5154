//! The ReconcilerModules of the operator's namespace, as the API server has them.
//!
//! Where the kind is not installed or may not be read, there are none: that is said once, and looked for again.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{GROUP, MODULE_KIND, MODULE_PLURAL, MODULE_VERSION, Resource};
use futures::StreamExt as _;
use kube::api::ApiResource;
use kube::core::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::sync::watch::Sender;
use tracing::{debug, info, warn};

use crate::backoff::Backoff;
use crate::error::Chain;
use crate::observe::project;

/// Objects by name; none before the first answer.
pub(super) type Objects = Option<BTreeMap<String, Resource>>;

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(10),
};

/// The kind, as the client needs it.
pub(crate) fn module_kind() -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: MODULE_VERSION.to_owned(),
        api_version: format!("{GROUP}/{MODULE_VERSION}"),
        kind: MODULE_KIND.to_owned(),
        plural: MODULE_PLURAL.to_owned(),
    }
}

/// Modules of one namespace.
pub(crate) fn modules(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &module_kind())
}

/// Objects in lists do not say what they are.
pub(crate) fn projected(object: DynamicObject) -> Resource {
    let kind = module_kind();
    Resource {
        api_version: kind.api_version,
        kind: kind.kind,
        ..project::resource(object)
    }
}

/// Keeps `known` up to date, for ever.
pub(super) async fn keep(client: Client, namespace: String, known: Sender<Objects>) {
    let api = modules(&client, &namespace);
    let mut failures = 0;
    loop {
        let mut events = std::pin::pin!(watcher::watcher(api.clone(), watcher::Config::default()));
        let mut listed = BTreeMap::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    let resource = projected(object);
                    listed.insert(resource.name.clone(), resource);
                }
                Ok(Event::InitDone) => {
                    known.send_replace(Some(std::mem::take(&mut listed)));
                    if std::mem::take(&mut failures) > 0 {
                        info!("ReconcilerModules can be read");
                    }
                }
                Ok(Event::Apply(object)) => {
                    let resource = projected(object);
                    known.send_modify(|known| {
                        let known = known.get_or_insert_default();
                        known.insert(resource.name.clone(), resource);
                    });
                }
                Ok(Event::Delete(object)) => {
                    let name = object.metadata.name.unwrap_or_default();
                    known.send_modify(|known| {
                        known.get_or_insert_default().remove(&name);
                    });
                }
                // The API server's ordinary way to ask for a fresh list, which the stream does by itself.
                Err(watcher::Error::WatchError(status)) if status.code == 410 => {
                    debug!("Watch expired");
                }
                Err(error) => {
                    note(&error, failures, &known);
                    break;
                }
            }
        }
        tokio::time::sleep(RETRY.delay(failures)).await;
        failures += 1;
    }
}

fn note(error: &watcher::Error, failures: u32, known: &Sender<Objects>) {
    let code = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status.code),
        watcher::Error::WatchError(status) => Some(status.code),
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => None,
    };
    let is_first = failures == 0;
    match code {
        Some(404) => {
            if is_first {
                warn!(
                    "This cluster has no ReconcilerModules: the module that the operator was started with decides. To swap modules, \
                     apply manifests/crds/reconcilermodules.yaml"
                );
            }
            known.send_replace(Some(BTreeMap::new()));
        }
        Some(403) => {
            if is_first {
                warn!(error = %Chain(error), "ReconcilerModules may not be read: the modules in force stay. Compare the Role with manifests/rbac/role.yaml");
            }
            known.send_modify(|known| {
                known.get_or_insert_default();
            });
        }
        Some(_) | None if is_first => {
            warn!(error = %Chain(error), "ReconcilerModules could not be read; it is tried again");
        }
        Some(_) | None => {
            debug!(error = %Chain(error), "ReconcilerModules still cannot be read");
        }
    }
}
