//! Four releases made of this very source and published to the testbed's registry: operator images, bundles, catalog.
//!
//! They differ in what releases differ in: each has a module of its own, and from the third on the custom resource knows a
//! field more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use manifests::{Bundle, New, Release, Table, catalog, promote, release};
use serde_json::json;
use tokio::process::Command;

use crate::testbed::Progress;
use crate::testbed::registry::Registry;

/// The versions, in the order of their making.
const VERSIONS: [&str; 4] = ["0.1.0", "0.2.0", "0.3.0", "0.4.0"];
/// Those that are promoted to `prod`.
const PROMOTED: [&str; 2] = ["0.2.0", "0.4.0"];
/// The first version whose custom resource has the further field.
const NEWER_DEFINITION: &str = "0.3.0";
const REPOSITORY: &str = "binnacle";
const MODULE_IN_IMAGE: &str = "/usr/share/binnacle/reconciler.wasm";

/// A published release.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its entry in the table.
    pub release: Release,
    /// Its bundle.
    pub bundle: Bundle,
    /// Where the bundle's files lie.
    pub folder: PathBuf,
}

/// The releases and their catalog.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The table.
    pub table: Table,
    /// The releases, oldest first.
    pub releases: Vec<Published>,
    /// The folder that the catalog's image serves.
    pub configs: PathBuf,
    /// The catalog's image, as nodes name it.
    pub catalog: String,
}

impl Publication {
    /// Makes and publishes all of it; files go into `folder`.
    pub async fn make(
        registry: &Registry,
        program: &Path,
        module: &Path,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let program = stripped(program, folder).await?;
        let module = fs::read(module).context("the sealed module")?;
        let mut table = Table::default();
        let mut releases: Vec<Published> = Vec::new();
        for version in VERSIONS {
            progress.say(&format!("publishing release {version}"));
            let file = folder.join(format!("reconciler-{version}.wasm"));
            fs::write(&file, with_note(&module, version))?;
            let image = registry
                .push_operator(&program, &[(&file, MODULE_IN_IMAGE)], REPOSITORY, progress)
                .await?;
            let frozen = releases.last().map(|last| last.bundle.image().digest());
            let new = New {
                version: version.parse()?,
                image,
                created: "2026-01-31T12:00:00Z".to_owned(),
                upgrades_from: None,
                frozen,
            };
            table = accepted(release(&table, new))?;
            if PROMOTED.contains(&version) {
                table = accepted(promote(&table, &version.parse()?))?;
            }
            let entry = table.newest().context("no release was made")?.clone();
            let bundle = bundle(&entry)?;
            registry
                .push(&bundle.image(), &format!("{REPOSITORY}-bundle"))
                .await?;
            let folder = folder.join("bundle").join(version);
            for (path, text) in &bundle.files {
                let file = folder.join(path);
                fs::create_dir_all(file.parent().unwrap_or(&folder))?;
                fs::write(file, text)?;
            }
            releases.push(Published {
                release: entry,
                bundle,
                folder,
            });
        }
        let shown: Vec<_> = releases
            .iter()
            .map(|one| (&one.release, one.bundle.clone()))
            .collect();
        let configs = folder.join("configs");
        fs::create_dir_all(configs.join(REPOSITORY))?;
        fs::write(
            configs.join(REPOSITORY).join("catalog.yaml"),
            catalog(&table, &shown)?,
        )?;
        progress.say("publishing the catalog");
        let catalog = registry
            .push_catalog(&configs, &format!("{REPOSITORY}-catalog"), progress)
            .await?;
        Ok(Self {
            table,
            releases,
            configs,
            catalog,
        })
    }

    /// The release of a version.
    pub fn release(&self, version: &str) -> Result<&Published> {
        self.releases
            .iter()
            .find(|one| one.release.version.to_string() == version)
            .with_context(|| format!("there is no release {version}"))
    }
}

fn accepted(changed: Result<Table, Vec<manifests::Fault>>) -> Result<Table> {
    changed.map_err(|faults| anyhow::anyhow!("{faults:?}"))
}

/// The bundle of a release; from [`NEWER_DEFINITION`] on with a field that older operators do not know.
fn bundle(release: &Release) -> Result<Bundle> {
    let bundle = Bundle::of(release)?;
    if release.version < NEWER_DEFINITION.parse()? {
        return Ok(bundle);
    }
    let mut objects = bundle.objects()?;
    for object in &mut objects {
        if object["kind"] == "CustomResourceDefinition" {
            let spec = &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
                ["spec"];
            spec["properties"]["note"] =
                json!({"type": "string", "description": "A field of a newer release."});
        }
    }
    Ok(Bundle::with(&objects)?)
}

/// The program without what only a debugger reads: the image is copied many times.
async fn stripped(program: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join("binnacle");
    let strip = Command::new("strip")
        .args(["--strip-debug", "-o"])
        .arg(&to)
        .arg(program)
        .stdin(Stdio::null())
        .status()
        .await
        .context("strip cannot be started; it comes with the C compiler")?;
    ensure!(strip.success(), "strip ended with {strip}");
    Ok(to)
}

/// The module with a section that nothing reads: the same judgement under another digest.
fn with_note(module: &[u8], note: &str) -> Vec<u8> {
    const NAME: &[u8] = b"release";
    let length = |bytes: usize| u8::try_from(bytes).unwrap_or(u8::MAX);
    let mut with = module.to_vec();
    with.extend([0, length(1 + NAME.len() + note.len()), length(NAME.len())]);
    with.extend(NAME);
    with.extend(note.as_bytes());
    with
}
