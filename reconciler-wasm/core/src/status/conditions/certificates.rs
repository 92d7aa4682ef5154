//! The condition of the certificates: whether all of them work, and which end soon.

use contract::{CertificateRecord, Condition, ConditionStatus, FindingKind, Reason, Snapshot};

use super::{CERTIFICATES, claim, merge};
use crate::step::Step;
use crate::tls;
use crate::validate::Cluster;

/// The condition of the certificates, where there are any.
pub(in crate::status) fn certificates(
    conditions: &mut Vec<Condition>,
    cluster: &Cluster,
    snapshot: &Snapshot,
    records: &[CertificateRecord],
    step: &Step,
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
    // What makes them may be missing while all of them still work.
    let missing = step.findings.iter().find(|finding| {
        finding.kind == FindingKind::Blocked && finding.reason == Reason::SecretMissing
    });
    let complaint = cluster.tls.findings().next().or_else(|| missing.cloned());
    let (status, reason, message) = if let Some(complaint) = complaint {
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
