//! The way back and older programs, against a fresh read that agrees and against each one that does not.

use contract::{Action, Effect, MemberId, Observed};

use crate::Fresh;
use crate::check;
use crate::fixtures::{change, fresh, present};

fn words(action: &Action, fresh: &Fresh) -> String {
    check(action, fresh)
        .err()
        .map_or_else(String::new, |refusal| refusal.to_string())
}

fn downgrade(to: Option<&str>) -> Action {
    let to = to.map(str::to_owned);
    change(Effect::Downgrade { to }, 2)
}

impl Fresh {
    fn asked(mut self, minor: Option<u64>) -> Self {
        if let Observed::Seen(resource) = &mut self.resource {
            resource.minor = minor;
        }
        self
    }

    fn of_version(mut self, id: usize, version: &str, storage: Option<&str>) -> Self {
        if let Observed::Seen(status) = &mut self.etcd.endpoints[id - 1].status {
            status.version = version.to_owned();
            status.storage_version = storage.map(str::to_owned);
        }
        self
    }
}

#[test]
fn a_way_back_begins_one_minor_version_below_what_all_run() {
    assert_eq!(words(&downgrade(Some("3.5")), &fresh().asked(Some(5))), "");
    for (to, minor) in [("3.4", 4), ("3.6", 6), ("3.7", 7)] {
        assert!(
            words(&downgrade(Some(to)), &fresh().asked(Some(minor))).contains("no way leads back"),
            "{to}"
        );
    }
    for to in ["3", ""] {
        assert!(words(&downgrade(Some(to)), &fresh().asked(None)).contains("no way leads back"));
    }
    let mixed = fresh().asked(Some(5)).of_version(2, "3.5.35", None);
    assert!(words(&downgrade(Some("3.5")), &mixed).contains("runs \"3.5.35\""));
}

#[test]
fn a_way_back_is_what_the_spec_asks_for() {
    for minor in [Some(6), Some(4), None] {
        let told = words(&downgrade(Some("3.5")), &fresh().asked(minor));
        assert!(
            told.contains("does not ask for a version of etcd 3.5"),
            "{told}"
        );
    }
    assert_eq!(words(&downgrade(None), &fresh()), "");
}

#[test]
fn a_way_back_begins_with_everybody_and_ends_with_a_quorum() {
    let two = fresh().asked(Some(5)).silent(3);
    assert!(words(&downgrade(Some("3.5")), &two).contains("3 are needed"));
    assert_eq!(words(&downgrade(None), &two), "");
    let one = fresh().silent(3).silent(2);
    assert!(words(&downgrade(None), &one).contains("2 are needed"));
}

#[test]
fn no_member_gets_a_program_that_is_too_old_for_its_data() {
    let set_image = |version: &str| {
        let effect = Effect::SetImage {
            name: "a-3".to_owned(),
            image: format!("quay.io/coreos/etcd:v{version}"),
            annotations: std::collections::BTreeMap::new(),
        };
        let mut action = change(effect, 2);
        action.pre.object = present("uid-3");
        action.pre.touches = Some(MemberId(3));
        action
    };
    let of = |storage, version| {
        let mut fresh = fresh().of_version(3, "3.6.16", storage);
        fresh.object = Observed::Seen(crate::ObjectHead {
            uid: "uid-3".to_owned(),
            owner: Some("uid-a".to_owned()),
            running: true,
            ..crate::ObjectHead::default()
        });
        words(&set_image(version), &fresh)
    };
    assert!(
        of(Some("3.6.0"), "3.5.35").contains("which quay.io/coreos/etcd:v3.5.35 does not read")
    );
    assert_eq!(of(Some("3.6.0"), "3.6.11"), "");
    assert_eq!(of(Some("3.5.0"), "3.5.35"), "");
    assert_eq!(of(None, "3.5.35"), "");
}
