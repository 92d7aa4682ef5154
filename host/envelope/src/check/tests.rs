//! Single actions against a fresh read that agrees, and against each one that does not.

use std::collections::BTreeMap;

use contract::{
    Action, ClusterId, Effect, Member, MemberId, Millis, ObjectKind, Observed, Resource, names,
};
use serde_json::{Value, json};

use super::check;
use crate::fixtures::{
    CLUSTER_ID, action, apply, change, endpoint, fingerprint, fresh, fresh_of, pod_json, present,
    resource, unborn,
};
use crate::{Fresh, ResourceHead};

/// The rule that an action breaks on a fresh read; empty when it may happen.
fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

fn event() -> Action {
    action(Effect::Event {
        kind: contract::EventType::Normal,
        reason: "Formed".to_owned(),
        note: "x".to_owned(),
    })
}

fn service() -> Action {
    let mut delete = action(Effect::Delete {
        kind: ObjectKind::Service,
        name: "a".to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("uid-3");
    delete
}

fn remove(id: u64) -> Action {
    change(
        Effect::RemoveMember {
            member: MemberId(id),
        },
        2,
    )
}

fn delete(kind: ObjectKind) -> Action {
    let mut delete = action(Effect::Delete {
        kind,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("uid-3");
    delete
}

/// Takes down the pod of voter 3.
fn restart(healthy_voters: u32) -> Action {
    let mut restart = change(delete(ObjectKind::Pod).effect, healthy_voters);
    restart.pre.object = present("uid-3");
    restart.pre.touches = Some(MemberId(3));
    restart
}

fn departed(kind: ObjectKind) -> Action {
    let mut delete = delete(kind);
    delete.pre.cluster_id = Some(CLUSTER_ID);
    delete.pre.departed = Some("a-3".to_owned());
    delete
}

fn add() -> Action {
    change(
        Effect::AddLearner {
            name: "a-4".to_owned(),
            peer_urls: vec!["http://a-4.a.ns.svc:2380".to_owned()],
        },
        2,
    )
}

fn starting(state: &str, list: &str) -> Action {
    let mut pod = pod_json();
    pod["metadata"]["annotations"][names::INITIAL_STATE_ANNOTATION] = json!(state);
    pod["metadata"]["annotations"][names::INITIAL_CLUSTER_ANNOTATION] = json!(list);
    apply("pod", pod)
}

const BOTH: &str = "a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380";

#[test]
fn without_the_lease_nothing_happens() {
    assert_eq!(rule(&event(), &fresh()), "");
    assert_eq!(
        rule(
            &event(),
            &Fresh {
                lease_held: false,
                ..fresh()
            }
        ),
        "LeaseLost"
    );
}

#[test]
fn a_resource_that_is_not_the_same_is_refused() {
    let read = |resource: Observed<ResourceHead>| {
        rule(
            &event(),
            &Fresh {
                resource,
                ..fresh()
            },
        )
    };
    assert_eq!(read(Observed::Absent), "ResourceGone");
    assert_eq!(read(Observed::Unknown("timed out".to_owned())), "Unread");
    let other = Resource {
        uid: "other".to_owned(),
        ..resource()
    };
    assert_eq!(rule(&event(), &fresh_of(&other)), "ResourceGone");
    let mut status = event();
    status.pre.resource_version = Some("6".to_owned());
    assert_eq!(rule(&status, &fresh()), "ResourceChanged");
}

#[test]
fn a_cluster_paused_or_deleted_since_the_snapshot_is_left_alone() {
    let paused = fresh_of(&Resource {
        spec: json!({"paused": true}),
        ..resource()
    });
    let deleted = fresh_of(&Resource {
        deleted: Some(Millis(1)),
        ..resource()
    });
    assert_eq!(rule(&service(), &fresh()), "");
    assert_eq!(rule(&service(), &paused), "Paused");
    assert_eq!(rule(&service(), &deleted), "Deleting");
    assert_eq!(rule(&event(), &paused), "");
}

#[test]
fn an_object_that_is_not_the_same_is_refused() {
    let with = |uid: &str, owner: &str| {
        let mut fresh = fresh();
        fresh.object = Observed::Seen(crate::ObjectHead {
            uid: uid.to_owned(),
            owner: Some(owner.to_owned()),
            ..crate::ObjectHead::default()
        });
        fresh
    };
    assert_eq!(rule(&service(), &with("uid-3", "uid-a")), "");
    assert_eq!(rule(&service(), &with("uid-4", "uid-a")), "ObjectChanged");
    assert_eq!(rule(&service(), &with("uid-3", "other")), "ForeignOwner");
    assert_eq!(rule(&service(), &fresh().without_object()), "ObjectChanged");
    let unread = Fresh {
        object: Observed::Unknown("timed out".to_owned()),
        ..fresh()
    };
    assert_eq!(rule(&service(), &unread), "Unread");
    let pod = apply("pod", pod_json());
    assert_eq!(rule(&pod, &fresh().without_object()), "");
    assert_eq!(rule(&pod, &fresh()), "ObjectChanged");
}

#[test]
fn a_pod_is_built_on_the_very_claim_of_the_snapshot() {
    let pod = apply("pod", pod_json());
    let claim = |change: fn(&mut crate::ObjectHead)| {
        let mut head = fresh().claim.seen().cloned().expect("a claim");
        change(&mut head);
        rule(
            &pod,
            &Fresh {
                claim: Observed::Seen(head),
                ..fresh().without_object()
            },
        )
    };
    assert_eq!(claim(|_| ()), "");
    assert_eq!(
        claim(|claim| claim.uid = "other".to_owned()),
        "ObjectChanged"
    );
    assert_eq!(claim(|claim| claim.deleted = true), "ObjectChanged");
    assert_eq!(claim(|claim| claim.owner = None), "ForeignOwner");
    assert_eq!(
        rule(
            &pod,
            &Fresh {
                claim: Observed::Absent,
                ..fresh().without_object()
            }
        ),
        "ObjectChanged"
    );
}

#[test]
fn a_living_cluster_never_sees_the_state_new() {
    let mut born = starting("new", BOTH);
    born.pre.birth_token = Some("t1".to_owned());
    let at = |status: Value| {
        rule(
            &born,
            &fresh_of(&Resource {
                status,
                ..resource()
            })
            .without_object(),
        )
    };
    assert_eq!(rule(&born, &fresh_of(&unborn()).without_object()), "");
    assert_eq!(
        at(json!({"clusterId": "c1", "birth": unborn().status["birth"]})),
        "NotBirth"
    );
    assert_eq!(
        at(json!({"clusterId": "odd", "birth": unborn().status["birth"]})),
        "NotBirth"
    );
    assert_eq!(at(json!({"birth": {"token": "t1"}})), "NotBirth");
    assert_eq!(at(json!(null)), "NotBirth");
    born.pre.birth_token = Some("t0".to_owned());
    assert_eq!(
        rule(&born, &fresh_of(&unborn()).without_object()),
        "NotBirth"
    );
    assert_eq!(
        rule(
            &starting("new", BOTH),
            &fresh_of(&unborn()).without_object()
        ),
        "NotBirth"
    );
}

#[test]
fn a_birth_starts_only_whom_it_planned() {
    let mut unplanned = starting("new", BOTH);
    unplanned.pre.birth_token = Some("t1".to_owned());
    let mut resource = unborn();
    resource.status["birth"]["members"] = json!(["a-7"]);
    assert_eq!(
        rule(&unplanned, &fresh_of(&resource).without_object()),
        "NotBirth"
    );
}

#[test]
fn a_birth_deletes_only_what_it_did_not_plan() {
    let mut stale = delete(ObjectKind::PersistentVolumeClaim);
    stale.pre.birth_token = Some("t1".to_owned());
    stale.pre.departed = Some("a-3".to_owned());
    assert_eq!(rule(&stale, &fresh_of(&unborn())), "StillMember");
    let mut replanned = unborn();
    replanned.status["birth"]["members"] = json!(["a-7"]);
    assert_eq!(rule(&stale, &fresh_of(&replanned)), "");
    assert_eq!(rule(&stale, &fresh()), "NotBirth");
}

/// A voter that comes back empty forgets what it acknowledged, under the id that acknowledged it.
#[test]
fn only_a_member_that_has_not_voted_joins() {
    let mut join = starting("existing", BOTH);
    join.pre.cluster_id = Some(CLUSTER_ID);
    assert_eq!(rule(&join, &fresh().without_object()), "ForgetfulVoter");
    let mut with_learner = fresh().without_object();
    with_learner.membership().members[0].learner = true;
    assert_eq!(rule(&join, &with_learner), "");
    let mut unlisted = fresh().without_object();
    unlisted.membership().members.remove(0);
    assert_eq!(rule(&join, &unlisted), "NotMember");
    let annotations = BTreeMap::from([
        (
            names::INITIAL_STATE_ANNOTATION.to_owned(),
            "existing".to_owned(),
        ),
        (
            names::INITIAL_CLUSTER_ANNOTATION.to_owned(),
            BOTH.to_owned(),
        ),
    ]);
    let mut annotate = action(Effect::AnnotatePod {
        name: "a-3".to_owned(),
        annotations,
    });
    annotate.pre.object = present("uid-3");
    assert_eq!(rule(&annotate, &fresh()), "ForgetfulVoter");
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
    assert_eq!(rule(&remove(3), &fresh()), "");
    assert_eq!(rule(&remove(3), &fresh().silent(3)), "");
    let mut bold = remove(3);
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &fresh().silent(2)), "TooFewHealthy");
    assert_eq!(rule(&bold, &fresh().silent(2).silent(3)), "TooFewHealthy");
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

#[test]
fn the_pod_of_a_healthy_voter_goes_only_while_the_others_are_a_quorum() {
    assert_eq!(rule(&restart(2), &fresh()), "");
    assert_eq!(rule(&restart(0), &fresh().silent(2)), "TooFewHealthy");
    let mut pair = fresh();
    pair.membership().members.remove(1);
    let mut restart = restart(0);
    restart.pre.members = None;
    // A pair has no vote to spare: its pods go only with the disk kept, and only while the other one is healthy.
    assert_eq!(rule(&restart, &pair), "");
    assert_eq!(rule(&restart, &pair.clone().silent(1)), "TooFewHealthy");
    pair.object = Observed::Seen(crate::ObjectHead {
        claim: None,
        ..pair.object.seen().cloned().unwrap_or_default()
    });
    assert_eq!(rule(&restart, &pair), "TooFewHealthy");
}

#[test]
fn the_pod_of_a_sick_voter_goes_if_its_disk_stays() {
    let sick = || fresh().silent(2).silent(3);
    assert_eq!(rule(&restart(0), &sick()), "");
    let mut in_pod = sick();
    in_pod.object = Observed::Seen(crate::ObjectHead {
        uid: "uid-3".to_owned(),
        owner: Some("uid-a".to_owned()),
        ..crate::ObjectHead::default()
    });
    assert_eq!(rule(&restart(0), &in_pod), "TooFewHealthy");
}

#[test]
fn the_votes_counted_are_those_of_the_pods_own_member() {
    let mut lying = restart(2);
    lying.pre.touches = Some(MemberId(2));
    assert_eq!(rule(&lying, &fresh()), "OtherMember");
}

#[test]
fn without_evidence_only_an_ended_pod_that_keeps_its_disk_is_deleted() {
    let ended = |ended: bool, claim: Option<&str>| {
        let mut fresh = fresh();
        fresh.object = Observed::Seen(crate::ObjectHead {
            uid: "uid-3".to_owned(),
            owner: Some("uid-a".to_owned()),
            ended,
            claim: claim.map(str::to_owned),
            ..crate::ObjectHead::default()
        });
        rule(&delete(ObjectKind::Pod), &fresh)
    };
    assert_eq!(ended(true, Some("a-3")), "");
    assert_eq!(ended(false, Some("a-3")), "StillRunning");
    assert_eq!(ended(true, None), "StillRunning");
}

#[test]
fn a_disk_whose_member_is_in_the_list_stays() {
    for kind in [ObjectKind::Pod, ObjectKind::PersistentVolumeClaim] {
        assert_eq!(rule(&departed(kind), &fresh()), "StillMember");
        let mut gone = fresh();
        gone.membership().members.remove(2);
        assert_eq!(rule(&departed(kind), &gone), "");
        let mut unconfirmed = gone.clone();
        unconfirmed.membership().linearizable = false;
        assert_eq!(rule(&departed(kind), &unconfirmed), "Unconfirmed");
    }
    // Found by its peer URL even before it has published a name.
    let mut unstarted = fresh();
    unstarted.membership().members[2] = Member {
        name: String::new(),
        ..crate::fixtures::member(3)
    };
    assert_eq!(
        rule(&departed(ObjectKind::PersistentVolumeClaim), &unstarted),
        "StillMember"
    );
}

#[test]
fn an_answer_of_another_cluster_is_not_healthy() {
    let mut fresh = fresh();
    let mut stranger = endpoint(2, false);
    if let Observed::Seen(status) = &mut stranger.status {
        status.cluster_id = ClusterId(9);
    }
    fresh.etcd.endpoints[1] = stranger;
    let mut bold = remove(3);
    bold.pre.healthy_voters = Some(0);
    assert_eq!(rule(&bold, &fresh), "TooFewHealthy");
}

#[test]
fn reads_name_what_a_check_needs() {
    use crate::reads;
    assert_eq!(reads(&event()), crate::Reads::default());
    assert!(reads(&add()).etcd);
    assert_eq!(
        reads(&service()).object,
        Some((ObjectKind::Service, "a".to_owned()))
    );
    let pod = reads(&apply("pod", pod_json()));
    assert_eq!((pod.claim.as_deref(), pod.etcd), (Some("a-1"), false));
    assert!(reads(&starting("existing", BOTH)).etcd);
}

/// Another image for the pod of voter 3.
fn set_image(healthy_voters: u32) -> Action {
    let effect = Effect::SetImage {
        name: "a-3".to_owned(),
        image: "quay.io/coreos/etcd:v3.7.3".to_owned(),
        annotations: BTreeMap::new(),
    };
    let mut action = change(effect, healthy_voters);
    action.pre.object = present("uid-3");
    action.pre.object_version = Some("5".to_owned());
    action.pre.touches = Some(MemberId(3));
    action
}

/// The pod of voter 3 as a fresh read shows it.
fn running(is_running: bool, mut fresh: Fresh) -> Fresh {
    fresh.object = Observed::Seen(crate::ObjectHead {
        uid: "uid-3".to_owned(),
        resource_version: "5".to_owned(),
        owner: Some("uid-a".to_owned()),
        running: is_running,
        ..crate::ObjectHead::default()
    });
    fresh
}

#[test]
fn a_member_is_restarted_with_another_image_while_the_others_are_a_quorum() {
    assert_eq!(rule(&set_image(2), &running(true, fresh())), "");
    assert_eq!(
        rule(&set_image(0), &running(true, fresh().silent(1))),
        "TooFewHealthy"
    );
    let mut lying = set_image(2);
    lying.pre.touches = Some(MemberId(2));
    assert_eq!(rule(&lying, &running(true, fresh())), "OtherMember");
    let mut blind = set_image(2);
    blind.pre.touches = None;
    assert_eq!(rule(&blind, &running(true, fresh())), "Running");
}

#[test]
fn a_member_whose_container_does_not_run_may_get_another_image_without_a_quorum() {
    let Action { effect, pre } = set_image(0);
    let mut bare = action(effect);
    bare.pre.object = pre.object;
    bare.pre.object_version = pre.object_version;
    let lost = fresh().silent(1).silent(2);
    assert_eq!(rule(&bare, &running(false, lost.clone())), "");
    assert_eq!(rule(&bare, &running(true, lost)), "Running");
}

/// Where there is no quorum to spare all the others must be healthy, and the disk stays.
#[test]
fn clusters_of_one_and_two_may_be_restarted_too() {
    let of = |voters: usize, mut fresh: Fresh| {
        let members: Vec<Member> = fresh.membership().members.split_off(3 - voters);
        fresh.membership().members = members;
        let mut action = set_image(0);
        action.pre.members = Some(fresh.membership().fingerprint());
        rule(&action, &running(true, fresh))
    };
    assert_eq!(of(1, fresh()), "");
    assert_eq!(of(2, fresh()), "");
    assert_eq!(of(2, fresh().silent(2)), "TooFewHealthy");
}

#[test]
fn a_pod_that_changed_since_the_snapshot_keeps_its_image() {
    let mut old = set_image(2);
    old.pre.object_version = Some("4".to_owned());
    assert_eq!(rule(&old, &running(true, fresh())), "ObjectChanged");
}
