//! `binnacle module push`: a module's file into an OCI registry, and the ReconcilerModule that names it there.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;

use super::object::ObjectArgs;
use crate::module::{Engine, Module, Source, cache_directory};
use crate::output::{self, Format};
use crate::registry::{self, Access, Login, Pushed, Reference};
use crate::run::runtime;

/// Arguments of `binnacle module push`.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// The module
    file: PathBuf,
    /// Where it is pushed to, such as ghcr.io/team/module:1.2; with the login that `docker login` left
    reference: String,
    /// Ask the registry without TLS
    #[arg(long)]
    plain_http: bool,
    #[command(flatten)]
    object: ObjectArgs,
    /// How it is told: the digest and YAML, or one JSON document
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Pushes, and prints the object that names what was pushed by its digest.
///
/// # Errors
/// When the module cannot be read or is one that an operator of this version would refuse, or the registry refuses it.
pub fn push(args: PushArgs) -> anyhow::Result<()> {
    let PushArgs {
        file,
        reference,
        plain_http,
        object,
        output,
    } = args;
    let reference: Reference = reference.parse()?;
    let Source { path, bytes } = Source::find(Some(&file))?;
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let module = Module::load(&engine, &bytes)
        .with_context(|| format!("{} is no module for this operator", path.display()))?;
    let name = object.name(&path)?;
    let hex = module.digest().trim_start_matches("sha256:");
    let access = Access {
        plain_http,
        login: Login::of_docker(&reference)?,
    };
    let mut oci = json!({"reference": format!("{}@", reference.name())});
    if plain_http {
        oci["plainHttp"] = json!(true);
    }
    // What cannot be printed is not pushed.
    let mut printed = object.object(&name, hex, &json!({"oci": oci}))?;
    let Pushed { artifact, manifest } =
        runtime()?.block_on(registry::push(&reference, access, bytes))?;
    printed["spec"]["source"]["oci"]["reference"] = json!(artifact);
    match output {
        Format::Text => output::print(format_args!(
            "# Pushed {reference}, which is {manifest}.\n{}",
            serde_yaml::to_string(&printed)?
        ))?,
        Format::Json => output::print_json(&json!({
            "reference": reference.to_string(),
            "artifact": artifact,
            "manifest": manifest,
            "module": module.digest(),
            "object": printed,
        }))?,
    }
    Ok(())
}
