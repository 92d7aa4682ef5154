//! Its beginning and its stages.

use super::*;

#[test]
fn it_begins_with_a_proof_and_without_a_quorum() {
    let begins = writes(RestorationStage::Stopping);
    let resource = at(RestorationStage::Waiting);
    assert_eq!(rule(&begins, &lost(&resource)), "");
    assert_eq!(rule(&begins, &living(&resource)), "Unasked");
    let changes: [fn(&mut RestoreHead); 5] = [
        |head| head.proof = None,
        |head| head.over = true,
        |head| head.deleted = true,
        |head| "another".clone_into(&mut head.uid),
        |head| {
            if let Some(spec) = &mut head.spec {
                "b".clone_into(&mut spec.etcd_cluster.name);
            }
        },
    ];
    for change in changes {
        let mut head = head();
        change(&mut head);
        let mut fresh = lost(&resource);
        fresh.restore = Observed::Seen(head);
        assert_eq!(rule(&begins, &fresh), "Unasked");
    }
    let mut fresh = lost(&resource);
    fresh.restore = Observed::Unknown("timed out".to_owned());
    assert_eq!(rule(&begins, &fresh), "Unread");
    fresh.restore = Observed::Absent;
    assert_eq!(rule(&begins, &fresh), "Unasked");
}

#[test]
fn members_that_only_elect_a_leader_are_not_lost() {
    let begins = writes(RestorationStage::Stopping);
    let voter = |name: &str| json!({"name": name, "role": "Voter"});
    let mut resource = at(RestorationStage::Waiting);
    resource.status["memberRecords"] = json!([voter("a-1"), voter("a-2"), voter("a-3")]);
    assert_eq!(rule(&begins, &lost(&resource)), "", "one of three answers");
    let mut electing = living(&resource);
    electing.etcd.membership = Observed::Unknown("etcdserver: no leader".to_owned());
    for endpoint in &mut electing.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.leader = None;
        }
    }
    assert_eq!(rule(&begins, &electing), "Unasked");
}

#[test]
fn a_living_cluster_is_given_up_by_a_consent_that_names_it() {
    let begins = writes(RestorationStage::Stopping);
    let resource = at(RestorationStage::Waiting);
    for (id, expected) in [("c1", ""), ("c2", "Unasked")] {
        let mut fresh = living(&resource);
        fresh.restore = Observed::Seen(consenting(id));
        assert_eq!(rule(&begins, &fresh), expected, "{id}");
    }
}

/// Nobody of it answers, and it lost nothing.
#[test]
fn a_cluster_asleep_is_given_up_by_a_consent_that_names_it() {
    let begins = writes(RestorationStage::Stopping);
    let mut resource = at(RestorationStage::Waiting);
    resource.status["asleepSince"] = json!("2026-01-01T00:00:00Z");
    let mut asleep = empty(&resource);
    assert_eq!(rule(&begins, &asleep), "Unasked");
    asleep.restore = Observed::Seen(consenting("c2"));
    assert_eq!(rule(&begins, &asleep), "Unasked");
    asleep.restore = Observed::Seen(consenting("c1"));
    assert_eq!(rule(&begins, &asleep), "");
}

#[test]
fn stages_come_in_their_order() {
    let allowed = |before, after| {
        let fresh = match after {
            RestorationStage::Growing | RestorationStage::Done => living(&at(before)),
            RestorationStage::Filling => empty(&at(before)),
            RestorationStage::Waiting | RestorationStage::Stopping => lost(&at(before)),
        };
        rule(&writes(after), &fresh).is_empty()
    };
    let found: Vec<_> = STAGES
        .into_iter()
        .flat_map(|before| STAGES.map(|after| (before, after)))
        .filter(|(before, after)| before != after && allowed(*before, *after))
        .collect();
    let expected: Vec<_> = STAGES.windows(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!(found, expected);
}

/// The claims of before may be whole, and the one that had a consent is gone.
#[test]
fn a_second_restore_needs_a_consent_of_its_own() {
    let mut before = at(RestorationStage::Filling);
    before.status["restoration"]["uid"] = json!("uid-before");
    let mut fresh = empty(&before);
    let begins = |replaces| {
        let mut next = restoration(RestorationStage::Stopping);
        next.replaces = replaces;
        let status = EtcdClusterStatus {
            restoration: Some(next),
            ..EtcdClusterStatus::default()
        };
        let mut action = action(Effect::UpdateStatus {
            status: Box::new(status),
        });
        action.pre.resource_version = Some("7".to_owned());
        action
    };
    assert_eq!(rule(&begins(Some(CLUSTER_ID)), &fresh), "Unasked");
    fresh.restore = Observed::Seen(consenting(&CLUSTER_ID.to_string()));
    assert_eq!(rule(&begins(Some(CLUSTER_ID)), &fresh), "");
    assert_eq!(rule(&begins(None), &fresh), "Unasked", "it is forgotten");
    // The one between them had a consent, and was taken back before it planned anybody.
    before.status["restoration"]["stage"] = json!("Stopping");
    let mut third = empty(&before);
    assert_eq!(rule(&begins(Some(CLUSTER_ID)), &third), "Unasked");
    third.restore = Observed::Seen(consenting(&CLUSTER_ID.to_string()));
    assert_eq!(rule(&begins(Some(CLUSTER_ID)), &third), "");
}

#[test]
fn the_id_is_given_up_only_when_nobody_of_before_is_left() {
    let gives_up = writes(RestorationStage::Filling);
    let resource = at(RestorationStage::Stopping);
    let permitted = |action: &Action, resource: &Resource| {
        permit(
            &decision(vec![action.clone()]),
            &snapshot_of(resource.clone()),
        )
        .is_ok()
    };
    assert!(permitted(&gives_up, &resource));
    assert!(!permitted(&gives_up, &at(RestorationStage::Waiting)));
    assert!(!permitted(&gives_up, &self::resource()));
    assert_eq!(rule(&gives_up, &empty(&resource)), "");
    assert_eq!(rule(&gives_up, &lost(&resource)), "Unasked", "one answers");
}

#[test]
fn one_under_way_is_not_forgotten_and_neither_is_whose_claims_are_kept() {
    let mut forgets = writes(RestorationStage::Growing);
    let mut drops = writes(RestorationStage::Growing);
    if let Effect::UpdateStatus { status } = &mut forgets.effect {
        status.restoration = None;
    }
    if let Effect::UpdateStatus { status } = &mut drops.effect
        && let Some(one) = &mut status.restoration
    {
        one.given_up.clear();
    }
    let growing = living(&at(RestorationStage::Growing));
    assert_eq!(rule(&forgets, &growing), "Unasked");
    assert_eq!(rule(&drops, &growing), "Unasked");
    let stopping = lost(&at(RestorationStage::Stopping));
    assert_eq!(rule(&forgets, &stopping), "", "nothing was lost yet");
    assert_eq!(rule(&forgets, &living(&at(RestorationStage::Done))), "");
}

#[test]
fn each_name_whose_claims_are_kept_stays() {
    for stage in [
        RestorationStage::Stopping,
        RestorationStage::Filling,
        RestorationStage::Growing,
    ] {
        let mut before = at(stage);
        before.status["restoration"]["givenUp"] = json!(["a-8", "a-9"]);
        let told = |names: &[&str]| {
            let mut action = writes(stage);
            if let Effect::UpdateStatus { status } = &mut action.effect
                && let Some(one) = &mut status.restoration
            {
                one.given_up = names.iter().map(|name| (*name).to_owned()).collect();
            }
            rule(&action, &living(&before))
        };
        assert_eq!(told(&["a-8", "a-9"]), "", "{stage:?}");
        assert_eq!(told(&["a-7", "a-8", "a-9"]), "", "{stage:?}");
        for fewer in [&["a-9"][..], &["a-8"], &["a-7", "a-9"]] {
            assert_eq!(told(fewer), "Unasked", "{stage:?} {fewer:?}");
        }
    }
}

#[test]
fn its_founders_are_new_ones_and_each_is_named_once() {
    let fills = |founders: &[&str]| {
        let mut action = writes(RestorationStage::Filling);
        if let Effect::UpdateStatus { status } = &mut action.effect
            && let Some(one) = &mut status.restoration
        {
            one.founders = founders.iter().map(|name| (*name).to_owned()).collect();
        }
        rule(&action, &empty(&at(RestorationStage::Stopping)))
    };
    assert_eq!(fills(&["a-1", "a-2"]), "");
    for wrong in [&[][..], &["a-1", "a-9"], &["a-1", "a-1"]] {
        assert_eq!(fills(wrong), "Unasked", "{wrong:?}");
    }
}

#[test]
fn each_sign_of_life_counts_alone() {
    let begins = writes(RestorationStage::Stopping);
    let resource = at(RestorationStage::Waiting);
    let mut leads = lost(&resource);
    if let Observed::Seen(status) = &mut leads.etcd.endpoints[0].status {
        status.leader = Some(contract::MemberId(2));
    }
    assert_eq!(
        rule(&begins, &leads),
        "Unasked",
        "one of three follows somebody"
    );
    let mut confirms = lost(&resource);
    confirms.etcd.membership = living(&resource).etcd.membership;
    assert_eq!(
        rule(&begins, &confirms),
        "Unasked",
        "a quorum confirmed the list"
    );
}
