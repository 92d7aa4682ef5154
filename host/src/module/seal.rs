//! Makes a component of a core module.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::{Anatomy, Error};

/// The world every module implements; its text is the ABI.
const WORLD: &str = include_str!("../../../reconciler-wasm/wit/world.wit");

/// The world's package and its version, which is that of the two functions.
pub const ABI: &str = "binnacle:reconciler@1.0.0";

/// Wraps a core module, built for wasm32-unknown-unknown, into a component of the reconciler's world. Equal input gives
/// equal output.
///
/// # Errors
/// When `core` is not a core module, imports something, or lacks what the world asks for.
pub fn seal(core: &[u8]) -> Result<Vec<u8>, Error> {
    let anatomy = Anatomy::of(core)?;
    if anatomy.component {
        return Err(Error::AlreadySealed);
    }
    anatomy.require_no_import()?;
    encode(core).map_err(|error| Error::Unsealable {
        source: error.into(),
    })
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
    ComponentEncoder::default()
        .module(&core)?
        .validate(true)
        .encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_abi_is_called_as_the_world_calls_itself() {
        assert!(WORLD.contains(&format!("package {ABI};")));
    }
}
