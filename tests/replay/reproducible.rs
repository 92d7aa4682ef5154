//! The same source gives the same module, wherever it lies.

use std::fs;
use std::path::Path;
use std::process::Command;

use host::module::digest;
use tests::sealed::sealed;

/// What a build reads: all of the checkout but its history and its builds.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let to = to.join(&name);
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[test]
fn the_module_does_not_depend_on_where_it_was_built() {
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let checkout = elsewhere.path().join("another/place");
    copy(&sealed().checkout, &checkout).expect("the checkout can be copied");
    let target = elsewhere.path().join("target");
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .expect("cargo has a home");
    let remap = format!(
        "--remap-path-prefix={}=binnacle --remap-path-prefix={home}=cargo",
        checkout.display()
    );
    let status = Command::new("cargo")
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "reconciler-wasm",
            "--profile",
            "wasm",
        ])
        .args(["--target", "wasm32-unknown-unknown"])
        .current_dir(&checkout)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", remap)
        .status()
        .expect("cargo starts");
    assert!(status.success(), "it builds elsewhere");
    let core = fs::read(target.join("wasm32-unknown-unknown/wasm/reconciler_wasm.wasm"))
        .expect("it was built");
    let rebuilt = host::module::seal(&core).expect("it can be sealed");
    assert_eq!(digest(&rebuilt), digest(&sealed().bytes));
    let names = [elsewhere.path(), &sealed().checkout];
    for name in names.map(|path| path.display().to_string()) {
        let found = rebuilt
            .windows(name.len())
            .any(|bytes| bytes == name.as_bytes());
        assert!(!found, "{name} is in the module");
    }
}
