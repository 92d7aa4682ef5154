//! What certificates and keys say of themselves and of one another. Takes bytes and gives facts in words.
//!
//! Knows no Secret and no role, and does not judge validity in time: that is the reconciler's. Nothing of a key is ever in
//! an answer.

use std::net::IpAddr;

use contract::Millis;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use sha2::{Digest as _, Sha256};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// Hex digits of a fingerprint.
const FINGERPRINT: usize = 16;

/// Why a certificate or key is of no use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no PEM, or cut off.
    #[error("it holds no PEM-encoded {what}")]
    Pem {
        /// A certificate or a private key.
        what: &'static str,
    },
    /// The PEM holds something else than a certificate.
    #[error("its certificate cannot be read: {why}")]
    Malformed {
        /// The parser's words.
        why: String,
    },
    /// The key is another one's.
    #[error("it is not the key of the certificate in {certificate}")]
    OtherKey {
        /// The certificate's key in the Secret.
        certificate: &'static str,
    },
    /// The kind of key is not known here.
    #[error("a key of this kind cannot be used: {why}")]
    UnknownKey {
        /// The library's words.
        why: String,
    },
    /// Whoever will verify it would refuse it.
    #[error("{authority}, by which it will be verified, does not vouch for it ({why})")]
    NotVouchedFor {
        /// Where the authority is.
        authority: String,
        /// The verifier's word.
        why: String,
    },
}

/// What a PEM file of certificates says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The latest beginning.
    pub not_before: Millis,
    /// The end; see [`chain`] and [`authorities`].
    pub not_after: Millis,
    /// DNS names and addresses of the first one.
    pub names: Vec<String>,
    /// What each of them is known by, in the order of the file.
    pub fingerprints: Vec<String>,
}

/// What the other side uses a certificate for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To know a server.
    Server,
    /// To know a client.
    Client,
}

/// A certificate with those between it and its authority: valid while all of them are.
///
/// # Errors
/// There is none, or one that cannot be read.
pub fn chain(pem: &[u8]) -> Result<Facts, Error> {
    let all = facts(pem)?;
    let ends = all.iter().map(|facts| facts.not_after).min();
    first(all, ends)
}

/// A list of authorities: of use while one of them is valid.
///
/// # Errors
/// There is none, or one that cannot be read.
pub fn authorities(pem: &[u8]) -> Result<Facts, Error> {
    let all = facts(pem)?;
    let ends = all.iter().map(|facts| facts.not_after).max();
    first(all, ends)
}

fn first(all: Vec<Facts>, ends: Option<Millis>) -> Result<Facts, Error> {
    let fingerprints = all
        .iter()
        .flat_map(|facts| facts.fingerprints.clone())
        .collect();
    let found = all.into_iter().next().zip(ends);
    let (first, not_after) = found.ok_or(Error::Pem {
        what: "certificate",
    })?;
    Ok(Facts {
        not_after,
        fingerprints,
        ..first
    })
}

fn facts(pem: &[u8]) -> Result<Vec<Facts>, Error> {
    let malformed = |why: String| Error::Malformed { why };
    certificates(pem)?
        .iter()
        .map(|der| {
            let (_rest, certificate) =
                parse_x509_certificate(der).map_err(|error| malformed(error.to_string()))?;
            let validity = certificate.validity();
            let millis = |time: x509_parser::time::ASN1Time| Millis(time.timestamp() * 1000);
            let alternative = certificate
                .subject_alternative_name()
                .map_err(|error| malformed(error.to_string()))?;
            let names = alternative
                .iter()
                .flat_map(|extension| &extension.value.general_names);
            Ok(Facts {
                not_before: millis(validity.not_before),
                not_after: millis(validity.not_after),
                names: names.filter_map(spell).collect(),
                fingerprints: vec![fingerprint(der)],
            })
        })
        .collect()
}

/// The beginning of the sha-256 of a certificate: enough to tell it from others of the same person.
fn fingerprint(der: &CertificateDer<'_>) -> String {
    let digest = format!("{:x}", Sha256::digest(der));
    digest.chars().take(FINGERPRINT).collect()
}

fn spell(name: &GeneralName<'_>) -> Option<String> {
    if let GeneralName::DNSName(name) = name {
        return Some((*name).to_owned());
    }
    let GeneralName::IPAddress(bytes) = name else {
        return None;
    };
    let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
    address.ok().map(|address| address.to_string())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = Error::Pem {
        what: "certificate",
    };
    match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) | Err(_) => Err(wrong),
    }
}

/// Whether `key` is the private key of the first certificate in `pem`, which stands under the name `certificate`.
///
/// # Errors
/// It is not, or cannot be read.
pub fn key_matches(pem: &[u8], key: &[u8], certificate: &'static str) -> Result<(), Error> {
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Error::Pem {
        what: "private key",
    })?;
    let provider = rustls::crypto::ring::default_provider();
    match CertifiedKey::from_der(certificates(pem)?, key, &provider) {
        Ok(_pair) => Ok(()),
        Err(rustls::Error::InconsistentKeys(_)) => Err(Error::OtherKey { certificate }),
        Err(error) => Err(Error::UnknownKey {
            why: error.to_string(),
        }),
    }
}

/// Whether the authorities in `authorities`, which stand at `place`, vouch for the chain in `pem`. A certificate out of
/// its time passes: that is told by its dates.
///
/// # Errors
/// They do not.
pub fn is_vouched_for(
    pem: &[u8],
    authorities: &[u8],
    place: &str,
    usage: Usage,
    now: Millis,
) -> Result<(), Error> {
    match verify(&certificates(pem)?, &certificates(authorities)?, usage, now) {
        Ok(()) | Err(webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }) => {
            Ok(())
        }
        Err(error) => Err(Error::NotVouchedFor {
            authority: place.to_owned(),
            why: in_words(&error),
        }),
    }
}

/// Fingerprints of those among `authorities` that vouch for the chain in `pem`; none where one cannot be read.
#[must_use]
pub fn vouching(pem: &[u8], authorities: &[u8], usage: Usage, now: Millis) -> Vec<String> {
    let (Ok(chain), Ok(authorities)) = (certificates(pem), certificates(authorities)) else {
        return Vec::new();
    };
    authorities
        .iter()
        .filter(|authority| {
            let alone = std::slice::from_ref(*authority);
            verify(&chain, alone, usage, now).is_ok()
        })
        .map(fingerprint)
        .collect()
}

fn verify(
    chain: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
    usage: Usage,
    now: Millis,
) -> Result<(), webpki::Error> {
    let Some((leaf, between)) = chain.split_first() else {
        return Err(webpki::Error::BadDer);
    };
    let leaf = EndEntityCert::try_from(leaf)?;
    let anchors: Vec<_> = authorities
        .iter()
        .filter_map(|authority| anchor_from_trusted_cert(authority).ok())
        .collect();
    let seconds = u64::try_from(now.0 / 1000).unwrap_or_default();
    leaf.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        &anchors,
        between,
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)),
        match usage {
            Usage::Server => KeyUsage::server_auth(),
            Usage::Client => KeyUsage::client_auth(),
        },
        None,
        None,
    )
    .map(|_path| ())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "another crate's enum, of which these cases are worth a sentence"
)]
fn in_words(error: &webpki::Error) -> String {
    match error {
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            "it comes from another authority".to_owned()
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "its extended key usage does not allow it; issue it for both server and client authentication"
                .to_owned()
        }
        webpki::Error::CaUsedAsEndEntity => {
            "it is an authority's own certificate; issue one for the member".to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
