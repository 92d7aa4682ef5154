//! The testbed's own certificate authority, the certificates of its parts, and kubeconfigs made of them.
//!
//! Every key is made anew with the testbed and goes with it.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// The folder of the authority and everything it signed.
pub(crate) struct Pki {
    folder: PathBuf,
    authority: Issuer<'static, KeyPair>,
}

/// Who a certificate is for, in Kubernetes' words.
pub(crate) struct Subject<'a> {
    pub(crate) user: &'a str,
    pub(crate) group: Option<&'a str>,
    /// Names and addresses under which it serves.
    pub(crate) serves: Vec<String>,
}

impl<'a> Subject<'a> {
    pub(crate) const fn user(user: &'a str) -> Self {
        Self {
            user,
            group: None,
            serves: Vec::new(),
        }
    }

    pub(crate) const fn in_group(user: &'a str, group: &'a str) -> Self {
        Self {
            user,
            group: Some(group),
            serves: Vec::new(),
        }
    }

    pub(crate) fn serving(self, names: &[&str], addresses: &[IpAddr]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned());
        let serves = names
            .chain(addresses.iter().map(IpAddr::to_string))
            .collect();
        Self { serves, ..self }
    }
}

impl Pki {
    /// Makes an authority and the key pair that signs service account tokens.
    pub(crate) fn make(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params
            .distinguished_name
            .push(DnType::CommonName, "binnacle testbed");
        let certificate = params.self_signed(&key)?;
        fs::write(folder.join("ca.crt"), certificate.pem())?;
        write_secret(&folder.join("ca.key"), &key.serialize_pem())?;
        let tokens = KeyPair::generate()?;
        write_secret(&folder.join("service-account.key"), &tokens.serialize_pem())?;
        fs::write(folder.join("service-account.pub"), tokens.public_key_pem())?;
        Ok(Self {
            folder,
            authority: Issuer::new(params, key),
        })
    }

    /// Signs a certificate for `subject` and writes it as `NAME.crt` and `NAME.key`.
    pub(crate) fn sign(&self, name: &str, subject: &Subject<'_>) -> Result<()> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(subject.serves.clone())?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, subject.user);
        if let Some(group) = subject.group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let certificate = params.signed_by(&key, &self.authority)?;
        fs::write(self.folder.join(format!("{name}.crt")), certificate.pem())?;
        write_secret(
            &self.folder.join(format!("{name}.key")),
            &key.serialize_pem(),
        )
    }

    /// Signs a client certificate and writes a kubeconfig that uses it.
    pub(crate) fn kubeconfig(
        &self,
        name: &str,
        subject: &Subject<'_>,
        server: &str,
        to: &Path,
    ) -> Result<()> {
        self.sign(name, subject)?;
        let user = json!({
            "client-certificate": self.folder.join(format!("{name}.crt")),
            "client-key": self.folder.join(format!("{name}.key")),
        });
        write_kubeconfig(to, server, &self.folder.join("ca.crt"), &user)
    }
}

/// Writes a kubeconfig for `user`, which is the user part of the format.
pub(crate) fn write_kubeconfig(
    to: &Path,
    server: &str,
    ca: &Path,
    user: &serde_json::Value,
) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
    });
    write_secret(to, &serde_json::to_string_pretty(&config)?)
}

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_secret(to: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let fresh = to.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let mut file = fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&fresh)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    fs::rename(fresh, to)?;
    Ok(())
}
