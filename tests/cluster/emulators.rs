//! Servers of the other stores' protocols for one scenario: Azurite, fake-gcs-server and Alibaba's OSS emulator, each with a
//! bucket.
//!
//! All run on an address that pods reach too, with their data in the scenario's folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::tools::Tool;
use tests::testbed::{Progress, wait};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

/// The bucket that there is.
const BUCKET: &str = "backups";
const START: Duration = Duration::from_secs(60);
/// Azurite's account and key, which are published and the same everywhere.
const ACCOUNT: &str = "devstoreaccount1";
const ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// Asks a server that looks at no signature.
const PLAIN: &str = r#"
const [method, url] = process.argv.slice(1);
fetch(url, { method }).then(async answer => {
  const body = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) { console.error(answer.status, body.toString()); process.exit(1); }
  process.stdout.write(body);
});
"#;
/// Makes a container, and fetches a blob, as Azure's documentation says a request is signed
/// (<https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key>).
const AZURE: &str = r#"
const [method, url, account, key] = process.argv.slice(1);
const crypto = require('crypto');
const { pathname, searchParams } = new URL(url);
const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-12-02' };
const named = Object.keys(headers).sort().map(name => `${name}:${headers[name]}\n`).join('');
const asked = [...searchParams].sort().map(([name, value]) => `\n${name}:${value}`).join('');
const text = `${method}\n\n\n\n\n\n\n\n\n\n\n\n${named}/${account}${pathname}${asked}`;
const hmac = crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
headers.Authorization = `SharedKey ${account}:${hmac}`;
fetch(url, { method, headers }).then(async answer => {
  const body = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) { console.error(answer.status, body.toString()); process.exit(1); }
  process.stdout.write(body);
});
"#;

/// The variable that names the folder of Alibaba's OSS emulator (<https://github.com/aliyun/oss-emulator>), which no package
/// registry has. It needs Ruby with webrick, builder and thor.
pub(crate) const OSS_EMULATOR: &str = "OSS_EMULATOR";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Azure,
    Google,
    Alibaba,
}

/// A running server. It ends with its value.
pub(crate) struct Emulator {
    _child: Child,
    address: SocketAddr,
    folder: PathBuf,
    protocol: Protocol,
}

impl Emulator {
    /// Azurite, Microsoft's own server of Azure Blob Storage for tests.
    pub(crate) async fn azurite(scenario: &Scenario) -> Result<Self> {
        let folder = Tool::find("azurite", "3.35.0")?
            .ensure(&Progress::silent())
            .await?;
        let program = folder.join("node_modules/.bin/azurite-blob");
        let server = Self::start(scenario, "azurite", Protocol::Azure, |address, data| {
            let mut command = Command::new(&program);
            command
                .args(["--blobHost", &address.ip().to_string()])
                .args(["--blobPort", &address.port().to_string()])
                .args(["--silent", "--skipApiVersionCheck", "--disableTelemetry"])
                .arg("--location")
                .arg(data);
            command
        })
        .await?;
        let container = format!("{}/{BUCKET}?restype=container", server.endpoint());
        wait::until("the container", START, async || {
            server.ask_azure("PUT", &container).await.map(drop)
        })
        .await?;
        Ok(server)
    }

    /// fake-gcs-server, which speaks the protocol of Google Cloud Storage.
    pub(crate) async fn gcs(scenario: &Scenario) -> Result<Self> {
        let folder = Tool::find("fake-gcs-server", "1.56.1")?
            .ensure(&Progress::silent())
            .await?;
        let program = folder.join("fake-gcs-server");
        Self::start(scenario, "gcs", Protocol::Google, |address, data| {
            let mut command = Command::new(&program);
            command
                .args(["-scheme", "http", "-host", &address.ip().to_string()])
                .args(["-port", &address.port().to_string()])
                .args(["-public-host", &address.to_string()])
                .arg("-filesystem-root")
                .arg(data);
            command
        })
        .await
    }

    /// Alibaba's own emulator of OSS, from the folder that [`OSS_EMULATOR`] names.
    pub(crate) async fn oss(scenario: &Scenario) -> Result<Self> {
        let source =
            std::env::var(OSS_EMULATOR).with_context(|| format!("{OSS_EMULATOR} is not set"))?;
        // It writes its log beside its own source.
        let copy = scenario.folder().join("oss-emulator");
        std::fs::create_dir_all(copy.join("log"))?;
        for part in ["bin", "lib"] {
            let from = Path::new(&source).join(part);
            ensure!(
                from.is_dir(),
                "{} is not a folder: {OSS_EMULATOR} names another thing",
                from.display()
            );
            let copied = Command::new("cp")
                .arg("-r")
                .arg(from)
                .arg(&copy)
                .status()
                .await?;
            ensure!(copied.success(), "{part} cannot be copied");
        }
        let server = Self::start(scenario, "oss", Protocol::Alibaba, |address, data| {
            let mut command = Command::new("ruby");
            command
                .current_dir(copy.join("bin"))
                .args(["emulator", "-r"])
                .arg(data)
                .args(["-H", &address.ip().to_string()])
                .args(["-p", &address.port().to_string()]);
            command
        })
        .await?;
        node(&[PLAIN, "PUT", &format!("{}/{BUCKET}", server.endpoint())]).await?;
        Ok(server)
    }

    async fn start(
        scenario: &Scenario,
        name: &str,
        protocol: Protocol,
        command: impl Fn(SocketAddr, &PathBuf) -> Command,
    ) -> Result<Self> {
        let folder = scenario.folder().join(name);
        // fake-gcs-server takes a folder for a bucket.
        std::fs::create_dir_all(folder.join(BUCKET))?;
        let free = TcpListener::bind((scenario.testbed().host_address(), 0)).await?;
        let address = free.local_addr()?;
        drop(free);
        let log = std::fs::File::create(scenario.folder().join(format!("{name}.log")))?;
        let child = command(address, &folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        wait::until_taken(name, START, address).await?;
        Ok(Self {
            _child: child,
            address,
            folder: scenario.folder().to_owned(),
            protocol,
        })
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        match self.protocol {
            Protocol::Azure => format!("http://{}/{ACCOUNT}", self.address),
            Protocol::Google | Protocol::Alibaba => format!("http://{}", self.address),
        }
    }

    /// Storage type, block and Secret of a backup under `key`.
    pub(crate) fn target(&self, key: &str) -> (&'static str, Value, Value) {
        let path = format!("{BUCKET}/{key}");
        let secret = |data: Value| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store"}, "stringData": data,
            })
        };
        let endpoint = self.endpoint();
        match self.protocol {
            Protocol::Azure => (
                "ABS",
                json!({"abs": {"path": path, "absSecret": "store", "endpoint": endpoint}}),
                secret(json!({"storage-account": ACCOUNT, "storage-key": ACCOUNT_KEY})),
            ),
            Protocol::Google => (
                "GCS",
                json!({"gcs": {"path": path, "gcpSecret": "store", "endpoint": endpoint}}),
                secret(json!({"access-token": "any-token"})),
            ),
            Protocol::Alibaba => (
                "OSS",
                json!({"oss": {"path": path, "ossSecret": "store", "endpoint": endpoint}}),
                secret(json!({"accessKeyID": "any-id", "accessKeySecret": "any-secret"})),
            ),
        }
    }

    /// Fetches a backup into a file, by a way that is not the operator's.
    pub(crate) async fn fetch(&self, key: &str) -> Result<PathBuf> {
        let endpoint = self.endpoint();
        let bytes = match self.protocol {
            Protocol::Azure => {
                let url = format!("{endpoint}/{BUCKET}/{key}");
                self.ask_azure("GET", &url).await?
            }
            Protocol::Google => {
                let object = key.replace('/', "%2F");
                let url = format!("{endpoint}/storage/v1/b/{BUCKET}/o/{object}?alt=media");
                node(&[PLAIN, "GET", &url]).await?
            }
            Protocol::Alibaba => {
                node(&[PLAIN, "GET", &format!("{endpoint}/{BUCKET}/{key}")]).await?
            }
        };
        let file = self.folder.join("fetched.backup");
        std::fs::write(&file, bytes)?;
        Ok(file)
    }

    async fn ask_azure(&self, method: &str, url: &str) -> Result<Vec<u8>> {
        node(&[AZURE, method, url, ACCOUNT, ACCOUNT_KEY]).await
    }
}

/// Runs a script of Node.js, which Azurite needs anyway; answers what it printed.
async fn node(arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("node")
        .arg("-e")
        .args(arguments)
        .output()
        .await
        .context("node cannot be started")?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "node: {words}");
    Ok(output.stdout)
}
