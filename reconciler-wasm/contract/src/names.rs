//! Names of a cluster's children, the labels that join them, and the addresses of members.
//!
//! The one place that knows how the archived coreos etcd-operator named things; old objects are found by these names.

use std::collections::BTreeMap;

use crate::TlsRole;

/// Annotation of a cluster that an EtcdRestore made: the UID of that one.
pub const RESTORED_BY_ANNOTATION: &str = "etcd.database.coreos.com/restored-by";
/// Label `app` of every child.
pub const APP_LABEL: &str = "app";
/// Its value.
pub const APP: &str = "etcd";
/// Label with the cluster's name, on every child.
pub const CLUSTER_LABEL: &str = "etcd_cluster";
/// Label with the member's name, on pods.
pub const NODE_LABEL: &str = "etcd_node";
/// Prefix of reserved label keys.
pub const RESERVED_LABEL_PREFIX: &str = "etcd_";
/// Annotation of a pod: the etcd version it was built for.
pub const VERSION_ANNOTATION: &str = "etcd.version";
/// Annotation of a pod: `--initial-cluster` of its next start.
pub const INITIAL_CLUSTER_ANNOTATION: &str = "etcd.database.coreos.com/initial-cluster";
/// Annotation of a pod: `--initial-cluster-state` of its next start.
pub const INITIAL_STATE_ANNOTATION: &str = "etcd.database.coreos.com/initial-cluster-state";
/// Annotation of a cluster: [`RENEW`] asks for its pods of the archived operator to be made anew, one by one.
pub const OLD_PODS_ANNOTATION: &str = "etcd.database.coreos.com/old-pods";
/// The one value of [`OLD_PODS_ANNOTATION`].
pub const RENEW: &str = "renew";
/// Annotation of a pod: how often its container had been restarted when its image was changed; empty when it had never
/// been started. Another count tells that the image in force is the one that runs.
pub const RESTARTS_ANNOTATION: &str = "etcd.database.coreos.com/restarts-before-image";
/// Annotation of a pod: a digest of the part of `spec.pod` that it was made from.
pub const SHAPE_ANNOTATION: &str = "etcd.database.coreos.com/shape";
/// Annotation of a pod: fingerprints of the authorities that its etcd was started with.
pub const AUTHORITIES_ANNOTATION: &str = "etcd.database.coreos.com/authorities";
/// Annotation of a volume claim that outlives its cluster: UID of the cluster, in the place of an owner reference.
pub const OWNER_ANNOTATION: &str = "etcd.database.coreos.com/owner";
/// Annotation of a volume claim that was taken up from an earlier cluster: UID of that one.
pub const PREVIOUS_OWNER_ANNOTATION: &str = "etcd.database.coreos.com/previous-owner";
/// Annotation of a volume claim that was taken over from another operator: where on the volume its data is; [`AT_ROOT`].
pub const DATA_ANNOTATION: &str = "etcd.database.coreos.com/data";
/// The one value of [`DATA_ANNOTATION`]: at its root, and not in its folder `data`.
pub const AT_ROOT: &str = "volume-root";
/// Annotation of a pod: from whom its etcd takes plain text although it has certificates: [`PLAIN_PEERS`],
/// [`PLAIN_CLIENTS`], or both with a comma between.
pub const PLAIN_ANNOTATION: &str = "etcd.database.coreos.com/plain";
/// The other members, in [`PLAIN_ANNOTATION`].
pub const PLAIN_PEERS: &str = "peers";
/// Clients, in [`PLAIN_ANNOTATION`].
pub const PLAIN_CLIENTS: &str = "clients";
/// Which kind of the archived coreos operator serves a cluster.
pub const SCOPE_ANNOTATION: &str = "etcd.database.coreos.com/scope";
/// The one value of [`SCOPE_ANNOTATION`] that has a meaning: the operator of all namespaces.
pub const CLUSTER_WIDE: &str = "clusterwide";
/// Annotation of a pod: `true` makes its next start one as the only member of its cluster. Empty otherwise.
pub const FORCE_NEW_CLUSTER_ANNOTATION: &str = "etcd.database.coreos.com/force-new-cluster";
/// Annotation of a pod whose disk is filled from a backup: `true` once the member answered, so that its first containers
/// do nothing when they run again.
pub const FILLED_ANNOTATION: &str = "etcd.database.coreos.com/filled";
/// Name of the volume with the store's credentials, or with the claim that is the store, in a pod whose disk is filled from a
/// backup.
pub const STORE_VOLUME: &str = "store-credentials";
/// Where that volume is mounted.
pub const STORE_MOUNT: &str = "/etc/binnacle/store";
/// Where claims with backups are mounted into the operator: each in CLAIMS_MOUNT/NAMESPACE/CLAIM.
pub const CLAIMS_MOUNT: &str = "/var/lib/binnacle-claims";
/// The container that fetches a backup onto the disk.
pub const FETCH_CONTAINER: &str = "fetch";
/// The container in which etcd's own tool makes a data folder of it.
pub const RESTORE_CONTAINER: &str = "restore";
/// The container that puts the data folder into its place.
pub const PLACE_CONTAINER: &str = "place";
/// The container that says what the restored member of a rehearsal holds.
pub const WITNESS_CONTAINER: &str = "witness";
/// Label `app` of the pods of rehearsals, which belong to no cluster.
pub const REHEARSAL_APP: &str = "etcd-rehearsal";
/// Image repository where a spec names none.
pub const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";
/// Where a member's disk is mounted; the data is in its folder `data`.
pub const DATA_MOUNT: &str = "/var/etcd";
/// The data folder of every member, and where a disk is mounted that has its data at its root.
pub const DATA_FOLDER: &str = "/var/etcd/data";
/// The folder of a disk in which a backup becomes a data folder.
pub const FILLING_FOLDER: &str = "restore";
/// The fetched backup in it.
pub const FETCHED_FILE: &str = "snapshot.db";
/// The operator's program in its image.
pub const OPERATOR_PROGRAM: &str = "/usr/local/bin/binnacle";
/// Name of the container that runs etcd.
pub const ETCD_CONTAINER: &str = "etcd";
/// Name of the data volume of a pod.
pub const DATA_VOLUME: &str = "etcd-data";
/// Port for clients.
pub const CLIENT_PORT: i32 = 2379;
/// Port for peers.
pub const PEER_PORT: i32 = 2380;
/// Port for probes and metrics, plain HTTP.
pub const METRICS_PORT: i32 = 2381;
/// Longest name a cluster may have: 63 (a DNS label), less 10 random characters and the dash.
pub const LONGEST_CLUSTER_NAME: usize = 52;
/// Name the host acts under: field manager of its applies, reporter of its events.
pub const FIELD_MANAGER: &str = "binnacle";

/// Name of the Service for clients.
#[must_use]
pub fn client_service(cluster: &str) -> String {
    format!("{cluster}-client")
}

/// Name of the headless Service for peers.
#[must_use]
pub fn peer_service(cluster: &str) -> String {
    cluster.to_owned()
}

/// Name of the PodDisruptionBudget.
#[must_use]
pub fn disruption_budget(cluster: &str) -> String {
    cluster.to_owned()
}

/// Name of the Secret that the operator makes for a role.
#[must_use]
pub fn made_secret(cluster: &str, role: TlsRole) -> String {
    let role = match role {
        TlsRole::Peer => "peer",
        TlsRole::Server => "server",
        TlsRole::Operator => "client",
    };
    [cluster, "-", role, "-tls"].concat()
}

/// Name of the Secret with the authorities that the operator makes, and their keys.
#[must_use]
pub fn authorities_secret(cluster: &str) -> String {
    format!("{cluster}-authorities")
}

/// Name of the pod of a rehearsal: runs have different names for ever.
#[must_use]
pub fn rehearsal_pod(run: &str) -> String {
    format!("rehearsal-{run}")
}

/// Labels that every child carries and Services select by.
#[must_use]
pub fn labels(cluster: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (APP_LABEL.to_owned(), APP.to_owned()),
        (CLUSTER_LABEL.to_owned(), cluster.to_owned()),
    ])
}

/// DNS name of a member: `<member>.<cluster>.<namespace>.svc<domain>`.
#[must_use]
pub fn member_host(member: &str, cluster: &str, namespace: &str, domain: &str) -> String {
    [member, ".", cluster, ".", namespace, ".svc", domain].concat()
}

/// The member's name in a peer or client URL: the first label of its host. None when the URL has no host.
#[must_use]
pub fn member_of_url(url: &str) -> Option<&str> {
    let (_scheme, rest) = url.split_once(':')?;
    let host = rest.strip_prefix("//")?;
    let label = host.split(['.', '/', ':']).next();
    label.filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_the_first_label_of_its_peer_url() {
        assert_eq!(member_of_url("http://a-x1.a.ns.svc:2380"), Some("a-x1"));
        assert_eq!(
            member_of_url("https://a-0000.a.ns.svc.cluster.local:2380"),
            Some("a-0000")
        );
        assert_eq!(member_of_url("nonsense"), None);
        assert_eq!(member_of_url("http://"), None);
    }
}
