//! A survivor whose own pod does not come up by itself: it ended, what it was made from was corrected, or what it starts
//! with is gone.

use super::*;
use crate::certificates::{orders, secured};

const OUT_OF_DISK: &str = "The node was low on resource: ephemeral-storage.";

/// The survivor's pod was made, and its container does not run.
fn down(stage: RecoveryStage, change: impl FnOnce(&mut contract::Pod)) -> World {
    let mut world = forcing();
    let mut pod = healthy(1).pods()[0].clone();
    if stage == RecoveryStage::Forcing {
        let key = names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned();
        pod.annotations.insert(key, "true".to_owned());
    }
    (pod.running, pod.ready, pod.phase) = (false, false, contract::PodPhase::Pending);
    change(&mut pod);
    world.pods().push(pod);
    if stage == RecoveryStage::Renewing {
        world.status.member_records.truncate(1);
    }
    world.status.recovery = Some(recovery(stage));
    world
}

const STAGES: [RecoveryStage; 2] = [RecoveryStage::Forcing, RecoveryStage::Renewing];

fn ended(pod: &mut contract::Pod) {
    pod.phase = contract::PodPhase::Failed;
    pod.waiting = Some(OUT_OF_DISK.to_owned());
}

fn told(world: &World) -> String {
    let findings = world.decide().report.findings;
    let mut words = findings.into_iter().map(|finding| finding.message);
    words
        .find(|words| words.contains("only member"))
        .unwrap_or_default()
}

/// The kubelet evicted it, and it was waited for, for ever.
#[test]
fn a_survivors_pod_that_ended_is_made_again() {
    for stage in STAGES {
        let world = down(stage, ended);
        let decision = world.decide();
        assert_eq!(effects(&decision), ["Delete Pod shop-m0"], "{stage:?}");
        let delete = decision
            .actions
            .iter()
            .find(|one| one.effect.name() == "Delete");
        let claim = delete.and_then(|one| one.pre.claim_uid.as_deref());
        assert_eq!(claim, Some("disk-shop-m0"));
        let gone = world.without_pod(0);
        assert_eq!(effects(&gone.decide()), ["Apply Pod shop-m0"], "{stage:?}");
    }
    let starting = down(RecoveryStage::Forcing, |_| {});
    assert_eq!(effects(&starting.decide()), [""; 0]);
}

#[test]
fn a_survivors_pod_that_ended_is_told_as_blocked_when_the_consent_is_gone() {
    let mut world = down(RecoveryStage::Forcing, ended);
    let spec = world.snapshot.resource.spec.as_object_mut().unwrap();
    spec.remove("quorumRecovery");
    assert_eq!(effects(&world.decide()), [""; 0]);
    let (status, _, words) = condition(&world, "Blocked");
    assert_eq!(status, ConditionStatus::True);
    assert!(words.contains("set it again"), "{words}");
}

/// Kubernetes takes the claim from under a pod that ended: a backup is all that is left, and a restore waits for nothing.
#[test]
fn a_survivor_that_ended_on_a_claim_that_goes_is_no_more() {
    for stage in STAGES {
        let mut world = down(stage, ended);
        if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
            volumes[0].deleted = Some(volumes[0].created);
        }
        assert_eq!(effects(&world.decide()), [""; 0]);
        let (status, _, words) = condition(&world, "Blocked");
        assert_eq!(status, ConditionStatus::True, "{stage:?}");
        assert!(words.contains("by an EtcdRestore"), "{words}");
    }
}

#[test]
fn a_corrected_policy_reaches_the_survivor() {
    for stage in STAGES {
        let world = down(stage, |pod| {
            pod.unschedulable = Some("0/3 nodes are available".to_owned());
            let key = names::SHAPE_ANNOTATION.to_owned();
            pod.annotations.insert(key, "another".to_owned());
        });
        assert_eq!(
            effects(&world.decide()),
            ["Delete Pod shop-m0"],
            "{stage:?}"
        );
        let words = told(&world);
        assert!(words.contains("no node takes its pod"), "{words}");
        let running = down(stage, |pod| {
            pod.running = true;
            let key = names::SHAPE_ANNOTATION.to_owned();
            pod.annotations.insert(key, "another".to_owned());
        });
        assert_eq!(effects(&running.decide()), [""; 0], "{stage:?}");
    }
}

/// With the image that it ran it is started; only one that cannot be had makes room for another one.
#[test]
fn a_corrected_repository_reaches_the_survivor() {
    for stage in STAGES {
        let waiting = |why: Option<&str>| {
            let waiting = why.map(str::to_owned);
            let world = down(stage, |pod| pod.waiting = waiting);
            world.spec("repository", json!("registry.example.com/etcd"))
        };
        let had = waiting(Some("ImagePullBackOff: it is gone"));
        let decision = had.decide();
        assert_eq!(effects(&decision), ["SetImage Pod shop-m0"], "{stage:?}");
        let words = serde_json::to_string(&decision.actions).unwrap();
        let image = "registry.example.com/etcd:v3.6.16";
        assert!(words.contains(image), "{words}");
        let record = &written(&decision).unwrap().member_records[0];
        assert_eq!(record.image.as_deref(), Some(image));
        for starts in [None, Some("ContainerCreating")] {
            assert_eq!(effects(&waiting(starts).decide()), [""; 0], "{stage:?}");
        }
    }
}

/// The Secret that somebody deletes meanwhile was never made again, and the kubelet waited for it.
#[test]
fn a_certificate_that_is_gone_is_made_again_for_the_survivor() {
    for stage in STAGES {
        let world = secured(down(stage, |pod| pod.waiting = None));
        assert_eq!(
            orders(&world.decide()),
            ["shop-peer-tls: by old"],
            "{stage:?}"
        );
        let gone = world.without_pod(0);
        let decision = gone.decide();
        assert_eq!(orders(&decision), ["shop-peer-tls: by old"], "{stage:?}");
        assert_eq!(
            effects(&decision),
            ["Issue Secret shop-peer-tls"],
            "{stage:?}"
        );
    }
}

#[test]
fn the_peers_service_is_made_again_for_the_survivor() {
    for stage in STAGES {
        let mut world = down(stage, |_| {});
        if let Observed::Seen(services) = &mut world.snapshot.objects.services {
            services.retain(|service| service.name != "shop");
        }
        assert_eq!(
            effects(&world.decide()),
            ["Apply Service shop"],
            "{stage:?}"
        );
    }
}
