//! The model's Kubernetes in the state that a snapshot saw the real one in, and what it makes of actions.
//!
//! For whoever holds the model against recordings. It does not know etcd: changes of members are answered by
//! [`crate::verdict`].

use contract::{Action, Effect, Snapshot};

use crate::world::World;

/// Objects as a snapshot shows them, on which actions can be tried.
#[derive(Clone)]
pub struct Ground(World);

impl Ground {
    /// # Errors
    /// Which objects the snapshot does not show, in words.
    pub fn of(snapshot: &Snapshot) -> Result<Self, String> {
        let mut world = World::standing(snapshot)?;
        let sets = snapshot.old_sets.seen().into_iter().flatten();
        world.kube.sets = sets.map(|set| (set.name.clone(), set.clone())).collect();
        Ok(Self(world))
    }

    /// Carries the action out, or says why the API server does not. None where it changes no object that the model has.
    pub fn act(&mut self, action: &Action) -> Option<Result<(), &'static str>> {
        match &action.effect {
            Effect::UpdateStatus { .. }
            | Effect::Apply { .. }
            | Effect::AnnotatePod { .. }
            | Effect::TakeUpClaim { .. }
            | Effect::RetireReplicaSet { .. }
            | Effect::SetImage { .. }
            | Effect::Delete { .. }
            | Effect::Issue { .. } => Some(self.0.effect(action)),
            Effect::Event { .. }
            | Effect::AddLearner { .. }
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
            | Effect::Schedule(_) => None,
        }
    }

    /// What stands now, as an operator sees it.
    #[must_use]
    pub fn look(&self) -> Snapshot {
        let mut snapshot = self.0.first_look();
        self.0.look_at_secrets(&mut snapshot.secrets);
        snapshot
    }
}
