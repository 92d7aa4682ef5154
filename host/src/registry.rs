//! One repository of an OCI registry: its manifests and blobs, read and written within bounds of size and time.
//!
//! Knows nothing of what modules do. Believes no registry: every answer is read to a limit, and what has a digest for a name is
//! hashed. Client libraries of today read manifests, tokens and errors whole, however long they are.

mod artifact;
mod authorization;
mod challenge;
mod failure;
mod login;
mod pull;
mod push;
mod reference;
mod signatures;

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};

pub(crate) use artifact::module_layer;
pub use failure::Error;
pub use login::Login;
pub use pull::{Pulled, pull, resolve};
pub use push::{Pushed, push};
pub use reference::Reference;

use challenge::Challenge;

use crate::module::digest;

/// Media type of a manifest.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Those that registries answer with, so that what is no artifact can be told by its kind.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";
/// A manifest of one layer has less than a kilobyte.
const MANIFEST_LIMIT: u64 = 256 << 10;
/// What a registry says of an error, and a token.
const WORDS_LIMIT: u64 = 64 << 10;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a registry may be silent before or within an answer.
const SILENCE: Duration = Duration::from_secs(10);

/// How a registry is reached.
#[derive(Clone, Default)]
pub struct Access {
    /// Without TLS.
    pub plain_http: bool,
    /// Who asks; nobody in particular without it.
    pub login: Option<Login>,
}

/// What is to be allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Read,
    Write,
}

/// A repository that can be asked.
struct Repository {
    http: Client,
    reference: Reference,
    access: Access,
    authorization: Option<HeaderValue>,
}

impl Repository {
    fn open(reference: &Reference, access: Access) -> Result<Self, Error> {
        // Whoever installed one before installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Client::builder()
            .user_agent(concat!("binnacle/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            // A redirection, too, must not lead to where everybody reads the token.
            .https_only(!access.plain_http);
        if access.plain_http {
            // Authorities take time and memory, and nobody is judged by them.
            http = http.tls_certs_only([]);
        }
        Ok(Self {
            http: http
                .build()
                .map_err(|source| Error::of(reference, SILENCE, source))?,
            reference: reference.clone(),
            access,
            authorization: None,
        })
    }

    /// A manifest by tag or digest, and its digest.
    async fn manifest(&mut self, version: &str) -> Result<(String, Vec<u8>), Error> {
        let what = self.reference.at(version);
        let response = self.get(&format!("manifests/{version}"), &what).await?;
        let bytes = self.read(response, MANIFEST_LIMIT, &what).await?;
        let found = digest(&bytes);
        if version.starts_with("sha256:") && version != found {
            return Err(Error::Lying { what, found });
        }
        Ok((found, bytes))
    }

    /// The digest that a tag or digest leads to, by the registry's word alone.
    async fn resolve(&mut self, version: &str) -> Result<String, Error> {
        let what = self.reference.at(version);
        let mut request = self.request(Method::HEAD, &format!("manifests/{version}"))?;
        accept_manifests(&mut request);
        let response = self.send(request, Right::Read).await?;
        let response = self.judged(response, &what).await?;
        let told = response.headers().get("docker-content-digest");
        match told.and_then(|told| told.to_str().ok()) {
            Some(told) if told.starts_with("sha256:") => Ok(told.to_owned()),
            // Not every registry tells it beforehand.
            Some(_) | None => Ok(self.manifest(version).await?.0),
        }
    }

    /// A blob of this digest and size.
    async fn blob(&mut self, name: &str, size: u64) -> Result<Vec<u8>, Error> {
        let what = self.reference.at(name);
        let response = self.get(&format!("blobs/{name}"), &what).await?;
        let bytes = self.read(response, size, &what).await?;
        let found = digest(&bytes);
        if found != name {
            return Err(Error::Lying { what, found });
        }
        Ok(bytes)
    }

    async fn get(&mut self, path: &str, what: &str) -> Result<Response, Error> {
        let mut request = self.request(Method::GET, path)?;
        if path.starts_with("manifests/") {
            accept_manifests(&mut request);
        }
        let response = self.send(request, Right::Read).await?;
        self.judged(response, what).await
    }

    fn url(&self, path: &str) -> Result<Url, Error> {
        let scheme = if self.access.plain_http {
            "http"
        } else {
            "https"
        };
        let (host, repository) = (self.reference.host(), self.reference.repository());
        let text = format!("{scheme}://{host}/v2/{repository}/{path}");
        Url::parse(&text).map_err(|_| Error::Reference {
            text,
            why: "it gives no address to ask",
        })
    }

    fn request(&self, method: Method, path: &str) -> Result<Request, Error> {
        Ok(Request::new(method, self.url(path)?))
    }

    /// Asks, and asks again with what the registry wants to see first.
    async fn send(&mut self, mut request: Request, right: Right) -> Result<Response, Error> {
        // Where a registry sends an upload to may be somebody else, who has no business with the login.
        let is_at_home = request.url().origin() == self.url("")?.origin();
        let again = request.try_clone().filter(|_| is_at_home);
        if let Some(authorization) = self.authorization.as_ref().filter(|_| is_at_home) {
            let authorization = authorization.clone();
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let response = self.execute(request).await?;
        let Some(mut again) = again.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        else {
            return Ok(response);
        };
        let headers = response.headers().get_all(WWW_AUTHENTICATE);
        let challenge = headers
            .iter()
            .filter_map(|header| Challenge::parse(header.to_str().ok()?))
            .next();
        let Some(challenge) = challenge else {
            return Ok(response);
        };
        let authorization = self.authorize(challenge, right).await?;
        let headers = again.headers_mut();
        headers.insert(AUTHORIZATION, authorization.clone());
        self.authorization = Some(authorization);
        self.execute(again).await
    }

    async fn execute(&self, request: Request) -> Result<Response, Error> {
        let answer = self.http.execute(request).await;
        answer.map_err(|source| Error::of(&self.reference, SILENCE, source))
    }

    /// An answer of the 200s; any other in words.
    async fn judged(&self, response: Response, what: &str) -> Result<Response, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if is_denial(status) {
            return Err(self.denied(Right::Read));
        }
        if status == StatusCode::NOT_FOUND {
            return Err(Error::Absent {
                what: what.to_owned(),
            });
        }
        let said = self.read(response, WORDS_LIMIT, what).await;
        let said = String::from_utf8_lossy(&said.unwrap_or_default())
            .chars()
            .filter(|letter| !letter.is_control())
            .take(200)
            .collect();
        Err(Error::Answered {
            registry: self.reference.registry().to_owned(),
            what: what.to_owned(),
            status: status.as_u16(),
            said,
        })
    }

    /// An answer's body of at most `limit` bytes.
    async fn read(&self, mut response: Response, limit: u64, what: &str) -> Result<Vec<u8>, Error> {
        let too_large = || Error::TooLarge {
            what: what.to_owned(),
            limit,
        };
        if response.content_length().is_some_and(|told| told > limit) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = response.chunk().await;
            match chunk.map_err(|source| Error::of(&self.reference, SILENCE, source))? {
                Some(chunk) if (bytes.len() + chunk.len()) as u64 > limit => {
                    return Err(too_large());
                }
                Some(chunk) => bytes.extend_from_slice(&chunk),
                None => return Ok(bytes),
            }
        }
    }
}

const fn is_denial(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn accept_manifests(request: &mut Request) {
    let accepted = HeaderValue::from_static(MANIFESTS);
    request.headers_mut().insert(ACCEPT, accepted);
}

#[cfg(test)]
mod tests;
