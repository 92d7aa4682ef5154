//! The Deployment: one pod, restricted, with room for recordings and for compiled modules.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::rbac::NAME;

/// Where health, readiness and metrics are served.
const HTTP_PORT: i32 = 8080;
/// After so many seconds a Deployment whose pod does not get ready says so. OLM waits 300 s for one that has not said it, says
/// `install timeout` and begins anew, which leaves it no moment to go on to a release that mends it. A pod that gets ready
/// later counts all the same.
const PROGRESS_DEADLINE: i32 = 240;
/// Processors that published images are built for.
pub(crate) const ARCHES: [&str; 1] = ["amd64"];
/// Writable folders, by volume: what decisions saw and did, and compiled modules.
const FOLDERS: [(&str, &str, &str); 2] = [
    ("recordings", "/var/lib/binnacle", "1Gi"),
    ("modules", "/var/cache/binnacle", "256Mi"),
];

/// Labels of everything that belongs to the operator itself. None of them is a label of etcd members.
pub(crate) fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("app.kubernetes.io/name".to_owned(), NAME.to_owned())])
}

/// The namespaces that the operator serves, as its pod is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// Its own.
    Own,
    /// All.
    All,
    /// Those of the OperatorGroup, which OLM writes into an annotation of the pod.
    OperatorGroup,
    /// Those that the values of the Helm chart name.
    Chart,
}

/// The operator's Deployment.
pub(crate) fn deployment(namespace: &str, image: &str, served: Served) -> Deployment {
    Deployment {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels()),
            ..ObjectMeta::default()
        },
        spec: Some(spec(image, served)),
        status: None,
    }
}

/// What OLM makes a Deployment of: a published image, so only on nodes that it is built for.
pub(crate) fn under_olm(image: &str) -> DeploymentSpec {
    let mut spec = spec(image, Served::OperatorGroup);
    if let Some(pod) = &mut spec.template.spec {
        pod.affinity = Some(core::Affinity {
            node_affinity: Some(built_for()),
            ..core::Affinity::default()
        });
    }
    spec
}

fn built_for() -> core::NodeAffinity {
    let among = |label: &str, values: &[&str]| core::NodeSelectorRequirement {
        key: format!("kubernetes.io/{label}"),
        operator: "In".to_owned(),
        values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    core::NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(core::NodeSelector {
            node_selector_terms: vec![core::NodeSelectorTerm {
                match_expressions: Some(vec![among("arch", &ARCHES), among("os", &["linux"])]),
                ..core::NodeSelectorTerm::default()
            }],
        }),
        ..core::NodeAffinity::default()
    }
}

fn spec(image: &str, served: Served) -> DeploymentSpec {
    DeploymentSpec {
        replicas: Some(1),
        progress_deadline_seconds: Some(PROGRESS_DEADLINE),
        selector: LabelSelector {
            match_labels: Some(labels()),
            ..LabelSelector::default()
        },
        template: core::PodTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(labels()),
                ..ObjectMeta::default()
            }),
            spec: Some(pod(image, served)),
        },
        ..DeploymentSpec::default()
    }
}

fn pod(image: &str, served: Served) -> core::PodSpec {
    let volume = |(name, _, limit): (&str, &str, &str)| core::Volume {
        name: name.to_owned(),
        empty_dir: Some(core::EmptyDirVolumeSource {
            size_limit: Some(Quantity(limit.to_owned())),
            ..core::EmptyDirVolumeSource::default()
        }),
        ..core::Volume::default()
    };
    core::PodSpec {
        service_account_name: Some(NAME.to_owned()),
        containers: vec![container(image, served)],
        volumes: Some(FOLDERS.into_iter().map(volume).collect()),
        security_context: Some(core::PodSecurityContext {
            // The image names the user; where a platform gives each namespace users of its own, it may choose another.
            run_as_non_root: Some(true),
            seccomp_profile: Some(core::SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..core::SeccompProfile::default()
            }),
            ..core::PodSecurityContext::default()
        }),
        ..core::PodSpec::default()
    }
}

fn container(image: &str, served: Served) -> core::Container {
    let mount = |(name, path, _): (&str, &str, &str)| core::VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        ..core::VolumeMount::default()
    };
    core::Container {
        name: NAME.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(vec!["run".to_owned()]),
        env: Some(vec![
            from_field("MY_POD_NAME", "metadata.name"),
            from_field("MY_POD_NAMESPACE", "metadata.namespace"),
            watched(served),
            // Members that are restored fetch their backup in this very image.
            of_value("BINNACLE_OPERATOR_IMAGE", image),
            of_value("BINNACLE_CACHE_DIR", "/var/cache/binnacle/compiled"),
            // Pieces of backups come and go on all threads; the C library would keep memory for each of them
            // (<https://man7.org/linux/man-pages/man3/mallopt.3.html>).
            of_value("MALLOC_ARENA_MAX", "1"),
        ]),
        ports: Some(vec![core::ContainerPort {
            name: Some("http".to_owned()),
            container_port: HTTP_PORT,
            ..core::ContainerPort::default()
        }]),
        // Compiling the module for the first time takes seconds, and minutes on a node that has little time to spare.
        startup_probe: Some(core::Probe {
            failure_threshold: Some(150),
            ..probe("/healthz", 2)
        }),
        liveness_probe: Some(core::Probe {
            failure_threshold: Some(3),
            ..probe("/healthz", 10)
        }),
        readiness_probe: Some(probe("/readyz", 2)),
        resources: Some(core::ResourceRequirements {
            requests: Some(BTreeMap::from([
                ("cpu".to_owned(), Quantity("10m".to_owned())),
                ("memory".to_owned(), Quantity("32Mi".to_owned())),
            ])),
            ..core::ResourceRequirements::default()
        }),
        security_context: Some(core::SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(core::Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: None,
            }),
            ..core::SecurityContext::default()
        }),
        volume_mounts: Some(FOLDERS.into_iter().map(mount).collect()),
        // The last words of a crash belong where `kubectl describe pod` shows them.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..core::Container::default()
    }
}

fn watched(served: Served) -> core::EnvVar {
    const NAME: &str = "WATCH_NAMESPACE";
    match served {
        Served::Own => from_field(NAME, "metadata.namespace"),
        Served::All => of_value(NAME, ""),
        Served::Chart => of_value(NAME, "{{ include \"binnacle.served\" $ | toJson }}"),
        Served::OperatorGroup => from_field(NAME, "metadata.annotations['olm.targetNamespaces']"),
    }
}

fn of_value(name: &str, value: &str) -> core::EnvVar {
    core::EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}

fn from_field(name: &str, path: &str) -> core::EnvVar {
    core::EnvVar {
        name: name.to_owned(),
        value_from: Some(core::EnvVarSource {
            field_ref: Some(core::ObjectFieldSelector {
                field_path: path.to_owned(),
                api_version: None,
            }),
            ..core::EnvVarSource::default()
        }),
        ..core::EnvVar::default()
    }
}

fn probe(path: &str, period: i32) -> core::Probe {
    core::Probe {
        http_get: Some(core::HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("http".to_owned()),
            ..core::HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        ..core::Probe::default()
    }
}
