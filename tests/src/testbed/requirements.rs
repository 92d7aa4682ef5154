//! Finds out first what cannot work on this machine, and says it in one sentence with the alternatives.
//!
//! Installs what is missing and only that, through the system's package manager, without starting any service.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use super::command::{Command, find_program};
use super::progress::Progress;

const INSTEAD: &str =
    "use any other cluster instead: KUBECONFIG=… make run, for example one made by kind";

/// Programs of the system that a testbed runs, with the Debian package of each.
const PROGRAMS: [(&str, &str); 9] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("nft", "nftables"),
    ("buildah", "buildah"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("mount", "mount"),
    ("setsid", "util-linux"),
];

/// Where buildah looks for the network helper that it wants even for builds without a network.
const NETWORK_HELPER: [&str; 4] = [
    "/usr/local/libexec/podman/netavark",
    "/usr/local/lib/podman/netavark",
    "/usr/libexec/podman/netavark",
    "/usr/lib/podman/netavark",
];

/// Where distributions keep the CNI plugins.
const CNI_FOLDERS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// Refuses a machine on which no testbed can run.
pub(crate) async fn check() -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "the testbed is made of Linux namespaces and this is not Linux; {INSTEAD}"
    );
    ensure!(
        rustix::process::geteuid().is_root(),
        "the testbed makes network namespaces, mounts and cgroups and so needs root: run it with sudo, or {INSTEAD}"
    );
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !systems.contains("\toverlay") {
        let loaded = Command::new("modprobe").arg("overlay").run().await;
        ensure!(
            loaded.is_ok(),
            "this kernel has no overlay file system, which containers need; {INSTEAD}"
        );
    }
    let namespaces = Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .run()
        .await;
    if let Err(error) = namespaces {
        bail!("this machine allows no network and mount namespaces ({error:#}); {INSTEAD}");
    }
    Ok(())
}

/// Installs the system's programs that are missing.
pub(crate) async fn install(progress: &Progress) -> Result<()> {
    let mut missing: Vec<_> = PROGRAMS
        .iter()
        .filter(|(program, _)| find_program(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    if cni_plugins().is_err() {
        missing.push("containernetworking-plugins");
    }
    if !NETWORK_HELPER
        .iter()
        .any(|path| fs::exists(path).unwrap_or(false))
    {
        missing.push("netavark");
    }
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(", ");
    ensure!(
        find_program("apt-get").is_some(),
        "these are missing and only Debian's package manager is known here: {packages}; install them and try again"
    );
    progress.say(&format!("installing Debian packages: {packages}"));
    let install = || {
        Command::new("sh")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-c", INSTALL, "install"])
            .args(&missing)
    };
    if install().run().await.is_err() {
        Command::new("apt-get")
            .args(["update", "-qq"])
            .run()
            .await
            .context("the package lists are out of reach")?;
        install()
            .run()
            .await
            .with_context(|| format!("these packages cannot be installed: {packages}"))?;
    }
    Ok(())
}

/// Installs packages while a policy of Debian's forbids to start services; the policy is removed unless it was there.
const INSTALL: &str = r#"
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get install -y -qq --no-install-recommends "$@" || exit
# Nor shall the next boot start what was installed for us alone.
case " $* " in *" containerd "*) systemctl disable containerd 2>/dev/null ;; esac
true
"#;

/// The folder that has the CNI plugins of the testbed's pod network.
pub(crate) fn cni_plugins() -> Result<&'static str> {
    let has_all = |folder: &&&str| {
        ["ptp", "host-local", "loopback"]
            .iter()
            .all(|plugin| fs::exists(format!("{folder}/{plugin}")).unwrap_or(false))
    };
    CNI_FOLDERS.iter().find(has_all).copied().with_context(|| {
        format!("the CNI plugins ptp, host-local and loopback are in none of {CNI_FOLDERS:?}")
    })
}
