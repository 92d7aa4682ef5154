//! What befalls clusters of this group as it does those of the other: the same scenarios, written in this dialect.

use contract::Dialect;
use libtest_mimic::Trial;

use crate::harness::Scenarios;
use crate::{crashes, disks, members, restarts, surroundings};

const DIALECT: Dialect = Dialect::Improbable;

/// Those that disturb nobody.
pub(super) fn side_by_side(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial_in(
            DIALECT,
            "improbable::an_operator_that_ends_before_and_after_every_single_write_gets_there",
            crashes::around_each_write_in_short,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::a_wiped_disk_is_replaced_and_the_data_is_kept",
            disks::one_wiped,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::a_deleted_volume_claim_is_replaced_and_the_data_is_kept",
            disks::claim_deleted,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::two_of_three_disks_lost_is_told_and_nothing_is_destroyed",
            disks::two_wiped,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::a_frozen_member_is_told_and_comes_back_as_it_was",
            members::frozen_for_a_while,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::a_pod_deleted_comes_back_on_its_volume_as_the_same_member",
            members::pod_deleted_on_volume,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::all_pods_deleted_at_once_come_back_as_the_same_cluster",
            members::all_deleted,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::an_operator_killed_while_scaling_finishes_it",
            restarts::while_scaling,
        ),
    ]
}

/// Those that hurt what others stand on.
pub(crate) fn alone(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial_in(
            DIALECT,
            "improbable::a_node_cut_off_and_back_changes_no_member",
            surroundings::node_cut_off,
        ),
        scenarios.trial_in(
            DIALECT,
            "improbable::without_the_api_server_etcd_serves_and_the_operator_goes_on_afterwards",
            surroundings::api_server_down,
        ),
    ]
}
