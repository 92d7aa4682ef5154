//! The bundle of a release: the files that OLM unpacks, and the image that holds them.
//!
//! Files and image are functions of the release and the sources, so that a catalog can name the image by its digest before
//! anybody has pushed it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::csv::{PACKAGE, csv};
use crate::files::{Error, document};
use crate::kinds::KINDS;
use crate::oci::Image;
use crate::release::{Channel, Release};

/// The folder of all bundles, from the top of the checkout.
pub(crate) const FOLDER: &str = "bundle";
/// Where bundle images are pushed to, beside the operator's.
const SUFFIX: &str = "-bundle";
/// The image of the SDK's own tests, named in the scorecard's configuration.
const SCORECARD: &str = "quay.io/operator-framework/scorecard-test:v1.42.3";
/// The scorecard's tests, by suite.
const TESTS: [(&str, &str); 6] = [
    ("basic", "basic-check-spec"),
    ("olm", "olm-bundle-validation"),
    ("olm", "olm-crds-have-validation"),
    ("olm", "olm-crds-have-resources"),
    ("olm", "olm-spec-descriptors"),
    ("olm", "olm-status-descriptors"),
];

/// The files of one release, with their paths inside the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Path and text.
    pub files: BTreeMap<String, String>,
}

impl Bundle {
    /// The bundle of a release as the sources make it.
    ///
    /// # Errors
    /// When an object has no YAML form.
    pub fn of(release: &Release) -> Result<Self, Error> {
        let mut objects = vec![csv(release)?];
        for kind in &KINDS {
            objects.push(serde_json::to_value((kind.definition)()?)?);
        }
        Self::with(&objects)
    }

    /// A bundle of these objects.
    ///
    /// # Errors
    /// When an object has no YAML form.
    pub fn with(objects: &[Value]) -> Result<Self, Error> {
        let mut files = BTreeMap::from([
            (
                "metadata/annotations.yaml".to_owned(),
                document(&json!({"annotations": annotations()}))?,
            ),
            (
                "tests/scorecard/config.yaml".to_owned(),
                document(&scorecard())?,
            ),
            ("Dockerfile".to_owned(), recipe()),
        ]);
        for object in objects {
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            let (kind, name) = (
                kind.as_str().unwrap_or_default(),
                name.as_str().unwrap_or_default(),
            );
            let file = match kind {
                "ClusterServiceVersion" => {
                    format!("manifests/{PACKAGE}.clusterserviceversion.yaml")
                }
                _ => format!("manifests/{name}.{}.yaml", kind.to_lowercase()),
            };
            files.insert(file, document(object)?);
        }
        Ok(Self { files })
    }

    /// The objects in it, the ClusterServiceVersion first.
    ///
    /// # Errors
    /// When a file is no YAML.
    pub fn objects(&self) -> Result<Vec<Value>, serde_yaml::Error> {
        let manifests = self
            .files
            .iter()
            .filter(|(path, _)| path.starts_with("manifests/"));
        let mut objects = manifests
            .map(|(_, text)| serde_yaml::from_str(text))
            .collect::<Result<Vec<Value>, _>>()?;
        objects.sort_by_key(|object| object["kind"] != "ClusterServiceVersion");
        Ok(objects)
    }

    /// Its image: what the Dockerfile says, with fixed times.
    #[must_use]
    pub fn image(&self) -> Image {
        let files = self.files.iter().filter(|(path, _)| *path != "Dockerfile");
        let labels = self
            .files
            .get("Dockerfile")
            .into_iter()
            .flat_map(|recipe| recipe.lines())
            .filter_map(|line| line.strip_prefix("LABEL ")?.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Image::of(
            files.map(|(path, text)| (path.as_str(), text.as_bytes())),
            labels.collect(),
        )
    }

    /// Bytes of all files that OLM stores in one ConfigMap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.files
            .iter()
            .filter(|(path, _)| path.starts_with("manifests/") || path.starts_with("metadata/"))
            .map(|(_, text)| text.len())
            .sum()
    }
}

/// The name of a release's bundle image: beside the operator's, by digest.
pub(crate) fn reference(release: &Release, digest: &str) -> String {
    let repository = release.image.split('@').next().unwrap_or_default();
    format!("{repository}{SUFFIX}@{digest}")
}

/// What the image says of itself, as labels and in a file.
fn annotations() -> BTreeMap<String, String> {
    // All of them, whichever it is in: a promotion leaves the bundle as it is.
    let channels = Channel::ALL.map(Channel::name).join(",");
    let prefixed = [
        ("bundle.mediatype.v1", "registry+v1"),
        ("bundle.manifests.v1", "manifests/"),
        ("bundle.metadata.v1", "metadata/"),
        ("bundle.package.v1", PACKAGE),
        ("bundle.channels.v1", &channels),
        ("bundle.channel.default.v1", Channel::Prod.name()),
        ("test.mediatype.v1", "scorecard+v1"),
        ("test.config.v1", "tests/scorecard/"),
    ];
    prefixed
        .map(|(key, value)| {
            (
                format!("operators.operatorframework.io.{key}"),
                value.to_owned(),
            )
        })
        .into()
}

fn recipe() -> String {
    let labels = annotations();
    let labels = labels
        .iter()
        .map(|(key, value)| format!("LABEL {key}={value}\n"));
    format!(
        "FROM scratch\n{}COPY manifests /manifests/\nCOPY metadata /metadata/\nCOPY tests/scorecard /tests/scorecard/\n",
        labels.collect::<String>()
    )
}

fn scorecard() -> Value {
    let tests = TESTS.map(|(suite, test)| {
        json!({
            "entrypoint": ["scorecard-test", test],
            "image": SCORECARD,
            "labels": {"suite": suite, "test": format!("{test}-test")},
        })
    });
    json!({
        "apiVersion": "scorecard.operatorframework.io/v1alpha3",
        "kind": "Configuration",
        "metadata": {"name": "config"},
        "stages": [{"parallel": true, "tests": tests}],
    })
}
