//! A cluster that goes on from a backup: what it waits for, and each of its stages. The EtcdRestore's own decisions are
//! in `restore/own.rs`.

mod again;
mod filling;
mod own;
mod stages;
mod stopping;

use contract::{
    Child, ConditionStatus, Effect, EtcdRestoreStatus, Millis, Observed, Phase, Pod, PodPhase,
    Reason, Resource, Restoration, RestorationStage, SnapshotProof, TlsSecrets, names,
};
use serde_json::json;

use crate::fixture::{
    FORGETFUL, NAME, NAMESPACE, World, effects, fresh, healthy, member, reports, written,
};

const RESTORE_UID: &str = "0f4c0000-0000-4000-8000-00000000000f";
const FOUNDER: &str = "shop-fndr222222";

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

pub(crate) fn proven() -> Resource {
    restore(&EtcdRestoreStatus {
        proof: Some(proof("3.6.0")),
        ..EtcdRestoreStatus::default()
    })
}

pub(crate) trait Restored {
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
            founders: Vec::from_iter(is_planned.then(|| FOUNDER.to_owned())),
            token: is_planned.then(|| "token".to_owned()),
            given_up: (0..3).map(member).collect(),
        });
        self
    }
}

/// Two of three disks are lost, the third member answers, and the backup is proven.
pub(crate) fn lost() -> World {
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

/// The founder of a plan of one answers as the only member of another cluster.
fn answering() -> World {
    let mut world = filling();
    let mut one = healthy(1);
    let pod = Pod {
        name: FOUNDER.to_owned(),
        claim: Some(FOUNDER.to_owned()),
        annotations: [(names::FILLED_ANNOTATION.to_owned(), "false".to_owned())].into(),
        ..one.pods()[0].clone()
    };
    if let (Observed::Seen(own), Observed::Seen(others)) = (
        &mut world.snapshot.objects.volumes,
        &one.snapshot.objects.volumes,
    ) {
        let mut claim = others[0].clone();
        claim.name = FOUNDER.to_owned();
        own.push(claim);
    }
    let row = &mut one.rows()[0];
    row.name = FOUNDER.to_owned();
    row.peer_urls = vec![format!("http://{FOUNDER}.{NAME}.{NAMESPACE}.svc:2380")];
    world.snapshot.etcd = one.snapshot.etcd;
    if let Observed::Seen(list) = &mut world.snapshot.etcd.membership {
        list.cluster_id = contract::ClusterId(0xc2);
    }
    for endpoint in &mut world.snapshot.etcd.endpoints {
        endpoint.pod = FOUNDER.to_owned();
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

/// Somebody edited the spec since: what it names at this moment may be no backup at all.
#[test]
fn what_was_read_of_another_backup_gives_up_nothing() {
    let mut edited = proven();
    edited.generation = 2;
    assert_eq!(stage(&lost().with(edited)), Some(RestorationStage::Waiting));
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
    let later = away.clone().later(400);
    assert_eq!(stage(&later), Some(RestorationStage::Waiting));
    let message = recovering(&later).2;
    assert!(
        message.contains("3 of the 3 members that vote in cluster c1 have their disks")
            && message.contains("To consent: kubectl"),
        "{message}"
    );
    let lost = away.without_volume(1).without_volume(2).later(400);
    assert_eq!(
        stage(&lost),
        Some(RestorationStage::Stopping),
        "nobody can come back"
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
