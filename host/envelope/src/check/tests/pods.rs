//! Pods and disks taken from members, and other images given to them.

use super::*;

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
    assert_eq!(rule(&restart, &pair), "StillMember");
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
    assert_eq!(rule(&restart(0), &in_pod), "StillMember");
}

/// The operator may be cut off from a member that serves clients and votes.
#[test]
fn the_pod_of_a_voter_that_runs_and_is_not_heard_goes_only_while_the_others_are_a_quorum() {
    let running = |mut fresh: Fresh| {
        if let Observed::Seen(head) = &mut fresh.object {
            head.running = true;
        }
        fresh
    };
    let unheard = running(fresh().silent(2).silent(3));
    assert_eq!(rule(&restart(0), &unheard), "TooFewHealthy");
    assert_eq!(rule(&restart(0), &running(fresh().silent(3))), "");
    let mut leaderless = running(fresh().silent(2));
    if let Observed::Seen(status) = &mut leaderless.etcd.endpoints[2].status {
        status.leader = None;
    }
    assert_eq!(
        rule(&restart(0), &leaderless),
        "",
        "it said that it does not serve"
    );
}

/// Frozen for minutes, it has its data all the same.
#[test]
fn a_pod_that_holds_the_data_of_a_listed_member_stays_though_a_quorum_is_left() {
    let mut in_pod = fresh().silent(3);
    in_pod.object = Observed::Seen(crate::ObjectHead {
        running: true,
        uid: "uid-3".to_owned(),
        owner: Some("uid-a".to_owned()),
        ..crate::ObjectHead::default()
    });
    assert_eq!(rule(&restart(0), &in_pod), "StillMember");
}

#[test]
fn the_votes_counted_are_those_of_the_pods_own_member() {
    let mut lying = restart(2);
    lying.pre.touches = Some(MemberId(2));
    assert_eq!(rule(&lying, &fresh()), "OtherMember");
}

#[test]
fn without_evidence_only_an_ended_pod_on_a_claim_that_was_seen_to_stay_is_deleted() {
    let judged = |named: Option<&str>, ended: bool, claim: Option<&str>, is_going: bool| {
        let mut fresh = fresh();
        fresh.object = Observed::Seen(crate::ObjectHead {
            uid: "uid-3".to_owned(),
            owner: Some("uid-a".to_owned()),
            running: !ended,
            ended,
            claim: claim.map(str::to_owned),
            ..crate::ObjectHead::default()
        });
        if let Observed::Seen(claim) = &mut fresh.claim {
            claim.deleted = is_going;
        }
        let mut deletion = delete(ObjectKind::Pod);
        deletion.pre.claim_uid = named.map(str::to_owned);
        rule(&deletion, &fresh)
    };
    let named = Some("uid-claim");
    assert_eq!(judged(named, true, Some("a-3"), false), "");
    assert_eq!(judged(named, false, Some("a-3"), false), "StillRunning");
    assert_eq!(judged(named, true, None, false), "StillRunning");
    // With the last copy: the snapshot may be older than the deletion of the claim.
    assert_eq!(judged(named, true, Some("a-3"), true), "ObjectChanged");
    assert_eq!(
        judged(Some("another"), true, Some("a-3"), false),
        "ObjectChanged"
    );
    assert_eq!(judged(None, true, Some("a-3"), false), "StillRunning");
}

#[test]
fn a_pod_that_would_found_the_cluster_anew_is_deleted_and_no_other_that_runs() {
    let head = |recorded: Option<&str>, founds: bool, claim: Option<&str>, ran: bool| {
        let mut fresh = fresh();
        fresh.object = Observed::Seen(crate::ObjectHead {
            uid: "uid-3".to_owned(),
            owner: Some("uid-a".to_owned()),
            running: ran,
            ran,
            founds,
            claim: claim.map(str::to_owned),
            ..crate::ObjectHead::default()
        });
        if let Observed::Seen(resource) = &mut fresh.resource {
            let disk = recorded.map(|disk| ("a-3".to_owned(), disk.to_owned()));
            resource.disks = disk.into_iter().collect();
        }
        rule(&delete(ObjectKind::Pod), &fresh)
    };
    let late = |recorded, founds, claim| head(recorded, founds, claim, true);
    assert_eq!(late(Some("uid-2"), true, None), "");
    assert_eq!(late(Some("uid-3"), true, None), "StillRunning");
    assert_eq!(late(None, true, None), "StillRunning");
    assert_eq!(late(Some("uid-2"), false, None), "StillRunning");
    assert_eq!(late(Some("uid-2"), true, Some("a-3")), "StillRunning");
    // On its own claim it is late as long as it has never run.
    assert_eq!(head(Some("claim-3"), true, Some("a-3"), false), "");
    assert_eq!(head(None, true, Some("a-3"), false), "StillRunning");
    assert_eq!(
        head(Some("claim-3"), false, Some("a-3"), false),
        "StillRunning"
    );
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
    // Whatever the module gives as the reason.
    for reason in [None, Some("a-9".to_owned())] {
        let mut bold = departed(ObjectKind::PersistentVolumeClaim);
        bold.pre.departed = reason;
        assert_eq!(rule(&bold, &fresh()), "StillMember");
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

/// Found by the simulator: a snapshot from before the restart of another member shows nothing of it.
#[test]
fn no_member_is_restarted_while_another_one_is_about_to_be() {
    let of_five = |ends: usize| {
        let mut fresh = running(true, fresh());
        for id in [4, 5] {
            fresh.membership().members.push(crate::fixtures::member(id));
            fresh.etcd.endpoints.push(endpoint(id, false));
        }
        fresh.etcd.endpoints[ends - 1].terminating = true;
        let mut action = set_image(3);
        action.pre.members = Some(fresh.membership().fingerprint());
        (action, fresh)
    };
    let rule_of = |(action, fresh): (Action, Fresh)| rule(&action, &fresh);
    assert_eq!(rule_of(of_five(3)), "");
    assert_eq!(rule_of(of_five(1)), "RestartPending");
    let (action, fresh) = of_five(1);
    assert_eq!(rule(&action, &fresh.silent(1)), "");
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

/// A forced apply onto a living pod gives it another image as `SetImage` does, past all that is asked there.
#[test]
fn a_pod_is_made_and_never_applied_onto_one_that_is_there() {
    use crate::fixtures::{decision, snapshot_of};
    let onto = |number: u64| {
        let text = pod_json()
            .to_string()
            .replace("a-1", &format!("a-{number}"));
        let mut pod: Value = serde_json::from_str(&text).expect("a pod");
        pod["spec"]["containers"][0]["image"] = json!("quay.io/coreos/etcd:v3.6.16-nowhere");
        let mut action = apply("pod", pod);
        action.pre.object = present(&format!("uid-{number}"));
        action
    };
    let all: Vec<Action> = (1..=3).map(onto).collect();
    let refusals = crate::permit(&decision(all), &snapshot_of(resource())).expect_err("refused");
    let rules: Vec<&str> = refusals.iter().map(crate::Refusal::rule).collect();
    assert_eq!(
        rules
            .iter()
            .filter(|rule| **rule == "MissingPrecondition")
            .count(),
        3
    );
}

/// Its data would go with it, and nobody can take the deletion of a claim back.
#[test]
fn no_pod_goes_whose_claim_is_being_deleted() {
    let mut going = fresh();
    if let Observed::Seen(claim) = &mut going.claim {
        claim.deleted = true;
    }
    assert_eq!(rule(&restart(2), &fresh()), "");
    assert_eq!(rule(&restart(2), &going), "ObjectChanged");
    let mut unread = fresh();
    unread.claim = Observed::Unknown("timed out".to_owned());
    assert_eq!(rule(&restart(2), &unread), "Unread");
}

/// Who makes the quorum may be down with a spec that was wrong, and nobody votes from where nothing runs.
#[test]
fn a_pod_that_does_not_run_goes_without_a_list_when_its_claim_was_seen_to_stay() {
    let deletion = |claim: Option<&str>| {
        let mut deletion = delete(ObjectKind::Pod);
        deletion.pre.claim_uid = claim.map(str::to_owned);
        deletion
    };
    let lost = || fresh().silent(1).silent(2);
    let down = || {
        let mut down = running(false, lost());
        if let Observed::Seen(head) = &mut down.object {
            head.claim = Some("a-3".to_owned());
        }
        down
    };
    assert_eq!(rule(&deletion(Some("uid-claim")), &down()), "");
    assert_eq!(rule(&deletion(None), &down()), "StillRunning");
    assert_eq!(rule(&deletion(Some("another")), &down()), "ObjectChanged");
    let mut up = down();
    if let Observed::Seen(head) = &mut up.object {
        head.running = true;
    }
    assert_eq!(rule(&deletion(Some("uid-claim")), &up), "StillRunning");
    let mut going = down();
    if let Observed::Seen(claim) = &mut going.claim {
        claim.deleted = true;
    }
    assert_eq!(rule(&deletion(Some("uid-claim")), &going), "ObjectChanged");
    assert_eq!(
        rule(&deletion(Some("uid-claim")), &running(false, lost())),
        "StillRunning"
    );
}
