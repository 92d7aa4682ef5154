//! How the kubelet may ask a member how it does: at its metrics port, with an end that a healthy member does not meet.
//!
//! What asks for a quorum kills nobody, and what kills leaves a busy member time: as much as the spec says, if it does.
//! Does not know what etcd answers.

use contract::{EtcdClusterSpec, ProbePolicy, names};
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use semver::Version;

use crate::Refusal;

/// Seconds without an answer after which a member may be killed, at the earliest.
const PATIENCE: i32 = 30;
/// Seconds until a member that answers again must be asked again, and until one that does not must be found out.
const LONGEST: i32 = 60;

pub(super) fn judge_probes(
    pod: &str,
    container: &Container,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let tells_apart = has_livez(container.image.as_deref().unwrap_or_default());
    let asked = spec.pod.as_ref().and_then(|pod| pod.probes.as_ref());
    let none = ProbePolicy::default();
    let asked = asked.unwrap_or(&none);
    let mut refuse = |which: &str, why: &str| {
        refusals.push(Refusal::Probe(format!(
            "pod {pod}: its {which} probe {why}"
        )));
    };
    if let Some(probe) = &container.liveness_probe {
        // What older versions have instead needs a quorum, and the path itself is not found there.
        let paths: &[&str] = if tells_apart { &["/livez"] } else { &[] };
        if let Some(why) = why_not(probe, paths) {
            refuse("liveness", why);
        }
        let (period, failures) = rhythm(probe);
        if period < 1 || failures < 3 || period.saturating_mul(failures) < PATIENCE {
            refuse(
                "liveness",
                "would kill it before three answers and 30 seconds were missed",
            );
        }
        if probe.termination_grace_period_seconds.is_some() {
            refuse("liveness", "would kill it without its own time to end");
        }
        let begins = probe.initial_delay_seconds.unwrap_or(0);
        let begins_as_asked = asked.startup_seconds.is_none_or(|asked| asked == begins);
        if !begins_as_asked || !is_as_patient(probe, asked.liveness_seconds) {
            refuse(
                "liveness",
                "is less or more patient than spec.pod.probes says",
            );
        }
    }
    match &container.readiness_probe {
        // Whoever has no probe is ready, and be it a learner.
        None => refuse(
            "readiness",
            "is missing: it would be ready before it serves",
        ),
        Some(probe) => {
            let paths: &[&str] = if tells_apart {
                &["/readyz", "/health"]
            } else {
                &["/health"]
            };
            if let Some(why) = why_not(probe, paths) {
                refuse("readiness", why);
            }
            let (period, failures) = rhythm(probe);
            if period.saturating_mul(failures) > LONGEST {
                refuse(
                    "readiness",
                    "would find out too late that it does not serve",
                );
            }
            if !is_as_patient(probe, asked.readiness_seconds) {
                refuse(
                    "readiness",
                    "is less or more patient than spec.pod.probes says",
                );
            }
            let waits = [probe.initial_delay_seconds, probe.period_seconds];
            let is_late = waits.into_iter().flatten().any(|wait| wait > LONGEST);
            if is_late || probe.success_threshold.is_some_and(|times| times > 1) {
                refuse("readiness", "would find out too late that it serves");
            }
        }
    }
}

/// Seconds between two questions, and how many in a row may go without an answer; those of the kubelet where nothing is said.
fn rhythm(probe: &Probe) -> (i32, i32) {
    let period = probe.period_seconds.unwrap_or(10);
    (period, probe.failure_threshold.unwrap_or(3))
}

/// Whether the patience is what was asked for, rounded up to whole questions.
fn is_as_patient(probe: &Probe, asked: Option<i32>) -> bool {
    let (period, failures) = rhythm(probe);
    let seconds = period.saturating_mul(failures);
    asked.is_none_or(|asked| seconds >= asked && seconds.saturating_sub(period) < asked)
}

/// Says what of the question is wrong.
fn why_not(probe: &Probe, paths: &[&str]) -> Option<&'static str> {
    let get = probe.http_get.as_ref();
    let plain = get.map(|get| HTTPGetAction {
        path: get.path.clone(),
        port: IntOrString::Int(names::METRICS_PORT),
        scheme: get.scheme.clone().filter(|scheme| scheme == "HTTP"),
        ..HTTPGetAction::default()
    });
    let asks_otherwise = probe.exec.is_some() || probe.grpc.is_some() || probe.tcp_socket.is_some();
    if asks_otherwise || get.is_none() || get != plain.as_ref() {
        return Some("asks something else than etcd's metrics port over HTTP");
    }
    let path = get.and_then(|get| get.path.as_deref()).unwrap_or_default();
    (!paths.contains(&path)).then_some("asks for a path that says something else in this version")
}

/// Whether the version tells life and readiness apart; versions that cannot be read are taken for ones that do.
fn has_livez(image: &str) -> bool {
    let tag = image.rsplit_once(":v").map(|(_, tag)| tag);
    let version = tag.and_then(|tag| Version::parse(tag).ok());
    version.is_none_or(|version| match version.minor {
        ..4 => false,
        4 => version.patch >= 29,
        5 => version.patch >= 12,
        _ => true,
    })
}
