//! The authority, and the certificates it gives to identities for ten minutes.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType, SerialNumber,
};
use time::{Duration, OffsetDateTime};

use crate::{Sigstore, hours, id, key, now, sha256, signed};

/// Who said who somebody is, in the form of today.
const ISSUER: [u64; 9] = [1, 3, 6, 1, 4, 1, 57264, 1, 8];
/// Proof that a certificate was logged.
const LOGGED: [u64; 10] = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];

/// A root and the authority below it.
pub(crate) struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
    intermediate: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate to be.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Who said who it is.
    pub issuer: String,
    /// Who it is: an address, or what looks like one of the web.
    pub subject: String,
    /// When its ten minutes begin.
    pub begins: OffsetDateTime,
    /// Whether it may sign code.
    pub signs_code: bool,
    /// Whether it is logged.
    pub is_logged: bool,
}

impl Leaf {
    /// One that began a few minutes ago.
    #[must_use]
    pub fn new(issuer: &str, subject: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            begins: now() - Duration::minutes(5),
            signs_code: true,
            is_logged: true,
        }
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let root = CertifiedIssuer::self_signed(params("root"), key());
        let Ok(root) = root else {
            panic!("no root: {:?}", root.err());
        };
        let intermediate = CertifiedIssuer::signed_by(params("intermediate"), key(), &root);
        let Ok(intermediate) = intermediate else {
            panic!("no authority: {:?}", intermediate.err());
        };
        Self { root, intermediate }
    }

    /// Both certificates, the nearer one first.
    pub(crate) fn chain(&self) -> [&[u8]; 2] {
        [self.intermediate.der(), self.root.der()]
    }

    /// Both in PEM.
    pub(crate) fn pem(&self) -> String {
        self.intermediate.pem() + &self.root.pem()
    }
}

impl Sigstore {
    /// A certificate for that key, in DER and PEM.
    pub(crate) fn certify(&self, leaf: &Leaf, key: &KeyPair) -> (Vec<u8>, String) {
        let signed_by = |proof: Option<CustomExtension>| {
            let mut params = leaf.params();
            params.custom_extensions.extend(proof);
            match params.signed_by(key, &self.authority.intermediate) {
                Ok(certificate) => certificate,
                Err(error) => panic!("no certificate: {error}"),
            }
        };
        let before = signed_by(None);
        let proof = leaf.is_logged.then(|| {
            let issuer = sha256(&self.authority.intermediate.key().subject_public_key_info());
            self.logged(&issuer, to_be_signed(before.der()), leaf.begins)
        });
        let certificate = signed_by(proof);
        (certificate.der().to_vec(), certificate.pem())
    }

    /// The proof that the log of certificates has one, as RFC 6962 wants it.
    fn logged(&self, issuer: &[u8], certificate: &[u8], at: OffsetDateTime) -> CustomExtension {
        let millis = (at.unix_timestamp() * 1000).to_be_bytes();
        let length = length(certificate.len());
        // Version and kind of what is signed, and that it is a certificate to be.
        let message = [
            &[0, 0],
            &millis[..],
            &[0, 1],
            issuer,
            &length[1..],
            certificate,
            &[0, 0],
        ]
        .concat();
        let signature = signed(&self.certificates, &message);
        let size = |bytes: &[u8]| length_of(bytes)[2..].to_vec();
        // SHA-256 with ECDSA.
        let entry = [
            &[0],
            &id(&self.certificates)[..],
            &millis,
            &[0, 0, 4, 3],
            &size(&signature),
            &signature,
        ]
        .concat();
        let entry = [size(&entry), entry].concat();
        let list = [size(&entry), entry].concat();
        CustomExtension::from_oid_content(&LOGGED, tagged(0x04, &list))
    }
}

impl Leaf {
    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.not_before = self.begins;
        params.not_after = self.begins + Duration::minutes(10);
        params.serial_number = Some(SerialNumber::from(4_711));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![if self.signs_code {
            ExtendedKeyUsagePurpose::CodeSigning
        } else {
            ExtendedKeyUsagePurpose::ServerAuth
        }];
        let subject = self.subject.as_str().try_into();
        params.subject_alt_names = subject
            .map(|subject| {
                vec![if self.subject.contains("://") {
                    SanType::URI(subject)
                } else {
                    SanType::Rfc822Name(subject)
                }]
            })
            .unwrap_or_default();
        let issuer = tagged(0x0c, self.issuer.as_bytes());
        params.custom_extensions = vec![CustomExtension::from_oid_content(&ISSUER, issuer)];
        params
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = now() - hours(24 * 365);
    params.not_after = now() + hours(24 * 365);
    params
}

/// What of a certificate is signed. Both are so long that their lengths take two bytes behind the one that says so.
fn to_be_signed(certificate: &[u8]) -> &[u8] {
    let inner = &certificate[4..];
    let length = usize::from(u16::from_be_bytes([inner[2], inner[3]]));
    &inner[..4 + length]
}

/// A value in DER.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., second, first] = length_of(content);
    let length = match content.len() {
        0..0x80 => vec![first],
        0x80..0x100 => vec![0x81, first],
        _ => vec![0x82, second, first],
    };
    [&[tag], &length[..], content].concat()
}

fn length_of(bytes: &[u8]) -> [u8; 4] {
    length(bytes.len())
}

fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or_default().to_be_bytes()
}
