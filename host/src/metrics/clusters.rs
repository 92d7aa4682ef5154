//! What is shown of each cluster and each member: what their status says, and what members said at the last look.
//!
//! Judges nothing: health is the module's word, sizes and indexes are etcd's. A cluster that is gone, or that another
//! instance looks after, is not shown.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use contract::{
    EndpointStatus, EtcdClusterStatus, MemberHealth, MemberRecord, MemberRole, Resource, Snapshot,
};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;
use serde::Deserialize;

use crate::key::ClusterKey;
use crate::observe::World;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterLabels {
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MemberLabels {
    namespace: String,
    name: String,
    member: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VersionLabels {
    namespace: String,
    name: String,
    member: String,
    version: String,
}

/// What members said at the last look, by the names of their pods.
type Look = BTreeMap<String, EndpointStatus>;

/// The last look at each cluster.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<BTreeMap<ClusterKey, Look>>);

impl Looks {
    /// Keeps what the members say in this snapshot.
    pub(super) fn keep(&self, key: &ClusterKey, snapshot: &Snapshot) {
        let answered = snapshot.etcd.endpoints.iter().filter_map(|endpoint| {
            let status = endpoint.status.seen()?;
            Some((endpoint.pod.clone(), status.clone()))
        });
        let look = answered.collect();
        self.lock().insert(key.clone(), look);
    }

    /// Forgets a cluster.
    pub(super) fn forget(&self, key: &ClusterKey) {
        self.lock().remove(key);
    }

    fn of(&self, key: &ClusterKey) -> Look {
        self.lock().get(key).cloned().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ClusterKey, Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gauges of one scrape.
#[derive(Default)]
struct Gauges {
    wanted: Family<ClusterLabels, Gauge>,
    voters: Family<ClusterLabels, Gauge>,
    healthy_voters: Family<ClusterLabels, Gauge>,
    quorum: Family<ClusterLabels, Gauge>,
    blocked: Family<ClusterLabels, Gauge>,
    healthy: Family<MemberLabels, Gauge>,
    version: Family<VersionLabels, Gauge>,
    size: Family<MemberLabels, Gauge>,
    in_use: Family<MemberLabels, Gauge>,
    quota: Family<MemberLabels, Gauge>,
    lag: Family<MemberLabels, Gauge>,
}

impl Gauges {
    fn add(&self, resource: &Resource, look: &Look) {
        let cluster = ClusterLabels {
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
        };
        let wanted = resource
            .spec
            .get("size")
            .and_then(serde_json::Value::as_i64);
        self.wanted
            .get_or_create(&cluster)
            .set(wanted.unwrap_or_default());
        let Ok(status) = EtcdClusterStatus::deserialize(&resource.status) else {
            return;
        };
        let is_voter = |record: &&MemberRecord| record.role == MemberRole::Voter;
        let is_healthy = |record: &&MemberRecord| record.health == MemberHealth::Healthy;
        let records = status.member_records.iter();
        let voters = count(records.clone().filter(is_voter));
        let healthy = count(records.clone().filter(is_voter).filter(is_healthy));
        self.voters.get_or_create(&cluster).set(voters);
        self.healthy_voters.get_or_create(&cluster).set(healthy);
        self.quorum.get_or_create(&cluster).set(voters / 2 + 1);
        let blocked = status.conditions.iter().any(|condition| {
            condition.kind == "Blocked" && condition.status == contract::ConditionStatus::True
        });
        self.blocked.get_or_create(&cluster).set(i64::from(blocked));
        let newest = look.values().map(|status| status.raft_index).max();
        for record in records {
            let member = MemberLabels {
                namespace: resource.namespace.clone(),
                name: resource.name.clone(),
                member: record.name.clone(),
            };
            self.healthy
                .get_or_create(&member)
                .set(i64::from(is_healthy(&record)));
            if let Some(status) = look.get(&record.name) {
                self.add_member(&member, status, newest.unwrap_or_default());
            }
        }
    }

    fn add_member(&self, member: &MemberLabels, status: &EndpointStatus, newest: u64) {
        let MemberLabels {
            namespace,
            name,
            member: own,
        } = member.clone();
        let version = VersionLabels {
            namespace,
            name,
            member: own,
            version: status.version.clone(),
        };
        self.version.get_or_create(&version).set(1);
        self.size.get_or_create(member).set(status.db_size);
        self.in_use.get_or_create(member).set(status.db_size_in_use);
        if let Some(quota) = status.quota {
            self.quota.get_or_create(member).set(quota);
        }
        let lag = newest.saturating_sub(status.raft_applied_index);
        self.lag
            .get_or_create(member)
            .set(i64::try_from(lag).unwrap_or(i64::MAX));
    }
}

/// Encodes the gauges of all clusters.
pub(super) fn encode(
    encoder: &mut DescriptorEncoder,
    world: &World,
    looks: &Looks,
) -> Result<(), std::fmt::Error> {
    let gauges = Gauges::default();
    world.each_cluster(|resource| {
        let key = ClusterKey::of_cluster(resource);
        gauges.add(resource, &looks.of(&key));
    });
    let Gauges {
        wanted,
        voters,
        healthy_voters,
        quorum,
        blocked,
        healthy,
        version,
        size,
        in_use,
        quota,
        lag,
    } = gauges;
    let plain = [
        (
            "cluster_members_wanted",
            "Members the spec asks for",
            wanted,
        ),
        ("cluster_voters", "Members with a vote", voters),
        (
            "cluster_voters_healthy",
            "Members with a vote that are healthy",
            healthy_voters,
        ),
        (
            "cluster_quorum",
            "Healthy voters that the cluster needs to serve",
            quorum,
        ),
        (
            "cluster_blocked",
            "1 while nothing more happens without a person",
            blocked,
        ),
    ];
    for (name, help, family) in plain {
        family.encode(encoder.encode_descriptor(name, help, None, family.metric_type())?)?;
    }
    healthy.encode(encoder.encode_descriptor(
        "member_healthy",
        "1 while the member is healthy",
        None,
        healthy.metric_type(),
    )?)?;
    version.encode(encoder.encode_descriptor(
        "member_version",
        "1, with the version of etcd that the member runs",
        None,
        version.metric_type(),
    )?)?;
    let bytes = Unit::Bytes;
    for (name, help, family) in [
        ("member_db_size", "Size of the member's data file", size),
        (
            "member_db_in_use",
            "Bytes of the member's data file that hold something",
            in_use,
        ),
        (
            "member_db_quota",
            "Bytes the member's data file may reach, from etcd 3.6 on",
            quota,
        ),
    ] {
        let kind = family.metric_type();
        family.encode(encoder.encode_descriptor(name, help, Some(&bytes), kind)?)?;
    }
    lag.encode(encoder.encode_descriptor(
        "member_raft_lag_entries",
        "Entries of the log that the member has yet to apply",
        None,
        lag.metric_type(),
    )?)
}

fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    i64::try_from(items.count()).unwrap_or(i64::MAX)
}
