//! Each stage, from the last pod of before to the last member of after.

use std::collections::BTreeSet;

use super::*;

#[test]
fn all_pods_are_stopped_and_no_claim_is_touched() {
    let stopping = lost().with(proven()).at(RestorationStage::Stopping);
    let decision = stopping.decide();
    let deleted: Vec<String> = (0..3)
        .map(|index| format!("Delete Pod {}", member(index)))
        .collect();
    assert_eq!(effects(&decision), deleted);
    let last = stopping.without_pod(0).without_pod(1);
    assert_eq!(
        stage(&last),
        Some(RestorationStage::Stopping),
        "it may still vote"
    );
    let empty = last.without_pod(2);
    let status = written(&empty.decide()).unwrap();
    let restoration = status.restoration.unwrap();
    assert_eq!(restoration.stage, RestorationStage::Filling);
    let founders: BTreeSet<String> = restoration.founders.iter().cloned().collect();
    assert_eq!(founders.len(), 3, "{founders:?}");
    assert!(founders.iter().all(|name| name.starts_with("shop-")));
    assert!(
        founders
            .iter()
            .all(|name| !restoration.given_up.contains(name))
    );
    assert_eq!((status.cluster_id, status.birth), (None, None));
    assert_eq!(status.phase, Phase::Creating);
    assert!(status.member_records.is_empty());
}

#[test]
fn a_restore_that_is_taken_back_before_anything_was_lost_starts_the_members_again() {
    let mut gone = lost()
        .with(proven())
        .at(RestorationStage::Stopping)
        .without_pod(0);
    gone.snapshot.restores = Observed::Seen(Vec::new());
    assert_eq!(stage(&gone), None);
    gone.status.restoration = None;
    assert!(effects(&gone.decide()).contains(&format!("Apply Pod {}", member(0))));
}

/// The founder of an EtcdRestore that is gone, reached by TLS, and another EtcdRestore with its consent.
pub(super) fn asked_again() -> World {
    let mut next = proven();
    next.uid = "0f4c0000-0000-4000-8000-000000000010".to_owned();
    next.spec["replaces"] = json!("c1");
    let mut world = answering().with(next);
    world.status.tls = Some(TlsSecrets {
        peer: Some("peers".to_owned()),
        ..TlsSecrets::default()
    });
    world
}

/// Found by the simulator: the envelope refused that, again and again, and the condition said that members are stopped.
#[test]
fn members_that_an_earlier_restore_filled_and_that_lead_are_given_up_by_who_deletes_their_pods() {
    let world = asked_again();
    assert_eq!(stage(&world), Some(RestorationStage::Filling));
    let decision = world.decide();
    assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
    let words = super::stopping::held(&decision);
    let way = format!("kubectl --namespace {NAMESPACE} delete pod {FOUNDER}");
    assert!(words.contains(&way), "{words}");
    assert_eq!(
        stage(&silenced(world)),
        Some(RestorationStage::Stopping),
        "nobody leads"
    );
}

/// Its only member's pod is gone.
fn silenced(mut world: World) -> World {
    world.pods().clear();
    world.snapshot.etcd.endpoints.clear();
    world.snapshot.etcd.membership = Observed::Absent;
    world
}

/// Found by the simulator: the envelope refused to forget the certificates of members that ran.
#[test]
fn members_that_an_earlier_restore_filled_keep_their_certificates_until_the_next_one_stopped_them()
{
    let world = silenced(asked_again());
    let status = written(&world.decide()).unwrap();
    let stage = status.restoration.unwrap().stage;
    assert_eq!(stage, RestorationStage::Stopping);
    assert_eq!((status.cluster_id, status.tls), (None, world.status.tls));
}

#[test]
fn the_first_answer_records_another_cluster_and_only_that() {
    let world = answering();
    let status = written(&world.decide()).unwrap();
    assert_eq!(status.cluster_id, Some(contract::ClusterId(0xc2)));
    assert_eq!(
        status.restoration.map(|one| one.stage),
        Some(RestorationStage::Growing)
    );
    let mut early = answering();
    if let Observed::Seen(list) = &mut early.snapshot.etcd.membership {
        list.linearizable = false;
    }
    assert_eq!(
        stage(&early),
        Some(RestorationStage::Filling),
        "nobody confirmed it"
    );
}

/// The first member votes alone in the recorded cluster; the claims of before are there.
fn growing() -> World {
    let mut world = answering();
    world.status = written(&world.decide()).unwrap();
    world
}

#[test]
fn claims_of_before_are_kept_until_the_cluster_is_whole() {
    let decision = growing().decide();
    let effects_of = effects(&decision);
    assert!(
        effects_of.contains(&format!("AnnotatePod Pod {FOUNDER}")),
        "it is noted that the disk is filled: {effects_of:?}"
    );
    assert!(
        !effects_of.iter().any(|effect| effect.starts_with("Delete")),
        "{effects_of:?}"
    );
    let small = growing().wanting(1);
    let effects_of = effects(&small.decide());
    let deleted: Vec<&String> = effects_of
        .iter()
        .filter(|effect| effect.starts_with("Delete"))
        .collect();
    assert_eq!(deleted.len(), 3, "{effects_of:?}");
    assert_eq!(stage(&small), Some(RestorationStage::Growing));
    let mut done = small;
    if let Observed::Seen(volumes) = &mut done.snapshot.objects.volumes {
        volumes.retain(|volume| volume.name == FOUNDER);
    }
    assert_eq!(stage(&done), Some(RestorationStage::Done));
    let ended = written(&done.decide()).and_then(|status| status.restoration);
    assert!(ended.is_some_and(|one| one.ended_at.is_some()));
}

/// All founders may be healthy in the very pass after the first answer.
#[test]
fn it_is_not_done_before_clients_can_reach_it() {
    let mut world = growing().wanting(1);
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes.retain(|volume| volume.name == FOUNDER);
    }
    assert_eq!(stage(&world), Some(RestorationStage::Done));
    world.pods()[0].ready = false;
    assert_eq!(stage(&world), Some(RestorationStage::Growing));
    world.pods()[0].ready = true;
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.retain(|service| service.name != names::client_service(NAME));
    }
    assert_eq!(stage(&world), Some(RestorationStage::Growing));
}

/// Its consent, or its lost quorum, was another one's; the claims of before may be whole.
#[test]
fn a_second_restore_needs_a_consent_of_its_own() {
    let mut world = filling();
    if let Some(restoration) = &mut world.status.restoration {
        restoration.uid = "before".to_owned();
        restoration.restore = "before".to_owned();
    }
    let (_, reason, message) = recovering(&world);
    assert_eq!(reason, "RestoreWaiting");
    assert!(
        message.contains("EtcdRestore before gave cluster") && message.contains("To consent: "),
        "{message}"
    );
    assert_eq!(stage(&world), Some(RestorationStage::Filling));
    // Nor does it take over from one between them that was taken back before it planned anybody.
    if let Some(restoration) = &mut world.status.restoration {
        restoration.stage = RestorationStage::Stopping;
    }
    assert!(recovering(&world).2.contains("To consent: "));
    let mut consenting = proven();
    consenting.spec["replaces"] = json!(contract::ClusterId(0xc1).to_string());
    let world = world.with(consenting);
    let begun = written(&world.decide()).and_then(|status| status.restoration);
    let begun = begun.unwrap();
    assert_eq!(
        (begun.stage, begun.replaces),
        (RestorationStage::Stopping, Some(contract::ClusterId(0xc1)))
    );
}

#[test]
fn a_restore_that_is_done_is_not_made_again_before_it_is_told() {
    let done = healthy(3).with(proven()).at(RestorationStage::Done);
    let decision = done.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(!reports(&decision, Reason::Restoring));
    assert!(!reports(&decision, Reason::RestoreWaiting));
}

#[test]
fn no_cluster_is_born_empty_while_a_restore_is_asked_for() {
    let asked = fresh(3).with(restore(&EtcdRestoreStatus::default()));
    assert_eq!(effects(&asked.decide()), [""; 0]);
    assert!(written(&asked.decide()).unwrap().birth.is_none());
    let ready = fresh(3).with(proven());
    assert_eq!(stage(&ready), Some(RestorationStage::Stopping));
    let mut unknown = fresh(3);
    unknown.snapshot.restores = Observed::Unknown("forbidden".to_owned());
    assert!(reports(&unknown.decide(), Reason::RestoreWaiting));
    assert!(written(&unknown.decide()).unwrap().birth.is_none());
    let failed = fresh(3).with(restore(&EtcdRestoreStatus {
        reason: "it is not in the store".to_owned(),
        ..EtcdRestoreStatus::default()
    }));
    assert!(written(&failed.decide()).unwrap().birth.is_none());
    assert!(recovering(&failed).2.contains("delete that one"));
    let over = fresh(3).with(restore(&EtcdRestoreStatus {
        succeeded: true,
        ..EtcdRestoreStatus::default()
    }));
    assert!(written(&over.decide()).unwrap().birth.is_some());
}

#[test]
fn the_oldest_of_two_comes_first() {
    let mut later = proven();
    later.name = "later".to_owned();
    later.uid = "another".to_owned();
    later.created = Millis(1);
    let mut world = lost();
    world.snapshot.restores = Observed::Seen(vec![later, proven()]);
    let restoration = written(&world.decide()).and_then(|status| status.restoration);
    assert_eq!(restoration.unwrap().restore, NAME);
}

#[test]
fn all_pods_and_disks_gone_is_restored_without_a_consent() {
    let mut world = healthy(3)
        .without_pod(0)
        .without_pod(1)
        .without_pod(2)
        .without_volume(0)
        .without_volume(1)
        .without_volume(2);
    world.snapshot.etcd.membership = Observed::Absent;
    let world = world.settle().with(proven());
    assert_eq!(stage(&world), Some(RestorationStage::Stopping));
}

/// What filled a disk could do so again until that is noted, and what clients wrote meanwhile would be gone.
#[test]
fn clients_get_no_service_before_it_is_noted_that_the_disks_are_filled() {
    for (filled, is_told) in [("false", false), ("true", true)] {
        let mut world = healthy(3);
        for pod in world.pods() {
            let filled = (names::FILLED_ANNOTATION.to_owned(), filled.to_owned());
            pod.annotations.extend([filled]);
        }
        if let Observed::Seen(services) = &mut world.snapshot.objects.services {
            services.truncate(1);
        }
        let told = effects(&world.decide());
        let service = "Apply Service shop-client".to_owned();
        assert_eq!(told.contains(&service), is_told, "{filled}: {told:?}");
    }
}
