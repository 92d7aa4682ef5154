//! The Kubernetes that the tour stands on: the testbed, or whatever KUBECONFIG names.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tests::kubectl::Kubectl;
use tests::operator::Build;
use tests::testbed::tools::Tool;
use tests::testbed::{Progress, Testbed, default_name};

/// Where the operator and the example go.
pub(crate) const NAMESPACE: &str = "default";

/// A cluster and the ways to reach it.
pub(crate) struct Ground {
    kubectl: Kubectl,
    client: Client,
    kind: Kind,
}

enum Kind {
    /// Three nodes on this machine, made by us.
    Own(Box<Testbed>),
    /// Somebody's cluster, which pulls this image by itself.
    Foreign { image: String },
}

impl Ground {
    /// Finds the cluster that KUBECONFIG names, else brings the testbed up.
    pub(crate) async fn find() -> Result<Self> {
        let named = env::var_os("KUBECONFIG").filter(|path| !path.is_empty());
        let own = Testbed::find(&default_name())
            .await
            .ok()
            .flatten()
            .map(|testbed| testbed.kubeconfig());
        match named {
            // Whoever follows the tour's last words has the testbed's own file there.
            Some(named) if own.is_none_or(|own| own.as_os_str() != named) => Self::foreign().await,
            Some(_) | None => Self::own().await,
        }
    }

    async fn own() -> Result<Self> {
        let progress = Progress::on_stderr();
        let testbed = Testbed::up(&default_name(), &progress).await?;
        progress.finish("  up");
        let kubectl = Kubectl {
            program: testbed.kubectl()?,
            kubeconfig: Some(testbed.kubeconfig()),
        };
        Ok(Self {
            kubectl,
            client: testbed.client(),
            kind: Kind::Own(Box::new(testbed)),
        })
    }

    async fn foreign() -> Result<Self> {
        let image = env::var("IMAGE").unwrap_or_default();
        ensure!(
            !image.is_empty(),
            "KUBECONFIG is set, so that cluster is used, and it must be able to pull the operator's image. `make image` \
             builds it into an archive; push or load that (kind load image-archive target/binnacle.tar) and say its name: \
             IMAGE=binnacle:dev make run. Or unset KUBECONFIG, and a Kubernetes is started here."
        );
        let client = named().await?;
        let version = client
            .apiserver_version()
            .await
            .map_err(anyhow::Error::from)
            .map_err(|error| {
                let cause = error.root_cause();
                anyhow!("the cluster of KUBECONFIG does not answer: {cause}")
            })?;
        println!("  Kubernetes {} answers", version.git_version);
        let kubectl = Kubectl {
            program: kubectl().await?,
            kubeconfig: None,
        };
        Ok(Self {
            kubectl,
            client,
            kind: Kind::Foreign { image },
        })
    }

    /// The operator's image, where the nodes of this cluster find it.
    pub(crate) async fn image(&self) -> Result<String> {
        match &self.kind {
            Kind::Own(testbed) => {
                let build = Build::make().await?;
                let progress = Progress::on_stderr();
                let archive = build.archive(&progress).await?;
                testbed.load_image(archive).await?;
                progress.finish("  built and on the nodes");
                Ok(build.image)
            }
            Kind::Foreign { image } => Ok(image.clone()),
        }
    }

    pub(crate) fn title(&self) -> String {
        match &self.kind {
            Kind::Own(testbed) => format!("three nodes on this machine, called {}", testbed.name()),
            Kind::Foreign { .. } => "the one that KUBECONFIG names".to_owned(),
        }
    }

    pub(crate) const fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether `make stop` removes it.
    pub(crate) const fn is_own(&self) -> bool {
        match self.kind {
            Kind::Own(_) => true,
            Kind::Foreign { .. } => false,
        }
    }
}

/// A client of the cluster that KUBECONFIG names. What kube says of an error has its sources in it.
async fn named() -> Result<Client> {
    let unusable = |error: KubeconfigError| anyhow!("KUBECONFIG cannot be used: {error}");
    let found = Kubeconfig::from_env().map_err(unusable)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(found.unwrap_or_default(), &options).await;
    Ok(Client::try_from(config.map_err(unusable)?)?)
}

/// The system's kubectl, else one of our own.
async fn kubectl() -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path)
        .map(|folder| folder.join("kubectl"))
        .find(|program| program.is_file())
    {
        Some(program) => Ok(program),
        None => Ok(Tool::parse("kubernetes-1.36.3")?
            .ensure(&Progress::on_stderr())
            .await?
            .join("kubectl")),
    }
}
