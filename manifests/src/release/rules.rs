//! What a table of releases must keep, so that nobody who installed any of them is stranded.
//!
//! `testing` is a plain chain. `prod` has the promoted ones, each reached from the one before it and from every version
//! that it supports, so that whoever ran a release of `testing` has a way into `prod`.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use super::{Channel, Release, TABLE, Table, name_of};
use crate::csv::PACKAGE;
use crate::fault::{Fault, line_of};

/// Everything that is wrong with the table; `text` is where the lines are counted.
pub(crate) fn faults(table: &Table, text: &str) -> Vec<Fault> {
    let mut judge = Judge {
        lines: lines(text),
        text,
        found: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    for (at, release) in table.releases.iter().enumerate() {
        judge.entry(at, release);
        if !seen.insert(&release.version) {
            judge.say(at, "version", format!("{} is there twice", release.version), "Remove one of the two entries, or give it a version of its own: a version that was published never changes");
            // Edges between two of one name say nothing further.
            continue;
        }
        let before = at
            .checked_sub(1)
            .and_then(|before| table.releases.get(before));
        if let Some(before) = before.filter(|before| before.version > release.version) {
            judge.say(
                at,
                "version",
                format!(
                    "{} stands after {}, which would be a downgrade",
                    release.version, before.version
                ),
                "Releases go upwards: choose a higher version",
            );
        }
        if at + 1 < table.releases.len() && release.bundle.is_none() {
            judge.say(
                at,
                "version",
                format!(
                    "{} has no digest of its bundle, and a newer release exists",
                    release.version
                ),
                "Take the entry back as `make release` wrote it",
            );
        }
        for channel in Channel::ALL {
            judge.edge(at, release, channel, table);
        }
        judge.stranded(at, release, table);
    }
    judge.found
}

struct Judge<'a> {
    text: &'a str,
    /// Byte at which each entry begins.
    lines: Vec<usize>,
    found: Vec<Fault>,
}

impl Judge<'_> {
    /// Notes a fault at the first `word` of the entry, or at its head.
    fn say(&mut self, entry: usize, word: &str, what: String, remedy: &str) {
        let begin = self.lines.get(entry).copied().unwrap_or_default();
        let end = self
            .lines
            .get(entry + 1)
            .copied()
            .unwrap_or(self.text.len());
        let at = self
            .text
            .get(begin..end)
            .and_then(|entry| entry.find(word))
            .unwrap_or_default();
        self.found.push(Fault {
            file: TABLE.to_owned(),
            line: line_of(self.text, begin + at),
            what,
            remedy: remedy.to_owned(),
        });
    }

    /// What can be said of an entry alone.
    fn entry(&mut self, at: usize, release: &Release) {
        if has_tag(&release.image) {
            self.say(at, "image", format!("the image {} has a tag beside its digest, which would become a part of its bundle's name", release.image), "Leave the tag out: REPOSITORY@sha256:…");
        }
        if !is_by_digest(&release.image) {
            self.say(at, "image", format!("the image {} has no digest", release.image), "Name it as REPOSITORY@sha256:… with the 64 digits that the registry answered to the push");
        }
        if !release.version.build.is_empty() {
            self.say(
                at,
                "version",
                format!(
                    "{} has build metadata, which no object's name may have",
                    release.version
                ),
                "Leave away the + and what follows it",
            );
        }
        if release.channels.contains_key(&Channel::Prod) && !release.version.pre.is_empty() {
            self.say(
                at,
                "channels.prod",
                format!(
                    "{} is a candidate by its own name and stands in prod",
                    release.version
                ),
                "Promote the release that comes of it",
            );
        }
        if release.upgrades_from > release.version {
            self.say(
                at,
                "upgrades-from",
                format!(
                    "{} cannot upgrade from {}, which is higher",
                    release.version, release.upgrades_from
                ),
                "Name the oldest version that this release takes over",
            );
        }
        if !release.channels.contains_key(&Channel::Testing) {
            self.say(at, "channels", format!("{} is not in testing", release.version), "Every release goes to testing first: `make release VERSION=… CHANNEL=testing`, then `make promote`");
        }
        if release
            .deprecated
            .as_ref()
            .is_some_and(|why| why.trim().is_empty())
        {
            self.say(
                at,
                "deprecated",
                format!("{} is deprecated without a word why", release.version),
                "Say in `deprecated` what is wrong with it and where to go (MESSAGE=… of `make deprecate`), or take the line out",
            );
        }
        if release.created.parse::<Timestamp>().is_err() {
            self.say(
                at,
                "created",
                format!("`{}` is no time", release.created),
                "Write it as 2026-01-31T12:00:00Z",
            );
        }
    }

    /// What an entry replaces in a channel.
    fn edge(&mut self, at: usize, release: &Release, channel: Channel, table: &Table) {
        let Some(edge) = release.channels.get(&channel) else {
            return;
        };
        let name = channel.name();
        let section = format!("channels.{name}");
        let before = table
            .of(channel)
            .take_while(|other| other.version != release.version)
            .last();
        let expected = before.map(Release::name);
        if edge.replaces == expected {
            if let Some(before) = before.filter(|before| before.version < release.upgrades_from) {
                self.beyond_the_promise(at, release, before, channel);
            }
            return;
        }
        let remedy = match &expected {
            Some(expected) => format!("Say replaces = \"{expected}\""),
            None => format!("Leave replaces out: it is the first of {name}"),
        };
        let what = match &edge.replaces {
            None => format!(
                "{} replaces nothing in {name}, so whoever runs {} is stranded",
                release.version,
                expected.clone().unwrap_or_default()
            ),
            Some(replaced) => match replaced.rsplit_once(".v") {
                Some((package, _)) if package != PACKAGE => {
                    format!("{replaced} belongs to the package {package}, and this is {PACKAGE}")
                }
                _ => self.why_wrong(release, replaced, channel, table),
            },
        };
        self.say(at, &section, what, &remedy);
    }

    /// An edge is walked at once, whatever the range says.
    fn beyond_the_promise(
        &mut self,
        at: usize,
        release: &Release,
        before: &Release,
        channel: Channel,
    ) {
        let (version, from, name) = (&release.version, &release.upgrades_from, channel.name());
        let what = format!(
            "whoever runs {} goes to {version} at once in {name}, and that takes over from {from} on",
            before.version
        );
        let remedy = format!(
            "Say upgrades-from = \"{}\" if that is so, or bring a release in between to {name} first",
            before.version
        );
        self.say(at, "upgrades-from", what, &remedy);
    }

    fn why_wrong(
        &self,
        release: &Release,
        replaced: &str,
        channel: Channel,
        table: &Table,
    ) -> String {
        let (version, name) = (&release.version, channel.name());
        if leads_to(table, channel, replaced, &release.name()) {
            return format!("{version} replaces {replaced}, which leads back to it: a loop");
        }
        let found = table.releases.iter().find(|other| other.name() == replaced);
        match found {
            None => {
                format!("{version} replaces {replaced}, which is no release of this table: a gap")
            }
            Some(other) if other.version > *version => {
                format!("{version} replaces {replaced}, which is newer: a downgrade")
            }
            Some(other) if !other.channels.contains_key(&channel) => {
                format!("{version} replaces {replaced}, which is not in {name}: a gap")
            }
            Some(_) => format!(
                "{version} replaces {replaced} and leaves a gap: releases of {name} in between would be stranded"
            ),
        }
    }

    /// Whoever runs an older release must have a way to this head of `prod`.
    fn stranded(&mut self, at: usize, release: &Release, table: &Table) {
        let is_head = table.of(Channel::Prod).next_back() == Some(release);
        if !is_head {
            return;
        }
        for older in table
            .releases
            .iter()
            .filter(|older| older.version < release.version)
        {
            if !reaches(table, older, release) {
                self.say(at, "upgrades-from", format!("whoever runs {} has no way to {} in prod", older.version, release.version), &format!("Say upgrades-from = \"{}\", or promote a release in between that takes it over", older.version));
            }
        }
    }
}

/// Whether the edges of `prod` lead from one release to another.
fn reaches(table: &Table, from: &Release, to: &Release) -> bool {
    let mut reached = BTreeSet::from([from.name()]);
    for next in table
        .of(Channel::Prod)
        .filter(|next| next.version > from.version)
    {
        let by_range = reached.iter().any(|name| {
            table
                .releases
                .iter()
                .any(|one| one.name() == *name && one.version >= next.upgrades_from)
        });
        let by_chain = next
            .replaced_in(Channel::Prod)
            .is_some_and(|replaced| reached.contains(replaced));
        if by_range || by_chain {
            reached.insert(next.name());
        }
    }
    reached.contains(&to.name())
}

/// Whether following what each replaces leads from `from` to `to`.
fn leads_to(table: &Table, channel: Channel, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut at = Some(from);
    while let Some(name) = at {
        if name == to {
            return true;
        }
        if !seen.insert(name) {
            return false;
        }
        at = table
            .releases
            .iter()
            .find(|release| name_of(&release.version) == name)
            .and_then(|release| release.replaced_in(channel));
    }
    false
}

/// Where each entry begins.
fn lines(text: &str) -> Vec<usize> {
    text.match_indices("[[release]]")
        .map(|(at, _)| at)
        .collect()
}

/// Whether the image has another digest than the zeros of one that was never pushed.
pub(crate) fn is_pushed(image: &str) -> bool {
    let digest = image.rsplit(':').next().unwrap_or_default();
    digest.bytes().any(|digit| digit != b'0')
}

/// Whether a tag stands between the repository and the digest. A port is none.
fn has_tag(image: &str) -> bool {
    let named = image.split_once('@').map_or("", |(name, _)| name);
    let last = named.rsplit('/').next().unwrap_or_default();
    last.contains(':')
}

/// Whether an image is named by `@sha256:` and 64 digits.
pub(crate) fn is_by_digest(image: &str) -> bool {
    image
        .split_once("@sha256:")
        .is_some_and(|(repository, digest)| {
            !repository.is_empty()
                && !repository.contains(char::is_whitespace)
                && digest.len() == 64
                && digest
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        })
}

#[cfg(test)]
mod tests;
