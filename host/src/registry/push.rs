//! Pushes a module as a wasm artifact: its bytes, a configuration, a manifest.
//!
//! The same bytes give the same manifest, whoever pushes them and when.

use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Body, Method, Request, Response};
use serde_json::json;

use super::artifact::LAYERS;
use super::pull::within;
use super::{Access, Error, MANIFEST, Reference, Repository, Right};
use crate::module::{EXPORTS, digest};

/// How long all of it may take.
const WITHIN: Duration = Duration::from_secs(300);
/// Media type of what is said of a module.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// What was pushed.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Registry, repository and the digest of the manifest.
    pub artifact: String,
    /// The digest of the manifest.
    pub manifest: String,
}

/// Pushes a module's bytes to a reference.
///
/// # Errors
/// The registry does not take it within the time.
pub async fn push(reference: &Reference, access: Access, module: Vec<u8>) -> Result<Pushed, Error> {
    let layer = digest(&module);
    let config = json!({
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer],
        "component": {"exports": EXPORTS, "imports": []},
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest(&config), "size": config.len()},
        "layers": [{"mediaType": LAYERS[0], "digest": layer, "size": module.len()}],
    });
    let manifest = manifest.to_string().into_bytes();
    let name = digest(&manifest);
    within(reference, WITHIN, async {
        let mut repository = Repository::open(reference, access)?;
        for blob in [module, config] {
            repository.put_blob(blob).await?;
        }
        let version = reference.tag().unwrap_or(&name);
        repository.put_manifest(version, manifest).await
    })
    .await?;
    Ok(Pushed {
        artifact: reference.at(&name),
        manifest: name,
    })
}

impl Repository {
    async fn put_blob(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        let name = digest(&bytes);
        let mut begin = self.request(Method::POST, "blobs/uploads/")?;
        begin
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let begun = self.written(begin, &name).await?;
        let place = begun.headers().get(LOCATION);
        let place = place.and_then(|place| place.to_str().ok());
        let mut place = place
            .and_then(|place| begun.url().join(place).ok())
            .ok_or_else(|| Error::Answered {
                registry: self.reference.registry().to_owned(),
                what: name.clone(),
                status: begun.status().as_u16(),
                said: "without a place to put it".to_owned(),
            })?;
        place.query_pairs_mut().append_pair("digest", &name);
        let put = with_body(
            Request::new(Method::PUT, place),
            "application/octet-stream",
            bytes,
        );
        self.written(put, &name).await.map(drop)
    }

    async fn put_manifest(&mut self, version: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let put = self.request(Method::PUT, &format!("manifests/{version}"))?;
        let put = with_body(put, MANIFEST, bytes);
        self.written(put, version).await.map(drop)
    }

    async fn written(&mut self, request: Request, what: &str) -> Result<Response, Error> {
        let response = self.send(request, Right::Write).await?;
        if super::is_denial(response.status()) {
            return Err(self.denied(Right::Write));
        }
        self.judged(response, &self.reference.at(what)).await
    }
}

fn with_body(mut request: Request, kind: &'static str, bytes: Vec<u8>) -> Request {
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    *request.body_mut() = Some(Body::from(bytes));
    request
}
