//! What the operator sees: snapshots and fresh reads, as the host makes them.

use contract::{
    Alarm, AlarmKind, Endpoint, EndpointStatus, EtcdView, Member, Membership, Millis, Observed,
    PastOutcome, Snapshot,
};
use envelope::{BackupHead, Fresh, Reads, ResourceHead, RestoreHead};

use crate::etcd::{Data, Peer, QUOTA};
use crate::kubernetes;
use crate::release;
use crate::world::World;

impl World {
    /// A snapshot of what the caches hold and of what etcd answers at this moment. `before` is the one before it, whose
    /// caches may stand still.
    pub(crate) fn snapshot(
        &mut self,
        before: Option<Snapshot>,
        stands_still: bool,
        outcomes: &[PastOutcome],
    ) -> Snapshot {
        let mut snapshot = before.unwrap_or_else(|| self.first_look());
        if !stands_still {
            let deaf = self.deaf();
            self.bring_up_to_date(&mut snapshot, &deaf);
        }
        snapshot.now = Millis(self.clock().0 + self.off);
        snapshot.entropy = format!("{:032x}", self.rng.u128(..));
        snapshot.etcd = self.view();
        self.look_at_secrets(&mut snapshot.secrets);
        snapshot.outcomes = outcomes.to_vec();
        snapshot
    }

    /// What the host reads again before an action.
    pub(crate) fn fresh(&self, reads: &Reads) -> Fresh {
        let silent = || "the API server does not answer".to_owned();
        let unread = "not asked for";
        let head = |read: Option<(contract::ObjectKind, &str)>| match read {
            None => Observed::Unknown(unread.to_owned()),
            Some(_) if !self.api => Observed::Unknown(silent()),
            Some((kind, name)) => self.kube.head(kind, name),
        };
        let resource = if self.api {
            Observed::Seen(ResourceHead::of(&self.kube.resource))
        } else {
            Observed::Unknown(silent())
        };
        let etcd = if reads.etcd {
            self.fresh_view()
        } else {
            EtcdView {
                membership: Observed::Unknown(unread.to_owned()),
                endpoints: Vec::new(),
                alarms: Observed::Unknown(unread.to_owned()),
            }
        };
        Fresh {
            lease_held: true,
            resource,
            object: head(
                reads
                    .object
                    .as_ref()
                    .map(|(kind, name)| (*kind, name.as_str())),
            ),
            claim: head(
                reads
                    .claim
                    .as_deref()
                    .map(|name| (contract::ObjectKind::PersistentVolumeClaim, name)),
            ),
            etcd,
            clock_ahead: if self.api && reads.clock {
                Observed::Seen(self.off)
            } else {
                Observed::Unknown(silent())
            },
            backup: BackupHead::default(),
            stored: Observed::Unknown(unread.to_owned()),
            being_restored: Observed::Unknown(unread.to_owned()),
            restore: self.restore_head(reads),
            scheduled: Observed::Unknown(unread.to_owned()),
        }
    }

    fn restore_head(&self, reads: &Reads) -> Observed<RestoreHead> {
        let Some(asked) = &reads.restore else {
            return Observed::Unknown("not asked for".to_owned());
        };
        if !self.api {
            return Observed::Unknown("the API server does not answer".to_owned());
        }
        let own = self.restores.iter().find(|one| one.name == asked.name);
        own.map_or(Observed::Absent, |own| Observed::Seen(RestoreHead::of(own)))
    }

    /// Whose container is about to be restarted is about to be down.
    fn fresh_view(&self) -> EtcdView {
        let mut view = self.view();
        for endpoint in &mut view.endpoints {
            let pod = self.kube.pods.get(&endpoint.pod);
            endpoint.terminating |= pod.is_some_and(|pod| pod.api.is_about_to_restart());
        }
        view
    }

    fn view(&self) -> EtcdView {
        let peers = self.peers();
        let asked: Vec<&kubernetes::Member> = self
            .kube
            .pods
            .values()
            .filter(|pod| pod.api.ip.is_some())
            .collect();
        let endpoints: Vec<Endpoint> = asked
            .iter()
            .map(|pod| Endpoint {
                pod: pod.api.name.clone(),
                pod_uid: pod.api.uid.clone(),
                terminating: pod.api.deleted.is_some(),
                status: self.endpoint_status(pod, &peers),
            })
            .collect();
        let alarms = if asked.is_empty() {
            Observed::Absent
        } else {
            self.alarms(&asked, &peers)
        };
        EtcdView {
            membership: self.membership(&asked, &peers),
            endpoints,
            alarms,
        }
    }

    /// As the host does: asked only when a member complains, and then answered by a quorum, of the recorded cluster first.
    fn alarms(&self, asked: &[&kubernetes::Member], peers: &[Peer]) -> Observed<Vec<Alarm>> {
        let answers = || asked.iter().filter_map(|pod| self.serving(pod));
        let recorded = self.recorded();
        let Some(first) = answers().min_by_key(|data| Some(data.cluster) != recorded) else {
            return Observed::Unknown("no member answered".to_owned());
        };
        if answers().all(|data| data.alarms().is_empty()) {
            return Observed::Seen(Vec::new());
        }
        match self.etcd.confirmed(first.cluster, peers) {
            None => Observed::Unknown("no answer within 2 s".to_owned()),
            Some(leader) => {
                let named = leader.alarms().iter();
                Observed::Seen(
                    named
                        .map(|id| Alarm {
                            member: Some(*id),
                            kind: AlarmKind::Nospace,
                        })
                        .collect(),
                )
            }
        }
    }

    fn serving(&self, pod: &kubernetes::Member) -> Option<&Data> {
        let serves = pod
            .process
            .is_some_and(|process| !process.frozen && process.serves.is_some());
        pod.disk
            .filter(|_| serves && !self.is_silent(pod) && self.kube.is_heard(pod))
            .and_then(|disk| self.etcd.data(disk))
    }

    /// It has heard of the others, and does so still.
    fn is_synced(&self, pod: &kubernetes::Member) -> bool {
        pod.process.is_some_and(|process| process.synced) && self.kube.is_among_peers(pod)
    }

    pub(crate) fn endpoint_status(
        &self,
        pod: &kubernetes::Member,
        peers: &[Peer],
    ) -> Observed<EndpointStatus> {
        let Some(data) = self.serving(pod) else {
            return Observed::Unknown("no answer within 2 s".to_owned());
        };
        let synced = self.is_synced(pod);
        let release = pod
            .process
            .map_or(release::DEFAULT, |process| process.release);
        let learner = data
            .rows()
            .iter()
            .any(|row| row.id == data.me && row.learner);
        let leads = self.etcd.leader(data.cluster, peers).filter(|_| synced);
        let process = pod.process.filter(|process| learner && process.synced);
        let since = process.and_then(|process| process.serves);
        let remembered = since.and_then(|since| self.etcd.remembered(data, since));
        let leader = leads.or(remembered);
        Observed::Seen(EndpointStatus {
            cluster_id: data.cluster,
            member_id: data.me,
            leader,
            learner,
            version: release.to_string(),
            storage_version: data
                .minor()
                .filter(|_| release.minor >= 6)
                .map(|minor| format!("3.{minor}.0")),
            downgrade: data
                .downgrade()
                .filter(|_| release.minor >= 6)
                .map(|minor| format!("3.{minor}.0")),
            raft_term: data.term(),
            raft_index: data.index(),
            raft_applied_index: data.index(),
            db_size: data.file(),
            db_size_in_use: data.in_use(),
            quota: Some(QUOTA),
            revision: Some(data.revision()),
            errors: data
                .alarms()
                .iter()
                .map(|id| format!("memberID:{} alarm:NOSPACE ", id.0))
                .collect(),
            hash_kv: None,
            took: Millis(3),
        })
    }

    /// A confirmed list, of the recorded cluster first; else one member's own copy.
    fn membership(&self, asked: &[&kubernetes::Member], peers: &[Peer]) -> Observed<Membership> {
        if asked.is_empty() {
            return Observed::Absent;
        }
        let recorded = self.recorded();
        let mut answers: Vec<(&str, &Data, bool)> = asked
            .iter()
            .filter_map(|pod| {
                let data = self.serving(pod).filter(|data| data.index() > 0)?;
                let synced = self.is_synced(pod);
                let confirmed = synced && self.etcd.is_confirmed(data, peers);
                Some((pod.api.name.as_str(), data, confirmed))
            })
            .collect();
        answers.sort_by_key(|(_, data, confirmed)| (!confirmed, Some(data.cluster) != recorded));
        match answers.first() {
            None => Observed::Unknown("no member answers".to_owned()),
            Some((from, data, confirmed)) => Observed::Seen(Membership {
                cluster_id: data.cluster,
                linearizable: *confirmed,
                from: (*from).to_owned(),
                members: self.members(data),
            }),
        }
    }

    fn members(&self, data: &Data) -> Vec<Member> {
        let rows = data.rows();
        rows.iter()
            .map(|row| {
                let name = self.etcd.name(row.id);
                let url = self.etcd.url(row.id);
                Member {
                    id: row.id,
                    name: if row.started {
                        name.to_owned()
                    } else {
                        String::new()
                    },
                    peer_urls: vec![url.to_owned()],
                    client_urls: if row.started {
                        vec![[url.strip_suffix("2380").unwrap_or(url), "2379"].concat()]
                    } else {
                        Vec::new()
                    },
                    learner: row.learner,
                }
            })
            .collect()
    }
}
