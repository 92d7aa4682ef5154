//! How large a member's file is, and how much of it is in use.
//!
//! Knows the quota and the limit below which an alarm may end. Does not know what is done about a full one.

use contract::{EndpointStatus, MemberId, names};

use crate::assess::{Living, Member};
use crate::validate::Cluster;

/// A voter that answers, with what counts here.
pub(super) struct Sized<'a> {
    pub(super) name: &'a str,
    pub(super) id: MemberId,
    pub(super) status: &'a EndpointStatus,
    pub(super) quota: i64,
    /// The quota is the spec's, and the pod was made from another spec and is ready to be made anew from this one.
    pub(super) is_to_get_it: bool,
}

impl Sized<'_> {
    /// The size from which on the file is too large: 90 % of the quota.
    const fn limit(&self) -> i64 {
        self.quota - self.quota / 10
    }

    pub(super) const fn is_full(&self) -> bool {
        self.status.db_size >= self.limit()
    }

    /// Whether defragmenting would surely make room. It may also where this says no: pages can be half full.
    pub(super) const fn has_slack(&self) -> bool {
        self.status.db_size_in_use > 0 && self.status.db_size_in_use < self.limit()
    }

    pub(super) fn percent(&self) -> i64 {
        self.status.db_size.saturating_mul(100) / self.quota.max(1)
    }
}

/// All voters that answer.
pub(super) fn sized<'a>(cluster: &Cluster, living: &'a Living<'_>) -> Vec<Sized<'a>> {
    living
        .voters()
        .filter_map(|member| {
            let status = member.status()?;
            let told = status.quota.filter(|quota| *quota != 0);
            let quota = match told.unwrap_or_else(|| cluster.quota()) {
                unlimited if unlimited < 0 => i64::MAX,
                quota => quota,
            };
            Some(Sized {
                name: member.name,
                id: member.id?,
                status,
                quota,
                is_to_get_it: told.is_none() && is_to_be_made_anew(cluster, member),
            })
        })
        .collect()
}

/// Before 3.5.11 and 3.4.29 no pod is Ready while the alarm stands, and none is made anew then.
fn is_to_be_made_anew(cluster: &Cluster, member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| {
        let shape = pod.annotations.get(names::SHAPE_ANNOTATION);
        pod.ready && shape.is_some_and(|shape| *shape != cluster.shape)
    })
}
