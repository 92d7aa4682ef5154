//! ConfigMaps and Secrets of the operator's namespace, each read by the name that a ReconcilerModule gives.
//!
//! What they hold has no `Debug` and goes to nobody but the one who asked for the key.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};

use super::failure::{Error, TIMEOUT};
use crate::operator::in_words;

/// The key of a Secret with logins for registries.
pub(super) const DOCKER_CONFIG: &str = ".dockerconfigjson";

const CONFIG_MAP: &str = "ConfigMap";
const SECRET: &str = "Secret";

/// What an object holds.
pub(super) struct Data {
    kind: &'static str,
    name: String,
    keys: BTreeMap<String, Vec<u8>>,
}

impl Data {
    /// What a key holds.
    pub(super) fn bytes(&self, key: &str) -> Result<Vec<u8>, Error> {
        self.keys.get(key).cloned().ok_or_else(|| {
            let keys: Vec<&str> = self.keys.keys().map(String::as_str).collect();
            Error::NoKey {
                kind: self.kind,
                name: self.name.clone(),
                key: key.to_owned(),
                found: if keys.is_empty() {
                    "none".to_owned()
                } else {
                    keys.join(", ")
                },
            }
        })
    }

    /// The same as text, if it is there.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let bytes = self.keys.get(key)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A ConfigMap, with the texts and the bytes of it.
pub(super) async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Data, Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = asked(CONFIG_MAP, namespace, name, api.get_opt(name)).await?;
    let texts = found.data.unwrap_or_default().into_iter();
    let texts = texts.map(|(key, text)| (key, text.into_bytes()));
    let bytes = found.binary_data.unwrap_or_default().into_iter();
    Ok(Data {
        kind: CONFIG_MAP,
        name: name.to_owned(),
        keys: texts
            .chain(bytes.map(|(key, ByteString(bytes))| (key, bytes)))
            .collect(),
    })
}

/// A Secret.
pub(super) async fn secret(client: &Client, namespace: &str, name: &str) -> Result<Data, Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = asked(SECRET, namespace, name, api.get_opt(name)).await?;
    let keys = found.data.unwrap_or_default().into_iter();
    Ok(Data {
        kind: SECRET,
        name: name.to_owned(),
        keys: keys.map(|(key, ByteString(bytes))| (key, bytes)).collect(),
    })
}

/// The version of a ConfigMap.
pub(super) async fn version(client: &Client, namespace: &str, name: &str) -> Result<String, Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = asked(CONFIG_MAP, namespace, name, api.get_metadata_opt(name)).await?;
    Ok(found.metadata.resource_version.unwrap_or_default())
}

/// The answer to a question about one object, which must be there.
async fn asked<T>(
    kind: &'static str,
    namespace: &str,
    name: &str,
    asking: impl Future<Output = kube::Result<Option<T>>>,
) -> Result<T, Error> {
    let named = || name.to_owned();
    match tokio::time::timeout(TIMEOUT, asking).await {
        Ok(Ok(Some(found))) => Ok(found),
        Ok(Ok(None)) => Err(Error::NoObject {
            kind,
            name: named(),
            namespace: namespace.to_owned(),
        }),
        Ok(Err(error)) => Err(Error::Object {
            kind,
            name: named(),
            words: format!("{:#}", in_words(error)),
        }),
        Err(_elapsed) => Err(Error::Silent {
            kind,
            name: named(),
        }),
    }
}
