//! What a member says of its keys at one revision: how many there are, and their hash.
//!
//! Two members that say the same of one revision have the same keys. Compares nothing.

use contract::{Contents, HashKv};
use etcd_client::GetOptions;

use super::{Connection, Error, HASH_TIMEOUT, within};

impl Connection {
    /// What this member says of its keys at a revision; zero is its newest.
    ///
    /// # Errors
    /// It did not answer in time, or has that revision no more or not yet.
    pub async fn contents(&self, revision: i64) -> Result<Contents, Error> {
        let HashKv {
            revision,
            compact_revision,
            hash,
        } = self.hash_kv(revision).await?;
        let options = GetOptions::new()
            .with_all_keys()
            .with_count_only()
            .with_serializable()
            .with_revision(revision);
        let mut client = self.client.kv_client();
        let answer = within(HASH_TIMEOUT, client.get("", Some(options))).await?;
        Ok(Contents {
            revision,
            keys: answer.count(),
            hash: i64::from(hash),
            compact_revision,
        })
    }
}
