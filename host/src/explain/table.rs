//! The list of all decisions in a recording, one line each.

use std::path::PathBuf;

use contract::{Action, Decision, OutcomeKind};
use serde::Serialize;

use super::{each_record, results, words};
use crate::output::{self, Format, time};
use crate::recorder::Record;

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    seq: u64,
    now: contract::Millis,
    /// Namespace and name of the resource it is about.
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
    let heading = ["SEQ", "SEEN AT", "RESOURCE", "BECAUSE OF", "WHAT WAS DONE"].map(str::to_owned);
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
        rows.push([
            seq.to_string(),
            time(now),
            cluster,
            words::cause(&trigger),
            summary,
        ]);
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
    let (mut done, mut left) = (Vec::new(), None);
    for (_, action, result) in results::of(&decision, record) {
        let past = result.map(|result| &result.outcome);
        let why = past.and_then(|past| match past.outcome {
            OutcomeKind::Done => None,
            OutcomeKind::Refused => Some(format!(
                "{} was refused: {}",
                words::deed(&action.effect),
                past.message
            )),
            OutcomeKind::Failed => Some(format!(
                "{} failed: {}",
                words::deed(&action.effect),
                past.message
            )),
            OutcomeKind::Skipped => Some(format!("the rest was not tried: {}", past.message)),
        });
        match why {
            None => done.push(action),
            // The ones after it were not tried because of it.
            Some(why) => left = left.or(Some(why)),
        }
    }
    let done = if done.is_empty() {
        "nothing".to_owned()
    } else {
        names(&done)
    };
    Ok(left.map_or_else(|| done.clone(), |why| format!("{done}; {why}")))
}

/// Runs of equal actions are counted: `write status, apply Pod x3`.
fn names(actions: &[&Action]) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for action in actions {
        let name = words::deed(&action.effect);
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

#[cfg(test)]
mod tests {
    use contract::OutcomeKind::{Done, Failed, Refused, Skipped};
    use serde_json::json;

    use super::*;

    /// What is told of a decision to add a learner and to move the leader that ended like this.
    fn told(results: [(OutcomeKind, &str); 2]) -> String {
        let action = |effect| json!({"effect": effect, "pre": {"resourceUid": "u"}});
        let actions = [
            action(json!({"addLearner": {"name": "kv-1", "peerUrls": []}})),
            action(json!({"moveLeader": {"to": "1"}})),
        ];
        let results = results.iter().enumerate().map(|(i, (outcome, message))| {
            json!({"i": i, "effect": "", "target": "", "outcome": outcome, "message": message})
        });
        let record = json!({
            "schema": 1, "seq": 1, "host": "0.1.0", "module": "sha256:0", "engine": "", "trigger": "",
            "cluster": {"uid": "u", "namespace": "infra", "name": "kv"}, "now": 0, "snapshot": {},
            "answer": {"schema": 1, "actions": actions, "report": {}},
            "results": results.collect::<Vec<_>>(),
        });
        let record = serde_json::from_str(&record.to_string()).expect("a record");
        summary(&record).expect("it can be told")
    }

    #[test]
    fn what_was_left_undone_is_told_with_its_cause() {
        assert_eq!(told([(Done, ""), (Done, "")]), "add learner, move leader");
        for (results, words) in [
            (
                [
                    (Failed, "unhealthy cluster"),
                    (Skipped, "one before failed"),
                ],
                "nothing; add learner failed: unhealthy cluster",
            ),
            (
                [(Done, ""), (Refused, "it leads no more")],
                "add learner; move leader was refused: it leads no more",
            ),
            (
                [
                    (Skipped, "the operator is stopping"),
                    (Skipped, "the operator is stopping"),
                ],
                "nothing; the rest was not tried: the operator is stopping",
            ),
        ] {
            assert_eq!(told(results), words);
        }
    }
}
