//! A cluster that goes on from a backup: what it waits for, and each of its stages. The EtcdRestore's own decisions are
//! in `restore/own.rs`.

mod own;

use contract::{
    Child, ConditionStatus, Effect, EtcdRestoreStatus, Millis, Observed, Phase, Pod, PodPhase,
    Reason, Resource, Restoration, RestorationStage, SnapshotProof, names,
};
use serde_json::json;

use crate::fixture::{NAME, NAMESPACE, World, effects, fresh, healthy, member, reports, written};

const RESTORE_UID: &str = "0f4c0000-0000-4000-8000-00000000000f";
const SEED: &str = "shop-seed222222";

/// What was read of the backup.
fn proof(version: &str) -> SnapshotProof {
    SnapshotProof {
        path: "bucket/dir/etcd.backup".to_owned(),
        size_bytes: 20_512,
        sha256: "ab".repeat(32),
        etcd_revision: 4_711,
        etcd_version: version.to_owned(),
        proven_at: "2026-11-18T11:06:39Z".to_owned(),
        generation: 1,
    }
}

/// A manifest of the archived operator, as it stands after its backup was read.
fn restore(status: &EtcdRestoreStatus) -> Resource {
    Resource {
        api_version: "etcd.database.coreos.com/v1beta2".to_owned(),
        kind: "EtcdRestore".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: NAME.to_owned(),
        uid: RESTORE_UID.to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        spec: json!({
            "etcdCluster": {"name": NAME}, "backupStorageType": "S3",
            "s3": {"path": "bucket/dir/etcd.backup", "awsSecret": "aws"},
        }),
        status: json!(status),
        ..Resource::default()
    }
}

fn proven() -> Resource {
    restore(&EtcdRestoreStatus {
        proof: Some(proof("3.6.0")),
        ..EtcdRestoreStatus::default()
    })
}

trait Restored {
    fn with(self, restore: Resource) -> Self;
    fn at(self, stage: RestorationStage) -> Self;
}

impl Restored for World {
    fn with(mut self, restore: Resource) -> Self {
        self.snapshot.restores = Observed::Seen(vec![restore]);
        self
    }

    fn at(mut self, stage: RestorationStage) -> Self {
        let is_planned = stage != RestorationStage::Stopping;
        self.status.restoration = Some(Restoration {
            restore: NAME.to_owned(),
            uid: RESTORE_UID.to_owned(),
            stage,
            started_at: Some("2026-11-18T11:06:40Z".to_owned()),
            ended_at: None,
            replaces: Some(contract::ClusterId(0xc1)),
            seed: is_planned.then(|| SEED.to_owned()),
            token: is_planned.then(|| "token".to_owned()),
            given_up: (0..3).map(member).collect(),
        });
        self
    }
}

/// Two of three disks are lost, the third member answers, and the backup is proven.
fn lost() -> World {
    healthy(3).wiped(1).wiped(2).without_list().settle()
}

/// All pods of before are gone; the id is given up.
fn filling() -> World {
    let mut world = lost().with(proven()).at(RestorationStage::Filling);
    world = world.without_pod(0).without_pod(1).without_pod(2);
    world.snapshot.etcd.membership = Observed::Absent;
    world.status.cluster_id = None;
    world.status.member_records.clear();
    world
}

/// The first member answers as the only one of another cluster.
fn answering() -> World {
    let mut world = filling();
    let mut one = healthy(1);
    let pod = Pod {
        name: SEED.to_owned(),
        claim: Some(SEED.to_owned()),
        annotations: [(names::FILLED_ANNOTATION.to_owned(), "false".to_owned())].into(),
        ..one.pods()[0].clone()
    };
    if let (Observed::Seen(own), Observed::Seen(others)) = (
        &mut world.snapshot.objects.volumes,
        &one.snapshot.objects.volumes,
    ) {
        let mut claim = others[0].clone();
        claim.name = SEED.to_owned();
        own.push(claim);
    }
    let row = &mut one.rows()[0];
    row.name = SEED.to_owned();
    row.peer_urls = vec![format!("http://{SEED}.{NAME}.{NAMESPACE}.svc:2380")];
    world.snapshot.etcd = one.snapshot.etcd;
    if let Observed::Seen(list) = &mut world.snapshot.etcd.membership {
        list.cluster_id = contract::ClusterId(0xc2);
    }
    for endpoint in &mut world.snapshot.etcd.endpoints {
        endpoint.pod = SEED.to_owned();
        if let Observed::Seen(status) = &mut endpoint.status {
            status.cluster_id = contract::ClusterId(0xc2);
        }
    }
    *world.pods() = vec![pod];
    world
}

fn stage(world: &World) -> Option<RestorationStage> {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    status.restoration.map(|one| one.stage)
}

fn recovering(world: &World) -> (ConditionStatus, String, String) {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    let mut conditions = status.conditions.into_iter();
    let found = conditions.find(|one| one.kind == "Recovering").unwrap();
    (found.status, found.reason, found.message)
}

#[test]
fn a_lost_quorum_is_given_up_once_the_backup_is_proven() {
    let unproven = lost().with(restore(&EtcdRestoreStatus::default()));
    assert_eq!(stage(&unproven), Some(RestorationStage::Waiting));
    assert!(recovering(&unproven).2.contains("read from the first byte"));
    let ready = lost().with(proven());
    assert_eq!(stage(&ready), Some(RestorationStage::Stopping));
    assert_eq!(effects(&ready.decide()), [""; 0], "only remembered");
    let kept = written(&ready.decide()).and_then(|status| status.restoration);
    assert_eq!(kept.unwrap().given_up, [member(0), member(1), member(2)]);
}

#[test]
fn a_quorum_that_may_come_back_is_waited_for() {
    let mut away = healthy(3).silent(1).silent(2).without_list();
    for pod in away.pods() {
        pod.ready = false;
    }
    let away = away.settle().with(proven());
    assert_eq!(stage(&away), Some(RestorationStage::Waiting));
    assert!(recovering(&away).2.contains("may come back by itself"));
    assert_eq!(
        stage(&away.later(400)),
        Some(RestorationStage::Stopping),
        "nobody came back"
    );
}

#[test]
fn a_living_cluster_is_given_up_only_by_a_consent_that_names_it() {
    let living = healthy(3).with(proven());
    let (status, reason, message) = recovering(&living);
    assert_eq!(
        (status, reason.as_str()),
        (ConditionStatus::False, "RestoreWaiting")
    );
    let command = "kubectl --namespace prod patch etcdrestore shop --type merge --patch \
                   '{\"spec\":{\"replaces\":\"c1\"}}'";
    assert!(message.contains(command), "{message}");
    assert_eq!(stage(&living), Some(RestorationStage::Waiting));
    let consenting = |id: &str| {
        let mut restore = proven();
        restore.spec["replaces"] = json!(id);
        healthy(3).with(restore)
    };
    assert_eq!(stage(&consenting("c9")), Some(RestorationStage::Waiting));
    assert!(recovering(&consenting("c9")).2.contains("another cluster"));
    assert_eq!(stage(&consenting("c1")), Some(RestorationStage::Stopping));
}

#[test]
fn data_that_is_in_a_pod_needs_the_consent_too() {
    let world = lost().on_empty_dir().settle().with(proven());
    assert_eq!(stage(&world), Some(RestorationStage::Waiting));
    assert!(
        recovering(&world).2.contains("in its pod"),
        "{:?}",
        recovering(&world)
    );
}

#[test]
fn what_a_cluster_cannot_do_is_said_and_nothing_is_touched() {
    let newer = restore(&EtcdRestoreStatus {
        proof: Some(proof("3.7.0")),
        ..EtcdRestoreStatus::default()
    });
    let cases = [
        (
            lost().with(newer),
            "Set spec.version of the EtcdCluster to 3.7",
        ),
        (lost().with(proven()).wanting(0), "no size to grow to"),
    ];
    for (world, words) in cases {
        let decision = world.decide();
        assert_eq!(stage(&world), Some(RestorationStage::Waiting), "{words}");
        assert!(
            recovering(&world).2.contains(words),
            "{:?}",
            recovering(&world)
        );
        assert!(
            !effects(&decision)
                .iter()
                .any(|effect| effect.starts_with("Delete")),
            "{words}"
        );
    }
    let mut nameless = lost().with(proven());
    nameless.snapshot.operator_image = None;
    assert!(recovering(&nameless).2.contains("--operator-image"));
    let older = restore(&EtcdRestoreStatus {
        proof: Some(proof("3.4.0")),
        ..EtcdRestoreStatus::default()
    });
    assert_eq!(
        stage(&lost().with(older)),
        Some(RestorationStage::Stopping),
        "etcd reads what older versions wrote"
    );
}

#[test]
fn all_pods_are_stopped_and_no_claim_is_touched() {
    let stopping = lost().with(proven()).at(RestorationStage::Stopping);
    let decision = stopping.decide();
    let deleted: Vec<String> = (0..3)
        .map(|index| format!("Delete Pod {}", member(index)))
        .collect();
    assert_eq!(effects(&decision), deleted);
    let empty = stopping.without_pod(0).without_pod(1).without_pod(2);
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
