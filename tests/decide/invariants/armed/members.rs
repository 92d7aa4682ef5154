//! Deeds that break a promise about who is a member, how many are up, what is on their disks and what keeps them.

use contract::RestorationStage;
use simulator::{Deed, Truth};

use super::deeds::{Case, one, two};
use super::{but, cluster, deed, down, id, name, with, with_learner};
use crate::invariants::Promise;

pub(super) fn facts() -> Vec<Case> {
    [
        of_members(),
        of_quorums(),
        of_disks(),
        of_space(),
        of_budgets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_members() -> Vec<Case> {
    let turns = Promise::ChangesTakeTurns;
    let restarts = Promise::RestartsTakeTurns;
    vec![
        one(
            turns,
            "a member is added beside a learner",
            Deed::Added(name(5)),
            with_learner(3),
            cluster(3),
        ),
        one(
            turns,
            "a member is added beside one that has not started",
            Deed::Added(name(5)),
            with(cluster(3), 3, |member| member.started = false),
            cluster(3),
        ),
        two(
            turns,
            "a voter is removed beside a learner",
            &with_learner(3),
            Deed::Removed(id(2)),
            Deed::Removed(id(4)),
        ),
        two(
            Promise::LeadersMoveFirst,
            "the leader is removed",
            &cluster(3),
            Deed::Removed(id(1)),
            Deed::Removed(id(2)),
        ),
        two(
            restarts,
            "a member is given another image while another one is about to restart",
            &with(cluster(3), 2, |member| member.swaps = true),
            Deed::Restarted(name(3)),
            Deed::Restarted(name(2)),
        ),
        one(
            restarts,
            "a member that runs is given another image beside one about to restart",
            Deed::Restarted(name(3)),
            with(cluster(5), 2, |member| member.swaps = true),
            with(
                with(cluster(5), 2, |member| member.swaps = true),
                3,
                |member| member.release = None,
            ),
        ),
    ]
}

fn of_quorums() -> Vec<Case> {
    let case = |what, it, forbids, allows| one(Promise::QuorumsStay, what, it, forbids, allows);
    let full = |truth: Truth| but(truth, |truth| truth.alarmed = true);
    vec![
        case(
            "a member that is down gets a vote that is needed",
            Deed::Promoted(id(2)),
            with(with_learner(1), 2, down),
            with_learner(1),
        ),
        case(
            "a voter is removed while another one is down",
            Deed::Removed(id(3)),
            with(cluster(3), 2, down),
            cluster(3),
        ),
        case(
            "a member is given another image while another one is down",
            Deed::Restarted(name(3)),
            with(cluster(3), 2, down),
            with(cluster(5), 2, down),
        ),
        case(
            "one of two is given another image while the other one is down",
            Deed::Restarted(name(1)),
            with(cluster(2), 2, down),
            cluster(2),
        ),
        two(
            Promise::QuorumsStay,
            "the pod of a healthy voter is deleted while another one is down",
            &with(cluster(3), 2, down),
            Deed::DeletedPod(name(3)),
            Deed::DeletedPod(name(2)),
        ),
        case(
            "a member is defragmented while another one is down",
            Deed::Defragmented(id(3)),
            full(with(cluster(3), 2, down)),
            full(cluster(3)),
        ),
    ]
}

fn of_disks() -> Vec<Case> {
    let listed = Promise::ListedDisksStay;
    let kept = |change: fn(&mut Truth)| {
        but(cluster(3), |truth| {
            truth.restoring = Some(RestorationStage::Growing);
            truth.given_up = vec![name(9)];
            change(truth);
        })
    };
    let whole = |what, change| {
        let it = Deed::DeletedClaim(name(9));
        one(
            Promise::DisksOfBeforeStay,
            what,
            it,
            kept(change),
            kept(|_| {}),
        )
    };
    vec![
        two(
            listed,
            "the claim of a member is deleted",
            &cluster(3),
            Deed::DeletedClaim(name(3)),
            Deed::DeletedClaim(name(4)),
        ),
        two(
            listed,
            "the claim of a member is deleted that has the name of one that a restore gave up",
            &kept(|truth| truth.given_up = vec![name(3), name(9)]),
            Deed::DeletedClaim(name(3)),
            Deed::DeletedClaim(name(9)),
        ),
        two(
            listed,
            "the pod of a member is deleted that has its data in it",
            &with(cluster(3), 2, |member| member.in_pod = true),
            Deed::DeletedPod(name(2)),
            Deed::DeletedPod(name(3)),
        ),
        two(
            listed,
            "the pod of a member is deleted with whose end its claim and its data go",
            &with(cluster(3), 2, |member| member.condemned = true),
            Deed::DeletedPod(name(2)),
            Deed::DeletedPod(name(3)),
        ),
        one(
            listed,
            "a pod goes with its member's data for a consent that is not followed",
            Deed::DeletedPod(name(2)),
            but(within(), |truth| truth.consent = Some(name(1))),
            but(within(), |truth| truth.recovering = Some(name(1))),
        ),
        one(
            listed,
            "the pod of the survivor goes with its data",
            Deed::DeletedPod(name(2)),
            but(within(), |truth| truth.recovering = Some(name(2))),
            but(within(), |truth| truth.recovering = Some(name(3))),
        ),
        one(
            listed,
            "a pod goes with its member's data though a quorum came back in the middle of a recovery",
            Deed::DeletedPod(name(2)),
            but(within(), |truth| {
                (truth.recovering, truth.confirmed) = (Some(name(1)), true);
            }),
            but(within(), |truth| truth.recovering = Some(name(1))),
        ),
        one(
            listed,
            "a pod goes with its member's data for size 0, beside a claim of its name",
            Deed::DeletedPod(name(2)),
            but(within(), |truth| truth.size = 0),
            but(cluster(3), |truth| truth.size = 0),
        ),
        whole("disks of before go while a member is down", |truth| {
            down(&mut truth.members[1]);
        }),
        whole("disks of before go while a member has no vote", |truth| {
            truth.members[1].learner = true;
        }),
        whole("disks of before go while a member is missing", |truth| {
            truth.members.pop();
        }),
        whole("disks of before go while there is no quorum", |truth| {
            truth.confirmed = false;
        }),
    ]
}

/// The data of one is in its pod, and the quorum is lost.
fn within() -> Truth {
    let lost = but(cluster(3), |truth| {
        truth.confirmed = false;
        truth.leader = None;
        truth.members.iter_mut().for_each(down);
    });
    with(lost, 2, |member| member.in_pod = true)
}

fn of_space() -> Vec<Case> {
    let full = |truth: Truth| but(truth, |truth| truth.alarmed = true);
    let reason = Promise::SpaceIsTheReason;
    vec![
        one(
            reason,
            "history is compacted while there is space",
            Deed::Compacted(7),
            cluster(3),
            full(cluster(3)),
        ),
        one(
            reason,
            "a member is defragmented while there is space",
            Deed::Defragmented(id(2)),
            cluster(3),
            full(cluster(3)),
        ),
        one(
            Promise::AlarmsStay,
            "an alarm is ended while a member is full",
            Deed::Disarmed(id(1)),
            full(with(cluster(3), 2, |member| member.full = true)),
            full(cluster(3)),
        ),
    ]
}

fn of_budgets() -> Vec<Case> {
    let case = |what, breaks, harmless| Case::new(Promise::BudgetsGuard, what, breaks, harmless);
    let kept = |budget: Option<&str>| {
        let kept = budget.map(str::to_owned);
        deed(Deed::Guarded { kept }, cluster(3))
    };
    let promoted = |budget: Option<&str>| {
        let before = but(with_learner(3), |truth| {
            truth.budget = budget.map(str::to_owned);
        });
        deed(Deed::Promoted(id(4)), before)
    };
    vec![
        case(
            "a vote is given before the budget keeps enough",
            promoted(Some("2")),
            promoted(Some("3")),
        ),
        case(
            "a vote is given where there is no budget",
            promoted(None),
            promoted(Some("3")),
        ),
        case(
            "the budget keeps fewer than a quorum",
            kept(Some("1")),
            kept(Some("2")),
        ),
        case("the budget keeps nobody", kept(None), kept(Some("2"))),
        case(
            "what the budget keeps is no number",
            kept(Some("34%")),
            kept(Some("2")),
        ),
    ]
}
