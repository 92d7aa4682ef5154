//! A real store behind bad hands: slow, cutting connections at 90 % of what they carry, or answering 503.
//!
//! Knows of HTTP no more than where a message begins and how long it says it is. What should come of all this is the
//! scenarios' business.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use tests::scenario::Scenario;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::minio::MinIo;

/// Shorter messages than this are let through whole: questions, and what is said of errors.
const SHORT: u64 = 64 << 10;
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// What is done to whoever comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Nothing.
    Calm,
    /// So many bytes a second pass, each way.
    Slow(u64),
    /// Each long message to the store ends after 90 % of its bytes.
    CutsUploads,
    /// Each long message from the store does.
    CutsDownloads,
    /// Everything is answered with 503.
    Refuses,
}

/// The hands; they let go with this value.
pub(crate) struct Unruly {
    address: SocketAddr,
    mood: Arc<Mutex<Mood>>,
    hurt: Arc<AtomicUsize>,
    server: JoinHandle<()>,
}

impl Unruly {
    /// Stands before a store, calm at first, on an address that pods reach too.
    pub(crate) async fn before(scenario: &Scenario, store: &MinIo) -> Result<Self> {
        let listener = TcpListener::bind((scenario.testbed().host_address(), 0)).await?;
        let address = listener.local_addr()?;
        let mood = Arc::new(Mutex::new(Mood::Calm));
        let hurt = Arc::new(AtomicUsize::new(0));
        let store = store.address();
        let (shared, counted) = (Arc::clone(&mood), Arc::clone(&hurt));
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (mood, hurt) = (Arc::clone(&shared), Arc::clone(&counted));
                // Each ends by itself, mostly because it is cut.
                tokio::spawn(async move { attend(client, store, &mood, &hurt).await });
            }
        });
        Ok(Self {
            address,
            mood,
            hurt,
            server,
        })
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Becomes so, for connections that are open, too, and counts anew.
    pub(crate) fn becomes(&self, mood: Mood) {
        *self.mood.lock().unwrap_or_else(PoisonError::into_inner) = mood;
        self.hurt.store(0, Ordering::SeqCst);
    }

    /// How many messages were cut or refused since it became what it is.
    pub(crate) fn hurt(&self) -> usize {
        self.hurt.load(Ordering::SeqCst)
    }
}

impl Drop for Unruly {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn attend(
    client: TcpStream,
    store: SocketAddr,
    mood: &Mutex<Mood>,
    hurt: &AtomicUsize,
) -> Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_store, mut to_store) = TcpStream::connect(store).await?.into_split();
    let (mut up, mut down) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let (mut upload, mut download) = (Message::default(), Message::default());
    loop {
        let now = || *mood.lock().unwrap_or_else(PoisonError::into_inner);
        tokio::select! {
            read = from_client.read(&mut up) => {
                let piece = &up[..read?];
                if piece.is_empty() {
                    bail!("the client has gone");
                }
                if now() == Mood::Refuses {
                    hurt.fetch_add(1, Ordering::SeqCst);
                    to_client.write_all(REFUSAL).await?;
                    bail!("refused");
                }
                let passing = upload.passing(piece, now() == Mood::CutsUploads);
                slow(now(), passing.len()).await;
                to_store.write_all(passing).await?;
                if passing.len() < piece.len() {
                    hurt.fetch_add(1, Ordering::SeqCst);
                    bail!("cut");
                }
            }
            read = from_store.read(&mut down) => {
                let piece = &down[..read?];
                if piece.is_empty() {
                    bail!("the store has gone");
                }
                let passing = download.passing(piece, now() == Mood::CutsDownloads);
                slow(now(), passing.len()).await;
                to_client.write_all(passing).await?;
                if passing.len() < piece.len() {
                    hurt.fetch_add(1, Ordering::SeqCst);
                    bail!("cut");
                }
            }
        }
    }
}

async fn slow(mood: Mood, bytes: usize) {
    if let Mood::Slow(a_second) = mood {
        tokio::time::sleep(Duration::from_secs_f64(bytes as f64 / a_second as f64)).await;
    }
}

/// The message that one direction of a connection carries.
#[derive(Default)]
struct Message {
    /// Bytes that may pass still, where it is to be cut.
    left: Option<u64>,
}

impl Message {
    /// What of the next piece goes on.
    fn passing<'a>(&mut self, piece: &'a [u8], cuts: bool) -> &'a [u8] {
        // Nobody sends the next message before this one was answered, so each begins a piece.
        if let Some(length) = length(piece) {
            self.left = (length >= SHORT).then_some(length * 9 / 10);
        }
        let Some(left) = self.left.as_mut().filter(|_| cuts) else {
            return piece;
        };
        let passing = usize::try_from(*left).map_or(piece.len(), |left| left.min(piece.len()));
        *left -= passing as u64;
        &piece[..passing]
    }
}

/// How long a message says its body is, if one begins here.
fn length(piece: &[u8]) -> Option<u64> {
    let is_first = [
        &b"PUT "[..],
        b"POST ",
        b"GET ",
        b"HEAD ",
        b"DELETE ",
        b"HTTP/1.",
    ]
    .iter()
    .any(|word| piece.starts_with(word));
    if !is_first {
        return None;
    }
    let head = String::from_utf8_lossy(&piece[..piece.len().min(8 << 10)]).to_lowercase();
    let head = head.split("\r\n\r\n").next()?;
    let value = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    Some(
        value
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or_default(),
    )
}
