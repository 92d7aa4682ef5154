//! The end of each certificate, as the clusters' statuses have it.
//!
//! Its labels are names of people's objects: as many as there are certificates, and gone with them.

use contract::{CertificateRecord, Resource};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use serde::Deserialize;

use crate::observe::World;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CertificateLabels {
    namespace: String,
    cluster: String,
    secret: String,
    key: String,
}

/// Seconds since 1970 at which each certificate ends.
pub(super) fn ends(world: &World) -> Family<CertificateLabels, Gauge> {
    let family = Family::<CertificateLabels, Gauge>::default();
    world.each_cluster(|resource| {
        for record in records(resource) {
            let Ok(end) = record.not_after.parse::<jiff::Timestamp>() else {
                continue;
            };
            let labels = CertificateLabels {
                namespace: resource.namespace.clone(),
                cluster: resource.name.clone(),
                secret: record.secret,
                key: record.key,
            };
            family.get_or_create(&labels).set(end.as_second());
        }
    });
    family
}

fn records(resource: &Resource) -> Vec<CertificateRecord> {
    let found = resource.status.get("certificates");
    found
        .and_then(|records| Vec::deserialize(records).ok())
        .unwrap_or_default()
}
