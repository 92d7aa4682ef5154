//! From which version to which, and by which stages.

use super::*;

/// Other operators once took any version for one that can be reached at once.
#[test]
fn a_version_that_cannot_be_left_at_once_is_said_with_the_way() {
    let decision = healthy(3).running("3.5.18").asking("3.6.16").decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::UpgradePath, "3.5.18 -> 3.5.35 -> 3.6.16");
    says(&decision, Reason::UpgradePath, "spec.upgrade.throughMinors");
}

#[test]
fn a_long_way_is_walked_stage_by_stage_where_the_spec_allows_it() {
    let through = json!({"throughMinors": true});
    let world = healthy(3)
        .running("3.4.34")
        .asking("3.7.3")
        .spec("upgrade", through);
    assert_eq!(given_image(&world.decide()), image("3.5.35"));
    let half = world.clone().moved(1, "3.5.35");
    assert_eq!(given_image(&half.decide()), image("3.5.35"));
    let stage = half.moved(2, "3.5.35").moved(0, "3.5.35").settle();
    let decision = stage.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::Upgrading, "must have agreed");
    assert_eq!(given_image(&stage.later(11).decide()), image("3.6.16"));
}

#[test]
fn from_3_6_on_the_storage_version_tells_that_a_stage_is_done() {
    let mut world = healthy(3).asking("3.7.3");
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.storage_version = Some("3.5.0".to_owned());
    }
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert_eq!(
        given_image(&healthy(3).asking("3.7.3").decide()),
        image("3.7.3")
    );
}

#[test]
fn nothing_is_moved_while_an_alarm_stands() {
    let mut world = healthy(3).asking("3.6.20");
    world.snapshot.etcd.alarms = Observed::Seen(vec![Alarm {
        member: None,
        kind: AlarmKind::Nospace,
    }]);
    assert_eq!(effects(&world.decide()), ["Disarm NOSPACE"]);
    // Nothing more can be done about this one.
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.quota = Some(status.db_size);
        }
    }
    let now = "2026-11-18T11:06:40Z".to_owned();
    world.status.space_cure = Some(contract::SpaceCure {
        since: now.clone(),
        tried_at: now,
        early: true,
        compacted_revision: Some(5_000),
        defragmented: (0..3).map(member).collect(),
    });
    let decision = world.later(6).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::UpgradeHeld));
}

#[test]
fn members_return_to_the_old_minor_version_while_one_still_has_it() {
    let world = healthy(3)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(1, "3.6.16")
        .told(None, "3.5.0")
        .settle();
    let decision = world.clone().asking("3.5.35").later(60).decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.5.35"));
    let last = world
        .moved(2, "3.6.16")
        .given(0, "3.6.16")
        .settle()
        .asking("3.5.35")
        .later(60)
        .decide();
    assert_eq!(effects(&last), [""; 0]);
    says(
        &last,
        Reason::UpgradePath,
        "Set spec.version back to 3.6.16",
    );
}

/// Found by the simulator: restarted first, it came back with what it ran, and was restarted again.
#[test]
fn on_the_way_back_the_member_that_keeps_the_old_version_is_restarted_last() {
    let back = healthy(3)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(0, "3.6.16")
        .moved(2, "3.6.16")
        .told(None, "3.5.0")
        .settle()
        .asking("3.5.34")
        .later(60);
    let decision = back.clone().decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    assert_eq!(given_image(&decision), image("3.5.34"));
    let next = back.moved(2, "3.5.34").settle().later(120).decide();
    assert_eq!(next.actions[0].effect.name(), "MoveLeader");
}

#[test]
fn an_older_minor_version_is_refused_in_words() {
    let decision = healthy(3).running("3.5.35").asking("3.4.34").decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::UpgradePath, "3.5.35");
}

/// Seen on real etcd: a log without a snapshot cost a cluster its member list on the way from 3.5 to 3.6.
#[test]
fn no_minor_version_is_left_before_a_snapshot_of_the_log_is_certain() {
    let young = |count: Option<&str>| {
        let mut world = healthy(3).running("3.5.35");
        for endpoint in &mut world.snapshot.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.raft_index = 50;
                status.raft_applied_index = 50;
            }
        }
        if let Some(count) = count {
            world.snapshot.resource.spec["pod"]["etcdEnv"] =
                json!([{ "name": "ETCD_SNAPSHOT_COUNT", "value": count }]);
        }
        world.asking("3.6.16")
    };
    let decision = young(None).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::UpgradePath));
    // A patch of the same minor version reads its own logs.
    let patch = young(None).asking("3.5.34").decide();
    assert!(
        effects(&patch)[0].starts_with("SetImage"),
        "{:?}",
        effects(&patch)
    );
    // The pods were not made with that setting, so it is not in effect.
    assert_eq!(effects(&young(Some("10")).decide()), [""; 0]);
    assert!(effects(&young(Some("10")).shaped().decide())[0].starts_with("SetImage"));
    assert_eq!(effects(&young(Some("30")).shaped().decide()), [""; 0]);
}
