//! Actions of the last decision that failed, in words, and how long the next try waits.
//!
//! Does not know what is tried next.

use contract::{
    FindingKind, LEARNER_UNHEARD, Millis, OutcomeKind, PastOutcome, Reason, SUCCESSOR_REFUSED,
};

use super::{LATER, Step};
use crate::assess::Living;

/// How soon to look again after the world turned out to be another than the snapshot's.
const AFTER_REFUSAL: Millis = Millis::seconds(1);

/// For how long members answer before etcd's word that they are not connected is one for a person: connections that only
/// broke are made again within seconds.
const LONG_CONNECTED: Millis = Millis::seconds(60);

/// What etcd answers where the member that is asked takes too few of its own connections for whole
/// (<https://etcd.io/docs/v3.6/op-guide/configuration/>, `--strict-reconfig-check`).
const UNHEALTHY: &str = "unhealthy cluster";

/// Actions of the last decision that failed are said, because they are tried again. A refusal on a fresh read is the
/// normal answer to a world that moved on.
pub(super) fn tell(outcomes: &[PastOutcome], step: &mut Step) {
    for past in outcomes {
        let failed = match past.outcome {
            OutcomeKind::Done | OutcomeKind::Skipped => false,
            OutcomeKind::Refused => {
                hold_off(step, AFTER_REFUSAL);
                false
            }
            OutcomeKind::Failed => !is_not_yet(past) && !is_refusal_of_a_successor(past),
        };
        if !failed {
            continue;
        }
        let what = past
            .kind
            .map_or(String::new(), |kind| format!(" {}", kind.name()));
        let (kind, way) = if is_refusal_of_the_api_server(past) {
            let way = " Correct the spec, or what refuses it.";
            (FindingKind::Blocked, way)
        } else {
            (FindingKind::Waiting, "")
        };
        step.find(
            kind,
            Reason::ActionFailed,
            format!(
                "{}{what} {} failed: {}. It is tried again.{way}",
                past.effect, past.target, past.message
            ),
        );
        hold_off(step, LATER);
    }
}

/// Says that etcd changes no members because it takes connections between them for broken, though all of them have answered
/// for long: nothing that this operator does mends a network.
pub(super) fn tell_broken_connections(
    outcomes: &[PastOutcome],
    living: &Living<'_>,
    now: Millis,
    step: &mut Step,
) {
    let is_said = outcomes
        .iter()
        .any(|past| past.outcome == OutcomeKind::Failed && past.message.contains(UNHEALTHY));
    let have_answered = living
        .voters()
        .all(|member| member.up_for(now) >= LONG_CONNECTED);
    if is_said && have_answered {
        step.find(
            FindingKind::Waiting,
            Reason::Settling,
            format!(
                "etcd changes no members and says \"{UNHEALTHY}\", though all voters have answered for more than {} s: they do \
                 not reach each other. It is tried again. Look for a network policy or a node that keeps members from each \
                 other's peer port; their logs name the peers that they lost.",
                LONG_CONNECTED.0 / 1000
            ),
        );
    }
}

/// Says of a pod that was to be deleted in the last pass, and was not because the API server would not create the one that
/// follows. The question is asked again, so that what was corrected goes on. Says whether it was so.
pub(super) fn tell_refused_successor(outcomes: &[PastOutcome], pod: &str, step: &mut Step) -> bool {
    let refused = outcomes
        .iter()
        .find(|past| past.target == pod && is_refusal_of_a_successor(past));
    let Some(past) = refused else { return false };
    step.find_of(
        FindingKind::Blocked,
        Reason::ReshapeStuck,
        pod,
        format!(
            "The pod of {pod} is to be made again, and {}. It is left as it is, and so are the others. Correct spec.pod, or \
             what refuses it.",
            past.message
        ),
    );
    hold_off(step, LATER);
    true
}

fn is_refusal_of_a_successor(past: &PastOutcome) -> bool {
    past.outcome == OutcomeKind::Failed && past.message.starts_with(SUCCESSOR_REFUSED)
}

/// Looks again no sooner than after this span: what failed a moment ago would fail again.
fn hold_off(step: &mut Step, at_least: Millis) {
    let after = step
        .requeue
        .map_or(at_least, |(after, _)| after.max(at_least));
    step.requeue = Some((after, Reason::ActionFailed));
}

/// Whether the API server will not have what was applied: values that it knows not to be valid, a quota, a policy, a right
/// (<https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors#NewInvalid> and its neighbours have the words).
fn is_refusal_of_the_api_server(past: &PastOutcome) -> bool {
    past.effect == "Apply"
        && [
            " is invalid: ",
            " is forbidden: ",
            " cannot be handled as a ",
        ]
        .iter()
        .any(|words| past.message.contains(words))
}

/// Whether it is only too early, or told elsewhere: the learner lags or is cut off, or voters were connected a moment ago.
fn is_not_yet(past: &PastOutcome) -> bool {
    ["can only promote a learner", UNHEALTHY, LEARNER_UNHEARD]
        .iter()
        .any(|words| past.message.contains(words))
}
