//! The files that git knows, and where they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the checkout.
pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_path_buf()
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).to_path_buf()
}

/// Every file that is committed or would be, with its path from the top.
pub(crate) fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ])
        .current_dir(root())
        .output()
        .expect("git lists the files of this checkout");
    assert!(
        listed.status.success(),
        "git cannot list the files: {}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let listed = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    listed
        .lines()
        .filter(|file| root().join(file).is_file())
        .map(str::to_owned)
        .collect()
}

/// The files with this extension and what is in them.
pub(crate) fn texts(extension: &str) -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|file| {
            Path::new(file)
                .extension()
                .is_some_and(|found| found == extension)
        })
        .map(|file| {
            let text = read(&file);
            (file, text)
        })
        .collect()
}

/// What is in the file at this path from the top.
pub(crate) fn read(file: &str) -> String {
    fs::read_to_string(root().join(file))
        .unwrap_or_else(|error| panic!("{file} cannot be read: {error}"))
}

/// Fails with one line for each thing that is wrong.
pub(crate) fn assert_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n  {}", wrong.join("\n  "));
}
