//! What crosses between the process that wants a module and the one that asks the registry: a question, its answer, and
//! behind the answer the module's bytes.
//!
//! Logins go this way and no other: a command line and an environment can be read by others.

use std::io::{self, Read as _, Write as _};

use serde::{Deserialize, Serialize};

use super::pull::{Pulled, pull, resolve};
use super::side_process::MEMORY_MIB;
use super::{Access, Error, Reference};
use crate::bounds::Bounds;

/// What an answer may take.
const BOUNDS: Bounds = Bounds {
    memory: MEMORY_MIB,
    processor: 60,
};

/// What is asked of a registry.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) reference: Reference,
    pub(super) access: Access,
    pub(super) wants: Wants,
}

/// What of it is wanted.
#[derive(Serialize, Deserialize)]
pub(super) enum Wants {
    /// The digest that the reference leads to.
    Digest,
    /// The module, by its digest where that is known, and its signatures if they are.
    Module {
        digest: Option<String>,
        signatures: bool,
    },
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// The digest.
    Digest(String),
    /// A module of so many bytes, which follow.
    Module(Pulled, u64),
    /// Nothing.
    Nothing(Error),
}

/// The other side: reads a question from standard input and answers it, with no more memory and time than that takes.
///
/// # Errors
/// There is no question, or nobody who reads the answer.
pub(crate) fn answer_stdin() -> anyhow::Result<()> {
    BOUNDS.hold()?;
    let mut question = Vec::new();
    io::stdin().read_to_end(&mut question)?;
    let question: Question = serde_json::from_slice(&question)
        .map_err(|_| anyhow::anyhow!("standard input holds no question"))?;
    // One thread: memory is what there is least of.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (answer, bytes) = runtime.block_on(answered(question));
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &answer)?;
    output.write_all(b"\n")?;
    output.write_all(&bytes)?;
    output.flush()?;
    Ok(())
}

async fn answered(question: Question) -> (Answer, Vec<u8>) {
    let Question {
        reference,
        access,
        wants,
    } = question;
    let answer = match wants {
        Wants::Digest => resolve(&reference, access)
            .await
            .map(|digest| (Answer::Digest(digest), Vec::new())),
        Wants::Module { digest, signatures } => {
            let pulled = pull(&reference, access, digest.as_deref(), signatures).await;
            pulled.map(|mut pulled| {
                let bytes = std::mem::take(&mut pulled.bytes);
                (Answer::Module(pulled, bytes.len() as u64), bytes)
            })
        }
    };
    answer.unwrap_or_else(|error| (Answer::Nothing(error), Vec::new()))
}
