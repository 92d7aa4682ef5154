//! A real OCI registry as a process of this machine, with or without a login. It needs no Kubernetes.
//!
//! Knows nothing of what is pushed to it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::testbed::tools::Tool;
use crate::testbed::{Progress, registry, wait};

/// The name that a registry with a login lets in.
pub const USER: &str = "reader";
/// Its password.
pub const PASSWORD: &str = "hunter2";
/// Both, as the registry wants them.
const HTPASSWD: &str = "reader:$2y$05$abcdefghijklmnopqrstuuoXuKqgZXLiJqzfmMXDDhSFPIvxV7t8.\n";
/// Both, as HTTP has them.
const BASIC: &str = "Basic cmVhZGVyOmh1bnRlcjI=";
/// How long it may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A registry on this machine. It ends with its value, and its data stays in its folder.
#[derive(Debug)]
pub struct Registry {
    program: PathBuf,
    settings: PathBuf,
    log: PathBuf,
    address: SocketAddr,
    login: Option<&'static str>,
    child: Option<Child>,
}

impl Registry {
    /// Starts one whose data lies in `folder`.
    pub async fn start(folder: &Path, with_login: bool) -> Result<Self> {
        let tool = Tool::find("registry", "3.0.0")?;
        let program = tool.ensure(&Progress::silent()).await?.join("registry");
        fs::create_dir_all(folder)?;
        let free = TcpListener::bind("127.0.0.1:0").await?;
        let address = free.local_addr()?;
        drop(free);
        let login = if with_login {
            let file = folder.join("htpasswd");
            fs::write(&file, HTPASSWD)?;
            format!(
                "auth: {{htpasswd: {{realm: test, path: {}}}}}\n",
                file.display()
            )
        } else {
            String::new()
        };
        let settings = folder.join("config.yml");
        // What the outside world has is looked up nowhere, and nothing is told to anybody.
        fs::write(
            &settings,
            format!(
                "version: 0.1\nlog: {{level: warn, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n\
                 http: {{addr: \"{address}\"}}\n{login}",
                folder.join("data").display()
            ),
        )?;
        let mut registry = Self {
            program,
            settings,
            log: folder.join("registry.log"),
            address,
            login: with_login.then_some(BASIC),
            child: None,
        };
        registry.resume().await?;
        Ok(registry)
    }

    /// Starts it again where it was, with what it had.
    pub async fn resume(&mut self) -> Result<()> {
        let log = fs::File::create(&self.log)?;
        let child = Command::new(&self.program)
            .arg("serve")
            .arg(&self.settings)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("the registry cannot be started")?;
        self.child = Some(child);
        wait::until_taken("the registry's answer", START, self.address).await
    }

    /// Ends it.
    pub async fn stop(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        ensure!(
            TcpStream::connect(self.address).await.is_err(),
            "somebody else answers at {}",
            self.address
        );
        Ok(())
    }

    /// The name of a repository of this registry.
    #[must_use]
    pub fn repository(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }

    /// The file that a login for it is kept in.
    #[must_use]
    pub fn docker_config(&self) -> String {
        format!(
            r#"{{"auths": {{"{}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}}}"#,
            self.address
        )
    }

    /// Puts blobs, each with its digest, and a manifest under a tag, byte by byte as they are.
    pub async fn put(
        &self,
        repository: &str,
        tag: &str,
        blobs: &[(&str, &[u8])],
        manifest: &[u8],
    ) -> Result<()> {
        let address = self.address.to_string();
        let path = format!("{repository}/{tag}");
        registry::put(&address, self.login, &path, blobs, manifest).await
    }

    /// The same for an index of manifests that are there.
    pub async fn put_index(&self, repository: &str, tag: &str, index: &[u8]) -> Result<()> {
        let address = self.address.to_string();
        let path = format!("{repository}/{tag}");
        registry::put_index(&address, self.login, &path, index).await
    }
}
