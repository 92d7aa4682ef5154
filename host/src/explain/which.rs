//! Which living cluster a word means: a name, or a name behind a type as kubectl has them; and that there is but one such.
//!
//! Knows the words for clusters, and nothing of what they hold.

use anyhow::{Context as _, bail};
use contract::{Dialect, KIND, PLURAL, Resource, ResourceKind};
use kube::Client;

use crate::key::ClusterKey;
use crate::observe::{self, project};
use crate::operator::in_words;
use crate::output::{self, of_group};

/// A cluster as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Which {
    /// None: of whatever group, if there is one of that name in one group alone.
    dialect: Option<Dialect>,
    name: String,
}

impl Which {
    /// Reads `NAME` or `TYPE/NAME`; none where it is neither.
    pub(super) fn read(word: &str) -> Option<Self> {
        let (dialect, name) = match word.split_once('/') {
            Some((kind, name)) => (of_type(kind)?, name),
            None => (None, word),
        };
        let letters =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let is_name = !name.is_empty() && name.chars().all(letters);
        is_name.then(|| Self {
            dialect,
            name: name.to_owned(),
        })
    }

    /// The one cluster that is meant.
    ///
    /// # Errors
    /// There is none, there is one of each group, or what there is cannot be read.
    pub(super) async fn find(
        self,
        client: &Client,
        namespace: &str,
    ) -> anyhow::Result<(ClusterKey, Resource)> {
        let Self { dialect, name } = self;
        let asked = Dialect::ALL.into_iter();
        let asked = asked.filter(|one| dialect.is_none_or(|dialect| dialect == *one));
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for dialect in asked {
            let key = ClusterKey {
                dialect,
                ..ClusterKey::new(ResourceKind::EtcdCluster, namespace, &name)
            };
            match observe::neighbours(client, &key).get_opt(&name).await {
                Ok(Some(object)) => found.push((key, project::resource(object))),
                Ok(None) => {}
                Err(error) => unread.push((dialect, in_words(error))),
            }
        }
        let of = dialect.map(of_group).unwrap_or_default();
        let Some(first) = found.pop() else {
            let Some((dialect, error)) = unread.into_iter().next() else {
                bail!("there is no {KIND} {namespace}/{name}{of}");
            };
            return Err(error).with_context(|| {
                format!(
                    "{KIND} {namespace}/{name}{} cannot be read",
                    of_group(dialect)
                )
            });
        };
        if !found.is_empty() {
            let names = Dialect::ALL.map(|dialect| written(dialect, &name));
            bail!(
                "there is an {KIND} {namespace}/{name} of each group: name the one that is meant, {}",
                names.join(" or ")
            );
        }
        for (dialect, error) in unread {
            output::note(format_args!(
                "Whether there is an {} as well is not known: {error:#}",
                written(dialect, &name)
            ));
        }
        Ok(first)
    }
}

/// As kubectl takes it.
fn written(dialect: Dialect, name: &str) -> String {
    let kind = KIND.to_lowercase();
    format!("{kind}.{}/{name}", dialect.group())
}

/// The group of a word for clusters; the inner one is none where it names no group. The outer one: it is no such word.
fn of_type(word: &str) -> Option<Option<Dialect>> {
    let word = word.to_lowercase();
    let (kind, group) = match word.split_once('.') {
        Some((kind, group)) => (kind, Some(group)),
        None => (word.as_str(), None),
    };
    if kind != PLURAL && kind != KIND.to_lowercase() {
        return None;
    }
    let Some(group) = group else {
        return Some(None);
    };
    let mut all = Dialect::ALL.into_iter();
    all.find(|dialect| {
        let with_version = [dialect.version(), dialect.group()].join(".");
        group == dialect.group() || group == with_version
    })
    .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_as_kubectl_names_it() {
        let read = |word: &str| Which::read(word).map(|which| (which.dialect, which.name));
        let of = |dialect| Some((dialect, "shop".to_owned()));
        for word in ["shop", "etcdcluster/shop", "EtcdClusters/shop"] {
            assert_eq!(read(word), of(None), "{word}");
        }
        for dialect in Dialect::ALL {
            let word = written(dialect, "shop");
            assert_eq!(read(&word), of(Some(dialect)), "{word}");
        }
        let whole = "etcdclusters.v1alpha1.etcd.improbable.io/shop";
        assert_eq!(read(whole), of(Some(Dialect::Improbable)));
        for word in [
            "etcdcluster.example.com/shop",
            "etcdbackup/shop",
            "recordings/shop",
            "etcdcluster/shop.jsonl.zst",
            "etcdcluster/",
            "./shop",
            "/var/lib",
            "",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
