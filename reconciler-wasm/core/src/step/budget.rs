//! The disruption budget: a quorum of who votes and of who is asked for, and of who is about to vote. One more beside a
//! learner that may be Ready, for an eviction counts it like a voter.
//!
//! Writes it where it differs. A budget of somebody else's is left alone and named.

use contract::{Child, DisruptionBudget, Effect, FindingKind, ObjectKind, Observed, Reason, names};

use super::{Step, furnish};
use crate::assess::{Living, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

/// Applies the budget where it keeps another number. `living` is none at birth.
pub(super) fn keep(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &mut Step,
) {
    if let Observed::Unknown(why) = &situation.snapshot.objects.disruption_budgets {
        step.find(
            FindingKind::Waiting,
            Reason::KubernetesUnreadable,
            format!("PodDisruptionBudgets could not be listed ({why})."),
        );
        return;
    }
    let voters = living.map_or(0, |living| living.voters().count());
    let most = voters.max(cluster.size.unwrap_or_default());
    if most == 0 {
        return;
    }
    let name = names::disruption_budget(&cluster.name);
    let mut foreign = situation.snapshot.objects.foreign.iter();
    if let Some(foreign) =
        foreign.find(|foreign| foreign.is(ObjectKind::PodDisruptionBudget, &name))
    {
        furnish::say_foreign(ObjectKind::PodDisruptionBudget, &name, &foreign.owner, step);
        return;
    }
    let kept = least(cluster, living, most);
    // One that was raised for a learner stays until that has its vote.
    let raised = least(cluster, living, most + 1);
    let is_raised = |found: &DisruptionBudget| {
        let learner = living.and_then(Living::learner);
        learner.is_some() && is_as_wanted(found, cluster, raised)
    };
    // While nobody confirms who votes, whoever was a learner may have got its vote unseen.
    let is_unknown = living.is_some_and(|living| living.membership.is_none())
        && situation.memory.asleep_since.is_none();
    let found = found(situation, &name);
    if !found.is_some_and(|found| {
        found.deleted.is_some()
            || is_as_wanted(found, cluster, kept)
            || is_raised(found)
            || (is_unknown && keeps_more(found, cluster, kept))
    }) {
        apply(cluster, situation, found, kept, step);
    }
}

/// What the budget keeps at least, where so many vote or are asked for. An eviction that takes a learner which is Ready for
/// one of the quorum leaves one voter too few.
fn least(cluster: &Cluster, living: Option<&Living<'_>>, voters: usize) -> usize {
    let beside = living
        .filter(|living| is_learner_counted(cluster, living))
        .map_or(0, |living| quorum(living.voters().count()) + 1);
    quorum(voters).max(beside)
}

fn is_learner_counted(cluster: &Cluster, living: &Living<'_>) -> bool {
    living.membership.is_some()
        && living.learner().is_some_and(|learner| {
            let own = learner.pod.map(|pod| pod.image.as_str());
            let image = own.or_else(|| build::running_image(living));
            build::may_learner_be_ready(image.unwrap_or(&cluster.image))
        })
}

/// Whether the pod of a learner may be made: what it is counted for is kept before, as [`keep`] writes it.
pub(super) fn is_ready_for_learner(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
) -> bool {
    let name = names::disruption_budget(&cluster.name);
    if !is_learner_counted(cluster, living) || is_out_of_hand(situation, &name) {
        return true;
    }
    let voters = living.voters().count();
    let kept = least(
        cluster,
        Some(living),
        voters.max(cluster.size.unwrap_or_default()),
    );
    found(situation, &name).is_some_and(|found| {
        found.deleted.is_some()
            || is_as_wanted(found, cluster, kept)
            || keeps_more(found, cluster, kept)
    })
}

/// Whose pods are still to be taken over, those no budget of ours selects; and one of somebody else's is left alone.
fn is_out_of_hand(situation: &Situation<'_>, name: &str) -> bool {
    let Situation { snapshot, .. } = situation;
    let mut foreign = snapshot.objects.foreign.iter();
    snapshot.resource.is_being_taken_over()
        || foreign.any(|foreign| foreign.is(ObjectKind::PodDisruptionBudget, name))
}

/// Makes the budget keep a quorum of one voter more, before a learner gets its vote. Says whether it may get it: not
/// while nobody knows what the budget keeps, which [`keep`] has told.
pub(super) fn raise(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let Situation { snapshot, .. } = situation;
    let name = names::disruption_budget(&cluster.name);
    if is_out_of_hand(situation, &name) {
        return true;
    }
    if matches!(snapshot.objects.disruption_budgets, Observed::Unknown(_)) {
        return false;
    }
    let voters = living.voters().count() + 1;
    let kept = least(
        cluster,
        Some(living),
        voters.max(cluster.size.unwrap_or_default()),
    );
    let found = found(situation, &name);
    if found.is_some_and(|found| found.deleted.is_some() || is_as_wanted(found, cluster, kept)) {
        return true;
    }
    step.actions.retain(|action| {
        let kind = action.effect.kind();
        kind != Some(ObjectKind::PodDisruptionBudget)
    });
    apply(cluster, situation, found, kept, step);
    true
}

fn found<'a>(situation: &Situation<'a>, name: &str) -> Option<&'a DisruptionBudget> {
    let list = situation.snapshot.objects.disruption_budgets.seen()?;
    list.iter().find(|budget| budget.name == name)
}

fn is_as_wanted(found: &DisruptionBudget, cluster: &Cluster, kept: usize) -> bool {
    found.min_available.as_deref() == Some(kept.to_string().as_str())
        && found.selector == cluster.dialect.labels(&cluster.name)
}

fn keeps_more(found: &DisruptionBudget, cluster: &Cluster, least: usize) -> bool {
    let kept = found
        .min_available
        .as_deref()
        .and_then(|kept| kept.parse().ok());
    kept.is_some_and(|kept: usize| kept > least)
        && found.selector == cluster.dialect.labels(&cluster.name)
}

fn apply(
    cluster: &Cluster,
    situation: &Situation<'_>,
    found: Option<&DisruptionBudget>,
    kept: usize,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let wanted = build::disruption_budget(cluster, resource, kept);
    let object = Box::new(Child::PodDisruptionBudget(wanted));
    let mut action = pre::action(resource, Effect::Apply { object });
    step.actions.push(match found {
        Some(found) => {
            // A request that arrives late undoes nothing that was written since.
            action.pre.object_version = Some(found.resource_version.clone());
            action.present(&found.uid)
        }
        None => action.absent(),
    });
}
