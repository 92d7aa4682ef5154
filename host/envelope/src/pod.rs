//! What a member's pod may look like: etcd alone, its own data, no rights, and a start that the preconditions know of.
//!
//! The security context is that of the `restricted` Pod Security Standard, field by field, except where the spec
//! itself asks for another value.

use std::collections::BTreeMap;

use contract::{EtcdClusterSpec, ObjectKind, Resource, Snapshot, names};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, HTTPGetAction, Pod, PodSecurityContext, PodSpec, Probe,
    SecurityContext, Volume,
};

use crate::arguments::InitialCluster;
use crate::child::{OWN_PREFIX, field, only};
use crate::{Refusal, ResourceHead};

const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";
/// The variable from which a pod takes `--initial-cluster-state`.
const STATE_VARIABLE: &str = "ETCD_INITIAL_CLUSTER_STATE";
/// The variable from which a pod takes `--initial-cluster`.
const CLUSTER_VARIABLE: &str = "ETCD_INITIAL_CLUSTER";
/// Starts a member as a cluster of its own.
const FORCE_VARIABLE: &str = "ETCD_FORCE_NEW_CLUSTER";

/// Adds a refusal for everything that a member's pod may not be.
pub(crate) fn judge_pod(
    pod: &Pod,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let empty = PodSpec::default();
    let found = pod.spec.as_ref().unwrap_or(&empty);
    judge_fields(name, found, &snapshot.resource, refusals);
    judge_pod_security(name, found, spec, refusals);
    for volume in found.volumes.iter().flatten() {
        judge_volume(name, volume, spec, refusals);
    }
    match found.containers.as_slice() {
        [container] if container.name == names::ETCD_CONTAINER => {
            judge_container(name, container, spec, refusals);
            let image = container.image.as_deref().unwrap_or_default();
            judge_image(image, spec, Some(snapshot), refusals);
        }
        containers => {
            let what = containers
                .iter()
                .map(|container| container.name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            refusals.push(Refusal::Containers {
                name: name.to_owned(),
                what,
            });
        }
    }
    let what = match InitialCluster::of_pod(pod) {
        InitialCluster::New | InitialCluster::Joining | InitialCluster::Sealed => return,
        InitialCluster::Untouched => "without annotations etcd would start as `new`",
        InitialCluster::Malformed => "malformed annotations",
    };
    refusals.push(Refusal::Start {
        name: name.to_owned(),
        what: what.to_owned(),
    });
}

/// The image is `<repository>:<tag>` of the spec's repository. After an edit of the spec it may also be the image of
/// the birth plan, or one that a pod of the cluster has: those were judged when they were made.
pub(crate) fn judge_image(
    image: &str,
    spec: &EtcdClusterSpec,
    snapshot: Option<&Snapshot>,
    refusals: &mut Vec<Refusal>,
) {
    let repository = spec
        .repository
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_REPOSITORY);
    let tag = image
        .strip_prefix(repository)
        .and_then(|rest| rest.strip_prefix(':'));
    let is_asked = tag.is_some_and(|tag| {
        !tag.is_empty()
            && tag
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_'))
    });
    if !is_asked && !snapshot.is_some_and(|snapshot| is_in_use(image, snapshot)) {
        refusals.push(Refusal::Image {
            image: image.to_owned(),
            repository: repository.to_owned(),
        });
    }
}

fn is_in_use(image: &str, snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let birth = ResourceHead::of(resource).birth;
    let mut pods = snapshot.objects.pods.seen().into_iter().flatten();
    birth.is_some_and(|birth| birth.image == image)
        || pods.any(|pod| pod.owner.as_deref() == Some(&resource.uid) && pod.image == image)
}

/// Annotations a living pod may be given: those of the operator, and never the state `new`.
pub(crate) fn judge_pod_annotations(
    name: &str,
    annotations: &BTreeMap<String, String>,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::Pod;
    for key in annotations
        .keys()
        .filter(|key| !key.starts_with(OWN_PREFIX) && *key != names::VERSION_ANNOTATION)
    {
        refusals.push(Refusal::Annotation {
            kind,
            name: name.to_owned(),
            annotation: key.clone(),
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

fn judge_fields(name: &str, found: &PodSpec, resource: &Resource, refusals: &mut Vec<Refusal>) {
    let kind = ObjectKind::Pod;
    if found.automount_service_account_token != Some(false) {
        refusals.push(Refusal::ServiceAccountToken {
            name: name.to_owned(),
        });
    }
    if found.hostname.as_deref().is_some_and(|host| host != name) {
        refusals.push(field(kind, name, "spec.hostname"));
    }
    if found
        .subdomain
        .as_deref()
        .is_some_and(|subdomain| subdomain != names::peer_service(&resource.name))
    {
        refusals.push(field(kind, name, "spec.subdomain"));
    }
    if found
        .restart_policy
        .as_deref()
        .is_some_and(|policy| policy != "Always")
    {
        refusals.push(field(kind, name, "spec.restartPolicy"));
    }
    let allowed = PodSpec {
        affinity: found.affinity.clone(),
        automount_service_account_token: found.automount_service_account_token,
        containers: found.containers.clone(),
        enable_service_links: found.enable_service_links,
        hostname: found.hostname.clone(),
        node_selector: found.node_selector.clone(),
        restart_policy: found.restart_policy.clone(),
        security_context: found.security_context.clone(),
        subdomain: found.subdomain.clone(),
        termination_grace_period_seconds: found.termination_grace_period_seconds,
        tolerations: found.tolerations.clone(),
        topology_spread_constraints: found.topology_spread_constraints.clone(),
        volumes: found.volumes.clone(),
        ..PodSpec::default()
    };
    only(kind, name, "spec", found, &allowed, refusals);
}

/// `restricted` at the level of the pod.
fn judge_pod_security(
    name: &str,
    found: &PodSpec,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let none = PodSecurityContext::default();
    let context = found.security_context.as_ref().unwrap_or(&none);
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.security_context.as_ref());
    // A field is as people asked for it when they gave a context and it has that very value, also no value.
    let differs = |same: fn(&PodSecurityContext, &PodSecurityContext) -> bool| {
        !asked.is_some_and(|asked| same(asked, context))
    };
    let mut broken = |what: &'static str| {
        refusals.push(Refusal::PodSecurity {
            name: name.to_owned(),
            what,
        })
    };
    let own = found
        .containers
        .first()
        .and_then(|container| container.security_context.as_ref());

    let runs_as_root = own.and_then(|own| own.run_as_user).or(context.run_as_user) == Some(0);
    if runs_as_root && differs(|a, b| a.run_as_user == b.run_as_user) {
        broken("it runs as root");
    }
    let non_root = own
        .and_then(|own| own.run_as_non_root)
        .or(context.run_as_non_root)
        == Some(true);
    if !non_root && differs(|a, b| a.run_as_non_root == b.run_as_non_root) {
        broken("runAsNonRoot is not true");
    }
    let profile = own
        .and_then(|own| own.seccomp_profile.as_ref())
        .or(context.seccomp_profile.as_ref());
    let filtered = profile
        .is_some_and(|profile| matches!(profile.type_.as_str(), "RuntimeDefault" | "Localhost"));
    if !filtered && differs(|a, b| a.seccomp_profile == b.seccomp_profile) {
        broken("no seccomp profile");
    }
    if context.app_armor_profile.is_some()
        && differs(|a, b| a.app_armor_profile == b.app_armor_profile)
    {
        broken("an AppArmor profile of its own");
    }
    if context.se_linux_options.is_some()
        && differs(|a, b| a.se_linux_options == b.se_linux_options)
    {
        broken("SELinux options of its own");
    }
    if context
        .sysctls
        .as_ref()
        .is_some_and(|list| !list.is_empty())
        && differs(|a, b| a.sysctls == b.sysctls)
    {
        broken("it sets sysctls");
    }
    if context.windows_options.is_some() && differs(|a, b| a.windows_options == b.windows_options) {
        broken("it sets Windows options");
    }
}

/// Own claim, empty directory, or a Secret that the spec names.
fn judge_volume(pod: &str, volume: &Volume, spec: &EtcdClusterSpec, refusals: &mut Vec<Refusal>) {
    let Volume {
        name,
        empty_dir,
        persistent_volume_claim,
        secret,
        ..
    } = volume;
    let sources = Volume {
        name: name.clone(),
        empty_dir: empty_dir.clone(),
        persistent_volume_claim: persistent_volume_claim.clone(),
        secret: secret.clone(),
        ..Volume::default()
    };
    let is_own_claim = persistent_volume_claim
        .as_ref()
        .is_none_or(|claim| claim.claim_name == pod);
    let is_named = secret.as_ref().is_none_or(|secret| {
        secret
            .secret_name
            .as_deref()
            .is_some_and(|secret| named_secrets(spec).any(|named| named == secret))
    });
    if *volume != sources || !is_own_claim || !is_named {
        refusals.push(Refusal::Volume {
            name: pod.to_owned(),
            volume: name.clone(),
        });
    }
}

fn named_secrets(spec: &EtcdClusterSpec) -> impl Iterator<Item = &str> {
    let fixed = spec.tls.as_ref().and_then(|tls| tls.fixed.as_ref());
    let member = fixed.and_then(|fixed| fixed.member.as_ref());
    let secrets = [
        fixed.and_then(|fixed| fixed.operator_secret.as_deref()),
        member.and_then(|member| member.peer_secret.as_deref()),
        member.and_then(|member| member.server_secret.as_deref()),
    ];
    secrets.into_iter().flatten()
}

fn judge_container(
    pod: &str,
    container: &Container,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::Pod;
    let ports = container.ports.as_ref().map(|ports| {
        let mut ports = ports.clone();
        for port in &mut ports {
            (port.host_ip, port.host_port) = (None, None);
        }
        ports
    });
    let allowed = Container {
        args: container.args.clone(),
        command: container.command.clone(),
        env: container.env.clone(),
        image: container.image.clone(),
        image_pull_policy: container.image_pull_policy.clone(),
        liveness_probe: container.liveness_probe.as_ref().map(only_http),
        name: container.name.clone(),
        ports,
        readiness_probe: container.readiness_probe.as_ref().map(only_http),
        resources: container.resources.clone(),
        security_context: container.security_context.clone(),
        startup_probe: container.startup_probe.as_ref().map(only_http),
        termination_message_policy: container.termination_message_policy.clone(),
        volume_mounts: container.volume_mounts.clone(),
        ..Container::default()
    };
    only(
        kind,
        pod,
        "spec.containers[etcd]",
        container,
        &allowed,
        refusals,
    );
    judge_container_security(pod, container, refusals);
    judge_command(pod, container, refusals);
    judge_environment(pod, container, spec, refusals);
}

/// A probe that asks the pod itself over HTTP.
fn only_http(probe: &Probe) -> Probe {
    let http_get = probe.http_get.as_ref().map(|get| HTTPGetAction {
        host: None,
        http_headers: None,
        ..get.clone()
    });
    Probe {
        http_get,
        exec: None,
        grpc: None,
        tcp_socket: None,
        ..probe.clone()
    }
}

/// `restricted` at the level of the container; the spec has no say here.
fn judge_container_security(pod: &str, container: &Container, refusals: &mut Vec<Refusal>) {
    let none = SecurityContext::default();
    let context = container.security_context.as_ref().unwrap_or(&none);
    let mut broken = |what: &'static str| {
        refusals.push(Refusal::PodSecurity {
            name: pod.to_owned(),
            what,
        })
    };
    if context.privileged == Some(true) {
        broken("the container is privileged");
    }
    if context.allow_privilege_escalation != Some(false) {
        broken("allowPrivilegeEscalation is not false");
    }
    let capabilities = context.capabilities.as_ref();
    if !capabilities
        .and_then(|set| set.drop.as_ref())
        .is_some_and(|dropped| dropped.iter().any(|name| name == "ALL"))
    {
        broken("not all capabilities are dropped");
    }
    if capabilities
        .and_then(|set| set.add.as_ref())
        .is_some_and(|added| !added.is_empty())
    {
        broken("capabilities are added");
    }
    let exotic = context.proc_mount.is_some()
        || context.app_armor_profile.is_some()
        || context.se_linux_options.is_some()
        || context.windows_options.is_some();
    if exotic {
        broken("the container has an exotic security context");
    }
}

/// etcd with flags, and no flag that says how it starts on an empty disk: the annotations do.
fn judge_command(pod: &str, container: &Container, refusals: &mut Vec<Refusal>) {
    let mut words = container
        .command
        .iter()
        .flatten()
        .chain(container.args.iter().flatten())
        .peekable();
    if container
        .command
        .as_ref()
        .is_some_and(|command| !command.is_empty())
    {
        let program = words.next().map_or("", String::as_str);
        if !matches!(program, "etcd" | "/usr/local/bin/etcd") {
            refusals.push(Refusal::Start {
                name: pod.to_owned(),
                what: format!("the program {program:?}"),
            });
        }
    }
    for word in words {
        let flag = word
            .strip_prefix("--")
            .map(|flag| flag.split('=').next().unwrap_or(flag));
        let is_allowed = match flag {
            None => false,
            Some("initial-cluster-state") => word.ends_with(&format!("=$({STATE_VARIABLE})")),
            Some("initial-cluster") => word.ends_with(&format!("=$({CLUSTER_VARIABLE})")),
            Some("force-new-cluster" | "config-file" | "discovery" | "discovery-srv") => false,
            Some(_) => true,
        };
        if !is_allowed {
            refusals.push(Refusal::Start {
                name: pod.to_owned(),
                what: format!("the argument {word:?}"),
            });
        }
    }
}

/// Values, fields of the pod, and what `spec.pod.etcdEnv` has; the start is taken from the annotations.
fn judge_environment(
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
    for variable in found {
        if !reads_only_itself(variable) && !asked.contains(variable) {
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
    if found.iter().any(|variable| variable.name == FORCE_VARIABLE) {
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

fn field_path(variable: &EnvVar) -> Option<&str> {
    Some(&variable.value_from.as_ref()?.field_ref.as_ref()?.field_path)
}

fn reads_only_itself(variable: &EnvVar) -> bool {
    variable.value_from.as_ref().is_none_or(|source| {
        let EnvVarSource {
            field_ref,
            resource_field_ref,
            ..
        } = source;
        *source
            == EnvVarSource {
                field_ref: field_ref.clone(),
                resource_field_ref: resource_field_ref.clone(),
                ..EnvVarSource::default()
            }
    })
}
