//! `generate write | check | print | release | promote | deprecate | bundle-image`: the committed YAML, the same for another namespace or
//! image, and the table of releases.
#![expect(clippy::print_stdout, reason = "this is a command line")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use k8s_openapi::jiff::Timestamp;
use manifests::{
    Error, Installation, New, TABLE, Table, bundles, cluster_wide_objects, deprecate, judge,
    objects, promote, release, save, stale, write, yaml,
};
use semver::Version;

/// Generates the YAML that installs Binnacle.
#[derive(Parser)]
struct Arguments {
    /// The top of the checkout.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write all generated files.
    Write,
    /// Say which files `write` would change and what is wrong with bundles and catalog, and fail if there is anything.
    Check,
    /// Print one installation, for `kubectl apply --filename -`.
    Print {
        /// The namespace that the operator runs in.
        #[arg(long, default_value = "default")]
        namespace: String,
        /// The operator's image.
        #[arg(long, default_value = "binnacle:dev")]
        image: String,
        /// Look after every namespace instead of that one.
        #[arg(long)]
        cluster_wide: bool,
    },
    /// Add a release to the channel `testing` and write everything anew.
    Release {
        /// Its version, higher than every other.
        #[arg(long)]
        version: Version,
        /// The channel it enters.
        #[arg(long, default_value = "testing")]
        channel: String,
        /// The operator's image as it was pushed: REPOSITORY@sha256:…
        #[arg(long)]
        image: String,
        /// The lowest version that may go to it at once. Without it: that of the release before.
        #[arg(long)]
        upgrades_from: Option<Version>,
    },
    /// Add a release of `testing` to `prod` and write everything anew.
    Promote {
        /// Its version.
        #[arg(long)]
        version: Version,
    },
    /// Tell whoever runs a release that nobody should any more, and write everything anew.
    Deprecate {
        /// Its version.
        #[arg(long)]
        version: Version,
        /// What is wrong with it, and where to go.
        #[arg(long)]
        message: String,
    },
    /// Write the bundle image of a release as an OCI archive and print its digest.
    BundleImage {
        /// The release.
        #[arg(long)]
        version: Version,
        /// Where the archive goes.
        #[arg(long)]
        archive: PathBuf,
    },
}

/// Lines of a refusal are those that the table would have had.
const UNWRITTEN: &str = "nothing was written, since the table would then be wrong";

fn main() -> ExitCode {
    let Arguments { root, verb } = Arguments::parse();
    match run(&root, verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Write => told(write(root)?),
        Verb::Check => return check(root),
        Verb::Print {
            namespace,
            image,
            cluster_wide,
        } => {
            let installation = Installation { namespace, image };
            let objects = if cluster_wide {
                cluster_wide_objects(&installation)
            } else {
                objects(&installation)
            };
            print!("{}", yaml(&objects?)?);
        }
        Verb::Release {
            version,
            channel,
            image,
            upgrades_from,
        } => {
            if channel != "testing" {
                bail!(
                    "a release enters the channel testing and not {channel}; from there `make promote VERSION={version}` takes it to prod"
                );
            }
            let table = read(root)?;
            let frozen = bundles(root, &table)?
                .last()
                .map(|(_, bundle)| bundle.image().digest());
            let new = New {
                version,
                image,
                created: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                upgrades_from,
                frozen,
            };
            let changed = release(&table, new).map_err(Error::Faults);
            told(save(root, &changed.context(UNWRITTEN)?)?);
        }
        Verb::Promote { version } => {
            let table = read(root)?;
            let bundles = bundles(root, &table)?;
            let named = bundles
                .iter()
                .find(|(release, _)| release.version == version);
            let frozen = named.map(|(_, bundle)| bundle.image().digest());
            let changed = promote(&table, &version, frozen).map_err(Error::Faults);
            told(save(root, &changed.context(UNWRITTEN)?)?);
        }
        Verb::Deprecate { version, message } => {
            let changed = deprecate(&read(root)?, &version, &message).map_err(Error::Faults);
            told(save(root, &changed.context(UNWRITTEN)?)?);
        }
        Verb::BundleImage { version, archive } => {
            let table = read(root)?;
            let bundles = bundles(root, &table)?;
            let (_, bundle) = bundles
                .iter()
                .find(|(release, _)| release.version == version)
                .with_context(|| format!("there is no release {version} in {TABLE}"))?;
            let image = bundle.image();
            fs::write(&archive, image.oci_archive()?)
                .with_context(|| format!("{} cannot be written", archive.display()))?;
            println!("{}", image.digest());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(root: &Path) -> Result<Table, Error> {
    Table::read(root).map_err(Error::Faults)
}

fn told(written: Vec<PathBuf>) {
    for file in written {
        println!("wrote {}", file.display());
    }
}

fn check(root: &Path) -> Result<ExitCode> {
    let faults = [stale(root)?, judge(root)?].concat();
    for fault in &faults {
        println!("{fault}");
    }
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}
