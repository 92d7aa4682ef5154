//! Builds a tool into the cache: aside, then renamed, under a lock, so that a folder that is there is whole and two
//! processes never build the same.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Added, Source, Tool};
use crate::testbed::command::{Command, find_program};
use crate::testbed::progress::Progress;

/// The folder of the pinned modules in this checkout.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tools");

pub(super) async fn ensure(tool: &Tool, progress: &Progress) -> Result<PathBuf> {
    let folder = tool.folder()?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let Some(parent) = folder.parent() else {
        bail!("{} has no parent", folder.display());
    };
    fs::create_dir_all(parent)?;
    let _lock = lock(
        parent.join(format!(".{}.lock", tool.title())),
        tool,
        progress,
    )
    .await?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let aside = parent.join(format!(".{}.building", tool.title()));
    if aside.exists() {
        fs::remove_dir_all(&aside)?;
    }
    fs::create_dir(&aside)?;
    match &tool.source {
        Source::Pinned { folder, stamp } => pinned(tool, folder, stamp, &aside, progress).await?,
        Source::Copied {
            module,
            version,
            tags,
            added,
            kept,
        } => {
            let sources = copied(module, version, added.as_ref(), &aside).await?;
            let how = [&format!("-tags={tags}"), "-mod=mod"];
            go_build(tool, &sources, &how, "", &aside, progress).await?;
            if let Some(kept) = kept {
                fs::rename(sources.join(kept), aside.join(base_name(kept)))?;
            }
            fs::remove_dir_all(sources)?;
        }
        Source::Npm { package } => npm(tool, package, &aside, progress).await?,
        Source::C { file } => c(tool, file, &aside).await?,
    }
    fs::rename(&aside, &folder)?;
    Ok(folder)
}

async fn lock(file: PathBuf, tool: &Tool, progress: &Progress) -> Result<File> {
    let file = File::create(file)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            progress.say(&format!(
                "another process builds {}; waiting for it",
                tool.title()
            ));
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    tokio::task::spawn_blocking(move || file.lock().map(|()| file))
        .await?
        .context("the lock is broken")
}

async fn pinned(
    tool: &Tool,
    folder: &str,
    stamp: &str,
    to: &Path,
    progress: &Progress,
) -> Result<()> {
    go_build(
        tool,
        &Path::new(SOURCES).join(folder),
        &["-mod=readonly"],
        stamp,
        to,
        progress,
    )
    .await
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The sources of a module, where they can be built.
async fn copied(module: &str, version: &str, added: Option<&Added>, to: &Path) -> Result<PathBuf> {
    let downloaded = go()?
        .folder(Path::new("/"))
        .args(["mod", "download", "-json"])
        .arg(format!("{module}@{version}"))
        .run()
        .await?;
    let downloaded: serde_json::Value = serde_json::from_str(&downloaded)?;
    let sources = downloaded["Dir"]
        .as_str()
        .context("the module proxy named no folder")?;
    let copy = to.join("sources");
    Command::new("cp")
        .args(["-r", "--no-preserve=mode"])
        .arg(sources)
        .arg(&copy)
        .run()
        .await?;
    if let Some(Added { from, to }) = added {
        let place = copy.join(to);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(Path::new(SOURCES).join(from), place)?;
    }
    Ok(copy)
}

async fn go_build(
    tool: &Tool,
    module: &Path,
    how: &[&str],
    stamp: &str,
    to: &Path,
    progress: &Progress,
) -> Result<()> {
    let all = tool.programs.len();
    for (done, program) in tool.programs.iter().enumerate() {
        let part = format!(
            "building {} of {} (once; minutes when cold)",
            program.name,
            tool.title()
        );
        progress.part(done + 1, all, &part);
        let begun = Instant::now();
        go()?
            .folder(module)
            .env("CGO_ENABLED", "0")
            .arg("build")
            .args(how)
            .args(["-trimpath", "-buildvcs=false", "-ldflags"])
            .arg(format!("-s -w {stamp}"))
            .arg("-o")
            .arg(to.join(program.name))
            .arg(program.package)
            .run()
            .await?;
        let took = begun.elapsed().as_secs_f32();
        progress.part(
            done + 1,
            all,
            &format!("built {} in {took:.0} s", program.name),
        );
    }
    Ok(())
}

async fn npm(tool: &Tool, package: &str, to: &Path, progress: &Progress) -> Result<()> {
    let npm = find_program("npm").context("npm is not on PATH; install Node.js")?;
    progress.part(1, 1, &format!("installing {} (once)", tool.title()));
    Command::new(npm)
        .folder(to)
        .args(["install", "--no-audit", "--no-fund", "--prefix", "."])
        .arg(format!("{package}@{}", tool.version))
        .run()
        .await
        .map(drop)
}

async fn c(tool: &Tool, file: &str, to: &Path) -> Result<()> {
    let compiler = find_program("cc").or_else(|| find_program("gcc"));
    let compiler =
        compiler.context("no C compiler is on PATH; install gcc and the C library's headers")?;
    for program in tool.programs {
        Command::new(&compiler)
            .args(["-Os", "-static", "-s", "-o"])
            .arg(to.join(program.name))
            .arg(Path::new(SOURCES).join(file))
            .run()
            .await?;
    }
    Ok(())
}

fn go() -> Result<Command> {
    let go =
        find_program("go").context("Go is not on PATH; the testbed builds Kubernetes with it")?;
    // Debian's Go keeps to its own version; a module that names a newer one brings that along.
    let toolchain = std::env::var("GOTOOLCHAIN").unwrap_or_else(|_| "auto".to_owned());
    Ok(Command::new(go)
        .env("GOFLAGS", "")
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", toolchain))
}
