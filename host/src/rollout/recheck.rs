//! Whether the source of a module still holds what is in its role.
//!
//! What is in its role is not touched: whoever changes bytes changes nothing but what people are told. Only where the spec
//! asks for no digest, new bytes are a new module.

use std::time::{Duration, Instant};

use super::load::Loader;
use super::wanted::{Source, Wanted};
use crate::error::Chain;
use crate::module::digest;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(15);
/// Between two looks at what belongs to others: registries count questions.
const REMOTE_PERIOD: Duration = Duration::from_secs(60);

/// What is known of a source.
#[derive(Debug, Default)]
pub(super) struct Sighting {
    /// Its version when its bytes were last looked at.
    version: Option<String>,
    /// Why what it holds is not what is in the role.
    other: Option<String>,
    due: Option<Instant>,
}

/// What is to be looked at.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) wanted: Wanted,
    /// The digest of what is in the role, if anything is.
    pub(super) standing: Option<String>,
    version: Option<String>,
}

/// What was found.
#[derive(Debug)]
pub(super) enum Looked {
    /// The version of before.
    Unchanged,
    /// What is in the role.
    Same(String),
    /// Something else, or nothing; why, in words.
    Other(Option<String>, String),
    /// Another module, where the spec asks for no digest.
    New(String),
}

impl Sighting {
    /// A look at the source, when the time for it has come.
    pub(super) fn look(
        &mut self,
        wanted: &Wanted,
        standing: Option<&str>,
        now: Instant,
    ) -> Option<Look> {
        let period = match &wanted.source {
            Source::BuiltIn => return None,
            Source::ConfigMap { .. } | Source::File(_) => PERIOD,
            Source::Oci { .. } => REMOTE_PERIOD,
        };
        let due = *self.due.get_or_insert(now + period);
        if now < due {
            return None;
        }
        self.due = Some(now + period);
        Some(Look {
            wanted: wanted.clone(),
            standing: standing.map(ToOwned::to_owned),
            version: self.version.clone(),
        })
    }

    /// Takes note of what was found. True: there is another module to load.
    pub(super) fn take(&mut self, looked: Looked) -> bool {
        match looked {
            Looked::Unchanged => false,
            Looked::Same(version) => {
                self.version = Some(version);
                self.other = None;
                false
            }
            Looked::Other(version, why) => {
                self.version = version;
                self.other = Some(why);
                false
            }
            Looked::New(version) => {
                self.version = Some(version);
                self.other = None;
                true
            }
        }
    }

    /// Why what the source holds is not what is in the role.
    pub(super) fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }
}

impl Loader {
    /// Looks at a source. Bytes are fetched only where its version is another one than before.
    pub(super) async fn look(&self, look: Look) -> Looked {
        let Look {
            wanted,
            standing,
            version,
        } = look;
        let found = self.sources.version(&wanted.source).await;
        let found = match found {
            Ok(found) if version.as_ref() == Some(&found) => return Looked::Unchanged,
            Ok(found) => found,
            Err(error) => return Looked::Other(None, Chain(&error).to_string()),
        };
        match self.sources.fetch(&wanted).await {
            Ok(fetched) if standing == Some(digest(&fetched.bytes)) => Looked::Same(found),
            Ok(_) => Looked::New(found),
            // It will be no more readable before it is another version.
            Err(error) if error.is_of_content() => {
                Looked::Other(Some(found), Chain(&error).to_string())
            }
            Err(error) => Looked::Other(None, Chain(&error).to_string()),
        }
    }
}
