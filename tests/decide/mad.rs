//! A module gone mad: the reconciler's decisions, with deeds of its own among them.
//!
//! Its preconditions are those of the snapshot and ask for as little as the envelope lets pass, so that nothing but
//! the envelope's own rules stands between it and the data.

mod mistaken;

use contract::{
    Action, Decision, Effect, Member, ObjectKind, ObjectPrecondition, Preconditions, Snapshot,
    names,
};

use self::mistaken::mistaken;

/// Decides as the reconciler does, and every third time does something terrible first. Every sixth time it takes the world for
/// another one.
pub(crate) fn decide(snapshot: &Snapshot) -> Decision {
    let mut whim = Whim::of(snapshot);
    match whim.pick(3) {
        0 => {
            let mut decision = reconciler::reconcile(snapshot);
            if let Some(action) = deed(snapshot, &mut whim) {
                decision.actions.retain(|action| !bears_on_quorum(action));
                decision.actions.insert(0, action);
            }
            decision
        }
        1 if whim.pick(2) == 0 => reconciler::reconcile(&mistaken(snapshot, &mut whim)),
        _ => reconciler::reconcile(snapshot),
    }
}

/// The envelope allows one such action, and the mad one shall be it.
fn bears_on_quorum(action: &Action) -> bool {
    action.effect.is_membership_change() || action.pre.touches.is_some()
}

fn deed(snapshot: &Snapshot, whim: &mut Whim) -> Option<Action> {
    let members = snapshot
        .etcd
        .membership
        .seen()
        .map(|list| list.members.as_slice())
        .unwrap_or_default();
    let member = whim.choose(members)?;
    let name = member
        .peer_urls
        .first()
        .and_then(|url| names::member_of_url(url))
        .unwrap_or_default();
    let mut pre = preconditions(snapshot);
    let effect = match whim.pick(16) {
        0 => Effect::RemoveMember { member: member.id },
        1 => Effect::Promote { member: member.id },
        2 => {
            pre.leader = leader(snapshot);
            Effect::MoveLeader { to: member.id }
        }
        3 => add(snapshot, whim),
        4 => {
            pre.touches = Some(member.id);
            delete(snapshot, ObjectKind::Pod, name, &mut pre)?
        }
        5 => {
            pre.scaled_to_zero = true;
            pre.departed = (whim.pick(2) == 0).then(|| name.to_owned());
            pre.claim_uid = snapshot
                .objects
                .volumes
                .seen()
                .and_then(|volumes| volumes.iter().find(|volume| volume.name == name))
                .map(|volume| volume.uid.clone());
            delete(snapshot, ObjectKind::Pod, name, &mut pre)?
        }
        6 => {
            pre.recovery = true;
            delete(snapshot, ObjectKind::Pod, name, &mut pre)?
        }
        7 => {
            pre.departed = Some(name.to_owned());
            delete(snapshot, ObjectKind::PersistentVolumeClaim, name, &mut pre)?
        }
        8 => Effect::Compact { revision: 2_000 },
        9 => {
            pre.touches = Some(member.id);
            Effect::Defragment { member: member.id }
        }
        10 => Effect::Disarm {
            kind: contract::AlarmKind::Nospace,
            member: Some(member.id),
        },
        11 => Effect::AppendNoop,
        12 => {
            pre.birth_token = Some(whim.0.to_string());
            delete(snapshot, ObjectKind::PersistentVolumeClaim, name, &mut pre)?
        }
        13 => {
            pre.birth_token = planned(snapshot);
            delete(snapshot, ObjectKind::PersistentVolumeClaim, name, &mut pre)?
        }
        14 => {
            pre.birth_token = planned(snapshot);
            delete(snapshot, ObjectKind::Pod, name, &mut pre)?
        }
        _ => {
            pre.touches = (whim.pick(3) > 0).then_some(member.id);
            give_image(snapshot, name, whim, &mut pre)?
        }
    };
    Some(Action { effect, pre })
}

/// The token of the birth that goes on.
fn planned(snapshot: &Snapshot) -> Option<String> {
    let token = snapshot.resource.status.pointer("/birth/token")?;
    token.as_str().map(str::to_owned)
}

fn preconditions(snapshot: &Snapshot) -> Preconditions {
    let list = snapshot.etcd.membership.seen();
    Preconditions {
        resource_uid: snapshot.resource.uid.clone(),
        cluster_id: list.map(|list| list.cluster_id),
        members: list.map(contract::Membership::fingerprint),
        healthy_voters: Some(0),
        ..Preconditions::default()
    }
}

fn leader(snapshot: &Snapshot) -> Option<contract::MemberId> {
    snapshot
        .etcd
        .endpoints
        .iter()
        .filter_map(|endpoint| endpoint.status.seen())
        .find_map(|status| status.leader)
}

fn add(snapshot: &Snapshot, whim: &mut Whim) -> Effect {
    let resource = &snapshot.resource;
    let name = format!("{}-mad{}", resource.name, whim.pick(1_000));
    let host = names::member_host(&name, &resource.name, &resource.namespace, "");
    Effect::AddLearner {
        name,
        peer_urls: vec![format!("http://{host}:{}", names::PEER_PORT)],
    }
}

/// Gives a member's pod an image that another pod has, or one of any version.
fn give_image(
    snapshot: &Snapshot,
    name: &str,
    whim: &mut Whim,
    pre: &mut Preconditions,
) -> Option<Effect> {
    let pods = snapshot.objects.pods.seen()?;
    let pod = pods.iter().find(|pod| pod.name == name)?;
    pre.object = Some(ObjectPrecondition::Present {
        uid: pod.uid.clone(),
    });
    pre.object_version = Some(pod.resource_version.clone());
    let versions = ["3.4.34", "3.5.20", "3.5.35", "3.6.10", "3.6.16", "3.7.3"];
    let picked = usize::try_from(whim.pick(9)).ok()?;
    let image = match versions.get(picked) {
        Some(version) => format!("{}:v{version}", pod.image.split_once(":v")?.0),
        None => pods.get(picked % pods.len())?.image.clone(),
    };
    let annotations = [
        (
            names::VERSION_ANNOTATION.to_owned(),
            image.split_once(":v")?.1.to_owned(),
        ),
        (
            names::RESTARTS_ANNOTATION.to_owned(),
            pod.restarts_before_image(),
        ),
    ];
    Some(Effect::SetImage {
        name: name.to_owned(),
        image,
        annotations: annotations.into(),
    })
}

fn delete(
    snapshot: &Snapshot,
    kind: ObjectKind,
    name: &str,
    pre: &mut Preconditions,
) -> Option<Effect> {
    let pods = snapshot
        .objects
        .pods
        .seen()
        .into_iter()
        .flatten()
        .map(|pod| (ObjectKind::Pod, &pod.name, &pod.uid));
    let volumes = snapshot.objects.volumes.seen().into_iter().flatten();
    let claims =
        volumes.map(|volume| (ObjectKind::PersistentVolumeClaim, &volume.name, &volume.uid));
    let (_, _, uid) = pods
        .chain(claims)
        .find(|(found, called, _)| *found == kind && *called == name)?;
    pre.object = Some(ObjectPrecondition::Present { uid: uid.clone() });
    Some(Effect::Delete {
        kind,
        name: name.to_owned(),
        grace_seconds: None,
    })
}

/// Choices that follow from the snapshot alone.
struct Whim(u64);

impl Whim {
    fn of(snapshot: &Snapshot) -> Self {
        Self(
            snapshot
                .entropy
                .get(..15)
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .unwrap_or_default(),
        )
    }

    fn pick(&mut self, among: u64) -> u64 {
        let picked = self.0 % among;
        self.0 /= among;
        picked
    }

    fn index(&mut self, count: usize) -> Option<usize> {
        let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
        usize::try_from(self.pick(count)).ok()
    }

    fn choose<'a>(&mut self, members: &'a [Member]) -> Option<&'a Member> {
        members.get(self.index(members.len())?)
    }
}
