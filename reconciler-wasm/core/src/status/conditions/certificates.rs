//! The condition of the certificates: whether all of them work, and which end soon.

use contract::{CertificateRecord, Condition, ConditionStatus, Reason, Snapshot};

use super::{CERTIFICATES, claim, merge};
use crate::tls;
use crate::validate::Cluster;

/// The condition of the certificates, where there are any.
pub(in crate::status) fn certificates(
    conditions: &mut Vec<Condition>,
    cluster: &Cluster,
    snapshot: &Snapshot,
    records: &[CertificateRecord],
) {
    if cluster.tls.in_use.is_plain() {
        conditions.retain(|condition| condition.kind != CERTIFICATES);
        return;
    }
    let ends = |record: &CertificateRecord| {
        let CertificateRecord {
            secret,
            key,
            not_after,
        } = record;
        format!("key {key} of Secret {secret} ends at {not_after}")
    };
    let soon = tls::expiring(records, snapshot);
    let (status, reason, message) = if let Some(complaint) = cluster.tls.findings().next() {
        (ConditionStatus::False, complaint.reason, complaint.message)
    } else if soon.is_empty() {
        let first = records.iter().min_by_key(|record| &record.not_after);
        let message = first.map_or_else(String::new, |first| {
            format!("The first to end: {}.", ends(first))
        });
        (ConditionStatus::True, Reason::AsSpecified, message)
    } else {
        let list: Vec<String> = soon.into_iter().map(ends).collect();
        let message = format!(
            "{}. Put renewed ones into the same Secrets; members read certificates without a restart.",
            list.join("; ")
        );
        (ConditionStatus::False, Reason::CertificateExpiring, message)
    };
    merge(
        conditions,
        snapshot.now,
        vec![claim(CERTIFICATES, status, reason, message)],
    );
}
