//! Releases published to the testbed's registry, as a maintainer would: operator images, bundles, catalogs.
//!
//! The releases of the catalog differ in what releases differ in: each has a module of its own, and from the third on the
//! custom resource knows a field more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use super::releases::{DEPRECATED, PROMOTED, REPOSITORY, VERSIONS, newer_definition};
use super::{Published, Releases};
use crate::testbed::Progress;
use crate::testbed::registry::Registry;

const MODULE_IN_IMAGE: &str = "/usr/share/binnacle/reconciler.wasm";

/// Published releases and their catalog.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The releases.
    pub releases: Releases,
    /// The catalog's image, as nodes name it.
    pub catalog: String,
}

impl Publication {
    /// Makes and publishes the four releases of this program; files go into `folder`.
    pub async fn make(
        registry: &Registry,
        program: &Path,
        module: &Path,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let module = fs::read(module).context("the sealed module")?;
        let modules = VERSIONS.map(|version| (version, with_note(&module, version)));
        let name = format!("{REPOSITORY}-catalog");
        Self::of(
            registry, program, &modules, &PROMOTED, &name, folder, progress,
        )
        .await
    }

    /// Three releases of this program, of which the second one has no module and never gets ready.
    pub async fn failing(
        registry: &Registry,
        program: &Path,
        module: &Path,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let module = fs::read(module).context("the sealed module")?;
        let modules = [
            ("0.1.0", with_note(&module, "0.1.0")),
            ("0.2.0", b"no module".to_vec()),
            ("0.3.0", with_note(&module, "0.3.0")),
        ];
        let name = format!("{REPOSITORY}-catalog-failing");
        Self::of(registry, program, &modules, &[], &name, folder, progress).await
    }

    /// Releases of the same images in a catalog that has these versions alone; files go into `folder`.
    pub async fn again(
        &self,
        registry: &Registry,
        versions: &[&str],
        promoted: &[&str],
        folder: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let mut releases = Releases::new(folder)?;
        for version in versions {
            let image = self.release(version)?.release.image.clone();
            let made = releases.add(version, image, newer_definition)?;
            push_bundle(registry, made).await?;
            if promoted.contains(version) {
                releases.promote(version)?;
            }
        }
        let name = format!("{REPOSITORY}-catalog-growing");
        Self::publish(registry, releases, &name, progress).await
    }

    /// Releases of these versions and modules, and the catalog of that name.
    async fn of(
        registry: &Registry,
        program: &Path,
        modules: &[(&str, Vec<u8>)],
        promoted: &[&str],
        catalog: &str,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let mut releases = Releases::new(folder)?;
        let program = stripped(program, folder).await?;
        for (version, module) in modules {
            progress.say(&format!("publishing release {version} of {catalog}"));
            let file = folder.join(format!("reconciler-{version}.wasm"));
            fs::write(&file, module)?;
            let image = registry
                .push_operator(&program, &[(&file, MODULE_IN_IMAGE)], REPOSITORY, progress)
                .await?;
            let made = releases.add(version, image, newer_definition)?;
            push_bundle(registry, made).await?;
            if promoted.contains(version) {
                releases.promote(version)?;
            }
        }
        let (deprecated, _) = DEPRECATED;
        if promoted.iter().any(|version| *version > deprecated) {
            releases.deprecate(DEPRECATED)?;
        }
        Self::publish(registry, releases, catalog, progress).await
    }

    async fn publish(
        registry: &Registry,
        releases: Releases,
        name: &str,
        progress: &Progress,
    ) -> Result<Self> {
        progress.say(&format!("publishing {name}"));
        let configs = releases.write_catalog()?;
        let catalog = registry.push_catalog(&configs, name, progress).await?;
        Ok(Self { releases, catalog })
    }

    /// The release of a version.
    pub fn release(&self, version: &str) -> Result<&Published> {
        self.releases.release(version)
    }
}

async fn push_bundle(registry: &Registry, release: &Published) -> Result<()> {
    let name = format!("{REPOSITORY}-bundle");
    registry
        .push(&release.bundle.image(), &name)
        .await
        .map(drop)
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
