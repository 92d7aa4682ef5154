//! The operator as it is shipped: built for release, put into an image with its module, installed by its manifests.
//!
//! Knows nothing of what it does once it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use manifests::Installation;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::cargo;
use crate::kubectl::Kubectl;
use crate::pods;
use crate::testbed::{Progress, images, wait};

/// Where the image has the sealed module.
const MODULE_IN_IMAGE: &str = "/usr/share/binnacle/reconciler.wasm";
/// Name of the Deployment.
const NAME: &str = "binnacle";

/// The operator's parts, built.
#[derive(Clone, Debug)]
pub struct Build {
    /// The program.
    pub program: PathBuf,
    /// The sealed module.
    pub module: PathBuf,
    /// The image's name. Its tag follows from what is in it, so that a change is always rolled out.
    pub image: String,
    /// Where the image's archive is, or will be.
    archive: PathBuf,
}

impl Build {
    /// Builds program and module; cargo tells its progress itself.
    pub async fn make() -> Result<Self> {
        let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
        let (root, target) = (metadata.workspace_root, metadata.target_directory);
        let build = [
            "build",
            "--release",
            "--package",
            "host",
            "--bin",
            "binnacle",
        ];
        let cargo = Command::from(cargo::command("cargo"))
            .args(build)
            .current_dir(&root)
            .stdin(Stdio::null())
            .status()
            .await?;
        ensure!(
            cargo.success(),
            "the operator does not build; cargo said why"
        );
        let target = target.into_std_path_buf();
        let program = target.join("release/binnacle");
        // The program that was just built seals the module, so nothing is built twice.
        let seal = format!("BINNACLE={}", program.display());
        let make = Command::from(cargo::command("make"))
            .args(["--no-print-directory", "wasm", &seal])
            .current_dir(&root)
            .stdin(Stdio::null())
            .status()
            .await?;
        ensure!(
            make.success(),
            "the sealed module does not build; cargo said why"
        );

        let module = target.join("reconciler.wasm");
        Self::of(program, module, &target)
    }

    /// Takes parts that are built; the image's archive goes into `folder`.
    pub fn of(program: PathBuf, module: PathBuf, folder: &Path) -> Result<Self> {
        let tag = digest(&[&program, &module])?;
        let archive = folder.join(format!("binnacle-{tag}.tar"));
        Ok(Self {
            program,
            module,
            image: format!("{NAME}:{tag}"),
            archive,
        })
    }

    /// The archive of the image, built unless that was done before.
    pub async fn archive(&self, progress: &Progress) -> Result<&Path> {
        if !self.archive.exists() {
            self.archive_as(&self.image, &self.archive, progress)
                .await?;
        }
        Ok(&self.archive)
    }

    /// Builds the image under another name into another archive.
    pub async fn archive_as(&self, image: &str, archive: &Path, progress: &Progress) -> Result<()> {
        images::operator(
            image,
            &self.program,
            &[(&self.module, MODULE_IN_IMAGE)],
            archive,
            progress,
        )
        .await
    }
}

/// A short name for the content of the files.
fn digest(files: &[&Path]) -> Result<String> {
    let mut hash = Sha256::new();
    for file in files {
        hash.update(fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?);
    }
    Ok(hash
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Applies the manifests.
pub async fn install(kubectl: &Kubectl, installation: &Installation) -> Result<()> {
    let yaml = manifests::yaml(&manifests::objects(installation)?)?;
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--filename",
        "-",
    ];
    kubectl.run_with_input(&apply, &yaml).await?;
    kubectl
        .run(&[
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "crd/etcdclusters.etcd.database.coreos.com",
            "crd/reconcilermodules.etcd.database.coreos.com",
        ])
        .await?;
    Ok(())
}

/// Waits until the Deployment runs `image` and is ready. Ends early when its container ends again and again.
pub async fn ready(client: &Client, namespace: &str, image: &str, within: Duration) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let all: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/name={NAME}"));
    let look = async || {
        let found = deployments.get(NAME).await?;
        let generation = found.metadata.generation;
        let runs = found
            .spec
            .and_then(|spec| spec.template.spec)
            .into_iter()
            .flat_map(|spec| spec.containers);
        ensure!(
            runs.into_iter()
                .any(|container| container.image.as_deref() == Some(image)),
            "it runs another image"
        );
        let status = found.status.unwrap_or_default();
        ensure!(
            status.observed_generation == generation,
            "the Deployment was not looked at yet"
        );
        if status.updated_replicas == Some(1) && status.ready_replicas == Some(1) {
            return Ok(Ok(()));
        }
        let pods = all.list(&ours).await?.items;
        let runs_it = |pod: &&Pod| {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            containers
                .into_iter()
                .any(|one| one.image.as_deref() == Some(image))
        };
        let Some(pod) = pods.iter().find(runs_it) else {
            bail!("it has no pod yet");
        };
        match pods::last_words(pod) {
            Some(words) => Ok(Err(anyhow!(
                "the operator does not start in the pod {}: {words}",
                pod.name_any()
            ))),
            None => bail!("its pod is {}", pods::state(pod)),
        }
    };
    wait::until("the operator's readiness", within, look).await?
}
