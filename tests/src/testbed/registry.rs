//! A registry beside the control plane: what is pushed there, the nodes pull as [`HOST`]`/…`.
//!
//! Most suites need none: their images are taken into the nodes from archives.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use manifests::Image;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::layout::{Block, Layout};
use super::node::Parts;
use super::progress::Progress;
use super::tools::Tool;
use super::{images, wait};

/// What the registry is called in the names of images.
pub const HOST: &str = "registry.testbed";
const PORT: u16 = 5000;
const PART: &str = "registry";

/// A registry that runs.
#[derive(Clone, Debug)]
pub struct Registry {
    address: String,
}

/// Starts the registry unless it runs, and tells the nodes of it.
pub(super) async fn start(
    layout: &Layout,
    block: Block,
    nodes: &[Parts<'_>],
    progress: &Progress,
) -> Result<Registry> {
    let program = Tool::parse("registry-3.0.0")?
        .ensure(progress)
        .await?
        .join("registry");
    let address = format!("{}:{PORT}", block.gateway());
    let folder = layout.state().join(PART);
    fs::create_dir_all(&folder)?;
    let settings = folder.join("config.yml");
    // What the outside world has is looked up nowhere, and nothing is told to anybody.
    fs::write(
        &settings,
        format!(
            "version: 0.1\nlog: {{level: warn, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: \"{address}\"}}\n",
            folder.join("data").display()
        ),
    )?;
    let daemon = layout.daemon(PART);
    let command = [
        program.display().to_string(),
        "serve".to_owned(),
        settings.display().to_string(),
    ];
    daemon.start(&command).await?;
    for node in nodes {
        node.mirror(HOST, &address)?;
    }
    let registry = Registry { address };
    wait::until(
        "the registry's answer",
        Duration::from_secs(20),
        async || {
            ensure!(daemon.pid().is_some(), "{}", daemon.last_words());
            ask(&registry.address, "GET", "/v2/", &[], b"")
                .await
                .map(drop)
        },
    )
    .await?;
    Ok(registry)
}

/// Ends the registry, if there is one.
pub(super) async fn stop(layout: &Layout) -> Result<()> {
    layout.daemon(PART).stop(Duration::from_secs(2)).await
}

impl Registry {
    /// Builds the operator's image of a program and further files into a repository and answers how nodes name it.
    pub async fn push_operator(
        &self,
        program: &Path,
        files: &[(&Path, &str)],
        repository: &str,
        progress: &Progress,
    ) -> Result<String> {
        let to = format!("{}/{repository}:pushed", self.address);
        let digest = images::push_operator(&to, program, files, progress).await?;
        Ok(format!("{HOST}/{repository}@{digest}"))
    }

    /// Builds a catalog's image of its folder into a repository and answers how nodes name it.
    pub async fn push_catalog(
        &self,
        configs: &Path,
        repository: &str,
        progress: &Progress,
    ) -> Result<String> {
        let to = format!("{}/{repository}:pushed", self.address);
        let digest = images::olm::push_catalog(&to, configs, progress).await?;
        Ok(format!("{HOST}/{repository}@{digest}"))
    }

    /// Pushes an image into a repository, byte by byte as it is, and answers how nodes name it, by digest.
    pub async fn push(&self, image: &Image, repository: &str) -> Result<String> {
        let digest = image.digest();
        let blobs: Vec<_> = image
            .blobs
            .iter()
            .map(|(digest, bytes)| (digest.as_str(), &bytes[..]))
            .collect();
        let path = format!("{repository}/{digest}");
        put(&self.address, None, &path, &blobs, &image.manifest).await?;
        Ok(format!("{HOST}/{repository}@{digest}"))
    }
}

/// Puts blobs, each with its digest, and a manifest into a repository, byte by byte as they are. `path` is that of the
/// repository, and the tag or digest behind it.
pub(crate) async fn put(
    address: &str,
    login: Option<&str>,
    path: &str,
    blobs: &[(&str, &[u8])],
    manifest: &[u8],
) -> Result<()> {
    let (repository, version) = path.rsplit_once('/').context("REPOSITORY/VERSION")?;
    let login = login.map(|login| ("Authorization", login));
    let with = |kind| -> Vec<_> { login.into_iter().chain([("Content-Type", kind)]).collect() };
    for (digest, bytes) in blobs {
        let kind = with("application/octet-stream");
        let path = format!("/v2/{repository}/blobs/uploads/");
        let begun = ask(address, "POST", &path, &kind, b"").await?;
        let place = begun
            .lines()
            .find_map(|line| line.strip_prefix("Location: "))
            .context("the registry named no place for a blob")?
            .trim();
        let place = place.split_once("/v2/").map_or(place, |(_, rest)| rest);
        let mark = if place.contains('?') { '&' } else { '?' };
        let path = format!("/v2/{place}{mark}digest={digest}");
        ask(address, "PUT", &path, &kind, bytes).await?;
    }
    let path = format!("/v2/{repository}/manifests/{version}");
    let kind = with(Image::MEDIA_TYPE);
    ask(address, "PUT", &path, &kind, manifest).await.map(drop)
}

/// Puts an index of manifests under a tag, as [`put`] does a manifest.
pub(crate) async fn put_index(
    address: &str,
    login: Option<&str>,
    path: &str,
    index: &[u8],
) -> Result<()> {
    let (repository, version) = path.rsplit_once('/').context("REPOSITORY/VERSION")?;
    let kind = ("Content-Type", "application/vnd.oci.image.index.v1+json");
    let login = login.map(|login| ("Authorization", login));
    let headers: Vec<_> = login.into_iter().chain([kind]).collect();
    let path = format!("/v2/{repository}/manifests/{version}");
    ask(address, "PUT", &path, &headers, index).await.map(drop)
}

/// One request; the answer's head. An answer that is not of the 200s is an error.
async fn ask(
    address: &str,
    verb: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!(
        "{verb} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.lines().next().unwrap_or_default();
    ensure!(
        status.contains(" 20"),
        "{verb} {path} was answered {status}: {answer}"
    );
    Ok(answer)
}
