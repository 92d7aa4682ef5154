//! Makes a scenario a test: gives it its namespace and operator, keeps the evidence of its failure, ends both.
//!
//! Knows no scenario.

use std::time::Instant;

use anyhow::{Context, Result};
use contract::Dialect;
use libtest_mimic::{Failed, Trial};
use tests::scenario::{Scenario, Suite};
use tokio::runtime::{Handle, Runtime};

/// Makes tests on what a suite shares. Without a suite they can only be listed.
pub(crate) struct Scenarios {
    runtime: Handle,
    suite: Option<Suite>,
}

impl Scenarios {
    pub(crate) fn new(runtime: &Runtime, suite: Option<&Suite>) -> Self {
        Self {
            runtime: runtime.handle().clone(),
            suite: suite.cloned(),
        }
    }

    /// A test with a namespace and, unless it ends it, an operator of its own.
    pub(crate) fn trial<Body>(&self, name: &'static str, body: Body) -> Trial
    where
        Body: AsyncFnOnce(&mut Scenario) -> Result<()> + Send + 'static,
    {
        self.trial_in(Dialect::Coreos, name, body)
    }

    /// As [`Self::trial`], with clusters that are written in this dialect.
    pub(crate) fn trial_in<Body>(&self, dialect: Dialect, name: &'static str, body: Body) -> Trial
    where
        Body: AsyncFnOnce(&mut Scenario) -> Result<()> + Send + 'static,
    {
        self.plain(name, async move |suite: &Suite| {
            let started = Instant::now();
            let mut scenario = Scenario::prepare(suite, name).await?.in_dialect(dialect);
            let ended = run(&mut scenario, body).await;
            eprintln!("{name}: {} s", started.elapsed().as_secs());
            let Err(error) = ended else { return Ok(()) };
            let evidence = scenario.keep_evidence().await;
            // The first failure is the one to tell; this only writes the recordings.
            let _ = scenario.stop_operator().await;
            Err(error.context(format!("evidence in {}", evidence.display())))
        })
    }

    /// A test on what the others left.
    pub(crate) fn plain<Body>(&self, name: &'static str, body: Body) -> Trial
    where
        Body: AsyncFnOnce(&Suite) -> Result<()> + Send + 'static,
    {
        let (runtime, suite) = (self.runtime.clone(), self.suite.clone());
        Trial::test(name, move || {
            let suite = suite.context("nothing was prepared").map_err(failed)?;
            runtime.block_on(body(&suite)).map_err(failed)
        })
    }
}

async fn run(
    scenario: &mut Scenario,
    body: impl AsyncFnOnce(&mut Scenario) -> Result<()>,
) -> Result<()> {
    scenario.start_operator().await?;
    body(scenario).await?;
    scenario.stop_operator().await
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
fn failed(error: anyhow::Error) -> Failed {
    format!("{error:#}").into()
}
