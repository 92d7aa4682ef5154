//! Pods as people read of them: how far one is, and what keeps its container from running.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

/// After how many ends in a row a container is not expected to stay up any more.
const ENDS: i32 = 2;

/// Phase, readiness and node, and what its containers wait for.
#[must_use]
pub fn state(pod: &Pod) -> String {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    let mut conditions = status
        .and_then(|status| status.conditions.as_ref())
        .into_iter()
        .flatten();
    let is_ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .map_or_else(|| "no node yet".to_owned(), |node| format!("on {node}"));
    let ready = if is_ready { ", ready" } else { "" };
    let waits = containers(pod).find_map(waiting).unwrap_or_default();
    format!("{}{ready}, {node}{waits}", phase.unwrap_or_default())
}

/// What a container said last that ends again and again; none as long as it may still come up.
#[must_use]
pub fn last_words(pod: &Pod) -> Option<String> {
    let again = containers(pod).find(|one| !one.ready && one.restart_count >= ENDS)?;
    let ended = again.last_state.as_ref()?.terminated.as_ref()?;
    let said = ended.message.as_deref().unwrap_or_default().trim();
    Some(format!(
        "the container {} ended {} times, with exit code {}; its last words: {said}",
        again.name, again.restart_count, ended.exit_code
    ))
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let statuses = pod.status.as_ref();
    let statuses = statuses.and_then(|status| status.container_statuses.as_ref());
    statuses.into_iter().flatten()
}

/// What is usual while a container is made is not worth telling.
fn waiting(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    (reason != "ContainerCreating").then(|| format!(", waits: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn pod(container: Value) -> Result<Pod, serde_json::Error> {
        from_value(json!({
            "spec": {"containers": [], "nodeName": "node-1"},
            "status": {"phase": "Running", "containerStatuses": [container]},
        }))
    }

    #[test]
    fn a_container_that_ends_again_and_again_is_told_with_its_last_words()
    -> Result<(), serde_json::Error> {
        let ended = |times: i32| {
            pod(json!({
                "name": "binnacle", "image": "i", "imageID": "", "ready": false, "restartCount": times,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "message": "no such module\n"}},
            }))
        };
        assert_eq!(
            state(&ended(1)?),
            "Running, on node-1, waits: CrashLoopBackOff"
        );
        assert_eq!(last_words(&ended(1)?), None);
        assert_eq!(
            last_words(&ended(2)?).as_deref(),
            Some(
                "the container binnacle ended 2 times, with exit code 1; its last words: no such module"
            )
        );
        Ok(())
    }
}
