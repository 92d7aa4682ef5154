//! A repository as the library asks for it: manifests, blobs, and what became of a question in words.
//!
//! Bounds what it keeps, and not what the library reads: whoever opens one for a registry that is not its own does so in a
//! process of its own.

use std::time::Duration;

use futures::StreamExt as _;
use oci_client::Client;
use oci_client::RegistryOperation;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
};
use oci_client::secrets::RegistryAuth;

use super::reference::is_digest;
use super::{Access, Error, Login, Reference};
use crate::module::digest;

/// Those that registries answer with, so that what is no artifact can be told by its kind.
const MANIFESTS: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];
/// A manifest of one layer has less than a kilobyte, and one of signatures a few for each.
const MANIFEST_LIMIT: u64 = 256 << 10;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a registry may be silent before or within an answer.
const SILENCE: Duration = Duration::from_secs(10);
/// As much of what a registry says of an error is told.
const LETTERS: usize = 200;
/// A proxy that nobody has.
const NOWHERE: &str = "http://0.0.0.0:0";

/// A repository that can be asked.
pub(super) struct Repository {
    pub(super) client: Client,
    auth: RegistryAuth,
    reference: Reference,
    by: String,
    right: RegistryOperation,
}

impl Repository {
    /// One that may be read or written, by the registry's word.
    pub(super) async fn open(
        reference: &Reference,
        access: Access,
        right: RegistryOperation,
    ) -> Result<Self, Error> {
        // Whoever installed one before installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (by, auth) = match &access.login {
            Some(login) => (format!("by {}", login.user()), login.auth()),
            None => ("without a login".to_owned(), RegistryAuth::Anonymous),
        };
        let client = Client::try_from(config(access.plain_http));
        let repository = Self {
            client: client.map_err(|error| Error::Unreachable {
                registry: reference.registry().to_owned(),
                why: error.to_string(),
            })?,
            auth,
            reference: reference.clone(),
            by,
            right,
        };
        // Asked for before anything else: later on, the library takes a token that is not given for one that is not needed.
        let named = repository.at(reference.version());
        let token = repository.client.auth(&named, &repository.auth, right);
        let what = reference.to_string();
        let token = token.await;
        token.map_err(|error| repository.failure(&what, error))?;
        Ok(repository)
    }

    /// The same repository at a tag or digest, as the library names it.
    pub(super) fn at(&self, version: &str) -> oci_client::Reference {
        let registry = self.reference.registry().to_owned();
        let repository = self.reference.repository().to_owned();
        if is_digest(version) {
            oci_client::Reference::with_digest(registry, repository, version.to_owned())
        } else {
            oci_client::Reference::with_tag(registry, repository, version.to_owned())
        }
    }

    /// The same in words.
    pub(super) fn in_words(&self, version: &str) -> String {
        self.reference.at(version)
    }

    /// A manifest by tag or digest, and its digest.
    pub(super) async fn manifest(&self, version: &str) -> Result<(String, Vec<u8>), Error> {
        let what = self.in_words(version);
        let named = self.at(version);
        let found = self
            .client
            .pull_manifest_raw(&named, &self.auth, &MANIFESTS);
        let (bytes, _) = found.await.map_err(|error| self.failure(&what, error))?;
        if bytes.len() as u64 > MANIFEST_LIMIT {
            let limit = MANIFEST_LIMIT;
            return Err(Error::TooLarge { what, limit });
        }
        Ok((digest(&bytes), bytes.into()))
    }

    /// The digest that a tag or digest leads to, by the registry's word alone.
    pub(super) async fn resolve(&self, version: &str) -> Result<String, Error> {
        let what = self.in_words(version);
        let named = self.at(version);
        let told = self.client.fetch_manifest_digest(&named, &self.auth).await;
        let told = told.map_err(|error| self.failure(&what, error))?;
        if is_digest(&told) {
            return Ok(told);
        }
        Ok(self.manifest(version).await?.0)
    }

    /// A blob of this digest and size.
    pub(super) async fn blob(&self, name: &str, size: u64) -> Result<Vec<u8>, Error> {
        let what = self.in_words(name);
        let named = self.at(name);
        let found = self.client.pull_blob_stream(&named, name).await;
        let mut found = found.map_err(|error| self.failure(&what, error))?;
        let too_large = |what| Err(Error::TooLarge { what, limit: size });
        if found.content_length.is_some_and(|told| told > size) {
            return too_large(what);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        while let Some(piece) = found.stream.next().await {
            let piece = piece.map_err(|error| self.failure(&what, error.into()))?;
            if (bytes.len() + piece.len()) as u64 > size {
                return too_large(what);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// What became of a question, for the person who wrote the reference.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what else can go wrong is told in the library's words"
    )]
    pub(super) fn failure(&self, what: &str, error: OciDistributionError) -> Error {
        let answered = |code: String, said: &str| Error::Answered {
            registry: self.reference.registry().to_owned(),
            what: what.to_owned(),
            code,
            said: beginning(said),
        };
        let absent = || Error::Absent {
            what: what.to_owned(),
        };
        match error {
            OciDistributionError::RequestError(source) => self.unreachable(&source),
            OciDistributionError::IoError(error) => self.broken(what, &error),
            OciDistributionError::DigestError(error) => lying(what, &error),
            // A token that is none would let nobody in.
            OciDistributionError::AuthenticationFailure(_)
            | OciDistributionError::RegistryTokenDecodeError(_)
            | OciDistributionError::UnauthorizedError { .. } => self.denied(),
            OciDistributionError::ServerError { code, message, .. } => match code {
                401 | 403 => self.denied(),
                404 => absent(),
                code => answered(code.to_string(), &message),
            },
            OciDistributionError::RegistryError { envelope, .. } => match envelope.errors.first() {
                Some(first) if is_denial(&first.code) => self.denied(),
                Some(first) if is_absence(&first.code) => absent(),
                Some(first) => answered(format!("{:?}", first.code), &first.message),
                None => answered("with an error".to_owned(), "it does not say which"),
            },
            other => answered("with an error".to_owned(), &other.to_string()),
        }
    }

    /// What ended a stream of bytes; the library packs its causes up.
    fn broken(&self, what: &str, error: &std::io::Error) -> Error {
        let cause = error.get_ref();
        if let Some(source) = cause.and_then(|cause| cause.downcast_ref::<reqwest::Error>()) {
            return self.unreachable(source);
        }
        match cause.and_then(|cause| cause.downcast_ref::<DigestError>()) {
            Some(error) => lying(what, error),
            None => Error::Unreachable {
                registry: self.reference.registry().to_owned(),
                why: error.to_string(),
            },
        }
    }

    fn unreachable(&self, source: &reqwest::Error) -> Error {
        Error::of(&self.reference, SILENCE, source)
    }

    /// That it may not be done by who asked.
    fn denied(&self) -> Error {
        Error::Denied {
            repository: self.reference.name(),
            verb: match self.right {
                RegistryOperation::Pull => "read".to_owned(),
                RegistryOperation::Push => "written".to_owned(),
            },
            by: self.by.clone(),
        }
    }
}

impl Login {
    fn auth(&self) -> RegistryAuth {
        RegistryAuth::Basic(self.user().to_owned(), self.password().to_owned())
    }
}

fn config(plain_http: bool) -> ClientConfig {
    let config = ClientConfig {
        use_monolithic_push: true,
        platform_resolver: None,
        read_timeout: Some(SILENCE),
        connect_timeout: Some(CONNECT),
        user_agent: concat!("binnacle/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    };
    if plain_http {
        return ClientConfig {
            protocol: ClientProtocol::Http,
            ..config
        };
    }
    let https = variable(["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]);
    let except = variable(["NO_PROXY", "no_proxy"]).filter(|_| https.is_some());
    with_tls(config, https, except)
}

/// Neither a redirection nor the place that gives out tokens may lead to where everybody reads a login, and the library has no
/// other way to forbid it than a proxy that nobody has. Told of that one, it has to be told of the environment's.
fn with_tls(config: ClientConfig, proxy: Option<String>, except: Option<String>) -> ClientConfig {
    ClientConfig {
        protocol: ClientProtocol::Https,
        http_proxy: Some(NOWHERE.to_owned()),
        https_proxy: proxy,
        no_proxy: except,
        ..config
    }
}

/// The first of these that is set in the environment.
fn variable<const N: usize>(names: [&str; N]) -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    names.into_iter().find_map(set)
}

fn lying(what: &str, error: &DigestError) -> Error {
    let found = match error {
        DigestError::VerificationError { actual, .. } => actual.clone(),
        DigestError::InvalidHeader(_)
        | DigestError::UnsupportedAlgorithm(_)
        | DigestError::MissingAlgorithm => "named by no digest".to_owned(),
    };
    Error::Lying {
        what: what.to_owned(),
        found,
    }
}

const fn is_denial(code: &OciErrorCode) -> bool {
    matches!(code, OciErrorCode::Unauthorized | OciErrorCode::Denied)
}

const fn is_absence(code: &OciErrorCode) -> bool {
    matches!(
        code,
        OciErrorCode::BlobUnknown
            | OciErrorCode::ManifestBlobUnknown
            | OciErrorCode::ManifestUnknown
            | OciErrorCode::NameUnknown
            | OciErrorCode::NotFound
    )
}

/// The beginning of what a registry says, as one line.
fn beginning(said: &str) -> String {
    let printed = said.chars().filter(|letter| !letter.is_control());
    printed.take(LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_login_goes_nowhere_without_tls_whatever_a_registry_names() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(ClientConfig {
            protocol: ClientProtocol::HttpsExcept(vec![address.clone()]),
            ..with_tls(ClientConfig::default(), None, None)
        });
        let client = client.expect("a client");
        let (team, tag) = ("team/module".to_owned(), "1".to_owned());
        let named = oci_client::Reference::with_tag(address, team, tag);
        let login = RegistryAuth::Basic("reader".to_owned(), "hunter2".to_owned());
        let asked = client.auth(&named, &login, RegistryOperation::Pull);
        asked.await.expect_err("it is not asked");
        let came = tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
        assert!(came.is_err(), "it was asked without TLS");
    }
}
