//! One ReconcilerModule through its life: asked for, loaded, in its role, replaced, fallen back from.
//!
//! Plain state: it is told what happened and when, and loads nothing itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{Millis, ModuleRole, ReconcilerModuleStatus, Resource, SelfTest};
use kube::core::Selector;
use serde::Deserialize;

use super::load::{Error, Loaded, Origin, Outcome};
use super::recheck::{Look, Looked, Sighting};
use super::wanted::{Role, Wanted, wanted};
use crate::backoff::Backoff;
use crate::error::Chain;
use crate::output::{count, grouped};
use crate::roster::{Seat, Shadow};

/// Between attempts to load what may be there later.
const RETRY: Backoff = Backoff {
    first: Duration::from_secs(2),
    longest: Duration::from_secs(60),
};

/// One object and what was made of it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) resource: Resource,
    pub(super) attempt: Attempt,
    /// What is in the role.
    pub(super) standing: Option<Standing>,
    /// What was in it before, should this one fail.
    before: Option<Standing>,
    /// The module that failed beyond its limit, and how.
    pub(super) fell_back: Option<FellBack>,
    /// What its source holds by now.
    pub(super) sighting: Sighting,
    wanted: Option<Wanted>,
    /// The digest that a status of before this operator's start names.
    resume: Option<String>,
}

/// How far the present spec has come.
#[derive(Debug)]
pub(super) enum Attempt {
    Loading,
    Done,
    Refused {
        why: String,
        again: Option<Instant>,
        failures: u32,
        /// What the module made of recorded snapshots, where it came that far.
        self_test: Option<SelfTest>,
    },
}

/// A module that failed beyond its limit.
#[derive(Clone, Debug)]
pub(super) struct FellBack {
    pub(super) digest: String,
    /// In words; none when that was before this operator's start.
    pub(super) why: Option<String>,
}

/// A module in a role.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) place: Place,
    pub(super) self_test: SelfTest,
    pub(super) origin: Origin,
}

/// The role.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Active(Arc<Seat>),
    Canary(Selector, Arc<Seat>),
    Shadow(Arc<Shadow>),
}

/// A module to be loaded.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) wanted: Wanted,
    pub(super) has_fallen: bool,
    pub(super) resume: Option<String>,
}

impl Place {
    pub(super) const fn role(&self) -> ModuleRole {
        match self {
            Self::Active(_) => ModuleRole::Active,
            Self::Canary(..) => ModuleRole::Canary,
            Self::Shadow(_) => ModuleRole::Shadow,
        }
    }

    pub(super) fn digest(&self) -> &str {
        match self {
            Self::Active(seat) | Self::Canary(_, seat) => seat.digest(),
            Self::Shadow(shadow) => shadow.digest(),
        }
    }

    const fn seat(&self) -> Option<&Arc<Seat>> {
        match self {
            Self::Active(seat) | Self::Canary(_, seat) => Some(seat),
            Self::Shadow(_) => None,
        }
    }
}

impl Entry {
    /// An object that was not known before, and its first order. Its status may be of another operator's time.
    pub(super) fn new(resource: Resource) -> (Self, Option<Order>) {
        let status = ReconcilerModuleStatus::deserialize(&resource.status).unwrap_or_default();
        let mut entry = Self {
            attempt: Attempt::Loading,
            standing: None,
            before: None,
            fell_back: fallen(&resource, &status),
            sighting: Sighting::default(),
            wanted: None,
            resume: None,
            resource,
        };
        let order = entry.ask();
        if let Some(wanted) = &entry.wanted
            && status.role == Some(wanted.role.name())
        {
            entry.resume = status.digest;
        }
        let resume = entry.resume.clone();
        (entry, order.map(|order| Order { resume, ..order }))
    }

    /// The object as it is now; answers with an order when its spec changed.
    pub(super) fn see(&mut self, resource: Resource) -> Option<Order> {
        let has_changed = resource.generation != self.resource.generation;
        self.resource = resource;
        if has_changed {
            self.fell_back = None;
            return self.ask();
        }
        // The instance that leads saw it fail; this one shall not put it in force when it takes over.
        let status = ReconcilerModuleStatus::deserialize(&self.resource.status).ok()?;
        if self.fell_back.is_none()
            && let Some(fallen) = fallen(&self.resource, &status)
            && self.standing.as_ref().map(|one| one.place.digest()) == Some(&fallen.digest)
        {
            self.standing = self.before.take();
            self.fell_back = Some(fallen);
        }
        None
    }

    /// An order, when the time for another attempt has come.
    pub(super) fn retry(&mut self, now: Instant) -> Option<Order> {
        let Attempt::Refused {
            again: Some(again), ..
        } = &mut self.attempt
        else {
            return None;
        };
        if *again > now {
            return None;
        }
        // Its outcome says when the next one is due; this is for the time until then.
        *again = now + RETRY.longest;
        self.order()
    }

    /// A look at the source, when the time for it has come: of what is in the role, and of what may come into it without
    /// a change of the spec.
    pub(super) fn look(&mut self, now: Instant) -> Option<Look> {
        let wanted = self.wanted.as_ref()?;
        let digest = self.standing.as_ref().map(|one| one.place.digest());
        let is_due = match &self.attempt {
            Attempt::Loading => false,
            Attempt::Done => digest.is_some() && self.fell_back.is_none(),
            // A module of a certain digest gets no better; without one, the next bytes are the next module.
            Attempt::Refused { again, .. } => again.is_none() && wanted.digest.is_none(),
        };
        is_due.then(|| self.sighting.look(wanted, digest, now))?
    }

    /// What was found there for this generation; answers with an order when that is to be loaded.
    pub(super) fn looked(&mut self, generation: i64, looked: Looked) -> Option<Order> {
        if generation != self.resource.generation {
            return None;
        }
        if matches!(looked, Looked::Same(_)) {
            // What was refused is gone from there, and what stayed in the role is back.
            self.attempt = Attempt::Done;
        }
        self.sighting.take(looked).then(|| self.order()).flatten()
    }

    fn ask(&mut self) -> Option<Order> {
        self.sighting = Sighting::default();
        match wanted(&self.resource.spec) {
            Ok(wanted) => {
                self.wanted = Some(wanted);
                self.attempt = Attempt::Loading;
                self.order()
            }
            Err(why) => {
                self.wanted = None;
                self.refuse(&Error::Spec(why), 0);
                None
            }
        }
    }

    fn order(&self) -> Option<Order> {
        Some(Order {
            wanted: self.wanted.clone()?,
            has_fallen: self.fell_back.is_some(),
            resume: self.resume.clone().filter(|_| self.standing.is_none()),
        })
    }

    /// What became of an order of this generation; one of an older generation counts no more.
    pub(super) fn take(&mut self, generation: i64, outcome: Outcome, since: Millis) {
        if generation != self.resource.generation {
            return;
        }
        let Some(wanted) = self.wanted.clone() else {
            return;
        };
        let Outcome { asked, resumed } = outcome;
        let stand = |loaded| self.stand(&wanted, loaded, since);
        match asked {
            Some(Ok(loaded)) => {
                let standing = stand(loaded);
                self.succeed(standing);
                self.attempt = Attempt::Done;
            }
            Some(Err(error)) => {
                let resumed = resumed.map(stand);
                let failures = match &self.attempt {
                    Attempt::Refused { failures, .. } => failures + 1,
                    Attempt::Loading | Attempt::Done => 0,
                };
                self.standing = self.standing.take().or(resumed);
                self.refuse(&error, failures);
            }
            None => {
                self.standing = resumed.map(stand);
                self.attempt = Attempt::Done;
            }
        }
    }

    /// Remembers the last good one: of the same role, and not the same module over again.
    fn succeed(&mut self, standing: Standing) {
        let (role, digest) = (standing.place.role(), standing.place.digest().to_owned());
        match self.standing.replace(standing) {
            Some(one) if one.place.role() != role => self.before = None,
            Some(one) if one.place.digest() == digest => {}
            before => self.before = before,
        }
    }

    fn stand(&self, wanted: &Wanted, loaded: Loaded, since: Millis) -> Standing {
        let Loaded {
            module,
            self_test,
            origin,
        } = loaded;
        let name = self.resource.name.clone();
        let seat = |module| {
            Arc::new(Seat::of_object(
                module,
                name.clone(),
                wanted.failure_limit,
                since,
            ))
        };
        let place = match &wanted.role {
            Role::Active => Place::Active(seat(module)),
            Role::Canary(clusters) => Place::Canary(clusters.clone(), seat(module)),
            Role::Shadow => Place::Shadow(Arc::new(Shadow::new(module, name.clone(), since))),
        };
        Standing {
            place,
            self_test,
            origin,
        }
    }

    fn refuse(&mut self, error: &Error, failures: u32) {
        // Nobody stays in a role that the object has given up.
        let role = self.wanted.as_ref().map(|wanted| wanted.role.name());
        self.standing = self
            .standing
            .take()
            .filter(|one| role.is_none_or(|role| one.place.role() == role));
        self.attempt = Attempt::Refused {
            why: match error {
                // It begins with the name of a field.
                Error::Spec(why) => format!("In the spec, {why}"),
                Error::Fetch(_) | Error::Module(_) | Error::SelfTest { .. } | Error::Panic(_) => {
                    capital(&Chain(error).to_string())
                }
            },
            again: error
                .may_pass()
                .then(|| Instant::now() + RETRY.delay(failures)),
            failures,
            self_test: match error {
                Error::SelfTest { test, .. } => Some(test.clone()),
                Error::Spec(_) | Error::Fetch(_) | Error::Module(_) | Error::Panic(_) => None,
            },
        };
    }

    /// Takes what fails beyond its limit out of the role; true when there was such a one.
    pub(super) fn fall_back(&mut self, now: Instant) -> bool {
        let failing = self
            .standing
            .as_ref()
            .and_then(|one| one.place.seat())
            .filter(|seat| seat.is_failing(now));
        let Some(seat) = failing else { return false };
        self.fell_back = Some(FellBack {
            digest: seat.digest().to_owned(),
            why: Some(format!(
                "{} within ten minutes, and its failureLimit allows {}",
                count(seat.counts().failures_lately(now), "failure"),
                grouped(seat.failure_limit())
            )),
        });
        self.standing = self.before.take();
        true
    }

    /// Whether the spec leaves it to the source which module it is.
    pub(super) fn follows_its_source(&self) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_some_and(|wanted| wanted.digest.is_none())
    }

    /// The role this object has or asks for: while the module of a changed spec is being loaded, that of the one before.
    pub(super) fn role(&self) -> Option<ModuleRole> {
        let standing = self.standing.as_ref().map(|one| one.place.role());
        let wanted = self.wanted.as_ref().map(|wanted| wanted.role.name());
        match &self.attempt {
            Attempt::Loading => standing.or(wanted),
            Attempt::Done | Attempt::Refused { .. } => wanted.or(standing),
        }
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The module that a status of this very spec names as failed.
fn fallen(resource: &Resource, status: &ReconcilerModuleStatus) -> Option<FellBack> {
    let digest = status.fell_back_from.clone()?;
    (status.observed_generation == Some(resource.generation))
        .then_some(FellBack { digest, why: None })
}
