//! What is refused before its first decision.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host::error::Chain;
use host::module::{Error, Module, seal};
use small::{DESCRIPTION, Text};

use crate::sealing::{engine, sealed};

/// Loads `bytes` and wants a refusal that has all of `words`.
fn check_refused(bytes: &[u8], words: &[&str]) {
    let refused = Module::load(&engine(), bytes).expect_err("a refusal");
    let told = Chain(&refused).to_string();
    for word in words {
        assert!(told.contains(word), "{word:?} is not in: {told}");
    }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is right")
}

fn described(description: &str) -> Vec<u8> {
    let text = Text {
        description,
        ..Text::default()
    };
    sealed(&text.core())
}

#[test]
fn what_is_not_webassembly_is_refused_by_its_first_bytes() {
    check_refused(b"", &["not WebAssembly", "empty"]);
    check_refused(b"#!/bin/sh", &["not WebAssembly", "23 21"]);
    check_refused(b"\0as", &["not WebAssembly"]);
}

#[test]
fn half_a_module_is_refused() {
    let whole = sealed(&Text::default().core());
    check_refused(&whole[..whole.len() / 2], &["broken"]);
}

#[test]
fn a_core_module_is_refused_with_the_command_that_helps() {
    check_refused(
        &Text::default().core(),
        &["core module", "binnacle module seal"],
    );
}

#[test]
fn an_import_is_refused_by_name() {
    let clock = component(r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance)))"#);
    check_refused(&clock, &["imports wasi:clocks/wall-clock@0.2.0"]);
}

#[test]
fn a_core_module_is_refused_for_its_import_first() {
    let core = component(r#"(module (import "env" "now" (func (result i64))))"#);
    check_refused(&core, &["imports env.now"]);
}

#[test]
fn a_core_module_with_an_import_is_not_sealed() {
    let core = component(r#"(module (import "env" "now" (func (result i64))))"#);
    let refused = seal(&core).expect_err("a refusal");
    assert!(matches!(refused, Error::Imports { .. }), "{refused}");
    assert!(refused.to_string().contains("env.now"), "{refused}");
}

#[test]
fn a_component_is_not_sealed_twice() {
    let refused = seal(&sealed(&Text::default().core())).expect_err("a refusal");
    assert!(matches!(refused, Error::AlreadySealed), "{refused}");
}

#[test]
fn a_core_module_without_the_exports_is_not_sealed() {
    let refused = seal(&component("(module)")).expect_err("a refusal");
    assert!(matches!(refused, Error::Unsealable { .. }), "{refused}");
}

#[test]
fn missing_and_further_exports_are_refused() {
    check_refused(
        &component("(component)"),
        &["exports nothing", "exactly describe and reconcile"],
    );
    let more = component(
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (export "describe" (func $f))
            (export "reconcile" (func $f))
            (export "backdoor" (func $f)))"#,
    );
    check_refused(&more, &["backdoor"]);
}

#[test]
fn exports_of_another_type_are_refused() {
    let other = component(
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (export "describe" (func $f))
            (export "reconcile" (func $f)))"#,
    );
    check_refused(&other, &["describe", "another type"]);
}

#[test]
fn a_module_that_cannot_describe_itself_is_refused() {
    let trap = Text {
        describe: "unreachable",
        ..Text::default()
    };
    check_refused(&sealed(&trap.core()), &["describe() failed", "trapped"]);
    let endless = Text {
        describe: "(loop (br 0)) (i32.const 32)",
        ..Text::default()
    };
    check_refused(&sealed(&endless.core()), &["describe() failed"]);
    check_refused(
        &described("I am a module"),
        &["describe() did not answer with a description"],
    );
}

#[test]
fn schemas_and_hosts_that_do_not_fit_are_refused() {
    let newer = DESCRIPTION.replace(
        r#""oldestSchema":1,"newestSchema":1"#,
        r#""oldestSchema":7,"newestSchema":9"#,
    );
    check_refused(&described(&newer), &["schema 7 to 9", "schema 1"]);
    let writes = DESCRIPTION.replace(r#""decisionSchema":1"#, r#""decisionSchema":2"#);
    check_refused(&described(&writes), &["decisions of schema 2"]);
    let host = DESCRIPTION.replace("0.1.0", "99.0.0");
    check_refused(&described(&host), &["needs host 99.0.0"]);
    let nonsense = DESCRIPTION.replace("0.1.0", "soon");
    check_refused(&described(&nonsense), &["soon", "not MAJOR.MINOR.PATCH"]);
}

#[test]
fn more_memory_than_the_cap_is_refused_at_load() {
    let greedy = component(
        r#"(component
            (core module $m (memory 2000) (func (export "f") (result i32) (i32.const 0)))
            (core instance $i (instantiate $m))
            (func $f (result u32) (canon lift (core func $i "f")))
            (export "describe" (func $f))
            (export "reconcile" (func $f)))"#,
    );
    check_refused(&greedy, &["cannot be compiled", "memory"]);
}

/// A few kilobytes can take the compiler gigabytes, which are not the operator's: in each loop it keeps every variable that
/// is used within. Two thousand variables in five thousand loops ended such a process after two minutes.
#[test]
fn the_process_that_compiles_has_bounds() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut process = Command::new(&tests::sealed::sealed().binary)
        .args(["module", "compile", "--cache-dir"])
        .arg(cache.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let file = format!("/proc/{}/limits", process.id());
    let bounds = [
        "Max cpu time              120 ",
        "Max data size             1073741824 ",
    ];
    let deadline = Instant::now() + Duration::from_secs(30);
    // It waits for its module meanwhile.
    let limits = loop {
        let limits = std::fs::read_to_string(&file).expect("it runs");
        if bounds.iter().all(|bound| limits.contains(bound)) || Instant::now() > deadline {
            break limits;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    process.kill().expect("it is ended");
    process.wait().expect("it has ended");
    for bound in bounds {
        assert!(limits.contains(bound), "{bound:?} is not in: {limits}");
    }
}
