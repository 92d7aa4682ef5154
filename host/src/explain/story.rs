//! One decision, told from beginning to end: who and when, what was seen, why, what was decided, what became of it.

use contract::{Decision, FindingKind, Snapshot};

use super::{results, seen, words};
use crate::output::{count, grouped, time};
use crate::recorder::Record;

/// The whole story.
///
/// # Errors
/// When the snapshot in the record cannot be read.
pub(super) fn tell(record: &Record) -> serde_json::Result<String> {
    let snapshot: Snapshot = serde_json::from_str(record.snapshot.get())?;
    let mut story = head(record, &snapshot);
    section(&mut story, "What was seen", seen::tell(&snapshot));
    match (&record.answer, &record.failure) {
        (Some(answer), _) => tell_decision(
            &mut story,
            &serde_json::from_str(answer.get())?,
            record,
            &snapshot,
        ),
        (None, Some(failure)) => section(
            &mut story,
            "What was decided",
            vec![format!(
                "Nothing. {} ({})\nNo action was taken; the cluster was left as it was.\n",
                sentence(&failure.message),
                failure.name
            )],
        ),
        (None, None) => section(
            &mut story,
            "What was decided",
            vec!["It is not in the recording.\n".to_owned()],
        ),
    }
    let shadows = shadows(record);
    if !shadows.is_empty() {
        section(&mut story, "What shadows said", shadows);
    }
    Ok(story)
}

/// What the modules said that were asked beside it and not followed, a sentence each.
pub(super) fn shadows(record: &Record) -> Vec<String> {
    let said = record.shadows.iter().map(|shadow| {
        let how = match (&shadow.failure, &shadow.difference) {
            (Some(failure), _) => format!("gave no answer: {} ({})", failure.message, failure.name),
            (None, Some(difference)) => format!("differed: {difference}"),
            (None, None) => "said the same".to_owned(),
        };
        let refused = if shadow.refused {
            "; the envelope would have refused it"
        } else {
            ""
        };
        format!("{} ({}) {how}{refused}.\n", shadow.name, shadow.module)
    });
    said.collect()
}

fn head(record: &Record, snapshot: &Snapshot) -> String {
    let Record {
        schema: _,
        seq,
        cluster,
        host,
        module,
        engine: _,
        now,
        trigger,
        fuel,
        ..
    } = record;
    let fuel = fuel
        .map(|fuel| {
            format!(
                ", using {} units of fuel",
                usize::try_from(fuel).map_or_else(|_| fuel.to_string(), grouped)
            )
        })
        .unwrap_or_default();
    format!(
        "Decision {seq} on the {} {}/{}, at {}\nLooked at because {}.\nDecided by the module {module} in Binnacle {host}{fuel}.\n",
        snapshot.resource.kind,
        cluster.namespace,
        cluster.name,
        time(*now),
        words::trigger(trigger),
    )
}

fn tell_decision(story: &mut String, decision: &Decision, record: &Record, snapshot: &Snapshot) {
    let findings = decision.report.findings.iter().map(|finding| {
        let kind = match finding.kind {
            FindingKind::Invalid => "Cannot be done as written",
            FindingKind::Blocked => "Needs a person",
            FindingKind::Waiting => "Waiting",
            FindingKind::Doing => "Doing",
            FindingKind::Note => "Noted",
        };
        let about = finding
            .member
            .as_ref()
            .map(|member| format!(" (about {member})"))
            .unwrap_or_default();
        format!(
            "{kind}{about}: {} ({})\n",
            sentence(&finding.message),
            finding.reason
        )
    });
    let mut findings: Vec<String> = findings.collect();
    if findings.is_empty() {
        findings.push("Nothing is amiss, and nothing is waited for.\n".to_owned());
    }
    section(story, "What it made of that", findings);
    let title = match decision.actions.len() {
        0 => "What was decided: nothing has to be done".to_owned(),
        actions => format!(
            "What was decided, and what became of it: {}",
            count(actions, "action")
        ),
    };
    let actions = results::of(decision, record).map(|(index, action, result)| {
        let became = result.map_or_else(
            || "its result is not in the recording".to_owned(),
            |result| words::outcome(result.outcome.outcome, &result.outcome.message),
        );
        format!(
            "{}. {}\n   -> {became}\n",
            index + 1,
            words::action(action, snapshot)
        )
    });
    section(story, &title, actions.collect());
    let next = decision.requeue.map_or_else(
        || "Looks again when something changes.".to_owned(),
        |requeue| words::requeue(requeue.after, requeue.why),
    );
    section(story, "What comes next", vec![format!("{next}\n")]);
}

fn section(story: &mut String, title: &str, paragraphs: Vec<String>) {
    story.push_str(&format!("\n{title}\n"));
    for paragraph in paragraphs {
        for line in paragraph.lines() {
            story.push_str(&format!("  {line}\n"));
        }
    }
}

/// With a capital and a full stop. What begins with a name, such as `spec.size`, keeps it as it is.
fn sentence(words: &str) -> String {
    let words = words.trim();
    let first_word = words.split(' ').next().unwrap_or_default();
    let is_name = first_word.contains(|letter: char| !letter.is_alphabetic());
    let mut letters = words.chars();
    let first = letters.next().map(|letter| {
        if is_name {
            letter.to_string()
        } else {
            letter.to_uppercase().to_string()
        }
    });
    let end = if words.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{}{}{end}", first.unwrap_or_default(), letters.as_str())
}
