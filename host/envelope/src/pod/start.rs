//! How a member's etcd starts: nothing but the two annotations may say what it does on an empty disk.
//!
//! The preconditions are read off the annotations ([`crate::arguments`]); a flag or a variable beside them would get
//! around all of them.

use std::collections::BTreeMap;

use contract::{EtcdClusterSpec, EtcdSettings, ObjectKind, names};
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod};

use super::command::is_made;
use crate::Refusal;
use crate::address::Addresses;
use crate::arguments::InitialCluster;
use crate::child::OWN_PREFIX;

/// The variable from which a pod takes `--initial-cluster-state`.
pub(super) const STATE_VARIABLE: &str = "ETCD_INITIAL_CLUSTER_STATE";
/// The variable from which a pod takes `--initial-cluster`.
pub(super) const CLUSTER_VARIABLE: &str = "ETCD_INITIAL_CLUSTER";
/// Starts a member as a cluster of its own.
const FORCE_VARIABLE: &str = "ETCD_FORCE_NEW_CLUSTER";

/// A pod is made with the annotations of one of the three starts.
pub(super) fn judge_start(
    pod: &Pod,
    name: &str,
    addresses: Addresses<'_>,
    refusals: &mut Vec<Refusal>,
) {
    if let Some(annotations) = &pod.metadata.annotations {
        judge_list(name, annotations, addresses, refusals);
    }
    let what = match InitialCluster::of_pod(pod) {
        InitialCluster::Sealed => return,
        InitialCluster::New | InitialCluster::Joining if is_alone(pod) => {
            "the only member starts from its own disk"
        }
        InitialCluster::New | InitialCluster::Joining => return,
        InitialCluster::Untouched => "without annotations etcd would start as `new`",
        InitialCluster::Malformed => "malformed annotations",
    };
    refusals.push(Refusal::Start {
        name: name.to_owned(),
        what: what.to_owned(),
    });
}

/// Whoever a member is to find on an empty disk is a member, where members are.
fn judge_list(
    name: &str,
    annotations: &BTreeMap<String, String>,
    addresses: Addresses<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let list = annotations.get(names::INITIAL_CLUSTER_ANNOTATION);
    if let Some(entry) = list.and_then(|list| addresses.stranger(list)) {
        refusals.push(Refusal::PeerUrl {
            member: name.to_owned(),
            url: entry.to_owned(),
        });
    }
}

/// Whether the pod starts as the only member of its cluster.
pub(crate) fn is_alone(pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(names::FORCE_NEW_CLUSTER_ANNOTATION))
        .is_some_and(|flag| !flag.is_empty())
}

/// Annotations a living pod may be given: those of the operator, and never the state `new`.
pub(crate) fn judge_pod_annotations(
    name: &str,
    annotations: &BTreeMap<String, String>,
    addresses: Addresses<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::Pod;
    judge_list(name, annotations, addresses, refusals);
    // Whom a member trusts was settled when it was started.
    let is_settled = |key: &String| key == names::AUTHORITIES_ANNOTATION;
    for key in annotations.keys().filter(|key| {
        is_settled(key) || (!key.starts_with(OWN_PREFIX) && *key != names::VERSION_ANNOTATION)
    }) {
        refusals.push(Refusal::Annotation {
            kind,
            name: name.to_owned(),
            annotation: key.clone(),
        });
    }
    let is_forced = annotations
        .get(names::FORCE_NEW_CLUSTER_ANNOTATION)
        .is_some_and(|flag| !flag.is_empty());
    if is_forced {
        refusals.push(Refusal::Start {
            name: name.to_owned(),
            what: "a living pod is never set to start as the only member".to_owned(),
        });
    }
    let what = match InitialCluster::new(name, annotations) {
        InitialCluster::Untouched | InitialCluster::Joining | InitialCluster::Sealed => return,
        InitialCluster::New => "a living pod is never set to `new`",
        InitialCluster::Malformed => "initial cluster and state are set together",
    };
    refusals.push(Refusal::Start {
        name: name.to_owned(),
        what: what.to_owned(),
    });
}

/// What `spec.pod.etcdEnv` has, what `spec.etcd` says, which goes before, and the start, which is taken from the annotations.
/// Settings that the command line makes are in none of them: etcd refuses to start with both.
pub(super) fn judge_environment(
    pod: &str,
    container: &Container,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let none = Vec::new();
    let found = container.env.as_ref().unwrap_or(&none);
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.etcd_env.as_ref())
        .unwrap_or(&none);
    let settings = spec.etcd.as_ref().map(EtcdSettings::variables);
    let typed = settings.and_then(Result::ok).unwrap_or_default();
    let is_asked = |variable: &EnvVar| {
        let same = typed.iter().find(|(_, typed)| typed.name == variable.name);
        same.map_or_else(|| asked.contains(variable), |(_, typed)| typed == variable)
    };
    for variable in found {
        let says_start =
            [STATE_VARIABLE, CLUSTER_VARIABLE, FORCE_VARIABLE].contains(&variable.name.as_str());
        if !says_start && (!is_asked(variable) || is_made(&variable.name)) {
            refusals.push(Refusal::Environment {
                name: pod.to_owned(),
                variable: variable.name.clone(),
            });
        }
    }
    let start = |what: String| Refusal::Start {
        name: pod.to_owned(),
        what,
    };
    let force = format!(
        "metadata.annotations['{}']",
        names::FORCE_NEW_CLUSTER_ANNOTATION
    );
    if found
        .iter()
        .any(|variable| variable.name == FORCE_VARIABLE && field_path(variable) != Some(&force))
    {
        refusals.push(start(format!("the variable {FORCE_VARIABLE}")));
    }
    let sources = [
        (STATE_VARIABLE, names::INITIAL_STATE_ANNOTATION),
        (CLUSTER_VARIABLE, names::INITIAL_CLUSTER_ANNOTATION),
    ];
    for (variable, annotation) in sources {
        let mut set = found.iter().filter(|found| found.name == variable);
        // With two of one name the last one counts, so there must be one.
        let is_from_annotation = match (set.next(), set.next()) {
            (Some(single), None) => {
                field_path(single) == Some(format!("metadata.annotations['{annotation}']").as_str())
            }
            (_, _) => false,
        };
        if !is_from_annotation {
            refusals.push(start(format!(
                "{variable} does not come from the annotation {annotation}"
            )));
        }
    }
}

/// The field of its own pod that the variable is read from, and from nothing else.
fn field_path(variable: &EnvVar) -> Option<&str> {
    let source = variable.value_from.as_ref()?;
    let is_alone = variable.value.is_none()
        && source.secret_key_ref.is_none()
        && source.config_map_key_ref.is_none()
        && source.resource_field_ref.is_none();
    let field = source.field_ref.as_ref().filter(|_| is_alone)?;
    Some(&field.field_path)
}
