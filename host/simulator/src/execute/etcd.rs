//! Effects on etcd, as its leader grants them.
//!
//! Owns which call each effect makes. It does not know what the calls do to data, which is [`crate::etcd`]'s, nor the
//! objects of Kubernetes beyond their processes.

use contract::{ClusterId, Effect, LEARNER_UNHEARD, MemberId};

use crate::etcd::{Data, Op};
use crate::fact::Deed;
use crate::timers::Timer;
use crate::world::World;

impl World {
    pub(super) fn etcd_effect(&mut self, effect: &Effect) -> Result<Deed, &'static str> {
        let cluster = self.recorded().ok_or("no cluster")?;
        let (peers, now) = (self.peers(), self.now);
        let deed = match effect {
            Effect::AddLearner { name, peer_urls } => {
                let url = peer_urls.first().map(String::as_str).unwrap_or_default();
                self.etcd.add_learner(cluster, url, &peers, now)?;
                Deed::Added(name.clone())
            }
            Effect::Promote { member } => {
                self.hears(cluster, *member)?;
                self.etcd.promote(cluster, *member, &peers)?;
                Deed::Promoted(*member)
            }
            Effect::RemoveMember { member } => {
                self.etcd.remove(cluster, *member, &peers, now)?;
                Deed::Removed(*member)
            }
            Effect::UpdateMember { member, peer_urls } => {
                let url = peer_urls.first().map(String::as_str).unwrap_or_default();
                self.etcd.readdress(cluster, *member, url, &peers)?;
                Deed::Wrote("UpdateMember")
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
            Effect::AppendNoop => {
                self.etcd.propose(cluster, &peers, Op::Noop)?;
                // Each entry lets the log grow: who lags behind may need many.
                self.moves += 1;
                Deed::Wrote("AppendNoop")
            }
            Effect::Disarm { kind: _, member } => {
                let member = member.ok_or("no member")?;
                self.etcd.propose(cluster, &peers, Op::Disarm(member))?;
                Deed::Disarmed(member)
            }
            Effect::Downgrade { to } => {
                let minor = to
                    .as_deref()
                    .and_then(|to| to.strip_prefix("3.")?.parse().ok());
                self.etcd.downgrade(cluster, minor, &peers)?;
                Deed::Wrote("Downgrade")
            }
            Effect::UpdateStatus { .. }
            | Effect::Event { .. }
            | Effect::Peer(_)
            | Effect::Backup(_)
            | Effect::Restore(_)
            | Effect::Schedule(_)
            | Effect::Apply { .. }
            | Effect::AnnotatePod { .. }
            | Effect::TakeUpClaim { .. }
            | Effect::RetireReplicaSet { .. }
            | Effect::SetImage { .. }
            | Effect::Delete { .. }
            | Effect::Issue { .. } => return Err("not an effect on etcd"),
        };
        // An entry alone is no event of Kubernetes, by which the operator would look at once.
        self.changed |= !matches!(effect, Effect::AppendNoop);
        self.settle();
        Ok(deed)
    }

    /// As the operator does: appends an entry, and looks whether the learner receives it.
    fn hears(&mut self, cluster: ClusterId, learner: MemberId) -> Result<(), &'static str> {
        self.etcd.propose(cluster, &self.peers(), Op::Noop)?;
        self.moves += 1;
        self.changed = true;
        self.settle();
        let peers = self.peers();
        let appended = self.etcd.confirmed(cluster, &peers).map(Data::index);
        let mut pods = self.kube.pods.values();
        let is_received = appended.is_some_and(|appended| {
            pods.any(|pod| {
                let answer = self.endpoint_status(pod, &peers);
                answer
                    .seen()
                    .is_some_and(|answer| envelope::has_received(learner, appended, answer))
            })
        });
        is_received.then_some(()).ok_or(LEARNER_UNHEARD)
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
}
