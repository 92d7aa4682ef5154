//! What a pass over a backup does, found and remembers, and how it becomes a decision.
//!
//! The status comes before all other actions, so that what is begun was written down before.

use contract::{
    Action, BackupEffect, Condition, ConditionStatus, Decision, Effect, EtcdBackupStatus,
    EventType, Finding, FindingKind, Millis, OutcomeKind, Reason, Report, Requeue, SCHEMA,
    Snapshot,
};

use crate::{clock, pre};

/// The condition that says what a backup waits for or did.
const CONDITION: &str = "Progressing";

/// What a pass does, found and remembers.
pub(super) struct Course<'a> {
    pub(super) snapshot: &'a Snapshot,
    memory: &'a EtcdBackupStatus,
    /// The status after this pass.
    pub(super) status: EtcdBackupStatus,
    pub(super) actions: Vec<Action>,
    events: Vec<Action>,
    findings: Vec<Finding>,
    requeue: Option<Requeue>,
}

impl<'a> Course<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, memory: &'a EtcdBackupStatus) -> Self {
        let mut status = memory.clone();
        status.observed_generation = Some(snapshot.resource.generation);
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
    pub(super) fn untold(snapshot: &Snapshot, finding: Finding) -> Decision {
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

    pub(super) const fn now(&self) -> Millis {
        self.snapshot.now
    }

    pub(super) fn find(&mut self, kind: FindingKind, reason: Reason, message: impl Into<String>) {
        self.findings.push(Finding {
            kind,
            reason,
            message: message.into(),
            member: None,
        });
    }

    /// Tells of something once, when it happens.
    pub(super) fn tell(&mut self, kind: EventType, reason: Reason, note: String) {
        self.events
            .push(pre::event_of(&self.snapshot.resource, kind, reason, note));
    }

    /// Asks for another look; the earliest wish wins.
    pub(super) fn look_again(&mut self, after: Millis, why: Reason) {
        if self.requeue.is_none_or(|wish| after < wish.after) {
            self.requeue = Some(Requeue { after, why });
        }
    }

    /// Says what failed in the last pass. It harms no backup that is stored.
    pub(super) fn past_failures(&mut self) {
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
                self.look_again(super::run::LATER, Reason::ActionFailed);
            }
        }
    }

    /// The decision.
    pub(super) fn end(mut self) -> Decision {
        self.note_condition();
        let resource = &self.snapshot.resource;
        let mut actions = Vec::new();
        if self.status != *self.memory && resource.deleted.is_none() {
            let status = Box::new(self.status);
            let effect = Effect::Backup(BackupEffect::UpdateStatus { status });
            let mut action = pre::action(resource, effect);
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

    /// The first finding, for people. Its words hold no times, so that a backup at rest stays at rest.
    fn note_condition(&mut self) {
        // What a backup is over with stays to be read.
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
        let before = self
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == CONDITION);
        if before.is_some_and(|before| {
            before.status == status
                && before.reason == finding.reason.name()
                && before.message == finding.message
        }) {
            return;
        }
        let now = Some(clock::spell(self.snapshot.now));
        let since = before
            .filter(|before| before.status == status)
            .and_then(|before| before.last_transition_time.clone());
        let condition = Condition {
            kind: CONDITION.to_owned(),
            status,
            last_update_time: now.clone(),
            last_transition_time: since.or(now),
            reason: finding.reason.name().to_owned(),
            message: finding.message.clone(),
        };
        self.status
            .conditions
            .retain(|other| other.kind != CONDITION);
        self.status.conditions.push(condition);
    }
}
