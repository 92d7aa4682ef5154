//! `binnacle module pack`: a module's file as a ConfigMap and the ReconcilerModule that names it.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use contract::MODULE_KEY;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::object::{DIGITS, ObjectArgs};
use crate::module::{Engine, Module, Source, cache_directory};
use crate::output::{self, Format};

/// What the API server lets a ConfigMap hold, less the rest of the object.
const ROOM: usize = (1 << 20) - (4 << 10);
/// Packed once and read by people who wait, so size counts more than time.
const LEVEL: i32 = 19;
/// The key of a signature over the module's bytes.
const SIGNATURE_KEY: &str = "reconciler.wasm.sig";

/// Arguments of `binnacle module pack`.
#[derive(Debug, clap::Args)]
pub struct PackArgs {
    /// The module
    file: PathBuf,
    /// What `cosign sign-blob` wrote of the module: a bundle, or a signature in base64
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    object: ObjectArgs,
    /// How the objects are printed: YAML, or one JSON list
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Prints both objects.
///
/// # Errors
/// When the module cannot be read, is one that an operator of this version would refuse, or is too large.
pub fn pack(args: &PackArgs) -> anyhow::Result<()> {
    let PackArgs {
        file,
        signature,
        object,
        output,
    } = args;
    let Source { path, bytes } = Source::find(Some(file))?;
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let module = Module::load(&engine, &bytes)
        .with_context(|| format!("{} is no module for this operator", path.display()))?;
    let name = object.name(&path)?;
    let packed = zstd::bulk::compress(&bytes, LEVEL).context("the module cannot be packed")?;
    ensure!(
        packed.len() <= ROOM,
        "{} has {} bytes packed, and a ConfigMap holds {ROOM}: push it to a registry with `binnacle module push`, or put the file on \
         a volume of the operator's pod and name it in source.file",
        path.display(),
        output::grouped(packed.len())
    );
    let hex = module.digest().trim_start_matches("sha256:");
    let config_map = format!("{name}-{}", hex.get(..DIGITS).unwrap_or(hex));
    let source = json!({"configMap": {"name": config_map}});
    let mut holds = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": object.metadata(&config_map),
        "immutable": true,
        "binaryData": {MODULE_KEY: ByteString(packed)},
    });
    if let Some(file) = signature {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("the signature {} cannot be read", file.display()))?;
        holds["data"] = json!({SIGNATURE_KEY: text.trim()});
    }
    let objects = [holds, object.object(&name, hex, &source)?];
    match output {
        Format::Text => output::print(yaml(&objects)?)?,
        Format::Json => {
            output::print_json(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))?;
        }
    }
    Ok(())
}

fn yaml(objects: &[Value]) -> anyhow::Result<String> {
    let mut text = "# The ConfigMap is too large for the annotation of a plain `kubectl apply`: use `kubectl apply --server-side`.\n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        text.push_str(&serde_yaml::to_string(object)?);
    }
    Ok(text)
}
