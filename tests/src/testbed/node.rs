//! A node: an anchor process that holds its network and mount namespaces, and containerd, kubelet and kube-proxy in them.
//!
//! Everything the node mounts goes with its namespace. What of it must be seen from the host (sockets, volumes, logs) lies
//! in the node's folder.

mod files;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use futures::future::try_join_all;
use rustix::process::Signal;

use super::command::Command;
use super::layout::{Block, Layout, NODES};
use super::process::{self, Daemon, inside, signal};
use super::{cgroups, network, requirements, tools, wait};

/// Folders that container programs insist on: each node has its own, so that those of this machine stay untouched.
const HIDDEN: [&str; 3] = ["/run/containerd", "/var/lib/kubelet", "/var/log/containers"];

/// Mounts an empty folder over each of its arguments and stays.
const HIDE: &str =
    r#"for folder; do mount -t tmpfs testbed "$folder" || exit 1; done; exec sleep infinity"#;

/// Makes the places for the nodes' own folders that this machine does not have, and answers which they were.
pub(crate) fn make_hidden() -> Result<Vec<PathBuf>> {
    let missing: Vec<_> = HIDDEN
        .map(PathBuf::from)
        .into_iter()
        .filter(|folder| !folder.exists())
        .collect();
    missing.iter().try_for_each(fs::create_dir_all)?;
    Ok(missing)
}

/// The parts of one node.
pub(crate) struct Parts<'a> {
    layout: &'a Layout,
    block: Block,
    number: u8,
}

impl<'a> Parts<'a> {
    pub(crate) const fn new(layout: &'a Layout, block: Block, number: u8) -> Self {
        Self {
            layout,
            block,
            number,
        }
    }

    /// The parts of every node.
    pub(crate) fn all(layout: &'a Layout, block: Block) -> Vec<Self> {
        (1..=NODES)
            .map(|number| Self::new(layout, block, number))
            .collect()
    }

    fn folder(&self) -> PathBuf {
        self.layout.node_folder(self.number)
    }

    fn daemon(&self, part: &str) -> Daemon {
        self.layout
            .daemon(&format!("{}-{part}", Layout::node_name(self.number)))
    }

    /// The parts that must run for the node to be one.
    pub(crate) fn daemons(&self) -> [Daemon; 4] {
        ["anchor", "containerd", "kubelet", "kube-proxy"].map(|part| self.daemon(part))
    }

    pub(crate) fn kubelet(&self) -> Daemon {
        self.daemon("kubelet")
    }

    /// The process that holds the node's namespaces.
    pub(crate) fn anchor(&self) -> Result<u32> {
        self.layout
            .anchor(self.number)
            .pid()
            .with_context(|| format!("node {} has lost its namespaces", self.number))
    }

    /// Makes the namespaces, the link and the cgroup.
    pub(crate) async fn make(&self) -> Result<()> {
        fs::create_dir_all(self.folder())?;
        cgroups::make(&self.layout.cgroup(self.number))?;
        let unshare = [
            "unshare",
            "--net",
            "--mount",
            "--propagation",
            "slave",
            "sh",
            "-c",
            HIDE,
            "hide",
        ];
        let command: Vec<_> = unshare
            .into_iter()
            .chain(HIDDEN)
            .map(str::to_owned)
            .collect();
        let daemon = self.layout.anchor(self.number);
        let anchor = daemon.start(&command).await?;
        network::is_anchored(&daemon).await?;
        network::link_node(self.layout, self.block, self.number, anchor).await?;
        files::write(
            self.layout,
            self.block,
            self.number,
            requirements::cni_plugins()?,
        )
    }

    /// Starts containerd and waits until it answers.
    pub(crate) async fn start_containerd(&self) -> Result<()> {
        let daemon = self.daemon("containerd");
        let mut command = inside(self.anchor()?);
        command.extend(["containerd".to_owned(), "--config".to_owned()]);
        command.push(self.folder().join("containerd.toml").display().to_string());
        daemon.start(&command).await?;
        wait::until(
            format!("{}'s answer", daemon.name()),
            Duration::from_secs(30),
            async || {
                ensure!(daemon.pid().is_some(), "{}", daemon.last_words());
                self.ctr().args(["version"]).run().await.map(drop)
            },
        )
        .await
    }

    fn ctr(&self) -> Command {
        Command::new("ctr")
            .arg("--address")
            .arg(self.folder().join("containerd.sock"))
            .args(["-n", "k8s.io"])
    }

    /// Sends the node's pulls from `host` to a server that speaks plain HTTP.
    pub(crate) fn mirror(&self, host: &str, server: &str) -> Result<()> {
        let folder = self.folder().join("registries").join(host);
        fs::create_dir_all(&folder)?;
        let hosts =
            format!("[host.\"http://{server}\"]\n  capabilities = [\"pull\", \"resolve\"]\n");
        Ok(fs::write(folder.join("hosts.toml"), hosts)?)
    }

    /// Takes the images of an archive into the node.
    pub(crate) async fn import(&self, archive: &std::path::Path) -> Result<()> {
        self.ctr()
            .args(["images", "import"])
            .arg(archive)
            .run()
            .await
            .map(drop)
    }

    /// Gives an image of the node another name beside its own.
    pub(crate) async fn tag(&self, image: &str, name: &str) -> Result<()> {
        self.ctr()
            .args(["images", "tag", "--force", image, name])
            .run()
            .await
            .map(drop)
    }

    /// Takes a name from an image of the node.
    pub(crate) async fn untag(&self, name: &str) -> Result<()> {
        self.ctr()
            .args(["images", "rm", "--sync", name])
            .run()
            .await
            .map(drop)
    }

    /// Starts the kubelet, once the API server knows the node.
    pub(crate) async fn start_kubelet(&self) -> Result<()> {
        let (folder, pki, name) = (
            self.folder(),
            self.layout.pki(),
            Layout::node_name(self.number),
        );
        let mut command = inside(self.anchor()?);
        command.extend([
            tools::kubernetes("kubelet")?.display().to_string(),
            format!("--config={}", folder.join("kubelet.yaml").display()),
            format!(
                "--kubeconfig={}",
                pki.join(format!("{name}.kubeconfig")).display()
            ),
            format!("--root-dir={}", folder.join("kubelet").display()),
            format!("--cert-dir={}", folder.join("certificates").display()),
            format!("--hostname-override={name}"),
            format!("--node-ip={}", self.block.node(self.number)),
        ]);
        self.kubelet().start(&command).await.map(drop)
    }

    /// Starts the node's kube-proxy.
    pub(crate) async fn start_kube_proxy(&self) -> Result<()> {
        let mut command = inside(self.anchor()?);
        command.extend([
            tools::kubernetes("kube-proxy")?.display().to_string(),
            format!(
                "--kubeconfig={}",
                self.layout.pki().join("kube-proxy.kubeconfig").display()
            ),
            "--proxy-mode=nftables".to_owned(),
            format!("--cluster-cidr={}", self.block.pods()),
            format!("--hostname-override={}", Layout::node_name(self.number)),
            "--conntrack-max-per-core=0".to_owned(),
            "--conntrack-tcp-timeout-established=0".to_owned(),
            "--conntrack-tcp-timeout-close-wait=0".to_owned(),
            "--oom-score-adj=0".to_owned(),
            "--nodeport-addresses=primary".to_owned(),
        ]);
        self.daemon("kube-proxy").start(&command).await.map(drop)
    }

    /// The first process of a container of this node.
    pub(crate) fn container_process(&self, container: &str) -> Result<u32> {
        let file = self
            .folder()
            .join("containerd/state/io.containerd.runtime.v2.task/k8s.io")
            .join(container)
            .join("init.pid");
        let pid = fs::read_to_string(&file)
            .with_context(|| format!("container {container} does not run on this node"))?;
        pid.trim()
            .parse()
            .map_err(|error| anyhow!("{} holds no process id: {error}", file.display()))
    }

    /// Ends everything on the node; its namespaces, and so its mounts and links, go with the last process.
    pub(crate) async fn stop(&self) -> Result<()> {
        let grace = Duration::from_secs(2);
        let (kubelet, proxy) = (self.kubelet(), self.daemon("kube-proxy"));
        tokio::try_join!(kubelet.stop(grace), proxy.stop(grace))?;
        // Pods are not told: nothing of them is kept. A shim would bring order into that, so the shims go first.
        let socket = self.folder().join("containerd.sock").display().to_string();
        for shim in process::with_argument(&socket) {
            signal(shim, Signal::KILL)?;
        }
        self.daemon("containerd").stop(grace).await?;
        for shim in process::with_argument(&socket) {
            signal(shim, Signal::KILL)?;
        }
        cgroups::remove(&self.layout.cgroup(self.number)).await?;
        self.layout.anchor(self.number).stop(Duration::ZERO).await
    }
}

/// Does `work` for all nodes at the same time.
pub(crate) async fn on_all<'a, F: Future<Output = Result<()>>>(
    nodes: &'a [Parts<'a>],
    work: impl Fn(&'a Parts<'a>) -> F,
) -> Result<()> {
    try_join_all(nodes.iter().map(work)).await.map(drop)
}
