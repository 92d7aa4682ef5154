//! Local volumes: made in advance on every node, and made empty and available again when their claim is gone.
//!
//! A real cluster has a provisioner for that; here [`recycle`] runs as a process of the testbed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::{TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::connect;
use super::control_plane::apply;
use super::layout::{Layout, NODES};
use super::process::{Daemon, run_inside};

/// A kind of volume.
struct Class {
    name: &'static str,
    per_node: u8,
    capacity: &'static str,
    /// The size at which it is really full; others end with this machine's disk.
    limit: Option<&'static str>,
}

/// The default class, one that lets volumes grow, and one whose volumes can be filled up: etcd's log takes 64 MiB at once.
const CLASSES: [Class; 3] = [
    Class {
        name: "local",
        per_node: 12,
        capacity: "1Gi",
        limit: None,
    },
    Class {
        name: "local-growing",
        per_node: 2,
        capacity: "1Gi",
        limit: None,
    },
    Class {
        name: SMALL,
        per_node: 2,
        capacity: "160Mi",
        limit: Some("160m"),
    },
];

/// The class of volumes that can be filled up.
pub(crate) const SMALL: &str = "local-small";

/// Says on which node a volume lies.
const NODE: &str = "testbed.binnacle/node";

/// Makes every node's volumes.
pub(crate) async fn make(layout: &Layout) -> Result<()> {
    let mut objects = Vec::new();
    for node in 1..=NODES {
        for class in &CLASSES {
            for number in 1..=class.per_node {
                objects.push(make_one(layout, node, class, number).await?);
            }
        }
    }
    apply(
        layout,
        &json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string(),
    )
    .await
}

async fn make_one(layout: &Layout, node: u8, class: &Class, number: u8) -> Result<Value> {
    let folder = layout
        .node_folder(node)
        .join("volumes")
        .join(format!("{}-{number:02}", class.name));
    fs::create_dir_all(&folder)?;
    open_to_all(&folder)?;
    if let Some(limit) = class.limit {
        let anchor = layout
            .anchor(node)
            .pid()
            .context("the node has lost its namespaces")?;
        let options = format!("size={limit},mode=0777");
        run_inside(anchor)
            .args(["mount", "-t", "tmpfs", "-o", &options, "testbed"])
            .arg(&folder)
            .run()
            .await?;
    }
    let node_name = Layout::node_name(node);
    Ok(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": format!("{node_name}-{}-{number:02}", class.name),
            "labels": {NODE: node.to_string()},
        },
        "spec": {
            "capacity": {"storage": class.capacity},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": class.name,
            "volumeMode": "Filesystem",
            "local": {"path": folder},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]},
            ]}]}},
        },
    }))
}

/// Users of pods differ and no one else comes here.
fn open_to_all(folder: &Path) -> Result<()> {
    Ok(fs::set_permissions(
        folder,
        fs::Permissions::from_mode(0o777),
    )?)
}

/// The recycler as a process of the testbed.
pub(crate) fn recycler(layout: &Layout) -> Daemon {
    layout.daemon("volume-recycler")
}

/// Starts the recycler unless it runs.
pub(crate) async fn start_recycler(layout: &Layout) -> Result<()> {
    let daemon = recycler(layout);
    if daemon.pid().is_none() {
        daemon.start(&recycler_command(layout)?).await?;
    }
    Ok(())
}

/// The command of the recycler: this program if it is the testbed's own, else the one that cargo built beside it.
fn recycler_command(layout: &Layout) -> Result<Vec<String>> {
    let this = std::env::current_exe()?;
    let program = this
        .ancestors()
        .skip(1)
        .take(3)
        .map(|folder| folder.join("testbed"))
        .find(|program| program.is_file())
        .context(
            "the program `testbed` is not beside this one; build it with `cargo build -p tests`",
        )?;
    // A copy stays what it is when cargo builds again.
    let copy = layout.state().join("volume-recycler");
    let _ = fs::remove_file(&copy);
    fs::copy(&program, &copy).with_context(|| format!("{} cannot be copied", program.display()))?;
    let command = [
        &copy.display().to_string(),
        "recycle-volumes",
        "--name",
        layout.name(),
    ];
    Ok(command.map(str::to_owned).to_vec())
}

/// Watches the volumes of a testbed for ever and makes each Released one empty and Available again.
pub async fn recycle(name: &str) -> Result<()> {
    let layout = Layout::new(name)?;
    let volumes: Api<PersistentVolume> = Api::all(connect(&layout.kubeconfig()).await?);
    let changes = watcher(volumes.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects();
    pin_mut!(changes);
    loop {
        match changes.try_next().await {
            Ok(Some(volume)) => {
                if let Err(error) = recycle_one(&layout, &volumes, &volume).await {
                    eprintln!("{} stays Released: {error:#}", volume.name_any());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => eprintln!("The watch of volumes broke and begins again: {error:#}"),
        }
    }
}

async fn recycle_one(
    layout: &Layout,
    volumes: &Api<PersistentVolume>,
    volume: &PersistentVolume,
) -> Result<()> {
    if !is_released(volume) {
        return Ok(());
    }
    // The change may be old, and the volume someone else's by now. Released it stays until we free it.
    let volume = volumes.get(&volume.name_any()).await?;
    if !is_released(&volume) {
        return Ok(());
    }
    let Some(folder) = folder(layout, &volume)? else {
        return Ok(());
    };
    empty(&folder)?;
    open_to_all(&folder)?;
    // The version makes sure that this is still the claim whose end was seen.
    let class = CLASSES.iter().find(|class| {
        let spec = volume.spec.as_ref();
        spec.and_then(|spec| spec.storage_class_name.as_deref()) == Some(class.name)
    });
    let mut freed = json!({
        "metadata": {"resourceVersion": volume.metadata.resource_version},
        "spec": {"claimRef": null},
    });
    if let Some(class) = class {
        freed["spec"]["capacity"] = json!({"storage": class.capacity});
    }
    match volumes
        .patch(
            &volume.name_any(),
            &PatchParams::default(),
            &Patch::Merge(&freed),
        )
        .await
    {
        // Somebody changed it since; the watch brings that change too.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => {
            eprintln!("Recycled {}", volume.name_any());
            Ok(())
        }
    }
}

fn is_released(volume: &PersistentVolume) -> bool {
    let claimed = volume
        .spec
        .as_ref()
        .is_some_and(|spec| spec.claim_ref.is_some());
    let phase = volume
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    claimed && phase == Some("Released")
}

/// The folder of a volume of ours, as its node sees it: what is mounted there is mounted only there.
fn folder(layout: &Layout, volume: &PersistentVolume) -> Result<Option<PathBuf>> {
    let Some(node) = volume.labels().get(NODE) else {
        return Ok(None);
    };
    let local = volume.spec.as_ref().and_then(|spec| spec.local.as_ref());
    let Some(local) = local else { return Ok(None) };
    let anchor = layout
        .anchor(node.parse()?)
        .pid()
        .with_context(|| format!("node {node} has lost its namespaces"))?;
    Ok(Some(PathBuf::from(format!(
        "/proc/{anchor}/root{}",
        local.path
    ))))
}

/// The folder on this machine that holds what the claim's pod writes.
pub(crate) async fn folder_of_claim(
    layout: &Layout,
    client: &Client,
    namespace: &str,
    claim: &str,
) -> Result<PathBuf> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let volume = claims
        .get(claim)
        .await?
        .spec
        .and_then(|spec| spec.volume_name);
    let volume =
        volume.with_context(|| format!("claim {namespace}/{claim} is bound to no volume"))?;
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let found = folder(layout, &volumes.get(&volume).await?)?;
    found.with_context(|| format!("{volume} is no volume of the testbed"))
}

/// Removes everything in a folder, but not the folder.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        if let Err(error) = removed
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Writes zeros into a folder until its file system is full.
pub(crate) fn fill(folder: &Path) -> Result<()> {
    use std::io::Write;
    let mut file = fs::File::create(folder.join("filler"))?;
    let zeros = vec![0_u8; 1 << 16];
    loop {
        match file.write_all(&zeros) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
