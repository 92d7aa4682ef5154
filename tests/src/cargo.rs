//! Builds that are begun by a program which cargo runs itself.

use std::process::Command;

/// What cargo tells such a program of its own package.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// A command that builds. Build scripts of libraries look at the variables of a package: of another one, they would build
/// these libraries anew, and all that stands on them.
#[must_use]
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let is_told = |name: &str| OF_A_PACKAGE.iter().any(|start| name.starts_with(start));
        if name.to_str().is_some_and(is_told) {
            command.env_remove(name);
        }
    }
    command
}
