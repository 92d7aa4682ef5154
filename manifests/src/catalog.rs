//! The file-based catalog: the package, its two channels, and every release's bundle as catalogs show it.
//!
//! A function of the table and of the bundles' files; a bundle that no longer follows the sources is read from its folder.

use serde_json::{Map, Value, json};

use crate::bundle::{Bundle, reference};
use crate::csv::PACKAGE;
use crate::files::{Error, document};
use crate::release::{Channel, Release, Table};

/// What a catalog's image serves, from the top of the checkout.
pub(crate) const CONFIGS: &str = "catalog/configs";
/// The catalog, from the top of the checkout.
pub(crate) const FILE: &str = "catalog/configs/binnacle/catalog.yaml";
/// How its image is made.
pub(crate) const RECIPE: &str = "catalog/Dockerfile";

/// The catalog image: opm serves the folder `configs`.
pub(crate) const RECIPE_TEXT: &str = "\
FROM quay.io/operator-framework/opm:v1.73.0\n\
ENTRYPOINT [\"/bin/opm\"]\n\
CMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\"]\n\
COPY configs /configs\n\
RUN [\"/bin/opm\", \"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-only\"]\n\
LABEL operators.operatorframework.io.index.configs.v1=/configs\n";

/// What a catalog shows of a ClusterServiceVersion's spec beside its annotations and labels.
const SHOWN: [(&str, &str); 10] = [
    ("apiServiceDefinitions", "apiservicedefinitions"),
    ("crdDescriptions", "customresourcedefinitions"),
    ("description", "description"),
    ("displayName", "displayName"),
    ("installModes", "installModes"),
    ("keywords", "keywords"),
    ("links", "links"),
    ("maintainers", "maintainers"),
    ("maturity", "maturity"),
    ("minKubeVersion", "minKubeVersion"),
];

/// The catalog's text: one document for each of its parts.
///
/// # Errors
/// When a bundle cannot be read, or a part has no YAML form.
pub fn catalog(table: &Table, bundles: &[(&Release, Bundle)]) -> Result<String, Error> {
    let mut parts = Vec::new();
    let newest = bundles.last();
    if let Some((_, bundle)) = newest {
        let objects = bundle.objects()?;
        let csv = objects.first().cloned().unwrap_or_default();
        let icon = &csv["spec"]["icon"][0];
        let default = Channel::ALL
            .into_iter()
            .rev()
            .find(|channel| table.of(*channel).next().is_some());
        parts.push(json!({
            "schema": "olm.package",
            "name": PACKAGE,
            "defaultChannel": default.map(Channel::name),
            "description": csv["metadata"]["annotations"]["description"],
            "icon": {"base64data": icon["base64data"], "mediatype": icon["mediatype"]},
        }));
    }
    for channel in Channel::ALL {
        let entries: Vec<Value> = table
            .of(channel)
            .map(|release| entry(release, channel))
            .collect();
        if !entries.is_empty() {
            parts.push(json!({"schema": "olm.channel", "package": PACKAGE, "name": channel.name(), "entries": entries}));
        }
    }
    for (release, bundle) in bundles {
        parts.push(shown(release, bundle)?);
    }
    let deprecated: Vec<Value> = table
        .releases
        .iter()
        .filter_map(|release| {
            let why = release.deprecated.as_ref()?;
            Some(json!({"reference": {"schema": "olm.bundle", "name": release.name()}, "message": why}))
        })
        .collect();
    if !deprecated.is_empty() {
        parts
            .push(json!({"schema": "olm.deprecations", "package": PACKAGE, "entries": deprecated}));
    }
    let documents = parts.iter().map(document).collect::<Result<Vec<_>, _>>()?;
    Ok(documents.join("---\n"))
}

/// How a release is reached in a channel. `prod` lets whoever it supports skip what lies between; `replaces` stays beside
/// that, because a range alone would take older releases out of the channel.
fn entry(release: &Release, channel: Channel) -> Value {
    let mut entry = json!({"name": release.name()});
    if let Some(replaces) = release.replaced_in(channel) {
        entry["replaces"] = json!(replaces);
    }
    if channel == Channel::Prod && release.upgrades_from < release.version {
        entry["skipRange"] = json!(release.skip_range());
    }
    entry
}

/// A bundle as `opm render` shows it.
fn shown(release: &Release, bundle: &Bundle) -> Result<Value, Error> {
    let objects = bundle.objects()?;
    let csv = objects.first().cloned().unwrap_or_default();
    let image = reference(release, &bundle.image().digest());
    let owned = csv["spec"]["customresourcedefinitions"]["owned"].as_array();
    let mut properties: Vec<Value> = owned
        .into_iter()
        .flatten()
        .map(|api| {
            let group = api["name"].as_str().and_then(|name| name.split_once('.')).map(|(_, group)| group);
            json!({"type": "olm.gvk", "value": {"group": group, "kind": api["kind"], "version": api["version"]}})
        })
        .collect();
    properties.push(json!({"type": "olm.package", "value": {"packageName": PACKAGE, "version": release.version}}));
    properties.push(json!({"type": "olm.csv.metadata", "value": metadata(&csv)}));
    let mut images = vec![json!({"name": "", "image": image})];
    images.extend(
        csv["spec"]["relatedImages"]
            .as_array()
            .cloned()
            .unwrap_or_default(),
    );
    Ok(json!({
        "schema": "olm.bundle",
        "name": release.name(),
        "package": PACKAGE,
        "image": image,
        "properties": properties,
        "relatedImages": images,
    }))
}

fn metadata(csv: &Value) -> Value {
    let mut shown = Map::from_iter([
        (
            "annotations".to_owned(),
            csv["metadata"]["annotations"].clone(),
        ),
        ("labels".to_owned(), csv["metadata"]["labels"].clone()),
        ("provider".to_owned(), csv["spec"]["provider"].clone()),
    ]);
    for (name, from) in SHOWN {
        if let Some(part) = csv["spec"].get(from) {
            shown.insert(name.to_owned(), part.clone());
        }
    }
    shown
        .entry("apiServiceDefinitions")
        .or_insert_with(|| json!({}));
    Value::Object(shown)
}
