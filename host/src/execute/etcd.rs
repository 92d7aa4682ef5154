//! Effects on etcd: which member they are sent to, and what its refusals mean.
//!
//! The leader takes all of them, and `MoveLeader` only the leader takes. A member defragments only itself.

use contract::{Endpoint, EtcdView, MemberId};

use super::{Error, Pass};
use crate::error::Chain;
use crate::etcd::{self, Connection};
use crate::observe::Memory;

/// The connection to the member that leads, by its own word.
pub(super) async fn leader(
    view: &EtcdView,
    pass: &Pass<'_>,
    memory: &mut Memory,
) -> Result<Connection, Error> {
    let leading = view.endpoints.iter().filter_map(|endpoint| {
        let status = endpoint.status.seen()?;
        (status.leader == Some(status.member_id)).then_some((status.raft_term, endpoint))
    });
    // An old leader that was cut off may still believe that it leads, in an older term.
    let leader = leading
        .max_by_key(|(term, _)| *term)
        .map(|(_, endpoint)| endpoint);
    let leader = leader.ok_or_else(|| rejected("no member that answers leads"))?;
    connection(leader, pass, memory).await
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
