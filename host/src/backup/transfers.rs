//! The transfers of this host: each beside the passes, few at a time, and each ended with the lease.
//!
//! Knows how a transfer stands; what is moved is [`super::transfer`]'s.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::{Millis, Stored, Transfer, TransferState};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, info, info_span, warn};

use super::progress::Progress;
use super::transfer::Failure;
use crate::key::ClusterKey;
use crate::lease::Leadership;
use crate::queue::{Queue, Trigger};

/// Transfers at a time: each holds pieces of a backup in memory.
const AT_ONCE: usize = 2;

/// What this host moves, by the UID of the backup.
pub struct Transfers {
    slots: Mutex<BTreeMap<String, Slot>>,
    turns: Arc<Semaphore>,
    queue: Arc<Queue>,
    leadership: Leadership,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Slot {
    run: String,
    began: Instant,
    progress: Arc<Progress>,
    ended: Option<Result<Stored, Failure>>,
    cancel: CancellationToken,
}

impl Transfers {
    /// None under way. `tasks` are waited for at the end, `stop` ends them.
    #[must_use]
    pub fn new(
        queue: Arc<Queue>,
        leadership: Leadership,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self {
            slots: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            queue,
            leadership,
            tasks,
            stop,
        }
    }

    /// How the last transfer of a backup stands.
    #[must_use]
    pub fn of(&self, uid: &str) -> Option<Transfer> {
        let slots = self.lock();
        let slot = slots.get(uid)?;
        let state = match &slot.ended {
            None => {
                let bytes = slot.progress.bytes();
                let millis = i64::try_from(slot.began.elapsed().as_millis()).unwrap_or(i64::MAX);
                TransferState::Running {
                    bytes,
                    bytes_per_second: bytes.saturating_mul(1000) / millis.max(1),
                    trouble: slot.progress.trouble(),
                }
            }
            Some(Ok(stored)) => TransferState::Done(stored.clone()),
            Some(Err(Failure {
                why,
                permanent,
                damaged: _,
            })) => TransferState::Failed {
                why: why.clone(),
                permanent: *permanent,
            },
        };
        Some(Transfer {
            run: slot.run.clone(),
            state,
        })
    }

    /// The run under way for a backup.
    #[must_use]
    pub fn running(&self, uid: &str) -> Option<String> {
        let slots = self.lock();
        let slot = slots.get(uid).filter(|slot| slot.ended.is_none())?;
        Some(slot.run.clone())
    }

    /// Ends the transfer of a backup that is gone, and forgets it.
    pub fn forget(&self, uid: &str) {
        if let Some(slot) = self.lock().remove(uid) {
            slot.cancel.cancel();
        }
    }

    /// Begins a transfer; its backup is looked at again when it ends.
    pub(super) fn begin(
        self: &Arc<Self>,
        key: &ClusterKey,
        uid: &str,
        run: &str,
        within: Duration,
        progress: Arc<Progress>,
        moving: impl Future<Output = Result<Stored, Failure>> + Send + 'static,
    ) {
        let cancel = self.stop.child_token();
        let slot = Slot {
            run: run.to_owned(),
            began: Instant::now(),
            progress: Arc::clone(&progress),
            ended: None,
            cancel: cancel.clone(),
        };
        self.lock().insert(uid.to_owned(), slot);
        let (this, key, uid, run) = (
            Arc::clone(self),
            key.clone(),
            uid.to_owned(),
            run.to_owned(),
        );
        let span = info_span!("transfer", backup = %key, run);
        let task = async move {
            let began = Instant::now();
            let ended = this.attend(moving, within, &progress, cancel).await;
            match &ended {
                Ok(stored) => {
                    info!(bytes = stored.bytes, took = ?began.elapsed(), "Read back whole");
                }
                Err(failure) => warn!(why = failure.why, "No backup was read back"),
            }
            if let Some(slot) = this.lock().get_mut(&uid).filter(|slot| slot.run == run) {
                slot.ended = Some(ended);
            }
            this.queue.touch(key, Trigger::Transfer);
        };
        self.tasks.spawn(task.instrument(span));
    }

    async fn attend(
        &self,
        moving: impl Future<Output = Result<Stored, Failure>>,
        within: Duration,
        progress: &Progress,
        cancel: CancellationToken,
    ) -> Result<Stored, Failure> {
        let in_time = async {
            let _turn = self.turns.acquire().await;
            moving.await
        };
        let mut leads = self.leadership.subscribe();
        tokio::select! {
            ended = tokio::time::timeout(within, in_time) => ended.unwrap_or_else(|_elapsed| {
                let trouble = progress.trouble();
                let last = trouble.map_or_else(String::new, |why| format!("; at last {why}"));
                Err(Failure {
                    why: format!("it took longer than {} s{last}", within.as_secs()),
                    permanent: true,
                    damaged: false,
                })
            }),
            _ = leads.wait_for(|leads| !*leads) => {
                Err(Failure::passing("this instance does not hold the lease any more"))
            }
            () = cancel.cancelled() => Err(Failure::passing("the operator is stopping")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A span of the contract, as the clock of this host has it.
pub(super) fn span(within: Millis) -> Duration {
    Duration::from_millis(u64::try_from(within.0).unwrap_or_default())
}
