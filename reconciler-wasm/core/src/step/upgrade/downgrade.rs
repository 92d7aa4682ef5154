//! etcd's own procedure that takes a cluster back by one minor version (<https://etcd.io/docs/v3.6/downgrades/>).
//!
//! Begun before the first member is moved, so that the older version can read what the newer one wrote; ended when the
//! spec asks for something else. When all members run the older version, etcd ends it by itself. Moves no member.

use contract::{Action, Effect, EventType, FindingKind, Membership, Reason};

use super::plan::{Direction, Stage, is_restart_due};
use super::{minor_of, plan};
use crate::assess::{Living, Member, Situation};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::step::{SOON, Step};

/// Whether the procedure takes the cluster to this minor version, by the word of a member that knows of it.
pub(super) fn is_under_way_to(living: &Living<'_>, minor: u64) -> bool {
    targets(living).any(|target| target == minor)
}

/// The minor versions that members say the cluster is taken back to. Members before 3.6 say nothing.
fn targets(living: &Living<'_>) -> impl Iterator<Item = u64> {
    let statuses = living.voters().filter_map(Member::status);
    statuses.filter_map(|status| minor_of(status.downgrade.as_deref()?))
}

/// Has etcd make the data files fit for the older version, and waits until they are. Says whether it did either.
pub(super) fn begin(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    stage: &Stage,
    step: &mut Step,
) -> bool {
    let minor = stage.version.minor;
    if stage.direction == Direction::Down && !is_under_way_to(living, minor) {
        let to = format!("3.{minor}");
        let words = format!(
            "etcd is told to go back to {to}: its members bring their data files into that format before one is moved"
        );
        let effect = Effect::Downgrade { to: Some(to) };
        tell(situation, membership, effect, words, step);
        return true;
    }
    let late = living.voters().find(|member| {
        let storage = member
            .status()
            .and_then(|status| minor_of(status.storage_version.as_deref()?));
        storage.is_some_and(|storage| storage > minor)
            && plan::version_ran(member).is_some_and(|ran| ran.minor > minor)
    });
    let Some(late) = late.filter(|_| stage.direction != Direction::Up) else {
        return false;
    };
    step.find_of(
        FindingKind::Waiting,
        Reason::Downgrading,
        late.name,
        format!(
            "{} brings its data files into the format of etcd 3.{minor}; no member is moved before all have done so.",
            late.name
        ),
    );
    step.look_again(SOON, Reason::Downgrading);
    true
}

/// Ends a procedure that leads to another version than the planned one. Says whether it did.
pub(super) fn end(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    stage: Option<&Stage>,
    step: &mut Step,
) -> bool {
    let planned = stage
        .filter(|stage| matches!(stage.direction, Direction::Back | Direction::Down))
        .map(|stage| stage.version.minor);
    let is_other = targets(living).any(|target| Some(target) != planned);
    // Whose container is about to be restarted may still be on its way to the older version.
    if !is_other || is_restart_due(living) {
        return false;
    }
    let words = "etcd is told to stay at its version, because the spec asks for no older one";
    let effect = Effect::Downgrade { to: None };
    tell(situation, membership, effect, words.to_owned(), step);
    true
}

fn tell(
    situation: &Situation<'_>,
    membership: &Membership,
    effect: Effect,
    words: String,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let mut action: Action = pre::action(resource, effect).on_members(membership);
    action.pre.healthy_voters = u32::try_from(quorum(membership.voters().count())).ok();
    step.actions.push(action);
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::Downgrading,
        words.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Downgrading, format!("{words}."));
    step.look_again(SOON, Reason::Downgrading);
}
