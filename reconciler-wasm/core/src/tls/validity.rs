//! Until when certificates are valid, for the status, and which of them end soon.
//!
//! What has ended already is a complaint and told elsewhere.

use contract::{CertificateRecord, EtcdClusterStatus, Millis, Observed, Secret, Snapshot, TlsRole};

use crate::clock;
use crate::validate::Cluster;

/// A certificate ends soon when less than this part of its time is left. Those who renew by themselves have done it by
/// then: cert-manager does after two thirds.
const LAST_PART: i64 = 5;

/// The end of each certificate in use, by role. Of a Secret that could not be read it is what it was.
pub(crate) fn records(
    cluster: &Cluster,
    snapshot: &Snapshot,
    memory: &EtcdClusterStatus,
) -> Vec<CertificateRecord> {
    let mut records: Vec<CertificateRecord> = Vec::new();
    for role in TlsRole::ALL {
        let Some(name) = cluster.tls.in_use.of_role(role) else {
            continue;
        };
        let found = match snapshot.secrets.get(name) {
            Some(Observed::Seen(secret)) => ends(role, name, secret),
            Some(Observed::Absent) => Vec::new(),
            Some(Observed::Unknown(_)) | None => memory
                .certificates
                .iter()
                .filter(|record| record.secret == name)
                .cloned()
                .collect(),
        };
        for record in found {
            if !records.contains(&record) {
                records.push(record);
            }
        }
    }
    records
}

fn ends(role: TlsRole, name: &str, secret: &Secret) -> Vec<CertificateRecord> {
    let files = role.files(|key| secret.digests.contains_key(key));
    [files.certificate, files.authority]
        .into_iter()
        .filter_map(|key| {
            Some(CertificateRecord {
                secret: name.to_owned(),
                key: key.to_owned(),
                not_after: clock::spell(*secret.not_after.get(key)?),
            })
        })
        .collect()
}

/// Those of `records` that end soon.
pub(crate) fn expiring<'r>(
    records: &'r [CertificateRecord],
    snapshot: &Snapshot,
) -> Vec<&'r CertificateRecord> {
    records
        .iter()
        .filter(|record| {
            snapshot
                .secrets
                .get(&record.secret)
                .and_then(Observed::seen)
                .is_some_and(|secret| ends_soon(secret, &record.key, snapshot.now))
        })
        .collect()
}

fn ends_soon(secret: &Secret, key: &str, now: Millis) -> bool {
    let (Some(begin), Some(end)) = (secret.not_before.get(key), secret.not_after.get(key)) else {
        return false;
    };
    let (left, all) = (end.0.saturating_sub(now.0), end.0.saturating_sub(begin.0));
    left < all / LAST_PART
}
