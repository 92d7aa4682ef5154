//! `binnacle plan`: what would be done about an edited cluster, step by step to the end, before anybody applies it.
//!
//! The present state is what the operator recorded last; the decisions are the sealed module's, and what becomes of them
//! is the simulator's to say. Changes nothing anywhere.

mod edit;
mod present;
mod risks;
mod steps;
mod text;

use std::path::PathBuf;

use anyhow::bail;
use contract::{Decision, Report, Snapshot};
use simulator::foresee;

use crate::module::{Engine, Module, cache_directory};
use crate::operator::Reach;
use crate::output::{self, Format};
use crate::run::runtime;
use edit::Edit;
use present::{Present, Whence};
use steps::Outlook;

/// Arguments of `binnacle plan`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing would be done, 2 something would be, 1 there is no plan or nothing of it can be done."
)]
pub struct PlanArgs {
    /// The edited EtcdCluster of either group, as YAML or JSON; - is standard input
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// Plan from the last decision in these recordings, a file or a folder, instead of from a living cluster
    #[arg(long, value_name = "PATH")]
    recording: Option<PathBuf>,
    /// The module that is asked; without it, the one that decides about the cluster
    #[arg(short, long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// The cluster's namespace; without it, that of the file or of the kubeconfig
    #[arg(short, long)]
    namespace: Option<String>,
    /// The operator's namespace; without it, that of the cluster
    #[arg(long, value_name = "NAMESPACE")]
    operator_namespace: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// How the plan is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What a plan comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing would be done.
    Nothing,
    /// Something would be done.
    Changes,
    /// It needs a person before anything can be done.
    Stuck,
}

/// Plans and prints.
///
/// # Errors
/// When the file, the cluster's state or the module cannot be had, the API server refuses the edit, or the module fails.
pub fn run(args: PlanArgs) -> anyhow::Result<Verdict> {
    let PlanArgs {
        filename,
        recording,
        module,
        namespace,
        operator_namespace,
        reach,
        output,
    } = args;
    let edit = Edit::read(&filename, namespace)?;
    let whence = match recording {
        Some(path) => Whence::Recording(path),
        None => Whence::Operator {
            reach,
            namespace: operator_namespace,
        },
    };
    let present = runtime()?.block_on(Present::find(whence, edit, module.as_deref()))?;
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let module = Module::load(&engine, &present.module)?;
    let outlook = outlook(&module, &present)?;
    match output {
        Format::Text => output::print(text::text(&outlook))?,
        Format::Json => output::print_json(&outlook)?,
    }
    Ok(outlook.verdict())
}

fn outlook(module: &Module, present: &Present) -> anyhow::Result<Outlook> {
    let mut failure = None;
    let mut decide = |snapshot: &Snapshot| match decided(module, snapshot) {
        Ok(decision) => decision,
        Err(error) => {
            failure.get_or_insert(error);
            nothing()
        }
    };
    let foresight = foresee(&present.snapshot, &mut decide);
    if let Some(failure) = failure {
        return Err(failure.context("the module does not decide"));
    }
    match foresight {
        Ok(foresight) => Ok(Outlook::of(module, present, &foresight)),
        Err(why) => bail!("nothing can be foreseen from the present state: {why}"),
    }
}

fn decided(module: &Module, snapshot: &Snapshot) -> anyhow::Result<Decision> {
    Ok(module.decide(&serde_json::to_vec(snapshot)?)?.decision)
}

/// For going on to the end that the failure has made already.
const fn nothing() -> Decision {
    Decision {
        schema: contract::SCHEMA,
        actions: Vec::new(),
        requeue: None,
        report: Report {
            findings: Vec::new(),
        },
    }
}
