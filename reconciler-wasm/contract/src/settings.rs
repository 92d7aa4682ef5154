//! Settings of etcd that the spec has fields for, and the variables by which etcd takes them.
//!
//! Knows how etcd spells them and which make sense. What else is set in the environment is not known here.

use k8s_openapi::api::core::v1::EnvVar;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use crate::quantity;

/// The variable of [`EtcdSettings::quota_backend_bytes`].
pub const QUOTA_VARIABLE: &str = "ETCD_QUOTA_BACKEND_BYTES";
/// The variable of [`EtcdSettings::snapshot_count`].
pub const SNAPSHOT_COUNT_VARIABLE: &str = "ETCD_SNAPSHOT_COUNT";
const MODE_VARIABLE: &str = "ETCD_AUTO_COMPACTION_MODE";
const RETENTION_VARIABLE: &str = "ETCD_AUTO_COMPACTION_RETENTION";

/// Bytes that a quota may be: with less etcd would be full at once, and more is a slip of the pen.
const QUOTAS: std::ops::RangeInclusive<u128> = (16 << 20)..=(1 << 40);
/// Entries between two snapshots: a member keeps as many of them in memory.
const SNAPSHOT_COUNTS: std::ops::RangeInclusive<i64> = 1..=1_000_000;

/// Settings of etcd that have a field of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdSettings {
    /// How large the data file of a member may grow, 16Mi to 1Ti; when it is used up, etcd serves only reads and deletes.
    /// etcd advises against more than 8Gi. Default: 2Gi, which is etcd's own.
    #[serde(
        default,
        deserialize_with = "crate::quantities::number_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub quota_backend_bytes: Option<Quantity>,
    /// What `autoCompactionRetention` counts: `periodic` for time, `revision` for revisions. Default: periodic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction_mode: Option<CompactionMode>,
    /// How much history etcd keeps by itself: a time such as 30m or 8h, or hours without a unit; or a number of revisions.
    /// 0 keeps all. Default: 0, which is etcd's own.
    #[serde(
        default,
        deserialize_with = "crate::quantities::number_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>")
    )]
    pub auto_compaction_retention: Option<String>,
    /// After how many entries a member writes a snapshot of its log, 1 to 1000000. Default: etcd's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_count: Option<i64>,
}

/// What `autoCompactionRetention` counts: `periodic` for time, `revision` for revisions. Default: periodic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CompactionMode {
    /// By time.
    Periodic,
    /// By revisions.
    Revision,
}

/// A setting that etcd cannot follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting {
    /// The field below `spec.etcd`.
    pub field: &'static str,
    /// What is wrong with it and what would be right, as a sentence that goes on after the field and its value.
    pub why: String,
}

impl EtcdSettings {
    /// The variables that say the same to etcd, each with the field it comes from, in an order that never changes.
    ///
    /// # Errors
    /// The first setting that makes no sense.
    pub fn variables(&self) -> Result<Vec<(&'static str, EnvVar)>, BadSetting> {
        let Self {
            quota_backend_bytes: _,
            auto_compaction_mode: mode,
            auto_compaction_retention: retention,
            snapshot_count,
        } = self;
        let mut variables = Vec::new();
        let mut set = |field, name: &str, value: String| {
            let variable = EnvVar {
                name: name.to_owned(),
                value: Some(value),
                ..EnvVar::default()
            };
            variables.push((field, variable));
        };
        if let Some(bytes) = self.quota()? {
            set("quotaBackendBytes", QUOTA_VARIABLE, bytes.to_string());
        }
        if let Some(mode) = mode {
            if retention.is_none() {
                return Err(bad(
                    "autoCompactionMode",
                    "says what autoCompactionRetention counts, which is not there; give both"
                        .to_owned(),
                ));
            }
            let mode = match mode {
                CompactionMode::Periodic => "periodic",
                CompactionMode::Revision => "revision",
            };
            set("autoCompactionMode", MODE_VARIABLE, mode.to_owned());
        }
        if let Some(retention) = retention {
            let is_good = match mode.unwrap_or(CompactionMode::Periodic) {
                CompactionMode::Periodic => is_number(retention) || is_time(retention),
                CompactionMode::Revision => is_number(retention),
            };
            if !is_good {
                return Err(bad(
                    "autoCompactionRetention",
                    format!(
                        "\"{retention}\" is neither a time such as 30m or 8h nor, with the mode revision, a number of revisions"
                    ),
                ));
            }
            let (field, name) = ("autoCompactionRetention", RETENTION_VARIABLE);
            set(field, name, retention.clone());
        }
        if let Some(count) = snapshot_count {
            if !SNAPSHOT_COUNTS.contains(count) {
                return Err(bad(
                    "snapshotCount",
                    format!(
                        "{count} is not within {} and {}",
                        SNAPSHOT_COUNTS.start(),
                        SNAPSHOT_COUNTS.end()
                    ),
                ));
            }
            set("snapshotCount", SNAPSHOT_COUNT_VARIABLE, count.to_string());
        }
        Ok(variables)
    }

    /// Bytes of the quota, if it is set.
    ///
    /// # Errors
    /// When it is none that etcd can live with.
    pub fn quota(&self) -> Result<Option<i64>, BadSetting> {
        let Some(Quantity(text)) = &self.quota_backend_bytes else {
            return Ok(None);
        };
        let bytes = quantity::bytes(text).filter(|bytes| QUOTAS.contains(bytes));
        let bytes = bytes.and_then(|bytes| i64::try_from(bytes).ok());
        bytes.map(Some).ok_or_else(|| {
            bad(
                "quotaBackendBytes",
                format!("\"{text}\" is not a quantity of bytes from 16Mi to 1Ti, such as 4Gi"),
            )
        })
    }
}

const fn bad(field: &'static str, why: String) -> BadSetting {
    BadSetting { field, why }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whole numbers, each with its unit: `1h30m`.
fn is_time(text: &str) -> bool {
    text.ends_with(['h', 'm', 's']) && text.split_terminator(['h', 'm', 's']).all(is_number)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(settings: Value) -> EtcdSettings {
        serde_json::from_value(settings).expect("settings")
    }

    fn variables(settings: Value) -> Result<Vec<(String, String)>, &'static str> {
        let variables = read(settings).variables().map_err(|bad| bad.field)?;
        let said = variables.into_iter().map(|(_, variable)| {
            let EnvVar { name, value, .. } = variable;
            (name, value.unwrap_or_default())
        });
        Ok(said.collect())
    }

    #[test]
    fn each_setting_is_said_in_etcds_words() {
        let said = variables(json!({
            "quotaBackendBytes": "4Gi",
            "autoCompactionMode": "revision",
            "autoCompactionRetention": 10_000,
            "snapshotCount": 10,
        }));
        let expected = [
            ("ETCD_QUOTA_BACKEND_BYTES", "4294967296"),
            ("ETCD_AUTO_COMPACTION_MODE", "revision"),
            ("ETCD_AUTO_COMPACTION_RETENTION", "10000"),
            ("ETCD_SNAPSHOT_COUNT", "10"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(said, Ok(expected.into()));
        assert_eq!(variables(json!({})), Ok(Vec::new()));
        let number = variables(json!({"quotaBackendBytes": 8_589_934_592_u64}));
        let eight = (
            "ETCD_QUOTA_BACKEND_BYTES".to_owned(),
            "8589934592".to_owned(),
        );
        assert_eq!(number, Ok(vec![eight]));
    }

    #[test]
    fn what_etcd_would_not_start_with_is_told_by_its_field() {
        for (field, settings) in [
            ("quotaBackendBytes", json!({"quotaBackendBytes": "4 GB"})),
            ("quotaBackendBytes", json!({"quotaBackendBytes": "1Mi"})),
            ("quotaBackendBytes", json!({"quotaBackendBytes": "2Ti"})),
            ("quotaBackendBytes", json!({"quotaBackendBytes": -1})),
            (
                "autoCompactionMode",
                json!({"autoCompactionMode": "periodic"}),
            ),
            (
                "autoCompactionRetention",
                json!({"autoCompactionRetention": "a while"}),
            ),
            (
                "autoCompactionRetention",
                json!({"autoCompactionRetention": "h"}),
            ),
            (
                "autoCompactionRetention",
                json!({"autoCompactionRetention": ""}),
            ),
            (
                "autoCompactionRetention",
                json!({"autoCompactionMode": "revision", "autoCompactionRetention": "1h"}),
            ),
            ("snapshotCount", json!({"snapshotCount": 0})),
        ] {
            assert_eq!(variables(settings.clone()), Err(field), "{settings}");
        }
        for good in ["0", "1", "30m", "1h30m"] {
            let settings = json!({"autoCompactionRetention": good});
            assert!(variables(settings).is_ok(), "{good}");
        }
    }
}
