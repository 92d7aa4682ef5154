//! The scenarios that `make test` leaves out and `make live` runs.
//!
//! They take a third of the time of all, and what each of them is about is shown in shorter ways as well: by another
//! scenario, by the same one in the other dialect, or by drawn histories and cases of the decision. One that alone needs
//! some right of the operator cannot be among them: `rights::*` would miss it.

use libtest_mimic::Trial;

const LONG: [&str; 23] = [
    "adopt::a_cluster_in_its_pods_is_taken_over_resized_healed_and_renewed",
    "backup::rehearsed_other_bytes_than_were_stored_are_told_and_harm_nothing",
    "clocks::an_operator_an_hour_ahead_heals_and_scales_and_dates_no_certificate",
    "consent::a_stale_consent_does_nothing",
    "corrupt::three_members_that_all_differ_are_told_and_nothing_is_destroyed",
    "crashes::an_operator_that_ends_before_and_after_every_single_write_gets_there",
    "improbable::a_deleted_volume_claim_is_replaced_and_the_data_is_kept",
    "improbable::a_frozen_member_is_told_and_comes_back_as_it_was",
    "improbable::a_missing_version_is_taken_back_and_the_next_minor_one_reached_on_the_same_claims",
    "improbable::a_paused_cluster_and_its_peers_are_left_alone",
    "improbable::a_plan_and_an_explanation_are_of_the_group_that_is_named",
    "improbable::a_pod_deleted_comes_back_on_its_volume_as_the_same_member",
    "improbable::all_pods_deleted_at_once_come_back_as_the_same_cluster",
    "improbable::an_operator_killed_while_scaling_finishes_it",
    "improbable::two_of_three_disks_lost_is_told_and_nothing_is_destroyed",
    "members::a_member_left_frozen_is_restarted_and_keeps_its_id",
    "memory::a_member_that_uses_too_much_is_told_and_not_replaced",
    "modules::the_older_of_two_is_active_again_after_a_restart_without_its_source",
    "reshape::a_policy_that_api_server_or_kubelet_refuses_costs_no_member",
    "restore::a_bad_way_to_the_backup_is_told_and_waited_for",
    "restore::clusters_are_born_from_google",
    "scale::a_connection_that_the_leader_takes_for_broken_holds_up_no_growth",
    "tls::certificates_that_cannot_work_are_named_on_a_living_cluster_and_break_nothing",
];

/// Without `--include-ignored` these are not run, and said to be ignored.
pub(crate) fn leave_out(trials: Vec<Trial>) -> Vec<Trial> {
    let names: Vec<&str> = trials.iter().map(Trial::name).collect();
    for long in LONG {
        assert!(names.contains(&long), "no scenario is called {long}");
    }
    let mark = |trial: Trial| {
        // One may be left out already, where something it needs is not here.
        let is_long = LONG.contains(&trial.name());
        if is_long {
            trial.with_ignored_flag(true)
        } else {
            trial
        }
    };
    trials.into_iter().map(mark).collect()
}
