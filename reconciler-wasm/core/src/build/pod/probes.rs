//! How the kubelet asks a member how it does, and how long it is patient.
//!
//! Plain HTTP on the metrics port. Liveness asks `/livez`, which needs no quorum; readiness asks `/readyz`, which does, and
//! which a learner never passes from 3.5.19 on (<https://etcd.io/docs/v3.6/op-guide/monitoring/#health-check>). Does not
//! know which versions have them.

use contract::{ProbePolicy, names};
use k8s_openapi::api::core::v1::{HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Seconds between two questions whether a member lives.
const PERIOD: i32 = 10;
/// Patience where the spec says nothing, in seconds.
const STARTUP: i32 = 60;
const LIVENESS: i32 = 60;
const READINESS: i32 = 3;

pub(super) fn liveness(patience: Option<&ProbePolicy>) -> Probe {
    let asked = patience.and_then(|patience| patience.liveness_seconds);
    let startup = patience.and_then(|patience| patience.startup_seconds);
    let seconds = asked.unwrap_or(LIVENESS);
    Probe {
        failure_threshold: Some(seconds / PERIOD + i32::from(seconds % PERIOD > 0)),
        initial_delay_seconds: Some(startup.unwrap_or(STARTUP)),
        ..probe("/livez", PERIOD, 5)
    }
}

/// Asked each second; older versions have `/health` for it.
pub(super) fn readiness(has_readyz: bool, patience: Option<&ProbePolicy>) -> Probe {
    let asked = patience.and_then(|patience| patience.readiness_seconds);
    let path = if has_readyz { "/readyz" } else { "/health" };
    Probe {
        failure_threshold: Some(asked.unwrap_or(READINESS)),
        ..probe(path, 1, 3)
    }
}

fn probe(path: &str, period: i32, timeout: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(names::METRICS_PORT),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        timeout_seconds: Some(timeout),
        ..Probe::default()
    }
}
