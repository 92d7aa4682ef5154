//! The generated files of a checkout: what each shall hold, which differ, and writing them.
//!
//! What is in them comes from elsewhere. A bundle that is older than the newest release is only read: it was published, and
//! the table of releases remembers its digest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bundle::{self, Bundle};
use crate::catalog::{self, catalog};
use crate::chart;
use crate::fault::{Fault, line_of, line_of_difference};
use crate::files::{Error, Installation, cluster_wide_objects, objects, yaml};
use crate::published::{self, Place};
use crate::release::{Release, TABLE, Table};
use crate::verify;

/// Folders that hold generated files and nothing else, and the hand-written page about them.
const FOLDERS: [&str; 6] = [
    "manifests/crds",
    "manifests/rbac",
    "manifests/cluster-wide",
    bundle::FOLDER,
    "catalog",
    chart::FOLDER,
];
const PAGE: &str = "README.md";

/// Writes every file anew and removes those that nothing stands in any more. Returns what changed.
///
/// # Errors
/// When a file cannot be written, or the releases would strand somebody.
pub fn write(root: &Path) -> Result<Vec<PathBuf>, Error> {
    put(root, &wanted(root, &read_table(root)?)?)
}

/// Writes this table and every file that follows from it, or nothing. Returns what changed.
///
/// # Errors
/// When a file cannot be written, or a published bundle was changed.
pub fn save(root: &Path, table: &Table) -> Result<Vec<PathBuf>, Error> {
    let mut wanted = wanted(root, table)?;
    wanted.insert(PathBuf::from(TABLE), table.text()?);
    put(root, &wanted)
}

fn put(root: &Path, wanted: &BTreeMap<PathBuf, String>) -> Result<Vec<PathBuf>, Error> {
    let stale = differences(root, wanted)?;
    for path in &stale {
        let file = root.join(path);
        let done = match wanted.get(path) {
            Some(text) => fs::create_dir_all(file.parent().unwrap_or(root))
                .and_then(|()| fs::write(&file, text)),
            None => fs::remove_file(&file),
        };
        done.map_err(|source| Error::File { path: file, source })?;
    }
    Ok(stale)
}

/// The files that [`write`] would change, each with its first line that is not what the generator writes.
///
/// # Errors
/// When a file cannot be read, or the releases would strand somebody.
pub fn stale(root: &Path) -> Result<Vec<Fault>, Error> {
    let wanted = wanted(root, &read_table(root)?)?;
    let mut found = Vec::new();
    for path in differences(root, &wanted)? {
        let text = read(&root.join(&path))?;
        found.push(why_stale(&path, text.as_deref(), wanted.get(&path)));
    }
    Ok(found)
}

fn why_stale(path: &Path, found: Option<&str>, wanted: Option<&String>) -> Fault {
    let (line, what, remedy) = match (found, wanted) {
        (Some(found), Some(wanted)) => (
            line_of_difference(found, wanted),
            "from this line on it is not what the generator writes",
            "Change the crate `manifests` where it shall differ, and run `make generate`",
        ),
        (None, _) => (1, "the file is missing", "Run `make generate`"),
        (Some(_), None) => (
            1,
            "the generator writes no such file",
            "Run `make generate`, which removes it",
        ),
    };
    Fault {
        file: path.display().to_string(),
        line,
        what: what.to_owned(),
        remedy: remedy.to_owned(),
    }
}

fn read_table(root: &Path) -> Result<Table, Error> {
    Table::read(root).map_err(Error::Faults)
}

/// What is wrong with bundles and catalog as they stand in the checkout, whoever wrote them.
///
/// # Errors
/// When a file cannot be read.
pub fn judge(root: &Path) -> Result<Vec<Fault>, Error> {
    let table = read_table(root)?;
    let mut found = Vec::new();
    for release in &table.releases {
        let folder = folder(release);
        found.extend(verify::bundle(&folder, &read_bundle(root, release)?));
    }
    let text = read(&root.join(catalog::FILE))?.unwrap_or_default();
    found.extend(verify::catalog(catalog::FILE, &text));
    // A catalog's image serves every file of this folder, or none if one is broken.
    for path in below(root, Path::new(catalog::CONFIGS))? {
        let file = path.display().to_string();
        if file != catalog::FILE {
            let text = read(&root.join(&path))?.unwrap_or_default();
            found.extend(verify::other(&file, &text));
        }
    }
    Ok(found)
}

/// The bundle of each release, oldest first: the newest as the sources make it, the others as they were published.
///
/// # Errors
/// When a bundle cannot be read, or a published one was changed.
pub fn bundles<'a>(root: &Path, table: &'a Table) -> Result<Vec<(&'a Release, Bundle)>, Error> {
    let mut bundles = Vec::new();
    for release in &table.releases {
        let bundle = match &release.bundle {
            None => Bundle::of(release)?,
            Some(digest) => frozen(root, release, digest)?,
        };
        bundles.push((release, bundle));
    }
    Ok(bundles)
}

fn frozen(root: &Path, release: &Release, digest: &str) -> Result<Bundle, Error> {
    let bundle = read_bundle(root, release)?;
    let folder = folder(release);
    if bundle.image().digest() == *digest {
        return Ok(bundle);
    }
    let (version, found) = (&release.version, bundle.image().digest());
    let edited = format!("the bundle of {version} was published as {digest} and is {found} here");
    let fault = match published::difference(root, &folder, &bundle, digest) {
        Some(place) if place.was_added => Fault {
            what: format!("{edited}: this file was added"),
            remedy: "Remove it; what shall change goes into a new release".to_owned(),
            file: format!("{folder}/{}", place.path),
            line: place.line,
        },
        Some(Place {
            path,
            line,
            commit,
            was_added: _,
        }) => Fault {
            what: format!("{edited}: it was edited"),
            remedy: take_back(&commit, &folder),
            file: format!("{folder}/{path}"),
            line,
        },
        // Nothing tells where: the table knows the digest alone.
        None => Fault {
            what: format!("{edited}: it was edited"),
            remedy: take_back("COMMIT", &folder),
            file: folder,
            line: 1,
        },
    };
    Err(Error::Faults(vec![fault]))
}

fn take_back(commit: &str, folder: &str) -> String {
    format!(
        "Take it back with `git checkout {commit} -- {folder}`; what shall change goes into a new release"
    )
}

fn folder(release: &Release) -> String {
    format!("{}/{}", bundle::FOLDER, release.version)
}

fn read_bundle(root: &Path, release: &Release) -> Result<Bundle, Error> {
    let folder = PathBuf::from(folder(release));
    let mut files = BTreeMap::new();
    for path in below(root, &folder)? {
        let text = read(&root.join(&path))?.unwrap_or_default();
        let inner = path.strip_prefix(&folder).unwrap_or(&path);
        files.insert(inner.to_string_lossy().into_owned(), text);
    }
    Ok(Bundle { files })
}

/// What each generated file shall hold.
fn wanted(root: &Path, table: &Table) -> Result<BTreeMap<PathBuf, String>, Error> {
    let mut wanted = chart::files()?;
    let installation = Installation::default();
    for (all, objects) in [
        ("manifests/install.yaml", objects(&installation)?),
        (
            "manifests/install-cluster-wide.yaml",
            cluster_wide_objects(&installation)?,
        ),
    ] {
        wanted.insert(PathBuf::from(all), yaml(&objects)?);
        for placed in objects {
            wanted.insert(PathBuf::from(placed.path), yaml(&[placed])?);
        }
    }
    let bundles = bundles(root, table)?;
    for (release, bundle) in &bundles {
        let folder = PathBuf::from(folder(release));
        wanted.extend(
            bundle
                .files
                .iter()
                .map(|(path, text)| (folder.join(path), text.clone())),
        );
    }
    wanted.insert(PathBuf::from(catalog::FILE), catalog(table, &bundles)?);
    wanted.insert(
        PathBuf::from(catalog::RECIPE),
        catalog::RECIPE_TEXT.to_owned(),
    );
    Ok(wanted)
}

fn differences(root: &Path, wanted: &BTreeMap<PathBuf, String>) -> Result<Vec<PathBuf>, Error> {
    let mut differ = BTreeSet::new();
    for folder in FOLDERS {
        let found = below(root, Path::new(folder))?;
        differ.extend(
            found
                .into_iter()
                .filter(|path| !wanted.contains_key(path) && *path != Path::new(folder).join(PAGE)),
        );
    }
    for (path, text) in wanted {
        if read(&root.join(path))?.as_ref() != Some(text) {
            differ.insert(path.clone());
        }
    }
    Ok(differ.into_iter().collect())
}

fn read(file: &Path) -> Result<Option<String>, Error> {
    match fs::read(file) {
        Ok(found) => String::from_utf8(found).map(Some).map_err(|error| {
            let readable = error.utf8_error().valid_up_to();
            let readable = String::from_utf8_lossy(&error.as_bytes()[..readable]).into_owned();
            Error::Faults(vec![Fault {
                file: file.display().to_string(),
                line: line_of(&readable, readable.len()),
                what: "this is no text".to_owned(),
                remedy: "Take the file back with `git checkout`, or remove it".to_owned(),
            }])
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File {
            path: file.to_owned(),
            source,
        }),
    }
}

/// Every file below a folder, with its path from the top; none where there is no such folder.
fn below(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = root.join(folder);
    let failed = |source| Error::File {
        path: path.clone(),
        source,
    };
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let inner = folder.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            found.extend(below(root, &inner)?);
        } else {
            found.push(inner);
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests;
