//! One pass over one cluster: observe, ask the module, let the envelope judge, execute, record.
//!
//! Whatever goes wrong in it harms this cluster's pass and nothing else.
//!
//! # Flow
//! 1. A snapshot. Without one the pass is tried again after a growing delay.
//! 2. The module's decision. A trap, a time-out or an unreadable answer means that nothing happens; the resource says so.
//! 3. The envelope's leave for the decision as a whole. A refusal is treated the same way.
//! 4. The actions, in order.
//! 5. The shadows' opinions, which nothing follows from.
//! 6. The record of all of it, and when to look again.
//! 7. The members as objects of their own, where the dialect shows them so.

mod refusals;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::{Decision, EventType, PastOutcome, Resource, ResourceKind, Snapshot};
use tokio::sync::Semaphore;
use tracing::{debug, error, info, warn};

use crate::backoff::Backoff;
use crate::departing;
use crate::error::Chain;
use crate::events::{self, Saying};
use crate::execute::{Executed, Executor, Pass};
use crate::key::ClusterKey;
use crate::metrics::{Metrics, PassEnd};
use crate::module::{Answer, Failure};
use crate::observe::{self, Found, Memory, World};
use crate::peers;
use crate::queue::{After, Trigger};
use crate::recorder::{ClusterName, DecidedBy, Record, Recorder, ShadowRecord};
use crate::refused;
use crate::roster::{Lineup, Opinion, Roster, Seat, Shadow};
use refusals::{in_words, refused_outcomes};

/// Delays after passes that the host could not finish.
const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(30),
};
/// Reason of the event on a resource that another operator serves.
const NOT_SERVED: &str = "NotServed";
/// Until the next look after an action that was refused or failed with an answer, where the decision names no time.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// What every pass needs.
pub struct Passes {
    /// The caches.
    pub world: Arc<World>,
    /// Acts.
    pub executor: Executor,
    /// Who decides for which cluster.
    pub roster: Arc<Roster>,
    /// The engine's settings, by name.
    pub engine: String,
    /// Keeps what was decided.
    pub recorder: Arc<Recorder>,
    /// Counts.
    pub metrics: Metrics,
    /// Bounds the calls of the module at one time: each holds memory of its own, and there are few processors.
    pub turns: Semaphore,
    /// The same for shadows, so that none of them makes a decision wait.
    pub shadow_turns: Semaphore,
    /// What is remembered of each cluster while no pass of it runs.
    pub memories: Memories,
}

/// What is remembered of each cluster.
#[derive(Default)]
pub struct Memories(Mutex<BTreeMap<ClusterKey, Memory>>);

impl Memories {
    fn take(&self, key: &ClusterKey) -> Memory {
        self.lock().remove(key).unwrap_or_default()
    }

    fn put(&self, key: ClusterKey, memory: Memory) {
        self.lock().insert(key, memory);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClusterKey, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a snapshot.
enum Verdict {
    Decided(Executed),
    Refused,
    Failed,
}

/// What was said about one snapshot.
struct Told<'a> {
    /// Digest of the module that decided.
    module: &'a str,
    /// The snapshot as it crossed.
    bytes: Vec<u8>,
    decided: &'a Result<Answer, Failure>,
    shadows: Vec<ShadowRecord>,
}

impl Passes {
    /// Runs one pass; answers when to look again.
    pub async fn run(&self, key: &ClusterKey, trigger: Trigger) -> After {
        let began = Instant::now();
        let mut memory = self.memories.take(key);
        let found = observe::snapshot(
            &self.executor.client,
            &self.world,
            &self.executor.transfers,
            key,
            &mut memory,
        )
        .await;
        let (end, after) = match found {
            Ok(Found::Gone) => {
                debug!("The resource is gone");
                self.metrics.forget(key);
                return departing::after_its_cluster(&self.executor, &self.world, key).await;
            }
            Ok(Found::NotServed(resource, why)) => {
                self.metrics.forget(key);
                self.leave_alone(&resource, why, &mut memory).await;
                self.memories.put(key.clone(), memory);
                return After::Change;
            }
            Ok(Found::Snapshot(snapshot)) => {
                memory.left_alone = false;
                if key.kind == ResourceKind::EtcdCluster {
                    self.metrics.see(key, &snapshot);
                }
                let decided = self
                    .decide_and_act(key, trigger, &snapshot, &mut memory)
                    .await;
                peers::show(&self.executor, &snapshot.resource, &mut memory).await;
                decided
            }
            Err(error) => {
                warn!(error = %Chain(&error), "No snapshot could be taken");
                (PassEnd::Unobserved, retry(&mut memory))
            }
        };
        self.metrics.count_pass(key, end, began.elapsed());
        self.memories.put(key.clone(), memory);
        after
    }

    /// Says once, where the person looks who wonders why nothing happens.
    async fn leave_alone(&self, resource: &Resource, why: String, memory: &mut Memory) {
        if memory.left_alone {
            return;
        }
        info!(why, "Left to another operator");
        let saying = Saying {
            kind: EventType::Warning,
            reason: NOT_SERVED,
            note: &why,
        };
        let Executor {
            client, instance, ..
        } = &self.executor;
        match events::publish(client, instance, resource, saying).await {
            Ok(()) => memory.left_alone = true,
            Err(error) => warn!(error = %Chain(&error), "The event could not be recorded"),
        }
    }

    async fn decide_and_act(
        &self,
        key: &ClusterKey,
        trigger: Trigger,
        snapshot: &Snapshot,
        memory: &mut Memory,
    ) -> (PassEnd, After) {
        let bytes = match serde_json::to_vec(snapshot) {
            Ok(bytes) => bytes,
            Err(error) => {
                error!(%error, "The snapshot cannot be written as JSON");
                return (PassEnd::Unobserved, retry(memory));
            }
        };
        // Taken once: a swap in mid-pass is the next pass's business.
        let lineup = self.roster.current();
        let seat = lineup.seat(&snapshot.resource.labels);
        let (bytes, decided) = self.ask(seat, bytes).await;
        let verdict = self.follow(key, seat, snapshot, &decided, memory).await;
        let told = Told {
            module: seat.digest(),
            decided: &decided,
            shadows: self.ask_shadows(&lineup, snapshot, &bytes, &decided).await,
            bytes,
        };
        self.record(key, trigger, snapshot, told, &memory.outcomes);
        match (verdict, decided) {
            (Verdict::Decided(executed), Ok(answer)) => {
                (PassEnd::Decided, after(&answer.decision, &executed, memory))
            }
            (Verdict::Refused, _) => (PassEnd::Refused, retry(memory)),
            (Verdict::Failed, _) | (Verdict::Decided(_), Err(_)) => {
                (PassEnd::Failed, retry(memory))
            }
        }
    }

    /// The module blocks for as long as it thinks, so it is asked where blocking harms nobody.
    async fn ask(&self, seat: &Arc<Seat>, snapshot: Vec<u8>) -> (Vec<u8>, Result<Answer, Failure>) {
        let _turn = self.turns.acquire().await;
        let seat = Arc::clone(seat);
        let asked = tokio::task::spawn_blocking(move || {
            let decided = seat.decide(&snapshot);
            (snapshot, decided)
        });
        match asked.await {
            Ok(answered) => answered,
            Err(panic) => (
                b"null".to_vec(),
                Err(Failure::Trap {
                    what: panic.to_string(),
                }),
            ),
        }
    }

    /// Asks every shadow about the same bytes, after all that matters has happened.
    async fn ask_shadows(
        &self,
        lineup: &Arc<Lineup>,
        snapshot: &Snapshot,
        bytes: &[u8],
        followed: &Result<Answer, Failure>,
    ) -> Vec<ShadowRecord> {
        if lineup.shadows.is_empty() {
            return Vec::new();
        }
        let _turn = self.shadow_turns.acquire().await;
        let (lineup, followed) = (Arc::clone(lineup), followed.clone());
        let (snapshot, bytes) = (snapshot.clone(), bytes.to_vec());
        let asked = tokio::task::spawn_blocking(move || {
            let shadows = lineup.shadows.iter();
            let look = |shadow: &Arc<Shadow>| shadow.look(&snapshot, &bytes, &followed);
            shadows.map(look).collect::<Vec<Opinion>>()
        });
        let opinions = asked.await.unwrap_or_else(|panic| {
            error!(error = %panic, "The shadows were not asked");
            Vec::new()
        });
        let told = opinions.into_iter().map(|opinion| {
            self.metrics.count_opinion(&opinion);
            opinion.record
        });
        told.collect()
    }

    /// Lets the envelope judge, and executes what it permits.
    async fn follow(
        &self,
        key: &ClusterKey,
        seat: &Seat,
        snapshot: &Snapshot,
        decided: &Result<Answer, Failure>,
        memory: &mut Memory,
    ) -> Verdict {
        let pass = Pass {
            key,
            resource: &snapshot.resource,
            objects: &snapshot.objects,
            now: snapshot.now,
            module: seat.digest(),
        };
        let answer = match decided {
            Ok(answer) => answer,
            Err(failure) => {
                error!(failure = failure.name(), error = %failure, "The module gave no decision; nothing was done");
                self.metrics.count_refusal(failure.name(), pass.module);
                self.roster.note_failure();
                memory.outcomes.clear();
                self.executor
                    .mark_refused(&pass, failure.name(), &failure.to_string(), memory)
                    .await;
                return Verdict::Failed;
            }
        };
        self.metrics.count_decision(answer.fuel, answer.took);
        if let Err(refusals) = envelope::permit(&answer.decision, snapshot) {
            let words = in_words(&refusals);
            error!(
                refusals = words,
                "The decision was refused as a whole; nothing was done"
            );
            for refusal in &refusals {
                self.metrics.count_refusal(refusal.into(), pass.module);
            }
            seat.note_refused();
            self.roster.note_failure();
            memory.outcomes = refused_outcomes(&answer.decision, &words);
            self.executor
                .mark_refused(&pass, refused::reason(), &words, memory)
                .await;
            return Verdict::Refused;
        }
        let executed = self
            .executor
            .execute(&pass, answer.decision.actions.as_slice(), memory)
            .await;
        memory.outcomes.clone_from(&executed.outcomes);
        self.tell_of_refusal(&pass, executed.refused.as_ref(), memory)
            .await;
        Verdict::Decided(executed)
    }

    fn record(
        &self,
        key: &ClusterKey,
        trigger: Trigger,
        snapshot: &Snapshot,
        told: Told<'_>,
        results: &[PastOutcome],
    ) {
        let Told {
            module,
            bytes,
            decided,
            shadows,
        } = told;
        let cluster = ClusterName {
            uid: snapshot.resource.uid.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        let by = DecidedBy {
            module,
            engine: &self.engine,
        };
        match Record::new(
            cluster,
            trigger.to_string(),
            snapshot.now,
            by,
            bytes,
            decided,
            results,
        ) {
            Ok(record) => {
                let seq = self.recorder.record(Record { shadows, ..record });
                debug!(seq, "Recorded");
            }
            Err(error) => error!(%error, "The pass could not be recorded"),
        }
    }
}

/// When to look again after a decision that was followed as far as it went.
fn after(decision: &Decision, executed: &Executed, memory: &mut Memory) -> After {
    if executed.lost {
        return retry(memory);
    }
    memory.failures = 0;
    let now = Instant::now();
    if executed.is_flood {
        // What it wrote would make the next pass begin at once.
        return After::NotBefore(now + AFTER_REFUSAL);
    }
    match decision.requeue {
        Some(requeue) => {
            debug!(
                after_ms = requeue.after.0,
                why = requeue.why.name(),
                "Waiting"
            );
            let after = Duration::from_millis(u64::try_from(requeue.after.0).unwrap_or_default());
            After::At(
                now + after.clamp(SHORTEST_WAIT, LONGEST_WAIT),
                Trigger::Requeue(requeue.why),
            )
        }
        None if executed.is_complete() => After::Change,
        None => After::At(now + AFTER_REFUSAL, Trigger::Retry),
    }
}

/// A decision that asks for another look at once, or in the past, waits this long: no module keeps the host busy.
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
/// A decision may ask for any time; beyond this one it is no wait but a mistake.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

fn retry(memory: &mut Memory) -> After {
    let delay = RETRY.delay(memory.failures);
    memory.failures = memory.failures.saturating_add(1);
    info!(?delay, "The pass is tried again");
    After::NotBefore(Instant::now() + delay)
}

#[cfg(test)]
mod tests;
