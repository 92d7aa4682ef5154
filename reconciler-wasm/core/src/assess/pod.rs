//! What a pod says of its containers: whether they ended for good, and why the one of etcd does not run.
//!
//! Knows no member and no disk.

use contract::{Pod, PodPhase};

/// What etcd says in its last words when it has no data and was told that it has.
const NO_DATA: &[&str] = &[
    "has already been bootstrapped",
    "cannot fetch cluster info from peer urls",
    "could not retrieve cluster information from the given URLs",
    // `bootstrapExistingClusterNoWAL` of etcd's server: it compares its peers with those it was told of only without a log.
    "error validating peerURLs",
];

/// Whether none of the pod's containers will ever run again.
pub(crate) const fn has_ended(pod: &Pod) -> bool {
    matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed)
}

/// Whether the container ended last because its disk was empty. One that was started again since then and does not answer
/// is on the same disk.
pub(crate) fn says_no_data(pod: Option<&Pod>) -> bool {
    pod.is_some_and(|pod| {
        pod.last_exit
            .as_ref()
            .is_some_and(|exit| NO_DATA.iter().any(|words| exit.message.contains(words)))
    })
}

/// Whether the container ended last for using more memory than its limit.
pub(crate) fn is_out_of_memory(pod: &Pod) -> bool {
    pod.last_exit
        .as_ref()
        .is_some_and(|exit| exit.reason == "OOMKilled")
}

/// Why its container does not run, in words.
pub(super) fn not_running(pod: &Pod) -> String {
    if let Some(why) = &pod.unschedulable {
        return format!("no node takes its pod: {why}");
    }
    if let Some(why) = &pod.waiting {
        // The kubelet's sentence holds a time that grows; the word is enough.
        let word = why.split(':').next().unwrap_or(why);
        return if word == "CrashLoopBackOff" && is_out_of_memory(pod) {
            "its container keeps ending for using more memory than its limit (OOMKilled)".to_owned()
        } else if word == "CrashLoopBackOff" {
            "its container keeps ending (CrashLoopBackOff)".to_owned()
        } else {
            format!("its container waits: {why}")
        };
    }
    match pod.phase {
        PodPhase::Pending => "its pod is starting".to_owned(),
        PodPhase::Running => "its container is starting".to_owned(),
        PodPhase::Succeeded | PodPhase::Failed => "its pod has ended".to_owned(),
        PodPhase::Unknown => "its node does not answer".to_owned(),
    }
}
