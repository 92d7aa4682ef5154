//! The founders' disks are filled: for one another, from what was proven, and with words where that does not go on.

use super::*;

#[test]
fn a_founder_gets_a_claim_and_a_pod_that_fills_it_and_founds_nothing_empty() {
    let decision = filling().decide();
    assert_eq!(
        effects(&decision),
        [
            format!("Apply PersistentVolumeClaim {FOUNDER}"),
            format!("Apply Pod {FOUNDER}")
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

/// The command lines of etcd's tool, by pod.
fn tools(world: &World) -> Vec<(String, Vec<String>)> {
    let decision = world.decide();
    let actions = decision.actions.iter();
    let pods = actions.filter_map(|action| match &action.effect {
        Effect::Apply { object } => match &**object {
            Child::Pod(pod) => Some(pod.clone()),
            _ => None,
        },
        _ => None,
    });
    pods.map(|pod| {
        let containers = pod.spec.unwrap().init_containers.unwrap();
        (
            pod.metadata.name.unwrap(),
            containers[1].args.clone().unwrap(),
        )
    })
    .collect()
}

#[test]
fn all_founders_are_filled_at_once_and_for_one_another() {
    let names = ["shop-a222222222", "shop-b222222222", "shop-c222222222"];
    let mut world = filling();
    if let Some(restoration) = &mut world.status.restoration {
        restoration.founders = names.map(str::to_owned).to_vec();
    }
    let found = tools(&world);
    assert_eq!(
        found
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        names
    );
    let entry = |name: &str| format!("{name}=http://{name}.{NAME}.{NAMESPACE}.svc:2380");
    let together = format!("--initial-cluster={}", names.map(entry).join(","));
    for (name, arguments) in found {
        assert!(arguments.contains(&together), "{arguments:?}");
        assert!(arguments.contains(&format!("--name={name}")));
        assert!(arguments.contains(&"--initial-cluster-token=token".to_owned()));
    }
}

#[test]
fn a_quorum_of_the_founders_and_of_nobody_else_is_recorded() {
    let founders = |known: usize, healthy_ones: usize| {
        let mut world = healthy(3);
        let pods: Vec<Pod> = world.pods().clone();
        world = world.with(proven()).at(RestorationStage::Filling);
        world.status.cluster_id = None;
        world.status.member_records.clear();
        if let Some(restoration) = &mut world.status.restoration {
            restoration.founders = (0..known).map(member).collect();
            restoration.given_up.clear();
            restoration.replaces = None;
        }
        for (pod, now) in pods.iter().zip(world.pods()) {
            assert_eq!(pod.name, now.name);
            let filled = (names::FILLED_ANNOTATION.to_owned(), "false".to_owned());
            now.annotations.extend([filled]);
        }
        for index in healthy_ones..3 {
            world = world.silent(index);
            world.pods()[index].running = false;
            world.pods()[index].ran = false;
        }
        world
    };
    let growing = Some(RestorationStage::Growing);
    assert_eq!(stage(&founders(3, 3)), growing);
    let two = founders(3, 2);
    assert_eq!(stage(&two), growing, "a quorum answers");
    let noted = effects(&two.decide());
    let expected: Vec<String> = (0..2)
        .map(|index| format!("AnnotatePod Pod {}", member(index)))
        .collect();
    let noted: Vec<&String> = noted
        .iter()
        .filter(|effect| effect.starts_with("AnnotatePod"))
        .collect();
    assert_eq!(
        noted,
        expected.iter().collect::<Vec<_>>(),
        "the third one's disk is being filled"
    );
    let filling = Some(RestorationStage::Filling);
    assert_eq!(stage(&founders(3, 1)), filling, "one of three is no quorum");
    assert_eq!(
        stage(&founders(2, 3)),
        filling,
        "somebody else is in the list"
    );
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
        claim.name = FOUNDER.to_owned();
        claim.uid = "disk-of-the-founder".to_owned();
        claims.push(claim);
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [format!("Apply Pod {FOUNDER}")]);
    let mut actions = decision.actions.iter();
    let pod = actions.find(|action| action.effect.name() == "Apply");
    let claim = pod.and_then(|action| action.pre.claim_uid.as_deref());
    assert_eq!(claim, Some("disk-of-the-founder"));
}

#[test]
fn a_founder_that_does_not_run_is_made_again_when_the_spec_asks_for_another_image() {
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
    assert_eq!(effects(&decision), [format!("Delete Pod {FOUNDER}")]);
    let action = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Delete { .. }));
    assert!(action.unwrap().pre.restore.is_some());
    let deletes =
        |world: &World| effects(&world.decide()).contains(&format!("Delete Pod {FOUNDER}"));
    assert!(!deletes(&stuck(true)));
    let mut as_asked = stuck(false);
    as_asked.pods()[0].image = healthy(1).pods()[0].image.clone();
    assert!(!deletes(&as_asked));
    let mut going = stuck(false);
    going.pods()[0].deleted = Some(Millis(1));
    assert!(!deletes(&going));
}

/// Members of one list have the same bytes, and what the spec names now may be others.
#[test]
fn a_founder_is_not_made_from_a_spec_that_was_edited_since() {
    let mut edited = proven();
    edited.generation = 2;
    let held = |world: &World| {
        let decision = world.decide();
        let pods = effects(&decision);
        assert!(pods.iter().all(|pod| !pod.contains(FOUNDER)), "{pods:?}");
        let mut findings = decision.report.findings.iter();
        let words = findings.find(|one| one.message.contains("was edited"));
        let words = &words.unwrap().message;
        assert!(words.contains("delete etcdrestore"), "{words}");
    };
    held(&filling().with(edited.clone()));
    let mut stuck = answering().with(edited);
    stuck.snapshot.etcd = filling().snapshot.etcd;
    let pod = &mut stuck.pods()[0];
    (pod.running, pod.ready) = (false, false);
    pod.image = "quay.io/coreos/etcd:v3.6.999".to_owned();
    held(&stuck);
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
    pod.name = FOUNDER.to_owned();
    pod.claim = Some(FOUNDER.to_owned());
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
    let status = written(&world.decide()).unwrap();
    let mut conditions = status.conditions.into_iter();
    let blocked = conditions.find(|one| one.kind == "Blocked").unwrap();
    assert!(
        blocked.message.contains("delete etcdrestore"),
        "{}",
        blocked.message
    );
    assert_eq!(effects(&world.decide()), [""; 0]);
}

#[test]
fn users_that_came_with_the_backup_are_told_about() {
    let mut world = answering();
    let refused = "etcdserver: user name is empty".to_owned();
    world.snapshot.etcd.membership = Observed::Unknown(refused);
    for endpoint in &mut world.snapshot.etcd.endpoints {
        endpoint.status = Observed::Unknown("etcdserver: user name is empty".to_owned());
    }
    let status = written(&world.decide()).unwrap();
    let mut conditions = status.conditions.into_iter();
    let blocked = conditions.find(|one| one.kind == "Blocked").unwrap();
    assert_eq!(blocked.reason, "MembersUnknown");
    assert!(
        blocked.message.contains("etcdctl auth disable"),
        "{}",
        blocked.message
    );
}
