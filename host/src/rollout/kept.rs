//! Modules that were kept when they were loaded, and the signatures they came with.
//!
//! # Guarantees
//! A copy is taken only where its bytes are those of its name and its signatures still prove what is asked for today.

use std::path::{Path, PathBuf};

use tracing::warn;

use super::fetch::{Fetched, Sources};
use super::wanted::Wanted;
use crate::error::Chain;
use crate::recorder::{kept_module, module_file};
use crate::signature::Proof;

/// Ending of a file with signatures, beside that of the module.
const PROOF: &str = "proof";

/// The copy of this digest, if there is one and it may be used.
pub(super) async fn kept(
    sources: &Sources,
    folder: &Path,
    wanted: &Wanted,
    name: &str,
) -> Option<Fetched> {
    let bytes = kept_module(folder, name)?;
    let proof = std::fs::read(file(folder, name)).ok();
    let proof = proof.and_then(|found| serde_json::from_slice(&found).ok());
    match sources.kept(wanted, bytes, proof).await {
        Ok(fetched) => Some(fetched),
        Err(error) => {
            warn!(module = name, error = %Chain(&error), "A kept module is not used");
            None
        }
    }
}

/// Keeps signatures for [`kept`]. Blocks.
pub(super) fn keep_proof(folder: &Path, name: &str, proof: &Proof) -> std::io::Result<()> {
    let file = file(folder, name);
    let unfinished = file.with_extension("part-proof");
    std::fs::write(&unfinished, serde_json::to_vec(proof)?)?;
    std::fs::rename(unfinished, file)
}

fn file(folder: &Path, name: &str) -> PathBuf {
    module_file(folder, name).with_extension(PROOF)
}
