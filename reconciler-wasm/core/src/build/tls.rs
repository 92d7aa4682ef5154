//! What a member's pod needs to speak TLS: the Secrets' volumes, read-only, and etcd's flags.
//!
//! Peers and clients are independent of one another. The port for probes and metrics stays plain HTTP: it shows neither
//! keys nor values, and the kubelet has no certificate to show.

use contract::{TlsFiles, TlsRole};
use k8s_openapi::api::core::v1::{SecretVolumeSource, Volume, VolumeMount};

use crate::tls::Tls;

struct Mount<'a> {
    role: TlsRole,
    secret: &'a str,
    files: TlsFiles,
    volume: &'static str,
    path: &'static str,
}

fn all(tls: &Tls) -> impl Iterator<Item = Mount<'_>> {
    TlsRole::ALL.into_iter().filter_map(|role| {
        let (volume, path) = role.mount()?;
        Some(Mount {
            role,
            secret: tls.in_use.of_role(role)?,
            files: tls.files(role)?,
            volume,
            path,
        })
    })
}

pub(super) fn volumes(tls: &Tls) -> Vec<Volume> {
    all(tls)
        .map(|mount| Volume {
            name: mount.volume.to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(mount.secret.to_owned()),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        })
        .collect()
}

pub(super) fn mounts(tls: &Tls) -> Vec<VolumeMount> {
    all(tls)
        .map(|mount| VolumeMount {
            name: mount.volume.to_owned(),
            mount_path: mount.path.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        })
        .collect()
}

pub(super) fn flags(tls: &Tls) -> Vec<String> {
    all(tls)
        .flat_map(|mount| {
            let prefix = match mount.role {
                TlsRole::Peer => "peer-",
                TlsRole::Server | TlsRole::Operator => "",
            };
            let file = |flag: &str, key: &str| format!("--{prefix}{flag}={}/{key}", mount.path);
            [
                file("cert-file", mount.files.certificate),
                file("key-file", mount.files.key),
                file("trusted-ca-file", mount.files.authority),
                format!("--{prefix}client-cert-auth"),
            ]
        })
        .collect()
}
