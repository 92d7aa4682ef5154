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
    let named = block.region.clone().filter(|region| !region.is_empty());
    let region = match (named.or_else(|| value(&config, "region")), endpoint) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = id\naws_secret_access_key = key\n";

    fn opened(credentials: &str, config: &str, endpoint: Option<&str>) -> Result<(), String> {
        let secret = Data::of([("credentials", credentials), ("config", config)]);
        let block = S3Store {
            endpoint: endpoint.map(str::to_owned),
            ..S3Store::default()
        };
        open(&block, "bucket", &secret).map(drop)
    }

    #[test]
    fn awss_two_files_open_a_bucket() {
        let config = "[default]\nregion = eu-west-1\n";
        assert_eq!(opened(CREDENTIALS, config, None), Ok(()));
        let server = Some("http://minio:9000");
        assert_eq!(opened(CREDENTIALS, "[profile default]\n", server), Ok(()));
    }

    #[test]
    fn what_the_files_lack_is_named_and_no_value_is_repeated() {
        let why = |credentials, config| opened(credentials, config, None).err().unwrap_or_default();
        assert!(why(CREDENTIALS, "").contains("key config has no region"));
        let other = "[work]\naws_access_key_id = id\n";
        let words = why(other, "[default]\nregion = r\n");
        assert!(
            words.contains("no aws_access_key_id in the profile [default]"),
            "{words}"
        );
        let broken = why("[default\nsecret", "[default]\nregion = r\n");
        assert!(
            broken.contains("is not one of AWS's files") && !broken.contains("secret"),
            "{broken}"
        );
    }
}
