//! The cgroup under which each node's kubelet keeps its pods, for both versions of the kernel's interface.
//!
//! Limits are the kubelet's business; this makes the place, ends what is left in it, and removes it.

use std::fs;
use std::os::linux::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::process::signal;
use super::wait;

const ROOT: &str = "/sys/fs/cgroup";

/// The controllers that the kubelet asks for, in the new interface.
const NEEDED: [&str; 6] = ["cpu", "cpuset", "hugetlb", "io", "memory", "pids"];

/// Makes the cgroup `name` with every controller that the kubelet needs.
pub(crate) fn make(name: &str) -> Result<()> {
    if unified() {
        let controllers = fs::read_to_string(format!("{ROOT}/cgroup.controllers"))?;
        for controller in controllers
            .split_whitespace()
            .filter(|controller| NEEDED.contains(controller))
        {
            fs::write(
                format!("{ROOT}/cgroup.subtree_control"),
                format!("+{controller}"),
            )
            .with_context(|| format!("the cgroup controller {controller} cannot be handed down"))?;
        }
        fs::create_dir_all(Path::new(ROOT).join(name))?;
        return Ok(());
    }
    for hierarchy in hierarchies(&["cgroup"])? {
        let folder = hierarchy.join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        // A cpuset without processors and memory takes no process; nothing is inherited by itself.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if let Ok(value) = fs::read(hierarchy.join(file)) {
                fs::write(folder.join(file), value)?;
            }
        }
    }
    Ok(())
}

/// Limits how often in a second the cgroup of a process writes to the disk that `folder` is on; none takes it away.
pub(crate) fn slow_disk(process: u32, folder: &Path, writes: Option<u32>) -> Result<()> {
    let cgroups = fs::read_to_string(format!("/proc/{process}/cgroup"))?;
    let device = fs::metadata(folder)?.st_dev();
    // As the kernel packs them into one number.
    let major = (device >> 8) & 0xfff;
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    let own = |controller: &str| {
        let lines = cgroups.lines().map(|line| line.splitn(3, ':').skip(1));
        let mut lines = lines.filter_map(|mut parts| Some((parts.next()?, parts.next()?)));
        let found =
            lines.find(|(controllers, _)| controllers.split(',').any(|one| one == controller));
        found.map(|(_, path)| path.trim_start_matches('/').to_owned())
    };
    let (file, limit) = if unified() {
        let path = own("").context("the process has no cgroup")?;
        let writes = writes.map_or_else(|| "max".to_owned(), |writes| writes.to_string());
        let file = Path::new(ROOT).join(path).join("io.max");
        (file, format!("{major}:{minor} wiops={writes}"))
    } else {
        let path = own("blkio").context("the process has no cgroup for its disks")?;
        let file = Path::new(ROOT).join("blkio").join(path);
        let writes = writes.unwrap_or_default();
        (
            file.join("blkio.throttle.write_iops_device"),
            format!("{major}:{minor} {writes}"),
        )
    };
    fs::write(&file, limit).with_context(|| format!("{} takes no limit", file.display()))
}

/// Ends what runs in the cgroup `name` and removes it.
pub(crate) async fn remove(name: &str) -> Result<()> {
    let everywhere = hierarchies(&["cgroup", "cgroup2"])?;
    let places: Vec<_> = everywhere
        .into_iter()
        .map(|hierarchy| hierarchy.join(name))
        .filter(|place| place.is_dir())
        .collect();
    wait::until(
        format!("the removal of cgroup {name}"),
        Duration::from_secs(20),
        async || {
            for place in &places {
                remove_tree(place)?;
            }
            Ok(())
        },
    )
    .await
}

/// A frozen process takes no signal in the old interface, so freezers are opened first.
fn remove_tree(place: &Path) -> Result<()> {
    if !place.is_dir() {
        return Ok(());
    }
    let _ = fs::write(place.join("freezer.state"), "THAWED");
    for entry in fs::read_dir(place)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path())?;
        }
    }
    let processes = fs::read_to_string(place.join("cgroup.procs")).unwrap_or_default();
    for pid in processes.lines().filter_map(|line| line.parse().ok()) {
        signal(pid, Signal::KILL)?;
    }
    if let Err(error) = fs::remove_dir(place) {
        bail!(
            "{} holds {} processes: {error}",
            place.display(),
            processes.lines().count()
        );
    }
    Ok(())
}

fn unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// The mounted hierarchies of these kinds: one for the new interface, one a controller for the old. Container runtimes
/// leave traces in a new one beside the old ones too.
fn hierarchies(kinds: &[&str]) -> Result<Vec<PathBuf>> {
    if unified() {
        return Ok(vec![PathBuf::from(ROOT)]);
    }
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let mut found: Vec<PathBuf> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (place, kind) = (words.nth(1)?, words.next()?);
            (kinds.contains(&kind) && place.starts_with(ROOT)).then(|| PathBuf::from(place))
        })
        .collect();
    found.sort();
    if found.is_empty() {
        bail!("no cgroup is mounted at {ROOT}; the kubelet needs them");
    }
    Ok(found)
}
