//! A rehearsal is of an own backup, with own images, and written down before.

use contract::{RehearsalPod, RehearsalState, Rehearse};

use super::*;
use crate::backup::RehearsalHead;

const OLD: &str = "dir/etcd.backup_v9_2026-11-21-17:00:00";
const NEW: &str = "dir/etcd.backup_v10_2026-11-21-18:00:00";

fn snapshot() -> Snapshot {
    let mut snapshot = backup(60);
    snapshot.operator_image = Some("binnacle:dev".to_owned());
    snapshot.resource.spec["backupPolicy"]["verify"] = json!("restore");
    snapshot
}

fn wanted() -> Rehearse {
    Rehearse {
        run: "0a1b".to_owned(),
        key: NEW.to_owned(),
        sha256: "ab".repeat(32),
        revision: 10,
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        operator_image: "binnacle:dev".to_owned(),
        within: Millis::seconds(60),
    }
}

fn rehearse(wanted: Rehearse) -> Action {
    let run = wanted.run.clone();
    let mut action = action(Effect::Backup(BackupEffect::Rehearse(Box::new(wanted))));
    action.pre.run = Some(run);
    action
}

fn written_down(over: bool) -> Fresh {
    let mut fresh = fresh(None, &[OLD, NEW]);
    fresh.backup.rehearsal = Some(RehearsalHead {
        run: "0a1b".to_owned(),
        key: NEW.to_owned(),
        sha256: "ab".repeat(32),
        over,
    });
    fresh
}

#[test]
fn only_an_own_backup_is_tried_with_own_images() {
    let judged = |wanted| refusals(vec![rehearse(wanted)], &snapshot());
    assert_eq!(judged(wanted()), "");
    let other = |change: fn(&mut Rehearse)| {
        let mut wanted = wanted();
        change(&mut wanted);
        judged(wanted)
    };
    for (words, expected) in [
        (
            other(|it| it.key = "dir/other".to_owned()),
            "is not a name that this backup gives",
        ),
        (
            other(|it| it.image = "evil/etcd:v3.6.16".to_owned()),
            "is no image",
        ),
        (
            other(|it| it.image = "quay.io/coreos/etcd:latest".to_owned()),
            "is no image",
        ),
        (
            other(|it| it.image = "quay.io/coreos/etcd-x:v3.6.16".to_owned()),
            "is no image",
        ),
        (
            other(|it| it.operator_image = "evil".to_owned()),
            "is no image",
        ),
        (other(|it| it.run = "../x".to_owned()), "run"),
        (other(|it| it.within = Millis(0)), "cannot be given"),
    ] {
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn a_clusters_own_repository_counts_only_where_the_cluster_is_named() {
    let mut named = snapshot();
    named.resource.spec["etcdEndpoints"] = json!(null);
    named.resource.spec["clusterRef"] = json!({"name": "a"});
    for snapshot in [&mut named] {
        if let Some(view) = &mut snapshot.backup {
            view.repository = Some("mirror:5000/etcd".to_owned());
        }
    }
    let mut mirrored = wanted();
    mirrored.image = "mirror:5000/etcd:v3.6.16".to_owned();
    assert_eq!(refusals(vec![rehearse(mirrored.clone())], &named), "");
    assert!(!refusals(vec![rehearse(wanted())], &named).is_empty());
    named.resource.spec["clusterRef"] = json!(null);
    assert!(!refusals(vec![rehearse(mirrored)], &named).is_empty());
}

#[test]
fn a_rehearsal_is_written_down_before_and_ends_only_itself() {
    let begin = rehearse(wanted());
    assert_eq!(refusal(&begin, &written_down(false)), "");
    assert!(!refusal(&begin, &written_down(true)).is_empty());
    assert!(!refusal(&begin, &fresh(None, &[NEW])).is_empty());
    let mut another = wanted();
    another.sha256 = "cd".repeat(32);
    assert!(!refusal(&rehearse(another), &written_down(false)).is_empty());
    let end = |run: &str| {
        let mut end = action(Effect::Backup(BackupEffect::EndRehearsal {
            run: run.to_owned(),
        }));
        end.pre.run = Some(run.to_owned());
        end
    };
    assert_eq!(refusals(vec![end("0a1b")], &snapshot()), "");
    assert_eq!(refusal(&end("0a1b"), &written_down(true)), "");
    assert!(!refusal(&end("0a1c"), &written_down(true)).is_empty());
}

#[test]
fn a_rehearsal_is_asked_for_and_alone() {
    let begin = || vec![rehearse(wanted())];
    let mut unwanted = snapshot();
    for policy in [json!(null), json!("never")] {
        unwanted.resource.spec["backupPolicy"]["verify"] = policy;
        let words = refusals(begin(), &unwanted);
        assert!(words.contains("verify does not ask for it"), "{words}");
    }
    let held = |run: &str, over: bool, pod: Observed<RehearsalPod>| {
        let mut snapshot = snapshot();
        snapshot.resource.status["rehearsalRun"] = json!({"id": run, "over": over});
        if let Some(view) = &mut snapshot.backup {
            view.rehearsal = pod;
        }
        snapshot
    };
    let there = |deleted| {
        Observed::Seen(RehearsalPod {
            state: RehearsalState::Running {
                doing: "it fetches".to_owned(),
            },
            deleted,
        })
    };
    let silent = Observed::Unknown("no answer".to_owned());
    let mut late = held("0a1b", false, Observed::Absent);
    assert_eq!(refusals(begin(), &late), "");
    late.resource.spec["backupPolicy"]["verify"] = json!(null);
    assert_eq!(refusals(begin(), &late), "", "it was begun before");
    for (world, expected) in [
        (held("0a1c", false, Observed::Absent), "another rehearsal"),
        (held("0a1c", true, there(true)), "another rehearsal"),
        (held("0a1b", true, Observed::Absent), "it has ended"),
        (held("0a1b", false, there(false)), "its pod is there"),
        (held("0a1b", false, silent), "nobody knows whether"),
    ] {
        let words = refusals(begin(), &world);
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn what_is_being_tried_is_not_deleted() {
    let mut fresh = written_down(false);
    if let Some(head) = &mut fresh.backup.rehearsal {
        OLD.clone_into(&mut head.key);
    }
    let words = refusal(&delete(OLD), &fresh);
    assert!(words.contains("being tried whether"), "{words}");
    if let Some(head) = &mut fresh.backup.rehearsal {
        head.over = true;
    }
    assert_eq!(refusal(&delete(OLD), &fresh), "");
}
