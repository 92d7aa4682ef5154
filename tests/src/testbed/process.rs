//! Processes that outlive the command which started them.
//!
//! Each has a session of its own, a log file, and a pid file that also holds the start time, so that a number that the
//! system has given to another process since is never taken for ours. Only what stands in such a file is ever ended.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};

use super::command::Command;
use super::wait;

/// Writes "pid start-time" and becomes the program, so the file is right whatever happens to the starter.
const BECOME: &str = r#"printf '%s %s\n' $$ "$(cut -d' ' -f22 /proc/$$/stat)" >"$0.new" && mv "$0.new" "$0" && exec "$@""#;

/// Go's collector runs when the heap has grown by so many percent. A whole Kubernetes on two processors has memory to
/// spare, and no time (<https://pkg.go.dev/runtime#hdr-Environment_Variables>).
const GOGC: &str = "400";

/// A process of the testbed, named by its pid file and log.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    name: String,
    pid_file: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// The process `name` whose files lie in `state`.
    pub(crate) fn new(state: &std::path::Path, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            pid_file: state.join("run").join(format!("{name}.pid")),
            log: state.join("logs").join(format!("{name}.log")),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Starts `command` unless it runs, and answers its process id.
    pub(crate) async fn start(&self, command: &[String]) -> Result<u32> {
        if let Some(pid) = self.pid() {
            return Ok(pid);
        }
        for file in [&self.pid_file, &self.log] {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
        }
        let _ = fs::remove_file(&self.pid_file);
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut starter = tokio::process::Command::new("setsid");
        starter
            .args(["--fork", "sh", "-c", BECOME])
            .arg(&self.pid_file)
            .args(command)
            .env("GOGC", GOGC);
        let status = starter
            .current_dir("/")
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()
            .await
            .with_context(|| format!("{} cannot be started", self.name))?;
        anyhow::ensure!(
            status.success(),
            "{} cannot be started: setsid ended with {status}",
            self.name
        );
        wait::until(
            format!("the start of {}", self.name),
            Duration::from_secs(10),
            async || self.pid().ok_or_else(|| anyhow!("{}", self.last_words())),
        )
        .await
    }

    /// Its process id, if it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(&self.pid_file).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        let pid = pid.parse().ok()?;
        (start_time(pid)? == started).then_some(pid)
    }

    /// Asks it to end, and ends it when it has not within `grace`.
    pub(crate) async fn stop(&self, grace: Duration) -> Result<()> {
        if let Some(pid) = self.pid() {
            signal(pid, Signal::TERM)?;
            let gone = async || match self.pid() {
                None => Ok(()),
                Some(pid) => Err(anyhow!("process {pid} runs")),
            };
            if wait::until(format!("the end of {}", self.name), grace, gone)
                .await
                .is_err()
            {
                signal(pid, Signal::KILL)?;
                wait::until(
                    format!("the end of {}", self.name),
                    Duration::from_secs(10),
                    gone,
                )
                .await?;
            }
        }
        let _ = fs::remove_file(&self.pid_file);
        Ok(())
    }

    /// The end of its log, for a message about its failure.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<_> = text.lines().rev().take(6).collect();
        let words: Vec<_> = lines.into_iter().rev().collect();
        format!(
            "{} does not run; its log {} ends: {}",
            self.name,
            self.log.display(),
            words.join(" | ")
        )
    }
}

/// Sends a signal; a process that is gone already is what was wanted.
pub(crate) fn signal(pid: u32, signal: Signal) -> Result<()> {
    let Some(target) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    match kill_process(target, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("process {pid} cannot be signalled")),
    }
}

/// When a living process started, in the kernel's ticks; zombies do not live.
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18).map(str::to_owned))?
}

/// The processes whose command line has `argument` as one whole word.
pub(crate) fn with_argument(argument: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
                line.split(|byte| *byte == 0)
                    .any(|word| word == argument.as_bytes())
            })
        })
        .collect()
}

/// A command that runs inside the network and mount namespaces of `anchor`.
pub(crate) fn inside(anchor: u32) -> Vec<String> {
    [
        "nsenter",
        "--target",
        &anchor.to_string(),
        "--net",
        "--mount",
        "--",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// As [`inside`], as a command to be run to its end.
pub(crate) fn run_inside(anchor: u32) -> Command {
    Command::new("nsenter").args(["--target", &anchor.to_string(), "--net", "--mount", "--"])
}
