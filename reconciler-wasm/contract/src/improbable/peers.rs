//! The `EtcdPeer` objects that show a cluster's members: what they are follows from the cluster's spec and status.
//!
//! They are for people to look at. Nothing is decided by them, and none is made for a cluster of another dialect.

use serde_json::Value;

use super::{EtcdPeerSpec, EtcdPeerStatus, cluster_to};
use crate::{Dialect, EtcdClusterSpec, EtcdClusterStatus, MemberHealth, MemberRecord, Resource};

/// The kind.
pub const PEER_KIND: &str = "EtcdPeer";
/// Its resource name in URLs.
pub const PEER_PLURAL: &str = "etcdpeers";

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// The member's name.
    pub name: String,
    /// What is stored once.
    pub spec: EtcdPeerSpec,
    /// What changes.
    pub status: EtcdPeerStatus,
}

/// Those of a cluster, in the order of their names; none where its dialect has none or nothing is known of members.
#[must_use]
pub fn peers(cluster: &Resource) -> Vec<Peer> {
    match cluster.dialect() {
        Dialect::Coreos => Vec::new(),
        Dialect::Improbable => {
            let status = read::<EtcdClusterStatus>(&cluster.status);
            let spec = read::<EtcdClusterSpec>(&cluster.spec);
            // Of a spec that breaks a rule only the name of the cluster is shown.
            let spec = cluster_to(spec).map(|carried| carried.spec);
            let spec = spec.unwrap_or_default();
            let peer = |record: MemberRecord| Peer {
                spec: EtcdPeerSpec {
                    cluster_name: cluster.name.clone(),
                    version: version_of(&record).unwrap_or_else(|| spec.version.clone()),
                    storage: spec.storage.clone(),
                    pod_template: spec.pod_template.clone(),
                    bootstrap: None,
                },
                status: EtcdPeerStatus {
                    server_version: answered(&record).unwrap_or_default(),
                },
                name: record.name,
            };
            status.member_records.into_iter().map(peer).collect()
        }
    }
}

fn read<T: Default + serde::de::DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

/// Of the image that its pod was last given.
fn version_of(record: &MemberRecord) -> Option<String> {
    let (_repository, version) = record.image.as_deref()?.rsplit_once(":v")?;
    Some(version.to_owned())
}

fn answered(record: &MemberRecord) -> Option<String> {
    match record.health {
        MemberHealth::Healthy => record.version.clone(),
        MemberHealth::Unhealthy | MemberHealth::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(api_version: &str) -> Resource {
        Resource {
            api_version: api_version.to_owned(),
            name: "kv".to_owned(),
            spec: json!({"size": 2, "version": "3.6.16", "pod": {"persistentVolumeClaimSpec": {
                "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}},
            }}}),
            status: json!({"phase": "Running", "memberRecords": [
                {"name": "kv-0", "id": "a1", "role": "Voter", "health": "Healthy", "since": "", "roleSince": "",
                 "version": "3.5.21", "image": "quay.io/coreos/etcd:v3.5.21"},
                {"name": "kv-1", "role": "Planned", "health": "Unknown", "since": "", "roleSince": "", "version": "3.5.21"},
            ]}),
            ..Resource::default()
        }
    }

    #[test]
    fn each_member_is_a_peer_with_the_version_that_it_answers() {
        let peers = peers(&cluster("etcd.improbable.io/v1alpha1"));
        let shown: Vec<(&str, &str, &str)> = peers
            .iter()
            .map(|peer| {
                (
                    peer.name.as_str(),
                    peer.spec.version.as_str(),
                    peer.status.server_version.as_str(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("kv-0", "3.5.21", "3.5.21"), ("kv-1", "3.6.16", "")]
        );
        assert!(peers.iter().all(|peer| peer.spec.storage.is_some()));
    }

    #[test]
    fn the_first_dialect_has_no_peers() {
        assert_eq!(peers(&cluster("etcd.database.coreos.com/v1beta2")), []);
    }
}
