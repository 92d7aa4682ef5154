//! Alibaba Cloud OSS, as the archived operator was told of it: an access key in a Secret.

use std::net::IpAddr;

use contract::OssStore;
use opendal::Operator;
use opendal::services::Oss;

use super::words;
use crate::backup::secret::Data;

/// The server when the spec names none.
const DEFAULT: &str = "http://oss-cn-hangzhou.aliyuncs.com";

/// Opens a bucket.
///
/// # Errors
/// What the Secret lacks, in words. No value of its keys is repeated.
pub(super) fn open(block: &OssStore, bucket: &str, secret: &Data) -> Result<Operator, String> {
    let named = block.endpoint.as_deref().filter(|url| !url.is_empty());
    let endpoint = named.unwrap_or(DEFAULT);
    let mut builder = Oss::default()
        .bucket(bucket)
        .endpoint(endpoint)
        .access_key_id(secret.text("accessKeyID")?)
        .access_key_secret(secret.text("accessKeySecret")?);
    // A bucket's name cannot stand before an address, as Alibaba's own client knows.
    if is_address(endpoint) {
        builder = builder.addressing_style("path");
    }
    Operator::new(builder).map_err(|error| words(&error))
}

fn is_address(endpoint: &str) -> bool {
    let rest = endpoint
        .split_once("://")
        .map_or(endpoint, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let is_ip = |host: &str| host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let port_less = authority.rsplit_once(':').map(|(host, _)| host);
    is_ip(authority) || port_less.is_some_and(is_ip)
}

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn an_address_is_told_from_a_name() {
        for url in ["http://127.0.0.1:9000", "http://[::1]", "10.0.0.1/x"] {
            assert!(is_address(url), "{url}");
        }
        assert!(!is_address("http://oss-cn-hangzhou.aliyuncs.com"));
    }
}
