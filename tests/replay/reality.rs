//! Recordings of suites on a real Kubernetes, held against the model: an adoption, claims asked for later, a wiped disk, sizes,
//! some in mid-flight, a leader that stood still while another led, answers that were lost, claims that stayed for the next
//! cluster, a right that was missing and a role that was gone, caches that were as old as before after a refusal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::model::{Compared, compare};

#[test]
fn what_real_members_answered_is_what_the_model_answers() {
    let compared = all();
    let members = &compared.members;
    eprintln!("{members}");
    assert!(compared.agrees(), "{compared:?}");
    assert!(members.sure > 20 && members.lists > 20, "{compared:?}");
}

#[test]
fn what_a_real_api_server_did_is_what_the_model_does() {
    let compared = all();
    let objects = &compared.objects;
    eprintln!("{objects}");
    assert!(compared.agrees(), "{compared:?}");
    assert!(objects.stood > 200 && objects.refused > 0, "{compared:?}");
    assert_eq!(objects.unseen + objects.gone + objects.rewritten, 0);
}

#[test]
fn what_no_api_server_would_do_differs_from_the_model() {
    let made = r#""effect":"Apply","kind":"Pod","target":"wiped-24clwjb64f","outcome":"#;
    for (from, to, difference) in [
        // What stood afterwards.
        (
            r#""minAvailable":"2""#.to_owned(),
            r#""minAvailable":"1""#.to_owned(),
            "PodDisruptionBudget wiped has minAvailable",
        ),
        // Done, though it was there already.
        (
            r#""pods":{"seen":[]}"#.to_owned(),
            r#""pods":{"seen":[{"name":"wiped-24clwjb64f","uid":"1","resourceVersion":"1","created":0,"phase":"Pending"}]}"#.to_owned(),
            "was done, the model says: already exists",
        ),
        // Refused for another reason than there was.
        (
            [made, r#""done""#].concat(),
            [made, r#""refused","message":"pods \"wiped-24clwjb64f\" not found""#].concat(),
            "the model says: already exists",
        ),
    ] {
        let compared = altered("disk", &from, &to);
        let is_told = compared.differences.iter().any(|told| told.contains(difference));
        assert!(is_told && !compared.agrees(), "{difference}: {compared:?}");
    }
}

#[test]
fn who_left_though_that_was_refused_differs_from_the_model() {
    let removed = r#""effect":"RemoveMember","target":"727ea21b4c036721","outcome":"#;
    let from = [removed, r#""done""#].concat();
    let to = [
        removed,
        r#""failed","message":"etcdserver: unhealthy cluster""#,
    ]
    .concat();
    let compared = altered("sizes", &from, &to);
    let mut told = compared.differences.iter();
    assert!(
        told.any(|told| told.contains("in the model")),
        "{compared:?}"
    );
    assert_eq!(altered("sizes", &from, &from).differences, [""; 0]);
}

/// The comparison of a recording with something in it written otherwise.
fn altered(recording: &str, from: &str, to: &str) -> Compared {
    let file = folder().join(format!("{recording}.jsonl.zst"));
    let lines = zstd::decode_all(&fs::read(&file).expect("it is there")[..]).expect("zstd");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    assert!(lines.contains(from), "{recording} has no {from}");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = directory.path().join("altered.jsonl");
    fs::write(&place, lines.replace(from, to)).expect("it can be written");
    compare(&[place]).expect("it can be read")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/members")
}

fn all() -> &'static Compared {
    static ALL: OnceLock<Compared> = OnceLock::new();
    ALL.get_or_init(|| {
        let entries = fs::read_dir(folder()).expect("the folder is there");
        let files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        compare(&files).expect("they can be read")
    })
}
