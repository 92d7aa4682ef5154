//! The lease: of several instances one acts.
//!
//! Knows nothing of what the holder does. The times are those of Kubernetes' own controllers: 15 s until others may take
//! it, 10 s until a holder that cannot renew lets go by itself, 2 s between renewals.
//!
//! # Guarantees
//! [`Leadership::is_held`] turns false at the latest 10 s after the start of the last renewal that was answered, by this
//! process's own monotonic clock, while others wait 15 s from the moment they saw it: two instances never act at once as
//! long as their clocks run at about the same speed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::error::Chain;

/// Name of the Lease object.
pub const NAME: &str = "binnacle";
/// After this long without a renewal others may take the lease.
pub const DURATION: Duration = Duration::from_secs(15);
/// After this long without an answered renewal the holder lets go.
const DEADLINE: Duration = Duration::from_secs(10);
/// Between two attempts.
const PERIOD: Duration = Duration::from_secs(2);

/// Why an attempt to get or keep the lease ended without an answer.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the lease could not be read or written")]
    Api(#[from] kube::Error),
    #[error("the API server did not answer within {PERIOD:?}")]
    Silent,
}

/// Whether this instance may act.
#[derive(Clone, Debug)]
pub struct Leadership {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    held_until: Mutex<Option<Instant>>,
    /// Without election the instance always acts.
    always: bool,
    changed: watch::Sender<bool>,
}

impl Leadership {
    /// An instance that has to win the lease first.
    #[must_use]
    pub fn elected() -> Self {
        Self::new(false)
    }

    /// An instance that acts without asking: for a single local run.
    #[must_use]
    pub fn alone() -> Self {
        Self::new(true)
    }

    fn new(always: bool) -> Self {
        let changed = watch::Sender::new(always);
        Self {
            state: Arc::new(State {
                held_until: Mutex::new(None),
                always,
                changed,
            }),
        }
    }

    /// Whether this instance may act at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.state.always
            || self
                .held_until()
                .is_some_and(|until| Instant::now() < until)
    }

    /// Tells each change between holding and not holding.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.state.changed.subscribe()
    }

    fn held_until(&self) -> Option<Instant> {
        *self
            .state
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, until: Option<Instant>) {
        *self
            .state
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = until;
        self.state
            .changed
            .send_if_modified(|held| std::mem::replace(held, until.is_some()) != until.is_some());
    }
}

/// Competes for the lease until `stop`, then gives it back so that the next instance need not wait.
pub async fn compete(
    client: Client,
    namespace: &str,
    identity: &str,
    leadership: &Leadership,
    stop: CancellationToken,
) {
    let api: Api<Lease> = Api::namespaced(client, namespace);
    let mut rival = Rival::default();
    let mut failing = false;
    while !stop.is_cancelled() {
        let began = Instant::now();
        match attempt(&api, identity, &mut rival).await {
            Ok(true) => {
                failing = false;
                if !leadership.is_held() {
                    info!(lease = NAME, namespace, identity, "Leading");
                }
                leadership.set(Some(began + DEADLINE));
            }
            Ok(false) => {
                failing = false;
                if leadership.held_until().is_some() {
                    warn!(
                        lease = NAME,
                        namespace, "Lost the lease to another instance"
                    );
                }
                leadership.set(None);
            }
            Err(error) => {
                if std::mem::replace(&mut failing, true) {
                    debug!(error = %Chain(&error), "The API server still does not answer for the lease");
                } else {
                    warn!(error = %Chain(&error), "The lease could not be asked for; it is tried again");
                }
                if leadership
                    .held_until()
                    .is_some_and(|until| Instant::now() >= until)
                {
                    warn!(
                        lease = NAME,
                        namespace, "Stopped leading: the lease could not be renewed in time"
                    );
                    leadership.set(None);
                }
            }
        }
        let pause = PERIOD.saturating_sub(began.elapsed());
        if stop
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_none()
        {
            break;
        }
    }
    if leadership.held_until().is_some() {
        leadership.set(None);
        match release(&api, identity).await {
            Ok(()) => info!(lease = NAME, namespace, "Released the lease"),
            Err(error) => warn!(error = %Chain(&error), "Lease not released; it expires by itself"),
        }
    }
}

/// Another holder's last sign of life, by this process's own clock: clocks of two nodes need not agree.
#[derive(Debug, Default)]
struct Rival {
    seen: Option<(Option<String>, Instant)>,
}

impl Rival {
    /// Whether the holder of that version has been silent for long enough.
    fn is_silent(&mut self, version: Option<String>, duration: Duration, now: Instant) -> bool {
        match &self.seen {
            Some((seen, since)) if *seen == version => {
                now.saturating_duration_since(*since) >= duration
            }
            Some(_) | None => {
                self.seen = Some((version, now));
                false
            }
        }
    }
}

/// One attempt to get or keep the lease: whether this instance holds it afterwards.
async fn attempt(api: &Api<Lease>, identity: &str, rival: &mut Rival) -> Result<bool, Error> {
    let Some(mut lease) = within(api.get_opt(NAME)).await? else {
        let fresh = Lease {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(claim(LeaseSpec::default(), identity)),
        };
        return won(within(api.create(&PostParams::default(), &fresh)).await);
    };
    let spec = lease.spec.take().unwrap_or_default();
    let is_mine = spec.holder_identity.as_deref() == Some(identity);
    let is_free = spec.holder_identity.as_deref().is_none_or(str::is_empty);
    let duration = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    let duration = duration.map_or(DURATION, Duration::from_secs);
    if !is_mine
        && !is_free
        && !rival.is_silent(
            lease.metadata.resource_version.clone(),
            duration,
            Instant::now(),
        )
    {
        debug!(holder = spec.holder_identity, "Another instance leads");
        return Ok(false);
    }
    lease.spec = Some(claim(spec, identity));
    // The resourceVersion in the metadata makes it fail when somebody was faster.
    won(within(api.replace(NAME, &PostParams::default(), &lease)).await)
}

fn won(answer: Result<Lease, Error>) -> Result<bool, Error> {
    match answer {
        Ok(_lease) => Ok(true),
        Err(Error::Api(kube::Error::Api(status))) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}

fn claim(spec: LeaseSpec, identity: &str) -> LeaseSpec {
    let now = MicroTime(Timestamp::now());
    let is_mine = spec.holder_identity.as_deref() == Some(identity);
    let acquired = spec
        .acquire_time
        .clone()
        .filter(|_| is_mine)
        .unwrap_or_else(|| now.clone());
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
        lease_transitions: Some(spec.lease_transitions.unwrap_or_default() + i32::from(!is_mine)),
        acquire_time: Some(acquired),
        renew_time: Some(now),
        ..spec
    }
}

async fn release(api: &Api<Lease>, identity: &str) -> Result<(), Error> {
    let mut lease = within(api.get(NAME)).await?;
    let mine = |spec: &&mut LeaseSpec| spec.holder_identity.as_deref() == Some(identity);
    let Some(spec) = lease.spec.as_mut().filter(mine) else {
        return Ok(());
    };
    spec.holder_identity = None;
    spec.acquire_time = None;
    spec.renew_time = None;
    spec.lease_duration_seconds = None;
    within(api.replace(NAME, &PostParams::default(), &lease))
        .await
        .map(drop)
}

async fn within<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    match tokio::time::timeout(PERIOD, call).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Error::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_is_silent_only_after_the_whole_time_without_a_renewal() {
        let (mut rival, start) = (Rival::default(), Instant::now());
        let version = |version: &str| Some(version.to_owned());
        assert!(!rival.is_silent(version("1"), DURATION, start));
        assert!(
            !rival.is_silent(version("2"), DURATION, start + DURATION),
            "it was renewed meanwhile"
        );
        assert!(!rival.is_silent(version("2"), DURATION, start + DURATION * 2 - PERIOD));
        assert!(rival.is_silent(version("2"), DURATION, start + DURATION * 2));
    }

    #[test]
    fn a_holder_lets_go_before_others_may_take_it() {
        assert!(DEADLINE + PERIOD < DURATION);
        let leadership = Leadership::elected();
        assert!(!leadership.is_held());
        leadership.set(Some(Instant::now() + DEADLINE));
        assert!(leadership.is_held());
        leadership.set(Some(Instant::now()));
        assert!(!leadership.is_held());
    }

    #[test]
    fn a_renewal_keeps_the_time_of_acquisition_and_a_takeover_counts() {
        let first = claim(LeaseSpec::default(), "a");
        let renewed = claim(first.clone(), "a");
        assert_eq!(renewed.acquire_time, first.acquire_time);
        assert_eq!(renewed.lease_transitions, first.lease_transitions);
        assert_eq!(claim(renewed, "b").lease_transitions, Some(2));
    }

    #[test]
    fn a_change_is_told_once() {
        let leadership = Leadership::elected();
        let mut changes = leadership.subscribe();
        leadership.set(Some(Instant::now() + DEADLINE));
        assert!(changes.has_changed().unwrap_or_default());
        changes.mark_unchanged();
        leadership.set(Some(Instant::now() + DEADLINE));
        assert!(!changes.has_changed().unwrap_or_default());
    }
}
