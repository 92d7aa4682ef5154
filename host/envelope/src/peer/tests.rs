//! A cluster of the second dialect beside an EtcdPeer on its way out, and what may be done about that.

use contract::improbable::CLAIM_FINALIZER;
use contract::{Dialect, Resource, Volume};
use serde_json::json;

use super::*;
use crate::fixtures::{action, change, decision, fresh_of, present, resource, snapshot_of};
use crate::{Fresh, check, permit};

const GONE: &str = "a-7";

fn cluster() -> Resource {
    Resource {
        api_version: Dialect::Improbable.api_version(),
        ..resource()
    }
}

fn departing(name: &str) -> DepartingPeer {
    let claim = json!({
        "name": name, "uid": "uid-7", "resourceVersion": "1", "created": 0, "phase": "Bound",
        "labels": {
            "app.kubernetes.io/name": "etcd", "etcd.improbable.io/cluster-name": "a", "etcd.improbable.io/peer-name": name,
        },
    });
    DepartingPeer {
        name: name.to_owned(),
        uid: "uid-peer".to_owned(),
        resource_version: "3".to_owned(),
        finalizers: vec!["keep".to_owned(), CLAIM_FINALIZER.to_owned()],
        claim: Observed::Seen(serde_json::from_value(claim).expect("a claim")),
    }
}

fn seen(peer: DepartingPeer) -> Snapshot {
    Snapshot {
        departing_peers: Observed::Seen(vec![peer]),
        ..snapshot_of(cluster())
    }
}

fn confirmed(effect: PeerEffect) -> Action {
    let name = effect.target().to_owned();
    let mut action = change(Effect::Peer(effect), 2);
    action.pre.healthy_voters = None;
    action.pre.departed = Some(name);
    action
}

fn delete(name: &str) -> Action {
    let mut action = confirmed(PeerEffect::DeleteClaim {
        name: name.to_owned(),
    });
    action.pre.object = present("uid-7");
    action
}

fn release(finalizers: &[&str]) -> Action {
    confirmed(PeerEffect::Release {
        name: GONE.to_owned(),
        uid: "uid-peer".to_owned(),
        resource_version: "3".to_owned(),
        finalizers: finalizers.iter().map(|one| (*one).to_owned()).collect(),
    })
}

fn permitted(actions: Vec<Action>, snapshot: &Snapshot) -> Result<(), Vec<&'static str>> {
    let refused = |all: Vec<Refusal>| all.iter().map(Refusal::rule).collect();
    permit(&decision(actions), snapshot).map_err(refused)
}

fn fresh(owner: Option<&str>) -> Fresh {
    let mut fresh = fresh_of(&cluster());
    if let Observed::Seen(head) = &mut fresh.object {
        head.uid = "uid-7".to_owned();
        head.owner = owner.map(str::to_owned);
    }
    fresh
}

fn checked(action: &Action, fresh: &Fresh) -> Result<(), &'static str> {
    check(action, fresh).map_err(|why| why.rule())
}

#[test]
fn the_claim_of_a_departing_peer_goes_and_then_its_finalizer_alone() {
    let snapshot = seen(departing(GONE));
    let whole = vec![delete(GONE), release(&["keep"])];
    assert_eq!(permitted(whole, &snapshot), Ok(()));
    assert_eq!(
        permitted(vec![release(&["keep"])], &snapshot),
        Err(vec!["Peer"]),
        "its claim is still there"
    );
    for finalizers in [&[][..], &["keep", CLAIM_FINALIZER], &["keep", "other"]] {
        let actions = vec![delete(GONE), release(finalizers)];
        assert_eq!(permitted(actions, &snapshot), Err(vec!["Peer"]));
    }
    let gone = seen(DepartingPeer {
        claim: Observed::Absent,
        ..departing(GONE)
    });
    assert_eq!(permitted(vec![release(&["keep"])], &gone), Ok(()));
    let unread = seen(DepartingPeer {
        claim: Observed::Unknown("silence".to_owned()),
        ..departing(GONE)
    });
    assert_eq!(
        permitted(vec![release(&["keep"])], &unread),
        Err(vec!["Peer"])
    );
}

#[test]
fn nothing_is_done_about_a_peer_that_is_not_departing_nor_about_a_claim_of_others() {
    let nobody = snapshot_of(cluster());
    for action in [delete(GONE), release(&["keep"])] {
        assert_eq!(permitted(vec![action], &nobody), Err(vec!["Peer"]));
    }
    let with = |change: fn(&mut Volume)| {
        let mut peer = departing(GONE);
        if let Observed::Seen(claim) = &mut peer.claim {
            change(claim);
        }
        seen(peer)
    };
    for others in [
        with(|claim| drop(claim.labels.pop_last())),
        with(|claim| claim.owner = Some("uid-other".to_owned())),
        with(|claim| claim.uid = "uid-8".to_owned()),
    ] {
        assert_eq!(
            permitted(vec![delete(GONE)], &others),
            Err(vec!["ForeignOwner"])
        );
    }
}

#[test]
fn a_listed_members_claim_stays_and_so_does_one_that_nobody_can_judge() {
    for owner in [None, Some("uid-a")] {
        assert_eq!(checked(&delete(GONE), &fresh(owner)), Ok(()));
    }
    assert_eq!(checked(&release(&["keep"]), &fresh(None)), Ok(()));
    assert_eq!(checked(&delete("a-2"), &fresh(None)), Err("StillMember"));
    assert_eq!(
        checked(&delete(GONE), &fresh(Some("uid-other"))),
        Err("ForeignOwner")
    );

    let mut unconfirmed = fresh(None);
    let mut unnamed = fresh(None);
    let mut unrecorded = fresh(None);
    if let Observed::Seen(list) = &mut unconfirmed.etcd.membership {
        list.linearizable = false;
    }
    assert_eq!(checked(&delete(GONE), &unconfirmed), Err("Unconfirmed"));
    if let Observed::Seen(list) = &mut unnamed.etcd.membership
        && let Some(member) = list.members.last_mut()
    {
        member.name.clear();
    }
    assert_eq!(checked(&delete(GONE), &unnamed), Err("Peer"));
    if let Observed::Seen(head) = &mut unrecorded.resource {
        head.cluster_id = Observed::Absent;
    }
    assert_eq!(checked(&delete(GONE), &unrecorded), Err("Unborn"));
}

#[test]
fn neither_is_tried_without_the_evidence_that_the_member_left() {
    let snapshot = seen(departing(GONE));
    let mut careless = action(Effect::Peer(PeerEffect::DeleteClaim {
        name: GONE.to_owned(),
    }));
    careless.pre.object = present("uid-7");
    let missing = permitted(vec![careless], &snapshot).map_err(|rules| rules.len());
    assert_eq!(missing, Err(3));
    let mut another = delete(GONE);
    another.pre.departed = Some("a-8".to_owned());
    assert_eq!(
        permitted(vec![another], &snapshot),
        Err(vec!["MissingPrecondition"])
    );
}
