//! Gets a module's bytes from where a ReconcilerModule says they are.
//!
//! Bounded in size, whatever lies there. Judges the bytes by their digest alone.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use super::wanted::{Source, Wanted};
use crate::module::{MODULE_LIMIT, digest};

/// How long reading a ConfigMap may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why the bytes cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there is no ConfigMap {name} in the namespace {namespace}")]
    NoConfigMap { name: String, namespace: String },
    #[error("the ConfigMap {name} cannot be read")]
    ConfigMap {
        name: String,
        source: Box<kube::Error>,
    },
    #[error("the ConfigMap {name} cannot be read: no answer within {TIMEOUT:?}")]
    Silent { name: String },
    #[error("the ConfigMap {name} has no key {key} in binaryData; it has {found}")]
    NoKey {
        name: String,
        key: String,
        found: String,
    },
    #[error("{what} cannot be unpacked")]
    Packed { what: String, source: io::Error },
    #[error("the file {path} cannot be read")]
    File { path: String, source: io::Error },
    #[error("{what} has more than the {MODULE_LIMIT} bytes that a module may have")]
    TooLarge { what: String },
    #[error("{what} is {found}, and the spec asks for {wanted}")]
    Digest {
        what: String,
        found: String,
        wanted: String,
    },
}

/// The bytes, as the spec asks for them. `built_in` are those of the module that the operator was started with.
pub(super) async fn bytes(
    client: &Client,
    namespace: &str,
    built_in: &[u8],
    wanted: &Wanted,
) -> Result<Vec<u8>, Error> {
    let (what, bytes) = match &wanted.source {
        Source::BuiltIn => ("the built-in module".to_owned(), built_in.to_vec()),
        Source::ConfigMap { name, key } => {
            let what = format!("{key} of the ConfigMap {name}");
            let stored = config_map(client, namespace, name, key).await?;
            let unpacked = unpacked(stored).map_err(|source| Error::Packed {
                what: what.clone(),
                source,
            })?;
            (what, unpacked)
        }
        Source::File(path) => {
            let owned = path.clone();
            let read = tokio::task::spawn_blocking(move || bounded(&owned)).await;
            let read = read.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            let bytes = read.map_err(|source| Error::File {
                path: path.display().to_string(),
                source,
            })?;
            (format!("the file {}", path.display()), bytes)
        }
    };
    if bytes.len() > MODULE_LIMIT {
        return Err(Error::TooLarge { what });
    }
    let found = digest(&bytes);
    match &wanted.digest {
        Some(wanted) if *wanted != found => Err(Error::Digest {
            what,
            found,
            wanted: wanted.clone(),
        }),
        Some(_) | None => Ok(bytes),
    }
}

/// A mark of what the source holds: as long as it is the same, so are the bytes.
pub(super) async fn version(
    client: &Client,
    namespace: &str,
    source: &Source,
) -> Result<String, Error> {
    match source {
        Source::BuiltIn => Ok(String::new()),
        Source::ConfigMap { name, .. } => {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let found = in_time(name, api.get_metadata_opt(name)).await?;
            let found = found.ok_or_else(|| Error::NoConfigMap {
                name: name.clone(),
                namespace: namespace.to_owned(),
            })?;
            Ok(found.metadata.resource_version.unwrap_or_default())
        }
        Source::File(path) => {
            let found = tokio::fs::metadata(path).await;
            let found = found.map_err(|source| Error::File {
                path: path.display().to_string(),
                source,
            })?;
            Ok(format!("{:?} {}", found.modified().ok(), found.len()))
        }
    }
}

/// The answer to a question about the ConfigMap `name`.
async fn in_time<T>(name: &str, asking: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    let named = || name.to_owned();
    match tokio::time::timeout(TIMEOUT, asking).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(Error::ConfigMap {
            name: named(),
            source: Box::new(error),
        }),
        Err(_elapsed) => Err(Error::Silent { name: named() }),
    }
}

async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<Vec<u8>, Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let named = || name.to_owned();
    let found = in_time(name, api.get_opt(name)).await?;
    let found = found.ok_or_else(|| Error::NoConfigMap {
        name: named(),
        namespace: namespace.to_owned(),
    })?;
    let mut data = found.binary_data.unwrap_or_default();
    let Some(bytes) = data.remove(key) else {
        let keys: Vec<String> = data.into_keys().collect();
        return Err(Error::NoKey {
            name: named(),
            key: key.to_owned(),
            found: if keys.is_empty() {
                "none".to_owned()
            } else {
                keys.join(", ")
            },
        });
    };
    Ok(bytes.0)
}

/// One byte more than a module may have is enough to refuse it.
fn limited(input: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input
        .take(MODULE_LIMIT as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    limited(std::fs::File::open(path)?)
}

fn unpacked(stored: Vec<u8>) -> io::Result<Vec<u8>> {
    if stored.starts_with(&ZSTD) {
        limited(zstd::Decoder::new(&stored[..])?)
    } else {
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred bytes that unpack to gigabytes must not be unpacked.
    #[test]
    fn a_packed_bomb_is_unpacked_to_the_limit_and_no_further() {
        let bomb = zstd::encode_all(io::repeat(0).take(1 << 30), 1).expect("it packs");
        assert!(bomb.len() < MODULE_LIMIT);
        let unpacked = unpacked(bomb).expect("it is zstd");
        assert_eq!(unpacked.len(), MODULE_LIMIT + 1);
    }

    /// Whoever puts one there must not fill the operator's memory with it.
    #[test]
    fn a_file_of_ten_gigabytes_is_read_to_the_limit_and_no_further() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file()
            .set_len(10 << 30)
            .expect("a hole takes no disk");
        let read = bounded(file.path()).expect("it can be read");
        assert_eq!(read.len(), MODULE_LIMIT + 1);
    }

    #[test]
    fn what_is_not_packed_is_taken_as_it_is() {
        assert_eq!(unpacked(b"\0asm".to_vec()).expect("bytes"), b"\0asm");
    }
}
