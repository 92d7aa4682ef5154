//! From the text of a small module to one that a host has loaded.

use host::module::{Engine, Error, Module, seal};
use small::Text;

/// The component of a core module.
pub(crate) fn sealed(core: &[u8]) -> Vec<u8> {
    seal(core).expect("the core module fits the world")
}

/// A module of this text.
pub(crate) fn load(engine: &Engine, text: &Text<'_>) -> Result<Module, Error> {
    Module::load(engine, &sealed(&text.core()))
}

pub(crate) fn engine() -> Engine {
    Engine::new(None).expect("an engine starts on this machine")
}
