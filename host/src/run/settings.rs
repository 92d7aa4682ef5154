//! What absent flags mean: the cluster, the namespaces, the folders, this instance's name.
//!
//! The only reader of the environment besides the flags themselves.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use contract::names;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::observe::selection::Selection;
use crate::observe::shelf::Scope;
use crate::signature::{Identity, Policy, PublicKey, Roots};

/// How long connecting to the API server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The cluster to serve.
pub(crate) async fn kube_config(
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> anyhow::Result<kube::Config> {
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(&path)
                .with_context(|| format!("the kubeconfig {} cannot be read", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &options)
                .await
                .with_context(|| format!("the kubeconfig {} cannot be used", path.display()))?
        }
        None if options.context.is_some() => kube::Config::from_kubeconfig(&options)
            .await
            .context("the context of the kubeconfig cannot be used")?,
        None => kube::Config::infer().await.context(
            "no cluster: name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod",
        )?,
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(config)
}

/// One scope per namespace; all of them when the list is empty.
pub(super) fn scopes(watch_namespace: Option<&str>, own: &str) -> Vec<Scope> {
    let listed = watch_namespace.unwrap_or(own);
    let mut names: Vec<&str> = listed
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return vec![Scope::All];
    }
    names
        .into_iter()
        .map(|name| Scope::Namespace(name.to_owned()))
        .collect()
}

/// Which resources in these scopes are served: those of all namespaces when the old flag `-cluster-wide` asks for them.
pub(super) const fn selection(scopes: &[Scope], cluster_wide: bool) -> Selection {
    match scopes {
        _ if cluster_wide => Selection::ClusterWide,
        [Scope::All] => Selection::Everything,
        _ => Selection::WithoutScope,
    }
}

/// The scopes, for people.
pub(super) fn in_words(scopes: &[Scope]) -> String {
    let words: Vec<String> = scopes.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Who must have signed every module. A rule that cannot be read must not be taken for none.
pub(super) fn signature_policy(
    key: Option<PathBuf>,
    identity: Option<(String, String)>,
    roots: Option<PathBuf>,
) -> anyhow::Result<Policy> {
    Ok(Policy {
        key: parsed("--module-signature-key", key, PublicKey::parse)?,
        identity: identity.map(|(issuer, subject)| Identity { issuer, subject }),
        roots: parsed("--module-signature-trusted-root", roots, Roots::parse)?,
    })
}

/// What is in the file that a flag names.
fn parsed<T>(
    flag: &str,
    path: Option<PathBuf>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<Option<T>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let what = format!("the {flag} {}", path.display());
    let text = std::fs::read_to_string(&path).with_context(|| format!("{what} cannot be read"))?;
    let parsed = parse(&text);
    parsed
        .map(Some)
        .map_err(|why| anyhow::anyhow!("{what} cannot be used: {why}"))
}

/// Where recordings are kept unless told otherwise.
pub(super) fn recordings_directory() -> PathBuf {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return PathBuf::from("/var/lib/binnacle/recordings");
    }
    absolute("XDG_STATE_HOME")
        .map(|state| state.join("binnacle/recordings"))
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state/binnacle/recordings")))
        .unwrap_or_else(|| PathBuf::from("/var/lib/binnacle/recordings"))
}

/// A name that no other instance has.
pub(super) fn random_identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| names::FIELD_MANAGER.to_owned());
    format!("{host}_{:08x}", rand::random::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> Scope {
        Scope::Namespace(name.to_owned())
    }

    #[test]
    fn the_own_namespace_is_served_unless_told_otherwise() {
        assert_eq!(scopes(None, "home"), [namespace("home")]);
        assert_eq!(
            scopes(Some("b, a,b"), "home"),
            [namespace("a"), namespace("b")]
        );
        assert_eq!(scopes(Some(""), "home"), [Scope::All]);
    }
}
