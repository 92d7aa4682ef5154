//! A table with one release more, or with one in a further channel.
//!
//! Writes nothing. What would strand anybody is refused by the rules that hold for every table.

use semver::Version;

use super::{Channel, Edge, Release, Table, faults, is_pushed};
use crate::fault::Fault;

/// A release to be made.
#[derive(Clone, Debug)]
pub struct New {
    /// Its version, higher than every other.
    pub version: Version,
    /// The operator's image, by digest.
    pub image: String,
    /// When it is made, RFC 3339.
    pub created: String,
    /// The lowest version that may go to it at once; none for that of the release before it.
    pub upgrades_from: Option<Version>,
    /// sha-256 of the bundle's image of the newest release so far, which is frozen by this.
    pub frozen: Option<String>,
}

/// The table with a new release at the end of `testing`, or with the image of the newest one that was not pushed before.
///
/// # Errors
/// What the new table would break, or that the release before it was never pushed.
pub fn release(table: &Table, new: New) -> Result<Table, Vec<Fault>> {
    let New {
        version,
        image,
        created,
        upgrades_from,
        frozen,
    } = new;
    let mut table = table.clone();
    let before = table.releases.last_mut();
    match before {
        Some(newest) if !is_pushed(&newest.image) && newest.version == version => {
            newest.image = image;
            newest.created = created;
            return judged(table);
        }
        Some(before) if !is_pushed(&before.image) => {
            return refuse(never_pushed(before), &push_it(&before.version));
        }
        Some(_) | None => {}
    }
    let before = table.releases.last_mut();
    let supported = before.as_ref().map(|before| before.upgrades_from.clone());
    let replaces = before.as_ref().map(|before| before.name());
    if let Some(before) = before.filter(|before| before.bundle.is_none()) {
        before.bundle = frozen;
    }
    table.releases.push(Release {
        upgrades_from: upgrades_from
            .or(supported)
            .unwrap_or_else(|| version.clone()),
        version,
        created,
        image,
        bundle: None,
        deprecated: None,
        channels: [(Channel::Testing, Edge { replaces })].into(),
    });
    judged(table)
}

/// The table with a release of `testing` in `prod`, too. From now on its bundle is the one with this digest.
///
/// # Errors
/// There is no such release, it was never pushed, it is in `prod` already or older than the head of `prod`, or somebody would
/// be stranded.
pub fn promote(
    table: &Table,
    version: &Version,
    frozen: Option<String>,
) -> Result<Table, Vec<Fault>> {
    let mut table = table.clone();
    let head = table.of(Channel::Prod).next_back().cloned();
    let not_there = unknown(&table, version);
    let Some(release) = table
        .releases
        .iter_mut()
        .find(|release| release.version == *version)
    else {
        return not_there;
    };
    if let Some(head) = head.as_ref().filter(|head| head.version >= *version) {
        return refuse(
            format!(
                "prod is at {} already, and {version} would be a downgrade",
                head.version
            ),
            "Promote a newer release",
        );
    }
    if !is_pushed(&release.image) {
        return refuse(never_pushed(release), &push_it(version));
    }
    let replaces = head.map(|head| head.name());
    release.channels.insert(Channel::Prod, Edge { replaces });
    if release.bundle.is_none() {
        release.bundle = frozen;
    }
    judged(table)
}

/// The table in which a release is one that nobody should run any more. Its edges stay: whoever runs it moves on from it.
///
/// # Errors
/// There is no such release, or no word why.
pub fn deprecate(table: &Table, version: &Version, message: &str) -> Result<Table, Vec<Fault>> {
    let mut table = table.clone();
    let not_there = unknown(&table, version);
    let Some(release) = table
        .releases
        .iter_mut()
        .find(|release| release.version == *version)
    else {
        return not_there;
    };
    release.deprecated = Some(message.trim().to_owned());
    judged(table)
}

fn refuse(what: String, remedy: &str) -> Result<Table, Vec<Fault>> {
    Err(vec![Fault {
        file: super::TABLE.to_owned(),
        line: 1,
        what,
        remedy: remedy.to_owned(),
    }])
}

fn unknown(table: &Table, version: &Version) -> Result<Table, Vec<Fault>> {
    let known = table.releases.iter();
    let known: Vec<_> = known.map(|release| release.version.to_string()).collect();
    refuse(
        format!(
            "there is no release {version}; there are {}",
            known.join(", ")
        ),
        "Name one of them, or make it first with `make release`",
    )
}

fn never_pushed(release: &Release) -> String {
    let Release { version, image, .. } = release;
    format!("the image of {version} was never pushed: {image} has a digest of zeros")
}

fn push_it(version: &Version) -> String {
    format!(
        "Push it, and say its digest with `make release VERSION={version} IMAGE=REPOSITORY@sha256:…`"
    )
}

fn judged(table: Table) -> Result<Table, Vec<Fault>> {
    let text = table.text().unwrap_or_default();
    let faults = faults(&table, &text);
    if faults.is_empty() {
        Ok(table)
    } else {
        Err(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(version: &str) -> New {
        New {
            version: version.parse().expect("a version"),
            image: format!("quay.io/binnacle/binnacle@sha256:{}", "a".repeat(64)),
            created: "2026-01-31T12:00:00Z".to_owned(),
            upgrades_from: None,
            frozen: Some("sha256:00".to_owned()),
        }
    }

    fn four() -> Table {
        let mut table = Table::default();
        for version in ["0.1.0", "0.2.0", "0.3.0", "0.4.0"] {
            table = release(&table, new(version)).expect("a release");
            if matches!(version, "0.2.0" | "0.4.0") {
                let version = version.parse().expect("a version");
                let frozen = Some("sha256:01".to_owned());
                table = promote(&table, &version, frozen).expect("promoted");
            }
        }
        table
    }

    fn refusal(result: Result<Table, Vec<Fault>>) -> String {
        result.expect_err("a refusal")[0].to_string()
    }

    #[test]
    fn releases_and_promotions_make_a_table_that_reads_back() {
        let table = four();
        let text = table.text().expect("text");
        assert_eq!(Table::parse(&text).as_ref(), Ok(&table));
        let prod: Vec<_> = table
            .of(Channel::Prod)
            .map(|one| (one.version.to_string(), one.replaced_in(Channel::Prod)))
            .collect();
        assert_eq!(
            prod,
            [
                ("0.2.0".to_owned(), None),
                ("0.4.0".to_owned(), Some("binnacle.v0.2.0"))
            ]
        );
        assert_eq!(
            table.newest().expect("a release").skip_range(),
            ">=0.1.0 <0.4.0"
        );
        let frozen = table.newest().expect("a release").bundle.as_deref();
        assert_eq!(frozen, Some("sha256:01"), "who is in prod stays as it is");
    }

    #[test]
    fn an_older_or_equal_version_is_refused() {
        assert!(refusal(release(&four(), new("0.4.0"))).contains("0.4.0 is there twice"));
        assert!(refusal(release(&four(), new("0.3.5"))).contains("would be a downgrade"));
    }

    #[test]
    fn promoting_what_is_not_there_or_older_is_refused() {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        assert!(
            refusal(promote(&four(), &version("0.5.0"), None))
                .contains("there is no release 0.5.0; there are 0.1.0")
        );
        assert!(
            refusal(promote(&four(), &version("0.3.0"), None)).contains("prod is at 0.4.0 already")
        );
    }

    /// Nobody could pull it.
    #[test]
    fn what_was_never_pushed_is_neither_promoted_nor_followed_until_its_digest_is_said() {
        let unpushed = New {
            image: format!("quay.io/binnacle/binnacle@sha256:{}", "0".repeat(64)),
            ..new("0.1.0")
        };
        let table = release(&Table::default(), unpushed).expect("a release");
        let version = "0.1.0".parse().expect("a version");
        let words = "the image of 0.1.0 was never pushed";
        assert!(refusal(promote(&table, &version, None)).contains(words));
        assert!(refusal(release(&table, new("0.2.0"))).contains(words));
        let pushed = release(&table, new("0.1.0")).expect("its digest");
        assert_eq!(pushed.releases.len(), 1);
        promote(&pushed, &version, Some("sha256:01".to_owned())).expect("promoted");
    }

    #[test]
    fn a_deprecated_release_keeps_its_edges_and_says_why() {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        let table = deprecate(&four(), &version("0.3.0"), " Go on to 0.4.0 ").expect("deprecated");
        assert_eq!(
            table.releases[2].deprecated.as_deref(),
            Some("Go on to 0.4.0")
        );
        let mut as_before = table.clone();
        as_before.releases[2].deprecated = None;
        assert_eq!(as_before, four());
        let text = table.text().expect("text");
        assert_eq!(Table::parse(&text).as_ref(), Ok(&table));

        let refused = refusal(deprecate(&four(), &version("0.3.0"), " "));
        assert!(
            refused.contains("0.3.0 is deprecated without a word why. Say in `deprecated`"),
            "{refused}"
        );
        let refused = refusal(deprecate(&four(), &version("0.5.0"), "gone"));
        assert!(refused.contains("there is no release 0.5.0"), "{refused}");
    }

    #[test]
    fn a_version_with_build_metadata_is_refused() {
        let refused = refusal(release(&four(), new("0.5.0+b.1")));
        assert!(
            refused.contains("0.5.0+b.1 has build metadata"),
            "{refused}"
        );
    }
}
