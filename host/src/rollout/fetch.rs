//! Gets a module's bytes from where a ReconcilerModule says they are, with the signatures that are asked for.
//!
//! Bounded in size and time, whatever lies there. Judges the bytes by digest and signature alone.

mod failure;
mod packed;
mod stored;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Client;
use serde_json::Value;

pub use failure::Error;

use super::wanted::{Signatory, Source, Wanted, wanted};
use crate::module::{MODULE_LIMIT, digest};
use crate::registry::{Access, Login, Pulled, SideProcess};
use crate::signature::{Identity, Policy, Proof, PublicKey, Signer};

/// Where modules come from, and whose signature all of them need.
#[derive(Clone)]
pub struct Sources {
    /// Reads ConfigMaps and Secrets.
    pub client: Client,
    /// The operator's own namespace, where they are.
    pub namespace: String,
    /// The bytes of the module that the operator was started with.
    pub built_in: Arc<Vec<u8>>,
    /// What asks registries.
    pub registries: SideProcess,
    /// Who must have signed every other module.
    pub policy: Policy,
}

/// A module's bytes.
#[derive(Debug)]
pub struct Fetched {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The artifact in a registry that they are from.
    pub artifact: Option<String>,
    /// Signatures, where they were asked for.
    pub proof: Option<Proof>,
    /// Whose signature was found.
    pub signed_by: Vec<String>,
}

/// Somebody who must have signed, and who says so.
struct Demand {
    signer: Signer,
    by: &'static str,
}

impl Sources {
    /// What the spec of a ReconcilerModule asks for.
    ///
    /// # Errors
    /// It cannot be had, or is not what is asked for.
    pub async fn of_spec(&self, spec: &Value) -> Result<Fetched, Error> {
        self.fetch(&wanted(spec).map_err(Error::Spec)?).await
    }

    pub(super) async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, Error> {
        let demands = self.demands(wanted).await?;
        let is_signed = !demands.is_empty();
        let mut fetched = Fetched {
            bytes: Vec::new(),
            artifact: None,
            proof: None,
            signed_by: Vec::new(),
        };
        let what = match &wanted.source {
            Source::BuiltIn => {
                fetched.bytes = self.built_in.to_vec();
                "the built-in module".to_owned()
            }
            Source::ConfigMap { name, key } => {
                let what = format!("{key} of the ConfigMap {name}");
                let map = stored::config_map(&self.client, &self.namespace, name).await?;
                if is_signed {
                    fetched.proof = map
                        .text(&signature_key(key))
                        .map(|text| Proof::detached(&text));
                }
                let unpacked = packed::unpacked(map.bytes(key)?);
                fetched.bytes = unpacked.map_err(|source| Error::Packed {
                    what: what.clone(),
                    source,
                })?;
                what
            }
            Source::File(path) => {
                fetched.bytes = read(path.clone()).await?;
                if is_signed {
                    let found = read(signature_file(path)).await.ok();
                    fetched.proof =
                        found.map(|found| Proof::detached(&String::from_utf8_lossy(&found)));
                }
                format!("the file {}", path.display())
            }
            Source::Oci { reference, .. } => {
                let access = self.access(&wanted.source).await?;
                let digest = wanted.digest.as_deref();
                let Pulled {
                    artifact,
                    bytes,
                    proof,
                } = self
                    .registries
                    .pull(reference, access, digest, is_signed)
                    .await?;
                (fetched.bytes, fetched.proof) = (bytes, proof);
                fetched.artifact = Some(artifact);
                reference.to_string()
            }
        };
        if fetched.bytes.len() > MODULE_LIMIT {
            return Err(Error::TooLarge { what });
        }
        let found = digest(&fetched.bytes);
        if let Some(wanted) = wanted.digest.as_ref().filter(|wanted| **wanted != found) {
            return Err(Error::Digest {
                what,
                found,
                wanted: wanted.clone(),
            });
        }
        judged(fetched, demands, what).await
    }

    /// A module that was kept when it was fetched before, if it is signed as it must be today.
    pub(super) async fn kept(
        &self,
        wanted: &Wanted,
        bytes: Vec<u8>,
        proof: Option<Proof>,
    ) -> Result<Fetched, Error> {
        let demands = self.demands(wanted).await?;
        let fetched = Fetched {
            bytes,
            artifact: None,
            proof,
            signed_by: Vec::new(),
        };
        judged(fetched, demands, "the kept copy".to_owned()).await
    }

    /// A mark of what the source holds: as long as it is the same, so are the bytes.
    pub(super) async fn version(&self, source: &Source) -> Result<String, Error> {
        match source {
            Source::BuiltIn => Ok(String::new()),
            Source::ConfigMap { name, .. } => {
                stored::version(&self.client, &self.namespace, name).await
            }
            Source::File(path) => {
                let found = tokio::fs::metadata(path).await;
                let found = found.map_err(|source| unreadable(path, source))?;
                Ok(format!("{:?} {}", found.modified().ok(), found.len()))
            }
            Source::Oci { reference, .. } => {
                let access = self.access(source).await?;
                Ok(self.registries.resolve(reference, access).await?)
            }
        }
    }

    async fn access(&self, source: &Source) -> Result<Access, Error> {
        let Source::Oci {
            reference,
            pull_secret,
            plain_http,
        } = source
        else {
            return Ok(Access::default());
        };
        let login = match pull_secret {
            Some(name) => {
                let secret = stored::secret(&self.client, &self.namespace, name).await?;
                let file = secret.bytes(stored::DOCKER_CONFIG)?;
                Login::find(&file, reference)?
            }
            None => None,
        };
        Ok(Access {
            plain_http: *plain_http,
            login,
        })
    }

    /// Those who must have signed; none for what is part of the operator.
    async fn demands(&self, wanted: &Wanted) -> Result<Vec<Demand>, Error> {
        if wanted.source == Source::BuiltIn {
            return Ok(Vec::new());
        }
        let Policy { key, identity, .. } = &self.policy;
        let mut demands = Vec::new();
        demands.extend(key.clone().map(|key| Demand {
            signer: Signer::Key(key),
            by: "the operator's --module-signature-key",
        }));
        if let Some(identity) = identity {
            demands.push(Demand {
                signer: self.signer(identity)?,
                by: "the operator's --module-signature-subject",
            });
        }
        if let Some(signatory) = &wanted.signature {
            demands.push(Demand {
                signer: self.signatory(signatory).await?,
                by: "spec.signature",
            });
        }
        Ok(demands)
    }

    /// An identity, with those who are trusted to tell it.
    fn signer(&self, identity: &Identity) -> Result<Signer, Error> {
        let roots = self.policy.roots.clone();
        let roots = roots.ok_or_else(|| Error::NoRoots {
            identity: identity.to_string(),
        })?;
        Ok(Signer::Identity(identity.clone(), roots))
    }

    /// Who a spec says must have signed.
    async fn signatory(&self, signatory: &Signatory) -> Result<Signer, Error> {
        let (client, namespace) = (&self.client, &self.namespace);
        let (what, data, key) = match signatory {
            Signatory::Key(key) => return Ok(Signer::Key(key.clone())),
            Signatory::Identity(identity) => return self.signer(identity),
            Signatory::ConfigMap { name, key } => {
                let map = stored::config_map(client, namespace, name).await?;
                (format!("{key} of the ConfigMap {name}"), map, key)
            }
            Signatory::Secret { name, key } => {
                let secret = stored::secret(client, namespace, name).await?;
                (format!("{key} of the Secret {name}"), secret, key)
            }
        };
        let text = data.bytes(key)?;
        let key = PublicKey::parse(&String::from_utf8_lossy(&text));
        let key = key.map_err(|why| Error::Key { what, why })?;
        Ok(Signer::Key(key))
    }
}

/// [`judge`], where a panic of a parser of certificates harms nobody.
async fn judged(fetched: Fetched, demands: Vec<Demand>, what: String) -> Result<Fetched, Error> {
    let named = what.clone();
    let judging = tokio::task::spawn_blocking(move || judge(fetched, &demands, what)).await;
    judging.unwrap_or_else(|panic| {
        Err(Error::Unsigned {
            what: named,
            by: "whoever wants a signature",
            why: format!("judging what is beside it ended in a panic: {panic}"),
        })
    })
}

/// Refuses what lacks a signature, and notes whose it has.
fn judge(mut fetched: Fetched, demands: &[Demand], what: String) -> Result<Fetched, Error> {
    for Demand { signer, by } in demands {
        let why = match &fetched.proof {
            None => Some("there is no signature beside it".to_owned()),
            Some(proof) => proof.why_not_of(signer, &fetched.bytes),
        };
        if let Some(why) = why {
            let why = format!("{why} ({signer})");
            return Err(Error::Unsigned { what, by, why });
        }
        fetched.signed_by.push(signer.to_string());
    }
    fetched.signed_by.dedup();
    Ok(fetched)
}

async fn read(path: PathBuf) -> Result<Vec<u8>, Error> {
    let owned = path.clone();
    let read = tokio::task::spawn_blocking(move || packed::bounded(&owned)).await;
    let read = read.unwrap_or_else(|panic| Err(io::Error::other(panic)));
    read.map_err(|source| unreadable(&path, source))
}

fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        source,
    }
}

/// Where the signature of what lies under `key` is: it is over the bytes as they are unpacked.
fn signature_key(key: &str) -> String {
    format!("{}.sig", key.strip_suffix(".zst").unwrap_or(key))
}

fn signature_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
