//! Founders whose pods are made again while their disks are filled, and those that a person has to see to.

use super::*;

/// The founder's pod, not answering, changed by the one thing a test is about.
fn stuck(change: impl Fn(&mut Pod)) -> World {
    let mut world = answering();
    world.snapshot.etcd = filling().snapshot.etcd;
    let pod = &mut world.pods()[0];
    (pod.running, pod.ready) = (false, false);
    change(pod);
    world
}

fn is_made_again(world: &World) -> bool {
    let decision = world.decide();
    let mut actions = decision.actions.iter();
    let deletion = actions.find(|action| matches!(action.effect, Effect::Delete { .. }));
    deletion.is_some_and(|action| {
        assert_eq!(action.effect.target(), FOUNDER);
        action.pre.restore.is_some()
    })
}

fn blocked(world: &World) -> String {
    let status = written(&world.decide()).unwrap();
    let mut conditions = status.conditions.into_iter();
    let found = conditions.find(|one| one.kind == "Blocked").unwrap();
    assert_eq!(found.status, ConditionStatus::True);
    found.message
}

fn ended(pod: &mut Pod) {
    pod.phase = PodPhase::Failed;
}

#[test]
fn a_founder_that_was_evicted_is_made_again_on_its_claim() {
    assert!(is_made_again(&stuck(ended)));
    assert!(!is_made_again(&stuck(|pod| {
        ended(pod);
        pod.deleted = Some(Millis(1));
    })));
    assert!(!is_made_again(&stuck(|_| {})), "its kubelet starts it");
}

/// What it may have voted on is gone with the pod: filled anew it would vote without that.
#[test]
fn a_founder_that_ran_and_ended_with_its_data_is_left_to_a_person() {
    let in_pod = |ran: bool| {
        let mut world = stuck(|pod| {
            ended(pod);
            (pod.claim, pod.ran) = (None, ran);
        });
        world.snapshot.resource.spec["pod"] = json!({});
        world
    };
    assert!(is_made_again(&in_pod(false)));
    assert!(!is_made_again(&in_pod(true)));
    let words = blocked(&in_pod(true));
    let command = format!("kubectl --namespace {NAMESPACE} delete pod {FOUNDER}");
    assert!(words.contains(&command), "{words}");
    let mut going = in_pod(true);
    going.pods()[0].deleted = Some(Millis(1));
    assert!(recovering(&going).2.contains("is being terminated"));
}

/// Nobody reports the end of a pod on a node that is gone, and it was said to take the backup.
#[test]
fn a_founder_that_is_being_terminated_is_told_with_the_way_past_a_dead_node() {
    for ran in [false, true] {
        let going = stuck(|pod| (pod.ran, pod.deleted) = (ran, Some(Millis(1))));
        assert!(!is_made_again(&going));
        let words = recovering(&going).2;
        for part in [
            "is being terminated",
            "make sure that the machine is off",
            "kubectl delete pod --force",
        ] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!words.contains("takes the backup"), "{words}");
    }
}

/// Its pod was made again with the image that the spec asks for now, and without what it may have voted on.
#[test]
fn a_founder_that_ran_with_its_data_in_its_pod_keeps_it_whatever_image_is_asked_for() {
    let in_pod = |ran: bool| {
        let mut world = stuck(|pod| {
            (pod.claim, pod.ran) = (None, ran);
            pod.waiting = Some("CrashLoopBackOff: back-off 20s".to_owned());
        });
        world.snapshot.resource.spec["pod"] = json!({});
        world.spec("version", json!("3.6.17"))
    };
    assert!(is_made_again(&in_pod(false)));
    assert!(!is_made_again(&in_pod(true)));
    let words = blocked(&in_pod(true));
    let command = format!("kubectl --namespace {NAMESPACE} delete pod {FOUNDER}");
    assert!(words.contains(&command), "{words}");
}

#[test]
fn a_founder_that_never_ran_is_made_again_as_spec_pod_says_now() {
    let shaped = |shape: &str, ran: bool| {
        stuck(|pod| {
            pod.phase = PodPhase::Pending;
            pod.ran = ran;
            let key = names::SHAPE_ANNOTATION.to_owned();
            pod.annotations.insert(key, shape.to_owned());
        })
    };
    assert!(is_made_again(&shaped("of-before", false)));
    assert!(!is_made_again(&shaped("of-before", true)));
    let decision = filling().decide();
    let made = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Apply { object } => match &**object {
                Child::Pod(pod) => pod.metadata.annotations.clone(),
                _ => None,
            },
            _ => None,
        });
    let shape = &made.unwrap()[names::SHAPE_ANNOTATION];
    assert!(!is_made_again(&shaped(shape, false)), "it is as asked");
}

/// Kubernetes changes no claim before there is a volume.
#[test]
fn a_founders_claim_of_another_class_is_told_with_the_command_that_takes_it_away() {
    let pending = |class: &str| {
        let mut world = stuck(|pod| {
            (pod.phase, pod.ran) = (PodPhase::Pending, false);
        });
        if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
            let claims = volumes.iter_mut().filter(|one| one.name == FOUNDER);
            for claim in claims {
                claim.phase = contract::VolumePhase::Pending;
                claim.storage_class = Some(class.to_owned());
            }
        }
        let claim = &mut world.snapshot.resource.spec["pod"]["persistentVolumeClaimSpec"];
        claim["storageClassName"] = json!("fast");
        world
    };
    let words = blocked(&pending("slow"));
    let command = format!(
        "kubectl --namespace {NAMESPACE} delete persistentvolumeclaim/{FOUNDER} pod/{FOUNDER}"
    );
    assert!(words.contains(&command), "{words}");
    let status = written(&pending("fast").decide()).unwrap();
    let mut conditions = status.conditions.into_iter();
    let found = conditions.find(|one| one.kind == "Blocked").unwrap();
    assert_eq!(found.status, ConditionStatus::False, "{}", found.message);
}

/// A policy may refuse a budget for as long as it stands, and the first refusal ends a pass.
#[test]
fn a_budget_that_is_refused_keeps_no_founder_from_being_made() {
    let mut world = filling();
    world.snapshot.objects.pods = Observed::Seen(Vec::new());
    world.snapshot.objects.disruption_budgets = Observed::Seen(Vec::new());
    world.snapshot.outcomes = vec![contract::PastOutcome {
        effect: "Apply".to_owned(),
        kind: Some(contract::ObjectKind::PodDisruptionBudget),
        target: "shop".to_owned(),
        outcome: contract::OutcomeKind::Failed,
        message: "denied the request".to_owned(),
    }];
    let effects = effects(&world.decide());
    let budget = "Apply PodDisruptionBudget shop".to_owned();
    assert_eq!(effects.last(), Some(&budget), "{effects:?}");
    let is_founder = |effect: &String| *effect == format!("Apply Pod {FOUNDER}");
    assert!(effects.iter().any(is_founder), "{effects:?}");
}
