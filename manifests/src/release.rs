//! The table of releases: which version is in which channel, what it replaces there, which image it runs.
//!
//! Owns the file `manifests/releases.toml` and the words of its entries. Whether the edges hold is [`rules`]' business.

mod change;
mod rules;

use std::collections::BTreeMap;
use std::path::Path;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::csv::PACKAGE;
use crate::fault::{Fault, line_of};

pub use change::{New, deprecate, promote, release};
pub(crate) use rules::{faults, is_by_digest, is_pushed};

/// The file, from the top of the checkout.
pub const TABLE: &str = "manifests/releases.toml";

const HEADER: &str = "# Releases, oldest first. `make release` and `make promote` write this file and refuse what would strand anybody;\n\
    # docs/channels.md says what the channels promise.\n\n";

/// A channel that people subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Every release, as it is made.
    Testing,
    /// Those that have proven themselves in `testing`.
    Prod,
}

impl Channel {
    /// Both, in the order in which a release meets them.
    pub const ALL: [Self; 2] = [Self::Testing, Self::Prod];

    /// Its name in the catalog.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Testing => "testing",
            Self::Prod => "prod",
        }
    }
}

/// How a release is reached in one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The name of the release before it in the channel; none for the channel's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Release {
    /// MAJOR.MINOR.PATCH.
    pub version: Version,
    /// When it was made, RFC 3339.
    pub created: String,
    /// The operator's image, by digest.
    pub image: String,
    /// The lowest version that may go to this one at once: a promise of support.
    pub upgrades_from: Version,
    /// sha-256 of the bundle's image. The newest release has none: its bundle follows the sources until the next one is made
    /// or it is promoted itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Why nobody should run it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// The channels it is in.
    #[serde(default)]
    pub channels: BTreeMap<Channel, Edge>,
}

impl Release {
    /// Its name in the catalog, which is that of its ClusterServiceVersion.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.version)
    }

    /// What it replaces in a channel.
    pub(crate) fn replaced_in(&self, channel: Channel) -> Option<&str> {
        self.channels.get(&channel)?.replaces.as_deref()
    }

    /// What it replaces, for readers of the bundle alone.
    pub(crate) fn replaced(&self) -> Option<&str> {
        self.replaced_in(Channel::Testing)
    }

    /// The versions that may skip releases in between on their way to this one.
    pub(crate) fn skip_range(&self) -> String {
        format!(">={} <{}", self.upgrades_from, self.version)
    }
}

/// The name of a version in the catalog.
pub(crate) fn name_of(version: &Version) -> String {
    format!("{PACKAGE}.v{version}")
}

/// All releases, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The releases.
    #[serde(default, rename = "release")]
    pub releases: Vec<Release>,
}

impl Table {
    /// Reads the table's text. Only its form is judged.
    ///
    /// # Errors
    /// The text is no table of releases.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        toml::from_str(text).map_err(|error| Fault {
            file: TABLE.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            what: error.message().lines().collect::<Vec<_>>().join(" "),
            remedy: "Correct this line, or take the file back with `git checkout`".to_owned(),
        })
    }

    /// Reads the table of a checkout and judges it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(root: &Path) -> Result<Self, Vec<Fault>> {
        let path = root.join(TABLE);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            vec![Fault {
                file: TABLE.to_owned(),
                line: 1,
                what: format!("the file cannot be read: {error}"),
                remedy: "Take it back with `git checkout`".to_owned(),
            }]
        })?;
        let table = Self::parse(&text).map_err(|fault| vec![fault])?;
        let faults = faults(&table, &text);
        if faults.is_empty() {
            Ok(table)
        } else {
            Err(faults)
        }
    }

    /// The table's text.
    ///
    /// # Errors
    /// When an entry has no TOML form.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        Ok(format!("{HEADER}{}", toml::to_string(self)?))
    }

    /// The newest release, whose bundle follows the sources.
    #[must_use]
    pub fn newest(&self) -> Option<&Release> {
        self.releases.last()
    }

    /// The releases of a channel, oldest first.
    pub(crate) fn of(&self, channel: Channel) -> impl DoubleEndedIterator<Item = &Release> {
        self.releases
            .iter()
            .filter(move |release| release.channels.contains_key(&channel))
    }
}
