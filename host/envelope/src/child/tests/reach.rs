//! Services and budgets that protect or reach other pods than they should, or too few.

use contract::{Member, Observed, Snapshot};
use serde_json::{Value, json};

use super::rules_of;
use crate::fixtures::{apply, budget_json, decision, member, resource, service_json, snapshot_of};
use crate::permit;

#[test]
fn a_budget_below_the_quorum_or_above_all_is_refused() {
    let of = |size: i64, kept: Value| {
        rules_of("podDisruptionBudget", budget_json(), |budget, spec| {
            spec["size"] = json!(size);
            budget["spec"]["minAvailable"] = kept;
        })
    };
    assert_eq!(of(3, json!(2)), [""; 0]);
    assert_eq!(of(3, json!(1)), ["Budget"]);
    assert_eq!(of(3, json!(3)), ["Budget"]);
    assert_eq!(of(5, json!(2)), ["Budget"], "five are on their way");
    assert_eq!(of(5, json!(3)), [""; 0]);
    assert_eq!(of(1, json!(1)), ["Budget"], "three vote still");
}

fn may_keep(kept: i64, snapshot: &Snapshot) -> bool {
    let mut budget = budget_json();
    budget["spec"]["minAvailable"] = json!(kept);
    let budget = apply("podDisruptionBudget", budget);
    permit(&decision(vec![budget]), snapshot).is_ok()
}

/// It is there before the learner votes.
#[test]
fn a_budget_may_count_a_learner_as_well() {
    let mut snapshot = snapshot_of(resource());
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        let learner = true;
        list.members.push(Member {
            learner,
            ..member(4)
        });
    }
    assert!(may_keep(2, &snapshot));
    assert!(may_keep(3, &snapshot));
    assert!(!may_keep(4, &snapshot));
}

/// Two of three vote beside one that is Ready: an eviction of one of the two would leave no quorum.
#[test]
fn a_budget_may_keep_all_beside_a_learner_and_no_more_without_it() {
    let mut snapshot = snapshot_of(resource());
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members[2].learner = true;
    }
    assert!(may_keep(3, &snapshot));
    assert!(!may_keep(4, &snapshot));
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members.truncate(2);
    }
    assert!(!may_keep(3, &snapshot));
}

#[test]
fn a_quorum_is_counted_by_etcds_list() {
    let mut snapshot = snapshot_of(resource());
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members.extend([member(4), member(5)]);
    }
    let refusals = permit(
        &decision(vec![apply("podDisruptionBudget", budget_json())]),
        &snapshot,
    );
    let words = refusals.err().unwrap_or_default();
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["the disruption budget a must keep from 3 to 3 members available"]
    );
}

/// While nobody shows the list, those that voted still may.
#[test]
fn a_quorum_is_counted_by_the_status_where_nobody_shows_the_list() {
    let mut resource = resource();
    resource.spec["size"] = json!(1);
    resource.status["memberRecords"] =
        json!([1, 2, 3].map(|id| json!({"name": format!("a-{id}"), "role": "Voter"})));
    let mut snapshot = snapshot_of(resource);
    snapshot.etcd.membership = Observed::Unknown("no leader".to_owned());
    assert!(may_keep(2, &snapshot));
    assert!(!may_keep(1, &snapshot));
}

/// A selector with one label more selects nobody.
#[test]
fn a_selector_with_a_further_label_is_refused() {
    let labels = json!({"app": "etcd", "etcd_cluster": "a", "role": "nobody"});
    let budget = rules_of("podDisruptionBudget", budget_json(), |budget, _| {
        budget["spec"]["selector"]["matchLabels"] = labels.clone();
    });
    assert_eq!(budget, ["Selector"]);
    let service = rules_of("service", service_json(), |service, _| {
        service["spec"]["selector"] = labels.clone();
    });
    assert_eq!(service, ["Selector"]);
}

#[test]
fn a_service_leads_to_the_port_that_it_names_and_clients_only_to_the_ready() {
    let elsewhere = rules_of("service", service_json(), |service, _| {
        service["spec"]["ports"][0]["targetPort"] = json!(2380);
    });
    assert_eq!(elsewhere, ["Field"]);
    let unready = rules_of("service", service_json(), |service, _| {
        service["spec"]["publishNotReadyAddresses"] = json!(true);
    });
    assert_eq!(unready, ["Field"]);
}

/// One that leads elsewhere is as good as none.
#[test]
fn a_service_has_the_ports_that_it_is_for_and_no_others() {
    let of = |name: &str, ports: Value| {
        rules_of("service", service_json(), |service, _| {
            service["metadata"]["name"] = json!(name);
            service["spec"]["publishNotReadyAddresses"] = json!(name == "a");
            service["spec"]["ports"] = ports;
        })
    };
    let client = json!({"name": "client", "port": 2379, "protocol": "TCP", "targetPort": 2379});
    let peer = json!({"name": "peer", "port": 2380, "protocol": "TCP", "targetPort": 2380});
    assert_eq!(of("a-client", json!([client])), [""; 0]);
    assert_eq!(of("a", json!([client, peer])), [""; 0]);
    for (name, ports) in [
        ("a-client", json!([])),
        ("a-client", json!([{"name": "client", "port": 9}])),
        ("a-client", json!([client, peer])),
        ("a", json!([client])),
        (
            "a-client",
            json!([{"name": "client", "port": 2379, "protocol": "UDP"}]),
        ),
    ] {
        assert_eq!(of(name, ports.clone()), ["Field"], "{name} {ports}");
    }
}
