//! A foresight as steps and waits: what would be done in which order, what is waited for, and how it ends.

use contract::{
    Action, Dialect, Effect, Finding, FindingKind, Millis, ObjectPrecondition, OutcomeKind,
    PeerEffect, Resource,
};
use serde::Serialize;
use serde_json::Value;
use simulator::{Ending, Foresight, Pass};

use super::Verdict;
use super::present::Present;
use super::risks::risks;
use crate::explain::words;
use crate::module::Module;

/// What would be done, to the end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outlook {
    #[serde(skip)]
    pub(super) dialect: Dialect,
    /// The group of the file.
    pub(super) group: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    /// When the state was seen that it begins from.
    pub(super) seen: Millis,
    /// The module's digest.
    pub(super) module: String,
    /// Its own name and version.
    pub(super) module_version: String,
    /// There is no such cluster yet.
    pub(super) is_new: bool,
    /// What the edit changes in the spec.
    pub(super) edits: Vec<SpecEdit>,
    pub(super) steps: Vec<Step>,
    pub(super) risks: Vec<String>,
    pub(super) end: End,
}

/// One field that the edit changes.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct SpecEdit {
    pub(super) path: String,
    pub(super) from: Option<Value>,
    pub(super) to: Option<Value>,
}

/// One thing that would be done or waited for.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    /// In the model's time since the beginning.
    pub(super) after: Millis,
    pub(super) what: What,
    /// The effect's name, or the reason of a wait.
    pub(super) name: String,
    pub(super) words: String,
}

/// What kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum What {
    Create,
    Change,
    Remove,
    Wait,
    /// A person is needed.
    Stop,
}

/// How it ends.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct End {
    pub(super) after: Millis,
    /// There is nothing left to do and nothing is waited for.
    pub(super) at_rest: bool,
    /// It was followed no further.
    pub(super) unfinished: bool,
    pub(super) members: usize,
    pub(super) healthy: usize,
    /// What still stands then.
    pub(super) findings: Vec<Finding>,
}

impl Outlook {
    pub(super) fn of(module: &Module, present: &Present, foresight: &Foresight) -> Self {
        let resource = &present.snapshot.resource;
        let description = module.description();
        Self {
            dialect: resource.dialect(),
            group: resource.dialect().group(),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
            seen: present.snapshot.now,
            module: module.digest().to_owned(),
            module_version: format!("{} {}", description.name, description.version),
            is_new: present.before.is_none(),
            edits: edits(present.before.as_ref(), resource),
            steps: steps(&foresight.passes),
            risks: risks(&foresight.passes),
            end: end(foresight),
        }
    }

    pub(super) fn acts(&self) -> bool {
        let waits = |what| matches!(what, What::Wait | What::Stop);
        self.steps.iter().any(|step| !waits(step.what))
    }

    pub(super) fn verdict(&self) -> Verdict {
        let stops =
            |finding: &Finding| matches!(finding.kind, FindingKind::Blocked | FindingKind::Invalid);
        match self.acts() {
            true => Verdict::Changes,
            false if self.end.findings.iter().any(stops) => Verdict::Stuck,
            false => Verdict::Nothing,
        }
    }
}

fn edits(before: Option<&Resource>, after: &Resource) -> Vec<SpecEdit> {
    let written = |one: &Resource| one.dialect().written_spec(&one.spec);
    let before = before.map_or(Value::Null, written);
    let mut found = Vec::new();
    compare("spec", Some(&before), Some(&written(after)), &mut found);
    found
}

fn compare(path: &str, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<SpecEdit>) {
    match (from, to) {
        (from, to) if from == to => {}
        (Some(Value::Object(from)), Some(Value::Object(to))) => {
            let mut keys: Vec<&String> = from.keys().chain(to.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                compare(&format!("{path}.{key}"), from.get(key), to.get(key), found);
            }
        }
        (from, to) => found.push(SpecEdit {
            path: path.to_owned(),
            from: from.filter(|value| !value.is_null()).cloned(),
            to: to.cloned(),
        }),
    }
}

fn steps(passes: &[Pass]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut waiting: Vec<&Finding> = Vec::new();
    for pass in passes {
        let done = done(pass).count();
        let done = done > 0;
        let now: Vec<&Finding> = waits(pass).collect();
        if !done {
            let is_told = |finding: &Finding| {
                let told =
                    |old: &&Finding| (old.reason, &old.member) == (finding.reason, &finding.member);
                waiting.iter().any(told)
            };
            let fresh = now.iter().filter(|finding| !is_told(finding));
            steps.extend(fresh.map(|finding| wait(pass.at, finding)));
            waiting = now;
        } else {
            waiting.clear();
        }
        steps.extend(self::done(pass).map(|action| act(pass, action)));
    }
    steps
}

/// What was done in a pass, but for telling.
pub(super) fn done(pass: &Pass) -> impl Iterator<Item = &Action> {
    let tried = pass.decision.actions.iter().zip(&pass.outcomes);
    tried
        .filter(|(_, became)| became.outcome == OutcomeKind::Done)
        .map(|(action, _)| action)
        .filter(|action| !action.effect.is_telling())
}

fn waits(pass: &Pass) -> impl Iterator<Item = &Finding> {
    let findings = pass.decision.report.findings.iter();
    findings.filter(|finding| match finding.kind {
        FindingKind::Waiting | FindingKind::Blocked | FindingKind::Invalid => true,
        FindingKind::Doing | FindingKind::Note => false,
    })
}

fn wait(after: Millis, finding: &Finding) -> Step {
    Step {
        after,
        what: match finding.kind {
            FindingKind::Blocked | FindingKind::Invalid => What::Stop,
            FindingKind::Waiting | FindingKind::Doing | FindingKind::Note => What::Wait,
        },
        name: finding.reason.name().to_owned(),
        words: finding.message.clone(),
    }
}

fn act(pass: &Pass, action: &Action) -> Step {
    let Action { effect, pre } = action;
    let is_new = pre.object == Some(ObjectPrecondition::Absent);
    let what = match effect {
        Effect::Apply { .. } if is_new => What::Create,
        Effect::AddLearner { .. } => What::Create,
        Effect::Delete { .. }
        | Effect::RetireReplicaSet { .. }
        | Effect::RemoveMember { .. }
        | Effect::Peer(PeerEffect::DeleteClaim { .. }) => What::Remove,
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::Apply { .. }
        | Effect::AnnotatePod { .. }
        | Effect::TakeUpClaim { .. }
        | Effect::SetImage { .. }
        | Effect::Issue { .. }
        | Effect::Promote { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Peer(PeerEffect::Release { .. })
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => What::Change,
    };
    let kind = effect.kind().map(|kind| format!(" {}", kind.name()));
    Step {
        after: pass.at,
        what,
        name: format!("{}{}", effect.name(), kind.unwrap_or_default()),
        words: if let Effect::Apply { object } = effect {
            let does = if is_new { "Create" } else { "Bring up to date" };
            format!("{does} the {} {}", object.kind().name(), object.name())
        } else {
            words::action(action, &pass.snapshot)
        },
    }
}

fn end(foresight: &Foresight) -> End {
    let Foresight { passes, ending } = foresight;
    let last = passes.last();
    let etcd = last.map(|last| &last.snapshot.etcd);
    let membership = etcd.and_then(|etcd| etcd.membership.seen());
    let ids = membership.iter().flat_map(|list| &list.members);
    let ids: Vec<_> = ids.map(|member| member.id).collect();
    let endpoints = etcd.into_iter().flat_map(|etcd| &etcd.endpoints);
    let healthy = endpoints
        .filter_map(|endpoint| endpoint.status.seen())
        .filter(|status| status.leader.is_some() && ids.contains(&status.member_id));
    // Rest is waited for; what counts is since when there was nothing to do.
    let acted = passes.iter().rev().find(|pass| done(pass).count() > 0);
    let after = match ending {
        Ending::AtRest => acted.map_or(Millis(0), |pass| pass.at),
        Ending::Standing | Ending::Unfinished => last.map_or(Millis(0), |pass| pass.at),
    };
    let findings = last.map(|last| last.decision.report.findings.clone());
    let mut findings = findings.unwrap_or_default();
    findings.retain(|finding| finding.kind != FindingKind::Note);
    End {
        after,
        at_rest: *ending == Ending::AtRest,
        unfinished: *ending == Ending::Unfinished,
        members: ids.len(),
        healthy: healthy.count(),
        findings,
    }
}
