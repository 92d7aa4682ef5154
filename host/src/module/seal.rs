//! Makes a component of a core module, and tells the two apart.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::Error;

/// The world every module implements; its text is the ABI.
const WORLD: &str = include_str!("../../../reconciler-wasm/wit/world.wit");

/// The first four bytes of any WebAssembly binary.
const MAGIC: [u8; 4] = *b"\0asm";
/// Version and layer of a core module.
const CORE: [u8; 4] = [1, 0, 0, 0];

/// Wraps a core module, built for wasm32-unknown-unknown, into a component of the reconciler's world. Equal input gives
/// equal output.
///
/// # Errors
/// When `core` is not a core module, or lacks what the world asks for.
pub fn seal(core: &[u8]) -> Result<Vec<u8>, Error> {
    match layer(core)? {
        Layer::Core => {}
        Layer::Component => return Err(Error::AlreadySealed),
    }
    encode(core).map_err(|error| Error::Unsealable { source: error.into() })
}

/// Refuses all but components.
pub(super) fn require_component(bytes: &[u8]) -> Result<(), Error> {
    match layer(bytes)? {
        Layer::Core => Err(Error::CoreModule),
        Layer::Component => Ok(()),
    }
}

enum Layer {
    Core,
    Component,
}

fn layer(bytes: &[u8]) -> Result<Layer, Error> {
    match bytes.strip_prefix(&MAGIC) {
        Some(rest) if rest.starts_with(&CORE) => Ok(Layer::Core),
        Some(rest) if rest.len() >= CORE.len() => Ok(Layer::Component),
        Some(_) | None => Err(Error::NotWasm { beginning: beginning(bytes) }),
    }
}

fn beginning(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing, it is empty".to_owned();
    }
    let hex: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    hex.join(" ")
}

/// Modules of wit-bindgen carry the world's type with them; to others it is added.
fn encode(core: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut core = core.to_vec();
    let (without_type, _) = wit_component::metadata::decode(&core)?;
    if without_type.is_none() {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("world.wit", WORLD)?;
        let world = resolve.select_world(&[package], None)?;
        embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)?;
    }
    ComponentEncoder::default().module(&core)?.validate(true).encode()
}
