//! Where certificates are: keys of Secrets, volumes and paths of pods, and which of two layouts a Secret has.
//!
//! One layout is the archived coreos etcd-operator's, the other that of `kubernetes.io/tls` Secrets as cert-manager makes
//! them. Whether a certificate is any good is not said here.

use serde::{Deserialize, Serialize};

use crate::{MADE_FILES, TlsPolicy, names};

/// What a Secret with a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TlsRole {
    /// The traffic between members.
    Peer,
    /// The traffic with clients, at the member's side.
    Server,
    /// The operator as a client of the members.
    Operator,
}

/// The keys of a Secret that one role reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, with those between it and its authority.
    pub certificate: &'static str,
    /// Its private key.
    pub key: &'static str,
    /// The authorities that the other side's certificates must come from.
    pub authority: &'static str,
}

impl TlsRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Peer, Self::Server, Self::Operator];

    /// The keys as the archived operator named them.
    #[must_use]
    pub const fn old_files(self) -> TlsFiles {
        match self {
            Self::Peer => TlsFiles {
                certificate: "peer.crt",
                key: "peer.key",
                authority: "peer-ca.crt",
            },
            Self::Server => TlsFiles {
                certificate: "server.crt",
                key: "server.key",
                authority: "server-ca.crt",
            },
            Self::Operator => TlsFiles {
                certificate: "etcd-client.crt",
                key: "etcd-client.key",
                authority: "etcd-client-ca.crt",
            },
        }
    }

    /// The layout that a Secret with these keys has: the one of which it holds more, in doubt the old one.
    #[must_use]
    pub fn files(self, has: impl Fn(&str) -> bool) -> TlsFiles {
        let count = |files: TlsFiles| files.all().into_iter().filter(|key| has(key)).count();
        let old = self.old_files();
        if count(MADE_FILES) > count(old) {
            MADE_FILES
        } else {
            old
        }
    }

    /// The field of the spec that names the Secret.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Peer => "spec.TLS.static.member.peerSecret",
            Self::Server => "spec.TLS.static.member.serverSecret",
            Self::Operator => "spec.TLS.static.operatorSecret",
        }
    }

    /// The volume of a member's pod and where it is mounted. The operator's certificate is in no pod.
    #[must_use]
    pub const fn mount(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Peer => Some(("member-peer-tls", "/etc/etcdtls/member/peer-tls")),
            Self::Server => Some(("member-server-tls", "/etc/etcdtls/member/server-tls")),
            Self::Operator => None,
        }
    }
}

impl TlsFiles {
    /// The three keys.
    #[must_use]
    pub const fn all(self) -> [&'static str; 3] {
        [self.certificate, self.key, self.authority]
    }

    /// Both layouts of a role, in words for people.
    #[must_use]
    pub fn in_words(role: TlsRole) -> String {
        format!(
            "{}, or {}",
            role.old_files().all().join(", "),
            MADE_FILES.all().join(", ")
        )
    }
}

/// The Secrets that a cluster's traffic is secured with. None means plain text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TlsSecrets {
    /// Of the traffic between members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Of the members' side of the traffic with clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Of the operator as a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
}

impl TlsSecrets {
    /// Those that the policy of a cluster names, or those of the operator's own making; an empty name names nothing.
    #[must_use]
    pub fn of(policy: Option<&TlsPolicy>, cluster: &str) -> Self {
        if policy.is_some_and(|policy| policy.auto.is_some()) {
            let made = |role| Some(names::made_secret(cluster, role));
            return Self {
                peer: made(TlsRole::Peer),
                server: made(TlsRole::Server),
                operator: made(TlsRole::Operator),
            };
        }
        let fixed = policy.and_then(|policy| policy.fixed.as_ref());
        let member = fixed.and_then(|fixed| fixed.member.as_ref());
        let named = |name: Option<&String>| name.filter(|name| !name.is_empty()).cloned();
        Self {
            peer: named(member.and_then(|member| member.peer_secret.as_ref())),
            server: named(member.and_then(|member| member.server_secret.as_ref())),
            operator: named(fixed.and_then(|fixed| fixed.operator_secret.as_ref())),
        }
    }

    /// The Secret of one role.
    #[must_use]
    pub fn of_role(&self, role: TlsRole) -> Option<&str> {
        match role {
            TlsRole::Peer => self.peer.as_deref(),
            TlsRole::Server => self.server.as_deref(),
            TlsRole::Operator => self.operator.as_deref(),
        }
    }

    /// Whether everything is plain text.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        let Self {
            peer,
            server,
            operator,
        } = self;
        peer.is_none() && server.is_none() && operator.is_none()
    }
}

/// Whether a certificate's name stands for a host. A star stands for one label, see
/// <https://www.rfc-editor.org/rfc/rfc9525#section-6.3>.
#[must_use]
pub fn certificate_covers(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host) {
        return true;
    }
    let (Some(suffix), Some((_label, rest))) = (name.strip_prefix("*."), host.split_once('.'))
    else {
        return false;
    };
    suffix.eq_ignore_ascii_case(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(role: TlsRole, keys: &[&str]) -> &'static str {
        role.files(|key| keys.contains(&key)).certificate
    }

    #[test]
    fn the_layout_is_the_one_of_which_the_secret_holds_more() {
        assert_eq!(
            layout(TlsRole::Peer, &["tls.crt", "tls.key", "ca.crt"]),
            "tls.crt"
        );
        assert_eq!(
            layout(TlsRole::Server, &["server.crt", "server.key", "tls.crt"]),
            "server.crt"
        );
        assert_eq!(layout(TlsRole::Operator, &[]), "etcd-client.crt");
    }

    #[test]
    fn a_star_stands_for_one_label() {
        assert!(certificate_covers(
            "*.shop.prod.svc",
            "shop-1.shop.prod.svc"
        ));
        assert!(certificate_covers("*.shop.prod.svc", "*.shop.prod.svc"));
        assert!(certificate_covers(
            "SHOP-1.shop.prod.svc",
            "shop-1.shop.prod.svc"
        ));
        assert!(!certificate_covers("*.prod.svc", "shop-1.shop.prod.svc"));
        assert!(!certificate_covers(
            "shop-2.shop.prod.svc",
            "shop-1.shop.prod.svc"
        ));
    }
}
