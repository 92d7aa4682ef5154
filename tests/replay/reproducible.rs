//! The same source gives the same module, wherever it lies.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use host::module::digest;
use tests::cargo;
use tests::sealed::sealed;

/// Makes `to` the same as what a build reads of `from`: all of the checkout but its history and its builds. What is the
/// same already is not touched, so that a build there begins where the last one ended.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let to = to.join(&name);
        if entry.file_type()?.is_dir() {
            mirror(&entry.path(), &to)?;
        } else {
            let bytes = fs::read(entry.path())?;
            if fs::read(&to).ok().as_ref() != Some(&bytes) {
                fs::write(to, bytes)?;
            }
        }
        names.insert(name);
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if names.contains(&entry.file_name()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[test]
fn the_module_does_not_depend_on_where_it_was_built() {
    let elsewhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("elsewhere");
    let checkout = elsewhere.join("another/place");
    mirror(&sealed().checkout, &checkout).expect("the checkout can be copied");
    let target = elsewhere.join("target");
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .expect("cargo has a home");
    let remap = format!("--remap-path-prefix={home}=cargo");
    let status = cargo::command("cargo")
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
    let names = [elsewhere.as_path(), &sealed().checkout];
    for name in names.map(|path| path.display().to_string()) {
        let found = rebuilt
            .windows(name.len())
            .any(|bytes| bytes == name.as_bytes());
        assert!(!found, "{name} is in the module");
    }
}
