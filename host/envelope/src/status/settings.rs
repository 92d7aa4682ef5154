//! What a status says of the resource itself, and what people's tools go by: there is one right value of each, or none is
//! given yet.

use contract::{EtcdClusterStatus, Resource, names};

use crate::fresh::is_paused;

/// What of it is not so.
pub(super) fn untrue(
    status: &EtcdClusterStatus,
    stored: &EtcdClusterStatus,
    resource: &Resource,
) -> Vec<String> {
    let selector = resource.dialect().selector(&resource.name);
    let is_selector = ["", &selector].contains(&status.selector.as_str());
    let service = names::client_service(&resource.name);
    let is_service = ["", &service].contains(&status.service_name.as_str());
    let port = i64::from(names::CLIENT_PORT);
    let is_port = status.client_port.is_none_or(|told| told == port);
    let generation = status.observed_generation;
    let is_seen = generation.is_none_or(|seen| seen == resource.generation);
    let is_pause = status.control_paused == stored.control_paused
        || status.control_paused == is_paused(resource);
    let rules = [
        (
            is_selector,
            format!("its pods are not selected by {:?}", status.selector),
        ),
        (
            is_service,
            format!("its Service is not {:?}", status.service_name),
        ),
        (
            is_port,
            format!("clients are not served at {:?}", status.client_port),
        ),
        (
            is_seen,
            format!(
                "generation {} was decided on, not {generation:?}",
                resource.generation
            ),
        ),
        (
            is_pause,
            format!(
                "controlPaused is {}, and the spec says otherwise",
                status.control_paused
            ),
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    broken.map(|(_, words)| words).collect()
}
