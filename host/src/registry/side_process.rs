//! Asks a registry in a process of its own, so that whatever it answers ends that process and not this one.
//!
//! # Guarantees
//! - The process has [`MEMORY_MIB`] of memory and a minute; what it writes is read to a limit, and it ends with the wish for
//!   its answer.
//! - A login is written to its standard input and nowhere else.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, Command};

use super::pipe::{Answer, Question, Wants};
use super::pull::{Pulled, RESOLVED_WITHIN, WITHIN};
use super::{Access, Error, Reference};
use crate::bounds::{Bounds, Exceeded};
use crate::module::MODULE_LIMIT;

/// Memory that asking a registry may take: three times the largest module.
pub(super) const MEMORY_MIB: u64 = 96;
/// The longest answer without the module: a manifest, and all signatures that are looked at.
const ANSWER_LIMIT: u64 = 8 << 20;
/// As much of its last words is read.
const WORDS_LIMIT: u64 = 4 << 10;
/// How much later than it gives up by itself it is ended.
const GRACE: Duration = Duration::from_secs(5);

/// The program that asks, as `binnacle module fetch`.
#[derive(Clone, Debug)]
pub struct SideProcess {
    program: PathBuf,
}

impl SideProcess {
    /// This very program.
    ///
    /// # Errors
    /// The system does not say which it is.
    pub fn of_this_program() -> io::Result<Self> {
        std::env::current_exe().map(Self::of)
    }

    /// Another one, for those that are not `binnacle` themselves.
    #[must_use]
    pub const fn of(program: PathBuf) -> Self {
        Self { program }
    }

    /// Pulls the module of a reference: `wanted` by its digest where that is known, with its signatures if `signed`.
    ///
    /// # Errors
    /// There is none within the time, or another.
    pub async fn pull(
        &self,
        reference: &Reference,
        access: Access,
        wanted: Option<&str>,
        signed: bool,
    ) -> Result<Pulled, Error> {
        let wants = Wants::Module {
            digest: wanted.map(str::to_owned),
            signatures: signed,
        };
        match self.ask(reference, access, wants, WITHIN).await? {
            (Answer::Module(pulled, _), bytes) => Ok(Pulled { bytes, ..pulled }),
            (Answer::Nothing(error), _) => Err(error),
            (Answer::Digest(_), _) => Err(unanswered(reference, "it answers something else")),
        }
    }

    /// The digest of the manifest that a reference leads to.
    ///
    /// # Errors
    /// The registry does not say within the time.
    pub async fn resolve(&self, reference: &Reference, access: Access) -> Result<String, Error> {
        let asked = self.ask(reference, access, Wants::Digest, RESOLVED_WITHIN);
        match asked.await?.0 {
            Answer::Digest(digest) => Ok(digest),
            Answer::Nothing(error) => Err(error),
            Answer::Module(..) => Err(unanswered(reference, "it answers something else")),
        }
    }

    async fn ask(
        &self,
        reference: &Reference,
        access: Access,
        wants: Wants,
        within: Duration,
    ) -> Result<(Answer, Vec<u8>), Error> {
        let question = serde_json::to_vec(&Question {
            reference: reference.clone(),
            access,
            wants,
        });
        let question = question.map_err(|error| unanswered(reference, error))?;
        let process = Command::new(&self.program)
            .args(["module", "fetch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut process = process.map_err(|error| unanswered(reference, error))?;
        let talk = tokio::time::timeout(within + GRACE, talk(&mut process, &question)).await;
        let slow = || Error::Slow {
            registry: reference.registry().to_owned(),
            within,
        };
        let Talk {
            answer,
            words,
            status,
        } = match talk {
            Err(_elapsed) => return Err(slow()),
            Ok(Err(error)) => return Err(unanswered(reference, error)),
            Ok(Ok(talk)) => talk,
        };
        match (answer, Bounds::exceeded(status, &words)) {
            (Some(answer), _) => Ok(answer),
            (None, Some(Exceeded::Memory)) => Err(Error::Endless {
                registry: reference.registry().to_owned(),
            }),
            (None, Some(Exceeded::Processor)) => Err(slow()),
            (None, None) => Err(unanswered(reference, format!("{status} {}", words.trim()))),
        }
    }
}

/// What came out of the process.
struct Talk {
    /// The answer and the bytes behind it, if it gave a whole one.
    answer: Option<(Answer, Vec<u8>)>,
    /// Its last words.
    words: String,
    status: ExitStatus,
}

async fn talk(process: &mut Child, question: &[u8]) -> io::Result<Talk> {
    let (Some(mut input), Some(output), Some(errors)) = (
        process.stdin.take(),
        process.stdout.take(),
        process.stderr.take(),
    ) else {
        return Err(io::Error::other("it has no standard input and output"));
    };
    // A process that ends early closes the pipe; how it ended says more.
    let _ = input.write_all(question).await;
    drop(input);
    let mut words = Vec::new();
    let mut errors = errors.take(WORDS_LIMIT);
    let (answer, read) = tokio::join!(read_answer(output), errors.read_to_end(&mut words));
    read?;
    Ok(Talk {
        answer: answer?,
        words: String::from_utf8_lossy(&words).into_owned(),
        status: process.wait().await?,
    })
}

/// An answer and the bytes behind it; none where it breaks off.
async fn read_answer(output: impl AsyncRead + Unpin) -> io::Result<Option<(Answer, Vec<u8>)>> {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    let mut head = (&mut output).take(ANSWER_LIMIT);
    head.read_until(b'\n', &mut line).await?;
    let Ok(answer) = serde_json::from_slice::<Answer>(&line) else {
        return Ok(None);
    };
    let size = match &answer {
        Answer::Module(_, size) if *size > MODULE_LIMIT as u64 => return Ok(None),
        Answer::Module(_, size) => *size,
        Answer::Digest(_) | Answer::Nothing(_) => 0,
    };
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    output.take(size).read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 == size).then_some((answer, bytes)))
}

fn unanswered(reference: &Reference, how: impl ToString) -> Error {
    Error::Unanswered {
        registry: reference.registry().to_owned(),
        how: how.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Asks a program of these lines instead of `binnacle`.
    async fn asked(script: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, may_run).expect("it may run");
        let reference = "registry.example/m:1".parse().expect("a reference");
        let aside = SideProcess::of(program);
        let asked = aside.resolve(&reference, Access::default()).await;
        asked.expect_err("no answer").to_string()
    }

    #[tokio::test]
    async fn a_process_that_ends_without_an_answer_is_told_by_how_it_ended() {
        for (script, words) in [
            ("exit 3", "exit status: 3"),
            ("echo so it is >&2; exit 2", "so it is"),
            ("kill -9 $$", "SIGKILL"),
            ("echo nonsense", "gave no answer"),
            (
                "echo '{\"Module\": [{\"artifact\": \"a\"}, 9]}'; echo short",
                "gave no answer",
            ),
            (
                "echo '{\"Module\": [{\"artifact\": \"a\"}, 99999999]}'; yes",
                "gave no answer",
            ),
            (
                "echo '{\"Module\": [{\"artifact\": \"a\"}, 0]}'",
                "something else",
            ),
            (
                "echo memory allocation of 9 bytes failed >&2; kill -ABRT $$",
                "took more than the 96 MiB",
            ),
            ("kill -XCPU $$", "too slow"),
            (
                "echo '{\"Nothing\": {\"Absent\": {\"what\": \"m:1\"}}}'",
                "there is no m:1",
            ),
        ] {
            let told = asked(script).await;
            assert!(told.contains(words), "{script}: {told}");
        }
        let reference = "registry.example/m:1".parse().expect("a reference");
        let nobody = SideProcess::of(PathBuf::from("nowhere/at/all"));
        let told = nobody.resolve(&reference, Access::default()).await;
        let told = told.expect_err("no answer").to_string();
        assert!(told.contains("registry.example gave no answer"), "{told}");
    }

    /// What it writes is read to a limit, and then nobody waits for its end.
    #[tokio::test(start_paused = true)]
    async fn a_process_that_never_ends_is_ended() {
        let told = asked("exec sleep 1000").await;
        assert!(told.contains("too slow") && told.contains("15s"), "{told}");
    }
}
