//! A plan as people read it.

use std::fmt::Write as _;

use contract::{Dialect, Millis};
use serde_json::Value;

use super::steps::{End, Outlook, SpecEdit, Step, What};
use crate::output::{count, of_group, span, time};

/// Longest value of a field that is shown whole.
const LONGEST: usize = 100;

pub(super) fn text(outlook: &Outlook) -> String {
    let Outlook {
        dialect,
        group: _,
        namespace,
        name,
        seen,
        module,
        module_version,
        is_new,
        edits,
        steps,
        risks,
        end,
    } = outlook;
    let state = if *is_new {
        "which is not there yet".to_owned()
    } else {
        format!("as it was seen at {}", time(*seen))
    };
    let mut text = format!(
        "Plan for the EtcdCluster {namespace}/{name}{}, {state}\nDecided by the module {module} ({module_version})\n",
        of_group(*dialect)
    );
    // Writing to a String cannot fail.
    text.push_str("\nThe edit:\n");
    if edits.is_empty() {
        text.push_str("    nothing in the spec\n");
    }
    for edit in edits {
        text.push_str(&edit_line(edit));
    }
    if outlook.acts() {
        text.push_str("\nWhat would be done, as the model foresees it:\n");
    } else {
        text.push_str("\nNothing would be done.\n");
    }
    for step in steps {
        text.push_str(&step_line(step));
    }
    let _ = writeln!(text, "\n{}", end_line(end));
    for finding in &end.findings {
        let _ = writeln!(text, "    {}: {}", finding.reason, finding.message);
    }
    if !risks.is_empty() {
        text.push_str("\nRisks:\n");
        for risk in risks {
            let _ = writeln!(text, "  ! {risk}");
        }
    }
    if outlook.acts() {
        let _ = writeln!(text, "\n{}", sum(steps, *dialect));
    }
    text
}

fn edit_line(edit: &SpecEdit) -> String {
    let SpecEdit { path, from, to } = edit;
    match (from, to) {
        (Some(from), Some(to)) => format!("  ~ {path}: {} -> {}\n", short(from), short(to)),
        (None, Some(to)) => format!("  + {path}: {}\n", short(to)),
        (Some(from), None) => format!("  - {path}: {}\n", short(from)),
        (None, None) => String::new(),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let begun: String = text.chars().take(LONGEST).collect();
    format!("{begun}…")
}

fn step_line(step: &Step) -> String {
    let sign = match step.what {
        What::Create => '+',
        What::Change => '~',
        What::Remove => '-',
        What::Wait => '.',
        What::Stop => '!',
    };
    let about = about(step.after);
    match step.what {
        What::Create | What::Change | What::Remove => {
            format!("  {sign} {about:>9}  {}\n", step.words)
        }
        What::Wait | What::Stop => {
            format!("  {sign} {about:>9}  {}: {}\n", step.name, step.words)
        }
    }
}

/// The model's time, to the second: more would be a promise.
fn about(after: Millis) -> String {
    span(Millis(after.0 / 1000 * 1000)).replace("0 ms", "0 s")
}

fn end_line(end: &End) -> String {
    let End {
        after,
        at_rest,
        unfinished,
        members,
        healthy,
        findings: _,
    } = end;
    let about = about(*after);
    let members = format!("{}, {healthy} healthy", count(*members, "member"));
    match (at_rest, unfinished) {
        (true, _) if after.0 == 0 => format!("It is at rest: {members}."),
        (true, _) => {
            format!(
                "At its end, after about {about} of the model's time: {members}; nothing is left to do."
            )
        }
        (false, true) => format!(
            "It was followed for {about} of the model's time and has no end yet: {members}."
        ),
        (false, false) => format!("It stops there: {members}, and this stands:"),
    }
}

fn sum(steps: &[Step], dialect: Dialect) -> String {
    let of = |what: What| steps.iter().filter(|step| step.what == what).count();
    let drawn = if dialect.numbers_members() {
        ""
    } else {
        " Names of new members are drawn when they are made."
    };
    format!(
        "{} to create or add, {} to change, {} to delete or remove; {}.{drawn}",
        of(What::Create),
        of(What::Change),
        of(What::Remove),
        count(of(What::Wait) + of(What::Stop), "wait"),
    )
}
