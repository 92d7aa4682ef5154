//! A turn of TLS walked step by step: what decisions ask for is done at once, and looked at after each.

use contract::{Endpoint, Pod, names};

use super::*;

/// A cluster whose world does at once what decisions ask for.
pub(super) struct Walk {
    pub(super) world: World,
    /// The pods and endpoints as they were, by index: what is made again comes back in their form.
    before: Vec<(Pod, Endpoint)>,
    pub(super) steps: Vec<String>,
}

impl Walk {
    pub(super) fn of(mut world: World) -> Self {
        let pods = world.pods().clone();
        let endpoints = world.snapshot.etcd.endpoints.clone();
        Self {
            before: pods.into_iter().zip(endpoints).collect(),
            world,
            steps: Vec::new(),
        }
    }

    /// Goes on until nothing is done any more, at most so many decisions. Says whether it came to an end.
    pub(super) fn go(&mut self, decisions: usize) -> bool {
        for _ in 0..decisions {
            self.world = self.world.clone().later(6);
            let decision = self.world.decide();
            let done = effects(&decision);
            for action in &decision.actions {
                self.take(&action.effect);
            }
            self.everybody_reaches_a_quorum();
            if done.is_empty() && written(&decision).is_none() {
                return true;
            }
            self.steps.extend(done);
        }
        false
    }

    fn take(&mut self, effect: &Effect) {
        match effect {
            Effect::UpdateStatus { status } => self.world.status = (**status).clone(),
            Effect::Delete { name, .. } => {
                self.world.pods().retain(|pod| pod.name != *name);
                let endpoints = &mut self.world.snapshot.etcd.endpoints;
                endpoints.retain(|endpoint| endpoint.pod != *name);
            }
            Effect::Apply { object } => {
                if let Child::Pod(built) = &**object {
                    self.come_back(&serde_json::to_value(built).unwrap());
                }
            }
            Effect::UpdateMember { member, peer_urls } => {
                let rows = self.world.rows();
                let row = rows.iter_mut().find(|row| row.id == *member).unwrap();
                row.peer_urls.clone_from(peer_urls);
            }
            Effect::MoveLeader { to } => {
                for endpoint in &mut self.world.snapshot.etcd.endpoints {
                    if let Observed::Seen(status) = &mut endpoint.status {
                        status.leader = Some(*to);
                    }
                }
            }
            Effect::AnnotatePod { name, annotations } => {
                let mut pods = self.world.pods().iter_mut();
                let pod = pods.find(|pod| pod.name == *name).unwrap();
                pod.annotations.extend(annotations.clone());
            }
            Effect::Event { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    fn come_back(&mut self, built: &Value) {
        let name = built["metadata"]["name"].as_str().unwrap();
        let (mut pod, mut endpoint) = self
            .before
            .iter()
            .find(|(pod, _)| pod.name == name)
            .cloned()
            .unwrap();
        pod.annotations = serde_json::from_value(built["metadata"]["annotations"].clone()).unwrap();
        let secret = |volume: &str| {
            let volumes = built["spec"]["volumes"].as_array().unwrap();
            let found = volumes.iter().find(|one| one["name"] == volume)?;
            Some(found["secret"]["secretName"].as_str()?.to_owned())
        };
        pod.peer_secret = secret("member-peer-tls");
        pod.server_secret = secret("member-server-tls");
        // What its etcd really does is kept where no decision looks.
        pod.labels.insert("args".to_owned(), args(built).join(" "));
        let leader = self.world.snapshot.etcd.endpoints.first();
        if let (Some(Observed::Seen(other)), Observed::Seen(own)) =
            (leader.map(|one| &one.status), &mut endpoint.status)
        {
            own.leader = other.leader;
        }
        self.world.pods().push(pod);
        self.world.pods().sort_by(|a, b| a.name.cmp(&b.name));
        let endpoints = &mut self.world.snapshot.etcd.endpoints;
        endpoints.push(endpoint);
        endpoints.sort_by(|a, b| a.pod.cmp(&b.pod));
    }

    /// At most one member is away, or cannot be dialled at the address that the list has for it.
    fn everybody_reaches_a_quorum(&mut self) {
        let rows = self.world.rows().clone();
        let mut pods = self.world.pods().clone();
        pods.retain(|pod| pod.deleted.is_none());
        let cannot = |row: &contract::Member| {
            let others_can = is_plain(row) || pods.iter().all(|pod| pod.peer_secret.is_some());
            !listens(row, &pods) || !others_can
        };
        let away: Vec<_> = rows.iter().filter(|row| cannot(row)).collect();
        assert!(away.len() < 2, "{:?} after {:?}", away, self.steps);
        let tls = self.world.status.tls.as_ref();
        let is_shown = tls.is_some_and(|tls| tls.operator.is_some());
        let is_asked = pods.iter().any(|pod| pod.server_secret.is_some());
        assert!(
            is_shown || !is_asked,
            "the operator has nothing to show after {:?}",
            self.steps
        );
    }

    pub(super) fn ask(&mut self, tls: Value) {
        self.world = self.world.clone().spec("TLS", tls);
    }

    pub(super) fn is(&mut self, scheme: &str) {
        let secret = (scheme == "https").then_some("peers");
        for row in self.world.rows().clone() {
            assert!(
                row.peer_urls[0].starts_with(&format!("{scheme}://")),
                "{row:?}"
            );
        }
        for pod in self.world.pods().clone() {
            assert_eq!(pod.peer_secret.as_deref(), secret);
            assert!(!pod.annotations.contains_key(names::PLAIN_ANNOTATION));
        }
        let tls = self.world.status.tls.clone();
        assert_eq!(tls.is_some_and(|tls| tls.peer.is_some()), scheme == "https");
        let records = &self.world.status.member_records;
        assert!(records.iter().all(|record| !record.plain_peer));
    }
}

pub(super) fn is_plain(row: &contract::Member) -> bool {
    row.peer_urls[0].starts_with("http://")
}

/// Whether a member's pod listens at the address that the list has for it.
pub(super) fn listens(row: &contract::Member, pods: &[Pod]) -> bool {
    let scheme = if is_plain(row) { "http" } else { "https" };
    let pod = pods.iter().find(|pod| pod.name == row.name);
    pod.is_some_and(|pod| {
        pod.labels.get("args").is_none_or(|args| {
            args.contains(&format!("--listen-peer-urls={scheme}://0.0.0.0:2380"))
        })
    })
}
