//! Registries that are slow, that lie, that want a login, and that have something else, asked within this process. Real ones
//! are asked in the suite `registry`, those without an end in the suite `hostile`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response as Answer};
use base64::Engine as _;
use oci_client::manifest::OCI_IMAGE_MEDIA_TYPE as MANIFEST;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::pull::{pull, resolve, within};
use super::*;
use crate::module::{MODULE_LIMIT, digest};

const MODULE: &[u8] = b"\0asm: a module";

/// Answers whatever `answer` says, at the address that it gives.
async fn serve<F>(answer: F) -> String
where
    F: Fn(String, HeaderMap) -> Answer + Clone + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let fallback = async move |uri: Uri, headers: HeaderMap| answer(uri.to_string(), headers);
    let app = Router::new().fallback(fallback);
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn manifest(layer: Value) -> Vec<u8> {
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]})
        .to_string()
        .into_bytes()
}

fn layer(module: &[u8], size: u64) -> Value {
    json!({"mediaType": "application/wasm", "digest": digest(module), "size": size})
}

fn good() -> Vec<u8> {
    manifest(layer(MODULE, MODULE.len() as u64))
}

/// A registry with this manifest under every name, and this blob.
async fn registry(manifest: Vec<u8>, blob: &'static [u8]) -> String {
    serve(move |path, _| {
        if path.contains("/manifests/") {
            manifest.clone().into_response()
        } else if path.contains("/referrers/") {
            StatusCode::NOT_FOUND.into_response()
        } else {
            blob.into_response()
        }
    })
    .await
}

fn reference(address: &str, rest: &str) -> Reference {
    let text = format!("{address}/team/module{rest}");
    text.parse().expect("a reference")
}

fn plain(login: Option<Login>) -> Access {
    Access {
        plain_http: true,
        login,
    }
}

async fn refused(address: &str, rest: &str, words: &[&str]) {
    let refused = pull(&reference(address, rest), plain(None), None, false).await;
    let refused = refused.expect_err("a refusal").to_string();
    for word in words {
        assert!(refused.contains(word), "{word:?} is not in: {refused}");
    }
}

/// Bytes without an end, of which nobody says how many they are.
fn endless() -> Answer {
    let zeros =
        futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[0; 4096])));
    Body::from_stream(zeros).into_response()
}

#[tokio::test]
async fn a_module_is_pulled_by_tag_and_by_digest() {
    let manifest = good();
    let name = digest(&manifest);
    let address = registry(manifest, MODULE).await;
    for rest in [":1".to_owned(), format!("@{name}")] {
        let reference = reference(&address, &rest);
        let pulled = pull(&reference, plain(None), Some(&digest(MODULE)), true).await;
        let pulled = pulled.expect("a module");
        assert_eq!(pulled.bytes, MODULE);
        assert_eq!(pulled.artifact, format!("{address}/team/module@{name}"));
        let resolved = resolve(&reference, plain(None)).await.expect("a digest");
        assert_eq!(resolved, name);
    }
}

/// Not a byte of it may be fetched: whoever names it may name it every minute.
#[tokio::test]
async fn ten_gigabytes_and_another_module_are_refused_before_they_are_fetched() {
    for (manifest, words) in [
        (manifest(layer(MODULE, 10 << 30)), "10737418240 bytes"),
        (good(), "and the spec asks for sha256:0"),
    ] {
        let blobs = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&blobs);
        let address = serve(move |path, _| {
            if path.contains("/manifests/") {
                return manifest.clone().into_response();
            }
            asked.fetch_add(usize::from(path.contains("/blobs/")), Ordering::Relaxed);
            endless()
        })
        .await;
        let wanted = format!("sha256:{}", "0".repeat(64));
        let reference = reference(&address, ":1");
        let refused = pull(&reference, plain(None), Some(&wanted), false).await;
        let refused = refused.expect_err("a refusal").to_string();
        assert!(refused.contains(words), "{words:?} is not in: {refused}");
        assert_eq!(blobs.load(Ordering::Relaxed), 0, "a blob was asked for");
    }
}

/// Memory is what the operator has least of.
#[tokio::test]
async fn a_registry_that_sends_without_an_end_is_cut_off() {
    let address = serve(|path, _| {
        if path.contains("/manifests/") {
            return good().into_response();
        }
        endless()
    })
    .await;
    let limit = format!("more than the {} bytes", MODULE.len());
    refused(&address, ":1", &[&digest(MODULE), &limit]).await;
    let large = vec![b' '; (256 << 10) + 1];
    let address = registry(large, MODULE).await;
    let limit = "team/module:1 has more than the 262144 bytes";
    refused(&address, ":1", &[limit]).await;
}

#[tokio::test]
async fn a_registry_that_lies_about_a_digest_is_told() {
    let address = registry(good(), b"\0asm: A MODULE").await;
    refused(
        &address,
        ":1",
        &[
            "the registry lies",
            &digest(MODULE),
            &digest(b"\0asm: A MODULE"),
        ],
    )
    .await;
    let other = format!("@{}", digest(b"another manifest"));
    let address = registry(good(), MODULE).await;
    refused(&address, &other, &["the registry lies", &digest(&good())]).await;
}

#[tokio::test]
async fn what_is_no_module_is_refused_by_what_it_is() {
    let image = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest(b"x"), "size": 1});
    let packed = json!({"mediaType": "application/wasm+zstd", "digest": digest(b"x"), "size": 1});
    let sha512 = json!({"mediaType": "application/wasm", "digest": "sha512:00", "size": 1});
    let config = json!({"mediaType": "application/json", "digest": digest(b"x"), "size": 1});
    let with = |layers: Value| json!({"schemaVersion": 2, "config": config, "layers": layers});
    let two = with(json!([layer(MODULE, 1), layer(MODULE, 1)])).to_string();
    let none = with(json!([])).to_string();
    let other = json!({"mediaType": MANIFEST, "digest": digest(b"x"), "size": 1});
    let index = json!({"schemaVersion": 2, "manifests": [other]}).to_string();
    for (manifest, words) in [
        (manifest(image), "tar+gzip"),
        (manifest(packed), "not compressed"),
        (manifest(sha512), "sha256"),
        (two.into_bytes(), "2 layers"),
        (none.into_bytes(), "0 layers"),
        (index.into_bytes(), "index of 1 manifests"),
        (b"<!DOCTYPE html>".to_vec(), "none of OCI"),
        (b"{}".to_vec(), "none of OCI"),
        (b"7".to_vec(), "none of OCI"),
    ] {
        let address = registry(manifest, MODULE).await;
        let said = ["team/module:1 is no module", words, "binnacle module push"];
        refused(&address, ":1", &said).await;
    }
    let larger = manifest(layer(MODULE, MODULE_LIMIT as u64 + 1));
    let address = registry(larger, MODULE).await;
    refused(&address, ":1", &["bytes that it may have"]).await;
}

#[tokio::test]
async fn a_registry_that_is_away_or_has_nothing_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    refused(
        &address,
        ":1",
        &[
            &format!("the registry {address} cannot be reached"),
            "refused",
        ],
    )
    .await;
    let nothing = |_: String, _: HeaderMap| StatusCode::NOT_FOUND.into_response();
    let address = serve(nothing).await;
    refused(
        &address,
        ":1",
        &["there is no", "team/module:1 in the registry"],
    )
    .await;
    let busy =
        |_: String, _: HeaderMap| (StatusCode::TOO_MANY_REQUESTS, "slow down\n").into_response();
    let address = serve(busy).await;
    refused(&address, ":1", &["answers 429", "slow down"]).await;
}

#[tokio::test]
async fn a_registry_that_never_ends_its_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let reference = reference(&address, ":1");
    let limit = Duration::from_millis(100);
    let asked = within(&reference, limit, resolve(&reference, plain(None))).await;
    let refused = asked.expect_err("a refusal").to_string();
    assert!(
        refused.contains("too slow") && refused.contains("100ms"),
        "{refused}"
    );
    drop(listener);
}

/// A token for who logs in, and nothing of the login in what is told.
#[tokio::test]
async fn a_login_is_shown_to_a_registry_that_asks_for_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let realm = format!("Bearer realm=\"http://{address}/token\",service=\"test\"");
    let answer = async move |uri: Uri, headers: HeaderMap| {
        let told = headers.get(AUTHORIZATION);
        let told = told.and_then(|told| told.to_str().ok()).unwrap_or_default();
        if uri.path() == "/token" {
            let basic = base64::engine::general_purpose::STANDARD.encode("reader:hunter2");
            let query = uri.query().unwrap_or_default();
            assert!(query.contains("service=test"), "{query}");
            assert!(
                query.contains("scope=repository%3Ateam%2Fmodule%3Apull"),
                "{query}"
            );
            return if told == format!("Basic {basic}") {
                axum::Json(json!({"token": "ticket"})).into_response()
            } else {
                StatusCode::UNAUTHORIZED.into_response()
            };
        }
        if told != "Bearer ticket" {
            return (
                StatusCode::UNAUTHORIZED,
                [(WWW_AUTHENTICATE, realm.clone())],
            )
                .into_response();
        }
        if uri.path().contains("/manifests/") {
            return good().into_response();
        }
        MODULE.into_response()
    };
    let app = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let reference = reference(&address, ":1");
    let login = |password: &str| {
        let entry = json!({"username": "reader", "password": password});
        let file = json!({"auths": {address.clone(): entry}}).to_string();
        Login::find(file.as_bytes(), &reference).expect("a login")
    };
    let pulled = pull(&reference, plain(login("hunter2")), None, false).await;
    assert_eq!(pulled.expect("a module").bytes, MODULE);
    for (login, words) in [(login("wrong-one"), "by reader"), (None, "without a login")] {
        let refused = pull(&reference, plain(login), None, false).await;
        let refused = refused.expect_err("a refusal").to_string();
        assert!(
            refused.contains("may not be read") && refused.contains(words),
            "{refused}"
        );
        assert!(
            refused.contains("pullSecret") && !refused.contains("wrong-one"),
            "{refused}"
        );
    }
}

/// Whoever takes uploads for a registry has no business with its logins.
#[tokio::test]
async fn an_upload_that_is_sent_elsewhere_goes_without_the_login() {
    let seen = Arc::new(AtomicUsize::new(0));
    let (uploads, logins) = (Arc::clone(&seen), Arc::new(AtomicUsize::new(0)));
    let shown = Arc::clone(&logins);
    let elsewhere = serve(move |_, headers| {
        uploads.fetch_add(1, Ordering::Relaxed);
        shown.fetch_add(
            usize::from(headers.contains_key(AUTHORIZATION)),
            Ordering::Relaxed,
        );
        (StatusCode::CREATED, [(LOCATION, "/there")]).into_response()
    })
    .await;
    let place = format!("http://{elsewhere}/upload");
    let address = serve(move |path, headers| {
        if !headers.contains_key(AUTHORIZATION) {
            let challenge = [(WWW_AUTHENTICATE, "Basic realm=\"test\"")];
            return (StatusCode::UNAUTHORIZED, challenge).into_response();
        }
        if path.ends_with("/uploads/") {
            let location = [(LOCATION, place.clone())];
            return (StatusCode::ACCEPTED, location).into_response();
        }
        (StatusCode::CREATED, [(LOCATION, "/there")]).into_response()
    })
    .await;
    let reference = reference(&address, ":1");
    let entry = json!({"username": "writer", "password": "hunter2"});
    let file = json!({"auths": {address: entry}}).to_string();
    let login = Login::find(file.as_bytes(), &reference).expect("a login");
    push(&reference, plain(login), MODULE.to_vec())
        .await
        .expect("it is taken");
    assert_eq!(
        seen.load(Ordering::Relaxed),
        2,
        "the module and what is said of it"
    );
    assert_eq!(
        logins.load(Ordering::Relaxed),
        0,
        "the login was shown elsewhere"
    );
}
