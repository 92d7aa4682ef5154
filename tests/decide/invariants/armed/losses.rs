//! Histories in which the quorum is lost for good, and a promise is broken by what is said or done then.

use contract::{Reason, RestorationStage};
use simulator::{Deed, Fact, History, MemberTruth, Release, Truth};

use super::ends::Case;
use super::{at_rest, but, cluster, deed, id, name, with};
use crate::invariants::Promise;

pub(super) fn histories() -> Vec<Case> {
    of_losses()
        .into_iter()
        .chain(of_deeds_after_a_loss())
        .collect()
}

/// Two of three disks are empty.
fn lost() -> Truth {
    but(cluster(3), |truth| {
        truth.confirmed = false;
        truth.said_available = Some(false);
        truth.leader = None;
        for member in &mut truth.members {
            member.healthy = false;
            member.intact = member.id == id(3);
            member.release = None;
        }
    })
}

/// It says so and rests.
fn told(facts: Vec<Fact>, truth: Truth) -> History {
    but(at_rest(facts, truth), |history| {
        history.end.rested = false;
        history.end.still = true;
        history.end.reasons = vec![Reason::QuorumLost];
    })
}

fn of_losses() -> Vec<Case> {
    let end = |change: fn(&mut History)| but(told(Vec::new(), lost()), change);
    let said = Promise::LossIsSaid;
    vec![
        Case::new(
            said,
            "nothing is said of a quorum that is lost",
            end(|history| history.end.reasons.clear()),
            end(|history| {
                history.end.reasons.clear();
                // Nobody can know what became of disks that nobody uses.
                history.end.truth.size = 0;
                history.end.truth.pods.clear();
            }),
        ),
        Case::new(
            said,
            "who lost its quorum is said to serve",
            end(|history| history.end.truth.said_available = Some(true)),
            // Who goes on alone serves, on a claim that goes with its pod as well.
            end(|history| {
                history.end.truth.said_available = Some(true);
                history.end.truth.confirmed = true;
            }),
        ),
        Case::new(
            Promise::LossIsRest,
            "who lost its quorum is worked on",
            end(|history| history.end.still = false),
            end(|_| {}),
        ),
        Case::new(
            Promise::StatusesAreTrue,
            "somebody is said to be ready though the quorum is lost",
            end(|history| history.end.status.members.ready = vec![name(3)]),
            end(|_| {}),
        ),
        rests_in_recovery("nobody goes on alone though a person consented", |truth| {
            truth.consent = None;
        }),
        rests_in_recovery("nobody goes on alone from data that is there", |truth| {
            truth.members[2].intact = false;
        }),
    ]
}

/// A recovery that its survivor could go through with, and one where it cannot.
fn rests_in_recovery(what: &'static str, but_cannot: fn(&mut Truth)) -> Case {
    let rests = |truth: Truth| {
        but(told(Vec::new(), followed(truth)), |history| {
            history.end.reasons = vec![Reason::RecoveringQuorum];
        })
    };
    let cannot = but(rests(lost()), |history| {
        but_cannot(&mut history.end.truth);
    });
    Case::new(Promise::GoalsAreReached, what, rests(lost()), cannot)
}

fn of_deeds_after_a_loss() -> Vec<Case> {
    let full = |truth: Truth| but(truth, |truth| truth.alarmed = true);
    let done = |it: Deed, before: Truth| told(vec![deed(it, before)], lost());
    let case =
        |what, breaks, harmless| Case::new(Promise::LossDestroysNothing, what, breaks, harmless);
    // Of two disks one is empty, and the other one holds half of the votes.
    let halved = || {
        but(lost(), |truth| {
            truth.members.remove(0);
        })
    };
    let is_asked = |what, it: Deed| {
        let harmless = done(it.clone(), full(cluster(3)));
        case(what, done(it, full(halved())), harmless)
    };
    let unkept = || but(lost(), |truth| truth.claims.clear());
    let pod = |what, allow: fn(&mut Truth)| {
        let it = || Deed::DeletedPod(name(1));
        case(what, done(it(), unkept()), done(it(), but(unkept(), allow)))
    };
    let asleep = |truth: &mut Truth| {
        truth.size = 0;
        truth.pods.clear();
    };
    let woken = |before: Truth| {
        but(done(Deed::DeletedClaim(name(9)), before), |history| {
            asleep(&mut history.end.truth);
        })
    };
    let on_a_claim = |change: fn(&mut MemberTruth)| {
        let before = but(lost(), |truth| truth.claims = vec![name(3)]);
        done(Deed::DeletedPod(name(3)), with(before, 3, change))
    };
    vec![
        case(
            "a pod is deleted that runs on its claim",
            on_a_claim(|member| member.release = Some(Release::new(6, 16))),
            on_a_claim(|_| {}),
        ),
        case(
            "a pod is deleted with whose end its claim goes",
            on_a_claim(|member| (member.intact, member.condemned) = (false, true)),
            on_a_claim(|member| member.intact = false),
        ),
        case(
            "a claim is deleted before the rest was stopped",
            woken(lost()),
            woken(but(lost(), asleep)),
        ),
        is_asked("the leader is moved", Deed::Moved(id(3))),
        is_asked("a member is added", Deed::Added(name(4))),
        is_asked("history is compacted", Deed::Compacted(7)),
        is_asked("a member is defragmented", Deed::Defragmented(id(3))),
        is_asked("an alarm is ended", Deed::Disarmed(id(3))),
        is_asked("a claim is deleted", Deed::DeletedClaim(name(9))),
        pod("a pod goes that no claim outlives", |truth| {
            truth.claims = vec![name(1)];
        }),
        pod("a pod goes that holds writes", |truth| {
            truth.blank = vec![name(1)];
        }),
        pod("a pod goes, and nothing is recovered", |truth| {
            truth.recovering = Some(name(3));
        }),
        case(
            "a pod goes for a consent that is not followed",
            done(Deed::DeletedPod(name(1)), consented(unkept())),
            done(Deed::DeletedPod(name(1)), followed(unkept())),
        ),
        pod("a pod goes, and nothing is restored", |truth| {
            truth.restoring = Some(RestorationStage::Filling);
        }),
        case(
            "the pod of a member that runs goes for size 3",
            done(Deed::DeletedPod(name(3)), serving(3)),
            done(Deed::DeletedPod(name(3)), serving(0)),
        ),
    ]
}

fn consented(truth: Truth) -> Truth {
    but(truth, |truth| truth.consent = Some(name(3)))
}

fn followed(truth: Truth) -> Truth {
    but(consented(truth), |truth| truth.recovering = Some(name(3)))
}

/// A member answers though the quorum is lost.
fn serving(size: i64) -> Truth {
    with(but(lost(), |truth| truth.size = size), 3, |member| {
        member.release = Some(Release::new(6, 16));
        member.learner = true;
    })
}
