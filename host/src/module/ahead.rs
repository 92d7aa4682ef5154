//! Compiles a module in a process of its own, so that the compiler's memory is not the serving process's, and has an end.
//!
//! The two meet in the engine's cache directory.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::{Engine, Error, Module};
use crate::bounds::{Bounds, Exceeded};

/// What compiling may take; the stock module takes a tenth of it.
const BOUNDS: Bounds = Bounds {
    memory: 1024,
    processor: 120,
};

/// Has this executable, as `binnacle module compile`, put the compiled module into `cache`. [`Module::load`] with an
/// engine of the same cache then takes a millisecond.
///
/// # Errors
/// When the other process cannot be started or refuses the module, with its words, or the module wants more than
/// compiling may take, or than there is.
pub fn compile_ahead(cache: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Ahead {
        words: error.to_string(),
    };
    let executable = std::env::current_exe().map_err(failed)?;
    let mut process = Command::new(executable)
        .args(["module", "compile", "--cache-dir"])
        .arg(cache)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // A process that ends early closes the pipe; what it said is the better message.
    let written = process
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(bytes));
    let output = process.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(ended(output.status, words.trim()));
    }
    written.map_err(failed)
}

/// What a process that compiled nothing ended for.
fn ended(status: ExitStatus, words: &str) -> Error {
    if let Some(exceeded) = Bounds::exceeded(status, words) {
        let what = match exceeded {
            Exceeded::Memory => format!("{} MiB of memory", BOUNDS.memory),
            Exceeded::Processor => format!("{} s of processor time", BOUNDS.processor),
        };
        return Error::Costly { what };
    }
    let how = format!("{status} {words}").trim().to_owned();
    if status.signal().is_some() {
        return Error::Ended { how };
    }
    let words = if words.is_empty() { &how } else { words };
    Error::Ahead {
        words: words.to_owned(),
    }
}

/// The other side: reads a module from standard input, checks and compiles it into `cache`.
///
/// # Errors
/// As [`Module::load`], or when the input cannot be read.
pub fn compile_from_stdin(cache: &Path) -> Result<(), Error> {
    BOUNDS.hold().map_err(|error| Error::Ahead {
        words: error.to_string(),
    })?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Unreadable {
            path: "standard input".to_owned(),
            source,
        })?;
    Module::load(&Engine::new(Some(cache))?, &bytes).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module whose compiling the kernel ended was once compiled anew by the process that keeps clusters.
    #[test]
    fn what_ended_for_its_costs_is_told_from_what_was_refused() {
        let told = |script: &str, words: &str| {
            let status = Command::new("sh").args(["-c", script]).status();
            ended(status.expect("it ends"), words)
        };
        let costly = told("kill -ABRT $$", "memory allocation of 9 bytes failed");
        assert!(matches!(&costly, Error::Costly { what } if what.contains("1024 MiB")));
        let killed = told("kill -KILL $$", "");
        assert!(matches!(&killed, Error::Ended { how } if how.contains("SIGKILL")));
        let refused = told("exit 2", "it has an import");
        assert!(matches!(&refused, Error::Ahead { words } if words == "it has an import"));
    }
}
