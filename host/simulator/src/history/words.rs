//! What an operator saw and found in one pass, in words.

use contract::{Decision, Finding, Snapshot};

use crate::world::World;

pub(super) fn in_words(finding: &Finding) -> String {
    format!("{}: {}", finding.reason, finding.message)
}

pub(super) fn tell_pass(world: &World, snapshot: &Snapshot, decision: &Decision) -> String {
    let truth = world.truth();
    let members: Vec<String> = truth
        .members
        .iter()
        .map(|member| {
            format!(
                "{}{}{}{}",
                member.name,
                if member.learner { " learner" } else { "" },
                if member.healthy { " healthy" } else { "" },
                if member.intact { "" } else { " EMPTY" }
            )
        })
        .collect();
    let pods: Vec<String> = snapshot
        .objects
        .pods
        .seen()
        .into_iter()
        .flatten()
        .map(|pod| {
            format!(
                "{}{}{}",
                pod.name,
                if pod.running { "+" } else { "-" },
                if pod.deleted.is_some() { "x" } else { "" }
            )
        })
        .collect();
    let findings: Vec<String> = decision.report.findings.iter().map(in_words).collect();
    format!(
        "pass: size {} members [{}] pods [{}] | {} actions | {}",
        truth.size,
        members.join(", "),
        pods.join(" "),
        decision.actions.len(),
        findings.join(" / ")
    )
}
