//! What a pass over a backup or a restore does, found and remembers, and how it becomes a decision.
//!
//! The status comes before all other actions, so that what is begun was written down before. Knows neither kind.

use contract::{
    Action, Condition, ConditionStatus, Decision, Effect, EventType, Finding, FindingKind, Millis,
    OutcomeKind, Reason, Report, Requeue, Resource, SCHEMA, STORED_FINALIZER, Snapshot,
};

use crate::{clock, pre};

/// The condition that says what it waits for or did.
const CONDITION: &str = "Progressing";
/// How soon to look again after something failed.
pub(crate) const LATER: Millis = Millis::seconds(2);

/// A status that such a pass writes.
pub(crate) trait Told: Clone + PartialEq {
    /// Its conditions.
    fn conditions(&mut self) -> &mut Vec<Condition>;
    /// Notes the generation that it answers.
    fn answer(&mut self, generation: i64);
    /// The effect that writes it.
    fn update(self) -> Effect;
}

/// Whether the resource is not gone before this operator agrees.
pub(crate) fn is_held(resource: &Resource) -> bool {
    resource
        .finalizers
        .iter()
        .any(|name| name == STORED_FINALIZER)
}

/// What a pass does, found and remembers.
pub(crate) struct Course<'a, Status> {
    pub(crate) snapshot: &'a Snapshot,
    memory: &'a Status,
    /// The status after this pass.
    pub(crate) status: Status,
    pub(crate) actions: Vec<Action>,
    events: Vec<Action>,
    findings: Vec<Finding>,
    requeue: Option<Requeue>,
}

impl<'a, Status: Told> Course<'a, Status> {
    pub(crate) fn new(snapshot: &'a Snapshot, memory: &'a Status) -> Self {
        let mut status = memory.clone();
        status.answer(snapshot.resource.generation);
        Self {
            snapshot,
            memory,
            status,
            actions: Vec::new(),
            events: Vec::new(),
            findings: Vec::new(),
            requeue: None,
        }
    }

    /// The decision on a resource whose status cannot be read, and so not be written either.
    pub(crate) fn untold(snapshot: &Snapshot, finding: Finding) -> Decision {
        let event = pre::event_of(
            &snapshot.resource,
            EventType::Warning,
            finding.reason,
            finding.message.clone(),
        );
        Decision {
            schema: SCHEMA,
            actions: vec![event],
            requeue: None,
            report: Report {
                findings: vec![finding],
            },
        }
    }

    pub(crate) const fn now(&self) -> Millis {
        self.snapshot.now
    }

    pub(crate) fn find(&mut self, kind: FindingKind, reason: Reason, message: impl Into<String>) {
        self.findings.push(Finding {
            kind,
            reason,
            message: message.into(),
            member: None,
        });
    }

    /// As [`Self::find`], before whatever was found so far: the condition says the first one.
    pub(crate) fn find_first(&mut self, kind: FindingKind, reason: Reason, message: String) {
        let finding = Finding {
            kind,
            reason,
            message,
            member: None,
        };
        self.findings.insert(0, finding);
    }

    /// Tells of something once, when it happens.
    pub(crate) fn tell(&mut self, kind: EventType, reason: Reason, note: String) {
        self.events
            .push(pre::event_of(&self.snapshot.resource, kind, reason, note));
    }

    /// Asks for another look; the earliest wish wins.
    pub(crate) fn look_again(&mut self, after: Millis, why: Reason) {
        if self.requeue.is_none_or(|wish| after < wish.after) {
            self.requeue = Some(Requeue { after, why });
        }
    }

    /// Says what failed in the last pass. It harms nothing that is stored.
    pub(crate) fn past_failures(&mut self) {
        for past in &self.snapshot.outcomes {
            if past.outcome == OutcomeKind::Failed {
                self.find(
                    FindingKind::Waiting,
                    Reason::ActionFailed,
                    format!(
                        "{} {} failed: {}. It is tried again.",
                        past.effect, past.target, past.message
                    ),
                );
                self.look_again(LATER, Reason::ActionFailed);
            }
        }
    }

    /// The decision.
    pub(crate) fn end(mut self) -> Decision {
        self.note_condition();
        let resource = &self.snapshot.resource;
        let mut actions = Vec::new();
        let is_there = resource.deleted.is_none() || is_held(resource);
        if self.status != *self.memory && is_there {
            let mut action = pre::action(resource, self.status.update());
            action.pre.resource_version = Some(resource.resource_version.clone());
            actions.push(action);
        }
        actions.append(&mut self.events);
        actions.append(&mut self.actions);
        Decision {
            schema: SCHEMA,
            actions,
            requeue: self.requeue,
            report: Report {
                findings: self.findings,
            },
        }
    }

    /// The decision to do this alone: it changes the resource, so nothing else is written into what it was.
    pub(crate) fn alone(snapshot: &Snapshot, effect: Effect, finding: Finding) -> Decision {
        Decision {
            schema: SCHEMA,
            actions: vec![pre::action(&snapshot.resource, effect)],
            requeue: None,
            report: Report {
                findings: vec![finding],
            },
        }
    }

    /// The first finding, for people. Its words hold no times, so that what is at rest stays at rest.
    fn note_condition(&mut self) {
        // What it is over with stays to be read.
        let lasting = |finding: &&Finding| finding.reason != Reason::AsSpecified;
        let Some(finding) = self.findings.first().filter(lasting) else {
            return;
        };
        let status = match finding.kind {
            FindingKind::Doing | FindingKind::Waiting => ConditionStatus::True,
            FindingKind::Invalid | FindingKind::Blocked | FindingKind::Note => {
                ConditionStatus::False
            }
        };
        let (reason, message) = (finding.reason, finding.message.clone());
        self.hold(CONDITION, status, reason, message);
    }

    /// Sets a condition, if it is another one than it was.
    pub(crate) fn hold(
        &mut self,
        kind: &str,
        status: ConditionStatus,
        reason: Reason,
        message: String,
    ) {
        let mut conditions = self.status.conditions().iter();
        let before = conditions.find(|condition| condition.kind == kind);
        if before.is_some_and(|before| {
            before.status == status && before.reason == reason.name() && before.message == message
        }) {
            return;
        }
        let now = Some(clock::spell(self.snapshot.now));
        let since = before
            .filter(|before| before.status == status)
            .and_then(|before| before.last_transition_time.clone());
        let condition = Condition {
            kind: kind.to_owned(),
            status,
            last_update_time: now.clone(),
            last_transition_time: since.or(now),
            reason: reason.name().to_owned(),
            message,
        };
        let conditions = self.status.conditions();
        conditions.retain(|other| other.kind != kind);
        conditions.push(condition);
    }
}
