//! The name of one custom resource among all: kind, namespace and name.
//!
//! Knows nothing of UIDs: a resource that is deleted and made again has the same key.

use std::fmt;

use contract::ResourceKind;

/// Kind, namespace and name of a custom resource; mostly of an `EtcdCluster`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    /// `kind`.
    pub kind: ResourceKind,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl ClusterKey {
    /// The resource of that name.
    #[must_use]
    pub fn new(kind: ResourceKind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
