//! Where a backup's data comes from: the spec's endpoints, or the members of the cluster it names.
//!
//! A name of a Service or a member that the caches know is dialled at its address, so that it works outside of the cluster
//! as well as inside; any other name is the resolver's business. With TLS the name in the URL is what is verified.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    BackupBefore, Dialect, EtcdBackupSpec, Observed, Pod, Resource, ResourceKind, names,
};
use serde::Deserialize as _;

use super::secret::Data;
use crate::error::Chain;
use crate::etcd::{Connection, Identity};
use crate::key::ClusterKey;
use crate::observe::World;

/// How long a name may take to resolve.
const RESOLVE: Duration = Duration::from_secs(5);

/// One URL, and the way to it.
pub(super) struct Way {
    pub(super) url: String,
    pub(super) connection: Result<Connection, String>,
}

/// The ways to all endpoints.
pub(super) async fn ways(
    world: &World,
    backup: &ClusterKey,
    spec: &EtcdBackupSpec,
    tls: Option<&Result<Data, String>>,
) -> Vec<Way> {
    let identity = match tls {
        None => Ok(None),
        Some(Ok(data)) => identity(data).map(Some),
        Some(Err(why)) => Err(why.clone()),
    };
    let urls = match &spec.cluster_ref {
        Some(cluster) => members(world, backup, &cluster.name),
        None => spec.etcd_endpoints.clone().unwrap_or_default(),
    };
    let open = urls.into_iter().map(async |url| {
        let connection = match &identity {
            Ok(identity) => open(world, &backup.namespace, &url, identity.as_ref()).await,
            Err(why) => Err(why.clone()),
        };
        Way { url, connection }
    });
    futures::future::join_all(open).await
}

fn identity(data: &Data) -> Result<Identity, String> {
    let pem = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| data.bytes(key));
        found.ok_or_else(|| format!("the client's Secret has no key {}", keys.join(" or ")))
    };
    Identity::of_client(
        pem(["etcd-client.crt", "tls.crt"])?,
        pem(["etcd-client.key", "tls.key"])?,
        pem(["etcd-client-ca.crt", "ca.crt"])?,
    )
    .map_err(|error| format!("the client's Secret: {}", Chain(&error)))
}

/// `spec.repository` of the cluster that the spec names, where it has one.
pub(super) fn repository(
    world: &World,
    backup: &ClusterKey,
    spec: &EtcdBackupSpec,
) -> Option<String> {
    let cluster = cluster(world, backup, spec)?;
    let repository = cluster.spec.get("repository")?.as_str()?;
    Some(repository.to_owned())
}

/// The backup that this cluster waits for.
pub(super) fn wanted(
    world: &World,
    backup: &ClusterKey,
    spec: &EtcdBackupSpec,
) -> Option<BackupBefore> {
    let cluster = cluster(world, backup, spec)?;
    BackupBefore::deserialize(cluster.status.get("backupBefore")?).ok()
}

fn cluster(world: &World, backup: &ClusterKey, spec: &EtcdBackupSpec) -> Option<Arc<Resource>> {
    let name = &spec.cluster_ref.as_ref()?.name;
    let key = ClusterKey::beside(backup, ResourceKind::EtcdCluster, name);
    world.resources_of(key.dialect, key.kind).one(&key, name)
}

/// The URLs of a cluster's pods that have an address.
fn members(world: &World, backup: &ClusterKey, cluster: &str) -> Vec<String> {
    let key = ClusterKey::beside(backup, ResourceKind::EtcdCluster, cluster);
    let Observed::Seen(pods) = world.pods.of(&key, Instant::now()) else {
        return Vec::new();
    };
    let url = |pod: &Pod| {
        let scheme = if pod.server_secret.is_some() {
            "https"
        } else {
            "http"
        };
        let host = names::member_host(&pod.name, cluster, &backup.namespace, "");
        format!("{scheme}://{host}:{}", names::CLIENT_PORT)
    };
    let reachable = pods.iter().filter(|pod| pod.ip.is_some());
    reachable.map(url).collect()
}

async fn open(
    world: &World,
    namespace: &str,
    url: &str,
    identity: Option<&Identity>,
) -> Result<Connection, String> {
    let (host, port, is_secure) =
        parts(url).ok_or_else(|| format!("{url} is not a URL with a host"))?;
    let address = match known(world, namespace, host) {
        Some(ip) => SocketAddr::new(ip, port),
        None => resolve(host, port).await?,
    };
    let identity = match (is_secure, identity) {
        (false, _) => None,
        (true, Some(identity)) => Some((host, identity)),
        (true, None) => return Err("it speaks TLS, and spec.clientTLSSecret is not set".to_owned()),
    };
    Connection::at(address, identity)
        .await
        .map_err(|error| Chain(&error).to_string())
}

async fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let lookup = tokio::net::lookup_host((host.trim_matches(['[', ']']), port));
    match tokio::time::timeout(RESOLVE, lookup).await {
        Ok(Ok(mut found)) => found.next().ok_or_else(|| format!("{host} has no address")),
        Ok(Err(error)) => Err(format!("{host} does not resolve ({error})")),
        Err(_elapsed) => Err(format!("{host} does not resolve within {RESOLVE:?}")),
    }
}

/// Host, port and whether it is TLS.
fn parts(url: &str) -> Option<(&str, u16, bool)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        Some(_) | None => (authority, names::CLIENT_PORT as u16),
    };
    (!host.is_empty()).then_some((host, port, scheme == "https"))
}

/// The address of a Service or member of the same namespace, as the caches have it. The Service that is called after its
/// cluster has none of its own: it means the members, and one that is ready comes first.
fn known(world: &World, namespace: &str, host: &str) -> Option<IpAddr> {
    let inner = host.split(".svc").next().unwrap_or(host);
    let labels: Vec<&str> = inner.split('.').collect();
    let keys = |cluster: &str| {
        Dialect::ALL.map(|dialect| ClusterKey {
            dialect,
            ..ClusterKey::new(ResourceKind::EtcdCluster, namespace, cluster)
        })
    };
    let service = |name: &str| {
        let keys = keys(name.strip_suffix("-client")?);
        let mut found = keys.iter();
        let found = found.find_map(|key| world.services.one(key, name))?;
        found.cluster_ip.clone()
    };
    let member = |name: &str, cluster: &str| {
        let keys = keys(cluster);
        let mut found = keys.iter();
        found.find_map(|key| world.pods.one(key, name))?.ip.clone()
    };
    let any_member = |cluster: &str| {
        let pods = keys(cluster).into_iter().find_map(|key| {
            let pods = world.pods.of(&key, Instant::now());
            pods.seen().filter(|pods| !pods.is_empty()).cloned()
        })?;
        let with_address = pods.iter().filter(|pod| pod.ip.is_some());
        // Of equals the first.
        let best = with_address.rev().max_by_key(|pod| pod.ready)?;
        best.ip.clone()
    };
    let address = match labels.as_slice() {
        [name] => service(name).or_else(|| any_member(name)),
        [name, found] if *found == namespace => service(name).or_else(|| any_member(name)),
        [name, cluster] => member(name, cluster),
        [name, cluster, found] if *found == namespace => member(name, cluster),
        _ => None,
    };
    address?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_url_is_a_host_a_port_and_whether_it_is_tls() {
        assert_eq!(
            parts("http://example-client:2379"),
            Some(("example-client", 2379, false))
        );
        assert_eq!(parts("https://a.b.svc/path"), Some(("a.b.svc", 2379, true)));
        assert_eq!(parts("https://[::1]:77"), Some(("[::1]", 77, true)));
        assert_eq!(parts("example-client:2379"), None);
        assert_eq!(parts("http://:2379"), None);
    }
}
