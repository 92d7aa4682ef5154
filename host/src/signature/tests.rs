//! Signatures that prove something, and all that prove nothing.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::json;

use super::*;

mod identity;

const KIND: &str = "cosign container image signature";

const MODULE: &[u8] = b"\0asm: a module";

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key")
}

fn public(key: &KeyPair) -> Signer {
    Signer::Key(PublicKey::parse(&key.public_key_pem()).expect("a public key"))
}

fn sign(key: &KeyPair, message: &[u8]) -> String {
    STANDARD.encode(key.sign(message).expect("a signature"))
}

fn manifest(module: &[u8]) -> String {
    let layer =
        json!({"mediaType": "application/wasm", "digest": digest(module), "size": module.len()});
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string()
}

fn payload(manifest: &str, kind: &str) -> String {
    let image = json!({"docker-manifest-digest": digest(manifest.as_bytes())});
    let identity = json!({"docker-reference": "registry.example/m"});
    json!({"critical": {"identity": identity, "image": image, "type": kind}, "optional": null})
        .to_string()
}

fn cosign(key: &KeyPair, manifest: &str, payload: String) -> Proof {
    let signature = sign(key, payload.as_bytes());
    let signed = vec![Signed::simple(
        payload.as_bytes(),
        &signature,
        &BTreeMap::new(),
    )];
    Proof::Artifact {
        manifest: manifest.to_owned(),
        signed,
    }
}

#[test]
fn a_detached_signature_is_of_one_key_over_one_module() {
    let (ours, theirs) = (key(), key());
    let proof = Proof::Detached(format!("{}\n", sign(&ours, MODULE)));
    assert_eq!(proof.why_not_of(&public(&ours), MODULE), None);
    assert!(proof.why_not_of(&public(&theirs), MODULE).is_some());
    assert!(proof.why_not_of(&public(&ours), b"another").is_some());
    for nothing in ["", "AAAA", "not base64", "MEUCIQ=="] {
        let proof = Proof::Detached(nothing.to_owned());
        assert!(
            proof.why_not_of(&public(&ours), MODULE).is_some(),
            "{nothing}"
        );
    }
}

/// Fixtures of cosign 3.1.3, all of one key: `cosign sign-blob` and `cosign sign` in the older form and in the one of today.
#[test]
fn what_cosign_signed_is_taken_in_both_of_its_forms() {
    let key = PublicKey::parse(include_str!("data/cosign.pub")).expect("a public key");
    let key = Signer::Key(key);
    let module = b"a module\n";
    let manifest = include_str!("data/manifest.json").to_owned();
    let payload = include_bytes!("data/payload.json");
    let simple = Signed::simple(payload, include_str!("data/payload.sig"), &BTreeMap::new());
    let bundle = include_str!("data/artifact.bundle.json");
    let statement = Signed::of_bundle(bundle.as_bytes()).expect("a bundle");
    let mut proofs = vec![
        Proof::detached(include_str!("data/blob.sig")),
        Proof::detached(include_str!("data/blob.bundle.json")),
    ];
    proofs.extend([simple, statement].map(|signed| Proof::Artifact {
        manifest: manifest.clone(),
        signed: vec![signed],
    }));
    let other = public(&self::key());
    for proof in proofs {
        assert_eq!(proof.why_not_of(&key, module), None, "{proof:?}");
        assert!(proof.why_not_of(&key, b"a module").is_some(), "{proof:?}");
        assert!(proof.why_not_of(&other, module).is_some(), "{proof:?}");
    }
    // An artifact's bundle says nothing of a blob, and a blob's nothing of an artifact.
    assert!(Proof::detached(bundle).why_not_of(&key, module).is_some());
    assert_eq!(
        Signed::of_bundle(include_bytes!("data/blob.bundle.json")),
        None
    );
}

/// A statement may be about many things, and say other things than that they are signed.
#[test]
fn a_statement_counts_where_it_says_of_this_one_artifact_that_it_is_signed() {
    let ours = key();
    let manifest = manifest(MODULE);
    let hex = digest(manifest.as_bytes());
    let hex = hex.trim_start_matches("sha256:");
    let subject = json!({"digest": {"sha256": hex}});
    let sign = "https://sigstore.dev/cosign/sign/v1";
    for (subjects, predicate, counts) in [
        (json!([subject]), sign, true),
        (json!([subject, subject]), sign, false),
        (json!([]), sign, false),
        (json!([{"digest": {"sha256": "00"}}]), sign, false),
        (json!([subject]), "https://slsa.dev/provenance/v1", false),
    ] {
        let statement = json!({"subject": subjects, "predicateType": predicate}).to_string();
        let mut signed = Signed {
            form: Form::Statement,
            payload: statement,
            signature: String::new(),
            bundle: None,
        };
        signed.signature = self::sign(&ours, &signed.message());
        let proof = |signed: &Signed| Proof::Artifact {
            manifest: manifest.clone(),
            signed: vec![signed.clone()],
        };
        let why = proof(&signed).why_not_of(&public(&ours), MODULE);
        assert_eq!(why.is_none(), counts, "{subjects} {predicate}: {why:?}");
        // The envelope is part of what is signed.
        signed.form = Form::Simple;
        assert!(proof(&signed).why_not_of(&public(&ours), MODULE).is_some());
    }
}

/// Each link is needed: key to payload, payload to manifest, manifest to bytes.
#[test]
fn a_signature_over_an_artifact_counts_for_that_artifact_alone() {
    let ours = key();
    let manifest = manifest(MODULE);
    let good = cosign(&ours, &manifest, payload(&manifest, KIND));
    assert_eq!(good.why_not_of(&public(&ours), MODULE), None);
    let why = |proof: &Proof, key: &KeyPair, module: &[u8]| {
        proof
            .why_not_of(&public(key), module)
            .expect("it proves nothing")
    };
    assert!(why(&good, &key(), MODULE).contains("no signature beside it"));
    assert!(why(&good, &ours, b"other").contains("other bytes"));

    let other = self::manifest(b"other");
    let of_other = cosign(&ours, &manifest, payload(&other, KIND));
    assert!(why(&of_other, &ours, MODULE).contains("another artifact"));
    let of_kind = cosign(
        &ours,
        &manifest,
        payload(&manifest, "atomic container signature"),
    );
    assert!(why(&of_kind, &ours, MODULE).contains("another artifact"));
    let of_nothing = cosign(&ours, &manifest, "[]".to_owned());
    assert!(why(&of_nothing, &ours, MODULE).contains("another artifact"));
    let unsigned = Proof::Artifact {
        manifest,
        signed: Vec::new(),
    };
    assert!(why(&unsigned, &ours, MODULE).contains("no signature beside it"));
}

#[test]
fn what_is_no_public_key_of_that_kind_is_refused_in_words() {
    let private = key().serialize_pem();
    let ed25519 = KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    for (text, words) in [
        ("", "no key in PEM"),
        ("ssh-ed25519 AAAA", "no key in PEM"),
        (private.as_str(), "PRIVATE KEY, and a PUBLIC KEY is wanted"),
        (ed25519.public_key_pem().as_str(), "curve P-256"),
    ] {
        let refused = PublicKey::parse(text).expect_err("a refusal");
        assert!(refused.contains(words), "{words:?} is not in: {refused}");
        assert!(!refused.contains("MIG"), "{refused}");
    }
}
