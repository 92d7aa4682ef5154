//! Each stage, from the last pod of before to the last member of after.

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
    assert!(
        restoration
            .seed
            .is_some_and(|seed| seed.starts_with("shop-"))
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

#[test]
fn the_first_member_gets_a_claim_and_a_pod_that_fills_it_and_founds_nothing() {
    let decision = filling().decide();
    assert_eq!(
        effects(&decision),
        [
            format!("Apply PersistentVolumeClaim {SEED}"),
            format!("Apply Pod {SEED}")
        ]
    );
    let pod = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Apply { object } => match &**object {
                Child::Pod(pod) => Some(pod.clone()),
                _ => None,
            },
            _ => None,
        });
    let pod = pod.unwrap();
    let annotations = pod.metadata.annotations.unwrap();
    assert_eq!(annotations[names::INITIAL_STATE_ANNOTATION], "existing");
    assert_eq!(annotations[names::FILLED_ANNOTATION], "false");
    let containers = pod.spec.unwrap().init_containers.unwrap();
    let tool = containers[1].args.clone().unwrap();
    assert!(
        tool.contains(&"--bump-revision=1000000000".to_owned()),
        "{tool:?}"
    );
    assert!(tool.contains(&"--mark-compacted".to_owned()));
    assert!(tool.contains(&"--initial-cluster-token=token".to_owned()));
}

#[test]
fn a_claim_as_a_store_is_mounted_to_be_read_where_the_backup_is_fetched() {
    let mut claimed = filling();
    let mut wish = proven();
    wish.spec = json!({
        "etcdCluster": {"name": NAME}, "backupStorageType": "PVC", "pvc": {"path": "backups/k"},
    });
    claimed.snapshot.restores = Observed::Seen(vec![wish]);
    let decision = claimed.decide();
    let pod = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Apply { object } => match &**object {
                Child::Pod(pod) => pod.spec.clone(),
                _ => None,
            },
            _ => None,
        })
        .unwrap();
    let store = |volume: &&k8s_openapi::api::core::v1::Volume| volume.name == names::STORE_VOLUME;
    let volumes = pod.volumes.unwrap();
    let volume = volumes.iter().find(store).unwrap();
    let claim = volume.persistent_volume_claim.clone().unwrap();
    assert_eq!(
        (claim.claim_name.as_str(), claim.read_only),
        ("backups", Some(true))
    );
    assert!(volume.secret.is_none());
}

/// Nothing of its disk is missed by anybody, and nobody else would ever make it again.
/// Whoever makes the claim again meanwhile leaves another disk under its name.
#[test]
fn a_disk_is_filled_on_the_claim_that_was_looked_at_alone() {
    let mut world = filling();
    if let Observed::Seen(claims) = &mut world.snapshot.objects.volumes {
        let mut claim = claims[0].clone();
        claim.name = SEED.to_owned();
        claim.uid = "disk-of-the-seed".to_owned();
        claims.push(claim);
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [format!("Apply Pod {SEED}")]);
    let mut actions = decision.actions.iter();
    let pod = actions.find(|action| action.effect.name() == "Apply");
    let claim = pod.and_then(|action| action.pre.claim_uid.as_deref());
    assert_eq!(claim, Some("disk-of-the-seed"));
}

#[test]
fn a_first_member_that_does_not_run_is_made_again_when_the_spec_asks_for_another_image() {
    let stuck = |running: bool| {
        let mut world = answering();
        world.snapshot.etcd = filling().snapshot.etcd;
        let pod = &mut world.pods()[0];
        pod.running = running;
        pod.ready = false;
        pod.image = "quay.io/coreos/etcd:v3.6.999".to_owned();
        world
    };
    let decision = stuck(false).decide();
    assert_eq!(effects(&decision), [format!("Delete Pod {SEED}")]);
    let action = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Delete { .. }));
    assert!(action.unwrap().pre.restore.is_some());
    let deletes = |world: &World| effects(&world.decide()).contains(&format!("Delete Pod {SEED}"));
    assert!(!deletes(&stuck(true)));
    let mut as_asked = stuck(false);
    as_asked.pods()[0].image = healthy(1).pods()[0].image.clone();
    assert!(!deletes(&as_asked));
    let mut going = stuck(false);
    going.pods()[0].deleted = Some(Millis(1));
    assert!(!deletes(&going));
}

#[test]
fn an_old_version_has_another_tool_and_a_revision_may_stay() {
    let tool = |mut world: World| {
        world.snapshot.resource.spec["version"] = json!("3.4.34");
        let decision = world.decide();
        let pod = decision
            .actions
            .iter()
            .find_map(|action| match &action.effect {
                Effect::Apply { object } => match &**object {
                    Child::Pod(pod) => pod.spec.clone()?.init_containers,
                    _ => None,
                },
                _ => None,
            });
        let containers = pod.unwrap();
        (
            containers[1].command.clone().unwrap(),
            containers[1].args.clone().unwrap(),
        )
    };
    let restore = |bump: i64| {
        let mut restore = restore(&EtcdRestoreStatus {
            proof: Some(proof("3.4.0")),
            ..EtcdRestoreStatus::default()
        });
        restore.spec["bumpRevision"] = json!(bump);
        restore
    };
    let (program, arguments) = tool(filling().with(restore(0)));
    assert_eq!(program, ["/usr/local/bin/etcdctl"]);
    assert!(
        !arguments.iter().any(|one| one.contains("bump")),
        "{arguments:?}"
    );
    let (_, arguments) = tool(filling().with(restore(5)));
    assert!(arguments.contains(&"--bump-revision=5".to_owned()));
}

#[test]
fn what_keeps_the_disk_from_being_filled_is_told() {
    let mut world = filling();
    let mut pod = healthy(1).pods()[0].clone();
    pod.name = SEED.to_owned();
    pod.claim = Some(SEED.to_owned());
    pod.running = false;
    pod.phase = PodPhase::Pending;
    pod.waiting = Some("fetch: CrashLoopBackOff".to_owned());
    pod.last_exit = Some(contract::LastExit {
        reason: "Error".to_owned(),
        code: 2,
        message: "Error: the store refuses these credentials".to_owned(),
        at: None,
    });
    *world.pods() = vec![pod];
    let (_, _, message) = recovering(&world);
    assert!(message.contains("fetch: CrashLoopBackOff"), "{message}");
    assert!(message.contains("refuses these credentials"), "{message}");
    assert_eq!(effects(&world.decide()), [""; 0]);
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
        effects_of.contains(&format!("AnnotatePod Pod {SEED}")),
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
        volumes.retain(|volume| volume.name == SEED);
    }
    assert_eq!(stage(&done), Some(RestorationStage::Done));
    let ended = written(&done.decide()).and_then(|status| status.restoration);
    assert!(ended.is_some_and(|one| one.ended_at.is_some()));
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
