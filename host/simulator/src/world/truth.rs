//! The truth of the world, which no snapshot knows whole: what invariants judge.
//!
//! Changes nothing.

use contract::{ClusterId, MemberId, PodPhase, Restoration, VolumePhase, names};

use super::{World, asked, label};
use crate::caches::Watch;
use crate::etcd::{Data, Peer, QUOTA};
use crate::fact::{MemberTruth, Truth};
use crate::registry;
use crate::secrets::is_secure;
use crate::telling::stands_available;

/// As long as caches stand still, or the next look is away.
const STALE_MS: i64 = 20_000;

impl World {
    fn blank_pods(&self) -> Vec<String> {
        let pods = self.kube.pods.values();
        pods.filter(|pod| self.is_own(&pod.api.owner))
            .filter(|pod| pod.api.claim.is_none() || !pod.api.ran)
            .filter(|pod| {
                let data = pod.disk.and_then(|disk| self.etcd.data(disk));
                !data.is_some_and(|data| self.acknowledged.iter().any(|write| data.holds(*write)))
            })
            .map(|pod| pod.api.name.clone())
            .collect()
    }

    fn unled_pods(&self) -> Vec<String> {
        let pods = self.kube.pods.values();
        pods.filter(|pod| self.is_own(&pod.api.owner) && pod.process.is_some())
            .filter(|pod| {
                let data = pod.disk.and_then(|disk| self.etcd.data(disk));
                data.is_some_and(|data| Some(data.cluster) == self.recorded() && !data.was_led())
            })
            .map(|pod| pod.api.name.clone())
            .collect()
    }

    /// The world as it is.
    pub(crate) fn truth(&self) -> Truth {
        let peers = self.peers();
        let cluster = self.recorded().or(self.founded);
        let restoration = self.restoration().filter(Restoration::is_under_way);
        let spec = &self.kube.resource.spec;
        let confirmed = cluster.and_then(|cluster| self.etcd.confirmed(cluster, &peers));
        let listed = || cluster.and_then(|cluster| self.listed.get(&cluster).cloned());
        let members = confirmed
            .map(|data| data.rows().to_vec())
            .or_else(listed)
            .unwrap_or_default();
        Truth {
            asleep: self.kube.resource.status["asleepSince"].is_string(),
            said_available: stands_available(&self.kube.resource.status),
            size: spec
                .get("size")
                .and_then(serde_json::Value::as_i64)
                .unwrap_or_default(),
            paused: spec
                .get("paused")
                .and_then(serde_json::Value::as_bool)
                .unwrap_or_default(),
            asked: asked(spec),
            repository: spec
                .get("repository")
                .and_then(serde_json::Value::as_str)
                .map_or(0, registry::number),
            through: self.plan.through && self.plan.version.is_some(),
            minor: self
                .etcd
                .disks
                .values()
                .flatten()
                .filter(|data| Some(data.cluster) == cluster)
                .filter_map(Data::minor)
                .max(),
            label: label(spec).map(str::to_owned),
            wants_claims: spec
                .get("pod")
                .is_some_and(|pod| pod.get("persistentVolumeClaimSpec").is_some()),
            renews: {
                let asked = &self.kube.resource.annotations;
                let asked = asked.get(names::OLD_PODS_ANNOTATION);
                asked.is_some_and(|asked| asked == names::RENEW)
            },
            wants_tls: is_secure(spec),
            consent: self.consent(),
            recovering: self.recovering(),
            restoring: restoration.as_ref().map(|one| one.stage),
            replaced: restoration
                .as_ref()
                .is_some_and(|one| self.gives_up(&one.uid)),
            given_up: restoration.map(|one| one.given_up).unwrap_or_default(),
            cluster,
            confirmed: confirmed.is_some(),
            unsaved: self.unsaved(None),
            alarmed: confirmed.is_some_and(|data| !data.alarms().is_empty()),
            leader: cluster.and_then(|cluster| self.etcd.leader(cluster, &peers)),
            members: members
                .into_iter()
                .map(|row| {
                    let name = self.etcd.name(row.id).to_owned();
                    let healthy = confirmed.is_some()
                        && !self.is_going(&name)
                        && cluster.is_some_and(|cluster| self.follows(cluster, row.id, &peers));
                    let intact = self.is_intact(&name, row.id);
                    let full = self.is_full(row.id);
                    let pod = self.kube.pod_of(&name);
                    let process = pod.and_then(|pod| pod.process);
                    let claim = self.kube.claims.get(&name);
                    let condemned = claim.is_some_and(|claim| claim.api.deleted.is_some());
                    MemberTruth {
                        id: row.id,
                        name,
                        learner: row.learner,
                        started: row.started,
                        healthy,
                        intact,
                        in_pod: intact && pod.is_some_and(|pod| pod.api.claim.is_none()),
                        condemned,
                        full,
                        label: pod.and_then(|pod| pod.api.labels.get("team").cloned()),
                        secure: pod.is_some_and(|pod| pod.api.peer_secret.is_some()),
                        reached_by_tls: self.etcd.url(row.id).starts_with("https:"),
                        release: process.map(|process| process.release),
                        repository: pod.map(|pod| registry::number(&pod.api.image)),
                        swaps: process.is_some()
                            && pod.is_some_and(|pod| pod.swaps && pod.api.deleted.is_none()),
                        old: pod.is_some_and(crate::kubernetes::Member::is_old),
                    }
                })
                .collect(),
            pods: self
                .kube
                .pods
                .iter()
                .filter(|(_, pod)| pod.api.deleted.is_none() && self.is_own(&pod.api.owner))
                .map(|(name, _)| name.clone())
                .collect(),
            blank: self.blank_pods(),
            unled: self.unled_pods(),
            claims: self
                .kube
                .claims
                .iter()
                .filter(|(_, claim)| self.is_own(&claim.api.owner))
                .map(|(name, _)| name.clone())
                .collect(),
            small: self.small_claims(),
            services: self.kube.services.keys().cloned().collect(),
            unguardable: {
                let mut budgets = self.kube.budgets.values();
                let is_left = self.plan.numbered && self.plan.old.is_some();
                is_left && self.kube.resource.is_being_taken_over()
                    || self.budget_went.is_some_and(|at| self.now < at + STALE_MS)
                    || budgets.any(|budget| !self.is_own(&budget.owner))
                    || self.deaf().contains(&Watch::Around)
            },
            budget: self
                .kube
                .budgets
                .values()
                .next()
                .and_then(|budget| budget.min_available.clone()),
        }
    }

    /// Whether a leader has a quorum of followers in this cluster, or in any where none is known yet.
    pub(crate) fn is_served(&self, of: Option<ClusterId>) -> bool {
        let peers = self.peers();
        let mut clusters = peers
            .iter()
            .filter_map(|peer| self.etcd.data(peer.disk))
            .map(|data| data.cluster)
            .filter(|cluster| of.is_none_or(|of| of == *cluster));
        clusters.any(|cluster| self.etcd.confirmed(cluster, &peers).is_some())
    }

    /// Names of the voters that serve, know of a leader who stands, and whose pods are to stay: of this cluster, of any
    /// where none is known yet.
    pub(crate) fn serving_voters(&self, of: Option<ClusterId>) -> Vec<String> {
        let peers = self.peers();
        let synced = peers.iter().filter(|peer| peer.synced);
        let data = synced.filter_map(|peer| self.etcd.data(peer.disk));
        let serving = data
            .filter(|data| of.is_none_or(|of| of == data.cluster))
            .filter(|data| self.etcd.leader(data.cluster, &peers).is_some())
            .filter(|data| {
                let mut rows = data.rows().iter();
                rows.any(|row| row.id == data.me && !row.learner)
            });
        serving
            .map(|data| self.etcd.name(data.me).to_owned())
            .filter(|name| !self.is_going(name))
            .collect()
    }

    /// Whether the member is among these and knows of a leader.
    fn follows(&self, cluster: ClusterId, id: MemberId, peers: &[Peer]) -> bool {
        let mut synced = peers.iter().filter(|peer| peer.synced);
        synced.any(|peer| {
            let data = self.etcd.data(peer.disk);
            data.is_some_and(|data| data.cluster == cluster && data.me == id)
        })
    }

    /// Whether the member's pod is being terminated: it serves for a moment more.
    fn is_going(&self, name: &str) -> bool {
        let pod = self.kube.pod_of(name);
        pod.is_some_and(|pod| pod.api.deleted.is_some())
    }

    /// Whether the member's file takes nine tenths of the quota or more.
    fn is_full(&self, id: MemberId) -> bool {
        let mut disks = self.etcd.disks.values().flatten();
        disks.any(|data| data.me == id && data.file() * 10 >= QUOTA * 9)
    }

    /// Whom `spec.quorumRecovery` names, if it names this cluster.
    pub(crate) fn consent(&self) -> Option<String> {
        let consent = self.kube.resource.spec.get("quorumRecovery")?;
        let id = consent.get("clusterID")?.as_str()?;
        let named = self.recorded().is_some_and(|own| own.to_string() == id);
        let survivor = consent.get("survivor")?.as_str()?;
        named.then(|| survivor.to_owned())
    }

    /// Whom `status.recovery` names while it is under way, if it names this cluster.
    fn recovering(&self) -> Option<String> {
        let recovery = self.kube.resource.status.get("recovery")?;
        let recovery = serde_json::from_value::<contract::Recovery>(recovery.clone()).ok()?;
        let own = self.recorded()?.to_string();
        let is_so = recovery.is_under_way() && recovery.cluster_id == own;
        is_so.then_some(recovery.survivor)
    }

    /// Whether the member's data is on a disk that its pod can have.
    fn is_intact(&self, name: &str, id: MemberId) -> bool {
        let keeps_within = |pod: &&crate::kubernetes::Member| pod.api.claim.is_none();
        let pod = self.kube.pods.get(name).filter(keeps_within);
        let disk = match self.kube.claims.get(name).filter(|_| pod.is_none()) {
            Some(claim) if claim.api.phase == VolumePhase::Lost || claim.api.deleted.is_some() => {
                None
            }
            Some(claim) => Some(claim.number),
            None => self
                .kube
                .pods
                .get(name)
                .filter(|pod| pod.api.deleted.is_none() && pod.api.phase != PodPhase::Failed)
                .and_then(|pod| pod.disk),
        };
        disk.and_then(|disk| self.etcd.data(disk))
            .is_some_and(|data| data.me == id)
    }
}
