//! A real Kubernetes on this machine: one control plane and three nodes, each in namespaces of its own.
//!
//! Flow of [`Testbed::up`]: what cannot work is refused, what runs is found again, what is left over is removed; then
//! tools, images, network, control plane, nodes, DNS and volumes, in that order. [`Testbed::remove`] takes all of it away.
//!
//! Guarantees: two testbeds of different names share nothing but the cache of built tools; the processes outlive the
//! caller; nothing of this machine is configured or restarted.
//!
//! Assumptions: root on Linux, Go and a C compiler for the first time, cgroups at their usual place.

mod cgroups;
mod cluster;
mod command;
mod control_plane;
mod faults;
pub mod images;
mod layout;
mod namespace;
mod network;
mod node;
mod pki;
mod process;
mod progress;
pub mod registry;
mod requirements;
pub mod tools;
pub mod volumes;
pub mod wait;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use layout::{Layout, Record};
use node::{Parts, on_all};

pub use faults::Node;
pub use namespace::Namespace;
pub use progress::Progress;

/// The testbed's name when nobody gives one.
pub const DEFAULT_NAME: &str = "binnacle";

/// The name that `BINNACLE_TESTBED` gives, or [`DEFAULT_NAME`].
#[must_use]
pub fn default_name() -> String {
    let named = std::env::var("BINNACLE_TESTBED")
        .ok()
        .filter(|name| !name.is_empty());
    named.unwrap_or_else(|| DEFAULT_NAME.to_owned())
}

/// How long a fresh cluster may take to become ready on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// A testbed that is up.
#[derive(Clone)]
pub struct Testbed {
    layout: Layout,
    record: Record,
    client: Client,
}

impl Testbed {
    /// Brings the testbed `name` up, or finds it running and mends what was stopped or cut.
    pub async fn up(name: &str, progress: &Progress) -> Result<Self> {
        let layout = Layout::new(name)?;
        requirements::check().await?;
        let _lock = lock(name, progress).await?;
        if let Some(record) = running(&layout)? {
            match mend(&layout, &record).await {
                Ok(testbed) => return Ok(testbed),
                Err(error) => progress.say(&format!(
                    "testbed {name} is beyond repair and starts anew: {error:#}"
                )),
            }
        }
        clear(&layout).await?;
        requirements::install(progress).await?;
        for tool in tools::Tool::needed()? {
            tool.ensure(progress).await?;
        }
        start(&layout, progress).await
    }

    /// The testbed `name`, if it is up.
    pub async fn find(name: &str) -> Result<Option<Self>> {
        let layout = Layout::new(name)?;
        let Some(record) = running(&layout)? else {
            return Ok(None);
        };
        Ok(Some(Self::connect(&layout, &record).await?))
    }

    /// Removes everything of the testbed `name`, also of one that is broken or only half there.
    pub async fn remove(name: &str, progress: &Progress) -> Result<()> {
        let layout = Layout::new(name)?;
        requirements::check().await?;
        let _lock = lock(name, progress).await?;
        clear(&layout).await
    }

    /// Removes this testbed.
    pub async fn down(self) -> Result<()> {
        Self::remove(self.name(), &Progress::silent()).await
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.layout.name()
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.layout.kubeconfig()
    }

    /// What service accounts asked of the API server: a file with an event of its audit log in each line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.layout.audit_log()
    }

    /// A kubectl of the cluster's version.
    pub fn kubectl(&self) -> Result<PathBuf> {
        tools::kubernetes("kubectl")
    }

    /// A client with the administrator's rights.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The folder of logs, one file a process.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.layout.state().join("logs")
    }

    /// The address of the host that pods and nodes reach, for servers that a suite runs beside the cluster.
    #[must_use]
    pub fn host_address(&self) -> std::net::Ipv4Addr {
        self.record.block.gateway()
    }

    /// Waits until all nodes and DNS are ready.
    pub async fn ready(&self, within: Duration) -> Result<()> {
        cluster::ready(&self.client, within).await
    }

    /// Every process of the testbed and its id, if it runs.
    #[must_use]
    pub fn processes(&self) -> Vec<(String, Option<u32>)> {
        let nodes = Parts::all(&self.layout, self.record.block);
        let control_plane = control_plane::PARTS.map(|part| self.layout.daemon(part));
        control_plane
            .into_iter()
            .chain(nodes.iter().flat_map(Parts::daemons))
            .chain([
                network::switch(&self.layout),
                volumes::recycler(&self.layout),
            ])
            .map(|daemon| (daemon.name().to_owned(), daemon.pid()))
            .collect()
    }

    /// Takes the images of a docker or OCI archive into every node, unless they have it. A node that is given one image twice
    /// at the same time refuses one of them, so each waits for its turn.
    pub async fn load_image(&self, archive: &Path) -> Result<()> {
        let _lock = lock("images", &Progress::silent()).await?;
        let folder = self.layout.state().join("images");
        fs::create_dir_all(&folder)?;
        let taken = folder.join(archive.file_name().context("an archive is a file")?);
        let file = fs::metadata(archive).with_context(|| archive.display().to_string())?;
        let which = format!(
            "{} {} {:?}",
            archive.display(),
            file.len(),
            file.modified()?
        );
        if fs::read_to_string(&taken).is_ok_and(|before| before == which) {
            return Ok(());
        }
        let nodes = Parts::all(&self.layout, self.record.block);
        on_all(&nodes, |node| node.import(archive))
            .await
            .with_context(|| format!("{} was not taken by the nodes", archive.display()))?;
        Ok(fs::write(taken, which)?)
    }

    /// Gives an image another name in every node, as if a second registry had it.
    pub async fn tag_image(&self, image: &str, name: &str) -> Result<()> {
        let nodes = Parts::all(&self.layout, self.record.block);
        on_all(&nodes, |node| node.tag(image, name))
            .await
            .with_context(|| format!("{image} was not named {name}"))
    }

    /// Takes that name away again, as if the registry had the image no more.
    pub async fn untag_image(&self, name: &str) -> Result<()> {
        let nodes = Parts::all(&self.layout, self.record.block);
        on_all(&nodes, |node| node.untag(name))
            .await
            .with_context(|| format!("{name} was not taken away"))
    }

    /// Builds and loads the image `quay.io/coreos/etcd:vVERSION`.
    pub async fn load_etcd(&self, version: &str, progress: &Progress) -> Result<()> {
        self.load_image(&images::etcd(version, progress).await?)
            .await
    }

    /// A registry that the nodes pull from as [`registry::HOST`]; started unless it runs.
    pub async fn registry(&self, progress: &Progress) -> Result<registry::Registry> {
        let nodes = Parts::all(&self.layout, self.record.block);
        registry::start(&self.layout, self.record.block, &nodes, progress).await
    }

    async fn connect(layout: &Layout, record: &Record) -> Result<Self> {
        let client = connect(&layout.kubeconfig()).await?;
        Ok(Self {
            layout: layout.clone(),
            record: record.clone(),
            client,
        })
    }
}

/// A client with the rights of a kubeconfig.
pub async fn connect(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// The record of a testbed that once came up whole and whose namespaces are there; other parts may have died since.
fn running(layout: &Layout) -> Result<Option<Record>> {
    let boot = layout::boot()?;
    let record = layout
        .record()
        .filter(|record| record.complete && record.boot == boot);
    Ok(record.filter(|record| {
        let nodes = Parts::all(layout, record.block);
        network::switch(layout).pid().is_some() && nodes.iter().all(|node| node.anchor().is_ok())
    }))
}

/// Starts whatever died or was stopped, joins nodes that were cut, and waits until all is ready.
async fn mend(layout: &Layout, record: &Record) -> Result<Testbed> {
    let block = record.block;
    let nodes = Parts::all(layout, block);
    for number in 1..=layout::NODES {
        if !network::is_linked(layout, number).await? {
            network::set_link(layout, number, true).await?;
        }
    }
    control_plane::start(layout, block).await?;
    on_all(&nodes, start_node).await?;
    volumes::start_recycler(layout).await?;
    let testbed = Testbed::connect(layout, record).await?;
    testbed.ready(Duration::from_secs(90)).await?;
    Ok(testbed)
}

async fn start_node(node: &Parts<'_>) -> Result<()> {
    node.start_containerd().await?;
    node.start_kubelet().await?;
    node.start_kube_proxy().await
}

/// Starts everything from nothing.
async fn start(layout: &Layout, progress: &Progress) -> Result<Testbed> {
    const STAGES: usize = 6;
    progress.part(1, STAGES, "images");
    let (pause, coredns) = (
        images::pause(progress).await?,
        images::coredns(progress).await?,
    );
    let etcd = images::etcd(tools::ETCD_VERSION, progress).await?;

    progress.part(2, STAGES, "network and namespaces");
    fs::create_dir_all(layout.state())?;
    let mut record = claim_block(layout, progress).await?;
    let block = record.block;
    control_plane::make_credentials(layout, block)?;
    let nodes = Parts::all(layout, block);
    on_all(&nodes, Parts::make).await?;
    network::route_services(block, 1).await?;

    progress.part(3, STAGES, "control plane and container runtimes");
    let runtimes = on_all(&nodes, async |node| {
        node.start_containerd().await?;
        node.import(&pause).await?;
        node.import(&coredns).await
    });
    tokio::try_join!(control_plane::start(layout, block), runtimes)?;

    progress.part(4, STAGES, "nodes");
    let testbed = Testbed::connect(layout, &record).await?;
    cluster::register_nodes(&testbed.client, block).await?;
    on_all(&nodes, Parts::start_kubelet).await?;
    on_all(&nodes, Parts::start_kube_proxy).await?;

    progress.part(5, STAGES, "DNS, volumes and the etcd image");
    let objects = async {
        cluster::furnish(layout, block).await?;
        volumes::make(layout).await?;
        volumes::start_recycler(layout).await
    };
    tokio::try_join!(objects, testbed.load_image(&etcd))?;

    progress.part(6, STAGES, "readiness of nodes and DNS");
    testbed.ready(READY_WITHIN).await?;
    record.complete = true;
    layout.remember(&record)?;
    Ok(Testbed { record, ..testbed })
}

/// Chooses the addresses and takes them by linking the switch; two testbeds that start at once do so one after the other.
async fn claim_block(layout: &Layout, progress: &Progress) -> Result<Record> {
    let _lock = lock("addresses", progress).await?;
    let block = network::free_block(layout).await?;
    let made = node::make_hidden()?;
    let record = Record {
        block,
        boot: layout::boot()?,
        complete: false,
        made,
    };
    layout.remember(&record)?;
    network::make_switch(layout, record.block).await?;
    Ok(record)
}

/// Removes whatever there is of a testbed, the processes first.
async fn clear(layout: &Layout) -> Result<()> {
    let record = layout.record();
    if let Some(record) = &record {
        let nodes = Parts::all(layout, record.block);
        if record.boot == layout::boot()? {
            volumes::recycler(layout)
                .stop(Duration::from_secs(2))
                .await?;
            on_all(&nodes, Parts::stop).await?;
            registry::stop(layout).await?;
            control_plane::stop(layout).await?;
        }
        network::remove(layout).await?;
    }
    match fs::remove_dir_all(layout.state()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error)
                .with_context(|| format!("{} cannot be removed", layout.state().display()));
        }
        _ => {}
    }
    if !layout::is_any_left()? {
        for folder in record.into_iter().flat_map(|record| record.made) {
            // Only an empty folder goes; somebody else may have begun to use it.
            let _ = fs::remove_dir(folder);
        }
    }
    Ok(())
}

/// Holds off other processes that work on the same thing.
async fn lock(what: &str, progress: &Progress) -> Result<File> {
    let folder = layout::state_home()?;
    fs::create_dir_all(&folder)?;
    let file = File::create(folder.join(format!(".{what}.lock")))?;
    if file.try_lock().is_err() {
        progress.say(&format!("another process works on {what}; waiting for it"));
        let wait = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
        return wait
            .await?
            .map_err(|error| anyhow!("the lock of {what} is broken: {error}"));
    }
    ensure!(folder.is_dir(), "{} went away", folder.display());
    Ok(file)
}
