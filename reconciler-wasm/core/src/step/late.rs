//! Pods of the cluster's birth that came when it was over: a request to make one can be on its way for long.
//!
//! Such a pod would found the cluster anew on an empty disk, with the same ids and nothing that clients wrote.

use contract::{FindingKind, Reason};

use super::{DEAD_NODE, SOON, Step, ended};
use crate::assess::{Living, Situation};

/// Deletes them. Nobody believes what they answer meanwhile.
pub(super) fn send_away(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    for pod in &living.late {
        if pod.deleted.is_some() {
            step.find_of(
                FindingKind::Waiting,
                Reason::LatePod,
                &pod.name,
                format!(
                    "The pod of {} is one of the cluster's birth that came late and could found it anew. Until it has ended \
                     nobody's list of members is believed. {DEAD_NODE}",
                    pod.name
                ),
            );
            continue;
        }
        step.actions.push(ended::deletion(situation, pod));
        step.find_of(
            FindingKind::Doing,
            Reason::LatePod,
            &pod.name,
            format!(
                "The pod of {} is one of the cluster's birth that came late and could found it anew; it is deleted.",
                pod.name
            ),
        );
        step.look_again(SOON, Reason::LatePod);
    }
}
