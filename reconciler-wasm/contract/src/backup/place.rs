//! Where backups are: the store, the bucket, and the names of the objects in it.
//!
//! A periodic backup is `<key>_v<revision>_<YYYY-MM-DD-HH:MM:SS>`, as the archived operator named it. Revisions are
//! compared as numbers.

use std::fmt;

use crate::EtcdBackupSpec;

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    /// Amazon S3 and its likes.
    S3,
    /// Azure Blob Storage.
    Abs,
    /// Google Cloud Storage.
    Gcs,
    /// Alibaba Cloud OSS.
    Oss,
    /// A volume claim of the operator's own namespace, mounted into the operator.
    Pvc,
}

impl StoreKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::S3, Self::Abs, Self::Gcs, Self::Oss, Self::Pvc];

    /// `spec.storageType`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "S3",
            Self::Abs => "ABS",
            Self::Gcs => "GCS",
            Self::Oss => "OSS",
            Self::Pvc => "PVC",
        }
    }

    /// The block of the spec that is about it.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Abs => "abs",
            Self::Gcs => "gcs",
            Self::Oss => "oss",
            Self::Pvc => "pvc",
        }
    }

    /// The Secret's keys that it needs: one of each list. Without any it has no Secret.
    #[must_use]
    pub const fn secret_keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::S3 => &[&["credentials"], &["config"]],
            Self::Abs => &[&["storage-account"], &["storage-key"]],
            Self::Gcs => &[&["access-token", "credentials.json"]],
            Self::Oss => &[&["accessKeyID"], &["accessKeySecret"]],
            Self::Pvc => &[],
        }
    }

    /// The store that `spec.storageType` names.
    #[must_use]
    pub fn of(spec: &EtcdBackupSpec) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == spec.storage_type)
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a backup goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of store.
    pub store: StoreKind,
    /// The Secret with its credentials; empty where none is named.
    pub secret: String,
    /// The bucket, container or claim.
    pub bucket: String,
    /// The object's name in it, or what the names of periodic backups begin with.
    pub key: String,
}

impl Place {
    /// Where the spec says; none when it names no store, has no block for it, or the path is not BUCKET/KEY.
    #[must_use]
    pub fn of(spec: &EtcdBackupSpec) -> Option<Self> {
        let store = StoreKind::of(spec)?;
        let no_secret = String::new();
        let (path, secret) = match store {
            StoreKind::S3 => spec.s3.as_ref().map(|s3| (&s3.path, &s3.aws_secret)),
            StoreKind::Abs => spec.abs.as_ref().map(|abs| (&abs.path, &abs.abs_secret)),
            StoreKind::Gcs => spec.gcs.as_ref().map(|gcs| (&gcs.path, &gcs.gcp_secret)),
            StoreKind::Oss => spec.oss.as_ref().map(|oss| (&oss.path, &oss.oss_secret)),
            StoreKind::Pvc => spec.pvc.as_ref().map(|pvc| (&pvc.path, &no_secret)),
        }?;
        let (bucket, key) = path.split_once('/')?;
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let is_path = is_plain(bucket) && key.split('/').all(is_plain) && !key.contains('\0');
        is_path.then(|| Self {
            store,
            secret: secret.clone(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }
}

/// The name of one periodic backup, taken apart. Of two the one with the higher revision is the greater one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BackupKey {
    /// etcd's revision.
    pub revision: i64,
    /// When it was taken, as the name has it.
    pub at: String,
}

impl BackupKey {
    /// Whether it was taken after the other one, by the clocks of those who took them. Where clocks went right and this
    /// disagrees with the order of the revisions, the other one is of an earlier life of the cluster: before it was made
    /// anew, or restored with its old revision.
    #[must_use]
    pub fn is_younger(&self, other: &Self) -> bool {
        (&self.at, self.revision) > (&other.at, other.revision)
    }

    /// The object's name, after `prefix`.
    #[must_use]
    pub fn name(&self, prefix: &str) -> String {
        format!("{prefix}_v{}_{}", self.revision, self.at)
    }

    /// Takes a name apart; none when it is not one of the backups that begin with `prefix`.
    #[must_use]
    pub fn of(name: &str, prefix: &str) -> Option<Self> {
        let rest = name.strip_prefix(prefix)?.strip_prefix("_v")?;
        let (revision, at) = rest.split_once('_')?;
        let is_number = !revision.is_empty() && revision.bytes().all(|byte| byte.is_ascii_digit());
        let revision = revision.parse().ok().filter(|_| is_number)?;
        let shape = b"0000-00-00-00:00:00";
        let is_time = at.len() == shape.len()
            && at.bytes().zip(shape).all(|(found, wanted)| match wanted {
                b'0' => found.is_ascii_digit(),
                mark => found == *mark,
            });
        is_time.then(|| Self {
            revision,
            at: at.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_compared_as_numbers() {
        let key = |name: &str| BackupKey::of(name, "etcd.backup");
        let (nines, tens) = (
            key("etcd.backup_v9999_2026-11-21-17:00:00"),
            key("etcd.backup_v10000_2026-11-21-16:00:00"),
        );
        assert!(nines.is_some() && nines < tens);
    }

    #[test]
    fn a_name_of_somebody_else_is_none_of_ours() {
        for name in [
            "etcd.backup",
            "etcd.backup2_v1_2026-11-21-17:00:00",
            "etcd.backup_v1_2026-11-21-17:00:00.copy",
            "etcd.backup_v-1_2026-11-21-17:00:00",
            "etcd.backup_v_2026-11-21-17:00:00",
            "etcd.backup_vx_2026-11-21-17:00:00",
            "etcd.backup_v1_yesterday",
        ] {
            assert_eq!(BackupKey::of(name, "etcd.backup"), None, "{name}");
        }
        let own = "a/b_v12_2026-11-21-17:00:00";
        let key = BackupKey::of(own, "a/b");
        assert_eq!(key.map(|key| key.name("a/b")).as_deref(), Some(own));
    }
}
