//! Proofs of who made a module, as registries give them and disks keep them, and the files that say whom to trust.
//!
//! Of the committed ones those that prove something were made by cosign. What proves what is [`host::signature`]'s.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use host::registry::{Login, Reference};
use host::signature::{Proof, PublicKey, Roots, Signed, Signer};
use serde_json::json;

use crate::targets::Reached;

/// Who signed this module.
const KEY: &str = include_str!("../../host/src/signature/data/cosign.pub");
const MODULE: &[u8] = b"a module\n";
/// Whoever has this one signed nothing.
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEE1Ud4Bm5WfXRn8E6Omg0gZoy/SC1
ZUzkGEKS9rYv7RSHTUquNkfyX+NLy0sGhEXDPGtHpc3WgFVtjtPz19GVJw==
-----END PUBLIC KEY-----
";

/// Reads the bytes as all of these. What is taken for a proof is one of this key and this module alone.
pub(crate) fn read(bytes: &[u8], reached: &Reached) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let proofs = [
        serde_json::from_slice(bytes).ok(),
        Some(Proof::detached(&text)),
        Signed::of_bundle(bytes).map(|one| beside(&manifest(), vec![one])),
        Some(beside(&text, vec![signed()])),
    ];
    let signer = |key| Signer::Key(PublicKey::parse(key).expect("a public key"));
    let (ours, theirs) = (signer(KEY), signer(OTHER_KEY));
    for proof in proofs.into_iter().flatten() {
        Reached::count(&reached.read);
        if proof.why_not_of(&ours, MODULE).is_some() {
            Reached::count(&reached.refused);
            continue;
        }
        Reached::count(&reached.allowed);
        assert!(proof.why_not_of(&theirs, MODULE).is_some(), "{proof:?}");
        assert!(proof.why_not_of(&ours, b"another").is_some(), "{proof:?}");
    }
    let reference: Reference = "registry.example/m:1".parse().expect("a reference");
    // A refusal in words is an answer.
    let _ = Login::find(bytes, &reference);
    let _ = PublicKey::parse(&text);
    let _ = Roots::parse(&text);
}

/// What is committed: each file of cosign's as it is, each proof that can be made of them as it is kept, and a docker
/// configuration.
pub(crate) fn documents() -> Vec<Vec<u8>> {
    let files = [
        "artifact.bundle.json",
        "blob.bundle.json",
        "blob.sig",
        "cosign.pub",
        "manifest.json",
        "payload.json",
        "payload.sig",
    ];
    let mut documents: Vec<Vec<u8>> = files.map(of_cosign).into();
    let text = |name| String::from_utf8(of_cosign(name)).expect("it is text");
    let bundle = Signed::of_bundle(&of_cosign("artifact.bundle.json")).expect("a bundle");
    let proofs = [
        Proof::detached(&text("blob.sig")),
        Proof::detached(&text("blob.bundle.json")),
        beside(&manifest(), vec![signed()]),
        beside(&manifest(), vec![bundle.clone()]),
        beside(&manifest(), vec![bundle, signed()]),
    ];
    documents.extend(proofs.map(|proof| json!(proof).to_string().into_bytes()));
    let auths = json!({"https://registry.example/v2/": {"auth": "bmFtZTpwYXNzd29yZA=="}});
    documents.push(json!({"auths": auths}).to_string().into_bytes());
    documents
}

fn beside(manifest: &str, signed: Vec<Signed>) -> Proof {
    Proof::Artifact {
        manifest: manifest.to_owned(),
        signed,
    }
}

fn manifest() -> String {
    include_str!("../../host/src/signature/data/manifest.json").to_owned()
}

/// The signature of the older form.
fn signed() -> Signed {
    let payload = include_bytes!("../../host/src/signature/data/payload.json");
    let signature = include_str!("../../host/src/signature/data/payload.sig");
    Signed::simple(payload, signature, &BTreeMap::new())
}

fn of_cosign(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/signature/data");
    fs::read(folder.join(name)).expect("a file of cosign's")
}
