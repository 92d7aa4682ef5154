//! Who may depend on whom. The purity of the judgement begins with what it cannot even name.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

use crate::repository::assert_none;

/// The crates of this workspace and those of it that each may use.
const ARROWS: [(&str, &[&str]); 11] = [
    ("contract", &[]),
    ("reconciler", &["contract"]),
    ("reconciler-wasm", &["reconciler", "contract"]),
    ("envelope", &["contract"]),
    ("simulator", &["envelope", "contract"]),
    ("host", &["simulator", "envelope", "contract"]),
    ("manifests", &["contract"]),
    // Its tests use all pure crates.
    ("decide", &[]),
    ("fulcio", &[]),
    ("small", &[]),
    (
        "tests",
        &[
            "contract",
            "reconciler",
            "envelope",
            "simulator",
            "host",
            "manifests",
        ],
    ),
];

/// Crates that get their whole world as an argument.
const PURE: [&str; 4] = ["contract", "reconciler", "envelope", "simulator"];

/// What a pure crate can reach the world with, at any distance.
const WORLDLY: [&str; 13] = [
    "async-std",
    "etcd-client",
    "getrandom",
    "hyper",
    "kube",
    "kube-client",
    "mio",
    "reqwest",
    "rustls",
    "socket2",
    "tokio",
    "tracing",
    "wasmtime",
];

fn metadata() -> Metadata {
    // One platform is enough to judge by, and only what that one needs has been fetched.
    let options = ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned);
    MetadataCommand::new()
        .other_options(options)
        .exec()
        .expect("cargo reads this workspace")
}

#[test]
fn each_crate_uses_only_the_crates_below_it() {
    let metadata = metadata();
    let rules = BTreeMap::from(ARROWS);
    let mut wrong = Vec::new();
    for package in metadata.workspace_packages() {
        let Some(allowed) = rules.get(package.name.as_str()) else {
            wrong.push(format!(
                "{} has no rule; give it one in this test",
                package.name
            ));
            continue;
        };
        // Tests of a crate may look further than the crate itself.
        let uses = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development);
        for used in uses.filter(|dependency| rules.contains_key(dependency.name.as_str())) {
            if !allowed.contains(&used.name.as_str()) {
                wrong.push(format!("{} -> {}", package.name, used.name));
            }
        }
    }
    assert_none(
        &wrong,
        "arrows that must not be (ARCHITECTURE.md has those that may)",
    );
}

#[test]
fn pure_crates_reach_nothing_that_touches_the_world() {
    let metadata = metadata();
    let names: BTreeMap<&PackageId, &str> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package.name.as_str()))
        .collect();
    let resolve = metadata
        .resolve
        .as_ref()
        .expect("cargo resolved the dependencies");
    let normal: BTreeMap<&PackageId, Vec<&PackageId>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let used = node
                .deps
                .iter()
                .filter(|used| {
                    used.dep_kinds
                        .iter()
                        .any(|kind| kind.kind == DependencyKind::Normal)
                })
                .map(|used| &used.pkg);
            (&node.id, used.collect())
        })
        .collect();
    let mut wrong = Vec::new();
    for package in metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| PURE.contains(&package.name.as_str()))
    {
        let mut seen = BTreeSet::new();
        let mut open = vec![&package.id];
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(normal.get(next).into_iter().flatten());
            }
        }
        let reached = seen
            .iter()
            .filter_map(|id| names.get(id))
            .filter(|name| WORLDLY.contains(name));
        wrong.extend(reached.map(|name| format!("{} reaches {name}", package.name)));
    }
    assert_none(&wrong, "pure crates that reach the world");
}
