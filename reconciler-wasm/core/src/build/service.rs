//! The two Services: headless for peers, with an address for clients.
//!
//! Names, ports and selectors are those of the archived operator, because users built on them.

use contract::{Resource, names};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata;
use crate::validate::Cluster;

/// The Service clients use. It holds ready members only.
pub(crate) fn client_service(cluster: &Cluster, resource: &Resource) -> Service {
    service(
        cluster,
        resource,
        names::client_service(&cluster.name),
        vec![port(cluster.dialect.client_port_name(), names::CLIENT_PORT)],
        None,
    )
}

/// The Service that gives members their DNS names. It publishes members before they are ready, because they need one
/// another to become ready.
pub(crate) fn peer_service(cluster: &Cluster, resource: &Resource) -> Service {
    let ports = vec![
        port(cluster.dialect.client_port_name(), names::CLIENT_PORT),
        port(cluster.dialect.peer_port_name(), names::PEER_PORT),
    ];
    let mut service = service(
        cluster,
        resource,
        names::peer_service(&cluster.name),
        ports,
        Some("None"),
    );
    service
        .spec
        .get_or_insert_default()
        .publish_not_ready_addresses = Some(true);
    service
}

fn service(
    cluster: &Cluster,
    resource: &Resource,
    name: String,
    ports: Vec<ServicePort>,
    cluster_ip: Option<&str>,
) -> Service {
    Service {
        metadata: metadata(resource, name),
        spec: Some(ServiceSpec {
            cluster_ip: cluster_ip.map(str::to_owned),
            ports: Some(ports),
            selector: Some(cluster.dialect.labels(&cluster.name)),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn port(name: &str, number: i32) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port: number,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(number)),
        ..ServicePort::default()
    }
}

/// Whether what stands has everything that is wanted. More labels or ports of a user's are left alone.
pub(crate) fn is_service_as_wanted(
    found: &contract::Service,
    wanted: &Service,
    cluster: &Cluster,
) -> bool {
    let Some(spec) = &wanted.spec else {
        return true;
    };
    let labels = cluster.dialect.labels(&cluster.name);
    let has_ports = spec.ports.iter().flatten().all(|port| {
        found
            .ports
            .iter()
            .any(|found| Some(&found.name) == port.name.as_ref() && found.port == port.port)
    });
    labels
        .iter()
        .all(|(key, value)| found.labels.get(key) == Some(value))
        && spec.selector.as_ref() == Some(&found.selector)
        && has_ports
        && spec.publish_not_ready_addresses.unwrap_or_default() == found.publish_not_ready
}
