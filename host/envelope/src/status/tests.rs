//! What a status may not say of three healthy members, of which the stored one says little.

use contract::{
    Action, ClusterId, Condition, ConditionStatus, Effect, EtcdClusterStatus, MemberHealth,
    MemberId, MemberNames, MemberRecord, MemberRole, Observed, Phase, Resource, Snapshot,
};
use serde_json::json;

use crate::fixtures::{CLUSTER_ID, action, decision, resource, snapshot_of, unborn};
use crate::permit;

fn update(status: EtcdClusterStatus) -> Action {
    let mut update = action(Effect::UpdateStatus {
        status: Box::new(status),
    });
    update.pre.resource_version = Some("7".to_owned());
    update
}

/// What is refused of it, in words.
fn words(status: EtcdClusterStatus, snapshot: &Snapshot) -> String {
    let refusals = permit(&decision(vec![update(status)]), snapshot);
    let refusals = refusals.err().unwrap_or_default();
    let words = refusals
        .iter()
        .map(|refusal| format!("{}: {refusal}", refusal.rule()));
    words.collect::<Vec<_>>().join("; ")
}

fn record(id: u64) -> MemberRecord {
    MemberRecord {
        name: format!("a-{id}"),
        id: Some(MemberId(id)),
        role: MemberRole::Voter,
        health: MemberHealth::Healthy,
        since: "2026-01-01T00:00:00Z".to_owned(),
        role_since: "2026-01-01T00:00:00Z".to_owned(),
        version: Some("3.6.16".to_owned()),
        image: None,
        disk: None,
        recreations: 0,
        plain_peer: false,
        db_size: None,
        raft_lag: 0,
    }
}

fn available() -> Condition {
    Condition {
        kind: "Available".to_owned(),
        status: ConditionStatus::True,
        last_update_time: None,
        last_transition_time: None,
        reason: "QuorumHealthy".to_owned(),
        message: String::new(),
    }
}

/// All of it is so.
fn honest() -> EtcdClusterStatus {
    EtcdClusterStatus {
        phase: Phase::Running,
        cluster_id: Some(CLUSTER_ID),
        size: 3,
        ready_members: 3,
        members: MemberNames {
            ready: ["a-1", "a-2", "a-3"].map(str::to_owned).to_vec(),
            unready: Vec::new(),
        },
        current_version: "3.6.16".to_owned(),
        member_records: [1, 2, 3].map(record).to_vec(),
        conditions: vec![available()],
        ..EtcdClusterStatus::default()
    }
}

fn check(words_of_it: &str, change: impl FnOnce(&mut EtcdClusterStatus)) {
    let mut status = honest();
    change(&mut status);
    let told = words(status, &snapshot_of(resource()));
    assert!(
        told.starts_with("FalseStatus: ") && told.contains(words_of_it),
        "{told:?} is not about {words_of_it:?}"
    );
}

/// Only the first of them answers.
fn alone() -> Snapshot {
    let mut snapshot = snapshot_of(resource());
    for endpoint in snapshot.etcd.endpoints.iter_mut().skip(1) {
        endpoint.status = Observed::Unknown("timed out".to_owned());
    }
    snapshot
}

#[test]
fn a_status_that_says_what_is_so_passes() {
    assert_eq!(words(honest(), &snapshot_of(resource())), "");
}

#[test]
fn what_tools_go_by_is_refused_where_it_is_another_cluster_s() {
    check("not selected by \"app=payments\"", |status| {
        status.selector = "app=payments".to_owned();
    });
    check("Service is not \"b-client\"", |status| {
        status.service_name = "b-client".to_owned();
    });
    check("not served at Some(80)", |status| {
        status.client_port = Some(80)
    });
    check("not Some(999999)", |status| {
        status.observed_generation = Some(999_999)
    });
    check("controlPaused is true", |status| {
        status.control_paused = true
    });
}

#[test]
fn what_is_remembered_of_a_listed_member_stays() {
    let mut resource = resource();
    let mut remembered = record(3);
    remembered.disk = Some("uid-3".to_owned());
    resource.status["memberRecords"] = json!([remembered]);
    resource.status["clusterId"] = json!(CLUSTER_ID);
    let snapshot = snapshot_of(resource);
    let told = |change: &dyn Fn(&mut EtcdClusterStatus)| {
        let mut status = honest();
        status.member_records[2].disk = Some("uid-3".to_owned());
        change(&mut status);
        words(status, &snapshot)
    };
    assert_eq!(told(&|_| {}), "");
    let forgotten = told(&|status| drop(status.member_records.pop()));
    assert!(
        forgotten.contains("member a-3 is listed and forgotten"),
        "{forgotten}"
    );
    let diskless = told(&|status| status.member_records[2].disk = None);
    assert!(
        diskless.contains("the disk of member a-3 is forgotten"),
        "{diskless}"
    );
    let other = told(&|status| status.member_records[2].version = Some("9.9.9".to_owned()));
    assert!(other.contains("never ran etcd"), "{other}");
    let negative = told(&|status| status.member_records[2].recreations = -5);
    assert!(negative.contains("-5 times"), "{negative}");
    let grown = told(&|status| status.member_records[2].db_size = Some(77));
    assert!(grown.contains("never said that it has 77 bytes"), "{grown}");
    let ahead = told(&|status| status.member_records[2].raft_lag = -7);
    assert!(ahead.contains("-7 entries behind"), "{ahead}");
}

#[test]
fn members_that_nobody_saw_are_refused() {
    check("no member a-9 is known", |status| {
        status.members.ready[2] = "a-9".to_owned()
    });
    check("no member a-9 is known", |status| {
        status.member_records[2].name = "a-9".to_owned()
    });
    check("4 of 3 members are ready by its numbers", |status| {
        status.ready_members = 4
    });
    check("3 of 9 members are ready by its numbers", |status| {
        status.size = 9
    });
    check("counted twice", |status| {
        status.members.ready[2] = "a-1".to_owned()
    });
    check("the id of member a-3 is another one", |status| {
        status.member_records[2].id = Some(MemberId(77))
    });
    check("the disk of member a-3 is another one", |status| {
        status.member_records[2].disk = Some("uid-of-nothing".to_owned())
    });
    check("no member is known to run etcd \"3.9.9\"", |status| {
        status.current_version = "3.9.9".to_owned()
    });
}

#[test]
fn health_that_nobody_saw_is_refused() {
    let told = words(honest(), &alone());
    for lie in [
        "member a-2 is ready and does not answer as one",
        "member a-3 is healthy and does not answer",
        "it is Available and no quorum answers",
    ] {
        assert!(told.contains(lie), "{lie:?} is not in {told}");
    }
}

/// What the stored status says may be repeated: nobody could look, perhaps.
#[test]
fn what_was_said_before_may_stand() {
    let mut snapshot = alone();
    snapshot.resource = Resource {
        status: json!(honest()),
        ..resource()
    };
    assert_eq!(words(honest(), &snapshot), "");
    let mut fewer = honest();
    fewer.members.ready.pop();
    fewer.members.unready.push("a-3".to_owned());
    fewer.ready_members = 2;
    let told = words(fewer, &snapshot);
    assert!(told.contains("member a-2 is ready"), "{told}");
}

#[test]
fn an_id_that_no_member_answers_with_is_refused() {
    let born = |id: u64| EtcdClusterStatus {
        phase: Phase::Running,
        cluster_id: Some(ClusterId(id)),
        ..EtcdClusterStatus::default()
    };
    let snapshot = snapshot_of(unborn());
    assert_eq!(words(born(0xc1), &snapshot), "");
    let told = words(born(0xdead), &snapshot);
    assert!(told.contains("no member answers as cluster"), "{told}");
    let nameless = EtcdClusterStatus {
        cluster_id: None,
        ..born(1)
    };
    let told = words(nameless, &snapshot);
    assert!(told.contains("no cluster id is known"), "{told}");
}

/// By a vote less a living cluster would be taken for one that cannot elect anybody any more, and be given up.
#[test]
fn whoever_voted_goes_on_voting_until_the_list_says_otherwise() {
    let mut resource = resource();
    resource.status["memberRecords"] = json!([1, 2, 3].map(record));
    resource.status["clusterId"] = json!(CLUSTER_ID);
    let mut unread = snapshot_of(resource.clone());
    unread.etcd.membership = Observed::Unknown("no leader".to_owned());
    let demoted = |snapshot: &Snapshot| {
        let mut status = honest();
        status.member_records[2].role = MemberRole::Learner;
        words(status, snapshot)
    };
    for snapshot in [&snapshot_of(resource), &unread] {
        let told = demoted(snapshot);
        assert!(told.contains("member a-3 votes"), "{told}");
    }
    let forgotten = |snapshot: &Snapshot| {
        let mut status = honest();
        status.member_records.pop();
        words(status, snapshot)
    };
    let told = forgotten(&unread);
    assert!(
        told.contains("member a-3 is listed and forgotten"),
        "{told}"
    );
    // Whoever left before member 3 joined, or before it got its vote, may still run and show the list of that day.
    let old = |learns: bool, linearizable: bool| {
        let mut old = snapshot_of(unread.resource.clone());
        if let Observed::Seen(list) = &mut old.etcd.membership {
            list.linearizable = linearizable;
            if learns {
                list.members[2].learner = true;
            } else {
                list.members.pop();
            }
        }
        old
    };
    let told = forgotten(&old(false, false));
    assert!(told.contains("a-3 is listed and forgotten"), "{told}");
    let told = demoted(&old(true, false));
    assert!(told.contains("member a-3 votes"), "{told}");
    assert_eq!(forgotten(&old(false, true)), "");
    assert_eq!(demoted(&old(true, true)), "");
}

/// Found by reading: by the word of a restore that nobody asked for a module could forget all who vote.
#[test]
fn a_restore_that_is_told_of_lets_nobody_be_forgotten() {
    let mut resource = resource();
    resource.status["memberRecords"] = json!([1, 2, 3].map(record));
    resource.status["clusterId"] = json!(CLUSTER_ID);
    let mut asleep = snapshot_of(resource);
    asleep.etcd.membership = Observed::Absent;
    let mut status = honest();
    status.member_records.clear();
    let restoration = json!({
        "restore": "back", "uid": "uid-back", "stage": "Waiting", "startedAt": "2026-01-01T00:00:00Z",
    });
    status.restoration = Some(serde_json::from_value(restoration).expect("a restoration"));
    let told = words(status, &asleep);
    for id in 1..=3 {
        let forgotten = format!("member a-{id} is listed and forgotten");
        assert!(told.contains(&forgotten), "{told}");
    }
}

#[test]
fn nobody_is_remembered_twice() {
    check("a member is remembered twice", |status| {
        let again = status.member_records[0].clone();
        status.member_records.push(again);
    });
}

/// What the status says of plain text is believed while nobody shows etcd's list.
#[test]
fn nobody_is_said_to_be_reached_in_plain_text_who_is_not() {
    let by = |scheme: &str| {
        let mut snapshot = snapshot_of(resource());
        if let Observed::Seen(list) = &mut snapshot.etcd.membership {
            for url in list.members.iter_mut().flat_map(|row| &mut row.peer_urls) {
                *url = url.replace("http://", scheme);
            }
        }
        let mut status = honest();
        status.member_records[2].plain_peer = true;
        words(status, &snapshot)
    };
    assert_eq!(by("http://"), "");
    let told = by("https://");
    assert!(
        told.contains("nobody reaches member a-3 in plain"),
        "{told}"
    );
}

/// A disk that the member is not on would make its pod one of a birth that came late.
#[test]
fn a_member_with_its_data_in_its_pod_is_on_no_claim() {
    let mut snapshot = snapshot_of(resource());
    let volume = serde_json::from_value(json!({
        "name": "a-3", "uid": "claim-3", "resourceVersion": "1", "owner": "uid-a", "created": 0, "phase": "Bound",
    }));
    snapshot.objects.volumes = Observed::Seen(vec![volume.expect("a claim")]);
    let mut told = |claim: Option<&str>| {
        let pod = serde_json::from_value(json!({
            "name": "a-3", "uid": "uid-3", "resourceVersion": "1", "owner": "uid-a", "created": 0,
            "phase": "Running", "claim": claim,
        }));
        snapshot.objects.pods = Observed::Seen(vec![pod.expect("a pod")]);
        let mut status = honest();
        status.member_records[2].disk = Some("claim-3".to_owned());
        words(status, &snapshot)
    };
    assert_eq!(told(Some("a-3")), "");
    let within = told(None);
    assert!(
        within.contains("the disk of member a-3 is another one"),
        "{within}"
    );
}
