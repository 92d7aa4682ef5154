//! Signatures that prove something, and all that prove nothing.

use rcgen::{KeyPair, SigningKey as _};
use serde_json::json;

use super::*;

const MODULE: &[u8] = b"\0asm: a module";

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key")
}

fn public(key: &KeyPair) -> PublicKey {
    PublicKey::parse(&key.public_key_pem()).expect("a public key")
}

fn sign(key: &KeyPair, message: &[u8]) -> String {
    STANDARD.encode(key.sign(message).expect("a signature"))
}

fn manifest(module: &[u8]) -> String {
    let layer =
        json!({"mediaType": "application/wasm", "digest": digest(module), "size": module.len()});
    json!({"schemaVersion": 2, "layers": [layer]}).to_string()
}

fn payload(manifest: &str, kind: &str) -> String {
    let image = json!({"docker-manifest-digest": digest(manifest.as_bytes())});
    let identity = json!({"docker-reference": "registry.example/m"});
    json!({"critical": {"identity": identity, "image": image, "type": kind}, "optional": null})
        .to_string()
}

fn cosign(key: &KeyPair, manifest: &str, payload: String) -> Proof {
    let signed = vec![Signed {
        signature: sign(key, payload.as_bytes()),
        payload,
    }];
    Proof::Cosign {
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

/// Made by `openssl dgst -sha256 -sign`, which is what `cosign sign-blob --key` writes.
#[test]
fn a_signature_that_another_program_made_is_taken() {
    let key = PublicKey::parse(include_str!("fixture.pub")).expect("a public key");
    let proof = Proof::Detached(include_str!("fixture.sig").to_owned());
    assert_eq!(proof.why_not_of(&key, b"a module\n"), None);
    assert!(proof.why_not_of(&key, b"a module").is_some());
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
    let unsigned = Proof::Cosign {
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
