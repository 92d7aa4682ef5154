//! The watches: one of each kind and scope, and who is touched by what they see.

use std::sync::Arc;

use contract::{Dialect, ResourceKind};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, info_span};

use crate::key::ClusterKey;
use crate::observe::shelf::Scope;
use crate::observe::{World, project, resource_kind_of, watch};
use crate::queue::{Queue, Trigger};

/// The eleven watches of one scope. Each ends only when the operator stops.
pub(super) fn start_watches(
    client: &Client,
    scope: &Scope,
    world: &Arc<World>,
    queue: &Arc<Queue>,
    stop: &CancellationToken,
) {
    macro_rules! start {
        ($kind:literal, $api:expr, $config:expr, $shelf:ident, $key:path, $project:path) => {{
            let (world, queue, scope, api) = (Arc::clone(world), Arc::clone(queue), scope.clone(), $api);
            let span = info_span!("watch", kind = $kind, scope = %scope);
            let watching = async move {
                let changed = |key: Option<ClusterKey>| {
                    world.announce_change();
                    if let Some(key) = key {
                        for other in world.concerned_by(&key) {
                            queue.touch(other, Trigger::Watch($kind));
                        }
                        queue.touch(key, Trigger::Watch($kind));
                    }
                };
                watch::keep(api, $config, scope, &world.$shelf, $key, $project, changed).await;
            };
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(watching).await }.instrument(span));
        }};
    }
    macro_rules! api {
        ($kind:ty) => {
            match scope {
                Scope::All => Api::<$kind>::all(client.clone()),
                Scope::Namespace(namespace) => Api::<$kind>::namespaced(client.clone(), namespace),
            }
        };
    }
    let resources = |dialect: Dialect, kind: ResourceKind| {
        let kind = resource_kind_of(dialect, kind);
        match scope {
            Scope::All => Api::all_with(client.clone(), &kind),
            Scope::Namespace(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        }
    };
    start!(
        "EtcdCluster",
        resources(Dialect::Coreos, ResourceKind::EtcdCluster),
        watch::resources(),
        resources,
        watch::own_key,
        project::resource
    );
    start!(
        "EtcdCluster",
        resources(Dialect::Improbable, ResourceKind::EtcdCluster),
        watch::resources(),
        improbable,
        watch::improbable_key,
        project::resource
    );
    start!(
        "EtcdBackup",
        resources(Dialect::Coreos, ResourceKind::EtcdBackup),
        watch::resources(),
        backups,
        watch::backup_key,
        project::resource
    );
    start!(
        "EtcdBackup",
        resources(Dialect::Improbable, ResourceKind::EtcdBackup),
        watch::resources(),
        improbable_backups,
        watch::improbable_backup_key,
        project::resource
    );
    start!(
        "EtcdRestore",
        resources(Dialect::Coreos, ResourceKind::EtcdRestore),
        watch::resources(),
        restores,
        watch::restore_key,
        project::resource
    );
    start!(
        "EtcdRestore",
        resources(Dialect::Improbable, ResourceKind::EtcdRestore),
        watch::resources(),
        improbable_restores,
        watch::improbable_restore_key,
        project::resource
    );
    start!(
        "EtcdBackupSchedule",
        resources(Dialect::Improbable, ResourceKind::EtcdBackupSchedule),
        watch::resources(),
        schedules,
        watch::schedule_key,
        project::resource
    );
    start!(
        "Pod",
        api!(Pod),
        watch::children(),
        pods,
        watch::labelled_key,
        project::pod
    );
    start!(
        "PersistentVolumeClaim",
        api!(PersistentVolumeClaim),
        watch::children(),
        volumes,
        watch::labelled_key,
        project::volume
    );
    start!(
        "Service",
        api!(Service),
        watch::children(),
        services,
        watch::labelled_key,
        project::service
    );
    start!(
        "PodDisruptionBudget",
        api!(PodDisruptionBudget),
        watch::children(),
        disruption_budgets,
        watch::labelled_key,
        project::disruption_budget
    );
}
