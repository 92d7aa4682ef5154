//! Which images members may run: those of the repository that the spec asks for, and what they run already.
//!
//! A living pod may be given the asked version, or one on the way to it where the spec allows a long way.

use std::collections::BTreeMap;

use contract::{EtcdClusterSpec, ObjectKind, Pod, Snapshot, names};
use semver::Version;
use serde_json::Value;

use crate::{Refusal, ResourceHead};

const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";
const DEFAULT_VERSION: Version = Version::new(3, 6, 16);

/// A pod is made, and a member remembered, with the image of the asked version, of one on the way to it or of one that a
/// member answered with, in the spec's repository; or with the image of the birth plan, or one that a member has: those were
/// judged when they were made.
pub(crate) fn judge_image(
    image: &str,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let version = version_of(image).filter(|_| is_of_repository(image, spec));
    let is_asked = version.is_some_and(|version| {
        is_on_the_way(&version, snapshot, spec) || have_run(&version, snapshot)
    });
    if !is_asked && !is_in_use(image, snapshot) {
        refusals.push(foreign(image, spec));
    }
}

/// A cluster is born with the version that is asked for. Where a plan was lost, one is made by the pods that are there.
pub(crate) fn judge_first_image(
    image: &str,
    spec: &EtcdClusterSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let asked = asked_version(spec.version.as_deref().unwrap_or_default());
    let is_asked = is_of_repository(image, spec) && asked.is_some() && version_of(image) == asked;
    if !is_asked && !own_pods(snapshot).any(|pod| pod.image == image) {
        refusals.push(foreign(image, spec));
    }
}

/// A living pod may be given the image of the asked version, or return to the one that its member ran, in the spec's
/// repository or the one that members have it from; one whose member never answered, that of the others in the spec's; with
/// `spec.upgrade.throughMinors` it may also be given one between what members run and what is asked. Nobody else may be waiting for such a restart.
pub(crate) fn judge_new_image(
    name: &str,
    image: &str,
    annotations: &BTreeMap<String, String>,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let version = version_of(image);
    let is_asked = is_of_repository(image, spec);
    let is_allowed = version.as_ref().is_some_and(|version| {
        (is_asked && is_on_the_way(version, snapshot, spec))
            || ((is_asked || is_in_use(image, snapshot)) && has_run(name, version, snapshot))
            || (is_asked && has_never_run(name, snapshot) && have_run(version, snapshot))
    });
    if !is_allowed {
        refusals.push(foreign(image, spec));
    }
    let pods = || own_pods(snapshot);
    let restarts = pods()
        .find(|pod| pod.name == name)
        .map(Pod::restarts_before_image);
    let version = version.map(|version| version.to_string());
    for (key, value) in annotations {
        let is_true = match key.as_str() {
            names::VERSION_ANNOTATION => Some(value) == version.as_ref(),
            names::RESTARTS_ANNOTATION => Some(value) == restarts.as_ref(),
            _ => false,
        };
        if !is_true {
            refusals.push(Refusal::Annotation {
                kind: ObjectKind::Pod,
                name: name.to_owned(),
                annotation: key.clone(),
            });
        }
    }
    if !annotations.contains_key(names::RESTARTS_ANNOTATION) {
        refusals.push(Refusal::MissingPrecondition {
            effect: "SetImage",
            target: name.to_owned(),
            field: names::RESTARTS_ANNOTATION,
        });
    }
    if let Some(other) = pods().find(|pod| pod.name != name && pod.is_about_to_restart()) {
        refusals.push(Refusal::RestartPending(other.name.clone()));
    }
}

/// Whether the member answered with this version when it last did.
fn has_run(name: &str, version: &Version, snapshot: &Snapshot) -> bool {
    versions(snapshot).any(|(who, ran)| who == name && ran == *version)
}

/// Whether the member never answered with any version.
fn has_never_run(name: &str, snapshot: &Snapshot) -> bool {
    !versions(snapshot).any(|(who, _)| who == name)
}

/// Whether any member answered with this version when it last did, or the status calls it the cluster's: the archived
/// operator remembered no members.
fn have_run(version: &Version, snapshot: &Snapshot) -> bool {
    let told = snapshot.resource.status.get("currentVersion");
    let told = told.and_then(Value::as_str).map(Version::parse);
    told.is_some_and(|told| told.ok().as_ref() == Some(version))
        || versions(snapshot).any(|(_, ran)| ran == *version)
}

/// Names of members, and the versions that they last answered with.
fn versions(snapshot: &Snapshot) -> impl Iterator<Item = (&str, Version)> {
    records(snapshot).filter_map(|record| {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        Some((text("name")?, Version::parse(text("version")?).ok()?))
    })
}

/// What `spec.version` asks for.
pub(crate) fn asked_version(asked: &str) -> Option<Version> {
    match asked.trim_start_matches('v') {
        "" => Some(DEFAULT_VERSION),
        asked => Version::parse(asked).ok(),
    }
}

fn is_on_the_way(version: &Version, snapshot: &Snapshot, spec: &EtcdClusterSpec) -> bool {
    let asked = asked_version(spec.version.as_deref().unwrap_or_default());
    let Some(asked) = asked else { return false };
    if *version == asked {
        return true;
    }
    let is_long = spec
        .upgrade
        .as_ref()
        .is_some_and(|upgrade| upgrade.through_minors);
    let answered = snapshot
        .etcd
        .endpoints
        .iter()
        .filter_map(|endpoint| endpoint.status.seen())
        .filter_map(|status| Version::parse(&status.version).ok());
    let of_images = own_pods(snapshot).filter_map(|pod| version_of(&pod.image));
    let remembered = versions(snapshot).map(|(_, version)| version);
    let mut known = answered.chain(of_images).chain(remembered);
    is_long
        && known.any(|running| {
            (running < *version && *version < asked) || (asked < *version && *version < running)
        })
}

/// The version that an image says.
fn version_of(image: &str) -> Option<Version> {
    let (_, version) = image.rsplit_once(":v")?;
    Version::parse(version).ok()
}

/// Whether it is the repository that is asked for, and nothing but a version behind it: a port, too, follows a colon.
fn is_of_repository(image: &str, spec: &EtcdClusterSpec) -> bool {
    let found = image.rsplit_once(":v").map(|(found, _)| found);
    found == Some(repository(spec))
}

fn repository(spec: &EtcdClusterSpec) -> &str {
    spec.repository
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_REPOSITORY)
}

fn foreign(image: &str, spec: &EtcdClusterSpec) -> Refusal {
    Refusal::Image {
        image: image.to_owned(),
        repository: repository(spec).to_owned(),
    }
}

fn is_in_use(image: &str, snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let birth = ResourceHead::of(resource).birth;
    let mut remembered = records(snapshot);
    birth.is_some_and(|birth| birth.image == image)
        || own_pods(snapshot).any(|pod| pod.image == image)
        || snapshot
            .old_children()
            .pods
            .iter()
            .any(|pod| pod.image == image)
        || remembered.any(|record| record.get("image").and_then(Value::as_str) == Some(image))
}

/// What the status remembers of the members, as it is stored.
fn records(snapshot: &Snapshot) -> impl Iterator<Item = &Value> {
    let records = snapshot.resource.status.get("memberRecords");
    records.and_then(Value::as_array).into_iter().flatten()
}

fn own_pods(snapshot: &Snapshot) -> impl Iterator<Item = &Pod> {
    let uid = &snapshot.resource.uid;
    let pods = snapshot.objects.pods.seen().into_iter().flatten();
    pods.filter(move |pod| pod.owner.as_ref() == Some(uid))
}
