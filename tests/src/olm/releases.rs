//! Releases made of this very source: the table, the bundles, the catalog that shows them. All of it is files.
//!
//! Where the operator's image lies, and who installs what, is not known here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use manifests::{Bundle, New, Release, Table, catalog, deprecate, promote, release};
use serde_json::{Value, json};

/// The repository of the operator's image, beside which its bundles lie, and the package.
pub const REPOSITORY: &str = "binnacle";
/// The versions, in the order of their making.
pub const VERSIONS: [&str; 4] = ["0.1.0", "0.2.0", "0.3.0", "0.4.0"];
/// Those that are promoted to `prod`.
pub const PROMOTED: [&str; 2] = ["0.2.0", "0.4.0"];
/// The one that nobody should run any more, and what is said of it.
pub const DEPRECATED: (&str, &str) = ("0.1.0", "It is the oldest. Go on to 0.2.0 or newer");
/// The first version whose custom resource has the further field.
const NEWER_DEFINITION: &str = "0.3.0";
/// That field.
pub const NEWER_FIELD: &str = "note";

/// A release.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its entry in the table.
    pub release: Release,
    /// Its bundle.
    pub bundle: Bundle,
    /// Where the bundle's files lie.
    pub folder: PathBuf,
}

/// Releases, oldest first, and the folder that holds them.
#[derive(Clone, Debug)]
pub struct Releases {
    table: Table,
    all: Vec<Published>,
    folder: PathBuf,
}

impl Releases {
    /// None yet; their files will be in `folder`, which is cleared.
    pub fn new(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        Ok(Self {
            table: Table::default(),
            all: Vec::new(),
            folder: folder.to_owned(),
        })
    }

    /// The four of [`VERSIONS`], all of one image.
    pub fn four(folder: &Path, image: &str) -> Result<Self> {
        let mut releases = Self::new(folder)?;
        for version in VERSIONS {
            releases.add(version, image.to_owned(), newer_definition)?;
            if PROMOTED.contains(&version) {
                releases.promote(version)?;
            }
        }
        releases.deprecate(DEPRECATED)?;
        Ok(releases)
    }

    /// Makes a release, whose objects `change` may make other than the sources say.
    pub fn add(
        &mut self,
        version: &str,
        image: String,
        change: fn(&Release, &mut Value),
    ) -> Result<&Published> {
        let new = New {
            version: version.parse()?,
            image,
            created: "2026-01-31T12:00:00Z".to_owned(),
            upgrades_from: None,
            frozen: self.all.last().map(|last| last.bundle.image().digest()),
        };
        self.table = accepted(release(&self.table, new))?;
        let entry = self.table.newest().context("no release was made")?.clone();
        let mut objects = Bundle::of(&entry)?.objects()?;
        for object in &mut objects {
            change(&entry, object);
        }
        let bundle = Bundle::with(&objects)?;
        let folder = self.folder.join("bundle").join(version);
        for (path, text) in &bundle.files {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap_or(&folder))?;
            fs::write(file, text)?;
        }
        self.all.push(Published {
            release: entry,
            bundle,
            folder,
        });
        self.all.last().context("no release was made")
    }

    /// Promotes one to `prod`.
    pub fn promote(&mut self, version: &str) -> Result<()> {
        let frozen = self.release(version)?.bundle.image().digest();
        self.table = accepted(promote(&self.table, &version.parse()?, Some(frozen)))?;
        self.follow_the_table()
    }

    /// Says of one that nobody should run it any more, and why.
    pub fn deprecate(&mut self, (version, message): (&str, &str)) -> Result<()> {
        self.table = accepted(deprecate(&self.table, &version.parse()?, message))?;
        self.follow_the_table()
    }

    fn follow_the_table(&mut self) -> Result<()> {
        for one in &mut self.all {
            let entry = self.table.releases.iter();
            let mut entry = entry.filter(|entry| entry.version == one.release.version);
            one.release = entry.next().context("a release went away")?.clone();
        }
        Ok(())
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn all(&self) -> &[Published] {
        &self.all
    }

    /// The release of a version.
    pub fn release(&self, version: &str) -> Result<&Published> {
        self.all
            .iter()
            .find(|one| one.release.version.to_string() == version)
            .with_context(|| format!("there is no release {version}"))
    }

    /// Writes the catalog of all of them, and answers the folder that a catalog's image serves.
    pub fn write_catalog(&self) -> Result<PathBuf> {
        let shown: Vec<_> = self
            .all
            .iter()
            .map(|one| (&one.release, one.bundle.clone()))
            .collect();
        let configs = self.folder.join("configs");
        fs::create_dir_all(configs.join(REPOSITORY))?;
        fs::write(
            configs.join(REPOSITORY).join("catalog.yaml"),
            catalog(&self.table, &shown)?,
        )?;
        Ok(configs)
    }
}

fn accepted(changed: Result<Table, Vec<manifests::Fault>>) -> Result<Table> {
    changed.map_err(|faults| anyhow::anyhow!("{faults:?}"))
}

/// From the third release on the custom resource has a field that older operators do not know.
pub fn newer_definition(release: &Release, object: &mut Value) {
    let is_newer = NEWER_DEFINITION
        .parse()
        .is_ok_and(|from| release.version >= from);
    if is_newer && object["kind"] == "CustomResourceDefinition" {
        let schema = &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"][NEWER_FIELD] =
            json!({"type": "string", "description": "A field of a newer release."});
    }
}
