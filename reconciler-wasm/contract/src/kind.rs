//! The kinds of custom resources that decisions are made on.
//!
//! Names only; what each of them holds is its own file's.

use std::fmt;

use crate::Dialect;

/// A kind of a dialect; the dialects mostly have the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A cluster.
    EtcdCluster,
    /// A backup of a cluster, taken once or again and again.
    EtcdBackup,
    /// The wish for a cluster to go on from a backup.
    EtcdRestore,
    /// Backups that are made again and again, each an `EtcdBackup` of its own; of the second dialect alone.
    EtcdBackupSchedule,
}

impl ResourceKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::EtcdCluster,
        Self::EtcdBackup,
        Self::EtcdRestore,
        Self::EtcdBackupSchedule,
    ];

    /// Whether this dialect has the kind.
    #[must_use]
    pub const fn is_of(self, dialect: Dialect) -> bool {
        match self {
            Self::EtcdCluster | Self::EtcdBackup | Self::EtcdRestore => true,
            Self::EtcdBackupSchedule => matches!(dialect, Dialect::Improbable),
        }
    }

    /// The kind as Kubernetes spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EtcdCluster => crate::KIND,
            Self::EtcdBackup => "EtcdBackup",
            Self::EtcdRestore => "EtcdRestore",
            Self::EtcdBackupSchedule => "EtcdBackupSchedule",
        }
    }

    /// The resource name in URLs.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::EtcdCluster => crate::PLURAL,
            Self::EtcdBackup => "etcdbackups",
            Self::EtcdRestore => "etcdrestores",
            Self::EtcdBackupSchedule => "etcdbackupschedules",
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
