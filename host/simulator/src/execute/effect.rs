//! One effect on the world, as the API server grants it, and the fact that it was done.
//!
//! Owns what each effect does to objects. It does not know decisions, the envelope or mishaps; what etcd grants is
//! [`super::etcd`]'s.

use contract::{Action, Child, Effect, ObjectKind, ObjectPrecondition, Preconditions, names};

use crate::fact::{Deed, Fact};
use crate::timers::Timer;
use crate::world::World;

impl World {
    /// The effect itself, as the API server or etcd grants it.
    pub(crate) fn effect(&mut self, action: &Action) -> Result<(), &'static str> {
        let Action { effect, pre } = action;
        let around = matches!(effect, Effect::UpdateStatus { .. } | Effect::Event { .. });
        if !self.api && (around || effect.kind().is_some()) {
            return Err("the API server does not answer");
        }
        self.tell(|_| format!("    does {} {}", describe(effect), effect.target()));
        // A late request is that of the cluster that was there when it was sent; and what stayed of that may be taken up.
        let may_be_of_one_gone =
            self.landing.is_some() || matches!(effect, Effect::TakeUpClaim { .. });
        let of_others = self.of_others(!may_be_of_one_gone);
        let before = (!around).then(|| Box::new(self.truth()));
        let mut lost = Vec::new();
        let deed = match effect {
            Effect::UpdateStatus { status } => {
                if pre.resource_version.as_ref() != Some(&self.kube.resource.resource_version) {
                    return Err("the object has been modified");
                }
                self.follow_restoration(status);
                self.follow_wish(status);
                self.kube.resource.status = serde_json::to_value(status).map_err(|_| "not JSON")?;
                self.touch();
                return Ok(());
            }
            Effect::Event { .. } => return Ok(()),
            Effect::Apply { object } => self.apply(object, pre)?,
            Effect::Issue { secret, order } => {
                self.admit(ObjectKind::Secret, secret, pre.object.as_ref())?;
                self.issue(secret, order)?
            }
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
            Effect::TakeUpClaim { name, from } => {
                let resource = &self.kube.resource;
                let (own, labels) = (
                    resource.uid.clone(),
                    resource.dialect().labels(&resource.name),
                );
                let claim = self.kube.claims.get_mut(name).ok_or("not found")?;
                let before = claim.api.owner.as_deref().unwrap_or_default();
                if !is_same(pre.object.as_ref(), &claim.api.uid) || before != from {
                    return Err("the UID does not match");
                }
                if from.is_empty() {
                    let (key, place) = (names::DATA_ANNOTATION, names::AT_ROOT);
                    claim
                        .api
                        .annotations
                        .insert(key.to_owned(), place.to_owned());
                    claim.api.labels.extend(labels);
                } else {
                    let key = names::PREVIOUS_OWNER_ANNOTATION.to_owned();
                    claim.api.annotations.insert(key, from.clone());
                }
                let key = names::OWNER_ANNOTATION.to_owned();
                claim.api.annotations.insert(key, own.clone());
                claim.api.owner = Some(own);
                self.changed = true;
                Deed::Wrote(effect.name())
            }
            Effect::RetireReplicaSet { name, owner: _ } => {
                let set = self.kube.sets.get(name).ok_or("not found")?;
                if !is_same(pre.object.as_ref(), &set.uid) {
                    return Err("the UID does not match");
                }
                self.retire(name);
                Deed::DeletedPod(name.clone())
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
            | Effect::UpdateMember { .. }
            | Effect::MoveLeader { .. }
            | Effect::Compact { .. }
            | Effect::Defragment { .. }
            | Effect::AppendNoop
            | Effect::Disarm { .. }
            | Effect::Downgrade { .. } => self.etcd_effect(effect)?,
            Effect::Peer(_) => return Err("there are no old peers"),
            Effect::Backup(_) | Effect::Restore(_) | Effect::Schedule(_) => {
                return Err("there is no store");
            }
        };
        let left = self.of_others(!may_be_of_one_gone);
        let touched = of_others
            .iter()
            .find(|(key, words)| left.get(key) != Some(words));
        if let Some(((kind, name), _)) = touched {
            let what = format!("{} of {} {name}", effect.name(), kind.name());
            self.facts.push(Fact::Trespassed { at: self.now, what });
        }
        if let Some(before) = before {
            self.facts.push(Fact::Deed {
                at: self.now,
                deed,
                before,
                lost,
                late: self.landing.clone(),
            });
        }
        Ok(())
    }

    fn apply(&mut self, object: &Child, pre: &Preconditions) -> Result<Deed, &'static str> {
        self.admit(object.kind(), object.name(), pre.object.as_ref())?;
        let head = self.kube.head(object.kind(), object.name());
        if let (Some(version), Some(head)) = (&pre.object_version, head.seen())
            && *version != head.resource_version
        {
            return Err("the object has been modified");
        }
        self.admit_size(object)?;
        let clock = self.clock();
        if let Some(number) = self.kube.apply(object, clock.0) {
            self.after(20, 300, Timer::Schedule(number));
        }
        if let Some(number) = self.asks_to_grow(object) {
            self.after(200, 20_000, Timer::Enlarge(number));
        }
        let head = self.kube.head(object.kind(), object.name());
        if head
            .seen()
            .is_some_and(|head| self.is_of_one_gone(&head.owner))
        {
            self.collect_later();
        }
        self.changed = true;
        let annotations = object.metadata().annotations.as_ref();
        let state =
            annotations.and_then(|annotations| annotations.get(names::INITIAL_STATE_ANNOTATION));
        let flag = annotations
            .and_then(|annotations| annotations.get(names::FORCE_NEW_CLUSTER_ANNOTATION));
        Ok(match state.map(String::as_str) {
            _ if flag.is_some_and(|flag| !flag.is_empty()) => {
                self.forgive(object.name());
                Deed::StartedAlone(object.name().to_owned())
            }
            Some("new") => Deed::StartedNew(object.name().to_owned()),
            Some(_) | None => match object {
                Child::PodDisruptionBudget(_) => Deed::Guarded {
                    kept: self.truth().budget,
                },
                Child::Pod(_) | Child::PersistentVolumeClaim(_) | Child::Service(_) => {
                    Deed::Wrote("Apply")
                }
            },
        })
    }

    /// Whoever consented to go on from this member gave up what it does not have, whatever they want once its pod is made.
    /// Without a consent nothing is given up.
    fn forgive(&mut self, name: &str) {
        let is_named = self.consent().as_deref() == Some(name);
        let claim = self.kube.claims.get(name).filter(|_| is_named);
        if let Some(data) = claim.and_then(|claim| self.etcd.data(claim.number)) {
            self.acknowledged.retain(|write| data.holds(*write));
            self.delete_keys_again();
        }
    }

    /// The API server writes onto the object that was decided on, or where there is none.
    fn admit(
        &self,
        kind: ObjectKind,
        name: &str,
        pre: Option<&ObjectPrecondition>,
    ) -> Result<(), &'static str> {
        match (self.kube.head(kind, name).seen(), pre) {
            (Some(_), Some(ObjectPrecondition::Absent)) => Err("already exists"),
            (Some(head), Some(ObjectPrecondition::Present { uid })) if head.uid != *uid => {
                Err("the UID does not match")
            }
            (None, Some(ObjectPrecondition::Present { .. })) => Err("not found"),
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn delete(&mut self, kind: ObjectKind, name: &str, grace: Option<i64>) -> Deed {
        match kind {
            ObjectKind::Pod => {
                let pod = self.kube.pods.get(name);
                let member = pod.map_or(name, |pod| pod.member()).to_owned();
                self.delete_pod(name, grace);
                Deed::DeletedPod(member)
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
                let budget = self.kube.budgets.remove(name);
                self.changed = true;
                if budget.is_some_and(|budget| self.is_own(&budget.owner)) {
                    Deed::Guarded { kept: None }
                } else {
                    Deed::Wrote("Delete")
                }
            }
            ObjectKind::Secret => {
                self.kube.secrets.remove(name);
                self.changed = true;
                Deed::Wrote("Delete")
            }
            ObjectKind::ReplicaSet => {
                self.retire(name);
                Deed::DeletedPod(name.to_owned())
            }
        }
    }

    /// Acknowledged writes whose last copy is on the disk that goes with this object.
    fn lost_with(&self, kind: ObjectKind, name: &str) -> Vec<u32> {
        let disk = match kind {
            ObjectKind::Pod => {
                self.kube
                    .pods
                    .get(name)
                    .and_then(|pod| match &pod.api.claim {
                        None => Some(pod.number),
                        // A claim that is being deleted goes with whoever uses it.
                        Some(claim) => {
                            let claim = self.kube.claims.get(claim)?;
                            claim.api.deleted.map(|_| claim.number)
                        }
                    })
            }
            ObjectKind::PersistentVolumeClaim => {
                self.kube.claims.get(name).map(|claim| claim.number)
            }
            ObjectKind::Service
            | ObjectKind::PodDisruptionBudget
            | ObjectKind::Secret
            | ObjectKind::ReplicaSet => None,
        };
        let Some(disk) = disk else { return Vec::new() };
        // A pod that is given up for a backup may take with it what the backup has and, where a person consented, what was
        // written since; a claim stays until there is another copy.
        let given_up = self.restoration().filter(|one| one.is_first());
        let is_stored = |write: u32| {
            kind == ObjectKind::Pod
                && given_up.as_ref().is_some_and(|one| {
                    self.stored.writes.contains(&write) || self.gives_up(&one.uid)
                })
        };
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
            .filter(|write| !is_stored(*write))
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
        Effect::TakeUpClaim { .. } | Effect::RetireReplicaSet { .. } => effect.name().to_owned(),
        Effect::SetImage { image, .. } => format!("SetImage {image}"),
        Effect::Delete { kind, .. } => format!("Delete {}", kind.name()),
        Effect::Issue { order, .. } => format!("Issue {order:?}"),
        Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Peer(_)
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => effect.name().to_owned(),
    }
}
