//! What a restoration waits for: a backup that is proven and fits, and a cluster that loses nothing by it, or the consent
//! of a person.
//!
//! Absence of evidence holds it.

use contract::{
    ClusterId, FindingKind, Millis, Recovery, Restoration, RestorationStage, RiskyAct, StoreKind,
};
use semver::Version;

use super::Wish;
use crate::assess::{Disk, Living, Situation, Stage};
use crate::quorum::quorum;
use crate::step::{Step, consent, guard, recover};
use crate::validate::Cluster;

/// How long a quorum that was there may be away before nothing is left to be saved.
const BEFORE_IT_IS_LOST: Millis = Millis::seconds(30);

type Held = Option<(FindingKind, String)>;

/// Why the cluster does not go on from the backup yet; none when it does.
pub(super) fn why_not(cluster: &Cluster, situation: &Situation<'_>, wish: &Wish<'_>) -> Held {
    let waiting = |why: String| Some((FindingKind::Waiting, why));
    let blocked = |why: String| Some((FindingKind::Blocked, why));
    let Some(proof) = wish.status.proof.as_ref().filter(|_| wish.is_proven()) else {
        return waiting("its backup is read from the first byte to the last first.".to_owned());
    };
    if StoreKind::of(&wish.spec.source()).is_none() {
        return waiting("its spec names no store.".to_owned());
    }
    if situation.snapshot.operator_image.is_none() {
        return blocked(
            "the operator does not know its own image, in which members fetch the backup. Start it with \
             --operator-image or BINNACLE_OPERATOR_IMAGE; the manifests do."
                .to_owned(),
        );
    }
    if let Some(why) = why_too_new(&proof.etcd_version, &cluster.version) {
        return blocked(why);
    }
    if cluster.size.is_none_or(|size| size == 0) {
        return blocked(
            "spec.size of the cluster is no size to grow to. Set it to 1, 3, 5 or 7.".to_owned(),
        );
    }
    if is_recovering(situation) {
        return waiting("a recovery by spec.quorumRecovery is under way.".to_owned());
    }
    if let Some(why) = why_not_again(situation, wish) {
        return blocked(why);
    }
    if let Some(why) = why_not_beside_another(situation, wish) {
        return blocked(why);
    }
    match &situation.stage {
        Stage::Unreadable { .. } => waiting("the cluster's objects cannot be read.".to_owned()),
        Stage::Unborn => None,
        Stage::Forming { .. } if is_filling(situation) => None,
        Stage::Forming { .. } => {
            waiting("the cluster is being born empty; that ends first.".to_owned())
        }
        Stage::Unrecorded(living) => why_not_unrecorded(situation, living),
        Stage::Formed { cluster_id, living } => {
            why_not_formed(situation, living, *cluster_id, wish)
        }
    }
}

/// Whether a recovery is under way that may still come to something: one whose survivor has lost its disk waits for a restore.
fn is_recovering(situation: &Situation<'_>) -> bool {
    let memory = situation.memory.recovery.as_ref();
    let is_over = |recovery: &Recovery| {
        super::living(situation).is_some_and(|living| recover::has_lost_its_disk(living, recovery))
    };
    memory.is_some_and(|recovery| recovery.is_under_way() && !is_over(recovery))
}

/// What another EtcdRestore gave up, by a consent or because it was lost, is given up for this one only by a consent of
/// its own: the claims of before may be whole.
fn why_not_again(situation: &Situation<'_>, wish: &Wish<'_>) -> Option<String> {
    let memory = anothers(situation, wish)?;
    let id = memory.replaces?;
    if wish.spec.replaces.as_deref() == Some(id.to_string().as_str()) {
        return None;
    }
    Some(format!(
        "EtcdRestore {} gave cluster {id} up and came to nothing. What that cluster had is on the volume claims of \
         before, which go once the cluster is whole from this backup. To consent: {}",
        memory.restore,
        command(wish, id)
    ))
}

/// What another EtcdRestore filled and nobody recorded may have taken clients' writes once its members lead.
fn why_not_beside_another(situation: &Situation<'_>, wish: &Wish<'_>) -> Option<String> {
    anothers(situation, wish)?;
    serves(situation).then(|| unrecorded(situation, wish))
}

/// Another EtcdRestore left this half done, before its members were recorded.
fn anothers<'a>(situation: &Situation<'a>, wish: &Wish<'_>) -> Option<&'a Restoration> {
    let memory = super::first(situation)?;
    let is_anothers = memory.uid != wish.resource.uid && situation.memory.cluster_id.is_none();
    is_anothers.then_some(memory)
}

/// Why members are not stopped any more: since this began they may take writes again, and nobody consents to give those
/// up.
pub(super) fn why_not_stopped(situation: &Situation<'_>, wish: &Wish<'_>) -> Option<String> {
    let Some(id) = situation.memory.cluster_id else {
        return serves(situation).then(|| unrecorded(situation, wish));
    };
    if wish.spec.replaces.as_deref() == Some(id.to_string().as_str()) {
        return None;
    }
    let why = if serves(situation) {
        format!("cluster {id} has a quorum again, and what it has would be given up.")
    } else {
        why_it_may_serve(situation, id)?
    };
    Some(format!(
        "{why} To keep it, delete this EtcdRestore. To consent: {}",
        command(wish, id)
    ))
}

/// Why a cluster that nobody is known to lead may take writes at this moment or the next.
fn why_it_may_serve(situation: &Situation<'_>, id: ClusterId) -> Option<String> {
    if let Some(why) = consent::who_may_only_remember_a_leader(situation) {
        return Some(why);
    }
    let voters = super::living(situation).map_or(0, |living| living.voters().count());
    // A learner may have got its vote and not know it yet.
    let answering = situation.snapshot.etcd.endpoints.iter().filter(|endpoint| {
        let status = endpoint.status.seen();
        status.is_some_and(|status| status.cluster_id == id)
    });
    let count = answering.count();
    (voters > 0 && count >= quorum(voters)).then(|| {
        format!(
            "{count} members of cluster {id} answer, so they may elect a leader, and what it has would be given up."
        )
    })
}

/// Whether a voter names a leader, or a quorum confirms who is a member.
fn serves(situation: &Situation<'_>) -> bool {
    let etcd = &situation.snapshot.etcd;
    let recorded = situation.memory.cluster_id;
    let leads = etcd.endpoints.iter().any(|endpoint| {
        endpoint.status.seen().is_some_and(|status| {
            let is_own = recorded.is_none_or(|id| id == status.cluster_id);
            status.leader.is_some() && !status.learner && is_own
        })
    });
    leads || etcd.membership.seen().is_some_and(|list| list.linearizable)
}

fn unrecorded(situation: &Situation<'_>, wish: &Wish<'_>) -> String {
    let pods = super::living(situation).map(|living| living.pods.keys().copied().collect());
    let names: Vec<&str> = pods.unwrap_or_default();
    format!(
        "members of no recorded cluster, as an earlier EtcdRestore filled them, serve by now, and clients may have \
         written to them. To give that up: kubectl --namespace {} delete pod {}",
        wish.resource.namespace,
        names.join(" ")
    )
}

fn is_filling(situation: &Situation<'_>) -> bool {
    let memory = situation.memory.restoration.as_ref();
    memory.is_some_and(|memory| memory.stage == RestorationStage::Filling)
}

/// etcd reads what older versions wrote, and refuses what a newer one did.
fn why_too_new(found: &str, wanted: &Version) -> Option<String> {
    let found = Version::parse(found).ok()?;
    ((found.major, found.minor) > (wanted.major, wanted.minor)).then(|| {
        format!(
            "its backup is of etcd {}.{}, and the cluster's spec.version is {wanted}; etcd does not read what a newer \
             version wrote. Set spec.version of the EtcdCluster to {}.{} or newer.",
            found.major, found.minor, found.major, found.minor
        )
    })
}

/// Objects without a record: of an older operator, or of a filling that came to nothing.
fn why_not_unrecorded(situation: &Situation<'_>, living: &Living<'_>) -> Held {
    if is_filling(situation) {
        return None;
    }
    let runs = living.pods.values().find(|pod| pod.running);
    runs.map(|pod| {
        (
            FindingKind::Waiting,
            format!(
                "pod {} of this cluster runs, and the cluster's id is not recorded yet. It is recorded when a quorum \
                 answers; if none will, delete that pod.",
                pod.name
            ),
        )
    })
}

fn why_not_formed(
    situation: &Situation<'_>,
    living: &Living<'_>,
    cluster_id: ClusterId,
    wish: &Wish<'_>,
) -> Held {
    let given = wish.spec.replaces.as_deref().filter(|id| !id.is_empty());
    if given == Some(cluster_id.to_string().as_str()) {
        return None;
    }
    let answers = living.membership.is_some() || living.votes().has_quorum();
    let lossy = living
        .members
        .iter()
        .filter(|member| member.disk == Disk::Kept)
        .find(|member| member.pod.is_some_and(|pod| pod.claim.is_none()));
    let voters = living.voters().count();
    let kept = living.voters().filter(|member| member.disk == Disk::Kept);
    let kept = kept.count();
    let (kind, what) = if answers {
        (
            FindingKind::Blocked,
            format!("cluster {cluster_id} has a quorum, and what it has would be given up."),
        )
    } else if situation.memory.asleep_since.is_some() {
        (
            FindingKind::Blocked,
            format!("cluster {cluster_id} is only stopped, and what it has would be given up."),
        )
    } else if !consent::is_lost_for_good(situation, living) {
        (
            FindingKind::Waiting,
            format!("the quorum of cluster {cluster_id} may come back by itself."),
        )
    } else if kept >= quorum(voters) {
        (
            FindingKind::Blocked,
            format!(
                "{kept} of the {voters} members that vote in cluster {cluster_id} have their disks, and what is on them would \
                 be given up. They go on from them when they run again."
            ),
        )
    } else if let Some(member) = lossy {
        (
            FindingKind::Blocked,
            format!(
                "{} of cluster {cluster_id} has data, and has it in its pod: it would be gone with the pod.",
                member.name
            ),
        )
    } else {
        (
            FindingKind::Blocked,
            why_it_may_serve(situation, cluster_id)?,
        )
    };
    let wrong = given.map_or_else(String::new, |found| {
        format!(" (spec.replaces {found:?} is another cluster's id.)")
    });
    Some((
        kind,
        format!("{what}{wrong} To consent: {}", command(wish, cluster_id)),
    ))
}

/// What is given up is saved first, where it has a quorum to be saved from and an EtcdBackup asks for that.
pub(super) fn why_not_saved(situation: &Situation<'_>, wish: &Wish<'_>, step: &mut Step) -> Held {
    let Stage::Formed { living, .. } = &situation.stage else {
        return None;
    };
    // Who was heard of a moment ago may elect a leader at this one.
    let now = situation.snapshot.now;
    let hopeful = living.voters().filter(|member| {
        let is_fresh = living.down_for(member, now) < BEFORE_IT_IS_LOST;
        member.is_healthy() || (member.disk == Disk::Kept && is_fresh)
    });
    let voters = living.voters().count();
    if living.membership.is_none() && hopeful.count() < quorum(voters) {
        return None;
    }
    let held = guard::why_not(situation, RiskyAct::Restore, &wish.resource.uid, step);
    held.map(|(kind, why)| (kind, format!("it begins once {why}.")))
}

/// The command that sets the consent.
fn command(wish: &Wish<'_>, cluster_id: ClusterId) -> String {
    format!(
        r#"kubectl --namespace {} patch etcdrestore {} --type merge --patch '{{"spec":{{"replaces":"{cluster_id}"}}}}'"#,
        wish.resource.namespace, wish.resource.name
    )
}
