//! `binnacle convert` as people type it: what it reads, what it prints where, and its exit codes.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tests::sealed::sealed;

const CLUSTER: &str = "
apiVersion: etcd.improbable.io/v1alpha1
kind: EtcdCluster
metadata:
  name: my-cluster
spec:
  replicas: 3
  version: 3.6.16
  storage:
    volumeClaimTemplate:
      storageClassName: standard
      resources:
        requests:
          storage: 1Gi
";

/// Runs `binnacle convert` with these words on its standard input, and wants this exit code.
fn convert(arguments: &[&str], input: &str, code: i32) -> Output {
    let mut child = Command::new(&sealed().binary)
        .arg("convert")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).expect("it is read");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document and nothing else")
}

#[test]
fn what_comes_from_standard_input_is_printed_in_the_other_dialect_and_goes_back() {
    let there = convert(&["-f", "-"], CLUSTER, 0);
    let remarks = String::from_utf8_lossy(&there.stderr);
    assert!(remarks.contains("not carried over: EtcdCluster my-cluster, its data"));
    let text = String::from_utf8(there.stdout).expect("YAML is UTF-8");
    assert!(
        text.starts_with("---\napiVersion: etcd.database.coreos.com/v1beta2\n"),
        "{text}"
    );
    let back = json(&convert(&["--filename", "-", "--output", "json"], &text, 0));
    assert_eq!(back["apiVersion"], "etcd.improbable.io/v1alpha1");
    assert_eq!(back["spec"]["replicas"], 3);
    let claim = &back["spec"]["storage"]["volumeClaimTemplate"];
    assert_eq!(claim["storageClassName"], "standard");
}

#[test]
fn one_object_is_one_json_document_and_several_are_a_list() {
    let one = json(&convert(&["-f", "-", "-o", "json"], CLUSTER, 0));
    assert_eq!(one["kind"], "EtcdCluster");
    let file = sealed().checkout.join("docs/examples/improbable.yaml");
    let file = file.to_str().expect("a path of letters");
    let arguments = ["-f", file, "-o", "json", "--store-secret", "aws"];
    let several = json(&convert(&arguments, "", 0));
    assert_eq!(several["kind"], "List");
    let kinds = several["items"].as_array().expect("a list").iter();
    assert!(
        kinds
            .map(|object| &object["kind"])
            .eq(["EtcdCluster", "EtcdBackup"])
    );
}

#[test]
fn what_cannot_be_converted_is_said_in_words_or_in_json_and_nothing_is_printed() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let refused = CLUSTER.replace("replicas: 3", "replicas: three");
    for (input, words) in [
        ("a: [", "is not YAML"),
        (other, "nothing to convert"),
        (refused.as_str(), "replicas"),
    ] {
        let said = convert(&["-f", "-"], input, 2);
        assert!(said.stdout.is_empty(), "{input}");
        let told = String::from_utf8_lossy(&said.stderr);
        assert!(told.contains(words), "{words:?} is not in {told}");
        let said = convert(&["-f", "-", "-o", "json"], input, 2);
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        );
        let told: Value = serde_json::from_str(&told).expect("a refusal in JSON");
        assert!(told.to_string().contains(words), "{told}");
    }
    let nowhere = convert(&["-f", "/nowhere"], "", 2);
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/nowhere cannot be read"));
}
