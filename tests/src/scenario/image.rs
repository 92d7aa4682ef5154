//! The operator's image on the nodes, for scenarios whose pods run it.

use anyhow::{Result, ensure};
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::{OPERATOR_IMAGE, Scenario, Suite};
use crate::testbed::{Progress, images};

impl Scenario {
    /// Loads the image once for all scenarios.
    pub async fn load_operator(&self) -> Result<()> {
        static LOADED: OnceCell<()> = OnceCell::const_new();
        let load = async || load(self.suite()).await;
        LOADED.get_or_try_init(load).await.map(drop)
    }
}

async fn load(suite: &Suite) -> Result<()> {
    let archive = suite.folder.join("operator.tar");
    // The image is for its program alone; what a debugger wants would make it ten times as large.
    let stripped = suite.folder.join("binnacle-stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&stripped)
        .arg(&suite.programs.program)
        .status()
        .await?;
    ensure!(strip.success(), "the program cannot be stripped");
    let progress = Progress::silent();
    images::operator(OPERATOR_IMAGE, &stripped, &[], &archive, &progress).await?;
    suite.testbed.load_image(&archive).await
}
