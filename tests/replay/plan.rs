//! `binnacle plan` without a cluster: from the golden recordings, by the modules within them.

use std::path::PathBuf;

use serde_json::Value;
use tests::sealed::sealed;

use crate::command::{check, text};

/// Its last decisions are on clusters at rest.
fn golden() -> PathBuf {
    sealed()
        .checkout
        .join("tests/recordings/schema-1.jsonl.zst")
}

fn edited(spec: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let object = format!(
        r#"{{"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": {{"name": "trial"}}, "spec": {spec}}}"#
    );
    std::fs::write(file.path(), object).expect("it is written");
    file
}

const CLAIM: &str = r#""pod": {"persistentVolumeClaimSpec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}"#;

/// The plan for this spec, as JSON.
fn plan(spec: &str, code: i32) -> Value {
    let (file, golden) = (edited(spec), golden());
    let arguments = [
        "plan",
        "-f",
        text(file.path()),
        "--recording",
        text(&golden),
        "-o",
        "json",
    ];
    serde_json::from_str(&check(&arguments, code, &[])).expect("JSON")
}

fn steps(plan: &Value, name: &str) -> usize {
    let steps = plan["steps"].as_array().expect("there are steps");
    steps.iter().filter(|step| step["name"] == name).count()
}

#[test]
fn an_edit_is_followed_to_its_end_with_waits_and_risks() {
    let grown = plan(
        &format!(r#"{{"size": 3, "version": "3.6.16", {CLAIM}}}"#),
        2,
    );
    assert_eq!(steps(&grown, "AddLearner"), 2, "{grown:#}");
    assert_eq!(steps(&grown, "Promote"), 2);
    assert!(steps(&grown, "LearnerCatchingUp") >= 2);
    assert_eq!(grown["edits"][0]["path"], "spec.size");
    assert_eq!(grown["end"]["atRest"], true);
    assert_eq!(
        (&grown["end"]["members"], &grown["end"]["healthy"]),
        (&3.into(), &3.into())
    );

    let patched = plan(
        &format!(r#"{{"size": 1, "version": "3.6.17", {CLAIM}}}"#),
        2,
    );
    assert_eq!(steps(&patched, "SetImage Pod"), 1, "{patched:#}");
    let risks = patched["risks"].to_string();
    assert!(
        risks.contains("does not serve while a member is away: 0 of 1 voter"),
        "{risks}"
    );
}

#[test]
fn no_change_changes_and_no_plan_have_exit_codes_of_their_own() {
    let golden = golden();
    let same = edited(&format!(r#"{{"size": 1, "version": "3.6.16", {CLAIM}}}"#));
    let of = |file: &str, code, words: &[&str]| {
        check(
            &["plan", "-f", file, "--recording", text(&golden)],
            code,
            words,
        );
    };
    of(
        text(same.path()),
        0,
        &[
            "nothing in the spec",
            "Nothing would be done",
            "at rest: 1 member",
        ],
    );
    let grown = edited(&format!(r#"{{"size": 3, "version": "3.6.16", {CLAIM}}}"#));
    of(
        text(grown.path()),
        2,
        &[
            "spec.size: 1 -> 3",
            "Create the Pod trial-",
            "nothing is left to do",
        ],
    );
    // Whom the API server would refuse already, it is the module that refuses here.
    let old = edited(&format!(r#"{{"size": 1, "version": "3.5.21", {CLAIM}}}"#));
    of(
        text(old.path()),
        1,
        &[
            "spec.version: \"3.6.16\" -> \"3.5.21\"",
            "Nothing would be done",
        ],
    );
    of("/nowhere.yaml", 1, &["/nowhere.yaml cannot be read"]);
    let service = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(service.path(), "kind: Service\n").expect("it is written");
    of(text(service.path()), 1, &["holds no EtcdCluster"]);
    let twice = "kind: EtcdCluster\n---\nkind: EtcdCluster\n";
    std::fs::write(service.path(), twice).expect("it is written");
    of(text(service.path()), 1, &["more than one EtcdCluster"]);
    std::fs::write(service.path(), "kind: [\n").expect("it is written");
    of(text(service.path()), 1, &["is not YAML"]);
    let other = std::fs::read_to_string(same.path()).expect("it is there");
    std::fs::write(service.path(), other.replace("trial", "other")).expect("it is written");
    of(
        text(service.path()),
        1,
        &["holds no decision on a cluster other"],
    );
}
