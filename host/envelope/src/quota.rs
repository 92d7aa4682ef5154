//! The bytes that a member's data file may reach, as the spec of its cluster has it.
//!
//! What cannot be read is as good as not set.

use contract::{EtcdSettings, QUOTA_VARIABLE, Resource};
use serde::Deserialize as _;

/// `DefaultQuotaBytes` of etcd's server.
const DEFAULT_QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// What the spec sets, else etcd's own. The field goes before the variable; of two equal names the kubelet takes the last.
pub(crate) fn quota(resource: &Resource) -> i64 {
    let settings = resource.spec.get("etcd");
    let settings = settings.and_then(|settings| EtcdSettings::deserialize(settings).ok());
    let typed = settings.and_then(|settings| settings.quota().ok().flatten());
    let set = typed.or_else(|| quota_variable(resource));
    set.unwrap_or(DEFAULT_QUOTA)
}

fn quota_variable(resource: &Resource) -> Option<i64> {
    let env = resource.spec.get("pod")?.get("etcdEnv")?.as_array()?;
    let mut set = env.iter().filter_map(|variable| {
        let is_quota = variable.get("name")?.as_str()? == QUOTA_VARIABLE;
        is_quota.then(|| variable.get("value")?.as_str()?.parse().ok())?
    });
    set.next_back().filter(|quota| *quota != 0)
}
