//! Stopping a cluster on a fresh read that agrees, and on each one that does not.

use contract::{
    Action, ClusterId, Effect, EtcdClusterStatus, MemberId, MemberRecord, MemberRole, ObjectKind,
    Resource,
};
use serde_json::json;

use crate::check::check;
use crate::fixtures::{CLUSTER_ID, action, fingerprint, fresh_of, present, resource};
use crate::{Fresh, reads};

fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

fn at_zero() -> Resource {
    let mut resource = resource();
    resource.spec["size"] = json!(0);
    resource
}

fn voter(number: u8) -> MemberRecord {
    let since = "2026-01-01T00:00:00Z";
    let record = json!({
        "name": format!("a-{number}"), "role": "Voter", "health": "Healthy", "since": since, "roleSince": since,
    });
    serde_json::from_value(record).expect("a record")
}

fn asleep() -> Resource {
    let mut resource = at_zero();
    resource.status["asleepSince"] = json!("2026-01-01T00:00:00Z");
    resource.status["memberRecords"] = json!((1..=3).map(voter).collect::<Vec<_>>());
    resource
}

/// The status that says for the first time that the cluster sleeps.
fn begin() -> Action {
    let mut begin = action(Effect::UpdateStatus {
        status: Box::new(EtcdClusterStatus {
            cluster_id: Some(CLUSTER_ID),
            asleep_since: Some("2026-01-01T00:00:00Z".to_owned()),
            member_records: (1..=3).map(voter).collect(),
            ..EtcdClusterStatus::default()
        }),
    });
    begin.pre.resource_version = Some("7".to_owned());
    begin.pre.cluster_id = Some(CLUSTER_ID);
    begin.pre.members = Some(fingerprint());
    begin.pre.healthy_voters = Some(2);
    begin
}

fn stop() -> Action {
    let mut stop = action(Effect::Delete {
        kind: ObjectKind::Pod,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    stop.pre.object = present("uid-3");
    stop.pre.claim_uid = Some("uid-claim".to_owned());
    stop.pre.scaled_to_zero = true;
    stop
}

#[test]
fn a_whole_cluster_may_begin_to_sleep_when_the_spec_asks_for_it() {
    assert_eq!(rule(&begin(), &fresh_of(&at_zero())), "");
    assert_eq!(rule(&begin(), &fresh_of(&resource())), "Unasked");
}

#[test]
fn a_cluster_that_is_not_whole_may_not_begin_to_sleep() {
    let fresh = || fresh_of(&at_zero());
    assert_eq!(rule(&begin(), &fresh().silent(3)), "");
    assert_eq!(
        rule(&begin(), &fresh().silent(2).silent(3)),
        "TooFewHealthy"
    );
    let mut growing = begin();
    growing.pre.members = None;
    assert_eq!(rule(&growing, &fresh().with_learner()), "Outstanding");
    let mut other = fresh();
    other.membership().cluster_id = ClusterId(0xff);
    assert_eq!(rule(&begin(), &other), "OtherCluster");
}

/// From then on nobody but the status can say whose pod keeps something.
#[test]
fn a_cluster_sleeps_once_everybody_who_votes_is_remembered() {
    let of = |change: fn(&mut EtcdClusterStatus)| {
        let mut begin = begin();
        let Effect::UpdateStatus { status } = &mut begin.effect else {
            unreachable!("it is a status")
        };
        change(status);
        rule(&begin, &fresh_of(&at_zero()))
    };
    assert_eq!(of(|_| {}), "");
    assert_eq!(
        of(|status| status.member_records.truncate(2)),
        "FalseStatus"
    );
    let learns =
        |status: &mut EtcdClusterStatus| status.member_records[0].role = MemberRole::Learner;
    assert_eq!(of(learns), "FalseStatus");
    let renamed =
        |status: &mut EtcdClusterStatus| status.member_records[0].name = "another".to_owned();
    assert_eq!(of(renamed), "FalseStatus");
}

/// Found by the simulator: the pod of a member that had left was seen only after the others were stopped, and its claim
/// waited for its end.
#[test]
fn the_pod_of_a_member_that_left_before_the_others_slept_may_be_stopped() {
    let left = |resource: &Resource| {
        let mut left = stop();
        left.pre.departed = Some("a-3".to_owned());
        left.pre.claim_uid = None;
        let mut fresh = fresh_of(resource).silent(1).silent(2).silent(3);
        fresh.claim = contract::Observed::Absent;
        if let contract::Observed::Seen(head) = &mut fresh.object {
            head.ran = true;
        }
        assert!(!reads(&left).etcd && reads(&left).claim.is_none());
        rule(&left, &fresh)
    };
    let mut resource = asleep();
    assert_eq!(left(&resource), "StillMember");
    resource.status["memberRecords"] = json!([voter(1), voter(2)]);
    assert_eq!(left(&resource), "");
    resource.spec["size"] = json!(3);
    assert_eq!(left(&resource), "Unasked");
    resource.spec["size"] = json!(0);
    resource.status["asleepSince"] = json!(null);
    assert_eq!(left(&resource), "Unasked");
}

/// Found by reading: a module could let members vote of whom nothing says that they do, and stop them as some that left.
#[test]
fn nobody_gets_a_vote_while_the_others_sleep() {
    let mut promote = action(Effect::Promote {
        member: MemberId(4),
    });
    promote.pre.cluster_id = Some(CLUSTER_ID);
    promote.pre.healthy_voters = Some(3);
    assert_eq!(rule(&promote, &fresh_of(&at_zero()).with_learner()), "");
    assert_eq!(
        rule(&promote, &fresh_of(&asleep()).with_learner()),
        "Unasked"
    );
}

/// Of another cluster nobody is remembered, and those of a restore vote without being asked.
#[test]
fn no_other_cluster_goes_on_sleeping() {
    let of = |cluster_id: Option<ClusterId>| {
        let mut later = begin();
        let Effect::UpdateStatus { status } = &mut later.effect else {
            unreachable!("it is a status")
        };
        status.cluster_id = cluster_id;
        rule(&later, &fresh_of(&asleep()))
    };
    assert_eq!(of(Some(CLUSTER_ID)), "");
    assert_eq!(of(None), "Unasked");
    assert_eq!(of(Some(ClusterId(0xff))), "Unasked");
}

/// A claim is not deleted on what the status remembers alone.
#[test]
fn the_claim_of_a_member_that_left_stays_while_the_others_sleep() {
    let mut claim = action(Effect::Delete {
        kind: ObjectKind::PersistentVolumeClaim,
        name: "a-4".to_owned(),
        grace_seconds: None,
    });
    claim.pre.object = present("uid-3");
    claim.pre.departed = Some("a-4".to_owned());
    claim.pre.scaled_to_zero = true;
    let unasked = || contract::Observed::Unknown("not asked for".to_owned());
    let mut fresh = fresh_of(&asleep());
    fresh.etcd.membership = unasked();
    assert!(!reads(&claim).etcd);
    assert_eq!(rule(&claim, &fresh), "Unread");
}

/// Else a status that is written while the members sleep would need a quorum.
#[test]
fn a_cluster_that_sleeps_may_go_on_sleeping_without_a_quorum() {
    let mut later = begin();
    later.pre.cluster_id = None;
    later.pre.members = None;
    later.pre.healthy_voters = None;
    let fresh = fresh_of(&asleep()).silent(1).silent(2).silent(3);
    assert_eq!(rule(&later, &fresh), "");
}

#[test]
fn every_pod_of_a_sleeping_cluster_may_be_stopped() {
    let fresh = fresh_of(&asleep()).silent(1).silent(2);
    assert_eq!(rule(&stop(), &fresh), "");
    assert_eq!(reads(&stop()).claim.as_deref(), Some("a-3"));
}

#[test]
fn no_pod_is_stopped_unless_spec_and_status_say_so() {
    assert_eq!(rule(&stop(), &fresh_of(&at_zero())), "Unasked");
    let mut awake = asleep();
    awake.spec["size"] = json!(3);
    assert_eq!(rule(&stop(), &fresh_of(&awake)), "Unasked");
    awake.spec = json!({});
    assert_eq!(rule(&stop(), &fresh_of(&awake)), "Unasked");
}

#[test]
fn no_pod_is_stopped_whose_data_would_go_with_it() {
    let mut in_pod = fresh_of(&asleep());
    if let contract::Observed::Seen(head) = &mut in_pod.object {
        head.claim = None;
    }
    assert_eq!(rule(&stop(), &in_pod), "StillRunning");
    let mut going = fresh_of(&asleep());
    if let contract::Observed::Seen(head) = &mut going.claim {
        head.deleted = true;
    }
    assert_eq!(rule(&stop(), &going), "ObjectChanged");
    let mut another = stop();
    another.pre.claim_uid = Some("another".to_owned());
    assert_eq!(rule(&another, &fresh_of(&asleep())), "ObjectChanged");
}

/// Found by the simulator: a lost node left a pod that waits for a claim that is gone, and nobody took it away.
#[test]
fn a_pod_that_has_never_run_and_waits_for_a_claim_that_is_gone_may_be_stopped() {
    let mut stop = stop();
    stop.pre.claim_uid = None;
    let fresh = |ran: bool| {
        let mut fresh = fresh_of(&asleep());
        fresh.claim = contract::Observed::Absent;
        if let contract::Observed::Seen(head) = &mut fresh.object {
            head.ran = ran;
        }
        fresh
    };
    assert_eq!(rule(&stop, &fresh(false)), "");
    assert_eq!(rule(&stop, &fresh(true)), "StillRunning");
    let claimed = Fresh {
        claim: fresh_of(&asleep()).claim,
        ..fresh(false)
    };
    assert_eq!(rule(&stop, &claimed), "ObjectChanged");
}
