//! The name of one custom resource among all: dialect, kind, namespace and name.
//!
//! Knows nothing of UIDs: a resource that is deleted and made again has the same key.

use std::fmt;

use contract::{Dialect, Resource, ResourceKind};

/// Dialect, kind, namespace and name of a custom resource; mostly of an `EtcdCluster`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    /// Whose group it is of.
    pub dialect: Dialect,
    /// `kind`.
    pub kind: ResourceKind,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl ClusterKey {
    /// The resource of that name in the first dialect.
    #[must_use]
    pub fn new(kind: ResourceKind, namespace: &str, name: &str) -> Self {
        Self {
            dialect: Dialect::Coreos,
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The resource of that name in the dialect and namespace of another one.
    #[must_use]
    pub fn beside(other: &Self, kind: ResourceKind, name: &str) -> Self {
        Self {
            dialect: other.dialect,
            ..Self::new(kind, &other.namespace, name)
        }
    }

    /// The key of the cluster that this is.
    #[must_use]
    pub fn of_cluster(cluster: &Resource) -> Self {
        Self {
            dialect: cluster.dialect(),
            ..Self::new(ResourceKind::EtcdCluster, &cluster.namespace, &cluster.name)
        }
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
