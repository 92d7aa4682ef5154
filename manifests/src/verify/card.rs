//! What a catalog shows to people of a ClusterServiceVersion: whether it is all there and in words that catalogs know.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::bundle::AGAIN;
use super::{Judged, items, text};

/// How far an operator goes, as catalogs call it.
const LEVELS: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

/// What a catalog shows to people.
pub(super) fn card(judged: &mut Judged<'_>, csv: &Value) {
    let title = text(csv, "/spec/displayName").chars().count();
    judged.expect(
        (3..=50).contains(&title),
        "displayName",
        "displayName has 3 to 50 characters",
        AGAIN,
    );
    judged.expect(
        text(csv, "/spec/description").len() >= 20,
        "description",
        "the description is missing or too short",
        AGAIN,
    );
    let category = text(csv, "/metadata/annotations/categories");
    judged.expect(
        category == "Database",
        "categories",
        format!("the category is `{category}`, which no catalog knows; it is `Database`"),
        AGAIN,
    );
    let level = text(csv, "/metadata/annotations/capabilities");
    judged.expect(
        LEVELS.contains(&level),
        "capabilities",
        format!(
            "`{level}` is no level of capabilities; they are {}",
            LEVELS.join(", ")
        ),
        AGAIN,
    );
    let created = text(csv, "/metadata/annotations/createdAt");
    judged.expect(
        created.parse::<Timestamp>().is_ok(),
        "createdAt",
        format!("createdAt `{created}` is no time"),
        "Correct `created` in manifests/releases.toml and run `make generate`",
    );
    let labels = csv.pointer("/metadata/labels").and_then(Value::as_object);
    for platform in ["arch.", "os."] {
        let prefix = format!("operatorframework.io/{platform}");
        let is_said = labels.is_some_and(|labels| {
            labels
                .iter()
                .any(|(label, value)| label.starts_with(&prefix) && value == "supported")
        });
        judged.expect(
            is_said,
            "labels:",
            format!("no label {prefix}… says what the image is built for"),
            AGAIN,
        );
    }
    let icons = items(csv, "/spec/icon");
    judged.expect(
        matches!(icons, [icon] if icon["mediatype"] == "image/svg+xml"),
        "icon",
        "there is not exactly one icon",
        AGAIN,
    );
    judged.expect(
        !text(csv, "/spec/provider/name").is_empty(),
        "provider",
        "the provider has no name",
        AGAIN,
    );
    let mails = items(csv, "/spec/maintainers");
    judged.expect(
        !mails.is_empty() && mails.iter().all(|one| text(one, "/email").contains('@')),
        "maintainers",
        "a maintainer has a name and a mail address",
        AGAIN,
    );
    let links = items(csv, "/spec/links");
    judged.expect(
        !links.is_empty()
            && links
                .iter()
                .all(|one| text(one, "/url").starts_with("https://")),
        "links",
        "a link has a name and an absolute URL",
        AGAIN,
    );
    for (key, value) in csv["metadata"]["annotations"]
        .as_object()
        .into_iter()
        .flatten()
    {
        if key.starts_with("features.operators.openshift.io/") {
            judged.expect(
                value == "true" || value == "false",
                key,
                format!("{key} is {value}; it is the text true or false"),
                AGAIN,
            );
        }
    }
}
