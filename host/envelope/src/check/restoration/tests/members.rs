//! Members of before: stopped, their claims kept and cleared away.

use super::*;

fn stops() -> Action {
    let mut action = action(Effect::Delete {
        kind: ObjectKind::Pod,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    action.pre.object = present("uid-3");
    action.pre.restore = Some(reference());
    action
}

#[test]
fn pods_are_stopped_while_the_status_says_so_and_their_disks_stay() {
    let resource = at(RestorationStage::Stopping);
    assert_eq!(rule(&stops(), &lost(&resource)), "");
    assert_eq!(rule(&stops(), &living(&resource)), "Unasked");
    for stage in STAGES
        .into_iter()
        .filter(|stage| *stage != RestorationStage::Stopping)
    {
        assert_eq!(rule(&stops(), &lost(&at(stage))), "Unasked", "{stage:?}");
    }
    let mut in_pod = lost(&resource);
    if let Observed::Seen(pod) = &mut in_pod.object {
        pod.claim = None;
        pod.running = true;
    }
    assert_eq!(rule(&stops(), &in_pod), "StillRunning");
    in_pod.restore = Observed::Seen(consenting("c1"));
    assert_eq!(rule(&stops(), &in_pod), "");
}

fn deletes_claim(name: &str) -> Action {
    let mut action = action(Effect::Delete {
        kind: ObjectKind::PersistentVolumeClaim,
        name: name.to_owned(),
        grace_seconds: None,
    });
    action.pre.object = present("uid-3");
    action.pre.cluster_id = Some(CLUSTER_ID);
    action.pre.departed = Some(name.to_owned());
    action
}

#[test]
fn a_claim_of_before_goes_only_when_the_cluster_is_whole() {
    let growing = at(RestorationStage::Growing);
    assert_eq!(rule(&deletes_claim("a-9"), &living(&growing)), "");
    let sick = living(&growing).silent(3);
    assert_eq!(rule(&deletes_claim("a-9"), &sick), "TooFewHealthy");
    let joining = living(&growing).with_learner();
    assert_eq!(rule(&deletes_claim("a-9"), &joining), "Outstanding");
    let mut small = growing.clone();
    small.spec["size"] = json!(5);
    assert_eq!(
        rule(&deletes_claim("a-9"), &living(&small)),
        "TooFewHealthy"
    );
    assert_eq!(
        rule(&deletes_claim("a-8"), &sick),
        "",
        "of one who left afterwards"
    );
}
