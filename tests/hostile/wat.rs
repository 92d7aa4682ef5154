//! Small modules, written as text.

use host::module::{Engine, Error, Module, seal};

/// A description that every check accepts.
pub(crate) const DESCRIPTION: &str = r#"{"name":"small","version":"1.0.0","oldestSchema":1,"newestSchema":1,"decisionSchema":1,"minimumHost":"0.1.0"}"#;

/// A decision to do nothing.
pub(crate) const NOTHING: &str = r#"{"schema":1,"actions":[],"report":{"findings":[]}}"#;

/// `reconcile` answers the text at 4096, of this length.
pub(crate) fn answer(length: usize) -> String {
    format!(
        "(i32.store8 (i32.const 64) (i32.const 0)) \
         (i32.store (i32.const 68) (i32.const 4096)) \
         (i32.store (i32.const 72) (i32.const {length})) \
         (i32.const 64)"
    )
}

/// A module in text: what `describe` says, what `reconcile` does, and the text at 4096.
pub(crate) struct Text<'a> {
    pub(crate) description: &'a str,
    pub(crate) describe: &'a str,
    pub(crate) reconcile: &'a str,
    pub(crate) data: &'a str,
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self {
            description: DESCRIPTION,
            describe: "(i32.const 32)",
            reconcile: "unreachable",
            data: "",
        }
    }
}

impl Text<'_> {
    /// The core module.
    pub(crate) fn core(&self) -> Vec<u8> {
        let Self {
            description,
            describe,
            reconcile,
            data,
        } = self;
        let text = format!(
            r#"(module
                (memory (export "memory") 16)
                (global $free (mut i32) (i32.const 65536))
                (data (i32.const 1024) "{}")
                (data (i32.const 4096) "{}")
                (func $deep (call $deep))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    (global.get $free)
                    (global.set $free (i32.add (global.get $free) (local.get 3))))
                (func (export "describe") (result i32)
                    (i32.store (i32.const 32) (i32.const 1024))
                    (i32.store (i32.const 36) (i32.const {}))
                    {describe})
                (func (export "reconcile") (param i32 i32) (result i32)
                    {reconcile}))"#,
            escaped(description),
            escaped(data),
            description.len(),
        );
        wat::parse_str(text).expect("the text is right")
    }

    /// The component.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        seal(&self.core()).expect("the core module fits the world")
    }

    pub(crate) fn load(&self, engine: &Engine) -> Result<Module, Error> {
        Module::load(engine, &self.sealed())
    }
}

pub(crate) fn engine() -> Engine {
    Engine::new(None).expect("an engine starts on this machine")
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}
