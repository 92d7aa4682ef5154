//! The scenarios that run one at a time: those that hurt what others stand on, and the replay of everybody's recordings.

use libtest_mimic::Trial;

use crate::harness::Scenarios;
use crate::{consistency, improbable, modules, nodes, recordings, rights, scope, surroundings};

/// Those that hurt what others stand on.
pub(crate) fn alone(scenarios: &Scenarios) -> Vec<Trial> {
    let mut trials = improbable::faults::alone(scenarios);
    trials.extend(on_shared_ground(scenarios));
    trials
}

fn on_shared_ground(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial(
            "surroundings::a_node_cut_off_and_back_changes_no_member",
            surroundings::node_cut_off,
        ),
        scenarios.trial(
            "nodes::two_nodes_cut_off_one_after_the_other_cost_no_member",
            nodes::both_cut_off,
        ),
        scenarios.trial(
            "surroundings::a_second_node_is_not_drained_before_the_first_members_return",
            surroundings::drained,
        ),
        scenarios.trial(
            "surroundings::without_the_api_server_etcd_serves_and_the_operator_goes_on_afterwards",
            surroundings::api_server_down,
        ),
        scenarios.trial(
            "consistency::what_clients_are_answered_during_faults_is_linearizable",
            consistency::linearizable,
        ),
        scenarios.trial(
            "modules::without_the_kind_the_built_in_module_decides_until_it_is_installed",
            modules::not_installed,
        ),
        // Its operator says of everybody's clusters that it does not serve them.
        scenarios.trial(
            "scope::a_cluster_with_the_scope_annotation_is_served_by_the_operator_of_all_namespaces_alone",
            scope::cluster_wide,
        ),
        scenarios.trial(
            "surroundings::an_object_stored_with_wrong_types_harms_nobody_else",
            surroundings::wrong_types,
        ),
    ]
}

/// What looks at what all the others left.
pub(crate) fn afterwards(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.plain(
            "recordings::every_decision_replays_equal_with_its_fuel",
            recordings::replay_in_wasm,
        ),
        scenarios.plain(
            "recordings::every_decision_is_the_same_natively",
            recordings::decide_natively,
        ),
        scenarios.plain(
            "recordings::what_really_happened_is_what_happens_in_the_model",
            recordings::are_as_the_model,
        ),
        scenarios.plain(
            "rights::each_right_of_the_operator_is_needed_by_a_scenario_and_no_other_is_asked_for",
            rights::each_is_needed,
        ),
    ]
}
