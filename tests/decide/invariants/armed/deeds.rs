//! Facts that break a promise by themselves, however their history ends. Deeds done to members are [`super::members`]'.

use contract::{ClusterId, RestorationStage, RiskyAct};
use simulator::{Deed, Fact, Truth};

use super::{Armed, but, cluster, deed, down, id, name, with};
use crate::invariants::Promise;

pub(super) type Case = Armed<Fact>;

pub(super) fn facts() -> Vec<Case> {
    [
        of_the_operator(),
        of_writes(),
        of_waiting(),
        of_starts(),
        of_late_requests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The same deed, in a world that forbids it and in one that does not.
pub(super) fn one(
    promise: Promise,
    what: &'static str,
    it: Deed,
    forbids: Truth,
    allows: Truth,
) -> Case {
    Case::new(promise, what, deed(it.clone(), forbids), deed(it, allows))
}

/// Two deeds in the same world.
pub(super) fn two(
    promise: Promise,
    what: &'static str,
    world: &Truth,
    breaks: Deed,
    harmless: Deed,
) -> Case {
    let deed = |it| deed(it, world.clone());
    Case::new(promise, what, deed(breaks), deed(harmless))
}

fn of_the_operator() -> Vec<Case> {
    let done = || deed(Deed::Wrote("Apply"), cluster(3));
    let stirred = |effects: &[&'static str]| Fact::Stirred {
        at: 1,
        effects: effects.to_vec(),
        before: Box::new(cluster(3)),
    };
    let said = |available, ready: &[&str], confirmed| Fact::Said {
        at: 1,
        available,
        ready: ready.iter().map(|name| (*name).to_owned()).collect(),
        confirmed,
        serving: vec!["a".to_owned(), "b".to_owned()],
    };
    let fact = |promise, what, breaks| Case::new(promise, what, breaks, done());
    vec![
        fact(
            Promise::DecisionsAreWithinTheEnvelope,
            "a decision is refused",
            Fact::Refused {
                at: 1,
                why: vec!["two membership changes".to_owned()],
            },
        ),
        fact(
            Promise::NothingSpins,
            "the same is done in each pass",
            Fact::Spun {
                at: 1,
                effects: vec!["Event"],
            },
        ),
        Case::new(
            Promise::GoalsAreRest,
            "something is done at the goal and nothing had moved",
            stirred(&["Issue", "Delete"]),
            stirred(&["Issue", "UpdateStatus"]),
        ),
        Case::new(
            Promise::StatusesAreTrue,
            "a cluster is called available without a quorum",
            said(true, &["a"], false),
            said(true, &["a"], true),
        ),
        Case::new(
            Promise::StatusesAreTrue,
            "a member is called ready that does not serve",
            said(false, &["a", "c"], false),
            said(false, &["a", "b"], false),
        ),
        fact(
            Promise::OthersKeepTheirs,
            "an object of others is deleted",
            Fact::Trespassed {
                at: 1,
                what: "Delete of Service sim".to_owned(),
            },
        ),
        one(
            Promise::PausedIsStill,
            "something is written while paused",
            Deed::Wrote("Apply"),
            but(cluster(3), |truth| truth.paused = true),
            cluster(3),
        ),
    ]
}

fn of_writes() -> Vec<Case> {
    let elected = |missing| Fact::Elected {
        at: 1,
        cluster: ClusterId(1),
        leader: name(1),
        missing,
    };
    let took = |it: Deed, taken: Vec<u32>, is_late: bool| {
        let sent = is_late.then(|| Box::new(cluster(3)));
        but(deed(it, cluster(3)), |fact| {
            if let Fact::Deed { lost, late, .. } = fact {
                (*lost, *late) = (taken, sent);
            }
        })
    };
    let gone = || Deed::DeletedClaim(name(4));
    let sent_to = |size: u64| {
        but(took(gone(), vec![7], true), |fact| {
            if let Fact::Deed { late, .. } = fact {
                *late = Some(Box::new(cluster(size)));
            }
        })
    };
    let stopped = |consent: u64| {
        but(took(Deed::DeletedPod(name(2)), vec![7], false), |fact| {
            if let Fact::Deed { before, .. } = fact {
                before.confirmed = false;
                before.recovering = Some(name(1));
                before.consent = Some(name(consent));
            }
        })
    };
    let case = |what, breaks, harmless| Case::new(Promise::NoWriteIsLost, what, breaks, harmless);
    vec![
        case("a leader lacks a write", elected(vec![7]), elected(vec![])),
        case(
            "the last copy of a write is deleted",
            took(gone(), vec![7], false),
            took(gone(), vec![], false),
        ),
        case(
            "the last copy goes with a pod that is stopped for a consent to another member",
            stopped(3),
            stopped(1),
        ),
        case(
            "a late request deletes the last copy, and its member is listed",
            took(Deed::DeletedClaim(name(3)), vec![7], true),
            took(gone(), vec![7], true),
        ),
        case(
            "a late request deletes the last copy, and its member left since",
            sent_to(4),
            sent_to(3),
        ),
        case(
            "a late request that deletes nothing takes the last copy",
            took(Deed::Wrote("Apply"), vec![7], true),
            took(Deed::Wrote("Apply"), vec![], true),
        ),
    ]
}

fn of_waiting() -> Vec<Case> {
    let promise = Promise::RiskWaitsForItsBackup;
    let waits = |act: RiskyAct| but(cluster(3), |truth| truth.unsaved = vec![act]);
    let asked = |truth: Truth| but(truth, |truth| truth.replaced = true);
    let stopped = |truth: Truth| but(truth, |truth| truth.size = 0);
    let down_with = |disks: u64| {
        but(cluster(3), |truth| {
            truth.confirmed = false;
            for member in &mut truth.members {
                member.intact = member.id <= id(disks);
            }
        })
    };
    let asleep = |truth: &mut Truth| {
        truth.asleep = true;
        truth.pods.clear();
    };
    vec![
        one(
            promise,
            "a living cluster is given up before its backup",
            Deed::GaveUp,
            asked(waits(RiskyAct::Restore)),
            asked(waits(RiskyAct::Upgrade)),
        ),
        one(
            promise,
            "the first member gets another image before the backup",
            Deed::Restarted(name(2)),
            waits(RiskyAct::Upgrade),
            // Who is on the way already goes on.
            with(waits(RiskyAct::Upgrade), 2, down),
        ),
        one(
            promise,
            "the first member is stopped before the backup",
            Deed::DeletedPod(name(2)),
            stopped(waits(RiskyAct::ScaleToZero)),
            with(stopped(waits(RiskyAct::ScaleToZero)), 2, |one| {
                one.old = true
            }),
        ),
        one(
            Promise::LivingAreKept,
            "a living cluster is given up, and nobody consented",
            Deed::GaveUp,
            cluster(3),
            asked(cluster(3)),
        ),
        one(
            Promise::PassingAreAwaited,
            "a cluster whose voters have their disks is given up, and nobody consented",
            Deed::GaveUp,
            down_with(2),
            down_with(1),
        ),
        one(
            Promise::LivingAreKept,
            "a cluster asleep is given up, and nobody consented",
            Deed::GaveUp,
            but(down_with(3), asleep),
            asked(but(down_with(3), asleep)),
        ),
    ]
}

fn of_starts() -> Vec<Case> {
    let lost = |truth: &mut Truth| {
        truth.confirmed = false;
        truth.pods.clear();
        truth.consent = Some(name(1));
    };
    let agreed = || but(cluster(3), lost);
    let alone = |what, world| {
        let it = Deed::StartedAlone(name(1));
        one(Promise::NobodyIsAlone, what, it, world, agreed())
    };
    vec![
        alone(
            "a member goes on alone, and nobody consented",
            but(agreed(), |truth| truth.consent = None),
        ),
        alone(
            "another member goes on alone than the one that was named",
            but(agreed(), |truth| truth.consent = Some(name(2))),
        ),
        alone(
            "a member goes on alone beside a pod",
            but(agreed(), |truth| truth.pods = vec![name(2)]),
        ),
        alone(
            "a member goes on alone beside a quorum",
            but(agreed(), |truth| truth.confirmed = true),
        ),
        one(
            Promise::NewIsForBirth,
            "a member starts as new in a cluster",
            Deed::StartedNew(name(4)),
            cluster(3),
            Truth::default(),
        ),
    ]
}

fn of_late_requests() -> Vec<Case> {
    let sent = |it: Deed, before: Truth, sent: Truth| {
        but(deed(it, before), |fact| {
            if let Fact::Deed { late, .. } = fact {
                *late = Some(Box::new(sent));
            }
        })
    };
    let late = |it: Deed, before: Truth| sent(it, before.clone(), before);
    let led_by = |leader| but(cluster(3), |truth| truth.leader = Some(id(leader)));
    let agreed = || {
        but(cluster(3), |truth| {
            truth.confirmed = false;
            truth.pods.clear();
            truth.consent = Some(name(1));
        })
    };
    let restored = |stage: RestorationStage| {
        let mut before = with(cluster(3), 3, |member| member.in_pod = true);
        before.restoring = Some(stage);
        late(Deed::DeletedPod(name(3)), before)
    };
    let founded = |what, change: fn(&mut Truth)| {
        let anew = but(
            with(cluster(3), 3, |member| member.in_pod = true),
            |truth| {
                truth.confirmed = false;
                (truth.blank, truth.unled) = (vec![name(3)], vec![name(3)]);
            },
        );
        let it = Deed::DeletedPod(name(3));
        let breaks = late(it.clone(), but(anew.clone(), change));
        Case::new(Promise::ListedDisksStay, what, breaks, late(it, anew))
    };
    vec![
        Case::new(
            Promise::ListedDisksStay,
            "a late request deletes the claim of a member",
            late(Deed::DeletedClaim(name(3)), cluster(3)),
            late(Deed::DeletedClaim(name(4)), cluster(3)),
        ),
        Case::new(
            Promise::ListedDisksStay,
            "a late request deletes a pod with its member's data",
            late(
                Deed::DeletedPod(name(3)),
                with(cluster(3), 3, |member| member.in_pod = true),
            ),
            late(Deed::DeletedPod(name(3)), cluster(3)),
        ),
        founded(
            "a late request deletes a pod that holds what clients wrote",
            |truth| truth.blank.clear(),
        ),
        founded(
            "a late request deletes a pod whose member has followed a leader",
            |truth| truth.unled.clear(),
        ),
        founded(
            "a late request deletes a pod whose member founded, beside a quorum",
            |truth| truth.confirmed = true,
        ),
        Case::new(
            Promise::ListedDisksStay,
            "a late request deletes a pod with its member's data, and nothing is given up",
            restored(RestorationStage::Waiting),
            restored(RestorationStage::Stopping),
        ),
        Case::new(
            Promise::NewIsForBirth,
            "a late request starts a member as new in a cluster",
            late(Deed::StartedNew(name(4)), cluster(3)),
            sent(Deed::StartedNew(name(4)), cluster(3), Truth::default()),
        ),
        Case::new(
            Promise::NobodyIsAlone,
            "a late request starts a member alone, and nobody consented",
            late(
                Deed::StartedAlone(name(1)),
                but(agreed(), |truth| truth.consent = None),
            ),
            late(Deed::StartedAlone(name(1)), agreed()),
        ),
        Case::new(
            Promise::LeadersMoveFirst,
            "a late request removes a member that led when it was sent",
            sent(Deed::Removed(id(1)), led_by(2), led_by(1)),
            sent(Deed::Removed(id(1)), led_by(1), led_by(2)),
        ),
        Case::new(
            Promise::BudgetsGuard,
            "a budget is deleted by a late request of a living cluster",
            late(Deed::Guarded { kept: None }, cluster(3)),
            late(
                Deed::Guarded {
                    kept: Some("2".to_owned()),
                },
                cluster(3),
            ),
        ),
    ]
}
