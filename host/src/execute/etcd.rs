//! Effects on etcd: which member they are sent to, and what its refusals mean.
//!
//! The leader is asked for all of them, and `MoveLeader` only the leader takes. A member defragments only itself. Before a
//! learner gets its vote, it is seen to hear of its leader.

use std::time::Duration;

use contract::{Endpoint, EndpointStatus, EtcdView, LEARNER_UNHEARD, MemberId};

use super::{Error, Pass};
use crate::error::Chain;
use crate::etcd::{self, Connection};
use crate::observe::Memory;

/// How long an entry may take from the leader to a learner that has nearly all of the log: many times the leader's heartbeat.
const RECEIPT: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The connection to the member that leads, by its own word.
pub(super) async fn leader(
    view: &EtcdView,
    pass: &Pass<'_>,
    memory: &mut Memory,
) -> Result<Connection, Error> {
    let (leader, _) = leading(view).ok_or_else(|| rejected("no member that answers leads"))?;
    connection(leader, pass, memory).await
}

/// `Cluster/MemberAdd` at the leader. Whoever is asked judges by its own connections alone, and may take one for broken
/// long after everybody is well; then those that follow are asked, whose word etcd takes as well.
pub(super) async fn add_learner(
    view: &EtcdView,
    pass: &Pass<'_>,
    memory: &mut Memory,
    peer_urls: &[String],
) -> Result<(), Error> {
    let first = leader(view, pass, memory).await?;
    let mut answer = first.add_learner(peer_urls).await;
    for follower in followers(view) {
        if !answer.as_ref().is_err_and(etcd::Error::is_of_connections) {
            break;
        }
        if let Ok(next) = connection(follower, pass, memory).await {
            answer = next.add_learner(peer_urls).await;
        }
    }
    answer.map(drop).map_err(error)
}

/// `Cluster/MemberPromote` at the leader, once the learner has received an entry that was not there before.
pub(super) async fn promote(
    view: &EtcdView,
    pass: &Pass<'_>,
    memory: &mut Memory,
    learner: MemberId,
) -> Result<(), Error> {
    let leader = leader(view, pass, memory).await?;
    let follower = member(learner, view, pass, memory).await?;
    leader.append_noop().await.map_err(error)?;
    let appended = leader.status().await.map_err(error)?.raft_index;
    let received = async {
        loop {
            let answer = follower.status().await;
            if answer.is_ok_and(|answer| envelope::has_received(learner, appended, &answer)) {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    };
    if tokio::time::timeout(RECEIPT, received).await.is_err() {
        return Err(rejected(&format!("{LEARNER_UNHEARD} within {RECEIPT:?}")));
    }
    leader.promote(learner).await.map_err(error)
}

fn leading(view: &EtcdView) -> Option<(&Endpoint, &EndpointStatus)> {
    let leading = view.endpoints.iter().filter_map(|endpoint| {
        let status = endpoint.status.seen()?;
        (status.leader == Some(status.member_id)).then_some((endpoint, status))
    });
    // An old leader that was cut off may still believe that it leads, in an older term.
    leading.max_by_key(|(_, status)| status.raft_term)
}

/// Voters that follow the one that leads.
fn followers(view: &EtcdView) -> impl Iterator<Item = &Endpoint> {
    let leading = leading(view).map(|(_, status)| (status.cluster_id, status.member_id));
    view.endpoints.iter().filter(move |endpoint| {
        endpoint.status.seen().is_some_and(|status| {
            let follows = status.leader.map(|leader| (status.cluster_id, leader));
            let is_led = leading.is_some() && follows == leading;
            is_led && status.leader != Some(status.member_id) && !status.learner
        })
    })
}

/// The connection to this very member.
pub(super) async fn member(
    id: MemberId,
    view: &EtcdView,
    pass: &Pass<'_>,
    memory: &mut Memory,
) -> Result<Connection, Error> {
    let is_it = |endpoint: &&Endpoint| {
        let status = endpoint.status.seen();
        status.is_some_and(|status| status.member_id == id)
    };
    let endpoint = view.endpoints.iter().find(is_it);
    let endpoint = endpoint.ok_or_else(|| rejected("the member does not answer"))?;
    connection(endpoint, pass, memory).await
}

fn rejected(why: &str) -> Error {
    Error::Rejected {
        why: why.to_owned(),
    }
}

async fn connection(
    endpoint: &Endpoint,
    pass: &Pass<'_>,
    memory: &mut Memory,
) -> Result<Connection, Error> {
    let pods = pass
        .objects
        .pods
        .seen()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let found = pods
        .iter()
        .find(|pod| pod.uid == endpoint.pod_uid)
        .and_then(|pod| Some((pod, pod.ip.as_deref()?)));
    let (pod, address) = found.ok_or_else(|| rejected("the member's pod has no address"))?;
    memory.connections.to(pod, address).await.map_err(error)
}

/// What a failed call means for the effect.
pub(super) fn error(error: etcd::Error) -> Error {
    let why = Chain(&error).to_string();
    if error.is_answer() {
        Error::Rejected { why }
    } else {
        Error::Lost { why }
    }
}
