//! Amazon S3 and its likes, as the archived operator was told of them: AWS's two files in a Secret.

use contract::S3Store;
use ini::Ini;
use opendal::Operator;
use opendal::services::S3;

use super::words;
use crate::backup::secret::Data;

/// The profile that counts.
const PROFILE: &str = "default";
/// Servers other than Amazon's mostly do not care.
const ANY_REGION: &str = "us-east-1";

/// Opens a bucket.
///
/// # Errors
/// What the files lack, in words. No value of theirs is repeated.
pub(super) fn open(block: &S3Store, bucket: &str, secret: &Data) -> Result<Operator, String> {
    let credentials = file(secret, "credentials")?;
    let config = file(secret, "config")?;
    let value = |file: &Ini, key: &str| {
        let profile = file
            .section(Some(PROFILE))
            .or_else(|| file.section(Some("profile default")));
        Some(profile?.get(key)?.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let needed = |key: &str| {
        value(&credentials, key)
            .ok_or_else(|| format!("key credentials has no {key} in the profile [{PROFILE}]"))
    };
    let endpoint = block.endpoint.as_deref().filter(|url| !url.is_empty());
    let region = match (value(&config, "region"), endpoint) {
        (Some(region), _) => region,
        (None, Some(_)) => ANY_REGION.to_owned(),
        (None, None) => {
            return Err(format!(
                "key config has no region in the profile [{PROFILE}]"
            ));
        }
    };
    let mut builder = S3::default()
        .bucket(bucket)
        .region(&region)
        .access_key_id(&needed("aws_access_key_id")?)
        .secret_access_key(&needed("aws_secret_access_key")?)
        .disable_config_load()
        .disable_ec2_metadata();
    if let Some(token) = value(&credentials, "aws_session_token") {
        builder = builder.session_token(&token);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.endpoint(endpoint);
    }
    // A dot in the bucket's name fits into no certificate.
    if !block.force_path_style.unwrap_or_default() && !bucket.contains('.') {
        builder = builder.enable_virtual_host_style();
    }
    Operator::new(builder).map_err(|error| words(&error))
}

fn file(secret: &Data, key: &str) -> Result<Ini, String> {
    Ini::load_from_str(secret.text(key)?)
        .map_err(|error| format!("key {key} is not one of AWS's files: line {}", error.line))
}
