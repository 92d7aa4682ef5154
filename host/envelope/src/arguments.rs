//! How a member's etcd would start on an empty disk: alone, as part of a birth, or as a joining member.
//!
//! Reads the two annotations that the pod's environment is filled from; [`crate::pod`] holds that nothing else sets them.

use std::collections::BTreeMap;

use contract::names::{INITIAL_CLUSTER_ANNOTATION, INITIAL_STATE_ANNOTATION};
use k8s_openapi::api::core::v1::Pod;

/// What the annotations say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialCluster {
    /// Neither annotation is touched.
    Untouched,
    /// State `new`: forms a cluster on an empty disk.
    New,
    /// State `existing` with others in the list: joins them on an empty disk.
    Joining,
    /// State `existing`, with nobody but itself: cannot start on an empty disk.
    Sealed,
    /// Only one of the two, or a word etcd does not know.
    Malformed,
}

impl InitialCluster {
    /// Of the member `name` with these annotations.
    pub(crate) fn new(name: &str, annotations: &BTreeMap<String, String>) -> Self {
        let state = annotations
            .get(INITIAL_STATE_ANNOTATION)
            .map(String::as_str);
        let list = annotations.get(INITIAL_CLUSTER_ANNOTATION);
        match (state, list) {
            (None, None) => Self::Untouched,
            (Some("new"), Some(_)) => Self::New,
            (Some("existing"), Some(list)) if is_alone(name, list) => Self::Sealed,
            (Some("existing"), Some(_)) => Self::Joining,
            (Some(_), _) | (None, Some(_)) => Self::Malformed,
        }
    }

    /// Of a pod as it would be written.
    pub(crate) fn of_pod(pod: &Pod) -> Self {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        pod.metadata
            .annotations
            .as_ref()
            .map_or(Self::Untouched, |annotations| Self::new(name, annotations))
    }

    /// It could join others on an empty disk.
    pub(crate) fn joins(self) -> bool {
        self == Self::Joining
    }
}

/// `--initial-cluster` is a list of `name=url`, one entry per URL.
fn is_alone(name: &str, list: &str) -> bool {
    !list.is_empty()
        && list.split(',').all(|entry| {
            entry
                .split_once('=')
                .is_some_and(|(member, _url)| member == name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(state: &str, list: &str) -> InitialCluster {
        let annotations = BTreeMap::from([
            (INITIAL_STATE_ANNOTATION.to_owned(), state.to_owned()),
            (INITIAL_CLUSTER_ANNOTATION.to_owned(), list.to_owned()),
        ]);
        InitialCluster::new("a-1", &annotations)
    }

    #[test]
    fn a_sealed_member_names_only_itself() {
        assert_eq!(
            read("existing", "a-1=http://a-1.a.ns.svc:2380"),
            InitialCluster::Sealed
        );
        assert_eq!(
            read("existing", "a-1=http://x:2380,a-1=http://y:2380"),
            InitialCluster::Sealed
        );
        assert_eq!(
            read("existing", "a-1=http://x:2380,a-2=http://y:2380"),
            InitialCluster::Joining
        );
        assert_eq!(read("existing", ""), InitialCluster::Joining);
        assert_eq!(
            read("existing", "a-2=http://y:2380"),
            InitialCluster::Joining
        );
    }

    #[test]
    fn half_an_answer_is_malformed() {
        assert_eq!(
            read("fresh", "a-1=http://x:2380"),
            InitialCluster::Malformed
        );
        let half = BTreeMap::from([(INITIAL_STATE_ANNOTATION.to_owned(), "new".to_owned())]);
        assert_eq!(InitialCluster::new("a-1", &half), InitialCluster::Malformed);
        assert_eq!(
            InitialCluster::new("a-1", &BTreeMap::new()),
            InitialCluster::Untouched
        );
    }
}
