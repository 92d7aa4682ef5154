//! The command line: verbs, what they need, and the exit code each answer stands for.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde::Serialize;

use crate::backup::Passing;
use crate::backups::{self, GetArgs, ListArgs, RestoreArgs, VerifyArgs};
use crate::convert::{self, ConvertArgs};
use crate::error::Chain;
use crate::explain::{self, ExplainArgs};
use crate::inspect::{InspectArgs, inspect};
use crate::member::{self, FetchArgs, PlaceArgs, WitnessArgs};
use crate::module::{self, digest};
use crate::modules::{self, DiffArgs, PackArgs, PushArgs};
use crate::output::{self, Format};
use crate::plan::{self, PlanArgs};
use crate::record::{self, CheckArgs, CutArgs, PullArgs};
use crate::registry;
use crate::replay::{self, ReplayArgs, Verdict};
use crate::run::{self, RunArgs};

/// As expected.
const AS_EXPECTED: u8 = 0;
/// A decision differs, or what must not be there was found.
const DIFFERS: u8 = 1;
/// Something could not be read or was refused.
const REFUSED: u8 = 2;
/// Another attempt may go better, as sysexits.h has it.
pub(crate) const TRY_AGAIN: u8 = 75;
/// Of a plan: something would be done.
const CHANGES: u8 = 2;
/// Of a plan: there is none, or nothing of it can be done.
const NO_PLAN: u8 = 1;

/// Runs etcd clusters on Kubernetes. What is done is decided by a sealed WebAssembly module.
#[derive(Debug, Parser)]
#[command(
    name = "binnacle",
    version,
    propagate_version = true,
    about,
    after_help = "Exit codes: 0 as expected, 1 differs or found, 2 unreadable or refused."
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the operator
    // Else `-version`, a flag of the archived operator, is answered with another name.
    #[command(display_name = "binnacle")]
    Run(Box<RunArgs>),
    /// Decide recorded snapshots again, with no cluster, and say whether each decision is equal
    Replay(ReplayArgs),
    /// Tell what would be done about an edited cluster, step by step, and change nothing
    Plan(Box<PlanArgs>),
    /// Tell in words what is done about a living cluster and what is waited for, or a recorded decision; or list them
    Explain(Box<ExplainArgs>),
    /// Print the objects of one of the two dialects in the other one, and say what cannot be carried over
    Convert(ConvertArgs),
    /// Take recordings out of an operator, cut a file out of them, prove that no secret is in one
    #[command(subcommand)]
    Record(RecordVerb),
    /// List, fetch, prove and restore the stored backups of an EtcdBackup
    #[command(subcommand)]
    Backup(BackupVerb),
    /// Look at and make reconciler modules
    #[command(subcommand)]
    Module(ModuleVerb),
    /// Fill the disk of a member from a backup, and say what it holds, in its pod
    #[command(subcommand, hide = true)]
    Member(MemberVerb),
}

#[derive(Debug, Subcommand)]
enum MemberVerb {
    /// Fetch a proven backup onto the disk
    Fetch(FetchArgs),
    /// Put the data folder that etcd's tool made into its place
    Place(PlaceArgs),
    /// Say what the etcd of this pod holds
    Witness(WitnessArgs),
}

#[derive(Debug, Subcommand)]
enum RecordVerb {
    /// Take recordings and modules out of a running operator, through the API server
    Pull(PullArgs),
    /// Write the decisions of one cluster and time into one file, with the modules that made them
    Cut(CutArgs),
    /// Prove that no Secret data is in recordings
    Check(CheckArgs),
}

#[derive(Debug, Subcommand)]
enum BackupVerb {
    /// List what is stored, the newest last
    Ls(ListArgs),
    /// Write a backup into a file, for etcd's own tools
    Get(GetArgs),
    /// Read a backup whole and say what etcd would find in it
    Verify(VerifyArgs),
    /// Let a cluster go on from a backup, and follow it
    Restore(RestoreArgs),
}

#[derive(Debug, Subcommand)]
enum ModuleVerb {
    /// Show a module's digest, size, imports, exports and what it says of itself
    Inspect(InspectArgs),
    /// Make a module of a core module that was built for wasm32-unknown-unknown
    Seal(SealArgs),
    /// Print a module as a ConfigMap and a ReconcilerModule
    Pack(PackArgs),
    /// Push a module to an OCI registry and print the ReconcilerModule that names it there
    Push(PushArgs),
    /// Tell in which ways a Shadow differs from the module that decides
    Diff(DiffArgs),
    /// Compile a module from standard input into the cache
    #[command(hide = true)]
    Compile(CompileArgs),
    /// Answer a question on standard input about a module in an OCI registry
    #[command(hide = true)]
    Fetch,
}

#[derive(Debug, clap::Args)]
struct SealArgs {
    /// The core module
    core: PathBuf,
    /// Where the module is written
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// What was sealed.
#[derive(Debug, Serialize)]
struct Sealed {
    file: PathBuf,
    digest: String,
    size: usize,
}

#[derive(Debug, clap::Args)]
struct CompileArgs {
    #[arg(long)]
    cache_dir: PathBuf,
}

/// The command line under the name that it was called by: kubectl's plugins are called by their file names.
fn named(program: &Path) -> clap::Command {
    let command = Args::command();
    match program.file_stem().and_then(|name| name.to_str()) {
        Some("kubectl-binnacle") => command.bin_name("kubectl binnacle"),
        Some(_) | None => command,
    }
}

impl Args {
    /// Reads the command line of this process; flags of the archived operator behind `run` may have one dash.
    #[must_use]
    pub fn read() -> Self {
        let words = run::with_two_dashes(std::env::args_os());
        let name = words.first().map(PathBuf::from).unwrap_or_default();
        let matches = named(&name).get_matches_from(words);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Does what was asked for. An error is told on standard error, or as the JSON document that was asked for.
    #[must_use]
    pub fn execute(self) -> ExitCode {
        let format = self.verb.format();
        // Like other tools that plan, so that a script can tell changes from errors.
        let on_error = match &self.verb {
            Verb::Plan(_) => NO_PLAN,
            Verb::Run(_)
            | Verb::Replay(_)
            | Verb::Explain(_)
            | Verb::Convert(_)
            | Verb::Record(_)
            | Verb::Backup(_)
            | Verb::Module(_)
            | Verb::Member(_) => REFUSED,
        };
        let code = self.verb.execute().unwrap_or_else(|error| {
            output::fail(format, &Chain(error.as_ref()));
            if error.is::<Passing>() {
                TRY_AGAIN
            } else {
                on_error
            }
        });
        ExitCode::from(code)
    }
}

impl Verb {
    const fn format(&self) -> Format {
        match self {
            Self::Replay(args) => args.output,
            Self::Plan(args) => args.output,
            Self::Explain(args) => args.output,
            Self::Convert(args) => args.output,
            Self::Record(RecordVerb::Pull(args)) => args.output,
            Self::Record(RecordVerb::Cut(args)) => args.output,
            Self::Record(RecordVerb::Check(args)) => args.output,
            Self::Backup(BackupVerb::Ls(args)) => args.output,
            Self::Backup(BackupVerb::Get(args)) => args.output,
            Self::Backup(BackupVerb::Verify(args)) => args.output,
            Self::Backup(BackupVerb::Restore(args)) => args.output,
            Self::Module(ModuleVerb::Inspect(args)) => args.output,
            Self::Module(ModuleVerb::Seal(args)) => args.output,
            Self::Module(ModuleVerb::Pack(args)) => args.output,
            Self::Module(ModuleVerb::Push(args)) => args.output,
            Self::Module(ModuleVerb::Diff(args)) => args.output,
            Self::Run(_)
            | Self::Module(ModuleVerb::Compile(_) | ModuleVerb::Fetch)
            | Self::Member(_) => Format::Text,
        }
    }

    fn execute(self) -> anyhow::Result<u8> {
        match self {
            Self::Run(args) => {
                let runtime = run::runtime().context("the runtime cannot be started")?;
                runtime.block_on(run::run(*args)).map(|()| AS_EXPECTED)
            }
            Self::Replay(args) => replay::run(&args).map(|verdict| match verdict {
                Verdict::Equal => AS_EXPECTED,
                Verdict::Differs => DIFFERS,
                Verdict::Unreadable => REFUSED,
            }),
            Self::Plan(args) => plan::run(*args).map(|verdict| match verdict {
                plan::Verdict::Nothing => AS_EXPECTED,
                plan::Verdict::Changes => CHANGES,
                plan::Verdict::Stuck => NO_PLAN,
            }),
            Self::Explain(args) => explain::run(*args).map(|()| AS_EXPECTED),
            Self::Convert(args) => convert::run(&args).map(|()| AS_EXPECTED),
            Self::Record(RecordVerb::Pull(args)) => record::pull(args).map(|()| AS_EXPECTED),
            Self::Record(RecordVerb::Cut(args)) => record::cut(&args).map(|()| AS_EXPECTED),
            Self::Record(RecordVerb::Check(args)) => {
                record::check(&args).map(|clean| if clean { AS_EXPECTED } else { DIFFERS })
            }
            Self::Backup(BackupVerb::Ls(args)) => backups::list(args).map(|()| AS_EXPECTED),
            Self::Backup(BackupVerb::Get(args)) => backups::get(args).map(|()| AS_EXPECTED),
            Self::Backup(BackupVerb::Verify(args)) => backups::verify(args).map(|()| AS_EXPECTED),
            Self::Backup(BackupVerb::Restore(args)) => backups::restore(args).map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Inspect(args)) => {
                inspect(&args).map(|usable| if usable { AS_EXPECTED } else { REFUSED })
            }
            Self::Module(ModuleVerb::Seal(args)) => seal(&args).map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Pack(args)) => modules::pack(&args).map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Push(args)) => modules::push(args).map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Diff(args)) => {
                modules::diff(args).map(|equal| if equal { AS_EXPECTED } else { DIFFERS })
            }
            Self::Member(MemberVerb::Fetch(args)) => member::fetch(&args).map(|()| AS_EXPECTED),
            Self::Member(MemberVerb::Place(args)) => member::place(&args).map(|()| AS_EXPECTED),
            Self::Member(MemberVerb::Witness(args)) => member::witness(&args).map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Fetch) => registry::answer_stdin().map(|()| AS_EXPECTED),
            Self::Module(ModuleVerb::Compile(args)) => {
                Ok(module::compile_from_stdin(&args.cache_dir).map(|()| AS_EXPECTED)?)
            }
        }
    }
}

fn seal(args: &SealArgs) -> anyhow::Result<()> {
    let SealArgs { core, to, output } = args;
    let bytes =
        std::fs::read(core).with_context(|| format!("{} cannot be read", core.display()))?;
    let bytes =
        module::seal(&bytes).with_context(|| format!("{} is not sealed", core.display()))?;
    std::fs::write(to, &bytes).with_context(|| format!("{} cannot be written", to.display()))?;
    let sealed = Sealed {
        file: to.clone(),
        digest: digest(&bytes),
        size: bytes.len(),
    };
    Ok(match output {
        Format::Json => output::print_json(&sealed),
        Format::Text => output::print(format_args!(
            "{}  {} bytes  {}\n",
            sealed.file.display(),
            output::grouped(sealed.size),
            sealed.digest
        )),
    }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_whole() {
        Args::command().debug_assert();
    }

    #[test]
    fn help_names_the_program_as_it_was_called() {
        let usage = |program: &str| {
            let mut command = named(Path::new(program));
            let help = command.try_get_matches_from_mut([program, "plan", "--help"]);
            help.expect_err("help ends it").to_string()
        };
        let plugin = usage("/usr/local/bin/kubectl-binnacle");
        assert!(plugin.contains("Usage: kubectl binnacle plan"), "{plugin}");
        let plain = usage("/usr/local/bin/binnacle");
        assert!(plain.contains("Usage: binnacle plan"), "{plain}");
    }
}
