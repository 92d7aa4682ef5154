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

#[test]
fn the_pod_of_the_plan_is_made_again_only_while_it_does_not_run() {
    let mut again = stops();
    if let Effect::Delete { name, .. } = &mut again.effect {
        "a-1".clone_into(name);
    }
    let with_pod = |resource: &Resource, running: bool| {
        let mut fresh = lost(resource);
        if let Observed::Seen(pod) = &mut fresh.object {
            pod.running = running;
        }
        fresh
    };
    let filling = at(RestorationStage::Filling);
    assert_eq!(rule(&again, &with_pod(&filling, false)), "");
    assert_eq!(rule(&again, &with_pod(&filling, true)), "StillRunning");
    let in_pod = |ran: bool| {
        let mut fresh = with_pod(&filling, false);
        if let Observed::Seen(pod) = &mut fresh.object {
            (pod.claim, pod.ran) = (None, ran);
        }
        fresh
    };
    assert_eq!(rule(&again, &in_pod(false)), "");
    assert_eq!(rule(&again, &in_pod(true)), "StillRunning");
    let mut answered = filling.clone();
    answered.status["clusterId"] = json!("c2");
    assert_eq!(rule(&again, &with_pod(&answered, false)), "Unasked");
    let mut over = with_pod(&filling, false);
    over.restore = Observed::Absent;
    assert_eq!(rule(&again, &over), "Unasked");
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
