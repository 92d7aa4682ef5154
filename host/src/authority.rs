//! Makes authorities and certificates. Takes the time and gives PEM; knows no Secret.
//!
//! Every key is made for one certificate and goes with it.

use std::time::Duration;

use contract::Millis;
use envelope::CLOCKS_DIFFER;
use pem::{EncodeConfig, LineEnding};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::OffsetDateTime;

/// How long an authority lasts.
const AUTHORITY: Duration = Duration::from_secs(3650 * 86_400);
/// How long a certificate lasts.
const CERTIFICATE: Duration = Duration::from_secs(90 * 86_400);
/// How far clocks may differ.
const SKEW: Duration = Duration::from_millis(CLOCKS_DIFFER.unsigned_abs());

/// Why nothing could be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that no certificate can hold, or an authority that cannot be read.
    #[error("the certificate cannot be made")]
    Make(#[from] rcgen::Error),
    /// The time is not one that certificates know.
    #[error("{0:?} is no time for a certificate")]
    Time(Millis),
}

/// A certificate with its private key, as PEM. It has no `Debug`, so that nobody prints it.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// Who shows a certificate to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To those who dial it, and to those it dials.
    Both,
    /// To those it dials.
    Client,
}

/// An authority of this name.
///
/// # Errors
/// The library refuses.
pub fn found(name: &str, now: Millis) -> Result<Pair, Error> {
    let key = KeyPair::generate()?;
    let mut params = params(name, &[], now, AUTHORITY)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(Pair {
        certificate: params.self_signed(&key)?.pem(),
        key: key.serialize_pem(),
    })
}

/// A certificate of `authority` for `names`.
///
/// # Errors
/// The library refuses.
pub fn sign(
    authority: &Pair,
    subject: &str,
    names: &[String],
    usage: Use,
    now: Millis,
) -> Result<Pair, Error> {
    let signing = KeyPair::from_pem(&authority.key)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, signing)?;
    let key = KeyPair::generate()?;
    let mut params = params(subject, names, now, CERTIFICATE)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = match usage {
        Use::Both => vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ],
        Use::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
    };
    Ok(Pair {
        certificate: params.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
    })
}

/// The pairs of two PEM lists, in their order; none where they do not belong together.
#[must_use]
pub fn pairs(certificates: &str, keys: &str) -> Option<Vec<Pair>> {
    let (certificates, keys) = (blocks(certificates), blocks(keys));
    let is_whole = !certificates.is_empty() && certificates.len() == keys.len();
    is_whole.then(|| {
        let pairs = certificates.into_iter().zip(keys);
        pairs
            .map(|(certificate, key)| Pair { certificate, key })
            .collect()
    })
}

fn blocks(text: &str) -> Vec<String> {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    let blocks = pem::parse_many(text).unwrap_or_default();
    blocks
        .iter()
        .map(|block| pem::encode_config(block, config))
        .collect()
}

fn params(
    name: &str,
    names: &[String],
    now: Millis,
    lasts: Duration,
) -> Result<CertificateParams, Error> {
    let at = OffsetDateTime::from_unix_timestamp(now.0 / 1000).map_err(|_| Error::Time(now))?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = at - SKEW;
    params.not_after = at + lasts;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{self, Usage};

    const NOW: Millis = Millis(1_795_000_000_000);

    #[test]
    fn what_an_authority_signs_is_vouched_for_by_it_alone() {
        let (own, other) = (
            found("own", NOW).expect("an authority"),
            found("other", NOW).expect("an authority"),
        );
        let names = ["*.shop.prod.svc".to_owned()];
        let made = sign(&own, "shop", &names, Use::Both, NOW).expect("a certificate");
        let check = |authority: &Pair, usage| {
            let (pem, by) = (
                made.certificate.as_bytes(),
                authority.certificate.as_bytes(),
            );
            certificate::is_vouched_for(pem, by, "there", usage, NOW)
        };
        assert_eq!(check(&own, Usage::Server), Ok(()));
        assert_eq!(check(&own, Usage::Client), Ok(()));
        assert!(check(&other, Usage::Server).is_err());
        let matches =
            certificate::key_matches(made.certificate.as_bytes(), made.key.as_bytes(), "tls.crt");
        assert_eq!(matches, Ok(()));
        let facts = certificate::chain(made.certificate.as_bytes()).expect("facts");
        assert_eq!(facts.names, names);
        assert_eq!(facts.not_after, Millis(NOW.0 + 90 * 86_400_000));
    }

    #[test]
    fn lists_are_taken_apart_in_their_order() {
        let (one, two) = (
            found("one", NOW).expect("an authority"),
            found("two", NOW).expect("an authority"),
        );
        let certificates = format!("{}{}", one.certificate, two.certificate);
        let keys = format!("{}{}", one.key, two.key);
        let pairs = pairs(&certificates, &keys).expect("pairs");
        assert_eq!(pairs.len(), 2);
        assert!(pairs[0].certificate == one.certificate && pairs[1].key == two.key);
        assert!(super::pairs(&certificates, &one.key).is_none());
        assert!(super::pairs("", "").is_none());
    }

    #[test]
    fn a_clients_certificate_serves_nobody() {
        let own = found("own", NOW).expect("an authority");
        let made = sign(&own, "operator", &[], Use::Client, NOW).expect("a certificate");
        let (pem, by) = (made.certificate.as_bytes(), own.certificate.as_bytes());
        assert!(certificate::is_vouched_for(pem, by, "there", Usage::Server, NOW).is_err());
        assert!(certificate::is_vouched_for(pem, by, "there", Usage::Client, NOW).is_ok());
    }
}
