//! What a binary shows without being run: component or core module, imports, exports.

use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

use super::{EXPORTS, Error};

/// The outside of a WebAssembly binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anatomy {
    /// A component, as reconcilers are; else a core module.
    pub component: bool,
    /// Names of what it needs from outside, in its order.
    pub imports: Vec<String>,
    /// Names of what it offers, in its order.
    pub exports: Vec<String>,
}

impl Anatomy {
    /// Looks at a binary.
    ///
    /// # Errors
    /// When it is not WebAssembly, or a broken one.
    pub fn of(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\0asm") {
            return Err(Error::NotWasm {
                beginning: beginning(bytes),
            });
        }
        read(bytes).map_err(|source| Error::Broken {
            source: source.into(),
        })
    }

    /// A module that imports could reach the clock, the network or the cluster.
    pub(super) fn require_no_import(&self) -> Result<(), Error> {
        if self.imports.is_empty() {
            return Ok(());
        }
        Err(Error::Imports {
            names: self.imports.join(", "),
        })
    }

    /// Exactly the two exports, in any order.
    pub(super) fn require_exports(&self) -> Result<(), Error> {
        let mut found: Vec<&str> = self.exports.iter().map(String::as_str).collect();
        found.sort_unstable();
        if found == EXPORTS {
            return Ok(());
        }
        let found = if found.is_empty() {
            "nothing".to_owned()
        } else {
            found.join(", ")
        };
        Err(Error::Exports { found })
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most of a binary is its inside"
)]
fn read(bytes: &[u8]) -> Result<Anatomy, BinaryReaderError> {
    let mut anatomy = Anatomy {
        component: false,
        imports: Vec::new(),
        exports: Vec::new(),
    };
    // A component holds further modules; their imports are met within it.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding, .. } if depth == 0 => {
                anatomy.component = encoding == Encoding::Component;
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    anatomy.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    anatomy.exports.push(export?.name.name.to_owned());
                }
            }
            Payload::ImportSection(section) if depth == 0 => {
                for import in section.into_imports() {
                    let import = import?;
                    anatomy
                        .imports
                        .push(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::ExportSection(section) if depth == 0 => {
                for export in section {
                    anatomy.exports.push(export?.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(anatomy)
}

fn beginning(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing, it is empty".to_owned();
    }
    let hex: Vec<String> = bytes
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    hex.join(" ")
}
