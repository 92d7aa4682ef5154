//! Why no quorum of members answers, and what a person can do about it.
//!
//! Says it and does nothing; what may be done without a quorum is decided elsewhere.

use contract::{ClusterId, FindingKind, Membership, Millis, Observed, Pod, Reason};

use super::{DEAD_NODE, Step, consent, last_words, repair};
use crate::assess::{Disk, Living, Situation, name_of};
use crate::quorum;

/// Whose end was asked for so long ago has had the time that a member is given to stop.
const HELD_UP: Millis = Millis::seconds(60);

/// Says why nobody confirms the member list.
pub(super) fn say(
    situation: &Situation<'_>,
    cluster_id: ClusterId,
    living: &Living<'_>,
    step: &mut Step,
) {
    let other = match situation.snapshot.etcd.membership.seen() {
        Some(list) if list.cluster_id != cluster_id => Some(list),
        Some(_) | None => None,
    };
    if let Some(list) = other {
        step.find(
            FindingKind::Blocked,
            Reason::ClusterIdMismatch,
            format!(
                "{} answers as cluster {}, but this cluster is {cluster_id}. Nothing is changed. {}",
                list.from,
                list.cluster_id,
                way_of_mismatch(situation, cluster_id, list)
            ),
        );
    } else if let Some(words) = wants_a_user(situation) {
        step.find(FindingKind::Blocked, Reason::MembersUnknown, words);
    } else if living.votes().has_quorum() {
        let votes = living.votes();
        step.find(
            FindingKind::Waiting,
            Reason::MembersUnknown,
            format!(
                "{} of {} voters are healthy, but none confirms the member list: they elect a leader, or are very slow. \
                 Nothing is changed until one does.",
                votes.healthy, votes.voters
            ),
        );
    } else {
        let votes = living.votes();
        let complaints: Vec<String> = living
            .voters()
            .filter(|member| !member.is_healthy())
            .map(|member| {
                let ended = member.pod.map_or(String::new(), last_words::of);
                let ended = ended.trim_end_matches('.').replacen(' ', ". ", 1);
                format!("{}: {}{ended}", member.name, repair::lost_words(member))
            })
            .collect();
        let all_lost = living.voters().all(|member| member.disk == Disk::Lost);
        let (kind, reason, way) = if all_lost {
            (
                FindingKind::Blocked,
                Reason::DataLost,
                "No disk is left. Restore the cluster from a backup.".to_owned(),
            )
        } else if let Some(offer) = consent::offer(situation, living) {
            (
                FindingKind::Blocked,
                Reason::QuorumLost,
                format!(
                    "Nothing is removed or deleted: the members that have their disks hold the only copy of the data, \
                     and can be read with --consistency=s. Bring a lost disk or a node back, or restore from a \
                     backup. {offer}"
                ),
            )
        } else {
            (
                FindingKind::Waiting,
                Reason::QuorumLost,
                "Waiting for them to come back. Nothing is removed or deleted meanwhile. Where they cannot, restore from \
                 a backup."
                    .to_owned(),
            )
        };
        step.find(
            kind,
            reason,
            format!(
                "{} of {} voters are healthy; {} are needed. {}. {way}{}",
                votes.healthy,
                votes.voters,
                quorum::quorum(votes.voters),
                complaints.join("; "),
                way_of_held_up(situation, living.voters().filter_map(|member| member.pod))
            ),
        );
    }
    step.look_again(Millis::seconds(1), Reason::QuorumLost);
}

/// What to do where one of these pods, whose end is waited for, does not end; nothing before it has had its time.
pub(super) fn way_of_held_up<'p>(
    situation: &Situation<'_>,
    pods: impl Iterator<Item = &'p Pod>,
) -> String {
    let mut going = pods.filter_map(|pod| pod.deleted);
    if going.any(|since| situation.snapshot.now.since(since) >= HELD_UP) {
        format!(" {DEAD_NODE}")
    } else {
        String::new()
    }
}

/// What to do where members answer as another cluster. Those whose ids are the remembered ones are this cluster's: then it
/// is the recorded id that somebody changed.
fn way_of_mismatch(situation: &Situation<'_>, cluster_id: ClusterId, list: &Membership) -> String {
    let mut records = situation.memory.member_records.iter().peekable();
    let is_changed = records.peek().is_some()
        && records.all(|record| {
            let mut rows = list.members.iter();
            rows.any(|row| Some(row.id) == record.id && name_of(row) == record.name)
        });
    if is_changed {
        let resource = &situation.snapshot.resource;
        return format!(
            "Its members have the ids that the status remembers of this cluster's, so somebody changed status.clusterId. To \
             have it written anew: kubectl --namespace {} patch etcd {} --subresource status --type merge --patch \
             '{{\"status\":{{\"clusterId\":null}}}}'",
            resource.namespace, resource.name
        );
    }
    format!("Find out who started it; restore from a backup if the data of {cluster_id} is gone.")
}

/// What is to be done about an etcd with users of its own, to which the operator is none of them.
pub(super) fn wants_a_user(situation: &Situation<'_>) -> Option<String> {
    let etcd = &situation.snapshot.etcd;
    let Observed::Unknown(of_list) = &etcd.membership else {
        return None;
    };
    let of_members = etcd.endpoints.iter().filter_map(|one| match &one.status {
        Observed::Unknown(why) => Some(why),
        Observed::Seen(_) | Observed::Absent => None,
    });
    let mut told = of_members.chain([of_list]);
    let refusals = ["user name is empty", "permission denied"];
    let words = told.find_map(|why| refusals.into_iter().find(|words| why.contains(words)))?;
    Some(format!(
        "etcd asks who is there (`etcdctl auth enable`) and tells the operator \"{words}\". It serves its clients; nothing \
         is changed meanwhile. Put a client's certificate of the user root into the Secret of \
         spec.TLS.static.operatorSecret, or turn that off (`etcdctl auth disable`)."
    ))
}
