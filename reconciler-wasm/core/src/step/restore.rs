//! Restoration: the cluster goes on from a backup, because an EtcdRestore asks for it.
//!
//! # Flow
//! 1. The oldest EtcdRestore of this cluster that is not over is the one. [`hold`] says what it waits for: that its
//!    backup is proven, that the quorum is lost for good, or a consent to give a living cluster up.
//! 2. `Stopping`: all pods go. Their volume claims stay, under the names that they have.
//! 3. `Filling`: as many members as the spec asks for, all of fresh names, get fresh claims and pods whose first
//!    containers fill the disks from the same bytes. They start sealed: with a disk that was not filled a member ends at
//!    once, and founds nothing.
//! 4. `Growing`: a quorum of them answers; the cluster id is recorded, and whoever is missing is seen to as always.
//! 5. `Done`: the cluster is whole, and only then the claims of before are deleted.
//!
//! # Guarantees
//! Nothing is touched before the backup was read whole. Each stage is written before anything of it is done, so whoever
//! comes after a crash goes on. No cluster is born empty while an EtcdRestore of its name is not over.

mod again;
mod fill;
mod grow;
mod hold;
mod stop;

use contract::{
    EtcdRestoreSpec, EtcdRestoreStatus, EventType, FindingKind, Millis, Observed, Reason, Resource,
    Restoration, RestorationStage, RestoreRef,
};

pub(super) use grow::keeps_claim;

use super::{LATER, SOON, Step};
use crate::assess::{Living, Situation, Stage};
use crate::pre;
use crate::validate::Cluster;
use crate::{clock, stored};

/// How often a restoration under way is looked at.
const PACE: Millis = Millis::seconds(1);

/// An EtcdRestore of this cluster.
struct Wish<'a> {
    resource: &'a Resource,
    spec: EtcdRestoreSpec,
    status: EtcdRestoreStatus,
}

impl Wish<'_> {
    /// What its spec names at this moment was read whole.
    fn is_proven(&self) -> bool {
        let proof = self.status.proof.as_ref();
        proof.is_some_and(|proof| proof.generation == self.resource.generation)
    }

    fn reference(&self) -> RestoreRef {
        RestoreRef {
            name: self.resource.name.clone(),
            uid: self.resource.uid.clone(),
        }
    }
}

/// Goes on with a restoration, begins one, or says what it waits for. Says whether nothing else is done in this pass.
pub(super) fn attend(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    let is_unborn = matches!(situation.stage, Stage::Unborn);
    let wishes = match wishes(situation) {
        Ok(wishes) => wishes,
        Err(why) => {
            let is_held = is_unborn || first(situation).is_some();
            if is_held {
                step.find(
                    FindingKind::Waiting,
                    Reason::RestoreWaiting,
                    format!(
                        "EtcdRestores could not be listed ({why}). No cluster is born empty while one may be asked for."
                    ),
                );
                step.look_again(LATER, Reason::RestoreWaiting);
            }
            return is_held;
        }
    };
    let memory = situation.memory.restoration.as_ref();
    // One that failed is as good as gone.
    let own = memory.and_then(|memory| {
        let mut wishes = wishes.iter().filter(|wish| !wish.status.is_over());
        wishes.find(|wish| wish.resource.uid == memory.uid)
    });
    match (memory, own) {
        (Some(memory), Some(wish)) if memory.is_first() => {
            go_on(cluster, situation, memory, wish, step);
            return true;
        }
        (Some(memory), _) if memory.stage == RestorationStage::Growing => {
            return attend_growing(cluster, situation, memory, own, &wishes, step);
        }
        (Some(_) | None, _) => {}
    }
    if let Some(wish) = next(&wishes, memory) {
        return consider(cluster, situation, wish, step);
    }
    if let Some(memory) = first(situation) {
        return orphaned(situation, memory, step);
    }
    if memory.is_some_and(|memory| memory.stage == RestorationStage::Waiting) {
        step.restoration = Some(Change::Forget);
    }
    is_unborn && is_failed(&wishes, step)
}

/// What a pass changes in the memory of a restoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This is remembered.
    Set(Restoration),
    /// Nothing is.
    Forget,
}

fn first<'a>(situation: &Situation<'a>) -> Option<&'a Restoration> {
    situation
        .memory
        .restoration
        .as_ref()
        .filter(|memory| memory.is_first())
}

/// The EtcdRestores of this cluster, the oldest first. What cannot be read is as good as not there: its own pass says so.
fn wishes<'a>(situation: &Situation<'a>) -> Result<Vec<Wish<'a>>, &'a str> {
    let resources = match &situation.snapshot.restores {
        Observed::Seen(resources) => resources.as_slice(),
        Observed::Absent => &[],
        Observed::Unknown(why) => return Err(why),
    };
    let mut wishes: Vec<Wish<'a>> = resources
        .iter()
        .filter(|resource| resource.deleted.is_none())
        .filter_map(|resource| {
            let spec: EtcdRestoreSpec = stored::read(&resource.spec).ok()?;
            let status = if resource.status.is_null() {
                EtcdRestoreStatus::default()
            } else {
                stored::read(&resource.status).ok()?
            };
            let is_own = spec.etcd_cluster.name == situation.snapshot.resource.name;
            is_own.then_some(Wish {
                resource,
                spec,
                status,
            })
        })
        .collect();
    wishes.sort_by_key(|wish| (wish.resource.created, &wish.resource.name));
    Ok(wishes)
}

/// The one to be seen to: the oldest that is not over. One that is done here is only not told of it yet.
fn next<'w, 'a>(wishes: &'w [Wish<'a>], memory: Option<&Restoration>) -> Option<&'w Wish<'a>> {
    let is_done = |wish: &Wish<'_>| {
        memory.is_some_and(|memory| {
            memory.stage == RestorationStage::Done && memory.uid == wish.resource.uid
        })
    };
    let open = wishes.iter().find(|wish| !wish.status.is_over())?;
    (!is_done(open)).then_some(open)
}

/// Begins a restoration, or says what it waits for.
fn consider(
    cluster: &Cluster,
    situation: &Situation<'_>,
    wish: &Wish<'_>,
    step: &mut Step,
) -> bool {
    let memory = situation.memory.restoration.as_ref();
    let name = &wish.resource.name;
    let is_unborn = matches!(situation.stage, Stage::Unborn);
    let known = memory.filter(|memory| memory.uid == wish.resource.uid);
    let unfinished = memory.filter(|memory| memory.is_under_way());
    let given_up = memory.map_or_else(Vec::new, |memory| memory.given_up.clone());
    let mut next = Restoration {
        restore: name.clone(),
        uid: wish.resource.uid.clone(),
        stage: RestorationStage::Waiting,
        started_at: None,
        ended_at: None,
        replaces: situation
            .memory
            .cluster_id
            .or_else(|| unfinished.and_then(|memory| memory.replaces)),
        founders: Vec::new(),
        token: None,
        given_up,
    };
    let held = hold::why_not(cluster, situation, wish)
        .or_else(|| hold::why_not_saved(situation, wish, step));
    if let Some((kind, why)) = held {
        // What an earlier one left half done stays remembered until this one can begin.
        if memory.is_none_or(|memory| !memory.is_under_way())
            && known.is_none_or(|known| known.stage != RestorationStage::Waiting)
        {
            step.restoration = Some(Change::Set(next));
        }
        step.find(
            kind,
            Reason::RestoreWaiting,
            format!("EtcdRestore {name} waits: {why}"),
        );
        step.look_again(LATER, Reason::RestoreWaiting);
        return is_unborn || first(situation).is_some();
    }
    let path = wish.status.proof.as_ref().map(|proof| proof.path.as_str());
    let words = format!(
        "EtcdRestore {name}: the cluster goes on from {}. Its members are stopped, and their volume claims stay until \
         it is whole again.",
        path.unwrap_or_default()
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Warning,
        Reason::Restoring,
        words.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Restoring, words);
    next.stage = RestorationStage::Stopping;
    next.started_at = Some(clock::spell(situation.snapshot.now));
    let mut names: Vec<String> = next.given_up;
    if let Some(living) = living(situation) {
        let objects = living.pods.keys().chain(living.volumes.keys());
        names.extend(objects.map(|name| (*name).to_owned()));
    }
    names.sort();
    names.dedup();
    next.given_up = names;
    step.restoration = Some(Change::Set(next));
    step.look_again(SOON, Reason::Restoring);
    true
}

fn living<'s, 'a>(situation: &'s Situation<'a>) -> Option<&'s Living<'a>> {
    match &situation.stage {
        Stage::Unreadable { .. } | Stage::Unborn => None,
        Stage::Unrecorded(living)
        | Stage::Forming { birth: _, living }
        | Stage::Formed {
            cluster_id: _,
            living,
        } => Some(living),
    }
}

fn go_on(
    cluster: &Cluster,
    situation: &Situation<'_>,
    memory: &Restoration,
    wish: &Wish<'_>,
    step: &mut Step,
) {
    match memory.stage {
        RestorationStage::Stopping => stop::stop(cluster, situation, memory, wish, step),
        RestorationStage::Filling => fill::fill(cluster, situation, memory, wish, step),
        RestorationStage::Waiting | RestorationStage::Growing | RestorationStage::Done => {}
    }
    step.look_again(PACE, Reason::Restoring);
}

/// A restoration whose EtcdRestore is gone. Before anything was lost it is taken back.
fn orphaned(situation: &Situation<'_>, memory: &Restoration, step: &mut Step) -> bool {
    let name = &memory.restore;
    if memory.stage == RestorationStage::Stopping && situation.memory.cluster_id.is_some() {
        step.find(
            FindingKind::Doing,
            Reason::Restoring,
            format!(
                "EtcdRestore {name} is gone before anything was lost; the members are started again."
            ),
        );
        step.restoration = Some(Change::Forget);
        step.look_again(SOON, Reason::Restoring);
        return true;
    }
    step.find(
        FindingKind::Blocked,
        Reason::RestoreWaiting,
        format!(
            "EtcdRestore {name} is gone, and the cluster was on its way from its backup. Create another EtcdRestore{}; \
             the volume claims of before are kept.",
            memory.replaces.map_or_else(String::new, |id| format!(" with spec.replaces: \"{id}\""))
        ),
    );
    step.look_again(LATER, Reason::RestoreWaiting);
    true
}

/// Whether the last word on a cluster that was never born is a restore that failed: then it is not born empty either.
fn is_failed(wishes: &[Wish<'_>], step: &mut Step) -> bool {
    let Some(failed) = wishes.last().filter(|wish| !wish.status.succeeded) else {
        return false;
    };
    step.find(
        FindingKind::Blocked,
        Reason::RestoreWaiting,
        format!(
            "EtcdRestore {} failed ({}), and this cluster was to be born from its backup. Create another EtcdRestore; or \
             delete that one, and an empty cluster is born.",
            failed.resource.name, failed.status.reason
        ),
    );
    step.look_again(LATER, Reason::RestoreWaiting);
    true
}

/// A quorum answers and the others follow. Says whether another EtcdRestore takes over, because this one is given up.
fn attend_growing(
    cluster: &Cluster,
    situation: &Situation<'_>,
    memory: &Restoration,
    own: Option<&Wish<'_>>,
    wishes: &[Wish<'_>],
    step: &mut Step,
) -> bool {
    if own.is_none()
        && let Some(other) = next(wishes, Some(memory))
        && consider(cluster, situation, other, step)
    {
        return true;
    }
    if let Stage::Formed { living, .. } = &situation.stage {
        grow::grow(cluster, situation, living, memory, step);
    }
    false
}
