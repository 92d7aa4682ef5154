//! Snapshots that etcd 3.4, 3.5, 3.6 and 3.7 took, each with ten keys, and what is none.

use super::*;

impl Bytes for Vec<u8> {
    async fn at(&self, from: u64, count: u64) -> Result<Self, Missing> {
        slice(self, from, from + count).map(<[u8]>::to_vec)
    }
}

fn snapshot(packed: &[u8]) -> Vec<u8> {
    zstd::decode_all(packed).expect("a packed snapshot")
}

#[tokio::test]
async fn each_version_of_etcd_is_read() {
    let cases: [(&[u8], &str); 4] = [
        (include_bytes!("../data/etcd-3.4.34.db.zst"), "3.4.0"),
        (include_bytes!("../data/etcd-3.5.35.db.zst"), "3.5.0"),
        (include_bytes!("../data/etcd-3.6.16.db.zst"), "3.6.0"),
        (include_bytes!("../data/etcd-3.7.3.db.zst"), "3.7.0"),
    ];
    for (packed, version) in cases {
        let content = SnapshotContent {
            revision: 11,
            version: version.to_owned(),
        };
        assert_eq!(look(&snapshot(packed)).await, Ok(content));
    }
}

/// Its keys are a tree of several levels, and its last page is longer than one.
#[tokio::test]
async fn a_large_one_is_read_through_its_branches() {
    let large = snapshot(include_bytes!("../data/etcd-3.6.16-large.db.zst"));
    let content = look(&large).await.expect("a snapshot");
    assert_eq!(content.revision, 3_002);
}

#[tokio::test]
async fn what_is_none_is_said_to_be_none_and_nothing_panics() {
    assert!(look(&Vec::new()).await.is_err());
    assert!(look(&vec![0; 9_000]).await.is_err());
    assert!(look(&b"<html>not here</html>".repeat(500)).await.is_err());
    let whole = snapshot(include_bytes!("../data/etcd-3.6.16.db.zst"));
    for end in (0..whole.len()).step_by(997) {
        let _ = look(&whole[..end].to_vec()).await;
    }
    for at in (0..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let _ = look(&damaged).await;
    }
}
