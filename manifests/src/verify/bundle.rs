//! The rules of a registry+v1 bundle that its files alone can show.

use std::collections::BTreeSet;

use semver::Version;
use serde_json::Value;

use super::card::card;
use super::{Judged, items, text};
use crate::bundle::Bundle;
use crate::csv::PACKAGE;
use crate::fault::Fault;

/// What OLM stores of a bundle in one ConfigMap; the validators warn long before.
const MOST_BYTES: usize = 1 << 20;
const INSTALL_MODES: [&str; 4] = [
    "OwnNamespace",
    "SingleNamespace",
    "MultiNamespace",
    "AllNamespaces",
];
pub(super) const AGAIN: &str = "Change the crate `manifests` and run `make generate`";
const ANNOTATIONS: [(&str, &str); 4] = [
    ("bundle.mediatype.v1", "registry+v1"),
    ("bundle.manifests.v1", "manifests/"),
    ("bundle.metadata.v1", "metadata/"),
    ("bundle.package.v1", PACKAGE),
];

/// What the image of a bundle is made of, but for its labels.
const RECIPE: [&str; 4] = [
    "FROM scratch",
    "COPY manifests /manifests/",
    "COPY metadata /metadata/",
    "COPY tests/scorecard /tests/scorecard/",
];

/// Everything that is wrong with the bundle in `folder`.
pub(crate) fn bundle(folder: &str, bundle: &Bundle) -> Vec<Fault> {
    let mut found = Vec::new();
    let mut csvs = Vec::new();
    let mut definitions = Vec::new();
    for (path, text) in &bundle.files {
        let file = format!("{folder}/{path}");
        let mut judged = Judged::new(&file, text);
        if let Some(name) = path.strip_prefix("manifests/") {
            judged.expect(
                !name.contains('/') && !name.starts_with('.'),
                "",
                "a bundle's manifests are plain files in one folder",
                AGAIN,
            );
            let documents = judged.documents();
            judged.expect(
                documents.len() <= 1,
                "\n---",
                "a file holds one object",
                AGAIN,
            );
            for object in documents {
                match object["kind"].as_str().unwrap_or_default() {
                    "ClusterServiceVersion" => csvs.push((path.clone(), object)),
                    "CustomResourceDefinition" => definitions.push(object),
                    other => judged.say(
                        "kind:",
                        format!("the kind `{other}` is none that this bundle may hold"),
                        AGAIN,
                    ),
                }
            }
        }
        if path == "metadata/annotations.yaml" {
            annotations(&mut judged);
        }
        if path == "Dockerfile" {
            recipe(&mut judged);
        }
        found.extend(judged.found);
    }
    match csvs.as_slice() {
        [(path, csv)] => {
            let mut judged = Judged::new(
                format!("{folder}/{path}"),
                bundle.files.get(path).map_or("", String::as_str),
            );
            judged.expect(
                bundle.bytes() <= MOST_BYTES,
                "",
                format!(
                    "the bundle has {} bytes and OLM stores {MOST_BYTES}",
                    bundle.bytes()
                ),
                "Shorten descriptions of the custom resource",
            );
            identity(&mut judged, csv, folder);
            card(&mut judged, csv);
            images(&mut judged, csv);
            apis(&mut judged, csv, &definitions);
            found.extend(judged.found);
        }
        other => {
            let mut judged = Judged::new(folder, "");
            judged.say(
                "",
                format!(
                    "a bundle has one ClusterServiceVersion and this has {}",
                    other.len()
                ),
                AGAIN,
            );
            found.extend(judged.found);
        }
    }
    found
}

/// The catalog names the image by a digest that is made of the files: a recipe that makes another image makes one that
/// nobody finds.
fn recipe(judged: &mut Judged<'_>) {
    let lines = judged
        .text
        .lines()
        .filter(|line| !line.starts_with("LABEL "));
    let differs = lines
        .map(Some)
        .chain([None])
        .zip(RECIPE.map(Some).into_iter().chain([None]))
        .find(|(found, wanted)| found != wanted);
    if let Some((found, wanted)) = differs {
        let (found, wanted) = (found.unwrap_or_default(), wanted.unwrap_or("nothing more"));
        let what = format!("the image is made by `{found}` where `{wanted}` belongs");
        judged.say(found, what, AGAIN);
    }
}

fn annotations(judged: &mut Judged<'_>) {
    let Some(document) = judged.documents().pop() else {
        return;
    };
    for (key, wanted) in ANNOTATIONS {
        let full = format!("operators.operatorframework.io.{key}");
        let value = document["annotations"][&full].as_str().unwrap_or_default();
        judged.expect(
            value == wanted,
            key,
            format!("{key} is `{value}` and has to be `{wanted}`"),
            AGAIN,
        );
    }
    let channels =
        document["annotations"]["operators.operatorframework.io.bundle.channels.v1"].as_str();
    judged.expect(
        channels.is_some_and(|channels| !channels.is_empty()),
        "",
        "bundle.channels.v1 names no channel",
        AGAIN,
    );
}

/// Name, version, folder, install modes, the oldest Kubernetes.
fn identity(judged: &mut Judged<'_>, csv: &Value, folder: &str) {
    let (name, version) = (text(csv, "/metadata/name"), text(csv, "/spec/version"));
    judged.expect(name == format!("{PACKAGE}.v{version}") && name.len() <= 63, "version:", format!("metadata.name is {name} and spec.version {version}; the name is {PACKAGE}.v and the version"), AGAIN);
    judged.expect(
        folder.ends_with(&format!("/{version}")),
        "version:",
        format!("the version is {version} and the folder {folder}"),
        AGAIN,
    );
    let oldest = text(csv, "/spec/minKubeVersion");
    judged.expect(
        Version::parse(oldest).is_ok(),
        "minKubeVersion",
        format!("minKubeVersion `{oldest}` is no full version"),
        AGAIN,
    );
    for mode in INSTALL_MODES {
        let said = items(csv, "/spec/installModes")
            .iter()
            .filter(|one| one["type"] == mode)
            .count();
        judged.expect(
            said == 1,
            "installModes",
            format!("the install mode {mode} is not said, or twice"),
            AGAIN,
        );
    }
    let permissions = items(csv, "/spec/install/spec/clusterPermissions");
    judged.expect(permissions.is_empty(), "clusterPermissions", "the bundle asks for rights in the whole cluster; OLM widens those in `permissions` where a group asks for it", AGAIN);
    let deployments = items(csv, "/spec/install/spec/deployments");
    judged.expect(
        deployments.len() == 1,
        "deployments",
        "the bundle installs one Deployment",
        AGAIN,
    );
}

/// Every image by digest, and each that runs among the related ones.
fn images(judged: &mut Judged<'_>, csv: &Value) {
    let related: BTreeSet<&str> = items(csv, "/spec/relatedImages")
        .iter()
        .map(|one| text(one, "/image"))
        .collect();
    judged.expect(
        !related.is_empty(),
        "relatedImages",
        "relatedImages is empty, so a mirror would hold nothing",
        AGAIN,
    );
    for deployment in items(csv, "/spec/install/spec/deployments") {
        for container in items(deployment, "/spec/template/spec/containers") {
            let image = text(container, "/image");
            judged.expect(
                related.contains(image),
                image,
                format!("the image {image} runs and is not in relatedImages"),
                AGAIN,
            );
            for wanted in ["cpu", "memory"] {
                let asked = container.pointer(&format!("/resources/requests/{wanted}"));
                judged.expect(
                    asked.is_some(),
                    "resources",
                    format!("the container asks for no {wanted}"),
                    AGAIN,
                );
            }
        }
    }
    for image in related
        .iter()
        .copied()
        .chain([text(csv, "/metadata/annotations/containerImage")])
    {
        judged.expect(
            crate::release::is_by_digest(image),
            image,
            format!("the image {image} is not named by digest"),
            "Name the image by digest in manifests/releases.toml and run `make generate`",
        );
    }
}

/// Owned APIs against definitions, examples against both, and a form field for every key of an example.
fn apis(judged: &mut Judged<'_>, csv: &Value, definitions: &[Value]) {
    let owned = items(csv, "/spec/customresourcedefinitions/owned");
    let names: BTreeSet<&str> = owned.iter().map(|one| text(one, "/name")).collect();
    let defined: BTreeSet<&str> = definitions
        .iter()
        .map(|one| text(one, "/metadata/name"))
        .collect();
    judged.expect(
        names == defined,
        "customresourcedefinitions",
        format!("owned are {names:?} and defined {defined:?}"),
        AGAIN,
    );
    let examples: Vec<Value> =
        serde_json::from_str(text(csv, "/metadata/annotations/alm-examples")).unwrap_or_default();
    judged.expect(
        examples.len() == owned.len(),
        "alm-examples",
        "there is one example for each owned API",
        AGAIN,
    );
    for api in owned {
        let (kind, name) = (text(api, "/kind"), text(api, "/name"));
        for part in ["/displayName", "/description"] {
            judged.expect(
                !text(api, part).is_empty(),
                name,
                format!("{kind} has no {}", &part[1..]),
                AGAIN,
            );
        }
        judged.expect(
            !items(api, "/resources").is_empty(),
            name,
            format!("{kind} names no resources that are made for it"),
            AGAIN,
        );
        judged.expect(
            !items(api, "/statusDescriptors").is_empty(),
            name,
            format!("{kind} has no statusDescriptors"),
            AGAIN,
        );
        let is_of_it = |example: &&Value| {
            let (group, _version) = text(example, "/apiVersion")
                .split_once('/')
                .unwrap_or_default();
            example["kind"] == kind && name.ends_with(&format!(".{group}"))
        };
        let Some(example) = examples.iter().find(is_of_it) else {
            judged.say("alm-examples", format!("{kind} has no example"), AGAIN);
            continue;
        };
        let definition = definitions
            .iter()
            .find(|one| text(one, "/metadata/name") == name);
        let schema = definition.and_then(|one| {
            one.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties")
        });
        for key in example["spec"]
            .as_object()
            .into_iter()
            .flat_map(|spec| spec.keys())
        {
            let described = items(api, "/specDescriptors")
                .iter()
                .any(|one| one["path"] == *key);
            judged.expect(
                described,
                "specDescriptors",
                format!("spec.{key} stands in an example and has no descriptor"),
                AGAIN,
            );
            let known = schema.is_some_and(|schema| schema.get(key).is_some());
            judged.expect(
                known,
                "alm-examples",
                format!("spec.{key} of the example is no field of {kind}"),
                AGAIN,
            );
        }
    }
}
