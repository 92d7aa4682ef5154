//! What holds the stop of all members, when things have changed since it was begun.

use super::stages::asked_again;
use super::*;

/// The envelope stops nobody who leads, and the condition names the way out, whichever EtcdRestore began to.
#[test]
fn members_that_lead_again_are_not_stopped_and_who_gives_them_up_is_told_how() {
    for own in [RESTORE_UID, "0f4c0000-0000-4000-8000-000000000011"] {
        let mut world = asked_again();
        let memory = world.status.restoration.as_mut().unwrap();
        memory.stage = RestorationStage::Stopping;
        memory.uid = own.to_owned();
        if let Observed::Seen(restores) = &mut world.snapshot.restores {
            restores[0].uid = RESTORE_UID.to_owned();
        }
        let decision = world.decide();
        assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
        let words = held(&decision);
        let way = format!("kubectl --namespace {NAMESPACE} delete pod {FOUNDER}");
        assert!(words.contains(&way), "{words}");
        world.pods()[0].deleted = Some(world.snapshot.now);
        assert!(effects(&world.decide()).is_empty());
    }
}

/// Its quorum came back between the first pass, which remembers, and the second, which stops.
#[test]
fn a_quorum_that_comes_back_is_not_stopped_unless_the_restore_consents() {
    let mut world = healthy(3).with(proven()).at(RestorationStage::Stopping);
    let decision = world.decide();
    assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
    let words = held(&decision);
    assert!(words.contains("delete this EtcdRestore"), "{words}");
    let id = world.status.cluster_id.unwrap();
    assert!(words.contains(&format!("\"replaces\":\"{id}\"")), "{words}");
    if let Observed::Seen(restores) = &mut world.snapshot.restores {
        restores[0].spec["replaces"] = json!(id.to_string());
    }
    assert_eq!(effects(&world.decide()).len(), 3, "all are stopped");
}

pub(super) fn held(decision: &contract::Decision) -> String {
    let mut findings = decision.report.findings.iter();
    let held = findings.find(|one| one.reason == Reason::RestoreWaiting);
    held.unwrap().message.clone()
}

#[test]
fn a_learner_that_names_a_leader_holds_a_restore_that_does_not_consent() {
    let way = format!("delete pod {FORGETFUL}");
    let world = lost().with(proven()).with_forgetful_learner();
    assert_eq!(stage(&world), Some(RestorationStage::Waiting));
    let words = held(&world.decide());
    assert!(words.contains(&way), "{words}");
    assert!(words.contains(r#""replaces":"c1""#), "{words}");
    let begun = lost()
        .with(proven())
        .at(RestorationStage::Stopping)
        .with_forgetful_learner();
    assert!(effects(&begun.decide()).is_empty());
    let words = held(&begun.decide());
    assert!(words.contains(&way), "{words}");
    let mut consent = proven();
    consent.spec["replaces"] = json!("c1");
    let world = lost().with(consent).with_forgetful_learner();
    assert_eq!(stage(&world), Some(RestorationStage::Stopping));
}

/// As many answer as elect a leader, so the envelope stops nobody.
#[test]
fn members_that_may_be_about_to_elect_are_not_stopped() {
    let mut world = lost().with(proven()).at(RestorationStage::Stopping);
    let second = world
        .clone()
        .with_forgetful_learner()
        .snapshot
        .etcd
        .endpoints
        .pop();
    let mut second = second.unwrap();
    second.pod = member(1);
    if let Observed::Seen(status) = &mut second.status {
        (status.learner, status.leader) = (false, None);
    }
    let own = member(1);
    let endpoints = &mut world.snapshot.etcd.endpoints;
    endpoints.retain(|endpoint| endpoint.pod != own);
    endpoints.push(second);
    assert!(effects(&world.decide()).is_empty());
    let words = held(&world.decide());
    assert!(words.contains("2 members of cluster c1 answer"), "{words}");
}

#[test]
fn an_edited_restore_is_read_again_before_anybody_is_stopped() {
    let mut edited = proven();
    edited.generation = 2;
    let mut world = lost().with(edited).at(RestorationStage::Stopping);
    assert!(effects(&world.decide()).is_empty());
    let words = held(&world.decide());
    assert!(words.contains("was edited"), "{words}");
    world = world.without_pod(0).without_pod(1).without_pod(2);
    assert_eq!(stage(&world), Some(RestorationStage::Stopping));
}

/// It was gone on with what the envelope refuses to one that is over.
#[test]
fn a_restore_that_failed_on_its_way_counts_as_gone() {
    let failed = restore(&EtcdRestoreStatus {
        proof: Some(proof("3.6.0")),
        phase: contract::RestorePhase::Failed,
        reason: "what is stored holds no data of etcd".to_owned(),
        ..EtcdRestoreStatus::default()
    });
    let world = lost().with(failed.clone()).at(RestorationStage::Stopping);
    assert_eq!(stage(&world), None, "the members are started again");
    let mut world = filling();
    world.snapshot.restores = Observed::Seen(vec![failed]);
    assert!(effects(&world.decide()).is_empty());
    let words = held(&world.decide());
    assert!(words.contains("Create another EtcdRestore"), "{words}");
}

#[test]
fn no_disk_is_filled_while_pods_of_others_have_the_labels() {
    let mut world = lost().with(proven()).at(RestorationStage::Stopping);
    let mut pod = world.pods()[0].clone();
    world = world.without_pod(0).without_pod(1).without_pod(2);
    assert_eq!(stage(&world), Some(RestorationStage::Filling));
    world = world.with_forgetful_learner();
    pod.name = FORGETFUL.to_owned();
    pod.uid = format!("uid-of-{FORGETFUL}");
    pod.owner = None;
    world.pods().push(pod);
    assert_eq!(stage(&world), Some(RestorationStage::Stopping));
    let decision = world.decide();
    let mut findings = decision.report.findings.iter();
    let found = findings.find(|one| one.reason == Reason::ForeignObject);
    let words = &found.unwrap().message;
    assert!(words.contains("no disk is filled"), "{words}");
    assert!(words.contains(&format!("label pod {FORGETFUL}")), "{words}");
}
