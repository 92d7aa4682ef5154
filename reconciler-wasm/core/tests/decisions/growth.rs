//! Volumes that were refused to grow: what is told, what is remembered, and when they are asked again.

use contract::{
    Condition, ConditionStatus, Effect, EtcdClusterStatus, ObjectKind, ObjectPrecondition,
    Observed, OutcomeKind, PastOutcome, Reason, Volume,
};

use crate::fixture::{World, effects, member, reports, written};
use crate::storage::asking;

impl World {
    fn refused(mut self) -> Self {
        self.snapshot.outcomes = vec![PastOutcome {
            effect: "Apply".to_owned(),
            kind: Some(ObjectKind::PersistentVolumeClaim),
            target: member(0),
            outcome: OutcomeKind::Failed,
            message: "the storage class does not allow it".to_owned(),
        }];
        self
    }
}

#[test]
fn a_refused_growth_is_told_with_the_way_out_and_not_asked_for_in_each_pass() {
    let mut world = asking("2Gi").refused();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let status = written(&decision).unwrap();
    let blocked = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Blocked")
        .unwrap();
    assert_eq!(blocked.reason, "VolumeNotGrown");
    assert!(blocked.message.contains("allowVolumeExpansion"));
    // The next pass knows it from the status alone.
    world.status = status;
    world.snapshot.outcomes.clear();
    let mut world = world.settle();
    assert_eq!(world.decide().actions, []);
    // Another spec is another question.
    world.snapshot.resource.generation += 1;
    assert_eq!(effects(&world.decide()).len(), 3);
}

/// How a status tells that volumes were refused to grow.
fn told(status: &EtcdClusterStatus) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.kind == "VolumesGrown")
}

/// Found by the simulator: `Blocked` said that the quorum was lost, and every second pass asked for larger volumes again.
#[test]
fn a_refusal_is_remembered_where_something_graver_blocks() {
    let alone = (0..2).fold(asking("2Gi").refused(), |world, index| {
        world.without_pod(index).without_volume(index)
    });
    let mut world = alone.silent(2).without_list();
    world.snapshot.outcomes[0].target = member(2);
    let status = written(&world.decide()).unwrap();
    let mut conditions = status.conditions.iter();
    let blocked = conditions.find(|condition| condition.kind == "Blocked");
    assert_eq!(blocked.unwrap().reason, "QuorumLost");
    assert_eq!(told(&status).unwrap().reason, "VolumeNotGrown");
    world.status = status;
    world.snapshot.outcomes.clear();
    assert_eq!(effects(&world.settle().decide()), [""; 0]);
}

/// Found by the simulator: it was asked for within a few seconds of each ten minutes alone, in which nobody looked.
#[test]
fn what_was_refused_is_asked_for_again_after_longer_and_longer() {
    let mut world = asking("2Gi").refused();
    let began = world.snapshot.now.0;
    let mut asked = Vec::new();
    for _ in 0..400 {
        let decision = world.decide();
        if let Some(status) = written(&decision) {
            world.status = status;
        }
        world = world.settle();
        let asks = effects(&decision)
            .iter()
            .any(|effect| effect.starts_with("Apply"));
        if asks {
            asked.push((world.snapshot.now.0 - began) / 1000);
            world = world.refused();
            continue;
        }
        world.snapshot.outcomes.clear();
        let next = decision.requeue.expect("it is looked at again");
        world.snapshot.now.0 += next.after.0;
    }
    asked.truncate(9);
    assert_eq!(asked, [15, 30, 60, 120, 240, 480, 960, 1560, 2160]);
}

#[test]
fn what_has_grown_or_is_another_question_is_no_refusal_any_more() {
    let mut world = asking("2Gi").refused();
    world.status = written(&world.decide()).unwrap();
    world.snapshot.outcomes.clear();
    assert!(told(&world.status).is_some());
    let mut grown = world.clone();
    if let Observed::Seen(volumes) = &mut grown.snapshot.objects.volumes {
        for volume in volumes {
            volume.requested = Some("2Gi".to_owned());
        }
    }
    assert_eq!(told(&grown.settle().status), None);
    world.snapshot.resource.generation += 1;
    assert_eq!(told(&written(&world.decide()).unwrap()), None);
}

/// After the first refusal, with what each volume is then.
fn remembering(change: impl Fn(&mut Volume)) -> World {
    let mut world = asking("2Gi").refused();
    volumes(&mut world).for_each(change);
    world.status = written(&world.decide()).unwrap();
    world.snapshot.outcomes.clear();
    world
}

fn volumes(world: &mut World) -> impl Iterator<Item = &mut Volume> {
    match &mut world.snapshot.objects.volumes {
        Observed::Seen(volumes) => volumes.iter_mut(),
        Observed::Absent | Observed::Unknown(_) => panic!("no volumes"),
    }
}

#[test]
fn a_refusal_names_the_class_of_whose_volume_it_was() {
    let world = remembering(|volume| volume.storage_class = Some(format!("of-{}", volume.name)));
    let told = told(&world.status).unwrap();
    assert_eq!(told.status, ConditionStatus::False);
    let class = format!("StorageClass of-{} ", member(0));
    assert!(told.message.contains(&class), "{}", told.message);
}

#[test]
fn a_refusal_stays_while_nothing_else_is_known() {
    let mut world = remembering(|_| {});
    world.snapshot.objects.volumes = Observed::Unknown("the watch is not up".to_owned());
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    assert_eq!(told(&status), told(&world.status));
}

#[test]
fn the_last_words_of_a_refusal_are_told() {
    let mut world = remembering(|_| {}).later(15).refused();
    world.snapshot.outcomes[0].message = "a quota of the namespace is used up".to_owned();
    let status = written(&world.decide()).unwrap();
    let message = &told(&status).unwrap().message;
    assert!(message.contains("a quota of the namespace"), "{message}");
}

/// A race, or what became of somebody else's claim, says nothing of the class.
#[test]
fn nothing_else_is_taken_for_a_refusal() {
    let mut raced = asking("2Gi").refused();
    raced.snapshot.outcomes[0].outcome = OutcomeKind::Refused;
    let mut others = asking("2Gi").refused();
    others.snapshot.outcomes[0].target = "shop-gone".to_owned();
    for world in [raced, others] {
        let decision = world.decide();
        assert_eq!(effects(&decision).len(), 3);
        let status = written(&decision);
        assert!(status.is_none_or(|status| told(&status).is_none()));
    }
}

#[test]
fn each_claim_that_stays_is_asked_again_by_its_uid_and_not_told_to_grow() {
    let mut world = remembering(|_| {}).later(15);
    volumes(&mut world).last().unwrap().deleted = Some(contract::Millis(1));
    let decision = world.decide();
    let claim = ObjectKind::PersistentVolumeClaim;
    let is_asked =
        |effect: &Effect| matches!(effect, Effect::Apply { object } if object.kind() == claim);
    let actions = decision.actions.iter();
    let asked = actions.filter(|action| is_asked(&action.effect));
    let uids: Vec<_> = asked.map(|action| action.pre.object.clone()).collect();
    let staying = volumes(&mut world).filter(|volume| volume.deleted.is_none());
    let present = |volume: &mut Volume| {
        let uid = volume.uid.clone();
        Some(ObjectPrecondition::Present { uid })
    };
    assert_eq!(uids, staying.map(present).collect::<Vec<_>>());
    assert!(!reports(&decision, Reason::VolumeGrowing));
}

/// Found by a reader: by a clock that had been ahead it was never asked for again.
#[test]
fn a_time_that_is_still_to_come_or_none_holds_nothing_up() {
    let world = remembering(|_| {});
    let with = |time: Option<&str>| {
        let mut world = world.clone();
        let mut conditions = world.status.conditions.iter_mut();
        let told = conditions.find(|condition| condition.kind == "VolumesGrown");
        told.unwrap().last_update_time = time.map(str::to_owned);
        effects(&world.decide()).len()
    };
    for time in [Some("2126-11-28T00:00:00Z"), Some("yesterday"), None] {
        assert_eq!(with(time), 3, "{time:?}");
    }
}
