//! Small reconciler modules, written as text: what suites ask, refuse and roll out.
//!
//! Gives core modules. Knows no host: whoever uses one seals it.

/// A description that every check of a host accepts.
pub const DESCRIPTION: &str = r#"{"name":"small","version":"1.0.0","oldestSchema":1,"newestSchema":1,"decisionSchema":1,"minimumHost":"0.1.0"}"#;

/// A decision to do nothing.
pub const NOTHING: &str = r#"{"schema":1,"actions":[],"report":{"findings":[]}}"#;

/// Where the data begin.
const DATA: usize = 4096;
/// A page of memory, in bytes.
const PAGE: usize = 65_536;
/// Pages for what is passed in and for what the module makes.
const FREE_PAGES: usize = 15;

/// A module in text.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// What `describe` says.
    pub description: &'a str,
    /// The body of `describe`, after the description is in its place.
    pub describe: &'a str,
    /// The body of `reconcile`.
    pub reconcile: &'a str,
    /// The bytes at 4096.
    pub data: &'a [u8],
}

impl Default for Text<'_> {
    /// Describes itself, and traps when asked.
    fn default() -> Self {
        Self {
            description: DESCRIPTION,
            describe: "(i32.const 32)",
            reconcile: "unreachable",
            data: b"",
        }
    }
}

impl Text<'_> {
    /// The core module's bytes.
    ///
    /// # Panics
    /// Where a body is no WebAssembly text.
    #[must_use]
    pub fn core(&self) -> Vec<u8> {
        let Self {
            description,
            describe,
            reconcile,
            data,
        } = self;
        let free = (DATA + data.len()).next_multiple_of(PAGE);
        let text = format!(
            r#"(module
                (memory (export "memory") {})
                (global $free (mut i32) (i32.const {free}))
                (data (i32.const 1024) "{}")
                (data (i32.const {DATA}) "{}")
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
            free / PAGE + FREE_PAGES,
            escaped(description.as_bytes()),
            escaped(data),
            description.len(),
        );
        wat::parse_str(text).expect("the text is right")
    }
}

/// A body of `reconcile` that answers with so many bytes from 4096 on.
#[must_use]
pub fn answer(length: usize) -> String {
    format!(
        "(i32.store8 (i32.const 64) (i32.const 0)) \
         (i32.store (i32.const 68) (i32.const {DATA})) \
         (i32.store (i32.const 72) (i32.const {length})) \
         (i32.const 64)"
    )
}

/// The core of a module that gives this answer to everything.
#[must_use]
pub fn answering(bytes: &[u8]) -> Vec<u8> {
    Text {
        reconcile: &answer(bytes.len()),
        data: bytes,
        ..Text::default()
    }
    .core()
}

/// Bytes as they are spelled inside quotes in the text format.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}
