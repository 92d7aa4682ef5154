//! For how long nobody acted while one operator took over from another, as their Lease tells it.
//!
//! Owns looking at it; whether a gap is too long is for whoever asks.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use host::lease;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How long a takeover is waited for: an operator can be ready before it leads.
const PATIENCE: Duration = Duration::from_secs(60);

/// A look at the Lease again and again.
pub(crate) struct Watch {
    stop: oneshot::Sender<()>,
    looks: JoinHandle<Vec<Duration>>,
}

/// The last sign of life of a holder.
struct Holder {
    name: String,
    renewed: Timestamp,
}

impl Watch {
    /// Begins to look at the Lease in this namespace.
    pub(crate) fn start(client: Client, namespace: &str) -> Self {
        let leases = Api::namespaced(client, namespace);
        let (stop, stopped) = oneshot::channel();
        let looks = tokio::spawn(look(leases, stopped));
        Self { stop, looks }
    }

    /// From the last renewal of a holder to the acquisition by the next one, for each change of holders. Waits for the first
    /// one.
    pub(crate) async fn end(self) -> Result<Vec<Duration>> {
        // Who looks may have ended by itself only by a panic, which the next line tells.
        let _ = self.stop.send(());
        self.looks.await.context("the Lease was not looked at")
    }
}

async fn look(leases: Api<Lease>, mut stopped: oneshot::Receiver<()>) -> Vec<Duration> {
    let (mut gaps, mut before) = (Vec::new(), None::<Holder>);
    let mut wanted_since = None::<Instant>;
    loop {
        // An API server that does not answer is asked again.
        if let Ok(Some(found)) = leases.get_opt(lease::NAME).await {
            gaps.extend(step(&mut before, &found));
        }
        if wanted_since.is_some_and(|since| !gaps.is_empty() || since.elapsed() > PATIENCE) {
            return gaps;
        }
        tokio::select! {
            _ = &mut stopped, if wanted_since.is_none() => wanted_since = Some(Instant::now()),
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
        }
    }
}

/// Takes in one look; a gap where somebody else holds the Lease now.
fn step(before: &mut Option<Holder>, found: &Lease) -> Option<Duration> {
    let spec = found.spec.as_ref()?;
    let renewed = spec.renew_time.as_ref()?.0;
    let name = spec.holder_identity.clone().unwrap_or_default();
    let Some(known) = before else {
        *before = Some(Holder { name, renewed });
        return None;
    };
    if name.is_empty() || name == known.name {
        known.renewed = known.renewed.max(renewed);
        return None;
    }
    let acquired = spec.acquire_time.as_ref()?.0;
    let gap = acquired.duration_since(known.renewed);
    *before = Some(Holder { name, renewed });
    Duration::try_from(gap).ok()
}
