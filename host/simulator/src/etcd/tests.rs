//! The rules of etcd that decisions rest on, each as etcd itself has it.

use contract::{ClusterId, MemberId};

use super::{Etcd, Flags, Op, Peer, Start};

const LIST: &str = "a=http://a.c.ns.svc:2380,b=http://b.c.ns.svc:2380,c=http://c.c.ns.svc:2380";
/// Long after every start.
const LATER: i64 = 60_000;

fn flags<'a>(state: &'a str, initial_cluster: &'a str) -> Flags<'a> {
    Flags {
        alone: false,
        state,
        initial_cluster,
        token: "t",
        minor: 6,
    }
}

fn peer(disk: u32) -> Peer {
    Peer {
        disk,
        since: 0,
        silent: false,
        synced: true,
        minor: 6,
    }
}

fn peers(disks: &[u32]) -> Vec<Peer> {
    disks.iter().copied().map(peer).collect()
}

fn ends(start: &Start) -> bool {
    matches!(start, Start::Exits(_))
}

/// Members a, b, c on the disks 1, 2, 3, with a leader, all of them started.
fn three() -> (Etcd, ClusterId) {
    let mut etcd = Etcd::default();
    for (disk, name) in [(1, "a"), (2, "b"), (3, "c")] {
        assert!(!ends(&etcd.start(disk, name, &flags("new", LIST), &[])));
    }
    let cluster = etcd.data(1).expect("founded").cluster;
    let all = peers(&[1, 2, 3]);
    elect(&mut etcd, cluster, &all).expect("three of three vote");
    etcd.lead(cluster, id(&etcd, 1));
    for disk in 1..=3 {
        let me = id(&etcd, disk);
        etcd.propose(cluster, &all, Op::Publish(me))
            .expect("a quorum follows");
    }
    (etcd, cluster)
}

fn elect(etcd: &mut Etcd, cluster: ClusterId, peers: &[Peer]) -> Option<MemberId> {
    etcd.elect(cluster, peers, &mut fastrand::Rng::with_seed(1))
}

fn id(etcd: &Etcd, disk: u32) -> MemberId {
    etcd.data(disk).expect("it has data").me
}

#[test]
fn a_minority_elects_nobody() {
    let (mut etcd, cluster) = three();
    etcd.depose(cluster, 0);
    assert_eq!(elect(&mut etcd, cluster, &peers(&[1])), None);
    assert!(elect(&mut etcd, cluster, &peers(&[1, 2])).is_some());
}

#[test]
fn only_a_member_with_every_committed_write_is_elected() {
    let (mut etcd, cluster) = three();
    etcd.propose(cluster, &peers(&[1, 2]), Op::Write(7))
        .expect("two of three follow");
    etcd.depose(cluster, 0);
    let leader = elect(&mut etcd, cluster, &peers(&[2, 3])).expect("two of three vote");
    assert_eq!(leader, id(&etcd, 2));
    assert!(!etcd.data(3).expect("it has data").holds(7));
}

/// Why no member may go on with less than it has promised: its vote makes a leader that never had the write.
#[test]
fn whoever_lost_its_log_elects_one_that_is_behind() {
    let mut winners = Vec::new();
    for seed in 0..20 {
        let (mut etcd, cluster) = three();
        let before = etcd.data(2).cloned();
        etcd.propose(cluster, &peers(&[1, 2]), Op::Write(7))
            .expect("two of three follow");
        etcd.disks.insert(2, before);
        etcd.depose(cluster, 0);
        let mut rng = fastrand::Rng::with_seed(seed);
        winners.extend(etcd.elect(cluster, &peers(&[1, 2, 3]), &mut rng));
    }
    let (etcd, _) = three();
    for disk in 1..=3 {
        assert!(winners.contains(&id(&etcd, disk)), "{disk}: {winners:?}");
    }
}

#[test]
fn an_emptied_founder_is_refused_by_peers_that_know_it() {
    let (mut etcd, _) = three();
    etcd.disks.insert(1, None);
    assert!(ends(&etcd.start(
        1,
        "a",
        &flags("new", LIST),
        &peers(&[2, 3])
    )));
}

/// The danger that sealing is there for.
#[test]
fn emptied_founders_that_reach_nobody_found_the_same_cluster_anew() {
    let (mut etcd, cluster) = three();
    etcd.propose(cluster, &peers(&[1, 2, 3]), Op::Write(7))
        .expect("all follow");
    for (disk, name) in [(1, "a"), (2, "b")] {
        etcd.disks.insert(disk, None);
        assert!(!ends(&etcd.start(disk, name, &flags("new", LIST), &[])));
    }
    assert!(elect(&mut etcd, cluster, &peers(&[1, 2])).is_some());
    assert!(!etcd.data(1).expect("founded").holds(7));
}

#[test]
fn a_sealed_member_starts_on_its_data_and_not_without() {
    let (mut etcd, _) = three();
    let sealed = flags("existing", "a=http://a.c.ns.svc:2380");
    assert!(!ends(&etcd.start(1, "a", &sealed, &peers(&[2, 3]))));
    etcd.disks.insert(1, None);
    assert!(ends(&etcd.start(1, "a", &sealed, &peers(&[2, 3]))));
}

#[test]
fn a_member_joins_with_the_list_of_today_only() {
    let (mut etcd, cluster) = three();
    let all = peers(&[1, 2, 3]);
    etcd.add_learner(cluster, "http://d.c.ns.svc:2380", &all, LATER)
        .expect("all are connected");
    etcd.disks.insert(4, None);
    assert!(ends(&etcd.start(4, "d", &flags("existing", LIST), &all)));
    let today = format!("{LIST},d=http://d.c.ns.svc:2380");
    assert!(ends(&etcd.start(4, "d", &flags("existing", &today), &[])));
    assert!(!ends(&etcd.start(4, "d", &flags("existing", &today), &all)));
}

#[test]
fn one_learner_at_a_time_and_only_when_every_voter_is_connected_for_five_seconds() {
    let (mut etcd, cluster) = three();
    let all = peers(&[1, 2, 3]);
    let url = |name: &str| format!("http://{name}.c.ns.svc:2380");
    assert!(etcd.add_learner(cluster, &url("d"), &all, 4_000).is_err());
    assert!(
        etcd.add_learner(cluster, &url("d"), &peers(&[1, 2]), LATER)
            .is_err()
    );
    assert!(etcd.add_learner(cluster, &url("a"), &all, LATER).is_err());
    assert!(etcd.add_learner(cluster, &url("d"), &all, LATER).is_ok());
    assert!(etcd.add_learner(cluster, &url("e"), &all, LATER).is_err());
}

#[test]
fn a_learner_that_has_not_caught_up_is_not_promoted() {
    let (mut etcd, cluster) = three();
    let all = peers(&[1, 2, 3]);
    let url = "http://d.c.ns.svc:2380";
    let learner = etcd
        .add_learner(cluster, url, &all, LATER)
        .expect("all are connected");
    assert!(etcd.promote(cluster, learner, &all).is_err());
    etcd.disks.insert(4, None);
    let today = format!("{LIST},d={url}");
    assert!(!ends(&etcd.start(4, "d", &flags("existing", &today), &all)));
    let four = peers(&[1, 2, 3, 4]);
    etcd.replicate(cluster, &four);
    assert_eq!(etcd.promote(cluster, learner, &four), Ok(()));
    assert_eq!(
        etcd.data(1)
            .expect("it has data")
            .rows()
            .iter()
            .filter(|row| row.learner)
            .count(),
        0
    );
}

#[test]
fn a_removal_that_leaves_too_few_active_voters_is_refused() {
    let (mut etcd, cluster) = three();
    let (down, up) = (id(&etcd, 3), id(&etcd, 2));
    let two = peers(&[1, 2]);
    assert!(etcd.remove(cluster, up, &two, LATER).is_err());
    assert_eq!(etcd.remove(cluster, down, &two, LATER), Ok(()));
    assert!(etcd.is_expelled(3, &peers(&[1, 2, 3])));
}

/// <https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/#rollback>
#[test]
fn a_binary_starts_on_the_data_of_its_minor_version_and_of_the_one_before() {
    let (mut etcd, cluster) = three();
    etcd.follow_versions(cluster, &peers(&[1, 2, 3]));
    let mut start = |minor| {
        let flags = Flags {
            minor,
            ..flags("existing", "a=http://a.c.ns.svc:2380")
        };
        !ends(&etcd.start(1, "a", &flags, &[]))
    };
    assert_eq!([5, 6, 7, 8].map(&mut start), [false, true, true, false]);
}

/// <https://etcd.io/docs/v3.6/downgrades/downgrade_3_6/>
#[test]
fn the_way_back_leads_one_minor_version_down_and_ends_with_the_last_member() {
    let (mut etcd, cluster) = three();
    let all = peers(&[1, 2, 3]);
    etcd.follow_versions(cluster, &all);
    let minor = |etcd: &Etcd| etcd.data(1).and_then(super::Data::minor);
    for wrong in [4, 6, 7] {
        assert!(etcd.downgrade(cluster, Some(wrong), &all).is_err());
    }
    assert!(etcd.downgrade(cluster, None, &all).is_err());
    assert_eq!(etcd.downgrade(cluster, Some(5), &all), Ok(()));
    assert_eq!(minor(&etcd), Some(5));
    assert!(etcd.downgrade(cluster, Some(5), &all).is_err());
    let old = Flags {
        minor: 5,
        ..flags("existing", "a=http://a.c.ns.svc:2380")
    };
    assert!(!ends(&etcd.start(1, "a", &old, &peers(&[2, 3]))));
    let mut moved = all.clone();
    moved[0].minor = 5;
    etcd.follow_versions(cluster, &moved);
    assert_eq!(etcd.data(1).and_then(super::Data::downgrade), Some(5));
    let mut back = etcd.clone();
    assert_eq!(back.downgrade(cluster, None, &moved), Ok(()));
    back.follow_versions(cluster, &all);
    assert_eq!(minor(&back), Some(6));
    (moved[1].minor, moved[2].minor) = (5, 5);
    etcd.follow_versions(cluster, &moved);
    assert_eq!(etcd.data(1).and_then(super::Data::downgrade), None);
    assert_eq!(minor(&etcd), Some(5));
}

/// One member of the old version keeps the way back open.
#[test]
fn the_cluster_takes_on_a_version_when_all_members_run_it() {
    let (mut etcd, cluster) = three();
    etcd.follow_versions(cluster, &peers(&[1, 2, 3]));
    let mut mixed = peers(&[1, 2, 3]);
    (mixed[0].minor, mixed[1].minor) = (7, 7);
    etcd.follow_versions(cluster, &mixed);
    assert_eq!(etcd.data(1).and_then(super::Data::minor), Some(6));
    mixed[2].minor = 7;
    etcd.follow_versions(cluster, &mixed);
    assert_eq!(etcd.data(1).and_then(super::Data::minor), Some(7));
}

#[test]
fn a_member_takes_no_address_that_another_one_has() {
    let (mut etcd, cluster) = three();
    let all = peers(&[1, 2, 3]);
    let (a, of_b) = (id(&etcd, 1), "http://b.c.ns.svc:2380");
    assert!(etcd.readdress(cluster, a, of_b, &all).is_err());
    assert_eq!(
        etcd.readdress(cluster, a, "https://a.c.ns.svc:2380", &all),
        Ok(())
    );
    assert_eq!(etcd.url(a), "https://a.c.ns.svc:2380");
}
