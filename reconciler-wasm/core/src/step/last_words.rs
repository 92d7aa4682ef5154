//! How a member's container ended last, where that says more than that it does not run.

use contract::Pod;
use serde_json::Value;

/// What the kernel says of a disk without a byte left.
const FULL: &str = "no space left on device";
/// Letters of what etcd said that are told; more is in its log.
const TOLD: usize = 200;

/// A sentence on it, with a blank before; nothing of a container that runs.
pub(super) fn of(pod: &Pod) -> String {
    let exit = pod.last_exit.as_ref().filter(|_| !pod.running);
    exit.map_or(String::new(), |exit| {
        let why = if exit.message.contains(FULL) {
            format!(
                ", and its last words have {FULL:?}: make room on its volume, or let the volumes grow \
                 (spec.pod.persistentVolumeClaimSpec)"
            )
        } else {
            said(&exit.message).map_or(String::new(), |words| format!(": {words}"))
        };
        format!(" It ended with {} (code {}){why}.", exit.reason, exit.code)
    })
}

/// The last thing said, without the time at which it was said, which would be another one after each start.
fn said(message: &str) -> Option<String> {
    let line = message.lines().rfind(|line| !line.trim().is_empty())?;
    let words = match serde_json::from_str::<Value>(line) {
        Ok(record) => {
            let word = |key: &str| record.get(key).and_then(Value::as_str);
            let words: Vec<&str> = [word("msg"), word("error")].into_iter().flatten().collect();
            words.join(": ")
        }
        Err(_plain) => line.trim().to_owned(),
    };
    let told: String = words.trim_end_matches('.').chars().take(TOLD).collect();
    (!told.is_empty()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_said_last_is_told_without_its_time() {
        let json =
            r#"{"level":"fatal","ts":"2026-01-01T00:00:00Z","msg":"discovery failed","error":"x"}"#;
        assert_eq!(said(json).as_deref(), Some("discovery failed: x"));
        let plain = "{\"msg\":\"before\"}\nerror verifying flags, unknown\n\n";
        assert_eq!(
            said(plain).as_deref(),
            Some("error verifying flags, unknown")
        );
        assert_eq!(said("{}"), None);
        assert_eq!(said(" \n"), None);
    }
}
