//! Executes a decision: its actions in their order, each re-checked on a fresh read immediately before it happens.
//!
//! Chooses nothing and retries nothing. The envelope says whether an action may happen; what becomes of it goes into the
//! recording and into the next snapshot.
//!
//! # Flow
//! For each action: still wanted (lease held, host not stopping) -> read what the envelope needs -> check -> perform.
//! The first action that is refused or fails ends the list; those after it are `Skipped`. An event that is one too many of
//! late is left out, and ends nothing.
//!
//! # Errors
//! `Refused` means that nothing happened. `Failed` means that the call was made: with an answer nothing happened either,
//! without one nobody knows, and the next snapshot is read live.

mod annotate;
mod condition;
mod etcd;
mod fresh;
mod issue;
pub(crate) mod kubernetes;
mod schedule;

use std::sync::Arc;
use std::time::Instant;

use contract::{
    Action, Effect, ForeignObject, Millis, ObjectKind, Objects, OutcomeKind, PastOutcome, Resource,
};
use envelope::Refusal;
use kube::Client;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backup::{self, Transfers};
use crate::departing;
use crate::error::Chain;
use crate::key::ClusterKey;
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::observe::{Memory, WrittenObject};

/// What the executor needs to act.
pub struct Executor {
    /// Calls the API server.
    pub client: Client,
    /// This instance's name, for events.
    pub instance: String,
    /// Whether this instance may act.
    pub leadership: Leadership,
    /// What is moved beside the passes.
    pub transfers: Arc<Transfers>,
    /// Counts effects.
    pub metrics: Metrics,
    /// Ends the list after the effect in flight.
    pub stop: CancellationToken,
}

/// Why an effect is not in place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server found the object in another state than the precondition says.
    #[error("{why}")]
    Conflict {
        /// The API server's words.
        why: String,
    },
    /// The answer was no.
    #[error("{why}")]
    Rejected {
        /// The words of whoever rejected it.
        why: String,
    },
    /// No answer, or one that leaves open whether it happened.
    #[error("{why}; the effect may or may not be in place")]
    Lost {
        /// What is known.
        why: String,
    },
}

/// What the executor acts on.
pub(crate) struct Pass<'a> {
    pub(crate) key: &'a ClusterKey,
    pub(crate) resource: &'a Resource,
    pub(crate) objects: &'a Objects,
    /// Of the snapshot.
    pub(crate) now: Millis,
    /// Digest of the module that decided.
    pub(crate) module: &'a str,
}

/// Whether anything of a decision may have changed the world, and whether an answer was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// One outcome per action.
    pub outcomes: Vec<PastOutcome>,
    /// The answer to an effect was lost.
    pub lost: bool,
    /// Why the envelope refused the action that ended the list, or events on the way, if it did.
    pub refused: Option<Refusal>,
    /// More was told of late than may be.
    pub is_flood: bool,
}

impl Executed {
    /// Whether every effect is in place.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| outcome.outcome == OutcomeKind::Done)
    }
}

impl Executor {
    /// Executes these actions, of a decision that the envelope permitted.
    pub(crate) async fn execute(
        &self,
        pass: &Pass<'_>,
        actions: &[Action],
        memory: &mut Memory,
    ) -> Executed {
        let mut executed = Executed::default();
        let mut ended: Option<String> = None;
        for action in actions {
            let (outcome, message) = match &ended {
                Some(why) => (OutcomeKind::Skipped, why.clone()),
                None => self.attempt(pass, action, memory, &mut executed).await,
            };
            let is_left_out = executed.is_flood && matches!(action.effect, Effect::Event { .. });
            if ended.is_none() && outcome != OutcomeKind::Done && !is_left_out {
                ended = Some(format!(
                    "{} {} was not done",
                    action.effect.name(),
                    action.effect.target()
                ));
            }
            self.metrics.count_effect(&action.effect, outcome);
            executed.outcomes.push(PastOutcome {
                effect: action.effect.name().to_owned(),
                kind: action.effect.kind(),
                target: action.effect.target(),
                outcome,
                message,
            });
        }
        executed
    }

    async fn attempt(
        &self,
        pass: &Pass<'_>,
        action: &Action,
        memory: &mut Memory,
        executed: &mut Executed,
    ) -> (OutcomeKind, String) {
        let effect = action.effect.name();
        let subject = action.effect.target();
        if self.stop.is_cancelled() {
            return (OutcomeKind::Skipped, "the operator is stopping".to_owned());
        }
        if let Err(refusal) = memory.pace.spend(&action.effect, pass.now) {
            let words = refusal.to_string();
            executed.refused = Some(refusal);
            executed.is_flood = true;
            return (OutcomeKind::Refused, words);
        }
        let began = Instant::now();
        let read = fresh::read(self, pass, action, memory).await;
        if let Err(refusal) = envelope::check(action, &read.fresh) {
            note_foreign(pass, action, &read, memory);
            info!(effect, subject, refusal = %refusal, "Precondition does not hold; nothing was done");
            let words = refusal.to_string();
            executed.refused = Some(refusal);
            return (OutcomeKind::Refused, words);
        }
        match self.perform(pass, action, &read, memory).await {
            Ok(()) => {
                info!(effect, subject, took = ?began.elapsed(), "Done");
                (OutcomeKind::Done, String::new())
            }
            Err(error) => {
                warn!(effect, subject, error = %Chain(&error), "Not done");
                let kind = match &error {
                    Error::Conflict { .. } => {
                        let again = fresh::read(self, pass, action, memory).await;
                        note_foreign(pass, action, &again, memory);
                        OutcomeKind::Refused
                    }
                    Error::Rejected { .. } => OutcomeKind::Failed,
                    Error::Lost { .. } => {
                        memory.written.lose();
                        executed.lost = true;
                        OutcomeKind::Failed
                    }
                };
                (kind, error.to_string())
            }
        }
    }

    /// Every effect on the world goes through here.
    async fn perform(
        &self,
        pass: &Pass<'_>,
        action: &Action,
        read: &fresh::Read,
        memory: &mut Memory,
    ) -> Result<(), Error> {
        let now = Instant::now();
        match &action.effect {
            Effect::UpdateStatus { status } => {
                let version = kubernetes::update_status(self, pass, &action.pre, status).await?;
                memory
                    .written
                    .push(WrittenObject::Resource { version }, now);
            }
            Effect::Event { kind, reason, note } => {
                kubernetes::publish(self, pass, *kind, reason, note).await?;
            }
            Effect::Apply { object } => {
                let written = kubernetes::apply(self, pass, &action.pre, object).await?;
                memory.written.push(written, now);
            }
            Effect::Issue { secret, order } => {
                issue::issue(self, pass, &action.pre, secret, order).await?;
                memory.secrets.forget(secret);
            }
            Effect::AnnotatePod { name, annotations } => {
                let written = annotate::pod(self, pass, &action.pre, name, annotations).await?;
                memory.written.push(written, now);
            }
            Effect::TakeUpClaim { name, from } => {
                let written = annotate::take_up(self, pass, &action.pre, name, from).await?;
                memory.written.push(written, now);
            }
            Effect::RetireReplicaSet { name, owner: _ } => {
                let kind = ObjectKind::ReplicaSet;
                if let Some(pod) = &action.pre.successor {
                    kubernetes::would_create(self, pass, pod).await?;
                }
                let written = kubernetes::delete(self, pass, &action.pre, kind, name, None).await?;
                memory.written.push(written, now);
            }
            Effect::SetImage {
                name,
                image,
                annotations,
            } => {
                let written =
                    kubernetes::set_image(self, pass, &action.pre, name, image, annotations)
                        .await?;
                memory.written.push(written, now);
            }
            Effect::Delete {
                kind,
                name,
                grace_seconds,
            } => {
                if let Some(pod) = &action.pre.successor {
                    kubernetes::would_create(self, pass, pod).await?;
                }
                let written =
                    kubernetes::delete(self, pass, &action.pre, *kind, name, *grace_seconds)
                        .await?;
                memory.written.push(written, now);
            }
            Effect::AddLearner { name: _, peer_urls } => {
                etcd::add_learner(&read.fresh.etcd, pass, memory, peer_urls).await?;
            }
            Effect::Promote { member } => {
                etcd::promote(&read.fresh.etcd, pass, memory, *member).await?;
            }
            Effect::RemoveMember { member } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .remove(*member)
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::UpdateMember { member, peer_urls } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .update_member(*member, peer_urls)
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::MoveLeader { to } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .move_leader(*to)
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::Compact { revision } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .compact(*revision)
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::Defragment { member } => {
                etcd::member(*member, &read.fresh.etcd, pass, memory)
                    .await?
                    .defragment()
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::AppendNoop => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .append_noop()
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::Disarm { kind, member } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .disarm(*kind, *member)
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::Downgrade { to } => {
                etcd::leader(&read.fresh.etcd, pass, memory)
                    .await?
                    .downgrade(to.as_deref())
                    .await
                    .map_err(etcd::error)?;
            }
            Effect::Peer(effect) => {
                departing::perform(self, pass, &action.pre, effect, memory).await?;
            }
            Effect::Backup(effect) => {
                backup::perform(self, pass, &action.pre, effect, memory).await?;
            }
            Effect::Restore(effect) => {
                backup::prove(self, pass, &action.pre, effect, memory).await?;
            }
            Effect::Schedule(effect) => {
                let written = schedule::perform(self, pass, &action.pre, effect).await?;
                memory.written.push(written, now);
            }
        }
        Ok(())
    }
}

/// Remembers an object of somebody else that stands where this action wanted to put one.
fn note_foreign(pass: &Pass<'_>, action: &Action, read: &fresh::Read, memory: &mut Memory) {
    let (Effect::Apply { object }, Some(head)) = (&action.effect, &read.head) else {
        return;
    };
    let Some(owner) = head.stranger_to(&pass.resource.uid) else {
        return;
    };
    let (kind, name) = (object.kind(), object.name());
    if !memory.foreign.iter().any(|foreign| foreign.is(kind, name)) {
        memory.foreign.push(ForeignObject {
            kind,
            name: name.to_owned(),
            owner,
        });
        memory
            .foreign
            .sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    }
}

#[cfg(test)]
mod tests;
