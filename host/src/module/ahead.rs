//! Compiles a module in a process of its own, so that the compiler's memory is not the serving process's, and has an end.
//!
//! The two meet in the engine's cache directory.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

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
/// compiling may take.
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
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if let Some(exceeded) = Bounds::exceeded(output.status, &words) {
            let what = match exceeded {
                Exceeded::Memory => format!("{} MiB of memory", BOUNDS.memory),
                Exceeded::Processor => format!("{} s of processor time", BOUNDS.processor),
            };
            return Err(Error::Costly { what });
        }
        return Err(Error::Ahead {
            words: if words.is_empty() {
                output.status.to_string()
            } else {
                words
            },
        });
    }
    written.map_err(failed)
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
