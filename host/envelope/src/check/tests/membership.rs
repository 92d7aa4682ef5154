//! Members added, promoted and removed, and leadership moved.

use super::*;
use crate::has_received;

/// The member answers in that term, following that leader.
fn answer(fresh: &mut Fresh, id: usize, term: u64, leader: Option<u64>) {
    if let Observed::Seen(status) = &mut fresh.etcd.endpoints[id - 1].status {
        (status.raft_term, status.leader) = (term, leader.map(MemberId));
    }
}

#[test]
fn a_member_list_that_is_not_the_same_is_refused() {
    assert_eq!(rule(&add(), &fresh()), "");
    let with = |change: fn(&mut Fresh)| {
        let mut fresh = fresh();
        change(&mut fresh);
        rule(&add(), &fresh)
    };
    assert_eq!(
        with(|fresh| fresh.membership().linearizable = false),
        "Unconfirmed"
    );
    assert_eq!(
        with(|fresh| fresh.membership().cluster_id = ClusterId(2)),
        "OtherCluster"
    );
    assert_eq!(
        with(|fresh| drop(fresh.membership().members.pop())),
        "MembersChanged"
    );
    assert_eq!(
        with(|fresh| fresh.etcd.membership = Observed::Unknown("timed out".to_owned())),
        "Unread"
    );
    assert_eq!(
        with(|fresh| fresh.etcd.membership = Observed::Absent),
        "Unread"
    );
    let unrecorded = fresh_of(&Resource {
        status: json!({"phase": "Running"}),
        ..resource()
    });
    assert_eq!(rule(&add(), &unrecorded), "Unborn");
    let other = fresh_of(&Resource {
        status: json!({"clusterId": "c2"}),
        ..resource()
    });
    assert_eq!(rule(&add(), &other), "OtherCluster");
}

/// Whatever the module asks to be looked at.
#[test]
fn only_the_recorded_cluster_is_changed() {
    let other = fresh_of(&Resource {
        status: json!({"clusterId": "c2"}),
        ..resource()
    });
    let mut bold = add();
    bold.pre = action(bold.effect.clone()).pre;
    assert_eq!(rule(&bold, &fresh()), "");
    assert_eq!(rule(&bold, &other), "OtherCluster");
}

#[test]
fn a_second_learner_is_refused() {
    let mut add = add();
    add.pre.members = None;
    assert_eq!(rule(&add, &fresh().with_learner()), "Outstanding");
    let mut unstarted = fresh();
    unstarted.membership().members[2].name.clear();
    assert_eq!(rule(&add, &unstarted), "Outstanding");
}

#[test]
fn a_member_is_not_added_twice() {
    let mut add = change(
        Effect::AddLearner {
            name: "a-3".to_owned(),
            peer_urls: vec!["http://a-3.a.ns.svc:2380".to_owned()],
        },
        2,
    );
    add.pre.members = None;
    assert_eq!(rule(&add, &fresh()), "StillMember");
}

#[test]
fn nothing_is_added_without_a_healthy_quorum() {
    assert_eq!(rule(&add(), &fresh().silent(3)), "");
    let mut bold = add();
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &fresh().silent(2).silent(3)), "TooFewHealthy");
}

#[test]
fn a_healthy_learner_is_promoted_and_no_other() {
    let mut promote = change(
        Effect::Promote {
            member: MemberId(4),
        },
        3,
    );
    promote.pre.members = None;
    assert_eq!(rule(&promote, &fresh().with_learner()), "");
    assert_eq!(
        rule(&promote, &fresh().with_learner().silent(4)),
        "NotHealthyLearner"
    );
    assert_eq!(rule(&promote, &fresh().with_learner().silent(3)), "");
    assert_eq!(
        rule(&promote, &fresh().with_learner().silent(2).silent(3)),
        "TooFewHealthy"
    );
    assert_eq!(
        rule(
            &change(
                Effect::Promote {
                    member: MemberId(2)
                },
                2
            ),
            &fresh()
        ),
        "NotHealthyLearner"
    );
    assert_eq!(
        rule(
            &change(
                Effect::Promote {
                    member: MemberId(9)
                },
                2
            ),
            &fresh()
        ),
        "NotMember"
    );
}

/// Health changes without a revision: the decision was made when all were well.
#[test]
fn a_removal_that_would_cost_the_quorum_is_refused() {
    let fresh = || {
        let mut resource = resource();
        resource.spec["size"] = json!(2);
        fresh_of(&resource)
    };
    assert_eq!(rule(&remove(3), &fresh()), "");
    assert_eq!(rule(&remove(3), &fresh().silent(3)), "");
    let mut bold = remove(3);
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &fresh().silent(2)), "TooFewHealthy");
    assert_eq!(rule(&bold, &fresh().silent(2).silent(3)), "TooFewHealthy");
}

#[test]
fn as_many_go_on_voting_as_the_spec_asks_for() {
    // A size that no cluster may have is followed by nobody, and asks for nothing.
    let mut large = resource();
    large.spec["size"] = json!(9);
    assert_eq!(rule(&remove(3), &fresh_of(&large)), "");
    assert_eq!(rule(&remove(3), &fresh()), "TooFewHealthy");
    assert_eq!(rule(&remove(3), &fresh().silent(3)), "");
}

/// Its pod could not be read, or is on its way out and serves still: nothing says that it has no vote to lose.
#[test]
fn who_is_being_terminated_and_answers_has_a_vote_to_lose() {
    let mut fresh = fresh().silent(2);
    assert_eq!(rule(&restart(0), &fresh), "TooFewHealthy");
    fresh.etcd.endpoints[2].terminating = true;
    assert_eq!(rule(&restart(0), &fresh), "TooFewHealthy");
}

/// An eviction was let through by the budget while two others were well: nothing of ours may take one of these as well.
#[test]
fn who_is_being_terminated_is_as_good_as_down() {
    let evicted = |id: usize| {
        let mut fresh = fresh();
        fresh.etcd.endpoints[id - 1].terminating = true;
        fresh
    };
    assert_eq!(rule(&restart(0), &evicted(2)), "TooFewHealthy");
    assert_eq!(rule(&restart(0), &evicted(1)), "TooFewHealthy");
    assert_eq!(rule(&restart(0), &evicted(3)), "");
    let mut bold = remove(3);
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &evicted(2)), "TooFewHealthy");
    assert_eq!(rule(&bold, &evicted(3)), "");
    let mut promote = change(
        Effect::Promote {
            member: MemberId(4),
        },
        3,
    );
    promote.pre.members = None;
    let mut learner = fresh().with_learner();
    learner.etcd.endpoints[3].terminating = true;
    assert_eq!(rule(&promote, &learner), "NotHealthyLearner");
}

#[test]
fn the_leader_is_not_removed() {
    assert_eq!(rule(&remove(1), &fresh()), "IsLeader");
    let mut unsure = fresh();
    if let Observed::Seen(status) = &mut unsure.etcd.endpoints[1].status {
        status.leader = Some(MemberId(2));
    }
    assert_eq!(rule(&remove(3), &unsure), "IsLeader");
}

/// etcd before 3.5 has no vote before the vote: whom its peers do not reach raises its term for ever and knows no leader.
#[test]
fn a_voter_that_only_the_operator_reaches_is_removed_whatever_term_it_has_come_to() {
    let cut_off = || {
        let mut fresh = fresh();
        answer(&mut fresh, 3, 40, None);
        fresh
    };
    assert_eq!(rule(&remove(3), &cut_off()), "");
    let mut of_leader = cut_off();
    answer(&mut of_leader, 2, 2, Some(2));
    answer(&mut of_leader, 1, 2, Some(2));
    let mut bold = remove(2);
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &of_leader), "IsLeader");
}

/// One that was deposed does not know it yet, and whoever stands for election now leads in a moment.
#[test]
fn a_leader_counts_in_a_lower_term_only_while_a_majority_of_voters_follows_it() {
    let five = || {
        let mut fresh = fresh();
        for id in [4, 5] {
            fresh.membership().members.push(crate::fixtures::member(id));
            fresh.etcd.endpoints.push(endpoint(id, false));
        }
        answer(&mut fresh, 5, 40, None);
        fresh
    };
    let mut remove = remove(5);
    remove.pre.members = None;
    assert_eq!(rule(&remove, &five()), "");
    let mut elected = five();
    answer(&mut elected, 3, 3, Some(3));
    answer(&mut elected, 4, 3, Some(3));
    assert_eq!(rule(&remove, &elected), "IsLeader");
    answer(&mut elected, 2, 3, Some(3));
    assert_eq!(rule(&remove, &elected), "");
    let learner = fresh().with_learner();
    let mut of_learner = learner.silent(2);
    answer(&mut of_learner, 3, 40, None);
    let votes = crate::quorum::Votes::confirmed(&of_learner.etcd);
    assert_eq!(votes.expect("a list").leader(), None);
}

#[test]
fn the_last_voter_is_not_removed() {
    let mut fresh = fresh();
    fresh.membership().members.truncate(1);
    let mut remove = remove(1);
    (remove.pre.members, remove.pre.healthy_voters) = (None, Some(0));
    assert_eq!(rule(&remove, &fresh), "LastVoter");
}

#[test]
fn a_voter_does_not_leave_while_a_learner_is_under_way() {
    let mut voter = remove(3);
    voter.pre.members = None;
    assert_eq!(rule(&voter, &fresh().with_learner()), "Outstanding");
    let mut learner = remove(4);
    learner.pre.members = None;
    assert_eq!(rule(&learner, &fresh().with_learner().silent(4)), "");
}

/// One that never started is no vote that counts, but it must not keep a lost disk from being replaced.
#[test]
fn a_voter_leaves_beside_one_that_never_started() {
    let mut fresh = fresh().silent(3);
    let voter = Member {
        name: String::new(),
        ..crate::fixtures::member(4)
    };
    fresh.membership().members.push(voter);
    let mut remove = remove(3);
    remove.pre.members = None;
    assert_eq!(rule(&remove, &fresh), "TooFewHealthy");
    fresh.membership().members.push(crate::fixtures::member(5));
    fresh.etcd.endpoints.push(endpoint(5, false));
    assert_eq!(rule(&remove, &fresh), "");
}

/// Whoever was added by hand and never came holds everything up, and has nothing to lose.
#[test]
fn a_voter_that_never_started_is_removed_where_the_quorum_does_without_it() {
    let mut fresh = fresh().silent(3);
    fresh.membership().members[2].name.clear();
    let mut remove = remove(3);
    remove.pre.members = None;
    assert_eq!(rule(&remove, &fresh), "");
    assert_eq!(rule(&remove, &fresh.silent(2)), "TooFewHealthy");
}

#[test]
fn leadership_moves_from_the_expected_leader_to_a_healthy_voter() {
    let moving = |from: u64, to: u64| {
        let mut moving = action(Effect::MoveLeader { to: MemberId(to) });
        (moving.pre.cluster_id, moving.pre.members) = (Some(CLUSTER_ID), Some(fingerprint()));
        moving.pre.leader = Some(MemberId(from));
        moving
    };
    assert_eq!(rule(&moving(1, 2), &fresh()), "");
    assert_eq!(rule(&moving(2, 3), &fresh()), "LeaderChanged");
    assert_eq!(rule(&moving(1, 2), &fresh().silent(2)), "NotHealthyVoter");
}

/// Nobody can dial it until it listens there.
#[test]
fn one_member_at_a_time_gets_another_address() {
    let mut resource = resource();
    resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "peers"}}});
    let secure = |id: u64| format!("https://a-{id}.a.ns.svc:2380");
    let turn = |id: u64| {
        let member = MemberId(id);
        let peer_urls = vec![secure(id)];
        change(Effect::UpdateMember { member, peer_urls }, 2)
    };
    assert_eq!(rule(&turn(2), &fresh_of(&resource)), "");
    let silent = fresh_of(&resource).silent(3);
    assert_eq!(rule(&turn(2), &silent), "TooFewHealthy");
    let mut snapshot = crate::fixtures::snapshot_of(resource);
    let pod = serde_json::from_value(json!({
        "name": "a-3", "uid": "uid-3", "resourceVersion": "1", "owner": "uid-a", "created": 0, "phase": "Running",
    }));
    snapshot.objects.pods = Observed::Seen(vec![pod.expect("a pod")]);
    let rules = |snapshot: &contract::Snapshot| -> Vec<&str> {
        let refusals = crate::permit(&crate::fixtures::decision(vec![turn(2)]), snapshot)
            .err()
            .unwrap_or_default();
        refusals.iter().map(crate::Refusal::rule).collect()
    };
    assert_eq!(rules(&snapshot), [""; 0]);
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members[2].peer_urls = vec![secure(3)];
    }
    assert_eq!(rules(&snapshot), ["Outstanding"]);
    // Peers try all addresses of a member.
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        let plain = secure(3).replace("https", "http");
        list.members[2].peer_urls.push(plain);
    }
    assert_eq!(rules(&snapshot), [""; 0]);
}

/// It goes on naming its leader when it is cut off from it.
#[test]
fn only_what_a_learner_received_shows_that_its_leader_reaches_it() {
    let view = fresh().with_learner();
    let learner = MemberId(4);
    let mut answers = view
        .etcd
        .endpoints
        .iter()
        .filter_map(|one| one.status.seen());
    let answer = answers.find(|answer| answer.member_id == learner);
    let answer = answer.expect("it answers");
    let index = answer.raft_index;
    assert!(has_received(learner, index, answer));
    assert!(!has_received(learner, index + 1, answer));
    assert!(!has_received(MemberId(3), index, answer));
    let mut leaderless = answer.clone();
    leaderless.leader = None;
    assert!(!has_received(learner, index, &leaderless));
}

#[test]
fn leadership_is_handed_to_no_learner() {
    let mut moving = action(Effect::MoveLeader { to: MemberId(4) });
    moving.pre.leader = None;
    assert_eq!(rule(&moving, &fresh().with_learner()), "NotHealthyVoter");
}

#[test]
fn who_takes_itself_for_a_learner_has_no_vote_to_count() {
    let mut unaware = fresh().silent(2);
    assert_eq!(rule(&add(), &unaware), "");
    if let Observed::Seen(status) = &mut unaware.etcd.endpoints[2].status {
        status.learner = true;
    }
    assert_eq!(rule(&add(), &unaware), "TooFewHealthy");
}

#[test]
fn nobody_gets_another_address_while_a_learner_is_under_way() {
    let mut resource = resource();
    resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "peers"}}});
    let peer_urls = vec!["https://a-2.a.ns.svc:2380".to_owned()];
    let mut turn = change(
        Effect::UpdateMember {
            member: MemberId(2),
            peer_urls,
        },
        2,
    );
    turn.pre.members = None;
    assert_eq!(rule(&turn, &fresh_of(&resource)), "");
    assert_eq!(
        rule(&turn, &fresh_of(&resource).with_learner()),
        "Outstanding"
    );
}
