//! Azure Blob Storage, as the archived operator was told of it: an account and its key in a Secret.

use contract::AbsStore;
use opendal::Operator;
use opendal::services::Azblob;

use super::words;
use crate::backup::secret::Data;

/// The clouds by the names that the Secret's key `cloud` may hold, and where their blobs are.
const CLOUDS: [(&str, &str); 4] = [
    ("AzurePublicCloud", "blob.core.windows.net"),
    ("AzureUSGovernmentCloud", "blob.core.usgovcloudapi.net"),
    ("AzureChinaCloud", "blob.core.chinacloudapi.cn"),
    ("AzureGermanCloud", "blob.core.cloudapi.de"),
];

/// Opens a container.
///
/// # Errors
/// What the Secret lacks, in words. No value of its keys is repeated.
pub(super) fn open(block: &AbsStore, container: &str, secret: &Data) -> Result<Operator, String> {
    let account = secret.text("storage-account")?;
    let endpoint = match block.endpoint.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => url.to_owned(),
        None => format!("https://{account}.{}", suffix(secret)?),
    };
    let builder = Azblob::default()
        .container(container)
        .endpoint(&endpoint)
        .account_name(account)
        .account_key(secret.text("storage-key")?);
    Operator::new(builder).map_err(|error| words(&error))
}

fn suffix(secret: &Data) -> Result<&'static str, String> {
    let Ok(cloud) = secret.text("cloud") else {
        return Ok(CLOUDS[0].1);
    };
    let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(cloud);
    let found = CLOUDS.iter().find(is_it);
    found.map(|(_, suffix)| *suffix).ok_or_else(|| {
        let known = CLOUDS.map(|(name, _)| name).join(", ");
        format!("key cloud is none of {known}")
    })
}
