//! The Secrets that a backup names: read whole for the host, shown to decisions as digests of their keys.
//!
//! Data has no `Debug` and leaves only into the store's client and the client's certificate.

use std::collections::BTreeMap;
use std::path::Path;

use contract::{Observed, Secret};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1 as core;
use kube::{Api, Client};
use sha2::{Digest, Sha256};

use crate::error::Chain;
use crate::observe;

/// What the keys of a Secret hold.
pub(super) struct Data(BTreeMap<String, Vec<u8>>);

impl Data {
    /// What a key holds.
    pub(super) fn bytes(&self, key: &str) -> Option<&[u8]> {
        self.0.get(key).map(Vec::as_slice)
    }

    /// What a key holds, as text without white space around it.
    ///
    /// # Errors
    /// There is no such key, or it holds no text; in words.
    pub(super) fn text(&self, key: &str) -> Result<&str, String> {
        let bytes = self
            .bytes(key)
            .ok_or_else(|| format!("it has no key {key}"))?;
        let text = std::str::from_utf8(bytes).map_err(|_| format!("key {key} holds no text"))?;
        Ok(text.trim())
    }
}

#[cfg(test)]
impl Data {
    /// What keys with these texts hold.
    pub(super) fn of<const N: usize>(keys: [(&str, &str); N]) -> Self {
        Self(keys.map(|(key, text)| (key.to_owned(), text.into())).into())
    }
}

/// What the files of a folder hold, as the kubelet mounts a Secret; each is called after its key.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn mounted(folder: &Path) -> std::io::Result<Data> {
    let mut data = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Names with two dots are the kubelet's own.
        if !name.starts_with("..") && entry.path().is_file() {
            data.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(Data(data))
}

/// Reads one Secret: what a decision may know of it, and what it holds.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    name: &str,
) -> (Observed<Secret>, Result<Data, String>) {
    let api: Api<core::Secret> = Api::namespaced(client.clone(), namespace);
    let what = || format!("Secret {namespace}/{name}");
    match observe::within(what, api.get_opt(name)).await {
        Ok(Some(secret)) => {
            let data = secret.data.unwrap_or_default();
            let data = data
                .into_iter()
                .map(|(key, ByteString(bytes))| (key, bytes));
            let data = Data(data.collect());
            let digest = |bytes: &Vec<u8>| format!("{:x}", Sha256::digest(bytes));
            let shown = Secret {
                uid: secret.metadata.uid.unwrap_or_default(),
                resource_version: secret.metadata.resource_version.unwrap_or_default(),
                digests: data
                    .0
                    .iter()
                    .map(|(key, bytes)| (key.clone(), digest(bytes)))
                    .collect(),
                ..Secret::default()
            };
            (Observed::Seen(shown), Ok(data))
        }
        Ok(None) => (
            Observed::Absent,
            Err(format!("the Secret {name} does not exist")),
        ),
        Err(error) => {
            let why = Chain(&error).to_string();
            (Observed::Unknown(why.clone()), Err(why))
        }
    }
}
