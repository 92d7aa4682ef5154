//! Where a testbed lives and how its parts are called: every folder, link, address and cgroup follows from its name and
//! its address block, so that two testbeds never meet.
//!
//! Makes nothing.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::process::Daemon;

const RECORD: &str = "testbed.json";

/// How many nodes a testbed has.
pub(crate) const NODES: u8 = 3;

/// The two leading bytes of the testbed's addresses: a /16 for nodes, pods and Services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block(pub(crate) u8, pub(crate) u8);

impl Block {
    const fn address(self, third: u8, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(self.0, self.1, third, last)
    }

    /// The host's address in the testbed's network; the API server answers there.
    pub(crate) const fn gateway(self) -> Ipv4Addr {
        self.address(0, 1)
    }

    pub(crate) const fn node(self, number: u8) -> Ipv4Addr {
        self.address(0, 10 + number)
    }

    pub(crate) fn pods_of(self, number: u8) -> String {
        format!("{}/24", self.address(64 + number, 0))
    }

    pub(crate) fn pods(self) -> String {
        format!("{}/18", self.address(64, 0))
    }

    pub(crate) fn services(self) -> String {
        format!("{}/18", self.address(128, 0))
    }

    /// The Service `kubernetes`, by rule the first of the range.
    pub(crate) const fn api_service(self) -> Ipv4Addr {
        self.address(128, 1)
    }

    pub(crate) const fn dns_service(self) -> Ipv4Addr {
        self.address(128, 10)
    }

    /// Where the API server answers to host, nodes and pods.
    pub(crate) fn api_url(self) -> String {
        format!("https://{}:6443", self.gateway())
    }
}

/// What is remembered of a testbed between commands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) block: Block,
    /// The boot it was started in; after another one nothing of it runs.
    pub(crate) boot: String,
    /// Whether it once came up whole.
    pub(crate) complete: bool,
    /// Empty folders that this machine did not have before.
    #[serde(default)]
    pub(crate) made: Vec<PathBuf>,
}

/// The folders and names of one testbed.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    name: String,
    state: PathBuf,
}

impl Layout {
    /// The layout of the testbed `name`; refuses names that cannot be folder and host names.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ensure!(
            !name.is_empty()
                && name.len() <= 30
                && name.bytes().all(plain)
                && !name.starts_with('-'),
            "a testbed's name has 1 to 30 characters of a-z, 0-9 and -; `{name}` does not fit"
        );
        let state = state_home()?.join(name);
        // A socket's path may have 107 characters; containerd's own is the longest.
        ensure!(
            state.as_os_str().len() <= 72,
            "{} is too long for the sockets inside it; choose a shorter XDG_STATE_HOME",
            state.display()
        );
        Ok(Self {
            name: name.to_owned(),
            state,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// A short word, unique to the testbed, for its link and cgroups.
    pub(crate) fn tag(&self) -> String {
        let hash = self
            .state
            .to_string_lossy()
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
        format!("bn{hash:08x}")
    }

    /// The host's end of its link to the switch; all other links are in namespaces.
    pub(crate) fn host_link(&self) -> String {
        self.tag()
    }

    pub(crate) fn cgroup(&self, number: u8) -> String {
        format!("{}-{number}", self.tag())
    }

    pub(crate) fn node_name(number: u8) -> String {
        format!("node-{number}")
    }

    pub(crate) fn node_folder(&self, number: u8) -> PathBuf {
        self.state.join(Self::node_name(number))
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.state.join("pki")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    /// What the API server was asked by service accounts.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.state.join("audit.log")
    }

    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.state.join("audit-policy.json")
    }

    pub(crate) fn daemon(&self, name: &str) -> Daemon {
        Daemon::new(&self.state, name)
    }

    /// The process that holds a node's namespaces.
    pub(crate) fn anchor(&self, number: u8) -> Daemon {
        self.daemon(&format!("{}-anchor", Self::node_name(number)))
    }

    fn record_file(&self) -> PathBuf {
        self.state.join(RECORD)
    }

    /// What is remembered, if anything readable is.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.record_file()).ok()?).ok()
    }

    pub(crate) fn remember(&self, record: &Record) -> Result<()> {
        let fresh = self.state.join("testbed.json.new");
        fs::write(&fresh, serde_json::to_vec_pretty(record)?)?;
        fs::rename(&fresh, self.record_file())?;
        Ok(())
    }
}

/// The folder of all testbeds' states.
pub(crate) fn state_home() -> Result<PathBuf> {
    home("XDG_STATE_HOME", ".local/state")
}

/// Whether the state of any testbed is there.
pub(crate) fn is_any_left() -> Result<bool> {
    let states = fs::read_dir(state_home()?)?;
    Ok(states
        .flatten()
        .any(|state| state.path().join(RECORD).exists()))
}

/// The folder of what may be built again at any time.
pub(crate) fn cache_home() -> Result<PathBuf> {
    home("XDG_CACHE_HOME", ".cache")
}

fn home(variable: &str, below_home: &str) -> Result<PathBuf> {
    let folder = std::env::var_os(variable)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from);
    let folder = match folder {
        Some(folder) => folder,
        None => PathBuf::from(
            std::env::var_os("HOME")
                .with_context(|| format!("neither HOME nor {variable} is set"))?,
        )
        .join(below_home),
    };
    Ok(folder.join("binnacle"))
}

/// The kernel's name of this boot.
pub(crate) fn boot() -> Result<String> {
    let id =
        fs::read_to_string("/proc/sys/kernel/random/boot_id").context("this boot has no name")?;
    Ok(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Block, Layout};

    #[test]
    fn a_name_that_is_no_folder_or_host_name_is_refused() {
        for name in ["", "..", "a/b", "Upper", "-dash", &"x".repeat(31)] {
            assert!(Layout::new(name).is_err(), "{name} was taken");
        }
        assert!(Layout::new("suite-7").is_ok());
    }

    /// The kernel allows 15 characters.
    #[test]
    fn the_link_of_the_longest_name_fits_the_kernel() -> anyhow::Result<()> {
        assert!(Layout::new(&"x".repeat(30))?.host_link().len() <= 15);
        Ok(())
    }

    #[test]
    fn nodes_pods_and_services_share_a_block_without_meeting() {
        let block = Block(10, 150);
        assert_eq!(block.node(3).to_string(), "10.150.0.13");
        assert_eq!(block.pods_of(3), "10.150.67.0/24");
        assert_eq!(
            (block.pods(), block.services()),
            ("10.150.64.0/18".to_owned(), "10.150.128.0/18".to_owned())
        );
    }
}
