//! What stands in a recording: one header a file, one record a decision.
//!
//! Additions keep [`FORMAT_VERSION`]; names are never used again for something else. Times are integer milliseconds.

use std::collections::BTreeMap;
use std::io::Read as _;

use contract::{Dialect, Millis, PastOutcome, ResourceKind, SCHEMA};
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::module::{Answer, Failure, MODULE_LIMIT, digest};

/// Packed once, sent around, read rarely.
const MODULE_LEVEL: i32 = 19;

/// The version of the file format: frames, lines, and the fields around snapshot and answer.
pub const FORMAT_VERSION: u32 = 1;

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Schema of the snapshots and answers within.
    pub schema: u32,
    /// Version of the host that wrote it.
    pub host: String,
    /// [`crate::module::Engine::hash`] of that host.
    pub engine: String,
    /// When the file was begun.
    pub created: Millis,
    /// Digest of the module that was active then.
    pub module: String,
    /// Modules within the file, by digest: zstd frames. The operator's own files have none; their modules lie beside them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, ByteString>,
}

impl Header {
    /// The header of a file that this host begins.
    #[must_use]
    pub fn new(engine: String, module: String, created: Millis) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            schema: SCHEMA,
            host: crate::VERSION.to_owned(),
            engine,
            created,
            module,
            modules: BTreeMap::new(),
        }
    }

    /// Puts a module into the file.
    ///
    /// # Errors
    /// When it cannot be packed.
    pub fn carry(&mut self, digest: &str, bytes: &[u8]) -> std::io::Result<()> {
        let packed = zstd::encode_all(bytes, MODULE_LEVEL)?;
        self.modules.insert(digest.to_owned(), ByteString(packed));
        Ok(())
    }

    /// The modules within the file that are what they are named after.
    #[must_use]
    pub fn carried(&self) -> BTreeMap<String, Vec<u8>> {
        let unpacked = self.modules.iter().filter_map(|(name, packed)| {
            let mut bytes = Vec::new();
            let mut limited = zstd::Decoder::new(&packed.0[..])
                .ok()?
                .take(MODULE_LIMIT as u64);
            limited.read_to_end(&mut bytes).ok()?;
            (digest(&bytes) == *name).then(|| (name.clone(), bytes))
        });
        unpacked.collect()
    }
}

/// One decision: what was seen, what was answered, what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Schema of the snapshot and the answer.
    pub schema: u32,
    /// Its number; a gap means that records were dropped.
    #[serde(default)]
    pub seq: u64,
    /// Whom it is about.
    pub cluster: ClusterName,
    /// Version of the host.
    pub host: String,
    /// Digest of the module that decided.
    pub module: String,
    /// Hash of the engine's settings: fuel is comparable between equal ones.
    pub engine: String,
    /// The snapshot's time.
    pub now: Millis,
    /// What made the host look, for example `watch:Pod` or `requeue:HealthCheck`.
    pub trigger: String,
    /// The snapshot exactly as it crossed to the module.
    pub snapshot: Box<RawValue>,
    /// Fuel the decision used; none when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The answer exactly as it crossed back; none when there was none to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
    /// Why there was no decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
    /// What became of the answer's actions.
    #[serde(default)]
    pub results: Vec<ActionResult>,
    /// What modules said that were asked beside it and not followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadows: Vec<ShadowRecord>,
}

/// What a snapshot says of the resource that it is of.
#[derive(Deserialize)]
struct Head {
    resource: HeadOfResource,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadOfResource {
    api_version: String,
    kind: String,
}

impl Record {
    /// The dialect in which the resource is written that it is about, if that is of this kind.
    #[must_use]
    pub fn dialect_of(&self, kind: ResourceKind) -> Option<Dialect> {
        let head: Head = serde_json::from_str(self.snapshot.get()).ok()?;
        (head.resource.kind == kind.name()).then(|| Dialect::of(&head.resource.api_version))
    }
}

/// What a module said that was not followed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowRecord {
    /// Name of its ReconcilerModule.
    pub name: String,
    /// Its digest.
    pub module: String,
    /// Fuel it used; none when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// How its answer differs from the one that was followed, without names; none when it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// Its answer as it crossed, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
    /// Why it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
    /// The envelope would have refused it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

impl ShadowRecord {
    /// The record of one answer of the module `name` with the digest `module`.
    #[must_use]
    pub fn new(
        name: &str,
        module: &str,
        decided: Result<Answer, Failure>,
        refused: bool,
        difference: Option<String>,
    ) -> Self {
        let (fuel, bytes, failure) = match decided {
            Ok(answer) => (Some(answer.fuel), Some(answer.bytes), None),
            Err(failure) => (None, None, Some(RecordedFailure::from(&failure))),
        };
        Self {
            name: name.to_owned(),
            module: module.to_owned(),
            fuel,
            // An answer that was read as a decision is JSON.
            answer: bytes
                .filter(|_| difference.is_some())
                .and_then(|bytes| raw(bytes).ok()),
            difference,
            failure,
            refused,
        }
    }
}

/// Which cluster a record is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClusterName {
    /// UID of the resource.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A failure of the module, kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFailure {
    /// [`Failure::name`].
    pub name: String,
    /// Its words.
    pub message: String,
}

impl From<&Failure> for RecordedFailure {
    fn from(failure: &Failure) -> Self {
        Self {
            name: failure.name().to_owned(),
            message: failure.to_string(),
        }
    }
}

/// What became of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionResult {
    /// Its place in the answer, from 0.
    pub i: usize,
    /// Effect, target, outcome, words.
    #[serde(flatten)]
    pub outcome: PastOutcome,
}

impl Record {
    /// A record of one pass, to be numbered by the recorder. `results` are those of the answer's actions, in order.
    ///
    /// # Errors
    /// When `snapshot` is not JSON, which no host writes.
    pub fn new(
        cluster: ClusterName,
        trigger: String,
        now: Millis,
        by: DecidedBy<'_>,
        snapshot: Vec<u8>,
        decided: &Result<Answer, Failure>,
        results: &[PastOutcome],
    ) -> Result<Self, serde_json::Error> {
        let (fuel, answer, failure) = match decided {
            Ok(answer) => (Some(answer.fuel), Some(raw(answer.bytes.clone())?), None),
            Err(failure) => (None, None, Some(RecordedFailure::from(failure))),
        };
        Ok(Self {
            schema: SCHEMA,
            seq: 0,
            cluster,
            host: crate::VERSION.to_owned(),
            module: by.module.to_owned(),
            engine: by.engine.to_owned(),
            now,
            trigger,
            snapshot: raw(snapshot)?,
            fuel,
            answer,
            failure,
            results: results
                .iter()
                .enumerate()
                .map(|(i, outcome)| ActionResult {
                    i,
                    outcome: outcome.clone(),
                })
                .collect(),
            shadows: Vec::new(),
        })
    }
}

/// Who decided: digests that name the module and the engine's settings.
#[derive(Clone, Copy, Debug)]
pub struct DecidedBy<'a> {
    /// [`crate::module::Module::digest`].
    pub module: &'a str,
    /// [`crate::module::Engine::hash`].
    pub engine: &'a str,
}

fn raw(bytes: Vec<u8>) -> Result<Box<RawValue>, serde_json::Error> {
    let text = String::from_utf8(bytes).map_err(serde::de::Error::custom)?;
    RawValue::from_string(text)
}
