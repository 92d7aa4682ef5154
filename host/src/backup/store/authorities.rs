//! Authorities of a store's own, beside those of the operator's image: a server of one's own seldom has a certificate that
//! everybody trusts.

use opendal::{HttpTransporter, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;
use reqwest::{Certificate, Client};

use crate::backup::secret::Data;

/// The key of a store's Secret that has them, as PEM; Kubernetes' own Secrets of the type `kubernetes.io/tls` call it so.
const KEY: &str = "ca.crt";

/// Has the store's certificate judged by these authorities too, where its Secret has any.
///
/// # Errors
/// What is wrong with them, in words.
pub(super) fn trusting(operator: Operator, secret: &Data) -> Result<Operator, String> {
    let Some(pem) = secret.bytes(KEY) else {
        return Ok(operator);
    };
    let authorities = Certificate::from_pem_bundle(pem).unwrap_or_default();
    if authorities.is_empty() {
        return Err(format!("key {KEY} holds no certificate as PEM"));
    }
    let client = Client::builder()
        .tls_certs_merge(authorities)
        .build()
        .map_err(|error| format!("key {KEY} holds no authority: {error}"))?;
    let transport = HttpTransporter::new(ReqwestTransport::new(client));
    Ok(operator.with_context(OperationContext::new().with_http_transport(transport)))
}

#[cfg(test)]
mod tests {
    use opendal::services::S3;

    use super::*;

    fn told(pem: &str) -> Option<String> {
        crate::backup::prepare();
        let builder = S3::default().bucket("backups").region("here");
        let operator = Operator::new(builder).expect("a bucket");
        trusting(operator, &Data::of([(KEY, pem)])).err()
    }

    #[test]
    fn what_is_no_authority_is_told() {
        let own = rcgen::generate_simple_self_signed(["store".to_owned()]).expect("a certificate");
        assert_eq!(told(&own.cert.pem()), None);
        for wrong in ["", "no PEM", &own.signing_key.serialize_pem()] {
            let why = told(wrong).expect("no authority");
            assert_eq!(why, "key ca.crt holds no certificate as PEM");
        }
    }
}
