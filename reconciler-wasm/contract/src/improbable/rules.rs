//! What must hold of an `EtcdCluster` of `etcd.improbable.io/v1alpha1` when it is written: what the archived operator's
//! webhooks asked for, and at most 7 members.

use std::fmt;

use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

use super::{EtcdClusterSpec, RESERVED_PREFIX};

/// Members that a cluster may have.
const LARGEST: i64 = 7;

/// A rule, named after what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The number of members.
    Replicas,
    /// The version.
    Version,
    /// A volume claim for each member.
    Claim,
    /// Its class.
    Class,
    /// Its size.
    Size,
    /// Annotations of the pods.
    Annotations,
}

impl Rule {
    /// The field that it is about, in this dialect.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Replicas => "spec.replicas",
            Self::Version => "spec.version",
            Self::Claim => "spec.storage.volumeClaimTemplate",
            Self::Class => "spec.storage.volumeClaimTemplate.storageClassName",
            Self::Size => "spec.storage.volumeClaimTemplate.resources.requests.storage",
            Self::Annotations => "spec.podTemplate.metadata.annotations",
        }
    }

    /// The same in the first dialect.
    #[must_use]
    pub const fn field_of_domain(self) -> &'static str {
        match self {
            Self::Replicas => "spec.size",
            Self::Version => "spec.version",
            Self::Claim => "spec.pod.persistentVolumeClaimSpec",
            Self::Class => "spec.pod.persistentVolumeClaimSpec.storageClassName",
            Self::Size => "spec.pod.persistentVolumeClaimSpec.resources.requests.storage",
            Self::Annotations => "spec.pod.annotations",
        }
    }
}

/// What the rule asks for.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replicas => "etcd.improbable.io wants 1 to 7 members. Set it to 1, 3, 5 or 7",
            Self::Version => {
                "etcd.improbable.io wants MAJOR.MINOR.PATCH of etcd 3, such as 3.6.16, and has no default for it. Set it"
            }
            Self::Claim => {
                "etcd.improbable.io wants a volume claim for each member. Say what it looks like"
            }
            Self::Class => {
                "etcd.improbable.io wants the claim's class by its name, where \"\" means none. Set it; `kubectl get storageclass` shows which there are and which is the default"
            }
            Self::Size => "etcd.improbable.io wants the claim's size. Set it",
            Self::Annotations => {
                "keys that begin with etcd.improbable.io/ are reserved. Take them out"
            }
        })
    }
}

/// The rules that a spec breaks.
#[must_use]
pub fn why_refused(spec: &EtcdClusterSpec) -> Vec<Rule> {
    let template = spec.pod_template.as_ref();
    let metadata = template.and_then(|template| template.metadata.as_ref());
    let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
    let mut is_reserved = annotations.into_iter().flatten();
    let is_reserved = is_reserved.any(|(key, _)| key.starts_with(RESERVED_PREFIX));
    let storage = spec.storage.as_ref();
    let claim = storage.and_then(|storage| storage.volume_claim_template.as_ref());
    [
        (!(1..=LARGEST).contains(&spec.replicas), Rule::Replicas),
        (!is_version(&spec.version), Rule::Version),
        (claim.is_none(), Rule::Claim),
        (
            claim.is_some_and(|claim| claim.storage_class_name.is_none()),
            Rule::Class,
        ),
        (claim.is_some_and(|claim| !has_size(claim)), Rule::Size),
        (is_reserved, Rule::Annotations),
    ]
    .into_iter()
    .filter_map(|(is_broken, rule)| is_broken.then_some(rule))
    .collect()
}

fn has_size(claim: &PersistentVolumeClaimSpec) -> bool {
    let resources = claim.resources.as_ref();
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    requests.is_some_and(|requests| requests.contains_key("storage"))
}

/// Three numbers without zeros in front, the first of them 3, and perhaps a pre-release after a dash.
fn is_version(text: &str) -> bool {
    let (numbers, pre) = match text.split_once('-') {
        Some((numbers, pre)) => (numbers, Some(pre)),
        None => (text, None),
    };
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_pre = |pre: &str| {
        !pre.is_empty()
            && pre
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    parts.len() == 3
        && parts.first() == Some(&"3")
        && parts.into_iter().all(is_number)
        && pre.is_none_or(is_pre)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_the_webhook_took() {
        for good in ["3.2.28", "3.6.16", "3.0.0", "3.4.0-rc.1"] {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            "v3.2.28",
            "3.2",
            "2.3.8",
            "3.02.1",
            "3.2.28+build",
            "3.2.28-",
            "3.2.x",
        ] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn every_rule_that_a_spec_breaks_is_named() {
        assert_eq!(
            why_refused(&EtcdClusterSpec::default()),
            [Rule::Replicas, Rule::Version, Rule::Claim]
        );
        let spec: EtcdClusterSpec = serde_json::from_value(serde_json::json!({
            "replicas": 3, "version": "3.2.28",
            "storage": {"volumeClaimTemplate": {"resources": {"requests": {}}}},
            "podTemplate": {"metadata": {"annotations": {"etcd.improbable.io/x": "y"}}},
        }))
        .expect("a spec");
        assert_eq!(
            why_refused(&spec),
            [Rule::Class, Rule::Size, Rule::Annotations]
        );
    }
}
