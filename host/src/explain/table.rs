//! The list of all decisions in a recording, one line each.

use std::path::PathBuf;

use contract::{Action, Decision, OutcomeKind};
use serde::Serialize;

use super::{each_record, results};
use crate::output::{self, Format, time};
use crate::recorder::Record;

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    seq: u64,
    now: contract::Millis,
    cluster: String,
    trigger: String,
    /// What was done, or why nothing was.
    summary: String,
}

/// Prints the list as it reads, and says how long it is.
pub(super) fn print(files: &[PathBuf], format: Format) -> anyhow::Result<usize> {
    match format {
        Format::Text => print_text(files),
        Format::Json => {
            let mut rows = Vec::new();
            each_record(files, |record| {
                rows.push(row(&record)?);
                Ok(true)
            })?;
            if !rows.is_empty() {
                output::print_json(&rows)?;
            }
            Ok(rows.len())
        }
    }
}

/// Columns are as wide as the first screenful needs; the list itself may be longer than memory.
const SCREENFUL: usize = 500;

fn print_text(files: &[PathBuf]) -> anyhow::Result<usize> {
    let mut count = 0;
    let heading = ["SEQ", "TIME", "CLUSTER", "BECAUSE OF", "WHAT WAS DONE"].map(str::to_owned);
    let mut rows = vec![heading];
    each_record(files, |record| {
        let Row {
            seq,
            now,
            cluster,
            trigger,
            summary,
        } = row(&record)?;
        count += 1;
        rows.push([seq.to_string(), time(now), cluster, trigger, summary]);
        if rows.len() > SCREENFUL {
            output::print(output::table(&rows))?;
            rows.truncate(0);
        }
        Ok(true)
    })?;
    output::print(output::table(&rows))?;
    Ok(count)
}

fn row(record: &Record) -> anyhow::Result<Row> {
    Ok(Row {
        seq: record.seq,
        now: record.now,
        cluster: format!("{}/{}", record.cluster.namespace, record.cluster.name),
        trigger: record.trigger.clone(),
        summary: summary(record)?,
    })
}

fn summary(record: &Record) -> serde_json::Result<String> {
    if let Some(failure) = &record.failure {
        return Ok(format!("nothing: the module failed ({})", failure.name));
    }
    let Some(answer) = &record.answer else {
        return Ok("nothing is recorded".to_owned());
    };
    let decision: Decision = serde_json::from_str(answer.get())?;
    if decision.actions.is_empty() {
        let why = decision.report.findings.first();
        return Ok(why.map_or_else(
            || "nothing, all is as wanted".to_owned(),
            |finding| format!("nothing: {}", finding.message),
        ));
    }
    let (mut done, mut skipped) = (Vec::new(), None);
    for (_, action, result) in results::of(&decision, record) {
        match result.map(|result| &result.outcome) {
            Some(past) if past.outcome == OutcomeKind::Skipped => skipped = Some(&past.message),
            Some(past) if past.outcome != OutcomeKind::Done => {}
            Some(_) | None => done.push(action),
        }
    }
    let done = if done.is_empty() {
        "nothing".to_owned()
    } else {
        names(&done)
    };
    let failed = results::first_failure(record).map(|result| {
        let how = match result.outcome.outcome {
            OutcomeKind::Refused => "refused",
            OutcomeKind::Failed | OutcomeKind::Done | OutcomeKind::Skipped => "failed",
        };
        format!(
            "; {} {how}: {}",
            result.outcome.effect, result.outcome.message
        )
    });
    let skipped = skipped.filter(|_| failed.is_none());
    let skipped = skipped.map(|why| format!("; the rest was not tried: {why}"));
    Ok(format!(
        "{done}{}{}",
        failed.unwrap_or_default(),
        skipped.unwrap_or_default()
    ))
}

/// Runs of equal actions are counted: `UpdateStatus, Apply Pod x3`.
fn names(actions: &[&Action]) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for action in actions {
        let kind = action
            .effect
            .kind()
            .map(|kind| format!(" {}", kind.name()))
            .unwrap_or_default();
        let name = format!("{}{kind}", action.effect.name());
        match runs.iter_mut().find(|(run, _)| *run == name) {
            Some((_, times)) => *times += 1,
            None => runs.push((name, 1)),
        }
    }
    let told: Vec<String> = runs
        .into_iter()
        .map(|(name, times)| {
            if times == 1 {
                name
            } else {
                format!("{name} x{times}")
            }
        })
        .collect();
    told.join(", ")
}
