//! The kinds of custom resources that decisions are made on.
//!
//! Names only; what each of them holds is its own file's.

use std::fmt;

/// A kind of `etcd.database.coreos.com/v1beta2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A cluster.
    EtcdCluster,
    /// A backup of a cluster, taken once or again and again.
    EtcdBackup,
    /// The wish for a cluster to go on from a backup.
    EtcdRestore,
}

impl ResourceKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::EtcdCluster, Self::EtcdBackup, Self::EtcdRestore];

    /// The kind as Kubernetes spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EtcdCluster => crate::KIND,
            Self::EtcdBackup => "EtcdBackup",
            Self::EtcdRestore => "EtcdRestore",
        }
    }

    /// The resource name in URLs.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::EtcdCluster => crate::PLURAL,
            Self::EtcdBackup => "etcdbackups",
            Self::EtcdRestore => "etcdrestores",
        }
    }

    /// The kind of that name, if it is one of them.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
