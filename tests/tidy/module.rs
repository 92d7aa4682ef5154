//! The sealed module as bytes: it can reach nothing, and offers two functions.
//!
//! Reads the binary itself, so that neither the host's own check nor the tool that made it is believed.

use std::fs;

use wasmparser::{Parser, Payload};

use crate::repository::target;

/// What a component asks for and offers, at its surface and anywhere inside.
#[derive(Debug, Default, PartialEq, Eq)]
struct Surface {
    imports: Vec<String>,
    exports: Vec<String>,
}

#[test]
fn the_sealed_module_imports_nothing_and_exports_two_functions() {
    let file = target().join("reconciler.wasm");
    let bytes = fs::read(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; `make wasm` builds it", file.display()));
    let found = surface(&bytes);
    let exports = ["describe", "reconcile"].map(str::to_owned).to_vec();
    assert_eq!(
        found,
        Surface {
            imports: Vec::new(),
            exports
        }
    );
}

/// The component's exports, and the imports of the component and of every module in it that come from outside.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "another crate's enum, which grows with WebAssembly"
)]
fn surface(bytes: &[u8]) -> Surface {
    let mut found = Surface::default();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.expect("the module is WebAssembly") {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(imports) if depth == 0 => {
                let names = imports
                    .into_iter()
                    .map(|import| import.expect("an import").name.name.to_owned());
                found.imports.extend(names);
            }
            Payload::ComponentExportSection(exports) if depth == 0 => {
                let names = exports
                    .into_iter()
                    .map(|export| export.expect("an export").name.name.to_owned());
                found.exports.extend(names);
            }
            Payload::ImportSection(imports) => {
                let names = imports
                    .into_imports()
                    .map(|import| import.expect("an import"));
                found
                    .imports
                    .extend(names.map(|import| format!("{}#{}", import.module, import.name)));
            }
            _ => {}
        }
    }
    found.exports.sort_unstable();
    found
}
