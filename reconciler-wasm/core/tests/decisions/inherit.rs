//! Clusters that the archived operator of the second dialect keeps by ReplicaSets: recorded, and brought over one by one.

use contract::{Child, Decision, Dialect, Effect, FindingKind, Observed, OldSet, Reason, names};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::fixture::{UID, World, effects, healthy, member, reports, written};

/// Three members as the archived operator keeps them, of which nothing is recorded. Member 0 leads.
fn kept() -> World {
    let mut world = healthy(3);
    world.snapshot.resource.api_version = Dialect::Improbable.api_version();
    world.status = contract::EtcdClusterStatus::default();
    let mut labels = Dialect::Improbable.labels("shop");
    labels.remove("app");
    let sets = (0..3).map(|index| OldSet {
        name: member(index),
        uid: format!("set-{index}"),
        owner: Some(format!("peer-{index}")),
    });
    world.snapshot.old_sets = Observed::Seen(sets.collect());
    for (index, pod) in world.pods().iter_mut().enumerate() {
        pod.name = format!("{}-x2x4k", member(index));
        pod.owner = Some(format!("set-{index}"));
        pod.annotations.clear();
        pod.labels.clone_from(&labels);
        let label = Dialect::Improbable.member_label().to_owned();
        pod.labels.insert(label, member(index));
    }
    for endpoint in &mut world.snapshot.etcd.endpoints {
        endpoint.pod.push_str("-x2x4k");
    }
    if let Observed::Seen(claims) = &mut world.snapshot.objects.volumes {
        for claim in claims {
            claim.owner = None;
            claim.labels.clone_from(&labels);
        }
    }
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.retain(|service| service.name == "shop");
        services[0].selector.clone_from(&labels);
    }
    world.snapshot.objects.disruption_budgets = Observed::Seen(Vec::new());
    world
}

/// The same, recorded and marked.
fn under_way() -> World {
    let world = kept().settle();
    assert!(world.status.taking_over);
    world
}

impl World {
    fn without_set(mut self, index: usize) -> Self {
        if let Observed::Seen(sets) = &mut self.snapshot.old_sets {
            sets.retain(|set| set.name != member(index));
        }
        self
    }

    fn without_old_pod(mut self, index: usize) -> Self {
        let name = format!("{}-x2x4k", member(index));
        self.pods().retain(|pod| pod.name != name);
        let endpoints = &mut self.snapshot.etcd.endpoints;
        endpoints.retain(|endpoint| endpoint.pod != name);
        self
    }

    fn with_own_claim(mut self, index: usize) -> Self {
        if let Observed::Seen(claims) = &mut self.snapshot.objects.volumes {
            let claim = &mut claims[index];
            claim.owner = Some(UID.to_owned());
            claim.labels = Dialect::Improbable.labels("shop");
            for (key, value) in [
                (names::OWNER_ANNOTATION, UID),
                (names::DATA_ANNOTATION, names::AT_ROOT),
            ] {
                claim.annotations.insert(key.to_owned(), value.to_owned());
            }
        }
        self
    }

    fn with_own_pod(mut self, index: usize) -> Self {
        let mut other = healthy(3);
        let mut pod = other.pods()[index].clone();
        pod.labels = Dialect::Improbable.labels("shop");
        self.pods().push(pod);
        let endpoint = other.snapshot.etcd.endpoints[index].clone();
        self.snapshot.etcd.endpoints.push(endpoint);
        self
    }

    /// What stands around the members is this operator's.
    fn furnished(&mut self) {
        let labels = Dialect::Improbable.labels("shop");
        let mut around = healthy(3).snapshot.objects;
        if let Observed::Seen(services) = &mut around.services {
            services[0].selector.clone_from(&labels);
            services[0].labels.clone_from(&labels);
            services[0].ports[0].name = "etcd-client".to_owned();
            services[0].ports[1].name = "etcd-peer".to_owned();
        }
        if let Observed::Seen(budgets) = &mut around.disruption_budgets {
            budgets[0].selector = labels;
        }
        self.snapshot.objects.services = around.services;
        self.snapshot.objects.disruption_budgets = around.disruption_budgets;
    }

    /// The member has come over.
    fn over(self, index: usize) -> Self {
        self.without_set(index)
            .without_old_pod(index)
            .with_own_claim(index)
            .with_own_pod(index)
    }
}

fn made(decision: &Decision) -> Option<&Pod> {
    decision.actions.iter().find_map(|action| {
        let Effect::Apply { object } = &action.effect else {
            return None;
        };
        match &**object {
            Child::Pod(pod) => Some(pod),
            _ => None,
        }
    })
}

fn told(decision: &Decision) -> String {
    let findings = decision.report.findings.iter();
    let words: Vec<_> = findings.map(|one| one.message.as_str()).collect();
    words.join("\n")
}

#[test]
fn a_kept_cluster_whose_quorum_answers_is_recorded_and_none_of_it_is_touched() {
    let decision = kept().decide();
    assert_eq!(effects(&decision), [""; 0]);
    let status = written(&decision).unwrap();
    assert!(status.taking_over && status.cluster_id.is_some());
    assert_eq!((status.size, status.ready_members), (3, 3));
    assert!(reports(&decision, Reason::Adopted));
}

/// Each step by itself, as it is after a crash in between.
#[test]
fn a_member_comes_over_with_its_claim_and_its_image() {
    let mut world = under_way();
    for pod in world.pods() {
        pod.image = "mirror.example/etcd:v3.4.34".to_owned();
    }
    let world = world.settle();
    assert_eq!(
        effects(&world.decide()),
        ["RetireReplicaSet ReplicaSet shop-m1"]
    );
    let world = world.without_set(1);
    assert_eq!(effects(&world.decide()), [""; 0], "its pod still stands");
    let world = world.without_old_pod(1).settle();
    assert_eq!(
        effects(&world.decide()),
        ["TakeUpClaim PersistentVolumeClaim shop-m1"]
    );
    let world = world.with_own_claim(1);
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);
    let pod = made(&decision).unwrap();
    let annotations = pod.metadata.annotations.clone().unwrap();
    assert_eq!(annotations[names::INITIAL_STATE_ANNOTATION], "existing");
    let container = &pod.spec.as_ref().unwrap().containers[0];
    assert_eq!(
        container.image.as_deref(),
        Some("mirror.example/etcd:v3.4.34")
    );
    let mounts = container.volume_mounts.as_ref().unwrap();
    assert_eq!(mounts[0].mount_path, "/var/etcd/data");
    assert!(
        container
            .args
            .as_ref()
            .unwrap()
            .contains(&"--data-dir=/var/etcd/data".to_owned())
    );
}

#[test]
fn the_next_member_waits_until_all_are_well_and_the_leader_comes_last() {
    let mut half = under_way().over(1).settle();
    assert_eq!(
        effects(&half.decide()),
        ["RetireReplicaSet ReplicaSet shop-m2"]
    );
    half.pods().last_mut().unwrap().ready = false;
    let decision = half.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::CatchingUp));
    let last = under_way().over(1).over(2).settle();
    assert_eq!(effects(&last.decide()), ["MoveLeader a1"]);
    // The Service is given other labels as the last thing, and known by them afterwards.
    let mut whole = under_way().over(1).over(2).over(0).settle();
    assert!(whole.status.taking_over);
    assert_eq!(
        effects(&whole.decide()),
        ["Apply Service shop", "Apply PodDisruptionBudget shop"]
    );
    whole.furnished();
    let status = written(&whole.decide()).unwrap();
    assert!(!status.taking_over);
}

/// Before 3.4.29 its probe fails while an alarm stands, so the next member waited for it for ever and nobody knew why.
#[test]
fn a_take_over_that_an_alarm_holds_up_is_told_with_the_way_out() {
    let mut world = under_way().over(1).settle();
    world.snapshot.etcd.alarms = Observed::Seen(vec![contract::Alarm {
        member: Some(contract::MemberId(0xa1)),
        kind: contract::AlarmKind::Nospace,
    }]);
    // Newer ones are Ready under it.
    assert_eq!(
        effects(&world.decide()),
        ["RetireReplicaSet ReplicaSet shop-m2"]
    );
    world.pods().last_mut().unwrap().ready = false;
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let mut findings = decision.report.findings.iter();
    let blocked = findings.find(|one| one.kind == FindingKind::Blocked);
    let message = &blocked.unwrap().message;
    for words in [
        "kubectl --namespace prod exec shop-m0-x2x4k -- ",
        "etcdctl compact REVISION",
        "etcdctl defrag --cluster",
        "etcdctl alarm disarm",
    ] {
        assert!(message.contains(words), "{message}");
    }
    world.snapshot.etcd.alarms = Observed::Seen(Vec::new());
    assert!(!told(&world.decide()).contains("etcdctl"));
}

/// Its readiness fails with any etcd while this alarm stands, and nobody was told of it.
#[test]
fn a_take_over_that_corrupt_data_holds_up_is_told_with_the_way_out() {
    for mut world in [under_way(), under_way().over(1).settle()] {
        world.snapshot.etcd.alarms = Observed::Seen(vec![contract::Alarm {
            member: Some(contract::MemberId(0xa1)),
            kind: contract::AlarmKind::Corrupt,
        }]);
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(reports(&decision, Reason::DataCorrupt));
        let message = told(&decision);
        for words in [
            "kubectl --namespace prod exec shop-m0-x2x4k -- ",
            "etcdctl endpoint hashkv --cluster",
            "etcdctl member remove ID",
            "etcdctl alarm disarm",
            "etcdctl snapshot save",
        ] {
            assert!(message.contains(words), "{message}");
        }
        let small = world.clone().wanting(5).decide();
        assert_eq!(effects(&small), [""; 0], "nobody joins meanwhile");
        world.snapshot.etcd.alarms = Observed::Seen(Vec::new());
        let on = effects(&world.decide());
        assert!(on[0].starts_with("RetireReplicaSet"), "{on:?}");
    }
}

/// Somebody's own, or of a member that left long ago: neither holds the others up, and both are named.
#[test]
fn what_belongs_to_no_member_is_left_and_named() {
    let mut world = under_way().over(1).over(2).over(0).settle();
    let set = OldSet {
        name: "shop-m9".to_owned(),
        uid: "set-9".to_owned(),
        owner: None,
    };
    world.snapshot.old_sets = Observed::Seen(vec![set]);
    let mut pod = kept().pods()[0].clone();
    pod.name = "shop-m9-x2x4k".to_owned();
    pod.uid = "uid-9".to_owned();
    let label = Dialect::Improbable.member_label().to_owned();
    pod.labels.insert(label, "shop-m9".to_owned());
    pod.claim = Some("shop-m9".to_owned());
    world.pods().push(pod);
    assert_eq!(
        effects(&world.decide()),
        ["Apply Service shop", "Apply PodDisruptionBudget shop"]
    );
    world.furnished();
    let decision = world.decide();
    assert!(told(&decision).contains("shop-m9, shop-m9-x2x4k"));
    assert!(!written(&decision).unwrap().taking_over);
}

/// A blip is not the time to take a vote away; one that stays down comes over first.
#[test]
fn a_kept_member_that_is_down_is_waited_for_and_then_comes_over_first() {
    let mut world = under_way();
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if endpoint.pod == "shop-m2-x2x4k" {
            endpoint.status = Observed::Unknown("deadline exceeded".to_owned());
        }
    }
    let world = world.settle();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(told(&decision).contains("shop-m2 is not healthy"));
    assert_eq!(
        effects(&world.later(151).decide()),
        ["RetireReplicaSet ReplicaSet shop-m2"]
    );
}

/// One that has come over onto a disk that is lost is replaced, before anybody else comes.
#[test]
fn a_member_that_came_over_and_lost_its_disk_is_replaced_first() {
    let world = under_way().over(1).settle().wiped(1);
    let done = effects(&world.decide());
    assert_eq!(done[0], "RemoveMember a1", "{done:?}");
    assert!(!done.iter().any(|effect| effect.starts_with("Retire")));
}

#[test]
fn what_cannot_be_taken_over_is_left_alone_and_says_why() {
    let mut old = kept();
    old.pods()[1].image = "quay.io/coreos/etcd:v3.3.27".to_owned();
    let mut elsewhere = kept();
    elsewhere.pods()[0].claim = None;
    let mut owned = kept();
    if let Observed::Seen(claims) = &mut owned.snapshot.objects.volumes {
        claims[2].owner = Some("somebody".to_owned());
    }
    let mut unseen = kept();
    unseen.snapshot.old_sets = Observed::Unknown("replicasets are forbidden".to_owned());
    let mut locked = kept();
    locked.snapshot.old_lock = Observed::Unknown("forbidden".to_owned());
    for (world, words) in [
        (
            kept().without_list(),
            "once a quorum of their members answers",
        ),
        (old, "runs etcd 3.3.27"),
        (owned, "The volume claim shop-m2 belongs to somebody"),
        (elsewhere, "has no volume claim of its member's name"),
        (unseen, "replicasets are forbidden"),
        (
            locked,
            "The lock of the archived operator could not be read",
        ),
    ] {
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(told(&decision).contains(words), "{}", told(&decision));
        let findings = &decision.report.findings;
        let mut blocked = findings
            .iter()
            .filter(|one| one.kind == FindingKind::Blocked);
        assert!(blocked.any(|one| one.reason == Reason::AwaitingAdoption));
        assert_eq!(
            written(&decision).and_then(|status| status.cluster_id),
            None
        );
    }
}

/// Who speaks plain text cannot be met with certificates half-way.
#[test]
fn certificates_wait_until_all_have_come_over() {
    let world = kept().spec("TLS", json!({"auto": {}})).settle();
    assert!(world.status.taking_over && world.status.tls.is_none());
    let world = world
        .without_set(1)
        .without_old_pod(1)
        .settle()
        .with_own_claim(1);
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);
    assert!(reports(&decision, Reason::TlsNotApplied));
    let pod = serde_json::to_string(made(&decision).unwrap()).unwrap();
    assert!(!pod.contains("https://") && !pod.contains("--cert-file"));
}

/// Claims and ReplicaSets of numbers that are no members' stay when a take-over ends: a learner of their name would never start.
#[test]
fn a_number_that_others_have_is_left_out_when_the_cluster_grows() {
    let mut world = healthy(3);
    world.snapshot.resource.api_version = Dialect::Improbable.api_version();
    world.snapshot.resource.spec["size"] = json!(4);
    let added = |world: &World| {
        let mut actions = world.decide().actions.into_iter();
        actions.find_map(|action| match action.effect {
            Effect::AddLearner { name, .. } => Some(name),
            _ => None,
        })
    };
    assert_eq!(added(&world).as_deref(), Some("shop-0"));
    world.snapshot.objects.foreign = vec![contract::ForeignObject {
        kind: contract::ObjectKind::PersistentVolumeClaim,
        name: "shop-0".to_owned(),
        owner: "nobody".to_owned(),
    }];
    assert_eq!(added(&world).as_deref(), Some("shop-1"));
    world.snapshot.old_sets = Observed::Seen(vec![OldSet {
        name: "shop-1".to_owned(),
        ..OldSet::default()
    }]);
    assert_eq!(added(&world).as_deref(), Some("shop-2"));
    let mut theirs = world.pods()[0].clone();
    (theirs.name, theirs.owner) = ("shop-2".to_owned(), None);
    world.pods().push(theirs);
    assert_eq!(added(&world).as_deref(), Some("shop-3"));
}

/// It was tried again and again, and the condition said that it is being done.
#[test]
fn what_fails_while_members_come_over_is_told() {
    let mut world = under_way();
    world.snapshot.outcomes = vec![contract::PastOutcome {
        effect: "TakeUpClaim".to_owned(),
        kind: Some(contract::ObjectKind::PersistentVolumeClaim),
        target: "shop-m1".to_owned(),
        outcome: contract::OutcomeKind::Failed,
        message: "a policy forbids it".to_owned(),
    }];
    let decision = world.decide();
    assert!(reports(&decision, Reason::ActionFailed));
    assert!(told(&decision).contains("a policy forbids it"));
}
