//! etcd's own way back to the minor version before: when it is begun, what waits for it, when it is ended.

use super::*;

impl World {
    /// Members that know of it say that the cluster goes back to `target`, and which version their data files have.
    pub(super) fn told(mut self, target: Option<&str>, storage: &str) -> Self {
        for endpoint in &mut self.snapshot.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                let knows = !status.version.starts_with("3.5");
                status.downgrade = target.filter(|_| knows).map(str::to_owned);
                status.storage_version = knows.then(|| storage.to_owned());
            }
        }
        self
    }
}

fn going_back() -> World {
    healthy(3).asking("3.5.35")
}

#[test]
fn etcd_is_told_before_the_first_member_goes_back() {
    let decision = going_back().decide();
    assert_eq!(effects(&decision), ["Downgrade 3.5"]);
    let action = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Downgrade { .. }))
        .unwrap();
    assert_eq!(action.pre.healthy_voters, Some(2));
    assert!(action.pre.members.is_some());
    let status = written(&decision).unwrap();
    let condition = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Upgrading")
        .unwrap();
    assert_eq!(condition.message, "going back to 3.5.35");
    let sick = going_back().silent(2).decide();
    assert_eq!(effects(&sick), [""; 0]);
}

#[test]
fn no_member_goes_back_before_the_data_files_of_all_are_fit_for_it() {
    let mut world = going_back().told(Some("3.5.0"), "3.5.0");
    assert_eq!(given_image(&world.decide()), image("3.5.35"));
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.storage_version = Some("3.6.0".to_owned());
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(
        &decision,
        Reason::Downgrading,
        "shop-m2 brings its data files",
    );
}

#[test]
fn the_others_follow_even_when_the_first_is_the_one_that_is_away() {
    let half = going_back().moved(1, "3.5.35").told(Some("3.5.0"), "3.5.0");
    assert_eq!(effects(&half.decide()), ["SetImage Pod shop-m2"]);
    let away = half.settle().silent(1).decide();
    assert_eq!(effects(&away), [""; 0]);
    assert!(!reports(&away, Reason::UpgradePath));
    assert!(reports(&away, Reason::UpgradeHeld) || reports(&away, Reason::MemberUnhealthy));
}

#[test]
fn who_changes_their_mind_has_the_way_back_ended_first() {
    let none_moved = healthy(3).told(Some("3.5.0"), "3.5.0").decide();
    assert_eq!(effects(&none_moved), ["Downgrade "]);
    let one_moved = going_back().moved(1, "3.5.35").settle().asking("3.6.16");
    let ended = one_moved.clone().told(Some("3.5.0"), "3.5.0").decide();
    assert_eq!(effects(&ended), ["Downgrade "]);
    let decision = one_moved.told(None, "3.5.0").decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.16"));
}

/// Whoever does not answer may not have heard that its data files are to fit an older version.
#[test]
fn a_member_that_is_down_gets_no_older_program() {
    let world = going_back().told(Some("3.5.0"), "3.5.0");
    let decision = world.clone().down(2, "CrashLoopBackOff: x").decide();
    assert_eq!(given_image(&decision), "");
    // One that was given it before has heard.
    let stuck = world
        .asking("3.5.34")
        .given(2, "3.5.35")
        .down(2, "ImagePullBackOff: x")
        .decide();
    assert_eq!(given_image(&stuck), image("3.5.34"));
}

#[test]
fn a_long_way_back_is_told_step_by_step() {
    let decision = healthy(3).running("3.7.3").asking("3.5.35").decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(
        &decision,
        Reason::UpgradePath,
        "Set spec.version to 3.6.16 first",
    );
    let old = healthy(3).asking("3.5.20").decide();
    says(
        &old,
        Reason::UpgradePath,
        "Set spec.version to 3.5.35 first",
    );
}
