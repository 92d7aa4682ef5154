//! Which resources in the watched namespaces are served, by the scope annotation of the archived coreos operator.
//!
//! Without that annotation on anything, every operator serves what its namespaces hold.

use contract::{Resource, names};

/// The rule by which a resource is served or left to another operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Whatever there is.
    #[default]
    Everything,
    /// What has no scope: an operator of some namespaces beside one of all.
    WithoutScope,
    /// What has the scope `clusterwide`: the old flag `-cluster-wide`.
    ClusterWide,
}

impl Selection {
    /// Why a resource is left alone, and what to do where that was not meant; none when it is served.
    #[must_use]
    pub fn why_not(self, resource: &Resource) -> Option<String> {
        let key = names::SCOPE_ANNOTATION;
        let scope = resource.annotations.get(key);
        let is_cluster_wide = scope.is_some_and(|scope| scope == names::CLUSTER_WIDE);
        match self {
            Self::Everything => None,
            Self::WithoutScope => scope.map(|scope| {
                format!(
                    "This operator serves some namespaces and leaves what has the annotation {key} to one that serves all of them. \
                     Its value here is {scope:?}; remove the annotation to have this served here."
                )
            }),
            Self::ClusterWide if is_cluster_wide => None,
            Self::ClusterWide => Some(format!(
                "This operator runs with -cluster-wide and serves that whose annotation {key} is {:?}; set it to have this served here.",
                names::CLUSTER_WIDE
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observe::project;

    fn scoped(value: Option<&str>) -> Resource {
        let mut object = json!({"apiVersion": "g/v", "kind": "K", "metadata": {"name": "kv", "namespace": "infra", "uid": "u"}});
        if let Some(value) = value {
            object["metadata"]["annotations"] = json!({ names::SCOPE_ANNOTATION: value });
        }
        project::resource(serde_json::from_value(object).expect("a resource"))
    }

    #[test]
    fn nothing_is_served_by_two_operators_of_the_archived_kind() {
        for (value, everything, some, all) in [
            (None, true, true, false),
            (Some("clusterwide"), true, false, true),
            (Some("banana"), true, false, false),
            (Some(""), true, false, false),
        ] {
            let resource = scoped(value);
            let serves = |selection: Selection| selection.why_not(&resource).is_none();
            assert_eq!(serves(Selection::Everything), everything, "{value:?}");
            assert_eq!(serves(Selection::WithoutScope), some, "{value:?}");
            assert_eq!(serves(Selection::ClusterWide), all, "{value:?}");
        }
    }
}
