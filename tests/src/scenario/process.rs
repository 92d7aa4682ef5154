//! The operator as a process of this machine.
//!
//! Starts it, ends it in both ways, and reads what it serves over HTTP.

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::cargo;
use crate::testbed::wait;

/// How long a stop may take: a pass in flight ends, recordings are written.
const STOP: Duration = Duration::from_secs(30);

/// The image that operators of scenarios are told to be their own. A scenario whose pods run it loads it first.
pub const OPERATOR_IMAGE: &str = "testbed.binnacle/operator:suite";

/// The operator's program and the module that ships with it.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program.
    pub program: PathBuf,
    /// The sealed module.
    pub module: PathBuf,
}

impl Programs {
    /// Builds both, as `make wasm` does, and finds them beside this suite's own program.
    pub async fn build() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("this crate has no workspace")?;
        let made = Command::from(cargo::command("make"))
            .args(["--no-print-directory", "wasm"])
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .await
            .context("make cannot be started")?;
        ensure!(made.success(), "`make wasm` failed");
        let this = std::env::current_exe()?;
        let profile = this
            .ancestors()
            .nth(2)
            .context("this program is in no target folder")?;
        let target = profile
            .parent()
            .context("this program is in no target folder")?;
        Ok(Self {
            program: profile.join("binnacle"),
            module: target.join("reconciler.wasm"),
        })
    }
}

/// A running operator. It ends with its value.
#[derive(Debug)]
pub struct Operator {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Operator {
    /// Starts it for one namespace; its log and its recordings go into `folder`.
    pub async fn start(
        program: &Path,
        module: &Path,
        namespace: &str,
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let serving = ["--namespace", namespace, "--watch-namespace", namespace];
        Self::start_serving(program, module, &serving, kubeconfig, folder).await
    }

    /// As [`Self::start`], with flags that say what it serves.
    pub async fn start_serving(
        program: &Path,
        module: &Path,
        serving: &[&str],
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let address = free_address().await?;
        let log = folder.join("operator.log");
        let output: File = OpenOptions::new().create(true).append(true).open(&log)?;
        let child = Command::new(program)
            .arg("run")
            .args(serving)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--module")
            .arg(module)
            .arg("--recordings-dir")
            .arg(folder.join("recordings"))
            .args(["--listen-addr", &address.to_string()])
            .args(["--operator-image", OPERATOR_IMAGE])
            .args(["--log", "info,kube=warn,host=debug"])
            // As the Deployment has it.
            .env("MALLOC_ARENA_MAX", "1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        Ok(Self {
            child,
            address,
            log,
        })
    }

    /// The id of its process, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until it leads. Without one of its rights it may lead and not be ready.
    pub async fn leads(&self, within: Duration) -> Result<()> {
        let led = wait::until("the operator's lead", within, async || {
            ensure!(
                self.metric("binnacle_leading", "").await? > 0.0,
                "somebody else leads"
            );
            Ok(())
        });
        led.await.with_context(|| self.last_words())
    }

    /// What it serves at /metrics.
    pub async fn metrics(&self) -> Result<String> {
        self.get("/metrics").await
    }

    /// The sum of all samples of a metric whose labels hold `labels`.
    pub async fn metric(&self, name: &str, labels: &str) -> Result<f64> {
        let page = self.metrics().await?;
        let samples = page
            .lines()
            .filter(|line| line.starts_with(name) && line.contains(labels));
        let values = samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        Ok(values.sum())
    }

    /// What it answers at /readyz, with the status line.
    pub async fn readiness(&self) -> Result<String> {
        self.ask("/readyz").await
    }

    /// Ends it at once.
    pub async fn kill(mut self) -> Result<()> {
        self.child
            .kill()
            .await
            .context("the operator cannot be killed")
    }

    /// Stops its process where it is, as a machine that swaps would.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let Some(id) = id else {
            bail!("the operator ended by itself: {}", self.last_words())
        };
        Ok(kill_process(id, signal)?)
    }

    /// Asks it to end, as Kubernetes does, and expects a clean end.
    pub async fn stop(mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let Ok(ended) = tokio::time::timeout(STOP, self.child.wait()).await else {
            bail!(
                "the operator did not end within {STOP:?}: {}",
                self.last_words()
            );
        };
        let ended = ended?;
        ensure!(
            ended.success(),
            "the operator ended with {ended}: {}",
            self.last_words()
        );
        Ok(())
    }

    /// The end of its log.
    #[must_use]
    pub fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        let words: Vec<_> = lines.into_iter().rev().collect();
        format!(
            "the operator's log {} ends: {}",
            self.log.display(),
            words.join(" | ")
        )
    }

    async fn get(&self, path: &str) -> Result<String> {
        let answer = self.ask(path).await?;
        let status = answer.lines().next().unwrap_or_default();
        ensure!(status.contains(" 200 "), "{path} answers {status}");
        Ok(answer)
    }

    async fn ask(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

async fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}
