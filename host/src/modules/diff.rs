//! `binnacle module diff`: in which ways a Shadow differs from what is followed, as its ReconcilerModule tells.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use contract::{FirstDifference, MODULE_KIND, ModulePhase, ModuleRole, ReconcilerModuleStatus};
use serde::Deserialize as _;
use serde_json::json;

use crate::operator::{Reach, in_words};
use crate::output::{self, Format, count, grouped};
use crate::rollout::{modules, projected};
use crate::run::runtime;

/// Arguments of `binnacle module diff`.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The ReconcilerModule
    name: String,
    /// Its namespace; without it, that of the kubeconfig or the pod
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Prints how it differs. True when it does not.
///
/// # Errors
/// When the object cannot be read or is no Shadow at work.
pub fn diff(args: DiffArgs) -> anyhow::Result<bool> {
    let DiffArgs {
        name,
        namespace,
        reach,
        output,
    } = args;
    let (namespace, status) = runtime()?.block_on(read(&name, namespace, reach))?;
    let is_shadow = status.role == Some(ModuleRole::Shadow);
    if !is_shadow || status.phase != ModulePhase::InRole {
        let said = status.conditions.first();
        bail!(
            "{MODULE_KIND} {namespace}/{name} is not compared with anything: {}",
            said.map_or("no operator has looked at it yet", |one| &one.message)
        );
    }
    match output {
        Format::Text => output::print(text(&format!("{namespace}/{name}"), &status))?,
        Format::Json => output::print_json(&json!({
            "name": name,
            "namespace": namespace,
            "digest": status.digest,
            "since": status.since,
            "decisions": status.decisions,
            "failures": status.failures,
            "differences": status.differences,
            "differencesByKind": status.differences_by_kind,
            "firstDifferences": status.first_differences,
        }))?,
    }
    Ok(status.differences == 0)
}

async fn read(
    name: &str,
    namespace: Option<String>,
    reach: Reach,
) -> anyhow::Result<(String, ReconcilerModuleStatus)> {
    let (client, namespace) = reach.client(namespace).await?;
    let found = modules(&client, &namespace)
        .get_opt(name)
        .await
        .map_err(in_words)
        .with_context(|| format!("{MODULE_KIND} {namespace}/{name} cannot be read"))?
        .with_context(|| format!("there is no {MODULE_KIND} {namespace}/{name}"))?;
    let status = projected(found).status;
    let status = Option::<ReconcilerModuleStatus>::deserialize(status)
        .context("its status cannot be read by this version of binnacle")?;
    Ok((namespace, status.unwrap_or_default()))
}

fn text(name: &str, status: &ReconcilerModuleStatus) -> String {
    let number = |count: i64| usize::try_from(count).unwrap_or_default();
    let mut text = format!(
        "Shadow {name}, module {}\n",
        status.digest.as_deref().unwrap_or_default()
    );
    let since = status.since.as_deref().unwrap_or_default();
    let asked = count(number(status.decisions), "decision");
    // Writing to a String cannot fail.
    let _ = if status.differences == 0 {
        writeln!(text, "None of {asked} since {since} differs.")
    } else {
        writeln!(
            text,
            "{} of {asked} since {since} differ in {}:",
            grouped(number(status.differences)),
            count(status.differences_by_kind.len(), "way")
        )
    };
    let mut kinds: Vec<_> = status.differences_by_kind.iter().collect();
    kinds.sort_by_key(|(kind, count)| (-**count, kind.as_str()));
    let rows: Vec<[String; 2]> = kinds
        .into_iter()
        .map(|(kind, count)| [format!("  {}", grouped(number(*count))), kind.clone()])
        .collect();
    text.push_str(&output::table(&rows));
    if status.failures > 0 {
        let failures = count(number(status.failures), "answer");
        let _ = writeln!(
            text,
            "{failures} failed or would have been refused by the envelope."
        );
    }
    for first in &status.first_differences {
        let FirstDifference {
            kind,
            cluster,
            at,
            what,
        } = first;
        let _ = writeln!(text, "\nFirst: {kind}\n  {at}  {cluster}");
        for line in what {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_told_by_how_often_with_the_first_of_each() {
        let status = ReconcilerModuleStatus {
            digest: Some("sha256:0".to_owned()),
            since: Some("2026-01-01T00:00:00Z".to_owned()),
            decisions: 5120,
            failures: 1,
            differences: 412,
            differences_by_kind: [("Delete Pod added", 12), ("report other", 400)]
                .map(|(kind, count)| (kind.to_owned(), count))
                .into(),
            first_differences: vec![FirstDifference {
                kind: "Delete Pod added".to_owned(),
                cluster: "infra/kv".to_owned(),
                at: "2026-01-01 00:00:01.000 UTC".to_owned(),
                what: vec!["Delete Pod kv-a: followed nothing, shadow decided".to_owned()],
            }],
            ..ReconcilerModuleStatus::default()
        };
        let wanted = "\
Shadow infra/kv-next, module sha256:0
412 of 5,120 decisions since 2026-01-01T00:00:00Z differ in 2 ways:
  400  report other
  12   Delete Pod added
1 answer failed or would have been refused by the envelope.

First: Delete Pod added
  2026-01-01 00:00:01.000 UTC  infra/kv
    Delete Pod kv-a: followed nothing, shadow decided
";
        assert_eq!(text("infra/kv-next", &status), wanted);
    }
}
