//! A client that writes without pause and remembers what was acknowledged.
//!
//! A write whose answer was lost counts for nothing: only what etcd said it had must be there afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use etcd_client::{Client, ConnectOptions, GetOptions};
use tests::testbed::wait;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const PREFIX: &str = "acknowledged/";
/// Between two writes.
const PACE: Duration = Duration::from_millis(10);
/// What a client may wait for an answer before it asks again.
const PATIENCE: Duration = Duration::from_secs(2);

/// A writing client.
pub(crate) struct Writer {
    addresses: Vec<String>,
    acknowledged: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Journal>,
}

/// What was acknowledged.
#[derive(Default)]
pub(crate) struct Journal {
    keys: BTreeSet<String>,
    last: Option<Instant>,
    /// Writes that failed in every try.
    pub(crate) failed: u64,
    /// The longest time without an acknowledgement.
    pub(crate) longest_pause: Duration,
}

impl Writer {
    /// Begins to write to whichever of the addresses answers.
    #[allow(
        dead_code,
        reason = "of those that share this file, some always try again"
    )]
    pub(crate) fn start(addresses: Vec<String>) -> Self {
        Self::start_trying(addresses, 1)
    }

    /// As [`Self::start`]; each write is tried so often before it counts as failed.
    pub(crate) fn start_trying(addresses: Vec<String>, tries: u32) -> Self {
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(write(
            addresses.clone(),
            tries,
            Arc::clone(&acknowledged),
            stopped,
        ));
        Self {
            addresses,
            acknowledged,
            stop,
            task,
        }
    }

    /// Waits until another `count` writes were acknowledged.
    pub(crate) async fn goes_on(&self, count: u64, within: Duration) -> Result<()> {
        let wanted = self.acknowledged.load(Ordering::Relaxed) + count;
        wait::until(
            format!("{count} more acknowledged writes"),
            within,
            async || {
                let have = self.acknowledged.load(Ordering::Relaxed);
                ensure!(have >= wanted, "{} are missing", wanted - have);
                Ok(())
            },
        )
        .await
    }

    /// Stops writing and expects every acknowledged write in the store.
    pub(crate) async fn finish(self) -> Result<Journal> {
        self.stop.send_replace(true);
        let journal = self.task.await.context("the writer failed")?;
        ensure!(!journal.keys.is_empty(), "no write was ever acknowledged");
        let stored = wait::until("a reader's answer", Duration::from_secs(30), async || {
            let mut client = connect(&self.addresses).await?;
            let options = GetOptions::new().with_prefix().with_keys_only();
            let answer = client.get(PREFIX, Some(options)).await?;
            answer
                .kvs()
                .iter()
                .map(|pair| Ok(pair.key_str()?.to_owned()))
                .collect::<Result<BTreeSet<_>>>()
        })
        .await?;
        let lost: Vec<_> = journal.keys.difference(&stored).collect();
        ensure!(
            lost.is_empty(),
            "{} of {} acknowledged writes are lost: {lost:?}",
            lost.len(),
            journal.keys.len()
        );
        Ok(journal)
    }

    /// The same where no write may have failed. Tells how it went on `way`.
    pub(crate) async fn finish_unfailed(self, way: &str) -> Result<()> {
        let journal = self.finish().await?;
        eprintln!(
            "  {way}: {} writes were acknowledged, {} failed, the longest pause was {:?}",
            journal.len(),
            journal.failed,
            journal.longest_pause
        );
        ensure!(journal.failed == 0, "{} writes failed", journal.failed);
        Ok(())
    }
}

impl Journal {
    /// How many writes were acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    fn note(&mut self, key: String) {
        let now = Instant::now();
        if let Some(last) = self.last.replace(now) {
            self.longest_pause = self.longest_pause.max(now - last);
        }
        self.keys.insert(key);
    }
}

async fn write(
    addresses: Vec<String>,
    tries: u32,
    acknowledged: Arc<AtomicU64>,
    mut stopped: watch::Receiver<bool>,
) -> Journal {
    let mut journal = Journal::default();
    let mut client = None;
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0_u64.. {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => break,
            _ = pace.tick() => {}
        }
        let key = format!("{PREFIX}{number:08}");
        let mut is_written = false;
        for attempt in 0..tries {
            if attempt > 0 {
                pace.tick().await;
            }
            // After a failure whoever it was connected to may be gone: `put` connects anew.
            is_written = put(&mut client, &addresses, &key).await.is_ok();
            if is_written {
                break;
            }
        }
        if is_written {
            journal.note(key);
            acknowledged.fetch_add(1, Ordering::Relaxed);
        } else {
            journal.failed += 1;
        }
    }
    journal
}

async fn put(client: &mut Option<Client>, addresses: &[String], key: &str) -> Result<()> {
    let mut connected = match client.take() {
        Some(client) => client,
        None => connect(addresses).await?,
    };
    tokio::time::timeout(PATIENCE, connected.put(key, "written", None)).await??;
    *client = Some(connected);
    Ok(())
}

async fn connect(addresses: &[String]) -> Result<Client> {
    let options = ConnectOptions::new()
        .with_connect_timeout(Duration::from_secs(1))
        .with_timeout(PATIENCE);
    Ok(tokio::time::timeout(PATIENCE, Client::connect(addresses, Some(options))).await??)
}
