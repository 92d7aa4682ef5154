//! The fresh read before an effect: exactly what the envelope asks for, all of it at once.
//!
//! What cannot be read is `Unknown`, and the envelope counts it against the action.

use contract::{
    Action, EtcdView, ObjectKind, Observed, Resource, ResourceKind, RestoreRef, ScheduledBackup,
};
use envelope::{BackupHead, Fresh, ObjectHead, Reads, ResourceHead, RestoreHead};
use futures::future::join_all;

use super::{Executor, Pass};
use crate::error::Chain;
use crate::etcd::Connections;
use crate::key::ClusterKey;
use crate::observe;
use crate::observe::{Head, Memory};

/// A fresh read, and the head of the touched object with its owner in words.
pub(super) struct Read {
    pub(super) fresh: Fresh,
    pub(super) head: Option<Head>,
}

/// Reads what this action needs.
pub(super) async fn read(
    executor: &Executor,
    pass: &Pass<'_>,
    action: &Action,
    memory: &mut Memory,
) -> Read {
    let Reads {
        object,
        claim,
        etcd,
        clock,
        stored,
        restore,
        scheduled,
    } = envelope::reads(action);
    let claim = claim.map(|name| (ObjectKind::PersistentVolumeClaim, name));
    let Memory {
        connections, sight, ..
    } = memory;
    let (resource, head, claim, etcd, clock_ahead, (stored, being_restored), restore, scheduled) = tokio::join!(
        resource(executor, pass.key),
        head(executor, pass, object),
        head(executor, pass, claim),
        etcd_view(executor, pass, connections, etcd),
        clock_ahead(executor, clock),
        async {
            if stored {
                let namespace = &pass.key.namespace;
                let restored = observe::being_restored_now(&executor.client, namespace);
                tokio::join!(sight.stored(), restored)
            } else {
                let unasked = || "not asked for".to_owned();
                (Observed::Unknown(unasked()), Observed::Unknown(unasked()))
            }
        },
        restore_head(executor, pass, restore),
        scheduled_backup(executor, pass, scheduled),
    );
    let transfer = executor.transfers.running(&pass.resource.uid);
    let backup = match resource.seen() {
        Some(resource) => BackupHead::of(resource, transfer),
        None => BackupHead {
            transfer,
            ..BackupHead::default()
        },
    };
    let resource = match resource {
        Observed::Seen(resource) => Observed::Seen(ResourceHead::of(&resource)),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    };
    let fresh = Fresh {
        lease_held: executor.leadership.is_held(),
        resource,
        object: object_head(&head),
        claim: object_head(&claim),
        etcd,
        clock_ahead,
        backup,
        stored,
        being_restored,
        restore,
        scheduled,
    };
    Read {
        fresh,
        head: head.seen().cloned(),
    }
}

async fn resource(executor: &Executor, key: &ClusterKey) -> Observed<Resource> {
    match observe::resource(&executor.client, key).await {
        Ok(Some(resource)) => Observed::Seen(resource),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

async fn restore_head(
    executor: &Executor,
    pass: &Pass<'_>,
    restore: Option<RestoreRef>,
) -> Observed<RestoreHead> {
    let Some(RestoreRef { name, uid: _ }) = restore else {
        return Observed::Unknown("not asked for".to_owned());
    };
    let key = ClusterKey::beside(pass.key, ResourceKind::EtcdRestore, &name);
    match resource(executor, &key).await {
        Observed::Seen(resource) => Observed::Seen(RestoreHead::of(&resource)),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

async fn scheduled_backup(
    executor: &Executor,
    pass: &Pass<'_>,
    name: Option<String>,
) -> Observed<ScheduledBackup> {
    let Some(name) = name else {
        return Observed::Unknown("not asked for".to_owned());
    };
    let key = ClusterKey::beside(pass.key, ResourceKind::EtcdBackup, &name);
    match resource(executor, &key).await {
        Observed::Seen(backup) => Observed::Seen(ScheduledBackup::of(&backup)),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

async fn head(
    executor: &Executor,
    pass: &Pass<'_>,
    object: Option<(ObjectKind, String)>,
) -> Observed<Head> {
    let Some((kind, name)) = object else {
        return Observed::Unknown("not asked for".to_owned());
    };
    match observe::head(&executor.client, &pass.key.namespace, kind, &name).await {
        Ok(Some(head)) => Observed::Seen(head),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

fn object_head(head: &Observed<Head>) -> Observed<ObjectHead> {
    match head {
        Observed::Seen(head) => Observed::Seen(head.object.clone()),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why.clone()),
    }
}

async fn clock_ahead(executor: &Executor, wanted: bool) -> Observed<i64> {
    if !wanted {
        return Observed::Unknown("not asked for".to_owned());
    }
    match observe::ahead_of(&executor.client).await {
        Ok(Some(ahead)) => Observed::Seen(ahead),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

/// Members are asked behind the pods of the snapshot: one that was made since has no vote to count yet. Whose pod was
/// evicted or given another image since is about to be down, whatever it answers; where that cannot be known, nothing is.
async fn etcd_view(
    executor: &Executor,
    pass: &Pass<'_>,
    connections: &mut Connections,
    wanted: bool,
) -> EtcdView {
    let mut view = EtcdView {
        membership: Observed::Unknown("not asked for".to_owned()),
        endpoints: Vec::new(),
        alarms: Observed::Unknown("not asked for".to_owned()),
    };
    if !wanted {
        return view;
    }
    let recorded = observe::recorded_cluster(pass.resource);
    view = observe::etcd::view(connections, &pass.objects.pods, recorded).await;
    let heads = view.endpoints.iter().map(|endpoint| {
        let pod = Some((ObjectKind::Pod, endpoint.pod.clone()));
        head(executor, pass, pod)
    });
    let heads = join_all(heads).await;
    for (endpoint, head) in view.endpoints.iter_mut().zip(heads) {
        match head {
            Observed::Seen(head) => {
                let is_another = head.object.uid != endpoint.pod_uid;
                endpoint.terminating |= head.object.deleted || head.object.restarts || is_another;
            }
            Observed::Absent => endpoint.terminating = true,
            Observed::Unknown(why) => {
                let why = format!("pod {} could not be read again: {why}", endpoint.pod);
                view.membership = Observed::Unknown(why);
            }
        }
    }
    view
}
