//! Preconditions of actions, as the snapshot justifies them.
//!
//! Each constructor is named after the effect it guards.

use contract::{
    Action, Effect, EventType, Membership, ObjectPrecondition, Preconditions, Reason, Resource,
};
use k8s_openapi::api::core::v1::Pod;

/// An effect with only the resource's identity as its precondition.
pub(crate) fn action(resource: &Resource, effect: Effect) -> Action {
    Action {
        effect,
        pre: Preconditions {
            resource_uid: resource.uid.clone(),
            ..Preconditions::default()
        },
    }
}

/// The longest note of an event that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// An event on the resource.
pub(crate) fn event(
    resource: &Resource,
    kind: EventType,
    reason: &str,
    mut note: String,
) -> Action {
    if note.len() > LONGEST_NOTE {
        note.truncate(note.floor_char_boundary(LONGEST_NOTE - 4));
        note.push('…');
    }
    action(
        resource,
        Effect::Event {
            kind,
            reason: reason.to_owned(),
            note,
        },
    )
}

/// An event whose reason is one of the list.
pub(crate) fn event_of(
    resource: &Resource,
    kind: EventType,
    reason: Reason,
    note: String,
) -> Action {
    event(resource, kind, reason.name(), note)
}

impl ActionExt for Action {
    fn present(mut self, uid: &str) -> Self {
        self.pre.object = Some(ObjectPrecondition::Present {
            uid: uid.to_owned(),
        });
        self
    }

    fn absent(mut self) -> Self {
        self.pre.object = Some(ObjectPrecondition::Absent);
        self
    }

    fn followed_by(mut self, pod: Pod) -> Self {
        self.pre.successor = Some(Box::new(pod));
        self
    }

    fn on_members(mut self, membership: &Membership) -> Self {
        self.pre.cluster_id = Some(membership.cluster_id);
        self.pre.members = Some(membership.fingerprint());
        self
    }
}

/// Adds one precondition.
pub(crate) trait ActionExt {
    /// The object is the one of this UID.
    fn present(self, uid: &str) -> Self;
    /// No object of that name exists.
    fn absent(self) -> Self;
    /// The API server is willing to create this pod in the place of the deleted one.
    fn followed_by(self, pod: Pod) -> Self;
    /// The member list is the one decided on.
    fn on_members(self, membership: &Membership) -> Self;
}
