//! Where a published bundle was edited, as the history of the checkout tells it.
//!
//! The table of releases remembers a digest and no text, so the text is looked for in git. Where there is no git, or it has
//! no bundle of that digest, nothing is known; whether a bundle was edited is not asked here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::bundle::Bundle;
use crate::fault::line_of_difference;

/// Changes of one bundle that are looked through, newest first.
const MOST_CHANGES: &str = "--max-count=20";

/// Of a commit's name.
const DIGITS: usize = 12;

/// The first place in which a bundle is not what was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, from the bundle's folder.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// A commit that has the bundle as it was published.
    pub(crate) commit: String,
    /// Whether the file was not in it at all.
    pub(crate) was_added: bool,
}

/// Where `edited`, the bundle in `folder`, differs from the one with this digest.
pub(crate) fn difference(
    root: &Path,
    folder: &str,
    edited: &Bundle,
    digest: &str,
) -> Option<Place> {
    let list = ["rev-list", MOST_CHANGES, "HEAD", "--", folder];
    let commits = git(root, &list)?;
    let published = commits
        .lines()
        .filter_map(|commit| Some((commit, bundle_at(root, commit, folder)?)))
        .find(|(_, bundle)| bundle.image().digest() == digest);
    let (commit, published) = published?;
    let paths: BTreeSet<_> = published.files.keys().chain(edited.files.keys()).collect();
    paths.into_iter().find_map(|path| {
        let text = |bundle: &'_ Bundle| bundle.files.get(path).cloned();
        let (before, after) = (text(&published), text(edited));
        (before != after).then(|| Place {
            path: path.clone(),
            commit: commit.chars().take(DIGITS).collect(),
            was_added: before.is_none(),
            line: line_of_difference(&before.unwrap_or_default(), &after.unwrap_or_default()),
        })
    })
}

fn bundle_at(root: &Path, commit: &str, folder: &str) -> Option<Bundle> {
    let list = ["ls-tree", "-r", "-z", "--name-only", commit, "--", folder];
    let mut files = BTreeMap::new();
    for path in git(root, &list)?.split_terminator('\0') {
        let inner = path.strip_prefix(folder)?.trim_start_matches('/');
        // Told from here, wherever the top of the repository is.
        let text = git(root, &["show", &format!("{commit}:./{path}")])?;
        files.insert(inner.to_owned(), text);
    }
    Some(Bundle { files })
}

/// What git answers in this folder, if there is one and it knows an answer.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let answer = command.arg("-C").arg(root).args(arguments).output().ok()?;
    if !answer.status.success() {
        return None;
    }
    String::from_utf8(answer.stdout).ok()
}
