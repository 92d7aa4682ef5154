//! The rules of a file-based catalog: one package, one head in each channel from which everything is reached, every bundle
//! in a channel and with its properties.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Judged, items, text};
use crate::csv::PACKAGE;
use crate::fault::Fault;

const AGAIN: &str = "Correct manifests/releases.toml and run `make generate`";

/// Everything that is wrong with the catalog in `file`.
pub(crate) fn catalog(file: &str, content: &str) -> Vec<Fault> {
    let mut judged = Judged::new(file, content);
    let documents = judged.documents();
    if !judged.found.is_empty() {
        return judged.found;
    }
    let of = |schema: &str| {
        documents
            .iter()
            .filter(|one| one["schema"] == schema)
            .collect::<Vec<_>>()
    };
    let (packages, channels, bundles) = (of("olm.package"), of("olm.channel"), of("olm.bundle"));
    for one in documents
        .iter()
        .filter(|one| one["schema"] != "olm.package")
    {
        let package = text(one, "/package");
        judged.expect(
            package == PACKAGE,
            package,
            format!("a part belongs to the package `{package}`, and this is {PACKAGE}"),
            AGAIN,
        );
    }
    let names: BTreeSet<&str> = channels
        .iter()
        .map(|channel| text(channel, "/name"))
        .collect();
    judged.expect(
        names.len() == channels.len(),
        "olm.channel",
        "two channels have one name",
        AGAIN,
    );
    match packages.as_slice() {
        [package] => {
            let default = text(package, "/defaultChannel");
            judged.expect(
                names.contains(default),
                "defaultChannel",
                format!("the default channel `{default}` is not there"),
                AGAIN,
            );
        }
        other => judged.say(
            "olm.package",
            format!("a catalog has one package and this has {}", other.len()),
            AGAIN,
        ),
    }
    let mut listed = BTreeSet::new();
    for channel in &channels {
        entries(&mut judged, channel);
        listed.extend(
            items(channel, "/entries")
                .iter()
                .map(|entry| text(entry, "/name")),
        );
    }
    let mut versions = BTreeSet::new();
    for one in &bundles {
        bundle(&mut judged, one, &listed, &mut versions);
    }
    let known: BTreeSet<&str> = bundles.iter().map(|bundle| text(bundle, "/name")).collect();
    for name in listed.difference(&known) {
        judged.say(
            name,
            format!("{name} is in a channel and no bundle has that name"),
            AGAIN,
        );
    }
    deprecations(&mut judged, &documents, &names, &known);
    judged.found
}

/// What is wrong with a further file beside the catalog: a broken one keeps `opm` from serving any of them.
pub(crate) fn other(file: &str, content: &str) -> Vec<Fault> {
    let mut judged = Judged::new(file, content);
    judged.documents();
    judged.found
}

/// Whoever runs what is deprecated is told so by its name: a name that is not there tells nobody.
fn deprecations(
    judged: &mut Judged<'_>,
    documents: &[Value],
    channels: &BTreeSet<&str>,
    bundles: &BTreeSet<&str>,
) {
    let all: Vec<_> = documents
        .iter()
        .filter(|one| one["schema"] == "olm.deprecations")
        .collect();
    judged.expect(
        all.len() <= 1,
        "olm.deprecations",
        format!(
            "a package has one list of deprecations and this has {}",
            all.len()
        ),
        AGAIN,
    );
    let mut seen = BTreeSet::new();
    for entry in all.into_iter().flat_map(|one| items(one, "/entries")) {
        let (schema, name) = (
            text(entry, "/reference/schema"),
            text(entry, "/reference/name"),
        );
        let is_known = match schema {
            "olm.package" => name.is_empty(),
            "olm.channel" => channels.contains(name),
            "olm.bundle" => bundles.contains(name),
            _ => false,
        };
        judged.expect(
            is_known,
            "olm.deprecations",
            format!("{schema} {name} is deprecated and not there"),
            AGAIN,
        );
        judged.expect(
            seen.insert((schema, name)),
            "olm.deprecations",
            format!("{schema} {name} is deprecated twice"),
            AGAIN,
        );
        judged.expect(
            !text(entry, "/message").trim().is_empty(),
            "olm.deprecations",
            format!("{schema} {name} is deprecated without a word why"),
            AGAIN,
        );
    }
}

/// One head, from which following what each replaces reaches every entry.
fn entries(judged: &mut Judged<'_>, channel: &Value) {
    let name = text(channel, "/name");
    let replaces: BTreeMap<&str, &str> = items(channel, "/entries")
        .iter()
        .map(|entry| (text(entry, "/name"), text(entry, "/replaces")))
        .collect();
    let doubled = items(channel, "/entries").len() != replaces.len();
    judged.expect(
        !doubled,
        name,
        format!("the channel {name} lists an entry twice"),
        AGAIN,
    );
    let replaced: BTreeSet<&str> = replaces.values().copied().collect();
    let heads: Vec<&str> = replaces
        .keys()
        .copied()
        .filter(|entry| !replaced.contains(entry))
        .collect();
    let head = match heads.as_slice() {
        [head] => *head,
        [] => return judged.say(name, format!("the channel {name} is a loop"), AGAIN),
        [one, other, ..] => {
            return judged.say(
                one,
                format!("the channel {name} has two heads, {one} and {other}"),
                AGAIN,
            );
        }
    };
    let mut reached = BTreeSet::new();
    let mut at = Some(head);
    while let Some(entry) = at.filter(|entry| reached.insert(*entry)) {
        at = replaces.get(entry).copied().filter(|next| !next.is_empty());
    }
    for entry in replaces.keys().filter(|entry| !reached.contains(*entry)) {
        judged.say(
            entry,
            format!(
                "{entry} of the channel {name} is reached from nowhere: whoever runs it is stranded"
            ),
            AGAIN,
        );
    }
}

fn bundle<'a>(
    judged: &mut Judged<'_>,
    bundle: &'a Value,
    listed: &BTreeSet<&str>,
    versions: &mut BTreeSet<&'a str>,
) {
    let name = text(bundle, "/name");
    judged.expect(
        listed.contains(name),
        name,
        format!("{name} is in no channel"),
        AGAIN,
    );
    let of = |kind: &str| {
        items(bundle, "/properties")
            .iter()
            .filter(|one| one["type"] == kind)
            .collect::<Vec<_>>()
    };
    match of("olm.package").as_slice() {
        [package] => {
            let version = text(package, "/value/version");
            judged.expect(
                name == format!("{PACKAGE}.v{version}"),
                name,
                format!("{name} says that its version is {version}"),
                AGAIN,
            );
            judged.expect(
                versions.insert(version),
                name,
                format!("two bundles have the version {version}"),
                AGAIN,
            );
        }
        other => judged.say(
            name,
            format!(
                "{name} has {} properties olm.package and needs one",
                other.len()
            ),
            AGAIN,
        ),
    }
    judged.expect(
        !of("olm.gvk").is_empty(),
        name,
        format!("{name} serves no API"),
        AGAIN,
    );
    judged.expect(
        of("olm.csv.metadata").len() == 1,
        name,
        format!("{name} has no olm.csv.metadata"),
        AGAIN,
    );
    judged.expect(
        of("olm.bundle.object").is_empty(),
        name,
        format!("{name} has olm.bundle.object, which newer catalogs refuse"),
        AGAIN,
    );
    for image in items(bundle, "/relatedImages")
        .iter()
        .chain([bundle])
        .map(|one| text(one, "/image"))
    {
        judged.expect(
            crate::release::is_by_digest(image),
            image,
            format!("the image `{image}` is not named by digest"),
            AGAIN,
        );
    }
}
