//! The ClusterServiceVersion: what OLM installs, and what a catalog shows of it.
//!
//! Deployment and rights are those of the plain manifests. Knows one release; which releases there are is the table's.

use std::collections::BTreeMap;

use contract::names::FIELD_MANAGER;
use serde_json::{Value, json};

use crate::files::Error;
use crate::kinds::{KINDS, Kind};
use crate::release::Release;
use crate::{deployment, descriptors, rbac};

/// The package in catalogs. `etcd` is somebody else's.
pub(crate) const PACKAGE: &str = FIELD_MANAGER;
/// What catalogs call it.
const TITLE: &str = "Binnacle for etcd";
/// Where sources, issues and documents are.
pub(crate) const REPOSITORY: &str = "https://github.com/binnacle-etcd/binnacle";
pub(crate) const MAINTAINER: (&str, &str) =
    ("Binnacle maintainers", "maintainers@binnacle-etcd.dev");
/// From here on, objects that were stored before a rule existed stay writable.
pub(crate) const OLDEST_KUBERNETES: &str = "1.30.0";
pub(crate) const SUMMARY: &str = "Runs etcd clusters: births, repairs, resizes and upgrades them without losing an acknowledged write.";
/// What people may look for.
pub(crate) const KEYWORDS: [&str; 4] = ["etcd", "database", "key-value store", "consensus"];
const DESCRIPTION: &str = include_str!("../texts/description.md");
const ICON: &[u8] = include_bytes!("../texts/icon.svg");
/// What consoles may promise. Digest references, proxies and tokens of clouds are not honoured for etcd's own images.
const FEATURES: [(&str, &str); 7] = [
    ("disconnected", "false"),
    ("fips-compliant", "false"),
    ("proxy-aware", "false"),
    ("tls-profiles", "false"),
    ("token-auth-aws", "false"),
    ("token-auth-azure", "false"),
    ("token-auth-gcp", "false"),
];

/// The object of a release.
///
/// # Errors
/// When a definition, an example or the Deployment has no JSON form.
pub(crate) fn csv(release: &Release) -> Result<Value, Error> {
    let owned = KINDS.iter().map(owned).collect::<Result<Vec<_>, _>>()?;
    let examples = KINDS
        .iter()
        .map(|kind| serde_yaml::from_str::<Value>(kind.example))
        .collect::<Result<Vec<_>, _>>()?;
    let first = examples.first().cloned().unwrap_or_default();
    let mut annotations = BTreeMap::from(
        [
            ("alm-examples", serde_json::to_string_pretty(&examples)?),
            ("capabilities", "Seamless Upgrades".to_owned()),
            ("categories", "Database".to_owned()),
            ("containerImage", release.image.clone()),
            ("createdAt", release.created.clone()),
            ("description", SUMMARY.to_owned()),
            (
                "operatorframework.io/initialization-resource",
                serde_json::to_string(&first)?,
            ),
            (
                "operatorframework.io/suggested-namespace",
                PACKAGE.to_owned(),
            ),
            (
                "operatorframework.io/suggested-namespace-template",
                suggested_namespace().to_string(),
            ),
            ("repository", REPOSITORY.to_owned()),
            ("support", MAINTAINER.0.to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    annotations.extend(FEATURES.map(|(feature, value)| {
        (
            format!("features.operators.openshift.io/{feature}"),
            value.to_owned(),
        )
    }));
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ]
    .map(|mode| json!({"type": mode, "supported": true}));
    let mut spec = json!({
        "displayName": TITLE,
        "description": DESCRIPTION,
        "version": release.version,
        "maturity": "alpha",
        "minKubeVersion": OLDEST_KUBERNETES,
        "keywords": KEYWORDS,
        "provider": {"name": MAINTAINER.0, "url": REPOSITORY},
        "maintainers": [{"name": MAINTAINER.0, "email": MAINTAINER.1}],
        "links": [
            {"name": "Source", "url": REPOSITORY},
            {"name": "etcd", "url": "https://etcd.io"},
        ],
        "icon": [{"base64data": base64(ICON), "mediatype": "image/svg+xml"}],
        "installModes": modes,
        "customresourcedefinitions": {"owned": owned},
        "install": {"strategy": "deployment", "spec": {
            "permissions": [{"serviceAccountName": rbac::NAME, "rules": rbac::rules()}],
            "deployments": [{
                "name": rbac::NAME,
                "label": deployment::labels(),
                "spec": deployment::under_olm(&release.image),
            }],
        }},
        "relatedImages": [{"name": PACKAGE, "image": release.image}],
    });
    if let Some(replaces) = release.replaced() {
        spec["replaces"] = json!(replaces);
    }
    Ok(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": release.name(),
            "annotations": annotations,
            "labels": platform(),
        },
        "spec": spec,
    }))
}

/// Processors and systems that the image is built for, as catalogs are asked for them.
fn platform() -> BTreeMap<String, &'static str> {
    let arches = deployment::ARCHES.map(|arch| format!("arch.{arch}"));
    let platforms = arches.into_iter().chain(["os.linux".to_owned()]);
    platforms
        .map(|platform| (format!("operatorframework.io/{platform}"), "supported"))
        .collect()
}

fn owned(kind: &Kind) -> Result<Value, Error> {
    let definition = (kind.definition)()?;
    let name = definition.metadata.name.unwrap_or_default();
    let version = definition.spec.versions.first();
    let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    let fields = |root: &str| {
        schema
            .map(|schema| descriptors::of(schema, root, kind.widgets))
            .unwrap_or_default()
    };
    let made = kind.makes.iter();
    Ok(json!({
        "name": name,
        "kind": definition.spec.names.kind,
        "version": version.map(|version| version.name.as_str()).unwrap_or_default(),
        "displayName": kind.title,
        "description": kind.purpose,
        "resources": made.map(|(version, kind)| json!({"kind": kind, "name": "", "version": version})).collect::<Vec<_>>(),
        "specDescriptors": fields("spec"),
        "statusDescriptors": fields("status"),
    }))
}

/// A namespace in which the operator's pod and the members' pods may run, and no looser ones.
fn suggested_namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": PACKAGE,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
