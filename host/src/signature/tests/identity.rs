//! Identities that are proven, and all that proves none: each rule with what keeps it and what breaks it.

use fulcio::{Leaf, Signature, Sigstore, envelope};
use serde_json::Value;

use super::*;

const ISSUER: &str = "https://accounts.example";
const SUBJECT: &str = "release@example.com";
const WORKFLOW: &str =
    "https://example.com/team/module/.github/workflows/release.yaml@refs/tags/v1";
const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";
const LOGGED: &str = "dev.sigstore.cosign/bundle";

fn identity(issuer: &str, subject: &str, trusted_root: &str) -> Signer {
    let roots = Roots::parse(trusted_root).expect("roots");
    let identity = Identity {
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
    };
    Signer::Identity(identity, roots)
}

fn ours(sigstore: &Sigstore) -> Signer {
    identity(ISSUER, SUBJECT, &sigstore.trusted_root())
}

/// A payload, with annotations beside it as cosign wrote them.
fn annotated(payload: &str, beside: &BTreeMap<String, String>) -> Proof {
    let signature = &beside["dev.cosignproject.cosign/signature"];
    Proof::Artifact {
        manifest: manifest(MODULE),
        signed: vec![Signed::simple(payload.as_bytes(), signature, beside)],
    }
}

fn our_payload() -> String {
    payload(&manifest(MODULE), KIND)
}

fn statement(subjects: usize, predicate: &str) -> String {
    let hex = digest(manifest(MODULE).as_bytes()).replace("sha256:", "");
    let subject = json!({"name": "m", "digest": {"sha256": hex}});
    let kind = "https://in-toto.io/Statement/v1";
    json!({"_type": kind, "subject": vec![subject; subjects], "predicateType": predicate, "predicate": {}}).to_string()
}

fn in_bundle(sigstore: &Sigstore, statement: &str) -> Proof {
    let signature = sigstore.sign(ISSUER, SUBJECT, &envelope(statement));
    let bundle = signature.statement(sigstore, statement);
    Proof::Artifact {
        manifest: manifest(MODULE),
        signed: vec![Signed::of_bundle(bundle.as_bytes()).expect("a bundle")],
    }
}

#[test]
fn an_identity_is_proven_by_annotations_by_a_statement_and_by_a_bundle_of_a_blob() {
    let sigstore = Sigstore::new();
    for subject in [SUBJECT, WORKFLOW] {
        let signer = identity(ISSUER, subject, &sigstore.trusted_root());
        let beside = sigstore.sign(ISSUER, subject, our_payload().as_bytes());
        let beside = annotated(&our_payload(), &beside.annotations(&sigstore));
        assert_eq!(beside.why_not_of(&signer, MODULE), None, "{subject}");
        let blob = sigstore.sign(ISSUER, subject, MODULE).blob(&sigstore);
        let blob = Proof::detached(&blob);
        assert_eq!(blob.why_not_of(&signer, MODULE), None, "{subject}");
        for proof in [beside, blob] {
            let other = proof.why_not_of(&signer, b"\0asm: another");
            assert!(other.is_some(), "{subject}");
            let key = proof.why_not_of(&public(&key()), MODULE);
            assert!(key.is_some(), "{subject}");
        }
    }
    let proof = in_bundle(&sigstore, &statement(1, SIGN));
    assert_eq!(proof.why_not_of(&ours(&sigstore), MODULE), None);
}

/// Without their word nobody is anybody.
#[test]
fn who_is_not_certified_by_a_trusted_authority_for_that_time_and_use_is_nobody() {
    let sigstore = Sigstore::new();
    let payload = our_payload();
    let now = Leaf::new(ISSUER, SUBJECT);
    let began = now.begins.unix_timestamp();
    let why = |signer: &Signer, leaf: &Leaf, at: i64| {
        let signature = sigstore.sign_as(leaf, payload.as_bytes()).logged_at(at);
        let proof = annotated(&payload, &signature.annotations(&sigstore));
        proof.why_not_of(signer, MODULE).unwrap_or_default()
    };
    let signer = ours(&sigstore);
    assert_eq!(why(&signer, &now, began + 1), "");
    // The same logs, and another authority.
    let mut other: Value = serde_json::from_str(&sigstore.trusted_root()).expect("JSON");
    let theirs: Value = serde_json::from_str(&Sigstore::new().trusted_root()).expect("JSON");
    other["certificateAuthorities"] = theirs["certificateAuthorities"].clone();
    let other = identity(ISSUER, SUBJECT, &other.to_string());
    let of_a_web_server = Leaf {
        signs_code: false,
        ..now.clone()
    };
    let unlogged = Leaf {
        is_logged: false,
        ..now.clone()
    };
    let past = Leaf {
        begins: now.begins - time::Duration::hours(1),
        ..now.clone()
    };
    assert_eq!(why(&signer, &past, began - 3600 + 599), "");
    for (words, found) in [
        ("CertNotValidYet", why(&signer, &now, began - 1)),
        ("CertExpired", why(&signer, &past, began - 3600 + 601)),
        ("is in the future", why(&signer, &now, began + 601)),
        ("InvalidSignature", why(&other, &now, began + 1)),
        ("RequiredEku", why(&signer, &of_a_web_server, began + 1)),
        ("missing SCT", why(&signer, &unlogged, began + 1)),
    ] {
        assert!(found.contains("not of this identity"), "{words}: {found}");
        assert!(found.contains(words), "{words}: {found}");
    }
    // An authority that was given up before is none for what was signed later.
    let mut root: Value = serde_json::from_str(&sigstore.trusted_root()).expect("JSON");
    root["certificateAuthorities"][0]["validFor"]["end"] = json!("2021-01-01T00:00:00Z");
    let given_up = identity(ISSUER, SUBJECT, &root.to_string());
    let found = why(&given_up, &now, began + 1);
    assert!(
        found.contains("no trusted certificate authority"),
        "{found}"
    );
}

/// Private ones often have no log of certificates; whoever has one wants each certificate in it.
#[test]
fn a_certificate_need_not_be_logged_where_no_log_of_certificates_is_trusted() {
    let sigstore = Sigstore::new().without_a_log_of_certificates();
    let unlogged = Leaf {
        is_logged: false,
        ..Leaf::new(ISSUER, SUBJECT)
    };
    let signature = sigstore.sign_as(&unlogged, our_payload().as_bytes());
    let proof = annotated(&our_payload(), &signature.annotations(&sigstore));
    assert_eq!(proof.why_not_of(&ours(&sigstore), MODULE), None);
}

#[test]
fn another_subject_and_another_issuer_are_other_identities() {
    let sigstore = Sigstore::new();
    let signature = sigstore.sign(ISSUER, SUBJECT, our_payload().as_bytes());
    let proof = annotated(&our_payload(), &signature.annotations(&sigstore));
    let root = sigstore.trusted_root();
    for (issuer, subject, words) in [
        (ISSUER, "Release@example.com", "identity mismatch"),
        (ISSUER, "release@example.com.evil", "identity mismatch"),
        (ISSUER, "", "identity mismatch"),
        ("https://accounts.example/", SUBJECT, "issuer mismatch"),
        ("", SUBJECT, "issuer mismatch"),
    ] {
        let why = proof.why_not_of(&identity(issuer, subject, &root), MODULE);
        let why = why.expect("it is another identity");
        assert!(why.contains(words), "{issuer} {subject}: {why}");
    }
}

/// The log says when the certificate's key was used, and anybody could say something.
#[test]
fn what_the_log_did_not_promise_word_by_word_proves_nothing() {
    let (sigstore, other) = (Sigstore::new(), Sigstore::new());
    let payload = our_payload();
    let signature = || sigstore.sign(ISSUER, SUBJECT, payload.as_bytes());
    let promised = signature().annotations(&sigstore);
    let changed = |change: fn(&mut Value, &Value)| {
        let mut beside = promised.clone();
        let mut logged: Value = serde_json::from_str(&beside[LOGGED]).expect("JSON");
        let theirs = signature().annotations(&other);
        let theirs = serde_json::from_str(&theirs[LOGGED]).expect("JSON");
        change(&mut logged, &theirs);
        beside.insert(LOGGED.to_owned(), logged.to_string());
        beside
    };
    let logged = |one: Signature| one.annotations(&sigstore);
    let entry_of_other = signature().with_entry_of(&sigstore.sign(ISSUER, SUBJECT, b"other"));
    let entry_of_again = signature().with_entry_of(&signature());
    for (case, words, beside) in [
        ("an unknown log", "log key", signature().annotations(&other)),
        (
            "another's promise",
            "SET verification",
            changed(|logged, theirs| {
                logged["SignedEntryTimestamp"] = theirs["SignedEntryTimestamp"].clone();
            }),
        ),
        (
            "another time",
            "SET verification",
            changed(|logged, _| {
                let at = logged["Payload"]["integratedTime"].as_i64();
                logged["Payload"]["integratedTime"] = json!(at.unwrap_or_default() + 1);
            }),
        ),
        (
            "another place in it",
            "SET verification",
            changed(|logged, _| logged["Payload"]["logIndex"] = json!(1)),
        ),
        (
            "the entry of another message",
            "hash mismatch",
            logged(entry_of_other),
        ),
        (
            "the entry of another certificate",
            "does not match",
            logged(entry_of_again),
        ),
    ] {
        let why = annotated(&payload, &beside).why_not_of(&ours(&sigstore), MODULE);
        let why = why.expect(case);
        assert!(why.contains("not of this identity"), "{case}: {why}");
        assert!(why.contains(words), "{case}: {why}");
    }
    for missing in [LOGGED, "dev.sigstore.cosign/certificate"] {
        let mut beside = promised.clone();
        beside.remove(missing);
        let why = annotated(&payload, &beside).why_not_of(&ours(&sigstore), MODULE);
        let why = why.expect(missing);
        assert!(why.contains("says of no identity"), "{missing}: {why}");
    }
}

/// Each link is needed: certificate to signature, signature to payload, payload to artifact.
#[test]
fn an_identity_s_signature_counts_for_the_artifact_that_it_is_over_alone() {
    let sigstore = Sigstore::new();
    let signer = ours(&sigstore);
    let payload = our_payload();
    let why = |proof: Proof| {
        proof
            .why_not_of(&signer, MODULE)
            .expect("it proves nothing")
    };
    let of_other = self::payload(&manifest(b"other"), KIND);
    let signature = sigstore.sign(ISSUER, SUBJECT, of_other.as_bytes());
    let beside = signature.annotations(&sigstore);
    let found = why(annotated(&of_other, &beside));
    assert!(found.contains("another artifact"), "{found}");
    let found = why(annotated(&payload, &beside));
    assert!(found.contains("not of this identity"), "{found}");
    let moved = sigstore.sign(ISSUER, SUBJECT, payload.as_bytes());
    let moved = moved.over(of_other.as_bytes()).annotations(&sigstore);
    let found = why(annotated(&payload, &moved));
    assert!(found.contains("not of this identity"), "{found}");
    for (statement, words) in [
        (
            statement(1, "https://slsa.dev/provenance/v1"),
            "another artifact",
        ),
        (statement(2, SIGN), "another artifact"),
        (
            statement(1, SIGN).replace("{\"sha256\":\"", "{\"sha256\":\"00"),
            "not of this identity",
        ),
    ] {
        let found = why(in_bundle(&sigstore, &statement));
        assert!(found.contains(words), "{statement}: {found}");
    }
    // What is read beside a bundle is not what it proves.
    let Proof::Artifact { manifest, signed } = in_bundle(&sigstore, &statement(2, SIGN)) else {
        panic!("it is of an artifact");
    };
    let other = signed.into_iter().map(|one| Signed {
        payload: statement(1, SIGN),
        ..one
    });
    let found = why(Proof::Artifact {
        manifest,
        signed: other.collect(),
    });
    assert!(found.contains("says of no identity"), "{found}");
    let bare = Proof::detached(&sigstore.sign(ISSUER, SUBJECT, MODULE).base64());
    assert!(why(bare).contains("proves no identity"));
    let tampered = sigstore.sign(ISSUER, SUBJECT, MODULE).blob(&sigstore);
    let tampered = tampered.replace("\"treeSize\":\"1\"", "\"treeSize\":\"2\"");
    assert!(why(Proof::detached(&tampered)).contains("not of this identity"));
}

#[test]
fn what_says_nothing_of_whom_to_trust_is_refused_in_words() {
    let root = Sigstore::new().trusted_root();
    let mut nobody: Value = serde_json::from_str(&root).expect("JSON");
    nobody["certificateAuthorities"] = json!([]);
    let mut broken: Value = serde_json::from_str(&root).expect("JSON");
    broken["tlogs"][0]["publicKey"]["rawBytes"] = json!("AAAA");
    for (text, words) in [
        (String::new(), "no trusted_root.json"),
        (
            "-----BEGIN CERTIFICATE-----".to_owned(),
            "no trusted_root.json",
        ),
        (
            "{\"mediaType\": \"x\"}".to_owned(),
            "no certificate authority",
        ),
        (nobody.to_string(), "no certificate authority"),
        (broken.to_string(), ""),
        (format!("{root}\n{root}"), "no trusted_root.json"),
    ] {
        let refused = Roots::parse(&text).expect_err("a refusal");
        assert!(refused.contains(words), "{words:?} is not in: {refused}");
    }
}

/// The file that `cosign trusted-root create` gives is of this format, with keys of all kinds.
#[test]
fn the_roots_of_the_public_sigstore_can_be_used_and_certify_nobody_of_ours() {
    let root = sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT;
    let signer = identity(ISSUER, SUBJECT, root);
    let sigstore = Sigstore::new();
    let signature = sigstore.sign(ISSUER, SUBJECT, our_payload().as_bytes());
    let proof = annotated(&our_payload(), &signature.annotations(&sigstore));
    assert!(proof.why_not_of(&signer, MODULE).is_some());
}
