//! A real S3 server for one scenario: MinIO, with a bucket, on an address that pods reach too.
//!
//! What is stored is looked at through a client of its own, not through the operator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use opendal::Operator;
use opendal::services::S3;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::scenario::{Authority, Scenario};
use tests::testbed::tools::{ETCD_VERSION, Tool};
use tests::testbed::{Progress, wait};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

const USER: &str = "minio-user";
const PASSWORD: &str = "minio-password-of-a-test";
/// The bucket that there is.
pub(crate) const BUCKET: &str = "backups";
/// How long it may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A running server. It ends with its value.
pub(crate) struct MinIo {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
    /// Who vouches for its certificate, where it speaks TLS.
    authority: Option<String>,
}

impl MinIo {
    /// Starts one whose data lies in the scenario's folder.
    pub(crate) async fn start(scenario: &Scenario) -> Result<Self> {
        Self::start_in(scenario, None, None).await
    }

    /// Starts one that speaks TLS, with a certificate that its own authority vouches for.
    pub(crate) async fn start_sealed(scenario: &Scenario) -> Result<Self> {
        Self::start_in(scenario, None, Some(Authority::make()?)).await
    }

    /// Starts one whose disk has so many MiB, in memory that goes with the server.
    pub(crate) async fn start_on_disk_of(scenario: &Scenario, mebibytes: u32) -> Result<Self> {
        Self::start_in(scenario, Some(mebibytes), None).await
    }

    async fn start_in(
        scenario: &Scenario,
        disk: Option<u32>,
        authority: Option<Authority>,
    ) -> Result<Self> {
        host::backup::prepare();
        let tool = Tool::find("minio", "0.0.0-20260212201848-7aac2a2c5b7c")?;
        let program = tool.ensure(&Progress::silent()).await?.join("minio");
        let folder = scenario.folder().join("minio");
        std::fs::create_dir_all(&folder)?;
        let free = TcpListener::bind((scenario.testbed().host_address(), 0)).await?;
        let address = free.local_addr()?;
        drop(free);
        let log = std::fs::File::create(scenario.folder().join("minio.log"))?;
        let mount = disk.map_or_else(String::new, |mebibytes| {
            format!("mount -t tmpfs -o size={mebibytes}m disk \"$2\" && ")
        });
        let certificates = scenario.folder().join("minio-certificates");
        std::fs::create_dir_all(&certificates)?;
        if let Some(authority) = &authority {
            let issued = authority.issue(&[address.ip().to_string()])?;
            std::fs::write(certificates.join("public.crt"), issued.certificate)?;
            std::fs::write(certificates.join("private.key"), issued.key)?;
        }
        // A folder of the drive is a bucket.
        let script = format!(
            "{mount}mkdir -p \"$2/{BUCKET}\" && exec \"$1\" server --quiet --certs-dir \"$3\" --address {address} \"$2\""
        );
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script, "minio"])
            .args([&program, &folder, &certificates])
            .env("MINIO_ROOT_USER", USER)
            .env("MINIO_ROOT_PASSWORD", PASSWORD)
            .env("MINIO_BROWSER", "off")
            .env("HOME", &folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("MinIO cannot be started")?;
        let server = Self {
            child,
            address,
            folder: scenario.folder().to_owned(),
            authority: authority.map(|authority| authority.certificate),
        };
        wait::until("MinIO", START, async || {
            TcpStream::connect(address).await?;
            if server.authority.is_none() {
                server.keys().await?;
            }
            Ok(())
        })
        .await?;
        Ok(server)
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        let scheme = self.authority.as_ref().map_or("http", |_| "https");
        format!("{scheme}://{}", self.address)
    }

    /// A Secret with AWS's two files, as the archived operator wants it, and the authority of a server that has its own.
    pub(crate) fn secret(&self, name: &str) -> Value {
        let mut secret = secret(name, USER, PASSWORD);
        if let Some(authority) = &self.authority {
            secret["stringData"]["ca.crt"] = json!(authority);
        }
        secret
    }

    /// The block of a spec that says where a backup goes.
    pub(crate) fn block(&self, key: &str, secret: &str) -> Value {
        json!({
            "path": format!("{BUCKET}/{key}"), "awsSecret": secret,
            "endpoint": self.endpoint(), "forcePathStyle": true,
        })
    }

    /// A client of the bucket.
    pub(crate) fn bucket(&self) -> Result<Operator> {
        let builder = S3::default()
            .bucket(BUCKET)
            .region("us-east-1")
            .endpoint(&self.endpoint())
            .access_key_id(USER)
            .secret_access_key(PASSWORD)
            .disable_config_load();
        Ok(Operator::new(builder)?)
    }

    /// The names of all objects, sorted.
    pub(crate) async fn keys(&self) -> Result<Vec<String>> {
        let entries = self.bucket()?.list_with("").recursive(true).await?;
        let mut keys: Vec<String> = entries
            .iter()
            .map(|entry| entry.path().to_owned())
            .filter(|path| !path.ends_with('/'))
            .collect();
        keys.sort();
        Ok(keys)
    }

    /// Fetches a backup into a file.
    pub(crate) async fn fetch(&self, key: &str) -> Result<PathBuf> {
        let bytes = self.bucket()?.read(key).await?;
        let file = self.folder.join(key.replace('/', "_"));
        std::fs::write(&file, bytes.to_vec())?;
        Ok(file)
    }

    /// Stops it where it is, as a server that does not answer.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Gives its disk so many MiB.
    pub(crate) async fn grow_disk_to(&self, mebibytes: u32) -> Result<()> {
        let id = self.child.id().context("MinIO has ended")?.to_string();
        let size = format!("remount,size={mebibytes}m");
        let status = Command::new("nsenter")
            .args(["--target", &id, "--mount", "mount", "-o", &size])
            .arg(self.folder.join("minio"))
            .status()
            .await?;
        ensure!(status.success(), "the disk did not grow: {status}");
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(Pid::from_raw).context("MinIO has ended")?;
        Ok(kill_process(id, signal)?)
    }
}

/// A Secret with AWS's two files.
pub(crate) fn secret(name: &str, user: &str, password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {
            "credentials": format!("[default]\naws_access_key_id = {user}\naws_secret_access_key = {password}\n"),
            "config": "[default]\nregion = us-east-1\n",
        },
    })
}

/// What etcd's own tool says of a snapshot: revision and number of keys.
pub(crate) async fn snapshot_status(file: &Path) -> Result<(i64, i64)> {
    let etcdutl = Tool::find("etcd", ETCD_VERSION)?.folder()?.join("etcdutl");
    let output = Command::new(etcdutl)
        .args(["snapshot", "status", "--write-out=json"])
        .arg(file)
        .output()
        .await?;
    ensure!(
        output.status.success(),
        "etcdutl: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let status: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| status[key].as_i64().with_context(|| format!("no {key}"));
    Ok((number("revision")?, number("totalKey")?))
}
