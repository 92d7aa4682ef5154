//! The modules of docs/examples, built as their documentation says: they are sealed, looked at, and asked about golden
//! recordings.

use std::path::{Path, PathBuf};
use std::process::Command;

use tests::sealed::sealed;

/// Its decisions are of a Saturday.
fn golden() -> PathBuf {
    sealed()
        .checkout
        .join("tests/recordings/schema-1.jsonl.zst")
}

fn succeed(command: &mut Command) {
    let status = command.status().expect("it can be started");
    assert!(status.success(), "{command:?} ended with {status}");
}

/// Runs `binnacle`, wants this exit code and answers what it printed.
fn binnacle(arguments: &[&str], code: i32) -> String {
    let output = Command::new(&sealed().binary).args(arguments).output();
    let output = output.expect("the binary starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {told}{errors}"
    );
    told
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

/// Seals a core module and wants it to be usable.
fn seal(core: &Path, to: &Path) {
    binnacle(&["module", "seal", text(core), "--to", text(to)], 0);
    let inspected = binnacle(&["module", "inspect", text(to)], 0);
    for words in [
        "Imports  none",
        "Exports  describe, reconcile",
        "Usable   yes",
    ] {
        assert!(inspected.contains(words), "{words:?} is not in {inspected}");
    }
}

#[test]
fn the_module_without_fridays_is_tested_built_and_decides_as_the_stock_one_on_a_saturday() {
    let sealed = sealed();
    let manifest = sealed.checkout.join("docs/examples/module/Cargo.toml");
    let target = sealed.file.parent().expect("it lies in the target folder");
    let cargo = |arguments: &[&str]| {
        let mut cargo = tests::cargo::command("cargo");
        cargo.args(arguments).arg("--locked").arg("--manifest-path");
        succeed(cargo.arg(&manifest).env("CARGO_TARGET_DIR", target));
    };
    cargo(&["test"]);
    cargo(&[
        "build",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "wasm",
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let module = folder.path().join("no-fridays.wasm");
    seal(
        &target.join("wasm32-unknown-unknown/wasm/no_fridays.wasm"),
        &module,
    );
    let told = binnacle(
        &[
            "replay",
            text(&golden()),
            "--module",
            text(&module),
            "--against",
            text(&sealed.file),
        ],
        0,
    );
    assert!(told.contains("all equal"), "{told}");
}

/// Needs npm and its registry. Where there is no npm, nothing is proved, and that is said.
#[test]
fn a_module_in_assemblyscript_is_a_module_like_any_other() {
    if Command::new("npm").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no npm here to build docs/examples/module-as with");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let example = sealed().checkout.join("docs/examples/module-as");
    for file in ["module.ts", "package.json", "package-lock.json"] {
        std::fs::copy(example.join(file), folder.path().join(file)).expect("it is there");
    }
    let npm = |arguments: &[&str]| {
        succeed(
            Command::new("npm")
                .args(arguments)
                .current_dir(folder.path()),
        )
    };
    npm(&["ci", "--no-audit", "--no-fund", "--silent"]);
    npm(&["run", "--silent", "build"]);
    let module = folder.path().join("observer.wasm");
    seal(&folder.path().join("build/core.wasm"), &module);
    // It answers every one of them, and never as the stock module does.
    let told = binnacle(
        &[
            "replay",
            text(&golden()),
            "--module",
            text(&module),
            "-o",
            "json",
        ],
        1,
    );
    let tally: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(tally["decisions"], tally["differing"], "{tally:#}");
    assert!(told.contains("An observer saw a snapshot of"), "{told}");
    assert!(!told.contains("\"kind\": \"failure\""), "{told}");
}
