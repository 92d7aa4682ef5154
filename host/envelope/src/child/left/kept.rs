//! What of the archived operator's may be touched, and when.

use contract::{
    Action, Dialect, Effect, EtcdClusterStatus, MemberId, ObjectKind, Observed, OldSet, Resource,
    Snapshot,
};
use serde_json::json;

use crate::fixtures::{
    action, change, decision, fresh_of, pod_json, present, resource, snapshot_of,
};
use crate::{Fresh, check, permit};

/// Three members of the archived operator, of which the first has its ReplicaSet, its pod and its claim.
fn kept(status: serde_json::Value) -> Snapshot {
    let resource = Resource {
        api_version: Dialect::Improbable.api_version(),
        status,
        ..resource()
    };
    let mut labels = Dialect::Improbable.labels("a");
    labels.remove("app");
    labels.insert("etcd.improbable.io/peer-name".to_owned(), "a-1".to_owned());
    let pod = json!({
        "name": "a-1-x2x4k", "uid": "uid-old", "resourceVersion": "1", "owner": "uid-set", "labels": labels,
        "created": 0, "phase": "Running", "claim": "a-1", "image": "quay.io/coreos/etcd:v3.4.34",
    });
    let claim = json!({
        "name": "a-1", "uid": "uid-claim", "resourceVersion": "1", "labels": labels, "created": 0, "phase": "Bound",
    });
    let mut snapshot = snapshot_of(resource);
    snapshot.objects.pods = Observed::Seen(vec![serde_json::from_value(pod).expect("a pod")]);
    let claim = serde_json::from_value(claim).expect("a claim");
    snapshot.objects.volumes = Observed::Seen(vec![claim]);
    snapshot.old_sets = Observed::Seen(vec![OldSet {
        name: "a-1".to_owned(),
        uid: "uid-set".to_owned(),
        owner: Some("uid-peer".to_owned()),
    }]);
    snapshot
}

fn under_way() -> Snapshot {
    kept(json!({"clusterId": "c1", "takingOver": true}))
}

/// Nobody can start the member any more.
fn at_rest(mut snapshot: Snapshot) -> Snapshot {
    snapshot.objects.pods = Observed::Seen(Vec::new());
    snapshot.old_sets = Observed::Seen(Vec::new());
    snapshot
}

fn retire() -> Action {
    let effect = Effect::RetireReplicaSet {
        name: "a-1".to_owned(),
        owner: "uid-peer".to_owned(),
    };
    let mut action = change(effect, 2);
    action.pre.object = present("uid-set");
    action.pre.touches = Some(MemberId(1));
    action
}

fn take_up() -> Action {
    let mut action = action(Effect::TakeUpClaim {
        name: "a-1".to_owned(),
        from: String::new(),
    });
    action.pre.object = present("uid-claim");
    action
}

fn rules(action: Action, snapshot: &Snapshot) -> Vec<&'static str> {
    let refusals = permit(&decision(vec![action]), snapshot).err();
    let refusals = refusals.unwrap_or_default();
    refusals.iter().map(crate::Refusal::rule).collect()
}

fn fresh(snapshot: &Snapshot, owner: Option<&str>, uid: &str) -> Fresh {
    let mut fresh = fresh_of(&snapshot.resource);
    if let Observed::Seen(head) = &mut fresh.object {
        head.owner = owner.map(str::to_owned);
        uid.clone_into(&mut head.uid);
    }
    fresh
}

#[test]
fn a_replica_set_is_retired_only_while_its_members_are_taken_over() {
    assert_eq!(rules(retire(), &under_way()), [""; 0]);
    let unrecorded = kept(json!({}));
    assert!(rules(retire(), &unrecorded).contains(&"ForeignOwner"));
    let living = kept(json!({"clusterId": "c1"}));
    assert!(rules(retire(), &living).contains(&"ForeignOwner"));
    let mut other = retire();
    other.pre.object = present("uid-of-another");
    assert!(rules(other, &under_way()).contains(&"ForeignOwner"));
    let mut blind = retire();
    blind.pre.touches = None;
    assert!(rules(blind, &under_way()).contains(&"MissingPrecondition"));
    let mut deletion = action(Effect::Delete {
        kind: ObjectKind::ReplicaSet,
        name: "a-1".to_owned(),
        grace_seconds: None,
    });
    deletion.pre.object = present("uid-set");
    assert!(rules(deletion, &under_way()).contains(&"ForeignName"));
}

/// On a fresh read, too: another owner, a take-over that has ended, too few others.
#[test]
fn a_replica_set_is_retired_while_the_other_members_are_a_quorum() {
    let snapshot = under_way();
    let whole = fresh(&snapshot, Some("uid-peer"), "uid-set");
    assert!(check(&retire(), &whole).is_ok());
    let refused = |fresh: &Fresh| check(&retire(), fresh).map_err(|why| why.rule());
    let foreign = fresh(&snapshot, Some("uid-somebody"), "uid-set");
    assert_eq!(refused(&foreign), Err("ForeignOwner"));
    let mut ended = whole.clone();
    if let Observed::Seen(head) = &mut ended.resource {
        head.taking_over = false;
    }
    assert_eq!(refused(&ended), Err("ForeignOwner"));
    let mut few = whole.clone();
    few.etcd.endpoints[2].status = Observed::Unknown("no answer".to_owned());
    assert!(refused(&few).is_err());
    let mut another = retire();
    another.pre.touches = Some(MemberId(2));
    let refused = check(&another, &whole).map_err(|why| why.rule());
    assert_eq!(refused, Err("OtherMember"));
}

#[test]
fn a_claim_of_nobodys_is_taken_up_when_nobody_can_start_its_member() {
    for status in [json!({}), json!({"clusterId": "c1", "takingOver": true})] {
        let standing = kept(status);
        assert!(!rules(take_up(), &standing).is_empty());
        let resting = at_rest(standing);
        assert_eq!(rules(take_up(), &resting), [""; 0]);
        assert!(check(&take_up(), &fresh(&resting, None, "uid-claim")).is_ok());
        let anothers = fresh(&resting, Some("uid-somebody"), "uid-claim");
        assert!(check(&take_up(), &anothers).is_err());
        let mut unseen = resting.clone();
        unseen.old_sets = Observed::Unknown("forbidden".to_owned());
        assert!(!rules(take_up(), &unseen).is_empty());
    }
    let living = at_rest(kept(json!({"clusterId": "c1"})));
    assert!(!rules(take_up(), &living).is_empty());
}

/// A data folder that is somewhere else would be an empty one.
#[test]
fn data_is_mounted_where_it_is_on_the_volume() {
    let apply = |path: &str| {
        let mut pod = pod_json();
        pod["metadata"]["labels"] = json!(Dialect::Improbable.labels("a"));
        let owner = &mut pod["metadata"]["ownerReferences"][0];
        owner["apiVersion"] = json!(Dialect::Improbable.api_version());
        pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = json!(path);
        let pod = serde_json::from_value(pod).expect("a pod");
        let mut action = action(Effect::Apply {
            object: Box::new(contract::Child::Pod(pod)),
        });
        action.pre.object = Some(contract::ObjectPrecondition::Absent);
        action.pre.claim_uid = Some("uid-claim".to_owned());
        action
    };
    let rooted = at_rest(under_way());
    assert!(!rules(apply("/var/etcd/data"), &rooted).contains(&"Volume"));
    assert!(rules(apply("/var/etcd"), &rooted).contains(&"Volume"));
    let mut ours = rooted;
    ours.objects.volumes = Observed::Seen(Vec::new());
    assert!(!rules(apply("/var/etcd"), &ours).contains(&"Volume"));
    assert!(rules(apply("/var/etcd/data"), &ours).contains(&"Volume"));
}

/// Only a claim that is taken up says so.
#[test]
fn a_claim_that_is_made_has_its_data_where_this_operator_has_it() {
    let mut claim = crate::fixtures::claim_json();
    claim["metadata"]["annotations"] = json!({"etcd.database.coreos.com/data": "volume-root"});
    let claim = serde_json::from_value(claim).expect("a claim");
    let mut action = action(Effect::Apply {
        object: Box::new(contract::Child::PersistentVolumeClaim(claim)),
    });
    action.pre.object = Some(contract::ObjectPrecondition::Absent);
    assert_eq!(rules(action, &snapshot_of(resource())), ["Annotation"]);
}

#[test]
fn a_take_over_is_begun_where_there_is_something_and_ended_when_all_have_come_over() {
    let update = |snapshot: &Snapshot, change: &dyn Fn(&mut EtcdClusterStatus)| {
        let stored = snapshot.resource.status.clone();
        let mut status: EtcdClusterStatus = serde_json::from_value(stored).unwrap_or_default();
        change(&mut status);
        let mut update = action(Effect::UpdateStatus {
            status: Box::new(status),
        });
        update.pre.resource_version = Some("7".to_owned());
        rules(update, snapshot)
    };
    let begin = |status: &mut EtcdClusterStatus| {
        status.cluster_id = Some(crate::fixtures::CLUSTER_ID);
        status.taking_over = true;
    };
    assert_eq!(update(&kept(json!({})), &begin), [""; 0]);
    let nothing = at_rest(kept(json!({})));
    assert_eq!(update(&nothing, &begin), ["FalseStatus"]);
    let living = kept(json!({"clusterId": "c1"}));
    assert_eq!(update(&living, &begin), ["FalseStatus"]);
    let record =
        json!({"name": "a-1", "role": "Voter", "health": "Unknown", "since": "", "roleSince": ""});
    let stored = json!({"clusterId": "c1", "takingOver": true, "memberRecords": [record]});
    let end = |status: &mut EtcdClusterStatus| status.taking_over = false;
    assert_eq!(update(&kept(stored.clone()), &end), ["FalseStatus"]);
    assert_eq!(update(&at_rest(kept(stored)), &end), [""; 0]);
}
