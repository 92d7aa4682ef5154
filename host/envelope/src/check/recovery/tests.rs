//! A recovery on a fresh read that agrees, and on each one that does not.

use contract::{
    Action, Effect, EtcdClusterStatus, ObjectKind, Observed, Recovery, RecoveryStage, Resource,
};
use serde_json::json;

use crate::check::check;
use crate::fixtures::{
    CLUSTER_ID, action, apply, decision, fresh_of, pod_json, present, resource, snapshot_of,
};
use crate::{Fresh, permit, reads};

fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

/// A person consented to go on from `a-1`.
fn consented() -> Resource {
    let mut resource = resource();
    resource.spec["quorumRecovery"] = json!({"clusterID": "c1", "survivor": "a-1"});
    resource
}

fn under_way() -> Resource {
    let mut resource = consented();
    resource.status["recovery"] = json!(recovery(RecoveryStage::Forcing));
    resource
}

fn recovery(stage: RecoveryStage) -> Recovery {
    Recovery {
        cluster_id: "c1".to_owned(),
        survivor: "a-1".to_owned(),
        stage,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        given_up: vec!["a-2".to_owned(), "a-3".to_owned()],
    }
}

/// Member 1 answers and knows of no leader; the others do not answer.
fn lost(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource).silent(2).silent(3);
    fresh.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
    if let Observed::Seen(status) = &mut fresh.etcd.endpoints[0].status {
        status.leader = None;
    }
    fresh
}

/// No pod is left.
fn stopped(resource: &Resource) -> Fresh {
    let mut fresh = lost(resource).without_object();
    fresh.etcd.membership = Observed::Absent;
    fresh.etcd.endpoints.clear();
    fresh
}

fn begin() -> Action {
    let mut begin = action(Effect::UpdateStatus {
        status: Box::new(EtcdClusterStatus {
            cluster_id: Some(CLUSTER_ID),
            recovery: Some(recovery(RecoveryStage::Stopping)),
            ..EtcdClusterStatus::default()
        }),
    });
    begin.pre.resource_version = Some("7".to_owned());
    begin
}

fn stop() -> Action {
    let mut stop = action(Effect::Delete {
        kind: ObjectKind::Pod,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    stop.pre.object = present("uid-3");
    stop.pre.recovery = true;
    stop
}

fn start() -> Action {
    let mut pod = pod_json();
    pod["metadata"]["annotations"]["etcd.database.coreos.com/force-new-cluster"] = json!("true");
    let mut start = apply("pod", pod);
    start.pre.claim_uid = Some("uid-claim".to_owned());
    start.pre.recovery = true;
    start
}

#[test]
fn a_recovery_begins_with_a_consent_to_this_loss() {
    assert_eq!(rule(&begin(), &lost(&consented())), "");
    assert!(reads(&begin()).etcd);
}

#[test]
fn a_recovery_does_not_begin_without_a_consent_to_this_cluster_and_member() {
    assert_eq!(rule(&begin(), &lost(&resource())), "Unasked");
    for (key, value) in [("clusterID", "c2"), ("survivor", "a-2")] {
        let mut other = consented();
        other.spec["quorumRecovery"][key] = json!(value);
        assert_eq!(rule(&begin(), &lost(&other)), "Unasked", "{key}");
    }
}

#[test]
fn a_consent_counts_once() {
    for stage in [RecoveryStage::Done, RecoveryStage::Void] {
        let mut used = consented();
        used.status["recovery"] = json!(recovery(stage));
        assert_eq!(rule(&begin(), &lost(&used)), "Unasked", "{stage:?}");
    }
    let mut goes_on = begin();
    if let Effect::UpdateStatus { status } = &mut goes_on.effect {
        status.recovery = Some(recovery(RecoveryStage::Forcing));
    }
    assert_eq!(rule(&goes_on, &stopped(&under_way())), "");
}

#[test]
fn nothing_is_recovered_while_a_quorum_answers() {
    assert_eq!(rule(&begin(), &fresh_of(&consented())), "Unasked");
    assert_eq!(rule(&stop(), &fresh_of(&under_way())), "Unasked");
    let mut led = lost(&under_way());
    if let Observed::Seen(status) = &mut led.etcd.endpoints[0].status {
        status.leader = Some(contract::MemberId(2));
    }
    assert_eq!(rule(&stop(), &led), "Unasked");
}

/// A survivor that is not heard of may have lost its data, or may follow a leader that nobody else sees.
#[test]
fn a_recovery_does_not_begin_from_a_silent_survivor() {
    assert_eq!(rule(&begin(), &lost(&consented()).silent(1)), "Unasked");
}

/// It would be an empty cluster.
#[test]
fn a_recovery_does_not_begin_from_a_survivor_without_entries() {
    let mut empty = lost(&consented());
    if let Observed::Seen(status) = &mut empty.etcd.endpoints[0].status {
        status.raft_index = 0;
    }
    assert_eq!(rule(&begin(), &empty), "Unasked");
}

#[test]
fn members_are_stopped_for_a_recovery_that_is_under_way() {
    assert_eq!(rule(&stop(), &lost(&under_way())), "");
    assert_eq!(rule(&stop(), &lost(&consented())), "Unasked");
    let mut withdrawn = under_way();
    withdrawn.spec = resource().spec;
    assert_eq!(rule(&stop(), &lost(&withdrawn)), "Unasked");
}

#[test]
fn a_pod_that_holds_its_data_is_not_stopped_for_a_recovery() {
    let mut in_pod = lost(&under_way());
    if let Observed::Seen(head) = &mut in_pod.object {
        head.claim = None;
    }
    assert_eq!(rule(&stop(), &in_pod), "StillRunning");
}

/// A recovery whose survivor answers alone, and the status that remembers these as voters.
fn renewing(voters: &[&str]) -> Resource {
    let mut resource = under_way();
    resource.status["recovery"] = json!(recovery(RecoveryStage::Renewing));
    let records = voters
        .iter()
        .map(|name| json!({"name": name, "role": "Voter"}));
    resource.status["memberRecords"] = records.collect();
    resource
}

fn renew() -> Action {
    let mut survivor = stop();
    if let Effect::Delete { name, .. } = &mut survivor.effect {
        *name = "a-1".to_owned();
    }
    survivor.pre.claim_uid = Some("uid-claim".to_owned());
    survivor
}

/// All members answer; what is touched is the survivor's pod.
fn touching_the_survivor(resource: &Resource) -> Fresh {
    let mut fresh = fresh_of(resource);
    if let Observed::Seen(head) = &mut fresh.object {
        head.claim = Some("a-1".to_owned());
    }
    fresh
}

/// Of so many pods nobody answers.
fn unheard(resource: &Resource, pods: usize) -> Fresh {
    let mut fresh = touching_the_survivor(resource);
    fresh.etcd.endpoints.truncate(pods);
    for endpoint in &mut fresh.etcd.endpoints {
        endpoint.status = Observed::Unknown("timed out".to_owned());
    }
    fresh.etcd.membership = Observed::Unknown("no member answers".to_owned());
    fresh
}

#[test]
fn the_survivor_is_taken_down_once_more_while_it_is_the_only_voter() {
    let renewing = renewing(&["a-1"]);
    let mut alone = touching_the_survivor(&renewing);
    alone.membership().members.truncate(1);
    assert_eq!(rule(&renew(), &alone), "");
    let shared = touching_the_survivor(&renewing);
    assert_eq!(rule(&renew(), &shared), "Unasked");
    assert_eq!(rule(&stop(), &alone), "Unasked");
    assert_eq!(rule(&start(), &stopped(&renewing)), "Unasked");
}

#[test]
fn a_survivor_that_is_down_is_taken_down_once_more_while_nobody_else_is_there() {
    let renewing = renewing(&["a-1"]);
    assert_eq!(rule(&renew(), &unheard(&renewing, 1)), "");
    let mut without_address = unheard(&renewing, 0);
    without_address.etcd.membership = Observed::Absent;
    assert_eq!(rule(&renew(), &without_address), "");
    let mut without_leader = touching_the_survivor(&renewing);
    without_leader.etcd.endpoints.truncate(1);
    without_leader.membership().linearizable = false;
    assert_eq!(rule(&renew(), &without_leader), "Unasked");
    without_leader.membership().members.truncate(1);
    assert_eq!(rule(&renew(), &without_leader), "");
}

/// The status holds whom a module wrote down, and a hostile one lets others vote in silence.
#[test]
fn the_survivor_is_not_taken_down_beside_pods_that_may_vote_unheard() {
    let renewing = renewing(&["a-1"]);
    for pods in [2, 3] {
        let unheard = unheard(&renewing, pods);
        assert_eq!(rule(&renew(), &unheard), "Unasked", "{pods}");
    }
    let pods_unread = unheard(&renewing, 0);
    assert_eq!(rule(&renew(), &pods_unread), "Unasked");
    // A member's own word may be from before the others had their votes.
    let mut stale = touching_the_survivor(&renewing);
    stale.membership().members.truncate(1);
    stale.membership().linearizable = false;
    assert_eq!(rule(&renew(), &stale), "Unasked");
    stale.membership().linearizable = true;
    stale.membership().cluster_id = contract::ClusterId(0xc2);
    assert_eq!(rule(&renew(), &stale), "Unasked");
}

#[test]
fn the_survivor_is_not_taken_down_unheard_while_the_status_remembers_other_voters() {
    for voters in [&["a-1", "a-2"][..], &[]] {
        let renewing = renewing(voters);
        assert_eq!(rule(&renew(), &unheard(&renewing, 1)), "Unasked");
    }
}

#[test]
fn the_survivor_starts_alone_when_nobody_is_left() {
    assert_eq!(rule(&start(), &stopped(&under_way())), "");
    assert_eq!(
        rule(&start(), &lost(&under_way()).without_object()),
        "Unasked"
    );
    assert_eq!(rule(&start(), &stopped(&consented())), "Unasked");
    let mut other = under_way();
    other.spec["quorumRecovery"]["survivor"] = json!("a-2");
    other.status["recovery"]["survivor"] = json!("a-2");
    assert_eq!(rule(&start(), &stopped(&other)), "Unasked");
}

/// The rules that a decision with this action breaks, whatever the world is like.
fn rules(action: Action) -> Vec<&'static str> {
    let refused = permit(&decision(vec![action]), &snapshot_of(under_way()));
    refused
        .err()
        .into_iter()
        .flatten()
        .map(|refusal| refusal.rule())
        .collect()
}

fn flagged(change: impl FnOnce(&mut serde_json::Value)) -> Action {
    let mut pod = pod_json();
    pod["metadata"]["annotations"]["etcd.database.coreos.com/force-new-cluster"] = json!("true");
    change(&mut pod);
    let mut start = apply("pod", pod);
    start.pre.claim_uid = Some("uid-claim".to_owned());
    start.pre.recovery = true;
    start
}

#[test]
fn the_flag_comes_from_the_annotation_or_not_at_all() {
    let variable = |source: serde_json::Value| {
        flagged(|pod| {
            let found = pod["spec"]["containers"][0]["env"].as_array_mut();
            found.expect("a list").push(source);
        })
    };
    let path = "metadata.annotations['etcd.database.coreos.com/force-new-cluster']";
    let read =
        json!({"name": "ETCD_FORCE_NEW_CLUSTER", "valueFrom": {"fieldRef": {"fieldPath": path}}});
    assert_eq!(rules(variable(read)), [""; 0]);
    let fixed = json!({"name": "ETCD_FORCE_NEW_CLUSTER", "value": "true"});
    assert_eq!(rules(variable(fixed)), ["Start"]);
}

#[test]
fn a_pod_that_starts_alone_says_so_and_starts_from_its_own_disk() {
    let mut silent = flagged(|_| {});
    silent.pre.recovery = false;
    assert_eq!(rules(silent), ["MissingPrecondition"]);
    let joins = flagged(|pod| {
        pod["metadata"]["annotations"]["etcd.database.coreos.com/initial-cluster"] =
            json!("a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380");
    });
    assert!(rules(joins).contains(&"Start"));
}

#[test]
fn a_living_pod_loses_the_flag_and_never_gets_it() {
    let annotate = |value: &str| {
        let mut annotate = action(Effect::AnnotatePod {
            name: "a-1".to_owned(),
            annotations: [(
                "etcd.database.coreos.com/force-new-cluster".to_owned(),
                value.to_owned(),
            )]
            .into(),
        });
        annotate.pre.object = present("uid-1");
        annotate
    };
    assert_eq!(rules(annotate("")), [""; 0]);
    assert_eq!(rules(annotate("true")), ["Start"]);
}

/// People are told that they can copy it away until then; at size 0 a cluster has every size.
#[test]
fn the_claim_of_one_who_was_given_up_goes_only_when_the_cluster_has_its_size() {
    let mut delete = action(Effect::Delete {
        kind: ObjectKind::PersistentVolumeClaim,
        name: "a-9".to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("uid-3");
    delete.pre.cluster_id = Some(CLUSTER_ID);
    delete.pre.departed = Some("a-9".to_owned());
    let at = |size: i64, given_up: &str| {
        let mut done = resource();
        done.spec["size"] = json!(size);
        done.status["recovery"] = json!(Recovery {
            given_up: vec![given_up.to_owned()],
            ..recovery(RecoveryStage::Done)
        });
        rule(&delete, &fresh_of(&done))
    };
    assert_eq!(at(3, "a-9"), "");
    assert_eq!(at(5, "a-9"), "TooFewHealthy");
    assert_eq!(at(0, "a-9"), "Unasked");
    assert_eq!(at(0, "a-8"), "", "of one who left afterwards");
}
