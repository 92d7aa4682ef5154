//! Registries that mean harm: each ends the process that asks it, or less, and never the one that wants a module.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use host::module::{MODULE_LIMIT, digest};
use host::registry::{Access, Error, Pulled, Reference, SideProcess};
use serde_json::json;
use tests::sealed::sealed;
use tokio::net::TcpListener;

/// What is said of an answer that has no end.
const ENDLESS: &str = "took more than the 96 MiB of memory that it may take";

/// Bytes of one kind without an end, of which nobody says how many they are.
fn endless(byte: u8) -> Response {
    let piece = Bytes::from(vec![byte; 64 << 10]);
    let pieces = futures::stream::repeat_with(move || Ok::<_, Infallible>(piece.clone()));
    Body::from_stream(pieces).into_response()
}

/// Asks the registry that answers so for a module.
async fn asked(
    answer: impl Fn(&str, &str) -> Response + Clone + Send + Sync + 'static,
) -> Result<Pulled, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let itself = address.clone();
    let app = Router::new().fallback(async move |uri: Uri| answer(uri.path(), &itself));
    let served = tokio::spawn(async move { axum::serve(listener, app).await });
    let reference = format!("{address}/hostile/module:1");
    let reference: Reference = reference.parse().expect("a reference");
    let access = Access {
        plain_http: true,
        login: None,
    };
    let aside = SideProcess::of(sealed().binary.clone());
    let pulled = aside.pull(&reference, access, None, true).await;
    served.abort();
    pulled
}

/// What a person is told of such a registry.
async fn told(answer: impl Fn(&str, &str) -> Response + Clone + Send + Sync + 'static) -> String {
    let refused = asked(answer).await;
    refused.expect_err("it is refused").to_string()
}

fn manifest(module: &[u8]) -> String {
    let layer =
        json!({"mediaType": "application/wasm", "digest": digest(module), "size": module.len()});
    let config = json!({"mediaType": "application/json", "digest": digest(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]});
    manifest.to_string()
}

fn absent() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

/// The library that asks reads each of these whole.
#[tokio::test]
async fn a_manifest_an_error_a_token_and_a_list_without_an_end_end_the_process_that_asks() {
    let module = b"\0asm: a module".as_slice();
    let found = told(|path, _| match path {
        "/v2/" => ().into_response(),
        _ => endless(b' '),
    })
    .await;
    assert!(found.contains(ENDLESS), "a manifest: {found}");
    let found = told(|path, _| match path {
        "/v2/" => ().into_response(),
        _ => (StatusCode::BAD_GATEWAY, endless(b'x')).into_response(),
    })
    .await;
    assert!(found.contains(ENDLESS), "an error: {found}");
    let found = told(|path, address| {
        if path == "/token" {
            return endless(b'"');
        }
        let challenge = format!("Bearer realm=\"http://{address}/token\"");
        (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response()
    })
    .await;
    assert!(found.contains(ENDLESS), "a token: {found}");
    let found = told(move |path, _| match path {
        "/v2/" => ().into_response(),
        "/v2/hostile/module/manifests/1" => manifest(module).into_response(),
        path if path.contains("/blobs/") => module.into_response(),
        path if path.contains("/referrers/") => endless(b'['),
        _ => absent(),
    })
    .await;
    assert!(found.contains(ENDLESS), "a list of signatures: {found}");
}

/// The memory that there is must do for what is meant well.
#[tokio::test]
async fn the_largest_module_that_there_may_be_is_pulled() {
    let module = Bytes::from(vec![0x5a; MODULE_LIMIT]);
    let (layer, served) = (manifest(&module), module.clone());
    let pulled = asked(move |path, _| match path {
        "/v2/" => ().into_response(),
        "/v2/hostile/module/manifests/1" => layer.clone().into_response(),
        path if path.contains("/blobs/") => served.clone().into_response(),
        _ => absent(),
    })
    .await;
    let pulled = pulled.expect("a module");
    assert!(pulled.bytes == module, "it is another");
}

/// What is read piece by piece is cut off where it is too long.
#[tokio::test]
async fn a_layer_without_an_end_is_cut_off() {
    let found = told(|path, _| match path {
        "/v2/" => ().into_response(),
        "/v2/hostile/module/manifests/1" => manifest(b"\0asm: a module").into_response(),
        _ => endless(0),
    })
    .await;
    assert!(found.contains("has more than the 14 bytes"), "{found}");
}

/// A parser of nested lists must not be led so deep that it ends in silence.
#[tokio::test]
async fn a_manifest_of_nested_lists_and_a_token_that_is_no_header_are_refused() {
    let found = told(|path, _| match path {
        "/v2/" => ().into_response(),
        _ => "[".repeat(200 << 10).into_response(),
    })
    .await;
    assert!(found.contains("is no module"), "{found}");
    let found = told(|path, address| {
        if path == "/token" {
            return json!({"token": "a\nb"}).to_string().into_response();
        }
        let challenge = format!("Bearer realm=\"http://{address}/token\"");
        (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response()
    })
    .await;
    assert!(found.contains("gave no answer"), "{found}");
}

/// A login is in no command line and no environment, which other processes can read.
#[test]
fn the_process_that_asks_wants_its_question_on_standard_input() {
    let asked = std::process::Command::new(&sealed().binary)
        .args(["module", "fetch"])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(
        !asked.status.success() && said.contains("standard input holds no question"),
        "{said}"
    );
}
