//! Which module decides a record again: the one that was named, else the recording's own, from within it or beside it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::Question;
use crate::module::{Engine, Error as LoadError, Module, Source, digest};
use crate::recorder::{Header, Record, module_file};

/// Why there is no module to decide with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody kept it.
    #[error(
        "the module {module}, which decided in {recording}, is not kept at {path}: name a module with --module FILE"
    )]
    NotKept {
        /// The recording.
        recording: String,
        /// The module's digest.
        module: String,
        /// Where it should be.
        path: String,
    },
    /// Something else lies in its place.
    #[error("{path} is not the module it is named after: it is {found}")]
    Exchanged {
        /// The file.
        path: String,
        /// Its digest.
        found: String,
    },
    /// It cannot be loaded.
    #[error("the module {name} cannot be used")]
    Unusable {
        /// Its path, or the digest of one that a recording carries.
        name: String,
        /// Why.
        source: LoadError,
    },
}

/// Loads each module once.
pub(super) struct Modules<'a> {
    engine: &'a Engine,
    hash: String,
    named: Option<Module>,
    against: Option<Module>,
    sequence: Option<u64>,
    /// From within recordings, by digest.
    inside: Mutex<BTreeMap<String, Vec<u8>>>,
    kept: Mutex<BTreeMap<String, Module>>,
}

impl<'a> Modules<'a> {
    pub(super) fn new(engine: &'a Engine, question: &Question) -> Result<Self, Error> {
        let ready = |source: &Option<Source>| {
            let source = source.as_ref();
            let name = |path: &Path| path.display().to_string();
            let loaded = source.map(|source| load(engine, &source.bytes, name(&source.path)));
            loaded.transpose()
        };
        Ok(Self {
            engine,
            hash: engine.hash(),
            named: ready(&question.module)?,
            against: ready(&question.against)?,
            sequence: question.sequence,
            inside: Mutex::default(),
            kept: Mutex::default(),
        })
    }

    /// Takes the modules that a recording carries within it.
    pub(super) fn offer(&self, header: &Header) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        for (digest, bytes) in header.carried() {
            inside.insert(digest, bytes);
        }
    }

    /// Whether this record is one to look at.
    pub(super) fn is_asked(&self, record: &Record) -> bool {
        self.sequence.is_none_or(|sequence| sequence == record.seq)
    }

    /// The module to compare with instead of the recording.
    pub(super) const fn against(&self) -> Option<&Module> {
        self.against.as_ref()
    }

    /// The hash of the engine that replays.
    pub(super) fn engine(&self) -> &str {
        &self.hash
    }

    /// The module for a record of `file`.
    pub(super) fn of(&self, record: &Record, file: &Path) -> Result<Module, Error> {
        if let Some(module) = &self.named {
            return Ok(module.clone());
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = kept.get(&record.module) {
            return Ok(module.clone());
        }
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match inside.get(&record.module) {
            Some(bytes) => load(self.engine, bytes, record.module.clone())?,
            None => load(self.engine, &bytes(record, file)?, record.module.clone())?,
        };
        kept.insert(record.module.clone(), module.clone());
        Ok(module)
    }
}

fn load(engine: &Engine, bytes: &[u8], name: String) -> Result<Module, Error> {
    Module::load(engine, bytes).map_err(|source| Error::Unusable { name, source })
}

/// Beside the recording, else the module that ships with this Binnacle if it is the very same.
fn bytes(record: &Record, file: &Path) -> Result<Vec<u8>, Error> {
    let path = module_file(
        file.parent().unwrap_or_else(|| Path::new("")),
        &record.module,
    );
    if let Ok(bytes) = std::fs::read(&path) {
        let found = digest(&bytes);
        if found == record.module {
            return Ok(bytes);
        }
        return Err(Error::Exchanged {
            path: path.display().to_string(),
            found,
        });
    }
    shipped(&record.module).ok_or_else(|| not_kept(record, file, &path))
}

fn shipped(wanted: &str) -> Option<Vec<u8>> {
    let Source { path: _, bytes } = Source::find(None).ok()?;
    (digest(&bytes) == wanted).then_some(bytes)
}

fn not_kept(record: &Record, file: &Path, path: &Path) -> Error {
    Error::NotKept {
        recording: file.display().to_string(),
        module: record.module.clone(),
        path: path.display().to_string(),
    }
}
