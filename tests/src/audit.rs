//! What operators asked of the API server, as its audit log tells it, and what they are granted.
//!
//! Whether the two belong together is for whoever asks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Deserialize;

use crate::scenario::OPERATOR;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core one.
    pub group: String,
    /// The resource, with its subresource.
    pub resource: String,
    /// The verb.
    pub verb: String,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            resource,
            verb,
        } = self;
        write!(f, "{resource}.{group} {verb}")
    }
}

/// An event of the audit log (<https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    api_group: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

/// Rights, and who asked for each.
pub type Asked = BTreeMap<Right, BTreeSet<Request>>;

/// Whose operator asked, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The operator's namespace.
    pub from: String,
    /// The namespace it asked about; empty for all of them.
    pub about: String,
}

/// What operators were allowed and what they were refused.
#[derive(Debug, Default)]
pub struct Audit {
    /// What was answered otherwise than by a refusal.
    pub allowed: Asked,
    /// What was refused for want of a right.
    pub refused: Asked,
}

impl Audit {
    /// Reads the log.
    pub fn read(file: &Path) -> Result<Self> {
        let log = File::open(file).with_context(|| format!("{} is not there", file.display()))?;
        asked(BufReader::new(log))
    }
}

/// The rights that these rules give.
#[must_use]
pub fn granted(rules: &[PolicyRule]) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| Right {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                }));
            }
        }
    }
    rights
}

fn asked(log: impl BufRead) -> Result<Audit> {
    let mut audit = Audit::default();
    for line in log.lines() {
        let event: Event = serde_json::from_str(&line?)?;
        let Some(namespace) = operators_namespace(&event.user.username) else {
            continue;
        };
        // Paths of the API server itself, which everybody may read.
        let Some(object) = event.object_ref else {
            continue;
        };
        let mut resource = object.resource;
        if !object.subresource.is_empty() {
            resource = format!("{resource}/{}", object.subresource);
        }
        let code = event.response_status.map_or(0, |status| status.code);
        let mut verbs = vec![event.verb];
        // A patch that creates needs the right to create as well.
        if verbs[0] == "patch" && code == 201 {
            verbs.push("create".to_owned());
        }
        for verb in verbs {
            let right = Right {
                group: object.api_group.clone(),
                resource: resource.clone(),
                verb,
            };
            let list = if code == 403 {
                &mut audit.refused
            } else {
                &mut audit.allowed
            };
            let request = Request {
                from: namespace.to_owned(),
                about: object.namespace.clone(),
            };
            list.entry(right).or_default().insert(request);
        }
    }
    Ok(audit)
}

/// Whose request it was, if it was an operator's.
fn operators_namespace(user: &str) -> Option<&str> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    (name == OPERATOR).then_some(namespace)
}
