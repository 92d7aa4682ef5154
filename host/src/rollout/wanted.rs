//! What a ReconcilerModule asks for, read from its spec.
//!
//! The API server's rules are checked once more, because objects can be stored past them. Pure.

use std::path::PathBuf;

use contract::{
    ConfigMapSource, FileSource, MODULE_KEY, ModuleIdentity, ModuleRole, ModuleSignature,
    ModuleSource, OciSource, PUBLIC_KEY_KEY, PublicKeySource, ReconcilerModuleSpec,
};
use kube::core::Selector;
use serde::Deserialize;
use serde_json::Value;

use crate::registry::Reference;
use crate::signature::{Identity, PublicKey};

/// Failures within the window that are borne unless the spec says another number.
const FAILURE_LIMIT: usize = 3;
/// Longest name of a ConfigMap or a Secret.
const LONGEST_NAME: usize = 253;

/// A spec that can be followed.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) source: Source,
    /// `sha256:` and hex; none only where nothing acts, or where the source is the built-in module.
    pub(super) digest: Option<String>,
    /// Whose signature it must have.
    pub(super) signature: Option<Signatory>,
    pub(super) role: Role,
    pub(super) failure_limit: usize,
}

/// Where the bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    BuiltIn,
    ConfigMap {
        name: String,
        key: String,
    },
    File(PathBuf),
    Oci {
        reference: Reference,
        pull_secret: Option<String>,
        plain_http: bool,
    },
}

/// Whose signature a module must have, and where a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signatory {
    Key(PublicKey),
    ConfigMap { name: String, key: String },
    Secret { name: String, key: String },
    Identity(Identity),
}

/// What is decided on.
#[derive(Clone, Debug)]
pub(super) enum Role {
    Active,
    Shadow,
    Canary(Selector),
}

impl Role {
    pub(super) const fn name(&self) -> ModuleRole {
        match self {
            Self::Active => ModuleRole::Active,
            Self::Shadow => ModuleRole::Shadow,
            Self::Canary(_) => ModuleRole::Canary,
        }
    }
}

/// Reads a spec; else says in words what is wrong with it.
pub(super) fn wanted(spec: &Value) -> Result<Wanted, String> {
    let ReconcilerModuleSpec {
        source,
        sha256,
        signature,
        role,
        clusters,
        failure_limit,
    } = ReconcilerModuleSpec::deserialize(spec)
        .map_err(|error| format!("a field cannot be read: {error}"))?;
    let source = read_source(source)?;
    let signature = signature.map(signatory).transpose()?;
    if signature.is_some() && source == Source::BuiltIn {
        return Err("signature is for modules from elsewhere, and not for builtIn".to_owned());
    }
    let role = match (role, clusters) {
        (ModuleRole::Active, None) => Role::Active,
        (ModuleRole::Shadow, None) => Role::Shadow,
        (ModuleRole::Canary, Some(clusters)) => {
            let selector = Selector::try_from(clusters)
                .map_err(|error| format!("clusters cannot be read: {error}"))?;
            if selector.selects_all() {
                return Err("clusters selects every cluster; a Canary is for some".to_owned());
            }
            Role::Canary(selector)
        }
        (ModuleRole::Canary, None) => {
            return Err("a Canary needs clusters, a label selector over EtcdClusters".to_owned());
        }
        (ModuleRole::Active | ModuleRole::Shadow, Some(_)) => {
            return Err("clusters is for the role Canary alone".to_owned());
        }
    };
    let digest = sha256.map(|hex| format!("sha256:{}", hex.trim_start_matches("sha256:")));
    if digest.is_none() && source != Source::BuiltIn && !matches!(role, Role::Shadow) {
        return Err("sha256 is required for a module that acts".to_owned());
    }
    Ok(Wanted {
        source,
        digest,
        signature,
        role,
        failure_limit: failure_limit
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(FAILURE_LIMIT),
    })
}

fn read_source(source: ModuleSource) -> Result<Source, String> {
    let ModuleSource {
        built_in,
        config_map,
        file,
        oci,
    } = source;
    match (built_in, config_map, file, oci) {
        (Some(_), None, None, None) => Ok(Source::BuiltIn),
        (None, Some(ConfigMapSource { name, key }), None, None) => Ok(Source::ConfigMap {
            name: object_name("source.configMap.name", name)?,
            key: key.unwrap_or_else(|| MODULE_KEY.to_owned()),
        }),
        (None, None, Some(FileSource { path }), None) => Ok(Source::File(PathBuf::from(path))),
        (None, None, None, Some(oci)) => {
            let OciSource {
                reference,
                pull_secret,
                plain_http,
            } = oci;
            let reference = reference.parse::<Reference>();
            let secret = |name| object_name("source.oci.pullSecret", name);
            Ok(Source::Oci {
                reference: reference.map_err(|error| error.to_string())?,
                pull_secret: pull_secret.map(secret).transpose()?,
                plain_http: plain_http.unwrap_or_default(),
            })
        }
        _ => Err("source must name exactly one of builtIn, configMap, file and oci".to_owned()),
    }
}

/// A name that an object can have. Names go into the paths of requests, where others would lead elsewhere.
///
/// Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names>.
fn object_name(field: &str, name: String) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_edge = |byte: Option<u8>| byte.is_some_and(is_plain);
    let is_name = name.len() <= LONGEST_NAME
        && name
            .bytes()
            .all(|byte| is_plain(byte) || b"-.".contains(&byte))
        && is_edge(name.bytes().next())
        && is_edge(name.bytes().last());
    if is_name {
        return Ok(name);
    }
    Err(format!(
        "{field} is no name of an object: {name:?}; names have a-z, 0-9, dashes and dots, at most {LONGEST_NAME} of them, and \
         begin and end with a letter or a digit"
    ))
}

fn signatory(signature: ModuleSignature) -> Result<Signatory, String> {
    let ModuleSignature {
        public_key,
        config_map,
        secret,
        identity,
    } = signature;
    let place = |field: &str, place: Option<PublicKeySource>| {
        let place = place.map(|PublicKeySource { name, key }| {
            let key = key.unwrap_or_else(|| PUBLIC_KEY_KEY.to_owned());
            Ok::<_, String>((object_name(field, name)?, key))
        });
        place.transpose()
    };
    let identity = identity.map(|ModuleIdentity { issuer, subject }| Identity { issuer, subject });
    match (
        public_key,
        place("signature.configMap.name", config_map)?,
        place("signature.secret.name", secret)?,
        identity,
    ) {
        (Some(text), None, None, None) => PublicKey::parse(&text)
            .map(Signatory::Key)
            .map_err(|why| format!("signature.publicKey cannot be used: {why}")),
        (None, Some((name, key)), None, None) => Ok(Signatory::ConfigMap { name, key }),
        (None, None, Some((name, key)), None) => Ok(Signatory::Secret { name, key }),
        (None, None, None, Some(Identity { issuer, subject }))
            if issuer.is_empty() || subject.is_empty() =>
        {
            Err("signature.identity needs an issuer and a subject".to_owned())
        }
        (None, None, None, Some(identity)) => Ok(Signatory::Identity(identity)),
        _ => Err(
            "signature must name exactly one of publicKey, configMap, secret and identity"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

    #[test]
    fn a_digest_is_one_with_and_without_its_prefix() {
        for sha256 in [DIGEST.to_owned(), format!("sha256:{DIGEST}")] {
            let spec =
                json!({"source": {"configMap": {"name": "m"}}, "sha256": sha256, "role": "Active"});
            let wanted = wanted(&spec).expect("it can be followed");
            assert_eq!(wanted.digest, Some(format!("sha256:{DIGEST}")));
            let key = MODULE_KEY.to_owned();
            let name = "m".to_owned();
            assert_eq!(wanted.source, Source::ConfigMap { name, key });
        }
    }

    /// Nulls get past rules that ask whether a field is there.
    #[test]
    fn what_the_rules_of_the_api_would_refuse_is_refused_here_too() {
        let file = json!({"file": {"path": "/m.wasm"}});
        let all = json!({});
        for (spec, words) in [
            (
                json!({"source": file, "role": "Active", "sha256": null}),
                "sha256 is required",
            ),
            (
                json!({"source": {"builtIn": null}, "role": "Shadow"}),
                "exactly one",
            ),
            (
                json!({"source": {"builtIn": {}, "file": {"path": "/m.wasm"}}, "role": "Shadow"}),
                "exactly one",
            ),
            (
                json!({"source": file, "role": "Canary", "sha256": DIGEST}),
                "needs clusters",
            ),
            (
                json!({"source": file, "role": "Canary", "sha256": DIGEST, "clusters": all}),
                "selects every cluster",
            ),
            (
                json!({"source": file, "role": "Shadow", "clusters": all}),
                "for the role Canary alone",
            ),
            (
                json!({"source": {"oci": {"reference": "team/module"}}, "role": "Shadow"}),
                "is no reference",
            ),
            (
                json!({"source": file, "role": "Shadow", "signature": {"publicKey": null}}),
                "exactly one of publicKey",
            ),
            (
                json!({"source": file, "role": "Shadow", "signature": {"identity": {"issuer": "https://i", "subject": ""}}}),
                "needs an issuer and a subject",
            ),
            (
                json!({"source": file, "role": "Shadow", "signature": {"publicKey": "mine"}}),
                "no key in PEM",
            ),
            (
                json!({"source": {"builtIn": {}}, "role": "Shadow", "signature": {"secret": {"name": "s"}}}),
                "not for builtIn",
            ),
            (json!({"role": "King"}), "cannot be read"),
            (
                json!({"source": {"configMap": {"name": "../secrets/s"}}, "role": "Shadow"}),
                "source.configMap.name is no name of an object",
            ),
            (
                json!({"source": {"oci": {"reference": "r.example/m:1", "pullSecret": "a?b"}}, "role": "Shadow"}),
                "source.oci.pullSecret is no name",
            ),
            (
                json!({"source": file, "role": "Shadow", "signature": {"configMap": {"name": ""}}}),
                "signature.configMap.name is no name",
            ),
            (
                json!({"source": file, "role": "Shadow", "signature": {"secret": {"name": "-s"}}}),
                "signature.secret.name is no name",
            ),
        ] {
            let refused = wanted(&spec).expect_err("a refusal");
            assert!(refused.contains(words), "{words:?} is not in: {refused}");
        }
    }
}
