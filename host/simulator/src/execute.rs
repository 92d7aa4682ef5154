//! Carries out decisions as the host does: fresh reads, the envelope's leave, then the effect, in order, stopping at
//! the first that is refused or fails.

use contract::{
    Action, Child, Effect, ObjectKind, ObjectPrecondition, OutcomeKind, PastOutcome, names,
};

use crate::etcd::Op;
use crate::fact::{Deed, Fact};
use crate::plan::Mishap;
use crate::timers::Timer;
use crate::world::World;

/// What became of a decision.
pub(crate) struct Execution {
    pub(crate) outcomes: Vec<PastOutcome>,
    /// The operator ended in the middle of it.
    pub(crate) ended: bool,
}

/// The operator's requests that are still on their way.
#[derive(Default)]
pub(crate) struct InFlight {
    pub(crate) count: u32,
}

impl World {
    pub(crate) fn execute(&mut self, actions: &[Action], flight: &mut InFlight) -> Execution {
        let mut outcomes: Vec<PastOutcome> = Vec::with_capacity(actions.len());
        let mut stopped = false;
        for action in actions {
            if stopped {
                outcomes.push(outcome(action, OutcomeKind::Skipped, ""));
                continue;
            }
            // Reads and calls take their time, and the world goes on.
            let until = self.now + self.rng.i64(1..8);
            self.advance(until);
            let number = flight.count;
            flight.count += 1;
            let mishap = self
                .plan
                .mishaps
                .iter()
                .find(|(at, _)| *at == number)
                .map(|(_, mishap)| *mishap);
            if let Some(mishap) = mishap {
                self.tell(|_| format!("MISHAP with the next action {mishap}"));
            }
            if mishap == Some(Mishap::EndsBefore) {
                return Execution {
                    outcomes: Vec::new(),
                    ended: true,
                };
            }
            let reads = envelope::reads(action);
            if let Err(refusal) = envelope::check(action, &self.fresh(&reads)) {
                self.tell(|_| {
                    format!(
                        "    refused {} {}: {refusal}",
                        action.effect.name(),
                        action.effect.target()
                    )
                });
                outcomes.push(outcome(action, OutcomeKind::Refused, &refusal.to_string()));
                stopped = true;
                continue;
            }
            let done = match mishap {
                Some(Mishap::NeverArrives) => Err("connection refused"),
                Some(Mishap::Late(late)) if action.effect.kind().is_some() => {
                    self.late.push(Some(action.clone()));
                    self.timers
                        .set(self.now + late, Timer::Land(self.late.len() - 1));
                    Err("timed out")
                }
                Some(Mishap::AnswerLost | Mishap::Late(_)) => {
                    self.effect(action).and(Err("timed out"))
                }
                Some(Mishap::EndsAfter) => {
                    // Whether it succeeded is for the next instance to find out.
                    let _ = self.effect(action);
                    return Execution {
                        outcomes: Vec::new(),
                        ended: true,
                    };
                }
                Some(Mishap::EndsBefore) | None => self.effect(action),
            };
            match done {
                Ok(()) => outcomes.push(outcome(action, OutcomeKind::Done, "")),
                Err(why) => {
                    self.tell(|_| {
                        format!(
                            "    failed {} {}: {why}",
                            action.effect.name(),
                            action.effect.target()
                        )
                    });
                    outcomes.push(outcome(action, OutcomeKind::Failed, why));
                    stopped = true;
                }
            }
        }
        Execution {
            outcomes,
            ended: false,
        }
    }

    /// A request arrives that nobody waits for any more. The API server judges by itself.
    pub(crate) fn land(&mut self, index: usize) {
        if let Some(action) = self.late.get_mut(index).and_then(Option::take) {
            self.tell(|_| {
                format!(
                    "LATE  {} {} arrives",
                    action.effect.name(),
                    action.effect.target()
                )
            });
            // The answer goes nowhere.
            self.landing = true;
            let _ = self.effect(&action);
            self.landing = false;
        }
    }

    /// The effect itself, as the API server or etcd grants it.
    fn effect(&mut self, action: &Action) -> Result<(), &'static str> {
        let Action { effect, pre } = action;
        let around = matches!(effect, Effect::UpdateStatus { .. } | Effect::Event { .. });
        if !self.api && (around || effect.kind().is_some()) {
            return Err("the API server does not answer");
        }
        self.tell(|_| format!("    does {} {}", describe(effect), effect.target()));
        let before = (!around).then(|| Box::new(self.truth()));
        let mut lost = Vec::new();
        let deed = match effect {
            Effect::UpdateStatus { status } => {
                if pre.resource_version.as_ref() != Some(&self.kube.resource.resource_version) {
                    return Err("the object has been modified");
                }
                self.kube.resource.status = serde_json::to_value(status).map_err(|_| "not JSON")?;
                self.touch();
                return Ok(());
            }
            Effect::Event { .. } => return Ok(()),
            Effect::Apply { object } => self.apply(object, pre.object.as_ref())?,
            Effect::Issue { secret, order } => self.issue(secret, order)?,
            Effect::AnnotatePod { name, annotations } => {
                let pod = self.kube.pods.get_mut(name).ok_or("not found")?;
                if !is_same(pre.object.as_ref(), &pod.api.uid) {
                    return Err("the UID does not match");
                }
                pod.api.annotations.extend(annotations.clone());
                pod.refresh();
                self.changed = true;
                Deed::Wrote(effect.name())
            }
            Effect::SetImage {
                name,
                image,
                annotations,
            } => {
                let pod = self.kube.pods.get_mut(name).ok_or("not found")?;
                let version = pre.object_version.as_ref();
                if !is_same(pre.object.as_ref(), &pod.api.uid)
                    || version.is_some_and(|version| *version != pod.api.resource_version)
                {
                    return Err("the object has been modified");
                }
                pod.api.annotations.extend(annotations.clone());
                pod.api.image.clone_from(image);
                pod.swaps = true;
                pod.refresh();
                let number = pod.number;
                self.changed = true;
                self.after(50, 3_000, Timer::NewImage(number));
                Deed::Restarted(name.clone())
            }
            Effect::Delete {
                kind,
                name,
                grace_seconds,
            } => {
                let uid = self
                    .kube
                    .head(*kind, name)
                    .seen()
                    .map(|head| head.uid.clone())
                    .ok_or("not found")?;
                if !is_same(pre.object.as_ref(), &uid) {
                    return Err("the UID does not match");
                }
                lost = self.lost_with(*kind, name);
                self.delete(*kind, name, *grace_seconds)
            }
            Effect::AddLearner { .. }
            | Effect::Promote { .. }
            | Effect::RemoveMember { .. }
            | Effect::MoveLeader { .. }
            | Effect::Compact { .. }
            | Effect::Defragment { .. }
            | Effect::Disarm { .. } => self.etcd_effect(effect)?,
        };
        self.moves += 1;
        if let Some(before) = before {
            self.facts.push(Fact::Deed {
                at: self.now,
                deed,
                before,
                lost,
                late: self.landing,
            });
        }
        Ok(())
    }

    fn apply(
        &mut self,
        object: &Child,
        pre: Option<&ObjectPrecondition>,
    ) -> Result<Deed, &'static str> {
        let found = self.kube.head(object.kind(), object.name());
        match (found.seen(), pre) {
            (Some(_), Some(ObjectPrecondition::Absent)) => return Err("already exists"),
            (Some(head), Some(ObjectPrecondition::Present { uid })) if head.uid != *uid => {
                return Err("the UID does not match");
            }
            (None, Some(ObjectPrecondition::Present { .. })) => return Err("not found"),
            (Some(_) | None, _) => {}
        }
        let clock = self.clock();
        if let Some(number) = self.kube.apply(object, clock.0) {
            self.after(20, 300, Timer::Schedule(number));
        }
        self.changed = true;
        let annotations = object.metadata().annotations.as_ref();
        let state =
            annotations.and_then(|annotations| annotations.get(names::INITIAL_STATE_ANNOTATION));
        let flag = annotations
            .and_then(|annotations| annotations.get(names::FORCE_NEW_CLUSTER_ANNOTATION));
        Ok(match state.map(String::as_str) {
            _ if flag.is_some_and(|flag| !flag.is_empty()) => {
                Deed::StartedAlone(object.name().to_owned())
            }
            Some("new") => Deed::StartedNew(object.name().to_owned()),
            Some(_) | None => Deed::Wrote("Apply"),
        })
    }

    fn delete(&mut self, kind: ObjectKind, name: &str, grace: Option<i64>) -> Deed {
        match kind {
            ObjectKind::Pod => {
                self.delete_pod(name, grace);
                Deed::DeletedPod(name.to_owned())
            }
            ObjectKind::PersistentVolumeClaim => {
                self.delete_claim(name);
                Deed::DeletedClaim(name.to_owned())
            }
            ObjectKind::Service => {
                self.kube.services.remove(name);
                self.changed = true;
                Deed::Wrote("Delete")
            }
            ObjectKind::PodDisruptionBudget => {
                self.kube.budgets.remove(name);
                self.changed = true;
                Deed::Wrote("Delete")
            }
            ObjectKind::Secret => {
                self.kube.secrets.remove(name);
                self.changed = true;
                Deed::Wrote("Delete")
            }
        }
    }

    fn etcd_effect(&mut self, effect: &Effect) -> Result<Deed, &'static str> {
        let cluster = self.recorded().ok_or("no cluster")?;
        let (peers, now) = (self.peers(), self.now);
        let deed = match effect {
            Effect::AddLearner { name, peer_urls } => {
                let url = peer_urls.first().map(String::as_str).unwrap_or_default();
                self.etcd.add_learner(cluster, url, &peers, now)?;
                Deed::Added(name.clone())
            }
            Effect::Promote { member } => {
                self.etcd.promote(cluster, *member, &peers)?;
                Deed::Promoted(*member)
            }
            Effect::RemoveMember { member } => {
                self.etcd.remove(cluster, *member, &peers, now)?;
                Deed::Removed(*member)
            }
            Effect::MoveLeader { to } => {
                self.etcd.move_leader(cluster, *to, &peers)?;
                Deed::Moved(*to)
            }
            Effect::Compact { revision } => {
                self.etcd.compact(cluster, *revision, &peers)?;
                Deed::Compacted(*revision)
            }
            Effect::Defragment { member } => {
                let disk = self.etcd.defragment(cluster, *member, &peers)?;
                self.falls_silent(disk);
                Deed::Defragmented(*member)
            }
            Effect::Disarm { kind: _, member } => {
                let member = member.ok_or("no member")?;
                self.etcd.propose(cluster, &peers, Op::Disarm(member))?;
                Deed::Disarmed(member)
            }
            Effect::UpdateStatus { .. }
            | Effect::Event { .. }
            | Effect::Apply { .. }
            | Effect::AnnotatePod { .. }
            | Effect::SetImage { .. }
            | Effect::Delete { .. }
            | Effect::Issue { .. } => return Err("not an effect on etcd"),
        };
        self.changed = true;
        self.settle();
        Ok(deed)
    }

    /// The member on that disk answers nobody for a while and then catches up.
    fn falls_silent(&mut self, disk: u32) {
        let mut pods = self.kube.pods.values_mut();
        let busy = pods.find_map(|pod| {
            let process = pod.process.as_mut().filter(|_| pod.disk == Some(disk))?;
            process.synced = false;
            Some((pod.number, pod.runs))
        });
        if let Some((number, run)) = busy {
            self.after(200, 5_000, Timer::Sync(number, run));
        }
    }

    /// Acknowledged writes whose last copy is on the disk that goes with this object.
    fn lost_with(&self, kind: ObjectKind, name: &str) -> Vec<u32> {
        let disk = match kind {
            ObjectKind::Pod => self
                .kube
                .pods
                .get(name)
                .filter(|pod| pod.api.claim.is_none())
                .map(|pod| pod.number),
            ObjectKind::PersistentVolumeClaim => {
                self.kube.claims.get(name).map(|claim| claim.number)
            }
            ObjectKind::Service | ObjectKind::PodDisruptionBudget | ObjectKind::Secret => None,
        };
        let Some(disk) = disk else { return Vec::new() };
        let holds =
            |disk: u32, write: u32| self.etcd.data(disk).is_some_and(|data| data.holds(write));
        let others = || {
            self.etcd
                .disks
                .keys()
                .copied()
                .filter(|other| *other != disk)
        };
        let writes = self.acknowledged.iter().copied();
        writes
            .filter(|write| holds(disk, *write) && !others().any(|other| holds(other, *write)))
            .collect()
    }
}

fn is_same(pre: Option<&ObjectPrecondition>, uid: &str) -> bool {
    match pre {
        Some(ObjectPrecondition::Present { uid: expected }) => expected == uid,
        Some(ObjectPrecondition::Absent) => false,
        None => true,
    }
}

fn outcome(action: &Action, outcome: OutcomeKind, message: &str) -> PastOutcome {
    PastOutcome {
        effect: action.effect.name().to_owned(),
        kind: action.effect.kind(),
        target: action.effect.target(),
        outcome,
        message: message.to_owned(),
    }
}

fn describe(effect: &Effect) -> String {
    match effect {
        Effect::UpdateStatus { status } => format!(
            "UpdateStatus phase {:?} id {:?} birth {:?}",
            status.phase,
            status.cluster_id,
            status.birth.as_ref().map(|birth| &birth.token)
        ),
        Effect::Event { reason, note, .. } => format!("Event {reason}: {note}"),
        Effect::Apply { object } => {
            let annotations = object.metadata().annotations.as_ref();
            let state = annotations
                .and_then(|annotations| annotations.get(names::INITIAL_STATE_ANNOTATION));
            format!(
                "Apply {} {}",
                object.kind().name(),
                state.map_or("", String::as_str)
            )
        }
        Effect::AnnotatePod { annotations, .. } => format!("AnnotatePod {annotations:?}"),
        Effect::SetImage { image, .. } => format!("SetImage {image}"),
        Effect::Delete { kind, .. } => format!("Delete {}", kind.name()),
        Effect::Issue { order, .. } => format!("Issue {order:?}"),
        Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::Disarm { .. } => effect.name().to_owned(),
    }
}
