//! The operator's rights held against what its instances asked of the API server in all the other scenarios.
//!
//! Every scenario runs its operator with exactly the rights of the manifests, which are those of the bundle. A right that
//! nobody used could go; a request beyond them would be missed by whoever installs the operator.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::Role;
use manifests::Installation;
use tests::audit::{self, Audit, Right};
use tests::scenario::Suite;

/// Scenarios named for each right.
const NAMED: usize = 3;

#[allow(
    clippy::unused_async,
    reason = "a scenario is a future, and this one waits for nobody"
)]
pub(crate) async fn each_is_needed(suite: &Suite) -> Result<()> {
    let granted = granted()?;
    let Audit { allowed, refused } = Audit::read(&suite.testbed.audit_log())?;

    let mut table = String::new();
    for right in &granted {
        let requests = allowed.get(right).into_iter().flatten();
        let users: BTreeSet<&str> = requests.map(|request| request.from.as_str()).collect();
        let named: Vec<&str> = users.iter().copied().take(NAMED).collect();
        writeln!(table, "{right}: {} ({})", users.len(), named.join(", "))?;
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
    Ok(audit::granted(&role.rules.unwrap_or_default()))
}
