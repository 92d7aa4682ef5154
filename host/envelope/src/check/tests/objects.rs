//! The lease, the resource, and what a pod is built on.

use super::*;

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
    let mut nobodys = with("uid-3", "uid-a");
    if let Observed::Seen(head) = &mut nobodys.object {
        head.owner = None;
    }
    assert_eq!(rule(&service(), &nobodys), "ForeignOwner");
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

/// A module that never records its cluster would be free to throw it away.
#[test]
fn whom_a_quorum_counts_as_a_member_is_not_deleted_as_if_nothing_were_born() {
    for kind in [ObjectKind::Pod, ObjectKind::PersistentVolumeClaim] {
        let mut one = delete(kind);
        one.pre.birth_token = Some("t1".to_owned());
        assert_eq!(rule(&one, &fresh_of(&unborn())), "StillMember");
        let mut forming = fresh_of(&unborn());
        forming.etcd.membership = Observed::Unknown("no leader".to_owned());
        assert_eq!(rule(&one, &forming), "");
    }
}

#[test]
fn clients_get_their_service_once_the_cluster_is_recorded() {
    let clients = apply("service", service_json());
    assert_eq!(
        rule(&clients, &fresh_of(&unborn()).without_object()),
        "Unborn"
    );
    assert_eq!(rule(&clients, &fresh().without_object()), "");
    let mut peers = service_json();
    peers["metadata"]["name"] = json!("a");
    let peers = apply("service", peers);
    let unborn = fresh_of(&unborn()).without_object();
    assert_eq!(rule(&peers, &unborn), "");
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
