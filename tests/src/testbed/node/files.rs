//! The configuration files of a node's containerd, CNI plugins and kubelet.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::testbed::images::PAUSE;
use crate::testbed::layout::{Block, Layout};

/// Writes all of them.
pub(super) fn write(layout: &Layout, block: Block, number: u8, cni_plugins: &str) -> Result<()> {
    let folder = layout.node_folder(number);
    for part in [
        "cni",
        "kubelet",
        "pod-logs",
        "volumes",
        "certificates",
        "registries",
    ] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(
        folder.join("containerd.toml"),
        containerd(&folder, cni_plugins),
    )?;
    fs::write(
        folder.join("cni/10-pods.conflist"),
        serde_json::to_vec_pretty(&pod_network(&folder, block, number))?,
    )?;
    fs::write(
        folder.join("kubelet.yaml"),
        serde_json::to_vec_pretty(&kubelet(layout, block, number))?,
    )?;
    // Pods search cluster names only; this machine's own name servers are not theirs.
    fs::write(folder.join("resolv.conf"), "")?;
    Ok(())
}

/// `restrict_oom_score_adj`: without CAP_SYS_RESOURCE every sandbox would fail. The namespaces of pods lie in the node's
/// folder, since a mount over the shared /run/netns would trouble other containers of this machine.
fn containerd(folder: &Path, cni_plugins: &str) -> String {
    let folder = folder.display();
    format!(
        r#"version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
oom_score = 0
disabled_plugins = [
  "io.containerd.internal.v1.tracing",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "{folder}/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_plugins}"
    conf_dir = "{folder}/cni"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{folder}/registries"
"#
    )
}

/// A link of its own for each pod, so that traffic between two pods of a node passes the node's routing too: a Service
/// would not answer its own neighbours over a bridge.
fn pod_network(folder: &Path, block: Block, number: u8) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "dataDir": folder.join("addresses"),
                "ranges": [[{"subnet": block.pods_of(number)}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

fn kubelet(layout: &Layout, block: Block, number: u8) -> Value {
    let (folder, pki, name) = (
        layout.node_folder(number),
        layout.pki(),
        Layout::node_name(number),
    );
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": block.node(number),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": pki.join("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": pki.join(format!("{name}.crt")),
        "tlsPrivateKeyFile": pki.join(format!("{name}.key")),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", layout.cgroup(number)),
        "clusterDNS": [block.dns_service()],
        "clusterDomain": "cluster.local",
        "resolvConf": folder.join("resolv.conf"),
        "containerRuntimeEndpoint": format!("unix://{}", folder.join("containerd.sock").display()),
        "podLogsDir": folder.join("pod-logs"),
        "volumePluginDir": folder.join("volume-plugins"),
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "makeIPTablesUtilChains": false,
        "oomScoreAdj": 0,
        // The disk belongs to someone else: its filling up must neither evict pods nor remove images.
        "evictionHard": {
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
            "memory.available": "1Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": false,
        "nodeStatusUpdateFrequency": "5s",
        "nodeLeaseDurationSeconds": 20,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
        "eventRecordQPS": 0,
    })
}
