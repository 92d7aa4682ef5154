//! How the pod of a rehearsal stands, read from what the kubelet tells of its containers.

use contract::{RehearsalState, names};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod, PodStatus};

use crate::args::TRY_AGAIN;

/// Those whose end decides, in their order. etcd runs beside the last one.
const DECIDING: [&str; 3] = [
    names::FETCH_CONTAINER,
    names::RESTORE_CONTAINER,
    names::WITNESS_CONTAINER,
];

/// How the pod stands.
pub(super) fn of(pod: &Pod) -> RehearsalState {
    let none = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&none);
    match status.phase.as_deref() {
        Some("Succeeded") => answered(status),
        Some("Failed") => failed(status),
        _ => RehearsalState::Running {
            doing: doing(status),
        },
    }
}

fn containers(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    let before = status.init_container_statuses.iter().flatten();
    before.chain(status.container_statuses.iter().flatten())
}

fn ended<'a>(status: &'a PodStatus, name: &str) -> Option<&'a ContainerStateTerminated> {
    let own = containers(status).find(|container| container.name == name)?;
    own.state.as_ref()?.terminated.as_ref()
}

fn answered(status: &PodStatus) -> RehearsalState {
    let said = ended(status, names::WITNESS_CONTAINER)
        .and_then(|ended| ended.message.as_deref())
        .and_then(|message| serde_json::from_str::<RehearsalState>(message).ok());
    match said {
        Some(answer @ RehearsalState::Answered { .. }) => answer,
        Some(_) | None => RehearsalState::Failed {
            container: None,
            why: "the witness ended without a word".to_owned(),
            permanent: false,
        },
    }
}

fn failed(status: &PodStatus) -> RehearsalState {
    let of_pod = |why: String| RehearsalState::Failed {
        container: None,
        why,
        permanent: false,
    };
    // Evicted, out of time, or its node is gone: what the containers say then is of no weight.
    if let Some(reason) = &status.reason {
        let message = status.message.as_deref().unwrap_or_default();
        return of_pod(format!("{reason}: {}", message.trim()));
    }
    let failure = DECIDING.iter().find_map(|name| {
        let ended = ended(status, name).filter(|ended| ended.exit_code != 0)?;
        Some((*name, ended))
    });
    match failure {
        Some((name, ended)) if ended.reason.as_deref() == Some("OOMKilled") => of_pod(format!(
            "the container {name} used more memory than there is for it"
        )),
        Some((name, ended)) => {
            let code = ended.exit_code;
            let said = ended.message.as_deref().unwrap_or_default().trim();
            let why = if said.is_empty() {
                format!("it ended with the exit code {code}")
            } else {
                last_line(said)
            };
            RehearsalState::Failed {
                container: Some(name.to_owned()),
                why,
                permanent: code != i32::from(TRY_AGAIN),
            }
        }
        None => of_pod("it failed, and no container says why".to_owned()),
    }
}

/// What a program says last, without the word that it is an error.
fn last_line(said: &str) -> String {
    let line = said.lines().next_back().unwrap_or_default().trim();
    let line = line
        .strip_prefix("error: ")
        .or_else(|| line.strip_prefix("Error: "))
        .unwrap_or(line);
    line.trim_end_matches('.').to_owned()
}

fn doing(status: &PodStatus) -> String {
    let waits = containers(status).find_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        // These are on their way.
        let is_normal = matches!(reason, "PodInitializing" | "ContainerCreating");
        let message = waiting.message.as_deref().unwrap_or_default();
        (!is_normal).then(|| format!("{} waits ({reason}: {message})", container.name))
    });
    let runs = || {
        let running = containers(status).filter(|container| {
            let state = container.state.as_ref();
            state.is_some_and(|state| state.running.is_some())
        });
        running
            .last()
            .map(|container| format!("{} runs", container.name))
    };
    let unscheduled = || {
        let scheduled = status.conditions.iter().flatten();
        let mut not = scheduled.filter(|one| one.type_ == "PodScheduled" && one.status == "False");
        let message = not.next()?.message.as_deref()?;
        Some(format!("its pod has no node ({message})"))
    };
    waits
        .or_else(runs)
        .or_else(unscheduled)
        .unwrap_or_else(|| "its containers are being made".to_owned())
}
