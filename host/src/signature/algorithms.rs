//! The algorithms that Sigstore's crates judge with: those that TLS brought along, so that there is one such library in the
//! program.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use rustls_pki_types::SignatureVerificationAlgorithm;
use sha2::{Digest, Sha256, Sha384, Sha512};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;
use webpki::ring;

/// Has Sigstore's crates use these. To be called before any of them is.
pub(super) fn install() {
    // Whoever did it before did the same.
    let _ = install_default_provider(&Algorithms);
}

#[derive(Debug)]
struct Algorithms;

struct Hashing<D>(D);

impl<D: Digest + Send> HashContext for Hashing<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

impl CryptoProvider for Algorithms {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        match algorithm {
            HashAlgorithm::Sha2256 => Ok(Box::new(Hashing(Sha256::new()))),
            HashAlgorithm::Sha2384 => Ok(Box::new(Hashing(Sha384::new()))),
            HashAlgorithm::Sha2512 => Ok(Box::new(Hashing(Sha512::new()))),
            _ => Err(Error::UnsupportedAlgorithm(algorithm.to_string())),
        }
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let verified = algorithm(scheme)?.verify_signature(key, data, signature);
        verified.map_err(|_| invalid(scheme))
    }

    /// Only of the kind that Fulcio's certificates are for: the library of TLS verifies no digests.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        if scheme != SigningScheme::EcdsaP256Sha256 {
            return Err(Error::UnsupportedAlgorithm(scheme.name().to_owned()));
        }
        let key = VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid(scheme))?;
        let signature = Signature::from_der(signature).map_err(|_| invalid(scheme))?;
        let verified = key.verify_prehash(digest, &signature);
        verified.map_err(|_| invalid(scheme))
    }
}

fn algorithm(scheme: SigningScheme) -> Result<&'static dyn SignatureVerificationAlgorithm> {
    match scheme {
        SigningScheme::EcdsaP256Sha256 => Ok(ring::ECDSA_P256_SHA256),
        SigningScheme::EcdsaP256Sha384 => Ok(ring::ECDSA_P256_SHA384),
        SigningScheme::EcdsaP384Sha256 => Ok(ring::ECDSA_P384_SHA256),
        SigningScheme::EcdsaP384Sha384 => Ok(ring::ECDSA_P384_SHA384),
        SigningScheme::Ed25519 => Ok(ring::ED25519),
        SigningScheme::RsaPkcs1Sha256 => Ok(ring::RSA_PKCS1_2048_8192_SHA256),
        SigningScheme::RsaPkcs1Sha384 => Ok(ring::RSA_PKCS1_2048_8192_SHA384),
        SigningScheme::RsaPkcs1Sha512 => Ok(ring::RSA_PKCS1_2048_8192_SHA512),
        SigningScheme::RsaPssSha256 => Ok(ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY),
        SigningScheme::RsaPssSha384 => Ok(ring::RSA_PSS_2048_8192_SHA384_LEGACY_KEY),
        SigningScheme::RsaPssSha512 => Ok(ring::RSA_PSS_2048_8192_SHA512_LEGACY_KEY),
        SigningScheme::MlDsa44 | SigningScheme::MlDsa65 | SigningScheme::MlDsa87 | _ => {
            Err(Error::UnsupportedAlgorithm(scheme.name().to_owned()))
        }
    }
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!(
        "it is no signature of that key ({})",
        scheme.name()
    ))
}
