//! What the members run, and what they are to run next.
//!
//! Joins versions that members answered with, images of their pods and the asked version. Changes nothing.

use contract::{Pod, SNAPSHOT_COUNT_VARIABLE, names};
use semver::Version;

use super::downgrade;
use super::path::{self, Way};
use crate::assess::{Living, Member};
use crate::validate::Cluster;

/// Where a cluster stands between what it runs and what is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Every voter has the asked image and answered with its version.
    Settled,
    /// Members are to be moved to this stage.
    Move(Stage),
    /// Nothing is moved; in words.
    Blocked(String),
}

/// Where all members are moved to next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) version: Version,
    pub(crate) image: String,
    pub(crate) direction: Direction,
}

/// How a stage stands to the minor version that members run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Some member runs that minor version or a newer one is on its way.
    Within,
    /// No member runs that minor version yet: all must agree on the one before.
    Up,
    /// Members return to the minor version that the cluster as a whole never left, or has left by etcd's own procedure.
    Back,
    /// The cluster as a whole is taken to an older minor version by etcd's own procedure.
    Down,
}

/// Plans the next stage of a cluster that has formed.
pub(crate) fn plan(cluster: &Cluster, living: &Living<'_>) -> Plan {
    if let Some(why) = &cluster.keeps_images {
        return Plan::Blocked(why.clone());
    }
    let mut ran: Vec<Version> = living.voters().filter_map(version_ran).collect();
    ran.sort();
    let (Some(lowest), Some(highest)) = (ran.first(), ran.last()) else {
        return Plan::Settled;
    };
    let is_settled = lowest == highest
        && *lowest == cluster.version
        && living
            .voters()
            .filter_map(|member| member.pod)
            .all(|pod| pod.image == cluster.image && !is_restart_pending(pod));
    if is_settled {
        return Plan::Settled;
    }
    let (version, direction) = match path::way(lowest, highest, &cluster.version) {
        Err(no_way) => return Plan::Blocked(format!("{no_way}.")),
        Ok(Way::Back(version)) => (version, Direction::Back),
        Ok(Way::Down(version)) => (version, Direction::Down),
        Ok(Way::Forward(stages)) => match stages.as_slice() {
            [first, rest @ ..] if rest.is_empty() || cluster.through_minors => {
                (first.clone(), onward(highest, first))
            }
            _ => return Plan::Blocked(long_way(lowest, &stages)),
        },
    };
    let why_not = match direction {
        Direction::Within | Direction::Back => why_no_return(living, highest, &version),
        Direction::Up => why_not_saved(cluster, living, highest, &version),
        Direction::Down => None,
    };
    if let Some(why) = why_not {
        return Plan::Blocked(why);
    }
    Plan::Move(Stage {
        image: cluster.image_of(&version),
        direction,
        version,
    })
}

fn onward(highest: &Version, version: &Version) -> Direction {
    if version.minor > highest.minor {
        Direction::Up
    } else {
        Direction::Within
    }
}

/// Says why the next minor version may not read the members' logs, if so. A log that was never summed up in a snapshot is
/// read again from its first entry, and etcd 3.6.16 and 3.7.3 were seen to lose the member list of 3.5.35, and to panic,
/// over such logs.
fn why_not_saved(
    cluster: &Cluster,
    living: &Living<'_>,
    highest: &Version,
    version: &Version,
) -> Option<String> {
    let count = snapshot_count(cluster, living, highest);
    // Who is silent is not moved by this: the roll waits for it, and its rescue for its answer.
    let may_be_saved = |member: &Member<'_>| !member.answers() || has_saved(member, count);
    if living.voters().all(may_be_saved) {
        return None;
    }
    Some(format!(
        "the members have not certainly written a snapshot of their log yet, and {version} may not read a log of {highest} \
         without one. They write it every {count} entries. Wait until then, or set spec.etcd.snapshotCount to 10: \
         members restart one by one, and the way is free."
    ))
}

/// Whether the member itself says that it has written a snapshot of its log, which its next minor version can read.
pub(super) fn is_saved(cluster: &Cluster, living: &Living<'_>, member: &Member<'_>) -> bool {
    version_ran(member)
        .is_some_and(|runs| has_saved(member, snapshot_count(cluster, living, &runs)))
}

fn has_saved(member: &Member<'_>, count: u64) -> bool {
    member
        .answer
        .is_some_and(|status| status.raft_applied_index > count.saturating_mul(2))
}

/// After how many entries a member writes a snapshot of its log: as the spec says where all pods were made from it, else
/// etcd's default.
fn snapshot_count(cluster: &Cluster, living: &Living<'_>, runs: &Version) -> u64 {
    let is_made_from_spec = |member: &Member<'_>| {
        member
            .pod
            .and_then(|pod| pod.annotations.get(names::SHAPE_ANNOTATION))
            .is_some_and(|shape| *shape == cluster.shape)
    };
    let asked = cluster
        .pod
        .etcd_env
        .iter()
        .flatten()
        .find(|variable| variable.name == SNAPSHOT_COUNT_VARIABLE)
        .and_then(|variable| variable.value.as_deref()?.parse().ok());
    let default = if runs.minor <= 5 { 100_000 } else { 10_000 };
    asked
        .filter(|_| living.voters().all(is_made_from_spec))
        .unwrap_or(default)
}

/// Says why members of `highest` cannot return to the older minor version of `version`, if they cannot: the cluster
/// takes on a version as soon as all members run it, and one that answers with the old version and
/// keeps the old image is the proof that it has not.
fn why_no_return(living: &Living<'_>, highest: &Version, version: &Version) -> Option<String> {
    if version.minor >= highest.minor || downgrade::is_under_way_to(living, version.minor) {
        return None;
    }
    if living
        .voters()
        .any(|member| keeps_back(member, version.minor))
    {
        return None;
    }
    Some(format!(
        "all members have {highest} or are being restarted with it, so the cluster takes on that version and {version} \
         would not read its data. Set spec.version back to {highest}."
    ))
}

/// Whether the member answers, last said that it runs this minor version, and has an image of it still: as long as one
/// does, the cluster as a whole has not taken on a newer one.
pub(super) fn keeps_back(member: &Member<'_>, minor: u64) -> bool {
    member
        .pod
        .and_then(|pod| version_of_image(&pod.image))
        .is_some_and(|image| image.minor == minor)
        && member.answers()
        && version_ran(member).is_some_and(|ran| ran.minor == minor)
}

fn long_way(lowest: &Version, stages: &[Version]) -> String {
    let all: Vec<String> = std::iter::once(lowest)
        .chain(stages)
        .map(ToString::to_string)
        .collect();
    let first = stages.first().unwrap_or(lowest);
    format!(
        "etcd does not go there in one step; the way is {}. Set spec.upgrade.throughMinors to true to let the operator \
         walk it, or set spec.version to {first} first.",
        all.join(" -> ")
    )
}

/// The version a member runs, or ran when it last answered; that of its image when it never did.
pub(crate) fn version_ran(member: &Member<'_>) -> Option<Version> {
    let answered = member
        .answer
        .map(|status| status.version.as_str())
        .or_else(|| member.record.and_then(|record| record.version.as_deref()));
    match answered {
        Some(version) => Version::parse(version).ok(),
        None => member.pod.and_then(|pod| version_of_image(&pod.image)),
    }
}

/// The version an image's tag names.
pub(crate) fn version_of_image(image: &str) -> Option<Version> {
    let (_, tag) = image.rsplit_once(":v")?;
    Version::parse(tag).ok()
}

/// Whether the pod's image was changed and its container has not been restarted since.
pub(crate) fn is_restart_pending(pod: &Pod) -> bool {
    pod.annotations
        .get(names::RESTARTS_ANNOTATION)
        .is_some_and(|count| *count == pod.restarts.to_string())
}

/// Whether some container still runs with the image before the one that its pod has.
pub(crate) fn is_restart_due(living: &Living<'_>) -> bool {
    living.pods.values().any(|pod| pod.is_about_to_restart())
}

/// Whether the member has never answered with the image that its pod has.
pub(crate) fn is_on_its_way(member: &Member<'_>) -> bool {
    let Some(pod) = member.pod else { return false };
    let ran = member
        .record
        .and_then(|record| record.version.as_deref())
        .and_then(|version| Version::parse(version).ok());
    is_restart_pending(pod) || (ran.is_some() && ran != version_of_image(&pod.image))
}
