//! A living cluster, told: what is being done about it, what is waited for, since when, and what ends the waiting.
//!
//! From the operator's last decision, read through the API server, and from the conditions of the resource. It decides
//! nothing, and knows of etcd only what the operator saw.

use std::fmt::Write as _;

use contract::{
    Condition, ConditionStatus, Decision, Dialect, EtcdClusterStatus, Finding, FindingKind, KIND,
    Millis, Requeue, Resource, ResourceKind,
};
use serde::{Deserialize as _, Serialize};

use super::which::Which;
use super::{story, words};
use crate::operator::{self, Latest, Reach};
use crate::output::{self, Format, of_group, span, table, time};
use crate::recorder::Record;

/// What each reason means and what ends it, as the documentation has it.
const REASONS: &str = include_str!("../../../docs/reasons.md");

/// Which cluster is meant.
pub(super) struct Asked {
    pub(super) which: Which,
    pub(super) namespace: Option<String>,
    pub(super) operators: Option<String>,
    pub(super) reach: Reach,
}

/// What is known about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Living {
    #[serde(skip)]
    dialect: Dialect,
    group: &'static str,
    namespace: String,
    name: String,
    /// The last decision; none where it cannot be had.
    decision: Option<Last>,
    conditions: Vec<Condition>,
    /// Of the conditions, for spans.
    #[serde(skip)]
    now: Millis,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    seq: u64,
    at: Millis,
    module: String,
    /// Why there was no decision.
    failure: Option<String>,
    findings: Vec<Standing>,
    actions: Vec<String>,
    next: Option<Requeue>,
    shadows: Vec<String>,
}

/// A finding, and since when every decision has had it.
#[derive(Debug, Serialize)]
struct Standing {
    #[serde(flatten)]
    finding: Finding,
    since: Millis,
    /// It has been so for longer than is known.
    longer: bool,
}

/// Tells it.
pub(super) async fn explain(asked: Asked, format: Format) -> anyhow::Result<()> {
    let Asked {
        which,
        namespace,
        operators,
        reach,
    } = asked;
    let (client, namespace) = reach.client(namespace).await?;
    let (key, resource) = which.find(&client, &namespace).await?;
    let conditions = conditions(&resource);
    let operators = operators.unwrap_or_else(|| namespace.clone());
    let is_it = |record: &Record| {
        let cluster = &record.cluster;
        // Backups are recorded, too, and may have the name of a cluster.
        let is_named = cluster.namespace == namespace && cluster.name == key.name;
        is_named && record.dialect_of(ResourceKind::EtcdCluster) == Some(key.dialect)
    };
    let decision = match operator::latest(&client, &operators, is_it).await {
        Ok(found) => found.map(|latest| last(&latest)).transpose()?,
        Err(error) => {
            output::note(format_args!(
                "Only the conditions are told: {error:#}. Who may list pods and forward ports in the operator's namespace is told more."
            ));
            None
        }
    };
    let living = Living {
        dialect: key.dialect,
        group: key.dialect.group(),
        namespace,
        name: key.name,
        decision,
        conditions,
        now: Millis(jiff::Timestamp::now().as_millisecond()),
    };
    Ok(match format {
        Format::Text => output::print(text(&living)),
        Format::Json => output::print_json(&living),
    }?)
}

fn conditions(resource: &Resource) -> Vec<Condition> {
    let status = Option::<EtcdClusterStatus>::deserialize(&resource.status)
        .ok()
        .flatten();
    status.unwrap_or_default().conditions
}

fn last(latest: &Latest) -> anyhow::Result<Last> {
    let Latest { record, before, .. } = latest;
    let decision = decision(record)?;
    let findings = decision.iter().flat_map(|one| one.report.findings.clone());
    let findings = findings.map(|finding| {
        let (since, longer) = since(&finding, record, before);
        Standing {
            finding,
            since,
            longer,
        }
    });
    let snapshot = serde_json::from_str(record.snapshot.get())?;
    let actions = decision.iter().flat_map(|one| &one.actions);
    let done = actions.filter(|action| !action.effect.is_telling());
    Ok(Last {
        seq: record.seq,
        at: record.now,
        module: record.module.clone(),
        failure: record
            .failure
            .as_ref()
            .map(|failure| failure.message.clone()),
        findings: findings.collect(),
        actions: done
            .map(|action| words::action(action, &snapshot))
            .collect(),
        next: decision.as_ref().and_then(|one| one.requeue),
        shadows: story::shadows(record),
    })
}

fn decision(record: &Record) -> serde_json::Result<Option<Decision>> {
    let answer = record.answer.as_ref();
    answer
        .map(|answer| serde_json::from_str(answer.get()))
        .transpose()
}

/// The time of the first decision in an unbroken row that had the finding; and whether that row goes back beyond what is
/// known.
fn since(finding: &Finding, record: &Record, before: &[Record]) -> (Millis, bool) {
    let has = |record: &Record| {
        let decision = decision(record).ok().flatten();
        let findings = decision.map(|one| one.report.findings).unwrap_or_default();
        let same = |other: &Finding| {
            (other.kind, other.reason, &other.member)
                == (finding.kind, finding.reason, &finding.member)
        };
        findings.iter().any(same)
    };
    let row = before.iter().take_while(|record| has(record));
    let (mut at, mut length) = (record.now, 0);
    for record in row {
        (at, length) = (record.now, length + 1);
    }
    (at, length == before.len() && length > 0)
}

fn text(living: &Living) -> String {
    let Living {
        dialect,
        group: _,
        namespace,
        name,
        decision,
        conditions,
        now,
    } = living;
    let mut text = format!("{KIND} {namespace}/{name}{}\n", of_group(*dialect));
    if let Some(last) = decision {
        tell(&mut text, last, *dialect, *now);
    }
    text.push_str("\nConditions\n");
    let mut rows = vec![["TYPE", "STATUS", "FOR", "REASON", "MESSAGE"].map(str::to_owned)];
    rows.extend(conditions.iter().map(|one| condition_row(one, *now)));
    for line in table(&rows).lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn tell(text: &mut String, last: &Last, dialect: Dialect, now: Millis) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "Looked at {} ago, at {}, by the module {} (decision {})",
        seconds(now.since(last.at)),
        time(last.at),
        last.module,
        last.seq
    );
    if let Some(failure) = &last.failure {
        let _ = writeln!(
            text,
            "\nThe module did not decide, so nothing is done: {failure}"
        );
    }
    let of = |kinds: &'static [FindingKind]| {
        let standing = last.findings.iter();
        standing.filter(move |one| kinds.contains(&one.finding.kind))
    };
    let mut doing: Vec<String> = of(&[FindingKind::Doing])
        .map(|one| one.finding.message.clone())
        .collect();
    doing.extend(last.actions.iter().cloned());
    section(text, "What is being done", &doing, "nothing has to be done");
    let waits: Vec<String> = of(&[FindingKind::Waiting])
        .map(|one| standing(one, dialect, now))
        .collect();
    section(text, "What is waited for", &waits, "nothing");
    let needs: Vec<String> = of(&[FindingKind::Blocked, FindingKind::Invalid])
        .map(|one| standing(one, dialect, now))
        .collect();
    section(text, "What needs a person", &needs, "nothing");
    let notes: Vec<String> = of(&[FindingKind::Note])
        .map(|one| format!("{}: {}", one.finding.reason, one.finding.message))
        .collect();
    if !notes.is_empty() {
        section(text, "What is worth knowing", &notes, "");
    }
    if !last.shadows.is_empty() {
        section(text, "What shadows say", &last.shadows, "");
    }
    let next = last.next.map_or_else(
        || "at the next change".to_owned(),
        |next| {
            format!(
                "after {}, or at the next change ({})",
                span(next.after),
                next.why
            )
        },
    );
    let _ = writeln!(text, "\nIt is looked at again {next}.");
}

/// How long something has been so: to the second, because nobody asks more closely.
fn seconds(past: Millis) -> String {
    match past.0 / 1000 {
        ..1 => "less than 1 s".to_owned(),
        whole => span(Millis(whole * 1000)),
    }
}

fn section(text: &mut String, title: &str, lines: &[String], none: &str) {
    let _ = writeln!(text, "\n{title}");
    if lines.is_empty() {
        let _ = writeln!(text, "  {none}");
    }
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        let _ = writeln!(text, "  {line}");
    }
}

/// Reason, since when, the sentence, and what ends it.
fn standing(one: &Standing, dialect: Dialect, now: Millis) -> String {
    let Standing {
        finding,
        since,
        longer,
    } = one;
    let Finding {
        reason,
        message,
        member,
        ..
    } = finding;
    let about = member
        .as_ref()
        .map(|member| format!(", about {member}"))
        .unwrap_or_default();
    let than = if *longer { "more than " } else { "" };
    let mut text = format!(
        "{reason}{about}, for {than}{}: {message}\n",
        seconds(now.since(*since))
    );
    for line in remedy(reason.name()) {
        let line = dialect.in_its_words(line.to_owned());
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// What the documentation says of a reason beyond its first sentence.
fn remedy(reason: &str) -> impl Iterator<Item = &'static str> {
    let title = format!("### {reason}");
    let lines = REASONS.lines().skip_while(move |line| *line != title);
    let section = lines.skip(2).take_while(|line| !line.starts_with('#'));
    section.filter(|line| !line.is_empty())
}

fn condition_row(condition: &Condition, now: Millis) -> [String; 5] {
    let Condition {
        kind,
        status,
        last_transition_time,
        reason,
        message,
        ..
    } = condition;
    let since = last_transition_time
        .as_ref()
        .and_then(|time| time.parse::<jiff::Timestamp>().ok())
        .map(|time| seconds(now.since(Millis(time.as_millisecond()))));
    let status = match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    [
        kind.clone(),
        status.to_owned(),
        since.unwrap_or_else(|| "-".to_owned()),
        reason.clone(),
        message.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use contract::Reason;
    use serde_json::json;

    use super::*;

    /// A recorded decision that waits for members to form, at this second.
    fn forming(second: i64, reason: &str) -> Record {
        let finding =
            json!({"kind": "waiting", "reason": reason, "message": "0 of 1 members answer."});
        let record = json!({
            "schema": 1, "seq": second, "host": "0.1.0", "module": "sha256:0", "engine": "", "trigger": "",
            "cluster": {"uid": "u", "namespace": "infra", "name": "kv"}, "now": second * 1000,
            "snapshot": golden(),
            "answer": {"schema": 1, "actions": [], "report": {"findings": [finding]}},
            "shadows": [{"name": "next", "module": "sha256:1", "fuel": 1, "difference": "report other"}],
        });
        serde_json::from_str(&record.to_string()).expect("a record")
    }

    fn golden() -> serde_json::Value {
        json!({
            "schema": 1, "now": 0, "entropy": "", "resource": {
                "apiVersion": "", "kind": KIND, "namespace": "infra", "name": "kv", "uid": "u",
                "resourceVersion": "1", "created": 0,
            },
            "objects": {"pods": "absent", "volumes": "absent", "services": "absent", "disruptionBudgets": "absent"},
            "etcd": {"membership": "absent", "alarms": "absent"},
        })
    }

    fn told(before: Vec<Record>) -> String {
        let latest = Latest {
            record: forming(90, "Forming"),
            module: None,
            before,
        };
        of_dialect(Dialect::Coreos, &latest)
    }

    fn of_dialect(dialect: Dialect, latest: &Latest) -> String {
        text(&Living {
            dialect,
            group: dialect.group(),
            namespace: "infra".to_owned(),
            name: "kv".to_owned(),
            decision: Some(last(latest).expect("it can be read")),
            conditions: Vec::new(),
            now: Millis(100_000),
        })
    }

    #[test]
    fn a_wait_is_told_with_its_age_its_end_and_what_shadows_say() {
        let told = told(vec![
            forming(80, "Forming"),
            forming(70, "Forming"),
            forming(60, "Settling"),
        ]);
        for words in [
            "Looked at 10 s ago",
            "Forming, for 30 s: 0 of 1 members answer.",
            "waits for a quorum of them to answer",
            "What needs a person\n  nothing",
            "next (sha256:1) differed: report other.",
            "looked at again at the next change",
        ] {
            assert!(told.contains(words), "{words:?} is not in: {told}");
        }
    }

    #[test]
    fn a_wait_that_is_older_than_what_is_known_is_told_as_such() {
        let told = told(vec![forming(80, "Forming")]);
        assert!(told.contains("Forming, for more than 20 s"), "{told}");
    }

    /// Pages are written in the words of the first group.
    #[test]
    fn a_cluster_of_the_second_group_is_told_with_its_own_names_of_fields() {
        let latest = Latest {
            record: forming(90, "OutOfMemory"),
            module: None,
            before: Vec::new(),
        };
        let told = of_dialect(Dialect::Improbable, &latest);
        for words in [
            "EtcdCluster infra/kv of etcd.improbable.io\n",
            "Raise `spec.podTemplate.resources.limits.memory`",
        ] {
            assert!(told.contains(words), "{words:?} is not in: {told}");
        }
    }

    #[test]
    fn a_record_says_whose_it_is() {
        let mut record = forming(90, "Forming");
        let of = |record: &Record, kind| record.dialect_of(kind);
        assert_eq!(
            of(&record, ResourceKind::EtcdCluster),
            Some(Dialect::Coreos)
        );
        assert_eq!(of(&record, ResourceKind::EtcdBackup), None);
        let mut snapshot = golden();
        snapshot["resource"]["apiVersion"] = "etcd.improbable.io/v1alpha1".into();
        record.snapshot = serde_json::value::to_raw_value(&snapshot).expect("a snapshot");
        assert_eq!(
            of(&record, ResourceKind::EtcdCluster),
            Some(Dialect::Improbable)
        );
    }

    #[test]
    fn each_reason_has_words_on_what_ends_it() {
        for reason in Reason::ALL {
            let is_told = remedy(reason.name()).next().is_some();
            assert!(is_told, "{reason} has one sentence alone");
        }
        assert_eq!(remedy("Nonsense").count(), 0);
    }
}
