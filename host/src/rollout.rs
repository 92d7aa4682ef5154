//! Rollout of reconciler modules: follows the ReconcilerModules of the operator's namespace and keeps the roster as they say.
//!
//! Decides nothing about clusters, and loads modules aside: whatever goes wrong there changes nothing.
//!
//! # Flow
//! An object is seen -> its module is loaded in the background -> it stands in its role -> the lineup that follows from all
//! objects is published in one step -> clusters are looked at by it -> statuses and events say so.
//!
//! # Guarantees
//! - Every instance loads, so that one that takes over decides with the same module; only the leader writes.
//! - Passes start only after all objects that were there at the start have been tried once.
//! - A module that fails beyond its limit is replaced by the one before it in the same role, and is not tried again before
//!   its object's spec changes, by no instance.

mod assign;
mod entry;
mod fetch;
mod kept;
mod load;
mod objects;
mod recheck;
mod status;
mod tell;
mod wanted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{Millis, ModuleRole, Resource};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, info, info_span, warn};

pub use fetch::{Error, Fetched, Sources};
pub(crate) use objects::{modules, projected};

use crate::lease::Leadership;
use crate::metrics::{Metrics, ModuleShown};
use crate::module::Engine;
use crate::observe::World;
use crate::queue::{Queue, Trigger};
use crate::recorder::Recorder;
use crate::roster::{Lineup, Roster, Seat};
use assign::{Assigned, assign};
use entry::{Entry, Order};
use load::{Loader, Outcome};
use recheck::Looked;
use tell::Teller;

/// How often counts are looked at while there are modules.
const LOOK: Duration = Duration::from_secs(1);

/// What the rollout is made of.
pub struct Parts {
    /// Where modules come from; its client reads and writes the objects.
    pub sources: Sources,
    /// This instance's name, for events.
    pub instance: String,
    /// Whether this instance writes.
    pub leadership: Leadership,
    /// Runs modules.
    pub engine: Engine,
    /// Where compiled modules are kept.
    pub cache: Option<PathBuf>,
    /// The module that the operator was started with.
    pub built_in: Arc<Seat>,
    /// Where recordings are.
    pub recordings: PathBuf,
    /// Keeps modules beside the recordings.
    pub recorder: Arc<Recorder>,
    /// What is kept as the objects say.
    pub roster: Arc<Roster>,
    /// Counts swaps and shows modules.
    pub metrics: Metrics,
    /// Knows the clusters, which are looked at after a swap.
    pub world: Arc<World>,
    /// Where that is asked for.
    pub queue: Arc<Queue>,
}

/// The running rollout.
struct Rollout {
    loader: Loader,
    built_in: Arc<Seat>,
    roster: Arc<Roster>,
    metrics: Metrics,
    world: Arc<World>,
    queue: Arc<Queue>,
    entries: BTreeMap<String, Entry>,
    loads: JoinSet<(String, String, i64, Outcome)>,
    looks: JoinSet<(String, String, i64, Looked)>,
    teller: Teller,
}

/// Follows the objects until `stop`.
pub async fn follow(parts: Parts, stop: CancellationToken) {
    let Parts {
        sources,
        instance,
        leadership,
        engine,
        cache,
        built_in,
        recordings,
        recorder,
        roster,
        metrics,
        world,
        queue,
    } = parts;
    let Sources {
        client, namespace, ..
    } = sources.clone();
    let known = tokio::sync::watch::Sender::new(None);
    let mut seen = known.subscribe();
    let watching = tokio::spawn(
        objects::keep(client.clone(), namespace, known)
            .instrument(info_span!("watch", kind = contract::MODULE_KIND)),
    );
    let mut leads = leadership.subscribe();
    let mut rollout = Rollout {
        loader: Loader {
            sources,
            engine,
            cache,
            recordings,
            recorder,
        },
        built_in,
        roster: Arc::clone(&roster),
        metrics,
        world,
        queue,
        entries: BTreeMap::new(),
        loads: JoinSet::new(),
        looks: JoinSet::new(),
        teller: Teller::new(client, instance, leadership),
    };
    rollout.show(&roster.current());
    let following = async {
        loop {
            let objects = seen.borrow_and_update().clone();
            if let Some(objects) = objects {
                rollout.see(objects);
                rollout.step().await;
                if rollout.loads.is_empty() {
                    roster.settle();
                }
            }
            let pause = rollout.pause();
            tokio::select! {
                changed = seen.changed() => if changed.is_err() { return },
                Some(done) = rollout.loads.join_next() => rollout.take(done),
                Some(done) = rollout.looks.join_next() => rollout.looked(done),
                () = roster.failure() => {}
                _ = leads.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    };
    stop.run_until_cancelled(following).await;
    watching.abort();
}

impl Rollout {
    /// Compares what is there with what was, and begins to load what is new.
    fn see(&mut self, objects: BTreeMap<String, Resource>) {
        self.entries.retain(|name, entry| {
            let stays = objects
                .get(name)
                .is_some_and(|object| object.uid == entry.resource.uid);
            if !stays {
                info!(module = name, "ReconcilerModule is gone");
            }
            stays
        });
        self.teller.forget_all_but(&objects);
        for (name, object) in objects {
            let order = match self.entries.get_mut(&name) {
                Some(entry) => entry.see(object),
                None => {
                    let (entry, order) = Entry::new(object);
                    self.entries.insert(name.clone(), entry);
                    order
                }
            };
            if let Some(order) = order {
                self.load(&name, order);
            }
        }
    }

    fn load(&mut self, name: &str, order: Order) {
        let Some(entry) = self.entries.get(name) else {
            return;
        };
        let (uid, generation) = (entry.resource.uid.clone(), entry.resource.generation);
        let (name, loader) = (name.to_owned(), self.loader.clone());
        let span = info_span!("load", module = name);
        let loading = async move {
            let Order {
                wanted,
                has_fallen,
                resume,
            } = order;
            let outcome = loader.load(&wanted, has_fallen, resume).await;
            (name, uid, generation, outcome)
        };
        self.loads.spawn(loading.instrument(span));
    }

    fn take(&mut self, done: Result<(String, String, i64, Outcome), tokio::task::JoinError>) {
        let (name, uid, generation, outcome) = match done {
            Ok(done) => done,
            Err(panic) => return warn!(error = %panic, "Loading a module ended in a panic"),
        };
        match &outcome.asked {
            Some(Ok(loaded)) => {
                info!(
                    module = name,
                    digest = loaded.module.digest(),
                    "Loaded a module"
                );
            }
            Some(Err(error)) => {
                warn!(module = name, error = %crate::error::Chain(error), "Refused a module; nothing changes");
            }
            None => {}
        }
        if let Some(entry) = self
            .entries
            .get_mut(&name)
            .filter(|entry| entry.resource.uid == uid)
        {
            entry.take(generation, outcome, now());
        }
    }

    /// Begins to look at the sources whose time has come.
    fn look(&mut self, now: Instant) {
        for (name, entry) in &mut self.entries {
            let Some(look) = entry.look(now) else {
                continue;
            };
            let (uid, generation) = (entry.resource.uid.clone(), entry.resource.generation);
            let (name, loader) = (name.clone(), self.loader.clone());
            self.looks
                .spawn(async move { (name, uid, generation, loader.look(look).await) });
        }
    }

    fn looked(&mut self, done: Result<(String, String, i64, Looked), tokio::task::JoinError>) {
        let (name, uid, generation, looked) = match done {
            Ok(done) => done,
            Err(panic) => return warn!(error = %panic, "Looking at a source ended in a panic"),
        };
        let entry = self.entries.get_mut(&name);
        let order = entry
            .filter(|entry| entry.resource.uid == uid)
            .and_then(|entry| entry.looked(generation, looked));
        if let Some(order) = order {
            info!(module = name, "The source holds another module");
            self.load(&name, order);
        }
    }

    /// Brings roster and statuses up to date.
    async fn step(&mut self) {
        let now = Instant::now();
        for (name, entry) in &mut self.entries {
            // The one before it may be failing, too.
            while entry.fall_back(now) {
                self.metrics.count_fallback();
                let digest = entry.fell_back.as_ref().map(|fell| fell.digest.as_str());
                warn!(
                    module = name,
                    digest, "A module failed beyond its limit; the last good one decides"
                );
            }
        }
        let retries: Vec<_> = self
            .entries
            .iter_mut()
            .filter_map(|(name, entry)| Some((name.clone(), entry.retry(now)?)))
            .collect();
        for (name, order) in retries {
            self.load(&name, order);
        }
        self.look(now);
        let assigned = assign(&self.built_in, &self.entries);
        self.publish(&assigned);
        self.teller.tell(&self.entries, &assigned).await;
    }

    /// One pointer moves, and every cluster is looked at by whoever decides now.
    fn publish(&self, assigned: &Assigned) {
        let before = self.roster.current();
        if before.is_same(&assigned.lineup) {
            return;
        }
        self.roster.publish(assigned.lineup.clone());
        self.metrics.count_swap();
        self.show(&assigned.lineup);
        info!(
            before = before.active.digest(),
            active = assigned.lineup.active.digest(),
            canaries = assigned.lineup.canaries.len(),
            shadows = assigned.lineup.shadows.len(),
            "Swapped modules"
        );
        for key in self.world.clusters() {
            self.queue.touch(key, Trigger::Module);
        }
    }

    fn show(&self, lineup: &Lineup) {
        let seat = |role: ModuleRole, seat: &Arc<Seat>| ModuleShown {
            name: seat.object().unwrap_or("built-in").to_owned(),
            role: role.name(),
            digest: seat.digest().to_owned(),
            version: seat.module().description().version.clone(),
        };
        let mut shown = vec![seat(ModuleRole::Active, &lineup.active)];
        let canaries = lineup.canaries.iter();
        shown.extend(canaries.map(|canary| seat(ModuleRole::Canary, &canary.seat)));
        shown.extend(lineup.shadows.iter().map(|shadow| ModuleShown {
            name: shadow.object().to_owned(),
            role: ModuleRole::Shadow.name(),
            digest: shadow.digest().to_owned(),
            version: shadow.description().version.clone(),
        }));
        self.metrics.show_modules(&shown);
    }

    /// Until something is to be looked at even if nothing happens.
    fn pause(&self) -> Duration {
        const NEVER: Duration = Duration::from_secs(3600);
        if !self.entries.is_empty() {
            return LOOK;
        }
        NEVER
    }
}

fn now() -> Millis {
    Millis(jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests;
