//! After a recovery: claims that are kept, and consents that are there while a quorum answers.

use super::*;

/// Beside the members the claims of two are left that a recovery gave up, and whose names nobody has.
fn with_kept(mut world: World, stage: RecoveryStage) -> World {
    let Observed::Seen(claims) = &mut world.snapshot.objects.volumes else {
        unreachable!("they were listed")
    };
    for name in ["shop-x1", "shop-x2"] {
        let mut claim = claims[0].clone();
        claim.uid = format!("disk-{name}");
        claim.name = name.to_owned();
        claims.push(claim);
    }
    world.status.recovery = Some(Recovery {
        given_up: kept(),
        ..recovery(stage)
    });
    world
}

fn kept() -> Vec<String> {
    ["shop-x1", "shop-x2"].map(str::to_owned).to_vec()
}

/// The cluster went on from member 0 and asks for more members than it has.
fn growing(voters: usize) -> World {
    with_kept(healthy(voters).wanting(5), RecoveryStage::Done)
}

fn deletions(world: &World) -> Vec<String> {
    let mut effects = effects(&world.decide());
    effects.retain(|effect| effect.contains("Delete PersistentVolumeClaim"));
    effects
}

/// It was found to be no consent only once the last claim was gone; a loss before that took it for one.
#[test]
fn a_consent_is_void_while_a_quorum_answers_though_claims_are_kept() {
    let world = growing(3).spec("quorumRecovery", consent(&member(1)));
    let decision = world.decide();
    assert!(reports(&decision, Reason::ConsentNotUsed));
    let recovery = written(&decision).unwrap().recovery.unwrap();
    assert_eq!(recovery.stage, RecoveryStage::Void);
    assert_eq!(recovery.survivor, member(1));
    assert_eq!(recovery.given_up, kept());
    let is_told = |action: &contract::Action| match &action.effect {
        Effect::Event { reason, .. } => reason == "ConsentNotUsed",
        _ => false,
    };
    assert!(decision.actions.iter().any(is_told));
    assert_eq!(deletions(&world), [""; 0]);

    let mut later = with_kept(lost(), RecoveryStage::Void);
    later.status.recovery = Some(recovery);
    let survivor = later.clone().spec("quorumRecovery", consent(&member(0)));
    assert_eq!(stage(&survivor), Some(RecoveryStage::Stopping));
    let mut same = later.spec("quorumRecovery", consent(&member(0)));
    if let Some(recovery) = &mut same.status.recovery {
        recovery.survivor = member(0);
    }
    assert_eq!(effects(&same.decide()), [""; 0]);
    assert_eq!(stage(&same), Some(RecoveryStage::Void));
}

/// In the second dialect the numbers of those given up are given to new members.
#[test]
fn a_consent_is_void_though_members_have_the_names_of_those_given_up() {
    let mut world = healthy(3).spec("quorumRecovery", consent(&member(1)));
    world.status.recovery = Some(recovery(RecoveryStage::Done));
    let found = written(&world.decide()).unwrap().recovery.unwrap();
    assert_eq!(found.stage, RecoveryStage::Void);
    assert_eq!(found.survivor, member(1));
    assert_eq!(found.given_up, [""; 0], "they are members by now");
}

#[test]
fn a_consent_that_is_removed_is_forgotten_and_the_kept_claims_are_not() {
    let mut world = growing(3);
    world.status = written(&world.decide()).unwrap();
    let left = world.status.recovery.clone().unwrap();
    assert_eq!((left.survivor.as_str(), left.given_up), ("", kept()));
    let rests = written(&world.decide()).is_none_or(|next| next.recovery == world.status.recovery);
    assert!(rests);
    assert_eq!(deletions(&world), [""; 0]);
}

#[test]
fn claims_kept_by_one_recovery_stay_kept_through_another() {
    let mut world = with_kept(lost(), RecoveryStage::Done);
    world.status = written(&world.decide()).unwrap();
    assert_eq!(world.decide().actions, []);
    let left = world.status.recovery.clone().unwrap();
    assert_eq!(left.given_up, kept());
    let again = world.spec("quorumRecovery", consent(&member(0)));
    let recovery = written(&again.decide()).unwrap().recovery.unwrap();
    assert_eq!(recovery.stage, RecoveryStage::Stopping);
    let all = ["shop-m1", "shop-m2", "shop-x1", "shop-x2"];
    assert_eq!(recovery.given_up, all);
}

/// Each number is reached at size 0, and people were told that they could copy the claims away.
#[test]
fn size_0_deletes_no_claim_that_a_recovery_keeps_and_falls_asleep_beside_it() {
    let alone = |size: i64| with_kept(healthy(1).wanting(size), RecoveryStage::Done);
    assert_eq!(deletions(&alone(3)), [""; 0]);
    assert_eq!(deletions(&alone(1)).len(), 2);
    let world = alone(0);
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    let status = written(&decision).unwrap();
    assert!(status.asleep_since.is_some());
    let mut asleep = world.without_pod(0).without_list();
    asleep.status = status;
    assert_eq!(deletions(&asleep), [""; 0]);
    let told = written(&asleep.settle().decide()).and_then(|status| status.recovery);
    assert!(told.is_none_or(|recovery| recovery.given_up == kept()));
}

/// Who gave them up may want them back as long as one of the new copies is in doubt.
#[test]
fn claims_are_kept_until_every_voter_is_healthy_and_nobody_learns() {
    let of_its_size = || with_kept(healthy(3), RecoveryStage::Done);
    let all = kept().into_iter();
    let all = all.map(|name| format!("Delete PersistentVolumeClaim {name}"));
    let gone: Vec<String> = all.collect();
    assert_eq!(deletions(&of_its_size()), gone);
    assert_eq!(deletions(&of_its_size().silent(1)), [""; 0]);
    let one_too_many = format!("Delete PersistentVolumeClaim {}", member(3));
    assert_eq!(
        deletions(&of_its_size().with_learner(3, true)),
        [one_too_many]
    );
}
