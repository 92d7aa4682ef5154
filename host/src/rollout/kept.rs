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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{KeyPair, SigningKey as _};
    use serde_json::json;

    use super::super::wanted::wanted;
    use super::*;
    use crate::module::digest;
    use crate::registry::SideProcess;
    use crate::signature::{Policy, PublicKey};
    use crate::testing::ApiServer;

    const MODULE: &[u8] = b"\0asm: a module";

    fn key() -> KeyPair {
        KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key")
    }

    /// Without its registry and after a restart, an operator that wants signatures has the files alone.
    #[tokio::test]
    async fn a_copy_is_used_again_with_the_signature_it_came_with_and_not_without() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, name) = (key(), digest(MODULE));
        let file = module_file(folder.path(), &name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, MODULE).expect("a file");
        let oci = json!({"reference": "registry.example/m:1"});
        let spec = json!({"role": "Active", "sha256": name, "source": {"oci": oci}});
        let wanted = wanted(&spec).expect("a spec");
        let wanting = |key: &KeyPair| Sources {
            client: ApiServer::default().client(),
            namespace: "infra".to_owned(),
            built_in: Arc::default(),
            registries: SideProcess::of(PathBuf::new()),
            policy: Policy {
                key: PublicKey::parse(&key.public_key_pem()).ok(),
                ..Policy::default()
            },
        };
        let (ours_alone, others) = (wanting(&ours), wanting(&key()));
        let found = async |sources: &Sources| kept(sources, folder.path(), &wanted, &name).await;
        assert!(found(&ours_alone).await.is_none(), "it is not signed");
        let signature = STANDARD.encode(ours.sign(MODULE).expect("a signature"));
        let proof = Proof::detached(&signature);
        keep_proof(folder.path(), &name, &proof).expect("it is kept");
        let copy = found(&ours_alone).await.expect("it is signed");
        assert_eq!(copy.bytes, MODULE);
        assert_eq!(copy.signed_by.len(), 1);
        assert!(found(&others).await.is_none(), "another key is asked for");
        std::fs::write(&file, b"\0asm: A MODULE").expect("a file");
        assert!(found(&ours_alone).await.is_none(), "the disk lies");
    }
}
