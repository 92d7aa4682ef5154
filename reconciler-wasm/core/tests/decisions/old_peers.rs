//! EtcdPeers that the archived operator left on their way out: whose claim goes, and whose stays.

use contract::improbable::CLAIM_FINALIZER;
use contract::{DepartingPeer, Dialect, Effect, FindingKind, Observed, PeerEffect, Reason, Volume};
use serde_json::json;

use crate::fixture::{World, effects, healthy, member};

/// A cluster of three beside such a peer.
fn beside(name: &str) -> World {
    let mut world = healthy(3);
    world.snapshot.resource.api_version = Dialect::Improbable.api_version();
    let claim: Volume = serde_json::from_value(json!({
        "name": name, "uid": "uid-claim", "resourceVersion": "1", "created": 0, "phase": "Bound",
        "labels": {
            "app.kubernetes.io/name": "etcd", "etcd.improbable.io/cluster-name": "shop", "etcd.improbable.io/peer-name": name,
        },
    }))
    .unwrap();
    world.snapshot.departing_peers = Observed::Seen(vec![DepartingPeer {
        name: name.to_owned(),
        uid: "uid-peer".to_owned(),
        resource_version: "3".to_owned(),
        finalizers: vec![CLAIM_FINALIZER.to_owned(), "keep".to_owned()],
        claim: Observed::Seen(claim),
    }]);
    world
}

impl World {
    fn with_claim(mut self, change: impl FnOnce(&mut Observed<Volume>)) -> Self {
        let Observed::Seen(peers) = &mut self.snapshot.departing_peers else {
            panic!("no peers")
        };
        change(&mut peers[0].claim);
        self
    }

    /// What is done about the peer.
    fn parts(&self) -> Vec<String> {
        let all = effects(&self.decide());
        all.into_iter()
            .filter(|effect| effect.contains("Peer"))
            .collect()
    }

    /// How the peer is told about.
    fn tells(&self) -> Option<(FindingKind, String)> {
        let findings = self.decide().report.findings;
        let told = findings
            .into_iter()
            .find(|finding| finding.reason == Reason::PeerDeparting);
        told.map(|finding| (finding.kind, finding.message))
    }
}

#[test]
fn the_claim_of_a_departing_peer_goes_where_a_quorum_confirms_that_its_member_left() {
    let world = beside("shop-7");
    let parts = world.parts();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(parts[0].starts_with("DeletePeersClaim") && parts[1].starts_with("ReleasePeer"));
    let decision = world.decide();
    let released = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Peer(PeerEffect::Release { finalizers, .. }) => Some((finalizers, &action.pre)),
            _ => None,
        });
    let (finalizers, pre) = released.unwrap();
    assert_eq!(finalizers, &["keep"]);
    assert_eq!(pre.departed.as_deref(), Some("shop-7"));
    assert!(pre.cluster_id.is_some() && pre.members.is_some());
    assert_eq!(world.tells().unwrap().0, FindingKind::Doing);
}

#[test]
fn a_listed_members_claim_stays_whatever_its_peer_asks_for() {
    let world = beside(&member(1));
    assert_eq!(world.parts(), [""; 0]);
    let (kind, words) = world.tells().unwrap();
    assert_eq!(kind, FindingKind::Blocked);
    assert!(
        words.contains("kubectl patch etcdpeer.etcd.improbable.io shop-m1"),
        "{words}"
    );

    // It has started under another name than its address says.
    let mut renamed = beside("shop-7");
    renamed.rows()[2].name = "shop-7".to_owned();
    assert_eq!(renamed.parts(), [""; 0]);
}

#[test]
fn what_nobody_can_confirm_leaves_peer_and_claim_as_they_are() {
    let mut unnamed = beside("shop-7");
    unnamed.rows()[2].name.clear();
    let unlisted = beside("shop-7").without_list();
    let unread = beside("shop-7").with_claim(|claim| *claim = Observed::Unknown("silence".into()));
    for world in [unnamed, unlisted, unread] {
        assert_eq!(world.parts(), [""; 0]);
        assert_eq!(world.tells().unwrap().0, FindingKind::Waiting);
    }
    let mut unknown = beside("shop-7");
    unknown.snapshot.departing_peers = Observed::Unknown("silence".to_owned());
    assert_eq!((unknown.parts(), unknown.tells()), (Vec::new(), None));
}

#[test]
fn a_peer_without_a_claim_of_its_own_is_let_go_and_nothing_is_deleted() {
    let gone = beside("shop-7").with_claim(|claim| *claim = Observed::Absent);
    let changed = |change: fn(&mut Volume)| {
        beside("shop-7").with_claim(|claim| {
            let Observed::Seen(claim) = claim else {
                panic!("no claim")
            };
            change(claim);
        })
    };
    let going = changed(|claim| claim.deleted = Some(claim.created));
    let others = changed(|claim| claim.owner = Some("uid-other".to_owned()));
    let unlabelled = changed(|claim| claim.labels.clear());
    for world in [gone, going, others, unlabelled] {
        let parts = world.parts();
        assert!(
            parts.len() == 1 && parts[0].starts_with("ReleasePeer"),
            "{parts:?}"
        );
    }
}

#[test]
fn a_paused_cluster_leaves_departing_peers_as_they_are() {
    let world = beside("shop-7").spec("paused", json!(true));
    assert_eq!(world.parts(), [""; 0]);
}
