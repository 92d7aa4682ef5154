//! Modules from ConfigMaps and files, with the signatures that an operator or a spec asks for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};

use super::*;
use crate::error::Chain;
use crate::signature::Roots;
use crate::testing::ApiServer;

const MODULE: &[u8] = b"\0asm: a module";

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key")
}

fn public(key: &KeyPair) -> PublicKey {
    PublicKey::parse(&key.public_key_pem()).expect("a public key")
}

fn signed(key: &KeyPair) -> String {
    STANDARD.encode(key.sign(MODULE).expect("a signature"))
}

fn object(kind: &str, name: &str, fields: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "infra", "resourceVersion": "1"},
    });
    for (key, value) in fields.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

/// An API server with the ConfigMap `m` that holds the module and this besides.
fn server(data: &Value) -> ApiServer {
    let packed = zstd::encode_all(MODULE, 1).expect("it packs");
    let binary = json!({"reconciler.wasm.zst": STANDARD.encode(packed)});
    let map = object(
        "ConfigMap",
        "m",
        &json!({"binaryData": binary, "data": data}),
    );
    ApiServer::default().answering("GET", "/api/v1/namespaces/infra/configmaps/m", 200, map)
}

fn sources(server: &ApiServer, key: Option<PublicKey>) -> Sources {
    Sources {
        client: server.client(),
        namespace: "infra".to_owned(),
        built_in: Arc::new(MODULE.to_vec()),
        registries: SideProcess::of(PathBuf::new()),
        policy: Policy {
            key,
            ..Policy::default()
        },
    }
}

fn spec(source: &Value) -> Value {
    json!({"role": "Shadow", "source": source})
}

fn from_map() -> Value {
    spec(&json!({"configMap": {"name": "m"}}))
}

async fn refused(sources: &Sources, spec: &Value, words: &[&str]) {
    let refused = sources.of_spec(spec).await.expect_err("a refusal");
    let refused = Chain(&refused).to_string();
    for word in words {
        assert!(refused.contains(word), "{word:?} is not in: {refused}");
    }
}

#[tokio::test]
async fn an_operator_that_wants_signatures_takes_nothing_without_one() {
    let (ours, theirs) = (key(), key());
    let rule = "as the operator's --module-signature-key asks for it";
    let unsigned = sources(&server(&json!({})), Some(public(&ours)));
    refused(
        &unsigned,
        &from_map(),
        &[rule, "no signature beside it", public(&ours).fingerprint()],
    )
    .await;
    let other = server(&json!({"reconciler.wasm.sig": signed(&theirs)}));
    refused(
        &sources(&other, Some(public(&ours))),
        &from_map(),
        &[rule, "not of this key"],
    )
    .await;

    let good = server(&json!({"reconciler.wasm.sig": signed(&ours)}));
    let fetched = sources(&good, Some(public(&ours)))
        .of_spec(&from_map())
        .await;
    let fetched = fetched.expect("a module");
    assert_eq!(fetched.bytes, MODULE);
    assert_eq!(fetched.signed_by, [public(&ours).fingerprint()]);

    let built_in = unsigned.of_spec(&spec(&json!({"builtIn": {}}))).await;
    assert!(built_in.expect("the operator's own").signed_by.is_empty());
}

/// Whoever writes specs must not be able to choose the operator's key.
#[tokio::test]
async fn a_spec_asks_for_a_signature_more_and_never_for_one_less() {
    let (ours, theirs) = (key(), key());
    let mut spec = from_map();
    spec["signature"] = json!({"publicKey": theirs.public_key_pem()});
    let server = server(&json!({"reconciler.wasm.sig": signed(&theirs)}));
    let fetched = sources(&server, None).of_spec(&spec).await;
    assert_eq!(
        fetched.expect("a module").signed_by,
        [public(&theirs).fingerprint()]
    );
    let words = ["--module-signature-key", "not of this key"];
    refused(&sources(&server, Some(public(&ours))), &spec, &words).await;
    spec["signature"] = json!({"publicKey": ours.public_key_pem()});
    let words = ["spec.signature", "not of this key"];
    refused(&sources(&server, Some(public(&theirs))), &spec, &words).await;
}

#[tokio::test]
async fn a_key_is_read_from_a_config_map_or_a_secret_and_refused_where_it_is_none() {
    let ours = key();
    let pem = ours.public_key_pem();
    let map = object(
        "ConfigMap",
        "keys",
        &json!({"data": {"cosign.pub": pem, "text": "hello"}}),
    );
    let secret = object(
        "Secret",
        "keys",
        &json!({"data": {"cosign.pub": STANDARD.encode(&pem)}}),
    );
    let server = server(&json!({"reconciler.wasm.sig": signed(&ours)}))
        .answering("GET", "/api/v1/namespaces/infra/configmaps/keys", 200, map)
        .answering("GET", "/api/v1/namespaces/infra/secrets/keys", 200, secret);
    let sources = sources(&server, None);
    let asking = |signature: Value| {
        let mut spec = from_map();
        spec["signature"] = signature;
        spec
    };
    for kind in ["configMap", "secret"] {
        let fetched = sources
            .of_spec(&asking(json!({kind: {"name": "keys"}})))
            .await;
        assert_eq!(
            fetched.expect("a module").signed_by,
            [public(&ours).fingerprint()]
        );
    }
    let text = asking(json!({"configMap": {"name": "keys", "key": "text"}}));
    refused(
        &sources,
        &text,
        &["text of the ConfigMap keys is no public key", "PEM"],
    )
    .await;
    let absent = asking(json!({"secret": {"name": "nobody"}}));
    refused(
        &sources,
        &absent,
        &["no Secret nobody in the namespace infra"],
    )
    .await;
    let other = asking(json!({"secret": {"name": "keys", "key": "other"}}));
    refused(
        &sources,
        &other,
        &["the Secret keys has no key other; it has cosign.pub"],
    )
    .await;
}

#[tokio::test]
async fn a_file_has_its_signature_beside_it() {
    let ours = key();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("next.wasm");
    std::fs::write(&path, MODULE).expect("a file");
    let sources = sources(&ApiServer::default(), Some(public(&ours)));
    let spec = spec(&json!({"file": {"path": path}}));
    refused(
        &sources,
        &spec,
        &["next.wasm is not signed", "no signature beside it"],
    )
    .await;
    std::fs::write(folder.path().join("next.wasm.sig"), signed(&ours)).expect("a file");
    let fetched = sources.of_spec(&spec).await.expect("a module");
    assert_eq!(fetched.signed_by.len(), 1);
    std::fs::write(&path, b"\0asm: another").expect("a file");
    refused(&sources, &spec, &["not of this key over these bytes"]).await;
}

/// After a restart the rule may be another than when it was kept.
#[tokio::test]
async fn a_kept_copy_is_judged_by_the_rule_of_today() {
    let (ours, theirs) = (key(), key());
    let wanted = wanted(&from_map()).expect("a spec");
    let proof = Some(Proof::Detached(signed(&ours)));
    let server = ApiServer::default();
    for (key, proof, is_used) in [
        (None, None, true),
        (Some(public(&ours)), proof.clone(), true),
        (Some(public(&ours)), None, false),
        (Some(public(&theirs)), proof, false),
    ] {
        let kept = sources(&server, key)
            .kept(&wanted, MODULE.to_vec(), proof)
            .await;
        assert_eq!(kept.is_ok(), is_used, "{kept:?}");
    }
}

#[tokio::test]
async fn a_pull_secret_that_is_not_there_is_told_and_one_that_is_none_without_a_word_of_it() {
    let other = object(
        "Secret",
        "other",
        &json!({"data": {"password": STANDARD.encode("hunter2")}}),
    );
    let broken = object(
        "Secret",
        "broken",
        &json!({"data": {".dockerconfigjson": STANDARD.encode("hunter2")}}),
    );
    let server = ApiServer::default()
        .answering("GET", "/api/v1/namespaces/infra/secrets/other", 200, other)
        .answering(
            "GET",
            "/api/v1/namespaces/infra/secrets/broken",
            200,
            broken,
        );
    let sources = sources(&server, None);
    for (name, words) in [
        ("nobody", "there is no Secret nobody"),
        (
            "other",
            "the Secret other has no key .dockerconfigjson; it has password",
        ),
        ("broken", "no docker configuration"),
    ] {
        let oci = json!({"reference": "registry.example/m:1", "pullSecret": name});
        let spec = spec(&json!({ "oci": oci }));
        refused(&sources, &spec, &[words]).await;
        let refused = sources.of_spec(&spec).await.expect_err("a refusal");
        assert!(!Chain(&refused).to_string().contains("hunter2"));
    }
}

/// Whom to trust is the operator's to say, and nobody else's.
#[tokio::test]
async fn an_identity_is_asked_for_by_the_operator_or_a_spec_and_judged_by_the_operator_s_roots() {
    let sigstore = fulcio::Sigstore::new();
    let (issuer, subject) = ("https://accounts.example", "release@example.com");
    let bundle = sigstore.sign(issuer, subject, MODULE).blob(&sigstore);
    let server = server(&json!({"reconciler.wasm.sig": bundle}));
    let identity = |subject: &str| Identity {
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
    };
    let sources = |wanted: Option<&str>, trusts: bool| Sources {
        policy: Policy {
            key: None,
            identity: wanted.map(identity),
            roots: trusts.then(|| Roots::parse(&sigstore.trusted_root()).expect("roots")),
        },
        ..sources(&server, None)
    };
    let asking = |subject: &str| {
        let mut spec = from_map();
        spec["signature"] = json!({"identity": {"issuer": issuer, "subject": subject}});
        spec
    };
    let (of_operator, of_spec) = (sources(Some(subject), true), sources(None, true));
    for (sources, spec) in [
        (of_operator, from_map()),
        (of_spec.clone(), asking(subject)),
    ] {
        let fetched = sources.of_spec(&spec).await.expect("a module");
        assert_eq!(
            fetched.signed_by,
            ["release@example.com by https://accounts.example"]
        );
    }
    let mallory = "mallory@example.com";
    let words = ["--module-signature-subject", "identity mismatch", mallory];
    refused(&sources(Some(mallory), true), &from_map(), &words).await;
    let words = ["spec.signature", "identity mismatch", mallory];
    refused(&of_spec, &asking(mallory), &words).await;
    let words = [subject, "--module-signature-trusted-root"];
    refused(&sources(None, false), &asking(subject), &words).await;
    let unsigned = self::server(&json!({}));
    let unsigned = Sources {
        client: unsigned.client(),
        ..of_spec
    };
    refused(&unsigned, &asking(subject), &["no signature beside it"]).await;
}
