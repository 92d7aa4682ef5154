//! A living object of this dialect, read as one of the domain, and its status as this dialect has it.
//!
//! The stored status holds all that the domain's does, so nothing is lost on the way there and back. Three of its keys
//! are the archived operator's: `replicas`, `members`, `clusterVersion`. The domain's own `members` is `memberNames` there.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{EtcdClusterSpec, EtcdMember, cluster_from, cluster_to};

/// The domain's lists of members by health, which has another meaning under its own name.
const MEMBERS: &str = "members";
const MEMBER_NAMES: &str = "memberNames";
const REPLICAS: &str = "replicas";
const CLUSTER_VERSION: &str = "clusterVersion";

/// A stored spec as one of the domain. What cannot be read becomes text that says why, which nobody can follow.
#[must_use]
pub fn spec_of_domain(stored: Value) -> Value {
    let carried = EtcdClusterSpec::deserialize(stored).map(cluster_from);
    let spec = carried.and_then(|carried| serde_json::to_value(carried.spec));
    spec.unwrap_or_else(|error| Value::String(error.to_string()))
}

/// A spec of the domain as people write it in this dialect; as it is, where it cannot be said there.
#[must_use]
pub fn written_spec(domain: &Value) -> Value {
    let carried = crate::EtcdClusterSpec::deserialize(domain).ok();
    let carried = carried.and_then(|spec| cluster_to(spec).ok());
    let written = carried.and_then(|carried| serde_json::to_value(carried.spec).ok());
    written.unwrap_or_else(|| domain.clone())
}

/// A stored status as one of the domain; null where only the archived operator wrote one.
#[must_use]
pub fn status_of_domain(stored: Value) -> Value {
    let Value::Object(mut status) = stored else {
        return stored;
    };
    if !status.contains_key("phase") {
        return Value::Null;
    }
    for key in [REPLICAS, CLUSTER_VERSION, MEMBERS] {
        status.remove(key);
    }
    if let Some(names) = status.remove(MEMBER_NAMES) {
        status.insert(MEMBERS.to_owned(), names);
    }
    Value::Object(status)
}

/// A status of the domain as it is stored.
#[must_use]
pub fn stored_status(domain: Value) -> Value {
    let Value::Object(mut status) = domain else {
        return domain;
    };
    let members = json!(members(&status));
    if let Some(names) = status.insert(MEMBERS.to_owned(), members) {
        status.insert(MEMBER_NAMES.to_owned(), names);
    }
    let replicas = status.get("size").cloned().unwrap_or_else(|| json!(0));
    status.insert(REPLICAS.to_owned(), replicas);
    let lowest = status.get("currentVersion").and_then(Value::as_str);
    let version = lowest.map(cluster_version).unwrap_or_default();
    status.insert(CLUSTER_VERSION.to_owned(), json!(version));
    Value::Object(status)
}

/// Whoever etcd has in its list, with ids as etcd's own tool prints them: not padded.
fn members(status: &Map<String, Value>) -> Vec<EtcdMember> {
    let records = status.get("memberRecords").and_then(Value::as_array);
    let records = records.into_iter().flatten();
    let text = |record: &Value, key: &str| record.get(key)?.as_str().map(str::to_owned);
    records
        .filter_map(|record| {
            let id = text(record, "id")?;
            let has_started = record.get("version").is_some();
            let name = text(record, "name").filter(|_| has_started);
            Some(EtcdMember {
                name: name.unwrap_or_default(),
                id: id.trim_start_matches('0').to_owned(),
            })
        })
        .collect()
}

/// etcd's cluster version is the lowest of its members', without the patch.
fn cluster_version(lowest: &str) -> String {
    match lowest.rsplit_once('.') {
        Some((minor, _patch)) => format!("{minor}.0"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_comes_back_as_it_was_and_has_the_keys_of_the_archived_operator() {
        let domain = json!({
            "phase": "Running", "size": 2, "currentVersion": "3.6.16", "targetVersion": "",
            "members": {"ready": ["kv-0"], "unready": ["kv-1"]},
            "memberRecords": [
                {"name": "kv-0", "id": "00a1", "version": "3.6.16"}, {"name": "kv-1", "id": "b2"}, {"name": "kv-2"},
            ],
        });
        let stored = stored_status(domain.clone());
        assert_eq!(stored["replicas"], 2);
        assert_eq!(stored["clusterVersion"], "3.6.0");
        assert_eq!(
            stored["members"],
            json!([{"name": "kv-0", "id": "a1"}, {"name": "", "id": "b2"}])
        );
        assert_eq!(status_of_domain(stored), domain);
    }

    /// It is no memory of ours.
    #[test]
    fn a_status_of_the_archived_operator_is_none() {
        let theirs =
            json!({"replicas": 3, "members": [{"name": "a", "id": "1"}], "clusterVersion": ""});
        assert_eq!(status_of_domain(theirs), Value::Null);
        assert_eq!(status_of_domain(Value::Null), Value::Null);
    }

    #[test]
    fn a_spec_of_the_domain_is_written_as_it_was_read() {
        let written = json!({
            "replicas": 3, "version": "3.6.16",
            "storage": {"volumeClaimTemplate": {
                "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "storageClassName": "standard",
                "resources": {"requests": {"storage": "1Gi"}},
            }},
            "podTemplate": {"resources": {"limits": {"cpu": "2"}}},
        });
        assert_eq!(written_spec(&spec_of_domain(written.clone())), written);
        let unsayable = json!({"size": 0});
        assert_eq!(written_spec(&unsayable), unsayable);
    }

    #[test]
    fn a_spec_is_said_as_one_of_the_domain_and_one_that_cannot_be_read_says_why() {
        let spec = spec_of_domain(json!({
            "replicas": 3, "version": "3.6.16",
            "storage": {"volumeClaimTemplate": {"storageClassName": "standard", "resources": {"requests": {"storage": 1}}}},
            "podTemplate": {"resources": {"limits": {"cpu": 2}}},
        }));
        assert_eq!(spec["size"], 3);
        assert_eq!(
            spec["pod"]["persistentVolumeClaimSpec"]["accessModes"],
            json!(["ReadWriteOnce"])
        );
        assert_eq!(
            spec["pod"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"],
            "Retain"
        );
        assert_eq!(spec["pod"]["etcdEnv"][0]["name"], "GOMAXPROCS");
        let wrong = spec_of_domain(json!({"replicas": "three"}));
        assert!(wrong.as_str().expect("words").contains("three"), "{wrong}");
    }
}
