//! A folder as a store: a volume claim that is mounted into whoever reads or writes it.
//!
//! A backup is written beside its place and moved there when all of it is on the disk, so nothing half-written has a backup's
//! name. Which run wrote it stands in an extended attribute of the file.

use std::fs::File;
use std::path::{Path, PathBuf};

use opendal::Operator;
use opendal::services::Fs;

use super::words;

/// Where files are until they are whole.
const UNFINISHED: &str = ".unfinished";

/// How a file gets its name once it is whole.
#[derive(Clone, Debug)]
pub(in crate::backup) struct Folder {
    root: PathBuf,
    /// One name for each object, so that what a lost run left is written over.
    pub(in crate::backup) unfinished: String,
}

/// Opens the folder of a claim.
///
/// # Errors
/// There is none, in words.
pub(super) fn open(root: &Path, claim: &str) -> Result<Operator, String> {
    if !root.is_dir() {
        return Err(format!(
            "PersistentVolumeClaim {claim}: it is not mounted at {}. Mount it there into the operator, which must run in \
             the namespace of this object",
            root.display()
        ));
    }
    let builder = Fs::default().root(&root.to_string_lossy());
    Operator::new(builder).map_err(|error| words(&error))
}

impl Folder {
    pub(super) fn new(root: &Path, key: &str) -> Self {
        Self {
            root: root.to_owned(),
            unfinished: format!("{UNFINISHED}/{key}"),
        }
    }

    /// Gives a whole file its name, which outlasts a crash of the node then.
    ///
    /// # Errors
    /// The file system's own.
    pub(in crate::backup) fn finish(&self, key: &str) -> std::io::Result<()> {
        let place = self.root.join(key);
        let folder = place.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder)?;
        std::fs::rename(self.root.join(&self.unfinished), &place)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use contract::{EtcdBackupSpec, Observed, Place, PvcStore, StoredObject};

    use crate::backup::access::Access;
    use crate::backup::store::{self, RUN, Store};

    fn opened(root: &std::path::Path) -> Result<Store, String> {
        let spec = EtcdBackupSpec {
            storage_type: "PVC".to_owned(),
            pvc: Some(PvcStore {
                path: "claim/dir/etcd.backup".to_owned(),
            }),
            ..EtcdBackupSpec::default()
        };
        let place = Place::of(&spec).ok_or("no place")?;
        store::open(&spec, &place, &Access::Folder(root.to_owned()))
    }

    #[tokio::test]
    async fn a_file_has_its_name_once_it_is_whole_and_says_who_wrote_it() {
        let root = tempfile::tempdir().expect("a folder");
        let store = opened(root.path()).expect("a store");
        let (key, prefix) = ("dir/etcd.backup_v7_x", "dir/etcd.backup_v");
        assert_eq!(store.all(prefix).await, Observed::Seen(Vec::new()));
        let folder = store.folder.clone().expect("a folder");
        let mark = [(RUN.to_owned(), "run-1".to_owned())];
        let writing = store.moving.writer_with(&folder.unfinished);
        let mut writer = writing.user_metadata(mark).await.expect("a writer");
        writer.write("whole").await.expect("written");
        writer.close().await.expect("closed");
        assert_eq!(store.one(key).await, Observed::Seen(Vec::new()));
        assert_eq!(store.all(prefix).await, Observed::Seen(Vec::new()));
        folder.finish(key).expect("finished");
        let found = |run: Option<&str>| {
            Observed::Seen(vec![StoredObject {
                key: key.to_owned(),
                bytes: 5,
                run: run.map(str::to_owned),
            }])
        };
        assert_eq!(store.one(key).await, found(Some("run-1")));
        assert_eq!(store.all(prefix).await, found(None));
        store.delete(key).await.expect("deleted");
        store.delete(key).await.expect("gone already");
        assert_eq!(store.one(key).await, Observed::Seen(Vec::new()));
    }

    #[test]
    fn a_claim_that_is_not_mounted_is_told_with_the_place_for_it() {
        let root = tempfile::tempdir().expect("a folder");
        let missing = root.path().join("shop/claim");
        let why = opened(&missing).err().expect("no store");
        assert!(
            why.contains("shop/claim. Mount it there into the operator"),
            "{why}"
        );
        assert!(!missing.exists(), "it was made");
    }
}
