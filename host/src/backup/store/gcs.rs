//! Google Cloud Storage, as the archived operator was told of it: a token, or a service account's file, in a Secret.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use contract::GcsStore;
use opendal::Operator;
use opendal::services::Gcs;

use super::words;
use crate::backup::secret::Data;

/// Opens a bucket. The credentials of the machine are never used instead.
///
/// # Errors
/// What the Secret lacks, in words. No value of its keys is repeated.
pub(super) fn open(block: &GcsStore, bucket: &str, secret: &Data) -> Result<Operator, String> {
    let mut builder = Gcs::default()
        .bucket(bucket)
        .disable_vm_metadata()
        .disable_config_load();
    builder = match secret.text("access-token") {
        Ok(token) => builder.token(token.to_owned()),
        Err(_absent) => {
            builder.credential(&BASE64_STANDARD.encode(secret.text("credentials.json")?))
        }
    };
    if let Some(endpoint) = block.endpoint.as_deref().filter(|url| !url.is_empty()) {
        builder = builder.endpoint(endpoint);
    }
    Operator::new(builder).map_err(|error| words(&error))
}
