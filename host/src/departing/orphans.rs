//! EtcdPeers on their way out whose cluster is gone: nobody can confirm any more that the member had left, so the claim
//! stays, and the finalizer goes, because nothing else would ever take it off.
//!
//! There is no resource to decide on, hence no decision; the rule is fixed, and takes nothing away that holds data.

use std::time::{Duration, Instant};

use contract::{EventType, Millis, Observed, Reason, Resource};
use kube::ResourceExt;
use kube::core::DynamicObject;
use tracing::{info, warn};

use super::{api, has_finalizer, in_words, list, params, released, waits};
use crate::error::Chain;
use crate::events::{self, Saying};
use crate::execute::Executor;
use crate::key::ClusterKey;
use crate::observe::{self, World, within};
use crate::queue::After;

/// Until Kubernetes is looked at again that has yet to delete some of them, or did not answer.
const AGAIN: Duration = Duration::from_secs(5);

/// What is left to do once the resource of this key is gone, and when to look again.
pub(crate) async fn after_its_cluster(
    executor: &Executor,
    world: &World,
    key: &ClusterKey,
) -> After {
    let is_cluster = key.kind == contract::ResourceKind::EtcdCluster;
    if !is_cluster || key.dialect.predecessor().marks.is_none() {
        return After::Gone;
    }
    match let_go(executor, world, key).await {
        Ok(false) => After::Gone,
        Ok(true) => After::NotBefore(Instant::now() + AGAIN),
        Err(error) => {
            warn!(error = %Chain(&error), "EtcdPeers of a cluster that is gone cannot be looked after");
            After::NotBefore(Instant::now() + AGAIN)
        }
    }
}

/// Lets go all that are being deleted; says whether some of them, or the archived operator, are waited for.
async fn let_go(
    executor: &Executor,
    world: &World,
    key: &ClusterKey,
) -> Result<bool, observe::Error> {
    let client = &executor.client;
    let found = list(client, key).await?;
    let old: Vec<DynamicObject> = found
        .into_iter()
        .filter(|peer| has_finalizer(&peer.metadata))
        .filter(|peer| waits(&peer.metadata) || belongs_to_one(peer))
        .collect();
    if old.is_empty() {
        return Ok(false);
    }
    // A cache may be behind, and the archived operator may be at it.
    if observe::resource(client, key).await?.is_some() {
        return Ok(true);
    }
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    match world.old_lock(client, key).await {
        Observed::Absent => {}
        Observed::Seen(lock) if !lock.may_be_held(now) => {}
        Observed::Seen(_) | Observed::Unknown(_) => return Ok(true),
    }
    let mut is_waiting = false;
    for peer in &old {
        if waits(&peer.metadata) && executor.leadership.is_held() {
            release(executor, key, peer).await?;
        } else {
            is_waiting = true;
        }
    }
    Ok(is_waiting)
}

/// Kubernetes deletes it after its owner.
fn belongs_to_one(peer: &DynamicObject) -> bool {
    let mut owners = peer.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == contract::KIND)
}

async fn release(
    executor: &Executor,
    key: &ClusterKey,
    peer: &DynamicObject,
) -> Result<(), observe::Error> {
    let (name, uid) = (peer.name_any(), peer.uid().unwrap_or_default());
    let mut finalizers = peer.finalizers().to_vec();
    finalizers.retain(|one| one != contract::improbable::CLAIM_FINALIZER);
    let version = peer.resource_version().unwrap_or_default();
    let patch = released(&uid, &version, &finalizers);
    within(|| in_words(peer), async {
        match api(&executor.client, key)
            .patch(&name, &params(), &patch)
            .await
        {
            Err(kube::Error::Api(status)) if !status.is_not_found() && !status.is_conflict() => {
                Err(kube::Error::Api(status))
            }
            Err(kube::Error::Api(_)) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    })
    .await?;
    info!(
        peer = name,
        "Let an EtcdPeer go whose cluster is gone; its volume claim stays"
    );
    let about = Resource {
        api_version: key.dialect.api_version(),
        kind: contract::improbable::PEER_KIND.to_owned(),
        namespace: key.namespace.clone(),
        name: name.clone(),
        uid,
        ..Resource::default()
    };
    let note = format!(
        "The EtcdCluster {key} is gone, so nobody can confirm that the member {name} had left it: the archived operator's finalizer is taken off, and \
         the volume claim {name} stays. Delete it if its data is not needed."
    );
    let saying = Saying {
        kind: EventType::Normal,
        reason: Reason::PeerDeparting.name(),
        note: &note,
    };
    let told = events::publish(&executor.client, &executor.instance, &about, saying).await;
    if let Err(error) = told {
        warn!(error = %Chain(&error), "It could not be told");
    }
    Ok(())
}
