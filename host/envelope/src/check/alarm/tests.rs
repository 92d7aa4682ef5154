//! Actions about alarms against a fresh read that agrees, and against each one that does not.

use contract::{
    Action, Alarm, AlarmKind, Effect, EndpointStatus, HashKv, MemberId, ObjectKind, Observed,
};

use crate::Fresh;
use crate::check;
use crate::fixtures::{CLUSTER_ID, action, change, fresh, fresh_of, present, resource};

const QUOTA: i64 = 1_000_000;

/// A fresh read with the alarm for lack of space; files are half full.
fn alarmed() -> Fresh {
    let mut fresh = fresh();
    fresh.etcd.alarms = Observed::Seen(vec![Alarm {
        member: Some(MemberId(1)),
        kind: AlarmKind::Nospace,
    }]);
    (1..=3).fold(fresh, |fresh, id| fresh.using(id, QUOTA / 2))
}

impl Fresh {
    fn using(mut self, id: usize, size: i64) -> Self {
        if let Observed::Seen(status) = &mut self.etcd.endpoints[id - 1].status {
            status.quota = Some(QUOTA);
            status.db_size = size;
        }
        self
    }
}

fn words(action: &Action, fresh: &Fresh) -> String {
    check(action, fresh)
        .err()
        .map_or_else(String::new, |refusal| refusal.to_string())
}

fn compact(revision: i64) -> Action {
    change(Effect::Compact { revision }, 2)
}

fn defragment(id: u64) -> Action {
    let member = MemberId(id);
    let mut action = change(Effect::Defragment { member }, 2);
    action.pre.touches = Some(member);
    action
}

fn disarm(kind: AlarmKind) -> Action {
    let member = Some(MemberId(1));
    change(Effect::Disarm { kind, member }, 2)
}

#[test]
fn an_alarm_that_stands_is_worked_on() {
    assert_eq!(words(&compact(4_000), &alarmed()), "");
    assert_eq!(words(&defragment(2), &alarmed()), "");
    assert_eq!(words(&disarm(AlarmKind::Nospace), &alarmed()), "");
}

#[test]
fn without_the_alarm_no_history_is_given_up_and_no_member_is_stopped() {
    for action in [compact(4_000), defragment(2), disarm(AlarmKind::Nospace)] {
        assert_eq!(words(&action, &fresh()), "the alarm NOSPACE does not stand");
        let mut unread = alarmed();
        unread.etcd.alarms = Observed::Unknown("timed out".to_owned());
        assert_eq!(words(&action, &unread), "the alarm NOSPACE does not stand");
    }
}

#[test]
fn an_entry_that_changes_nothing_is_for_a_learner_or_a_voter_that_makes_the_quorum() {
    let mut noop = change(Effect::AppendNoop, 0);
    noop.pre.members = None;
    assert_eq!(words(&noop, &fresh().with_learner()), "");
    assert_eq!(words(&noop, &fresh().silent(2).silent(3)), "");
    for useless in [fresh(), fresh().silent(3)] {
        let useless = words(&noop, &useless);
        assert!(useless.contains("nobody waits"), "{useless}");
    }
    let mut unconfirmed = fresh().silent(2).silent(3);
    unconfirmed.membership().linearizable = false;
    assert_ne!(words(&noop, &unconfirmed), "");
}

#[test]
fn nothing_is_compacted_that_is_yet_to_come() {
    for revision in [-1, 0, 5_001] {
        assert!(words(&compact(revision), &alarmed()).contains("no member has the revision"));
    }
}

#[test]
fn no_member_is_defragmented_while_another_one_is_down() {
    let fresh = alarmed().silent(3);
    assert!(words(&defragment(2), &fresh).contains("1 healthy voters would be left"));
    assert!(words(&defragment(3), &fresh).contains("not a healthy voter"));
}

#[test]
fn a_sole_member_may_be_defragmented() {
    let mut fresh = alarmed();
    fresh.membership().members.truncate(1);
    fresh.etcd.endpoints.truncate(1);
    let mut alone = defragment(1);
    alone.pre.members = Some(fresh.membership().fingerprint());
    alone.pre.healthy_voters = Some(0);
    assert_eq!(words(&alone, &fresh), "");
}

#[test]
fn no_member_is_defragmented_while_a_learner_is_on_its_way() {
    let mut fresh = alarmed().with_learner();
    let mut action = defragment(2);
    action.pre.members = Some(fresh.membership().fingerprint());
    assert!(
        words(&action, &fresh).contains("learner"),
        "{}",
        words(&action, &fresh)
    );
}

#[test]
fn the_alarm_stays_while_one_file_is_too_large_or_unknown() {
    let full = alarmed().using(3, QUOTA / 10 * 9);
    assert!(words(&disarm(AlarmKind::Nospace), &full).contains("not known to be gone on member 3"));
    let unknown = alarmed().silent(2);
    assert!(
        words(&disarm(AlarmKind::Nospace), &unknown).contains("not known to be gone on member 2")
    );
}

/// Members before 3.6 do not tell their quota.
#[test]
fn the_quota_of_old_members_is_that_of_the_spec_or_of_etcd() {
    let mut resource = resource();
    let mut old = |value: &str, field: serde_json::Value| {
        resource.spec["pod"]["etcdEnv"] =
            serde_json::json!([{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": value}]);
        resource.spec["etcd"] = serde_json::json!({"quotaBackendBytes": field});
        let mut fresh = alarmed();
        fresh.resource = fresh_of(&resource).resource;
        for endpoint in &mut fresh.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.quota = None;
            }
        }
        words(&disarm(AlarmKind::Nospace), &fresh)
    };
    let null = serde_json::Value::Null;
    assert!(old("500000", null.clone()).contains("not known to be gone"));
    assert_eq!(old("1000000", null.clone()), "");
    assert_eq!(old("0", null.clone()), "");
    assert_eq!(old("-1", null), "");
    assert_eq!(old("500000", "16Mi".into()), "", "the field goes before");
}

/// A fresh read with the alarm for corrupt data, and the hashes of the three voters.
fn disagreeing(hashes: [u32; 3]) -> Fresh {
    let mut fresh = fresh();
    fresh.etcd.alarms = Observed::Seen(vec![Alarm {
        member: None,
        kind: AlarmKind::Corrupt,
    }]);
    for (endpoint, hash) in fresh.etcd.endpoints.iter_mut().zip(hashes) {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.hash_kv = Some(HashKv {
                revision: 5_000,
                compact_revision: 4_000,
                hash,
            });
        }
    }
    fresh
}

fn remove(id: u64) -> Action {
    let member = MemberId(id);
    change(Effect::RemoveMember { member }, 2)
}

#[test]
fn whom_a_quorum_of_equal_hashes_outvotes_may_go_and_nobody_else() {
    let fresh = disagreeing([7, 7, 8]);
    assert_eq!(words(&remove(3), &fresh), "");
    assert!(words(&remove(2), &fresh).contains("member 2 is of the quorum with equal hashes"));
}

#[test]
fn without_a_quorum_of_equal_hashes_nobody_goes_and_nothing_is_deleted() {
    let mut claim = action(Effect::Delete {
        kind: ObjectKind::PersistentVolumeClaim,
        name: "a-9".to_owned(),
        grace_seconds: None,
    });
    claim.pre.object = present("uid-3");
    claim.pre.cluster_id = Some(CLUSTER_ID);
    claim.pre.departed = Some("a-9".to_owned());
    let agreed = disagreeing([7, 7, 8]);
    assert_eq!(words(&claim, &agreed), "");
    let mut unhashed = disagreeing([7, 7, 8]);
    let mut elsewhere = disagreeing([7, 7, 7]);
    let mut behind = disagreeing([7, 7, 7]);
    for (fresh, change) in [
        (
            &mut unhashed,
            (|status| status.hash_kv = None) as fn(&mut EndpointStatus),
        ),
        (&mut elsewhere, |status| {
            if let Some(hash) = &mut status.hash_kv {
                hash.compact_revision = i64::from(status.member_id.0 as u32);
            }
        }),
        (&mut behind, |status| {
            status.revision = Some(5_000 + i64::from(status.member_id.0 as u32));
        }),
    ] {
        for endpoint in &mut fresh.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                change(status);
            }
        }
    }
    for fresh in [disagreeing([7, 8, 9]), unhashed, elsewhere, behind] {
        for action in [&remove(3), &claim] {
            let words = words(action, &fresh);
            assert!(words.contains("no quorum of them is known"), "{words}");
        }
    }
}

#[test]
fn the_alarm_for_corrupt_data_ends_when_all_voters_agree() {
    let disarm = disarm(AlarmKind::Corrupt);
    assert_eq!(words(&disarm, &disagreeing([7, 7, 7])), "");
    assert!(words(&disarm, &disagreeing([7, 7, 8])).contains("not known to be gone on member 3"));
    let mut rolling = disagreeing([7, 7, 7]);
    if let Observed::Seen(status) = &mut rolling.etcd.endpoints[1].status {
        status.version = "3.5.35".to_owned();
    }
    assert_eq!(words(&disarm, &rolling), "", "whatever version they run");
    let silent = disagreeing([7, 7, 7]).silent(2);
    assert!(words(&disarm, &silent).contains("not known to be gone on member 2"));
}

/// Nobody can ask it for its hash, and its leader may be the one in the wrong.
#[test]
fn a_learner_gets_no_vote_while_members_disagree_on_their_data() {
    let member = MemberId(4);
    let mut promote = change(Effect::Promote { member }, 3);
    promote.pre.members = None;
    assert_eq!(words(&promote, &fresh().with_learner()), "");
    for hashes in [[7, 7, 8], [7, 7, 7]] {
        let refusal = words(&promote, &disagreeing(hashes).with_learner());
        assert!(refusal.contains("learner 4 gets no vote"), "{refusal}");
    }
    let mut unlisted = fresh().with_learner();
    unlisted.etcd.alarms = Observed::Unknown("timed out".to_owned());
    if let Observed::Seen(status) = &mut unlisted.etcd.endpoints[1].status {
        status.errors = vec!["memberID:2 alarm:CORRUPT ".to_owned()];
    }
    assert!(words(&promote, &unlisted).contains("learner 4 gets no vote"));
}
