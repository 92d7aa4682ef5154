//! Starts the passes of due clusters while this instance leads.
//!
//! Knows when a pass may start; not what it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, error, info_span, warn};

use crate::lease::Leadership;
use crate::pass::Passes;
use crate::queue::{After, Queue, Trigger};

/// Until the next pass after one that ended in a bug of the host.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// Starts passes of due clusters, while this instance leads, until `stop`.
pub(super) async fn dispatch(
    passes: Arc<Passes>,
    queue: Arc<Queue>,
    leadership: Leadership,
    concurrency: usize,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(concurrency));
    let mut leads = leadership.subscribe();
    let working = async {
        passes.world.settle().await;
        passes.roster.settled().await;
        loop {
            if leads.wait_for(|leads| *leads).await.is_err() {
                return;
            }
            for key in passes.world.keys() {
                queue.touch(key, Trigger::Leadership);
            }
            let lost = leads.wait_for(|leads| !*leads);
            let starting = start_passes(&passes, &queue, &slots, &tasks);
            tokio::select! {
                _ = lost => warn!("No longer leading; nothing is done until the lease is back"),
                () = starting => {}
            }
        }
    };
    stop.run_until_cancelled(working).await;
}

async fn start_passes(
    passes: &Arc<Passes>,
    queue: &Arc<Queue>,
    slots: &Arc<Semaphore>,
    tasks: &TaskTracker,
) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else {
            return;
        };
        let (key, trigger) = queue.next().await;
        let span = info_span!("pass", kind = %key.kind, cluster = %key, trigger = %trigger);
        let (passes, queue) = (Arc::clone(passes), Arc::clone(queue));
        let pass = async move {
            // A task of its own, so that a panic ends this pass and not the cluster's place in the queue.
            let running = tokio::spawn({
                let key = key.clone();
                async move { passes.run(&key, trigger).await }.in_current_span()
            });
            let after = running.await.unwrap_or_else(|panic| {
                error!(error = %panic, "The pass ended in a panic");
                After::NotBefore(Instant::now() + AFTER_PANIC)
            });
            queue.finish(&key, after);
            drop(slot);
        };
        tasks.spawn(pass.instrument(span));
    }
}
