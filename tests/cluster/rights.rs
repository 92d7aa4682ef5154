//! The operator's rights held against what its instances asked of the API server in all the other scenarios.
//!
//! Every scenario runs its operator with exactly the rights of the manifests, which are those of the bundle. A right that
//! nobody used could go; a request beyond them would be missed by whoever installs the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::Role;
use manifests::Installation;
use serde::Deserialize;
use tests::scenario::{OPERATOR, Suite};

/// Scenarios named for each right.
const NAMED: usize = 3;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    group: String,
    resource: String,
    verb: String,
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
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

/// Rights, and the namespaces of the operators that asked for them.
type Asked = BTreeMap<Right, BTreeSet<String>>;

#[allow(
    clippy::unused_async,
    reason = "a scenario is a future, and this one waits for nobody"
)]
pub(crate) async fn each_is_needed(suite: &Suite) -> Result<()> {
    let granted = granted()?;
    let file = suite.testbed.audit_log();
    let log = File::open(&file).with_context(|| format!("{} is not there", file.display()))?;
    let (allowed, refused) = asked(BufReader::new(log))?;

    let mut table = String::new();
    for right in &granted {
        let users = allowed.get(right).map(BTreeSet::len).unwrap_or_default();
        let named = allowed.get(right).into_iter().flatten().take(NAMED);
        let named: Vec<&str> = named.map(String::as_str).collect();
        writeln!(table, "{right}: {users} ({})", named.join(", "))?;
    }
    fs::write(suite.folder.join("rights.txt"), &table)?;
    eprintln!("{table}");
    let unused: Vec<_> = granted
        .iter()
        .filter(|right| !allowed.contains_key(right))
        .collect();
    ensure!(unused.is_empty(), "nobody needed {unused:?}");
    // Scenarios that take a right away are refused what was granted.
    let beyond: Vec<_> = refused
        .iter()
        .filter(|(right, _)| !granted.contains(right))
        .collect();
    ensure!(beyond.is_empty(), "not granted and asked for: {beyond:?}");
    Ok(())
}

/// What the manifests grant in a namespace.
fn granted() -> Result<BTreeSet<Right>> {
    let installation = Installation {
        namespace: "any".to_owned(),
        image: String::new(),
    };
    let objects = manifests::objects(&installation)?;
    let role = objects
        .into_iter()
        .find(|placed| placed.path.ends_with("rbac/role.yaml"));
    let role: Role = serde_json::from_value(role.context("there is no role")?.object)?;
    let mut rights = BTreeSet::new();
    for rule in role.rules.unwrap_or_default() {
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
    Ok(rights)
}

/// What operators were allowed and refused.
fn asked(log: impl BufRead) -> Result<(Asked, Asked)> {
    let (mut allowed, mut refused) = (Asked::new(), Asked::new());
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
                &mut refused
            } else {
                &mut allowed
            };
            list.entry(right).or_default().insert(namespace.to_owned());
        }
    }
    Ok((allowed, refused))
}

/// Whose request it was, if it was an operator's.
fn operators_namespace(user: &str) -> Option<&str> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    (name == OPERATOR).then_some(namespace)
}
