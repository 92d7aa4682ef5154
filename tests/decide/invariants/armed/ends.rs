//! Histories that break a promise by their end. Those that lost their quorum are [`super::losses`]'.

use contract::{
    EtcdClusterStatus, MemberHealth, MemberRecord, MemberRole, Reason, RestorationStage,
};
use simulator::{History, MemberTruth, Release, Truth};

use super::{Armed, at_rest, but, cluster, down, id, name, with};
use crate::invariants::Promise;

pub(super) type Case = Armed<History>;

pub(super) fn histories() -> Vec<Case> {
    [of_goals(), of_statuses(), of_availability()]
        .into_iter()
        .flatten()
        .collect()
}

/// What people should read of that world.
pub(super) fn true_status(truth: &Truth) -> EtcdClusterStatus {
    let ready = |member: &&MemberTruth| truth.confirmed && member.healthy && !member.learner;
    let ready = truth.members.iter().filter(ready);
    let mut status = EtcdClusterStatus {
        size: count(truth.members.len()),
        ready_members: count(ready.clone().count()),
        current_version: Release::new(6, 16).to_string(),
        observed_generation: Some(1),
        member_records: truth.members.iter().map(record).collect(),
        ..EtcdClusterStatus::default()
    };
    status.members.ready = ready.map(|member| member.name.clone()).collect();
    status
}

fn count(members: usize) -> i64 {
    i64::try_from(members).unwrap_or_default()
}

fn record(member: &MemberTruth) -> MemberRecord {
    MemberRecord {
        name: member.name.clone(),
        id: Some(member.id),
        role: if member.learner {
            MemberRole::Learner
        } else {
            MemberRole::Voter
        },
        health: if member.healthy {
            MemberHealth::Healthy
        } else {
            MemberHealth::Unhealthy
        },
        since: String::new(),
        role_since: String::new(),
        version: None,
        image: None,
        disk: None,
        recreations: 0,
        plain_peer: false,
        db_size: None,
        raft_lag: 0,
    }
}

fn rested(truth: Truth) -> History {
    at_rest(Vec::new(), truth)
}

fn restless(truth: Truth) -> History {
    but(rested(truth), |history| history.end.rested = false)
}

fn of_goals() -> Vec<Case> {
    let unhealed = || restless(with(cluster(3), 2, down));
    let recovering = |consent: Option<String>| {
        but(unhealed(), |history| {
            history.end.reasons = vec![Reason::RecoveringQuorum];
            let truth = &mut history.end.truth;
            (truth.recovering, truth.confirmed) = (Some(name(1)), false);
            truth.consent.clone_from(&consent);
        })
    };
    let restoring = |history: History| {
        but(history, |history| {
            history.end.truth.restoring = Some(RestorationStage::Waiting);
        })
    };
    let waiting = |history: History| {
        but(history, |history| {
            history.end.reasons = vec![Reason::RestoreWaiting];
        })
    };
    let apart = |words: &str, change: fn(&mut Truth)| {
        but(unhealed(), |history| {
            history.end.last_words = vec![words.replace('3', &name(3))];
            let truth = &mut history.end.truth;
            (truth.confirmed, truth.said_available) = (false, Some(false));
            truth.pods.retain(|pod| *pod != name(2));
            truth.unled = vec![name(3)];
            change(truth);
            history.end.status = true_status(truth);
        })
    };
    let case = |promise, what, breaks, harmless| Case::new(promise, what, breaks, harmless);
    let reached = Promise::GoalsAreReached;
    let turned = || {
        but(cluster(3), |truth| {
            truth.wants_tls = true;
            for member in &mut truth.members {
                (member.secure, member.reached_by_tls) = (true, true);
            }
        })
    };
    vec![
        case(
            Promise::GoalsAreRest,
            "a cluster at its goal is worked on",
            restless(cluster(3)),
            rested(cluster(3)),
        ),
        case(
            reached,
            "a recovery that a person consents to is not gone through with",
            recovering(Some(name(1))),
            recovering(None),
        ),
        case(
            reached,
            "a recovery that a person consents to is not gone through with, beside a consent that names another one",
            recovering(Some(name(1))),
            recovering(Some(name(3))),
        ),
        case(
            reached,
            "a member stays down",
            unhealed(),
            rested(cluster(3)),
        ),
        case(
            reached,
            "a member stays whose claim goes with its pod",
            restless(with(cluster(3), 2, |member| member.condemned = true)),
            rested(cluster(3)),
        ),
        case(
            reached,
            "a member is still reached in plain text after a turn of TLS",
            restless(with(turned(), 2, |member| member.reached_by_tls = false)),
            rested(turned()),
        ),
        case(
            reached,
            "a pod of the archived operator stays that is asked to be made anew",
            restless(with(
                but(cluster(3), |truth| truth.renews = true),
                2,
                |member| member.old = true,
            )),
            rested(with(cluster(3), 2, |member| member.old = true)),
        ),
        case(
            reached,
            "a restore stands still and asks nobody",
            restoring(unhealed()),
            waiting(restoring(unhealed())),
        ),
        case(
            reached,
            "a restore is waited for that nobody asked for",
            waiting(unhealed()),
            waiting(restoring(unhealed())),
        ),
        case(
            reached,
            "who keeps a member from being started is not told",
            apart("DiskLost: the claim of another one is deleted", |_| {}),
            apart("DiskLost: beside 3 nobody is started", |_| {}),
        ),
        case(
            reached,
            "nobody keeps a member from being started",
            apart("DiskLost: beside 3 nobody is started", |truth| {
                truth.unled.clear()
            }),
            apart("DiskLost: beside 3 nobody is started", |_| {}),
        ),
        case(
            reached,
            "nobody is kept from being started",
            apart("DiskLost: beside 3 nobody is started", |truth| {
                truth.pods.push(name(2))
            }),
            apart("DiskLost: beside 3 nobody is started", |_| {}),
        ),
        case(
            reached,
            "a member is not started beside one that founded anew, though others are a quorum",
            apart("DiskLost: beside 3 nobody is started", |truth| {
                truth.confirmed = true
            }),
            apart("DiskLost: beside 3 nobody is started", |_| {}),
        ),
    ]
}

fn of_statuses() -> Vec<Case> {
    let says = |what, change: fn(&mut EtcdClusterStatus)| {
        let told = |truth: Truth| but(rested(truth), |history| change(&mut history.end.status));
        // Of members that are being stopped only the generation is told.
        let stopped = but(cluster(3), |truth| {
            truth.pods.clear();
            truth.confirmed = false;
            truth.said_available = None;
        });
        let (breaks, harmless) = (told(cluster(3)), told(stopped));
        Case::new(Promise::StatusesAreTrue, what, breaks, harmless)
    };
    let of_another = but(rested(cluster(3)), |history| {
        history.end.status.observed_generation = Some(2);
    });
    vec![
        Case::new(
            Promise::StatusesAreTrue,
            "the status answers another generation",
            of_another,
            rested(cluster(3)),
        ),
        says("another one is said to be ready", |status| {
            status.members.ready.push(name(9));
        }),
        says("another number is ready", |status| {
            status.ready_members = 2;
        }),
        says("another size is told", |status| status.size = 4),
        says("another version is told", |status| {
            status.current_version = Release::new(5, 35).to_string();
        }),
        says("a member has no record", |status| {
            status.member_records.pop();
        }),
        says("a member's record has another id", |status| {
            status.member_records[0].id = Some(id(9));
        }),
        says("a voter is said to have no vote", |status| {
            status.member_records[0].role = MemberRole::Learner;
        }),
        says("a healthy member is said to be down", |status| {
            status.member_records[0].health = MemberHealth::Unknown;
        }),
    ]
}

fn of_availability() -> Vec<Case> {
    let said =
        |truth: Truth, said: Option<bool>| rested(but(truth, |truth| truth.said_available = said));
    let interrupted = || but(cluster(3), |truth| truth.confirmed = false);
    let case = |what, breaks, harmless| Case::new(Promise::StatusesAreTrue, what, breaks, harmless);
    let restoring = |history: History| {
        but(history, |history| {
            history.end.truth.restoring = Some(RestorationStage::Waiting);
            history.end.reasons = vec![Reason::RestoreWaiting];
        })
    };
    vec![
        case(
            "a restore waits, and who serves is said not to",
            restoring(said(cluster(3), Some(false))),
            restoring(said(cluster(3), Some(true))),
        ),
        case(
            "who serves is said not to",
            said(cluster(3), Some(false)),
            said(but(cluster(3), |truth| truth.alarmed = true), Some(false)),
        ),
        case(
            "of who serves nothing is said",
            said(cluster(3), None),
            said(cluster(3), Some(true)),
        ),
        case(
            "who has no quorum is said to serve",
            said(interrupted(), Some(true)),
            said(interrupted(), Some(false)),
        ),
        case(
            "somebody is said to be ready without a quorum",
            but(said(interrupted(), Some(false)), |history| {
                history.end.status.ready_members = 1;
            }),
            said(interrupted(), Some(false)),
        ),
    ]
}
