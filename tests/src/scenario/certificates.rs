//! Authorities and certificates as people make them, and the Secrets they put them into.
//!
//! Keys live in the scenario's folder and in Secrets of its namespace, and go with them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde_json::{Value, json};

/// Who vouches for certificates.
pub struct Authority {
    /// Its own certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// Another one each time.
    pub fn make() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "somebody's authority");
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    /// A certificate for these names, for servers and clients alike.
    pub fn issue(&self, names: &[String]) -> Result<Issued> {
        self.sign(CertificateParams::new(names)?)
    }

    /// A certificate of this user of etcd.
    pub fn issue_to(&self, user: &str) -> Result<Issued> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        self.sign(params)
    }

    /// A certificate for these names that is valid from the first day of one year to the first day of another.
    pub fn issue_within(&self, names: &[String], years: Range<i32>) -> Result<Issued> {
        let mut params = CertificateParams::new(names)?;
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Issued> {
        let key = KeyPair::generate()?;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        Ok(Issued {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// The names that users of the archived operator were told to issue certificates for.
#[must_use]
pub fn names_of(cluster: &str, namespace: &str) -> Vec<String> {
    vec![
        format!("*.{cluster}.{namespace}.svc"),
        format!("*.{cluster}.{namespace}.svc.cluster.local"),
        format!("{cluster}-client.{namespace}.svc"),
        "localhost".to_owned(),
    ]
}

/// A Secret with the archived operator's keys, which begin with `prefix`.
#[must_use]
pub fn old_secret(name: &str, prefix: &str, issued: &Issued, trusted: &Authority) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {
            format!("{prefix}.crt"): issued.certificate,
            format!("{prefix}.key"): issued.key,
            format!("{prefix}-ca.crt"): trusted.certificate,
        },
    })
}

/// A Secret as cert-manager makes it.
#[must_use]
pub fn kubernetes_secret(name: &str, issued: &Issued, trusted: &Authority) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name},
        "stringData": {
            "tls.crt": issued.certificate,
            "tls.key": issued.key,
            "ca.crt": trusted.certificate,
        },
    })
}

/// A client's files, for programs that take their certificates from there.
#[derive(Clone, Debug)]
pub struct ClientFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl ClientFiles {
    /// Writes them into `folder`.
    pub fn write(folder: &Path, issued: &Issued) -> Result<Self> {
        let files = Self {
            certificate: folder.join("client.crt"),
            key: folder.join("client.key"),
        };
        fs::write(&files.certificate, &issued.certificate)?;
        fs::write(&files.key, &issued.key)?;
        Ok(files)
    }

    /// As flags of etcdctl. It dials addresses of pods, which no certificate names; who verifies members is tested by
    /// clients of their own.
    pub(crate) fn flags(&self) -> [String; 3] {
        [
            format!("--cert={}", self.certificate.display()),
            format!("--key={}", self.key.display()),
            "--insecure-skip-tls-verify".to_owned(),
        ]
    }
}
