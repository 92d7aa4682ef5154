//! What may be being restored: the stored backups that an EtcdRestore or a cluster may still read.
//!
//! A restore reads its backup until the last founder has started, because a founder may be made again. Knows no store:
//! one object may be reached by several buckets' names, so its own name counts alone.

use serde::{Deserialize, Serialize};

use super::{EtcdRestoreSpec, EtcdRestoreStatus, Restoration};
use crate::{Place, Resource, ResourceKind};

/// A stored backup that may still be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BeingRestored {
    /// Who may read it: kind and name.
    pub by: String,
    /// Its name in the bucket; none where nobody knows it, and it may be any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl BeingRestored {
    /// What the EtcdRestores and clusters of a namespace may still read: what an EtcdRestore that is not over names or was
    /// proven for, and whatever a cluster that is stopped or filled goes on from whose EtcdRestore is gone.
    #[must_use]
    pub fn of(restores: &[Resource], clusters: &[Resource]) -> Vec<Self> {
        let open: Vec<&Resource> = restores.iter().filter(|one| !is_over(one)).collect();
        let of_restores = open.iter().flat_map(|restore| {
            let by = format!("{} {}", ResourceKind::EtcdRestore, restore.name);
            let keys = keys(restore).into_iter();
            keys.map(move |key| Self {
                by: by.clone(),
                key,
            })
        });
        let orphaned = clusters
            .iter()
            .filter(|cluster| is_orphaned(cluster, &open));
        let of_clusters = orphaned.map(|cluster| Self {
            by: format!("{} {}", ResourceKind::EtcdCluster, cluster.name),
            key: None,
        });
        let mut found: Vec<Self> = of_restores.chain(of_clusters).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Whether it may be the one of this name.
    #[must_use]
    pub fn may_be(&self, key: &str) -> bool {
        self.key.as_deref().is_none_or(|own| own == key)
    }
}

/// A status that cannot be read says nothing of an end.
fn is_over(restore: &Resource) -> bool {
    EtcdRestoreStatus::deserialize(&restore.status).is_ok_and(|status| status.is_over())
}

/// What the spec names, and what was proven: members that are filled take that one, also once the spec was edited.
fn keys(restore: &Resource) -> Vec<Option<String>> {
    let spec = EtcdRestoreSpec::deserialize(&restore.spec).ok();
    let named = spec.and_then(|spec| Place::of(&spec.source()));
    let status = EtcdRestoreStatus::deserialize(&restore.status).unwrap_or_default();
    let proven = status.proof.and_then(|proof| {
        let (_bucket, key) = proof.path.split_once('/')?;
        Some(key.to_owned())
    });
    let known = named.map(|place| place.key).into_iter().chain(proven);
    let known: Vec<Option<String>> = known.map(Some).collect();
    if known.is_empty() { vec![None] } else { known }
}

/// Whether the cluster is stopped or filled, and no EtcdRestore says from which backup.
fn is_orphaned(cluster: &Resource, open: &[&Resource]) -> bool {
    let restoration = cluster.status.get("restoration");
    restoration.is_some_and(|restoration| match Restoration::deserialize(restoration) {
        Ok(one) => one.is_first() && open.iter().all(|restore| restore.uid != one.uid),
        Err(_unreadable) => !restoration.is_null(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn restore(uid: &str, spec: Value, status: Value) -> Resource {
        Resource {
            name: "back".to_owned(),
            uid: uid.to_owned(),
            spec,
            status,
            ..Resource::default()
        }
    }

    fn named(path: &str) -> Value {
        json!({"etcdCluster": {"name": "shop"}, "backupStorageType": "S3", "s3": {"path": path}})
    }

    fn cluster(restoration: Value) -> Resource {
        Resource {
            name: "shop".to_owned(),
            status: json!({"restoration": restoration}),
            ..Resource::default()
        }
    }

    fn at(stage: &str) -> Resource {
        cluster(json!({"restore": "back", "uid": "r", "stage": stage}))
    }

    fn told(restores: &[Resource], clusters: &[Resource]) -> Vec<(String, Option<String>)> {
        let found = BeingRestored::of(restores, clusters).into_iter();
        found.map(|one| (one.by, one.key)).collect()
    }

    fn by_restore(key: Option<&str>) -> (String, Option<String>) {
        ("EtcdRestore back".to_owned(), key.map(str::to_owned))
    }

    #[test]
    fn an_etcdrestore_reads_what_it_names_until_it_is_over() {
        let of = |status| told(&[restore("r", named("bucket/dir/b_v1"), status)], &[]);
        for open in [
            Value::Null,
            json!({}),
            json!({"phase": "Waiting"}),
            json!({"succeeded": "perhaps"}),
        ] {
            assert_eq!(of(open), [by_restore(Some("dir/b_v1"))]);
        }
        assert_eq!(of(json!({"succeeded": true})), []);
        assert_eq!(of(json!({"reason": "no such bucket"})), []);
    }

    #[test]
    fn of_one_that_was_edited_what_was_proven_is_read_as_well() {
        let proven = json!({"proof": {"path": "bucket/b_v1"}});
        let edited = [restore("r", named("bucket/b_v2"), proven.clone())];
        let both = [by_restore(Some("b_v1")), by_restore(Some("b_v2"))];
        assert_eq!(told(&edited, &[]), both);
        let unreadable = [restore("r", json!("words"), proven)];
        assert_eq!(told(&unreadable, &[]), [by_restore(Some("b_v1"))]);
    }

    #[test]
    fn what_nobody_knows_may_be_any() {
        let unreadable = [restore("r", json!("words"), Value::Null)];
        assert_eq!(told(&unreadable, &[]), [by_restore(None)]);
        let any = &BeingRestored::of(&unreadable, &[])[0];
        assert!(any.may_be("b_v1") && any.may_be("b_v2"));
    }

    #[test]
    fn a_cluster_goes_on_from_any_while_its_etcdrestore_is_gone() {
        let shop = ("EtcdCluster shop".to_owned(), None);
        for stage in ["Stopping", "Filling"] {
            assert_eq!(told(&[], &[at(stage)]), std::slice::from_ref(&shop));
            let open = restore("r", named("bucket/b_v1"), Value::Null);
            assert_eq!(told(&[open], &[at(stage)]), [by_restore(Some("b_v1"))]);
            let failed = restore("r", named("bucket/b_v1"), json!({"reason": "no"}));
            assert_eq!(told(&[failed], &[at(stage)]), std::slice::from_ref(&shop));
        }
        for stage in ["Waiting", "Growing", "Done"] {
            assert_eq!(told(&[], &[at(stage)]), []);
        }
        assert_eq!(told(&[], &[cluster(json!("odd"))]), [shop]);
        assert_eq!(told(&[], &[cluster(Value::Null)]), []);
    }
}
