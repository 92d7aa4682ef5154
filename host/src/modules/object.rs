//! The ReconcilerModule that packing and pushing print: its name, its namespace, its role.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use contract::{GROUP, MODULE_KIND, MODULE_VERSION, ModuleRole};
use serde_json::{Value, json};

/// Digits of the digest in the name of a ConfigMap: two modules never share one.
pub(super) const DIGITS: usize = 12;
/// Longest name of an object that gets a dash and the digits behind it.
const LONGEST_NAME: usize = 253 - DIGITS - 1;

/// What the object shall say.
#[derive(Debug, clap::Args)]
pub(crate) struct ObjectArgs {
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

impl ObjectArgs {
    /// The object's name: the one that was given, else the file's.
    pub(super) fn name(&self, file: &Path) -> anyhow::Result<String> {
        let name = self.name.clone().unwrap_or_else(|| name_of(file));
        ensure!(
            is_name(&name),
            "{name:?} is no name for an object: use a-z, 0-9 and dashes, at most {LONGEST_NAME} of them, with --name"
        );
        Ok(name)
    }

    /// Metadata of an object of that name.
    pub(super) fn metadata(&self, name: &str) -> Value {
        match &self.namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": name}),
        }
    }

    /// The ReconcilerModule for the module of this digest in hex.
    pub(super) fn object(&self, name: &str, hex: &str, source: &Value) -> anyhow::Result<Value> {
        let mut spec = json!({"role": self.role.name(), "sha256": hex, "source": source});
        if let Some(selected) = selector(self.role, &self.clusters)? {
            spec["clusters"] = selected;
        }
        Ok(json!({
            "apiVersion": format!("{GROUP}/{MODULE_VERSION}"),
            "kind": MODULE_KIND,
            "metadata": self.metadata(name),
            "spec": spec,
        }))
    }
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
