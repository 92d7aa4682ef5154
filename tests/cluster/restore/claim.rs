//! A volume claim as a store: mounted into the operator as the documents say, it takes backups, proves them and gives them
//! back.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Result, ensure};
use contract::{EtcdBackupStatus, GROUP, VERSION, names};
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::PATIENCE;
use super::stores::born;
use crate::backup::{self, KEY, LARGE, apply, is_that_file};

const CLAIM: &str = "backups";

pub(crate) async fn from_claim(scenario: &mut Scenario) -> Result<()> {
    let folder = scenario.folder().join("claim");
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, Permissions::from_mode(0o777))?;
    let volume = format!("{}-backups", scenario.namespace());
    let claim = claim(&volume);
    apply(scenario, &persistent(&volume, &folder)).await?;
    apply(scenario, &claim).await?;
    let tried = taken_proven_restored(scenario, &folder, claim).await;
    scenario
        .kubectl(&["delete", "persistentvolume", &volume, "--wait=false"])
        .await?;
    tried
}

async fn taken_proven_restored(scenario: &mut Scenario, folder: &Path, claim: Value) -> Result<()> {
    let deployed = scenario.deploy().await?;
    let path = format!("{CLAIM}/waits");
    let early = scenario
        .create_healthy("early", spec::on_volumes(1))
        .await?;
    early.etcd().await?.put("key", "value").await?;
    let wanted = |cluster: &str, path: &str, policy: Value| {
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
            "metadata": {"name": path.rsplit('/').next()},
            "spec": {
                "clusterRef": {"name": cluster}, "storageType": "PVC", "pvc": {"path": path},
                "backupPolicy": policy,
            },
        })
    };
    apply(
        scenario,
        &wanted("early", &path, json!({"timeoutInSecond": 600})),
    )
    .await?;
    says(scenario, "waits", "Mount it there into the operator").await?;

    let mount = format!("{}/{}/{CLAIM}", names::CLAIMS_MOUNT, scenario.namespace());
    let patch = json!({"spec": {"template": {"spec": {
        "containers": [{"name": "binnacle", "volumeMounts": [{"name": CLAIM, "mountPath": mount}]}],
        "volumes": [{"name": CLAIM, "persistentVolumeClaim": {"claimName": CLAIM}}],
    }}}});
    scenario
        .kubectl(&[
            "patch",
            "deployment",
            "binnacle",
            "--patch",
            &patch.to_string(),
        ])
        .await?;
    scenario
        .kubectl(&["rollout", "status", "deployment/binnacle", "--timeout=120s"])
        .await?;
    deployed.ready().await?;

    let block = json!({"pvc": {"path": format!("{CLAIM}/{KEY}")}});
    born(scenario, ("PVC", block, claim), LARGE).await?;
    let once = backup::status(scenario, "once").await?;
    is_that_file(&folder.join(KEY), &once).await?;
    // What waited for the claim went on by itself once it was there.
    let waited = backup::succeeded(scenario, "waits").await?;
    is_that_file(&folder.join("waits"), &waited).await?;

    let periodic = json!({"backupIntervalInSecond": 5, "maxBackups": 2, "verify": "restore"});
    apply(
        scenario,
        &wanted("plain", &format!("{CLAIM}/again"), periodic),
    )
    .await?;
    let proven = wait::until("a rehearsal", PATIENCE * 2, async || {
        let status = backup::status(scenario, "again").await?;
        let restores = status.restores.clone().unwrap_or_default();
        ensure!(restores.starts_with("yes, "), "it says {restores:?}");
        Ok(restores)
    })
    .await?;
    eprintln!("  again: {proven}");
    let listed = scenario
        .kubectl(&[
            "exec",
            "deployment/binnacle",
            "--",
            names::OPERATOR_PROGRAM,
            "backup",
            "ls",
            "again",
            "--namespace",
            scenario.namespace(),
        ])
        .await?;
    ensure!(listed.contains("again_v"), "listed are {listed}");
    wait::until("two of them to be kept", PATIENCE, async || {
        let mut kept = 0;
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            kept += usize::from(name.starts_with("again_v"));
        }
        ensure!(kept == 2, "{kept} are kept");
        Ok(())
    })
    .await?;
    let half = fs::read_dir(folder.join(".unfinished"))?.count();
    ensure!(half <= 2, "{half} things are half-written");
    Ok(())
}

/// A folder of this machine, which all nodes are on.
fn persistent(name: &str, folder: &Path) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
            "hostPath": {"path": folder, "type": "Directory"},
        },
    })
}

fn claim(volume: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM},
        "spec": {
            "accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

async fn says(scenario: &Scenario, name: &str, words: &str) -> Result<()> {
    wait::until(
        format!("backup {name} to say {words:?}"),
        PATIENCE,
        async || {
            let EtcdBackupStatus { conditions, .. } = backup::status(scenario, name).await?;
            let said = conditions.iter().any(|one| one.message.contains(words));
            ensure!(said, "it says {conditions:?}");
            Ok(())
        },
    )
    .await
}
