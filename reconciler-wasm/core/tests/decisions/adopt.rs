//! Living clusters that the archived operator made: taken over as they are, healed, and made anew when asked.

use contract::{
    Decision, Dialect, LockKind, Millis, Observed, OldLock, Phase, PodPhase, Reason, names,
};
use serde_json::json;

use crate::fixture::{
    World, claims_of_deletions, effects, fresh, healthy, id, member, reports, written,
};

/// A cluster as coreos etcd-operator 0.9.4 left it: bare pods with their start in their arguments, Services that wait for
/// readiness, a status without an id.
fn old(size: usize) -> World {
    let mut world = healthy(size).spec("version", json!("3.4.34"));
    world.snapshot.objects.disruption_budgets = Observed::Seen(Vec::new());
    for pod in world.pods() {
        pod.annotations = [(names::VERSION_ANNOTATION.to_owned(), "3.4.34".to_owned())].into();
        pod.image = "quay.io/coreos/etcd:v3.4.34".to_owned();
    }
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.version = "3.4.34".to_owned();
            status.storage_version = None;
        }
    }
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        for service in services {
            service.publish_not_ready = false;
        }
    }
    world.with_status(json!({
        "phase": "Running", "size": size, "serviceName": "shop-client", "clientPort": 2379,
        "members": { "ready": (0..size).map(member).collect::<Vec<_>>() },
        "currentVersion": "3.4.34", "targetVersion": "",
        "conditions": [{ "type": "Available", "status": "True", "reason": "Cluster available",
            "lastUpdateTime": "2019-05-07T09:00:00Z", "lastTransitionTime": "2019-05-07T09:00:00Z" }],
    }))
}

impl World {
    fn with_status(mut self, status: serde_json::Value) -> Self {
        self.status = serde_json::from_value(status).unwrap();
        self
    }

    /// The pods' containers ended, and nothing starts them again.
    fn ended(mut self, indices: &[usize]) -> Self {
        for index in indices {
            self = self.silent(*index);
            let pod = &mut self.pods()[*index];
            pod.phase = PodPhase::Failed;
            pod.running = false;
            pod.ready = false;
        }
        self
    }

    fn locked(mut self, unchanged_for: i64) -> Self {
        self.snapshot.old_lock = Observed::Seen(OldLock {
            kind: LockKind::Endpoints,
            name: "etcd-operator".to_owned(),
            namespace: "prod".to_owned(),
            holder: "etcd-operator-7d9".to_owned(),
            renewed: self.snapshot.now,
            lasts: Millis::seconds(15),
            unchanged_for: Millis::seconds(unchanged_for),
        });
        self
    }

    fn renewing(mut self) -> Self {
        self.snapshot.resource.annotations =
            [(names::OLD_PODS_ANNOTATION.to_owned(), "renew".to_owned())].into();
        self
    }
}

/// The adopted cluster after its first seconds, with all objects around it as they shall be.
fn adopted(size: usize) -> World {
    let mut world = old(size).settle();
    let around = healthy(size).snapshot.objects;
    world.snapshot.objects.services = around.services;
    world.snapshot.objects.disruption_budgets = around.disruption_budgets;
    world.settle().later(60)
}

#[test]
fn a_living_cluster_is_taken_over_and_nothing_of_it_is_touched() {
    let decision = old(3).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::Adopted));
    let status = written(&decision).unwrap();
    assert_eq!(status.cluster_id.unwrap().to_string(), "c1");
    assert_eq!(status.phase, Phase::Running);

    let decision = old(3).settle().decide();
    assert_eq!(
        effects(&decision),
        ["Apply Service shop", "Apply PodDisruptionBudget shop"],
        "only what is around the members"
    );
    assert_eq!(effects(&adopted(3).decide()), [""; 0]);
}

#[test]
fn every_phase_of_the_old_operator_is_decided_by_what_stands() {
    for phase in ["", "Creating", "Running", "Failed"] {
        let world = old(3).with_status(json!({ "phase": phase, "reason": "dead quorum" }));
        let decision = world.decide();
        assert!(reports(&decision, Reason::Adopted), "phase {phase:?}");
        let status = written(&decision).unwrap();
        assert_eq!(status.phase, Phase::Running, "phase {phase:?}");
        let told = decision.report.findings.iter().any(|finding| {
            finding.reason == Reason::Adopted && finding.message.contains("dead quorum")
        });
        assert_eq!(told, phase == "Failed", "phase {phase:?}");
    }
}

#[test]
fn a_seed_alone_is_taken_over_and_grows() {
    let world = old(1).wanting(3).settle();
    let decision = world.later(60).decide();
    assert!(
        effects(&decision)
            .iter()
            .any(|effect| effect.starts_with("AddLearner"))
    );
}

#[test]
fn a_crash_before_the_seed_is_a_birth() {
    let decision = fresh(3)
        .with_status(json!({ "phase": "Creating" }))
        .decide();
    assert!(written(&decision).unwrap().birth.is_some());
}

/// Its data is gone, and an empty cluster under the same name would hide that.
#[test]
fn a_cluster_that_ran_and_of_which_nothing_is_left_is_not_born_again() {
    for phase in ["Running", "Failed"] {
        let told = json!({ "phase": phase, "size": 2, "readyMembers": 1,
            "members": { "ready": ["shop-0000"], "unready": ["shop-0001"] } });
        let decision = fresh(3).with_status(told).decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(reports(&decision, Reason::DataLost));
        let status = written(&decision).unwrap();
        assert!(status.birth.is_none());
        assert_eq!((status.size, status.ready_members), (0, 0));
        assert_eq!(status.members, contract::MemberNames::default());
    }
}

#[test]
fn nothing_is_done_while_the_old_operator_may_be_at_work() {
    for world in [old(3), fresh(3), healthy(3).without_pod(1)] {
        let decision = world.clone().locked(1).decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(reports(&decision, Reason::OldOperatorActive));
        assert!(said(&decision).contains("etcd-operator-7d9"));
        let status = written(&decision).unwrap();
        assert_eq!(status.cluster_id, world.status.cluster_id);
        assert!(status.birth.is_none());
    }
    assert!(reports(&old(3).locked(15).decide(), Reason::Adopted));
}

/// Both archived operators wrote the same record, each into an object of its own.
#[test]
fn beside_the_archived_operator_of_the_second_dialect_nothing_is_done_and_its_deployment_is_named()
{
    let held = |unchanged_for| {
        let mut world = healthy(3).without_pod(1).locked(unchanged_for);
        world.snapshot.resource.api_version = Dialect::Improbable.api_version();
        let Observed::Seen(lock) = &mut world.snapshot.old_lock else {
            panic!("no lock")
        };
        (lock.kind, lock.name) = (LockKind::ConfigMap, "held".to_owned());
        world.decide()
    };
    let decision = held(3);
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OldOperatorActive));
    let words = said(&decision);
    let way = "kubectl scale deployment eco-controller-manager --replicas=0 --namespace prod";
    assert!(words.contains("(ConfigMap prod/held)"), "{words}");
    assert!(words.contains(way), "{words}");
    assert!(!reports(&held(15), Reason::OldOperatorActive));
}

#[test]
fn a_lock_that_cannot_be_read_holds_up_adoption_and_no_cluster_of_ours() {
    let unread = |mut world: World| {
        world.snapshot.old_lock = Observed::Unknown("forbidden".to_owned());
        world.decide()
    };
    assert!(reports(&unread(old(3)), Reason::AwaitingAdoption));
    assert_eq!(
        effects(&unread(healthy(3).without_pod(1))),
        ["Apply Pod shop-m1"]
    );
}

#[test]
fn an_unconfirmed_list_is_not_enough_to_take_over() {
    let mut world = old(3);
    if let Observed::Seen(list) = &mut world.snapshot.etcd.membership {
        list.linearizable = false;
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::AwaitingAdoption));
    assert!(written(&decision).unwrap().cluster_id.is_none());
}

/// The whole cluster stopped while nobody looked after it: the old operator would have given up its disks.
#[test]
fn ended_pods_on_claims_are_made_again_although_no_quorum_answers() {
    let world = old(3).ended(&[0, 1, 2]).without_list();
    let decision = world.decide();
    assert_eq!(
        effects(&decision),
        [
            "Delete Pod shop-m0",
            "Delete Pod shop-m1",
            "Delete Pod shop-m2"
        ]
    );
    assert_eq!(
        claims_of_deletions(&decision),
        ["disk-shop-m0", "disk-shop-m1", "disk-shop-m2"]
    );
    let gone = world.without_pod(0).without_pod(1).without_pod(2);
    let decision = gone.decide();
    assert_eq!(
        effects(&decision),
        [
            "Apply Pod shop-m0",
            "Apply Pod shop-m1",
            "Apply Pod shop-m2"
        ]
    );
    assert!(
        serde_json::to_string(&decision)
            .unwrap()
            .contains("quay.io/coreos/etcd:v3.4.34"),
        "the disks are of that version, whatever the spec says meanwhile"
    );
    let in_memory = old(3).on_empty_dir().ended(&[0, 1, 2]).without_list();
    assert_eq!(effects(&in_memory.decide()), [""; 0]);
}

/// The image that still stands tells what is on the disks; a status without a version tells nothing.
#[test]
fn a_pod_that_is_gone_comes_back_with_the_image_of_those_that_stand() {
    let world = old(3)
        .with_status(json!({ "phase": "Running" }))
        .spec("version", json!("3.6.16"))
        .ended(&[0, 1, 2])
        .without_list()
        .without_pod(2);
    let decision = world.decide();
    let expected = [
        "Delete Pod shop-m0",
        "Delete Pod shop-m1",
        "Apply Pod shop-m2",
    ];
    assert_eq!(effects(&decision), expected);
    let words = serde_json::to_string(&decision.actions).unwrap();
    assert!(
        words.contains("etcd:v3.4.34") && !words.contains("etcd:v3.6.16"),
        "{words}"
    );
}

#[test]
fn no_pod_is_made_on_a_claim_that_is_being_deleted_before_the_cluster_is_taken_over() {
    let world = old(3).ended(&[0, 1, 2]).without_list();
    let mut world = world.without_pod(0).without_pod(1).without_pod(2);
    let Observed::Seen(claims) = &mut world.snapshot.objects.volumes else {
        panic!("no claims")
    };
    claims[1].deleted = Some(claims[1].created);
    assert_eq!(
        effects(&world.decide()),
        ["Apply Pod shop-m0", "Apply Pod shop-m2"]
    );
}

#[test]
fn a_dead_old_pod_comes_back_on_its_claim_and_is_replaced_where_it_had_none() {
    let decision = adopted(3).ended(&[1]).decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m1"]);
    let decision = adopted(3).without_pod(1).decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);

    let decision = old(3)
        .on_empty_dir()
        .settle()
        .on_empty_dir()
        .ended(&[1])
        .later(60)
        .decide();
    assert!(effects(&decision).contains(&format!("RemoveMember {}", id(1))));
    assert!(reports(&decision, Reason::DiskLost));
}

#[test]
fn old_pods_stay_as_they_are_until_their_renewal_is_asked_for() {
    let decision = adopted(3).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OldPodShape));
    let mut world = adopted(3).renewing();
    world.snapshot.resource.annotations =
        [(names::OLD_PODS_ANNOTATION.to_owned(), "yes".to_owned())].into();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::InvalidSpec));
}

#[test]
fn old_pods_on_claims_are_made_anew_one_by_one_and_the_leader_last() {
    let mut world = adopted(3).renewing();
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m1"]);
    assert_eq!(
        effects(&world.clone().silent(2).decide()),
        [""; 0],
        "not while another one is down"
    );
    let new = healthy(3);
    for index in [1, 2] {
        world.pods()[index] = new.clone().pods()[index].clone();
    }
    assert_eq!(effects(&world.decide()), [format!("MoveLeader {}", id(1))]);
}

#[test]
fn an_old_pod_with_its_data_in_it_goes_after_a_new_member_votes() {
    let world = adopted(3).on_empty_dir().renewing();
    let decision = world.decide();
    assert!(effects(&decision)[0].starts_with("AddLearner"));
    assert!(reports(&decision, Reason::RenewingPods));

    let learner = world.clone().with_learner(3, true);
    assert!(effects(&learner.decide()).contains(&format!("Promote {}", id(3))));

    let mut grown = world.with_learner(3, true);
    grown.rows()[3].learner = false;
    if let Observed::Seen(status) = &mut grown.snapshot.etcd.endpoints[3].status {
        status.learner = false;
    }
    let decision = grown.settle().later(60).decide();
    let left: Vec<_> = effects(&decision)
        .into_iter()
        .filter(|effect| effect.starts_with("RemoveMember"))
        .collect();
    assert_eq!(left, [format!("RemoveMember {}", id(1))]);
}

/// Its probes need a shell, and it would start with the arguments of its birth.
#[test]
fn an_old_pod_is_renewed_before_it_gets_another_image() {
    let world = adopted(3).spec("version", json!("3.5.35"));
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OldPodShape));
    assert!(said(&decision).contains("old-pods=renew"));
}

#[test]
fn peer_urls_are_those_of_etcds_list_whatever_the_spec_says() {
    let mut world = old(3).wanting(5);
    for row in world.rows() {
        row.peer_urls = vec![format!(
            "http://{}.shop.prod.svc.example.org:2380",
            row.name
        )];
    }
    assert!(reports(&world.decide(), Reason::Adopted));
    let mut world = world.settle().with_learner(3, false).later(60);
    world.rows()[3].peer_urls = vec!["http://shop-m3.shop.prod.svc:2380".to_owned()];
    world.snapshot.resource.spec["pod"]["ClusterDomain"] = json!(".cluster.local");
    // Without it no learner of 3.4 is started.
    world.snapshot.objects.disruption_budgets = healthy(5).snapshot.objects.disruption_budgets;
    let decision = world.decide();
    let mut findings = decision.report.findings.iter();
    let told = findings.find(|finding| finding.message.contains("spec.pod.ClusterDomain"));
    let words = &told.unwrap().message;
    assert!(
        words.contains("\".cluster.local\" and shop-m0, shop-m1, shop-m2, shop-m3 keep"),
        "{words}"
    );
    let decision = serde_json::to_string(&decision).unwrap();
    assert!(decision.contains("shop-m0=http://shop-m0.shop.prod.svc.example.org:2380"));
    assert!(decision.contains("--initial-advertise-peer-urls=http://shop-m3.shop.prod.svc:2380"));
}

/// `/livez` came with 3.4.29 and 3.5.12; the older `/health` needs a quorum, so nobody may be killed for it.
#[test]
fn an_old_patch_is_never_asked_for_what_it_does_not_have() {
    for (version, path, alive) in [
        ("3.4.3", "/health", false),
        ("3.4.34", "/readyz", true),
        ("3.5.9", "/health", false),
        ("3.6.16", "/readyz", true),
    ] {
        let decision = fresh(1).spec("version", json!(version)).decide();
        let text = serde_json::to_string(&decision).unwrap();
        assert!(text.contains(&format!("\"path\":\"{path}\"")), "{version}");
        assert_eq!(text.contains("livenessProbe"), alive, "{version}");
    }
}

#[test]
fn a_member_of_the_first_naming_is_understood() {
    let mut world = old(1);
    let name = "shop-0000".to_owned();
    world.pods()[0].name.clone_from(&name);
    world.pods()[0].claim = Some(name.clone());
    world.rows()[0].name.clone_from(&name);
    world.rows()[0].peer_urls = vec![format!("http://{name}.shop.prod.svc:2380")];
    world.snapshot.etcd.endpoints[0].pod.clone_from(&name);
    assert!(reports(&world.decide(), Reason::Adopted));
}

#[test]
fn what_is_accepted_and_not_used_stands_in_a_condition() {
    let pod = json!({ "busyboxImage": "busybox", "DNSTimeoutInSecond": 5 });
    let status = written(&healthy(3).spec("pod", pod).decide()).unwrap();
    let condition = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "SpecApplied")
        .unwrap();
    assert_eq!(condition.reason, "AcceptedNotUsed");
    assert!(condition.message.contains("busyboxImage"));
    assert!(condition.message.contains("DNSTimeoutInSecond"));
}

fn said(decision: &Decision) -> &str {
    decision
        .report
        .findings
        .first()
        .map_or("", |finding| finding.message.as_str())
}
