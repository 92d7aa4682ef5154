//! What a process of this program gives up before it works on what others made, and what is to be seen of that at its end.
//!
//! Knows no work. The limits are the kernel's (<https://man7.org/linux/man-pages/man2/getrlimit.2.html>).

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::{Resource, Rlimit, Signal, setrlimit};

/// What the allocator says before it ends a process.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// What is said where the kernel gives no more, and nobody has to end for it.
const REFUSED_MEMORY: &str = "(os error 12)";

/// What a process may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Memory, in MiB.
    pub(crate) memory: u64,
    /// Processor time, in seconds.
    pub(crate) processor: u64,
}

/// What a process ended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// It wanted more memory.
    Memory,
    /// It took more processor time.
    Processor,
}

impl Bounds {
    /// Holds this process to them. Nor does it leave its memory on disk, where a login may be in it.
    ///
    /// # Errors
    /// The kernel does not let it.
    pub(crate) fn hold(self) -> io::Result<()> {
        for (resource, limit, reserve) in [
            (Resource::Core, 0, 0),
            // Ended with a signal of its own, and a second later with the one that anybody sends.
            (Resource::Cpu, self.processor, 1),
            (Resource::Data, self.memory << 20, 0),
        ] {
            let limits = Rlimit {
                current: Some(limit),
                maximum: Some(limit + reserve),
            };
            setrlimit(resource, limits)?;
        }
        // Where all memory of the container is gone, this process is to end, and not the one that keeps clusters. Whoever may
        // not say so has the limits.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        Ok(())
    }

    /// Which of its bounds a process met, by how it ended and its last words.
    pub(crate) fn exceeded(status: ExitStatus, words: &str) -> Option<Exceeded> {
        let refused = !status.success() && words.contains(REFUSED_MEMORY);
        match status.signal().and_then(Signal::from_named_raw) {
            Some(Signal::ABORT) if words.contains(OUT_OF_MEMORY) => Some(Exceeded::Memory),
            Some(Signal::XCPU) => Some(Exceeded::Processor),
            Some(_) | None => refused.then_some(Exceeded::Memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_met_a_bound_is_told_from_one_that_ended_otherwise() {
        for (script, words, exceeded) in [
            (
                "kill -ABRT $$",
                "memory allocation of 9 bytes failed",
                Some(Exceeded::Memory),
            ),
            ("kill -ABRT $$", "it went wrong", None),
            ("kill -XCPU $$", "", Some(Exceeded::Processor)),
            ("exit 1", "memory allocation of 9 bytes failed", None),
            (
                "exit 2",
                "Cannot allocate memory (os error 12)",
                Some(Exceeded::Memory),
            ),
            ("exit 0", "Cannot allocate memory (os error 12)", None),
            ("kill -KILL $$", "", None),
        ] {
            let status = Command::new("sh").args(["-c", script]).status();
            let status = status.expect("it ends");
            assert_eq!(
                Bounds::exceeded(status, words),
                exceeded,
                "{script}: {words}"
            );
        }
    }
}
