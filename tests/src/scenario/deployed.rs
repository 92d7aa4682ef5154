//! The operator in a pod of the scenario's namespace, as the manifests install it.

use std::time::Duration;

use anyhow::Result;
use manifests::Installation;

use super::{OPERATOR, Scenario, Suite};
use crate::operator::{self, Build};
use crate::testbed::Progress;

/// How long its pod may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(180);

/// An installation of the very program and module that the suite runs.
pub struct Deployed {
    suite: Suite,
    installation: Installation,
}

impl Scenario {
    /// Ends the operator that runs as a process, and installs it in its place; ready when this returns.
    pub async fn deploy(&mut self) -> Result<Deployed> {
        self.stop_operator().await?;
        let deployed = Deployed {
            suite: self.suite().clone(),
            installation: Installation {
                namespace: self.namespace().to_owned(),
                image: self.load_build().await?,
            },
        };
        deployed.install().await?;
        Ok(deployed)
    }

    /// Takes an image of the suite's program and module into the nodes, and answers its name.
    pub async fn load_build(&self) -> Result<String> {
        let suite = self.suite();
        let (program, module) = (
            suite.programs.program.clone(),
            suite.programs.module.clone(),
        );
        let build = Build::of(program, module, self.folder())?;
        let archive = build.archive(&Progress::silent()).await?;
        suite.testbed.load_image(archive).await?;
        Ok(build.image.clone())
    }

    /// Removes the Deployment, and with it the operator.
    pub async fn undeploy(&self) -> Result<()> {
        self.kubectl(&["delete", "deployment", OPERATOR])
            .await
            .map(drop)
    }
}

impl Deployed {
    /// Applies the manifests and waits until it is ready.
    pub async fn install(&self) -> Result<()> {
        operator::install(&self.suite.kubectl()?, &self.installation).await?;
        self.ready().await
    }

    /// Waits until it is ready.
    pub async fn ready(&self) -> Result<()> {
        let Installation { namespace, image } = &self.installation;
        operator::ready(&self.suite.testbed.client(), namespace, image, PATIENCE).await
    }
}
