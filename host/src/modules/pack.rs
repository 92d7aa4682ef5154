//! `binnacle module pack`: a module's file as a ConfigMap and the ReconcilerModule that names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use contract::{GROUP, MODULE_KEY, MODULE_KIND, MODULE_VERSION, ModuleRole};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::module::{Engine, Module, Source, cache_directory};
use crate::output::{self, Format};

/// What the API server lets a ConfigMap hold, less the rest of the object.
const ROOM: usize = (1 << 20) - (4 << 10);
/// Packed once and read by people who wait, so size counts more than time.
const LEVEL: i32 = 19;
/// Digits of the digest in the ConfigMap's name: two modules never share one.
const DIGITS: usize = 12;
/// Longest name of an object that gets a dash and the digits behind it.
const LONGEST_NAME: usize = 253 - DIGITS - 1;

/// Arguments of `binnacle module pack`.
#[derive(Debug, clap::Args)]
pub struct PackArgs {
    /// The module
    file: PathBuf,
    /// Name of the ReconcilerModule; without it, the file's
    #[arg(long)]
    name: Option<String>,
    /// The operator's namespace; without it, kubectl's
    #[arg(short, long)]
    namespace: Option<String>,
    /// What the module shall decide on
    #[arg(long, value_enum, default_value_t)]
    role: RoleArg,
    /// Labels of the clusters that a Canary decides on, such as tier=test
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    clusters: Vec<String>,
    /// How the objects are printed: YAML, or one JSON list
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// A role on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum RoleArg {
    /// Every cluster
    Active,
    /// None: asked and compared
    #[default]
    Shadow,
    /// The clusters with these labels
    Canary,
}

impl RoleArg {
    const fn name(self) -> &'static str {
        match self {
            Self::Active => ModuleRole::Active.name(),
            Self::Shadow => ModuleRole::Shadow.name(),
            Self::Canary => ModuleRole::Canary.name(),
        }
    }
}

/// Prints both objects.
///
/// # Errors
/// When the module cannot be read, is one that an operator of this version would refuse, or is too large.
pub fn pack(args: &PackArgs) -> anyhow::Result<()> {
    let PackArgs {
        file,
        name,
        namespace,
        role,
        clusters,
        output,
    } = args;
    let Source { path, bytes } = Source::find(Some(file))?;
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let module = Module::load(&engine, &bytes)
        .with_context(|| format!("{} is no module for this operator", path.display()))?;
    let name = match name {
        Some(name) => name.clone(),
        None => name_of(&path),
    };
    ensure!(
        is_name(&name),
        "{name:?} is no name for an object: use a-z, 0-9 and dashes, at most {LONGEST_NAME} of them, with --name"
    );
    let selected = selector(*role, clusters)?;
    let packed = zstd::bulk::compress(&bytes, LEVEL).context("the module cannot be packed")?;
    ensure!(
        packed.len() <= ROOM,
        "{} has {} bytes packed, and a ConfigMap holds {ROOM}: put the file on a volume of the operator's pod and name it in source.file",
        path.display(),
        output::grouped(packed.len())
    );
    let hex = module.digest().trim_start_matches("sha256:");
    let config_map = format!("{name}-{}", hex.get(..DIGITS).unwrap_or(hex));
    let objects = [
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(&config_map, namespace.as_deref()),
            "immutable": true,
            "binaryData": {MODULE_KEY: ByteString(packed)},
        }),
        json!({
            "apiVersion": format!("{GROUP}/{MODULE_VERSION}"),
            "kind": MODULE_KIND,
            "metadata": metadata(&name, namespace.as_deref()),
            "spec": spec(*role, hex, &config_map, selected),
        }),
    ];
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

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    }
}

fn spec(role: RoleArg, hex: &str, config_map: &str, selected: Option<Value>) -> Value {
    let mut spec = json!({
        "role": role.name(),
        "sha256": hex,
        "source": {"configMap": {"name": config_map}},
    });
    if let Some(selected) = selected {
        spec["clusters"] = selected;
    }
    spec
}

fn selector(role: RoleArg, clusters: &[String]) -> anyhow::Result<Option<Value>> {
    match (role, clusters) {
        (RoleArg::Canary, []) => {
            bail!("a Canary decides for some clusters: say which, with --clusters KEY=VALUE")
        }
        (RoleArg::Active | RoleArg::Shadow, []) => Ok(None),
        (RoleArg::Active | RoleArg::Shadow, [..]) => {
            bail!("--clusters is for --role canary alone")
        }
        (RoleArg::Canary, pairs) => {
            let pairs: Option<BTreeMap<&str, &str>> =
                pairs.iter().map(|pair| pair.split_once('=')).collect();
            let labels = pairs.context("--clusters takes KEY=VALUE")?;
            Ok(Some(json!({ "matchLabels": labels })))
        }
    }
}

fn name_of(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or_default()
        .to_lowercase()
        .replace(['_', '.', ' '], "-")
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (first, last) = (name.bytes().next(), name.bytes().last());
    name.len() <= LONGEST_NAME
        && first.is_some_and(is_plain)
        && last.is_some_and(is_plain)
        && name.bytes().all(|byte| is_plain(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_name_to_the_object_where_that_is_one() {
        assert_eq!(name_of(Path::new("/tmp/My_Module.v2.wasm")), "my-module-v2");
        assert!(is_name("my-module-v2"));
        for name in ["", "-a", "a-", "A", "a b", &"a".repeat(250)] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_canary_says_for_which_clusters_and_nobody_else_does() {
        let pair = ["tier=test".to_owned()];
        let selected = selector(RoleArg::Canary, &pair).expect("a selector");
        assert_eq!(selected, Some(json!({"matchLabels": {"tier": "test"}})));
        assert!(selector(RoleArg::Canary, &[]).is_err());
        assert!(selector(RoleArg::Canary, &["tier".to_owned()]).is_err());
        assert!(selector(RoleArg::Shadow, &pair).is_err());
        assert_eq!(selector(RoleArg::Active, &[]).expect("none"), None);
    }
}
