//! The scenarios about backups and restores, and which of them want something that not every machine has.

use libtest_mimic::Trial;

use crate::harness::Scenarios;
use crate::{backup, emulators, restore};

/// Those that disturb nobody, the long ones first.
pub(crate) fn trials(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial(
            "backup::one_is_taken_again_and_again_and_the_oldest_go_by_number",
            backup::periodic,
        ),
        scenarios.trial(
            "backup::what_is_stored_goes_with_its_object_where_that_asks_for_it",
            backup::going,
        ),
        scenarios.trial(
            "backup::rehearsed_the_newest_is_a_member_that_nobody_reaches_with_the_same_revision_keys_and_hash",
            backup::proven,
        ),
        scenarios.trial(
            "backup::rehearsed_other_bytes_than_were_stored_are_told_and_harm_nothing",
            backup::damaged,
        ),
        scenarios.trial(
            "backup::an_act_waits_for_a_store_that_is_away_and_goes_on_by_itself",
            backup::before,
        ),
        scenarios.trial(
            "backup::a_store_that_cuts_refuses_or_is_slow_gets_the_whole_or_none",
            backup::bad_store,
        ),
        scenarios.trial(
            "backup::a_store_with_a_full_disk_keeps_nothing_until_it_has_room",
            backup::full_store,
        ),
        scenarios.trial(
            "backup::a_full_member_gives_a_whole_one_and_a_locked_one_none",
            backup::full_and_locked,
        ),
        scenarios.trial(
            "backup::a_tls_cluster_is_backed_up_with_the_clients_secret_of_old",
            backup::once_with_tls,
        ),
        scenarios.trial(
            "backup::the_manifest_of_old_stores_exactly_its_key_and_never_runs_again",
            backup::once,
        ),
        scenarios.trial(
            "backup::azure_takes_the_secret_of_old_and_gives_back_the_same_bytes",
            backup::azure,
        ),
        scenarios.trial(
            "backup::google_takes_the_secret_of_old_and_gives_back_the_same_bytes",
            backup::google,
        ),
        scenarios.trial(
            "backup::google_gives_a_token_for_the_file_of_a_service_account",
            backup::google_account,
        ),
        where_set(
            emulators::OSS_EMULATOR,
            scenarios.trial(
                "backup::alibaba_takes_the_secret_of_old_and_gives_back_the_same_bytes",
                backup::alibaba,
            ),
        ),
        scenarios.trial(
            "backup::an_operator_killed_in_the_middle_leaves_one_whole_backup",
            backup::restarted,
        ),
        scenarios.trial(
            "backup::what_cannot_work_is_said_and_nothing_is_taken_for_a_backup",
            backup::bad_input,
        ),
        scenarios.trial(
            "restore::all_pods_and_disks_gone_is_restored_by_the_manifest_of_old_through_crashes",
            restore::everything_gone,
        ),
        scenarios.trial(
            "restore::a_claim_takes_backups_proves_them_and_gives_them_back",
            restore::from_claim,
        ),
        scenarios.trial(
            "restore::clusters_are_born_from_azure",
            restore::from_azure,
        ),
        scenarios.trial(
            "restore::clusters_are_born_from_google",
            restore::from_google,
        ),
        where_set(
            emulators::OSS_EMULATOR,
            scenarios.trial(
                "restore::clusters_are_born_from_alibaba",
                restore::from_alibaba,
            ),
        ),
        scenarios.trial(
            "restore::a_tls_cluster_is_restored_with_its_certificates",
            restore::with_tls,
        ),
        scenarios.trial(
            "restore::a_living_cluster_is_given_up_only_by_a_consent",
            restore::living,
        ),
        scenarios.trial(
            "restore::a_backup_that_is_none_is_told_and_nothing_is_touched",
            restore::bad_backups,
        ),
        scenarios.trial(
            "restore::a_bad_way_to_the_backup_is_told_and_waited_for",
            restore::bad_way,
        ),
        scenarios.trial(
            "restore::users_and_a_used_up_quota_that_come_along_are_told_and_got_over",
            restore::with_trouble,
        ),
        scenarios.trial(
            "restore::a_new_cluster_is_born_from_a_backup_of_an_older_version",
            restore::born_from,
        ),
        scenarios.trial(
            "restore::backups_are_listed_fetched_proven_and_restored_at_a_terminal",
            restore::at_a_terminal,
        ),
    ]
}

/// A test that is left out, saying so, where a variable of the environment is not set.
fn where_set(variable: &str, trial: Trial) -> Trial {
    let is_set = std::env::var_os(variable).is_some();
    let wants = format!("wants {variable}");
    trial
        .with_ignored_flag(!is_set)
        .with_kind(if is_set { String::new() } else { wants })
}
