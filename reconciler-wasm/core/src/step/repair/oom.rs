//! Members that were ended for using more memory than their limit: a new one would hold the same data and end the same way.
//!
//! Does not know what a person gives them instead; a changed `spec.pod` is [`crate::step::reshape`]'s.

use contract::Pod;

use super::BEFORE_REPLACEMENT;
use crate::assess::{Situation, is_out_of_memory};

/// Says so of a member that is down because of it: it has ended, or runs since so short a time that it may be on its way
/// there once more. The kubelet waits five minutes at most between two runs. One whose pod is on its way out is waited for
/// no longer than any other: its node may be gone.
pub(super) fn why_down(situation: &Situation<'_>, name: &str, pod: &Pod) -> Option<String> {
    let stays = pod.deleted.is_none();
    let exit = pod
        .last_exit
        .as_ref()
        .filter(|_| stays && is_out_of_memory(pod))?;
    let is_recent = exit
        .at
        .is_some_and(|at| situation.snapshot.now.since(at) < BEFORE_REPLACEMENT);
    (!pod.running || is_recent).then(|| {
        format!(
            "{name} was ended for using more memory than its limit. A new member would end the same way: raise \
             spec.pod.resources.limits.memory."
        )
    })
}
