//! The suite `cluster`: what the operator does on a real Kubernetes, with real nodes, disks and members of etcd.
//!
//! Each scenario has a namespace and an operator of its own. Those that disturb nobody run side by side; those that hurt
//! a node or the API server run alone; the last one replays the recordings of all the others.

mod adopt;
mod asked;
mod backup;
mod bad_input;
mod birth;
mod consent;
mod consistency;
mod coreos;
mod disks;
mod drop_in;
mod emulators;
mod harness;
#[path = "../decide/linear.rs"]
mod linear;
mod members;
mod minio;
#[path = "../replay/model.rs"]
mod model;
mod modules;
mod operators;
mod recordings;
mod reshape;
mod restarts;
mod restore;
mod scale;
mod scope;
mod serial;
mod space;
mod standing;
mod surroundings;
mod tap;
mod tls;
mod upgrade;
mod writer;
mod zero;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Trial};
use tests::scenario::{Programs, Suite};
use tests::testbed::{Progress, Testbed, default_name};
use tokio::runtime::Runtime;

use harness::Scenarios;

/// Scenarios at a time: they mostly wait, for two processors all the same.
const AT_A_TIME: usize = 3;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("The suite `cluster` cannot run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let runtime = Runtime::new()?;
    let suite = if arguments.list {
        None
    } else {
        Some(runtime.block_on(prepare())?)
    };
    let scenarios = Scenarios::new(&runtime, suite.as_ref());
    let mut has_failed = false;
    for (trials, at_a_time) in [
        (side_by_side(&scenarios), AT_A_TIME),
        (serial::alone(&scenarios), 1),
        (serial::afterwards(&scenarios), 1),
    ] {
        let mut arguments = arguments.clone();
        arguments.test_threads = Some(arguments.test_threads.unwrap_or(at_a_time).min(at_a_time));
        has_failed |= libtest_mimic::run(&arguments, trials).has_failed();
    }
    Ok(ExitCode::from(u8::from(has_failed)))
}

/// What the scenarios stand on: the testbed, the operator, the custom resource.
async fn prepare() -> Result<Suite> {
    let progress = Progress::on_stderr();
    let testbed = Testbed::up(&default_name(), &progress)
        .await
        .context("there is no testbed")?;
    let programs = Programs::build().await?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster");
    eprintln!(
        "Recordings, logs and the evidence of failures are in {}",
        folder.display()
    );
    Suite::prepare(testbed, programs, folder).await
}

/// Those that disturb nobody, the long ones first.
fn side_by_side(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial(
            "adopt::a_cluster_on_volumes_is_taken_over_healed_and_renewed_without_losing_a_member",
            adopt::on_volumes,
        ),
        scenarios.trial(
            "adopt::a_cluster_in_its_pods_is_taken_over_resized_healed_and_renewed",
            adopt::in_pods,
        ),
        scenarios.trial(
            "modules::a_bad_module_is_noticed_in_shadow_fixed_canaried_active_and_rolled_back",
            modules::rolled_out,
        ),
        scenarios.trial(
            "modules::swaps_under_load_miss_nothing_and_do_nothing_twice",
            modules::swapped_under_load,
        ),
        scenarios.trial(
            "modules::the_older_of_two_is_active_again_after_a_restart_without_its_source",
            modules::restarted,
        ),
        scenarios.trial(
            "modules::what_cannot_be_loaded_changes_nothing_and_says_why",
            modules::refused,
        ),
        scenarios.trial(
            "modules::a_module_that_keeps_failing_gives_way_to_the_last_good_one",
            modules::fallen_back,
        ),
        scenarios.trial(
            "operators::a_removed_operator_leaves_its_clusters_and_takes_them_up_again",
            operators::removed,
        ),
        scenarios.trial(
            "operators::a_frozen_leader_does_nothing_after_its_lease",
            operators::leader_frozen,
        ),
        scenarios.trial(
            "operators::a_standby_goes_on_within_the_lease_of_a_killed_leader",
            operators::leader_killed,
        ),
        scenarios.trial(
            "operators::what_changed_while_nobody_looked_is_made_good",
            operators::away_for_long,
        ),
        scenarios.trial(
            "backup::one_is_taken_again_and_again_and_the_oldest_go_by_number",
            backup::periodic,
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
            "restore::a_new_cluster_is_born_from_a_backup_of_an_older_version",
            restore::born_from,
        ),
        scenarios.trial(
            "drop_in::size_and_version_make_a_cluster_that_serves_as_the_walk_through_says",
            drop_in::size_and_version,
        ),
        scenarios.trial(
            "drop_in::a_documented_pod_policy_is_in_effect_or_said_not_to_be",
            drop_in::pod_policy,
        ),
        scenarios.trial(
            "drop_in::members_keep_apart_and_on_volumes_as_documented",
            drop_in::apart_and_on_volumes,
        ),
        scenarios.trial(
            "drop_in::an_old_version_is_told_with_the_nearest_way",
            drop_in::old_version,
        ),
        scenarios.trial(
            "upgrade::four_minor_versions_are_walked_under_writes_and_none_fails",
            upgrade::walked,
        ),
        scenarios.trial(
            "upgrade::a_patch_and_a_repository_roll_one_member_at_a_time",
            upgrade::patch_and_repository,
        ),
        scenarios.trial(
            "upgrade::an_image_that_does_not_exist_stops_it_and_setting_it_back_returns",
            upgrade::stuck,
        ),
        scenarios.trial(
            "upgrade::a_sole_member_is_upgraded_and_returns_from_a_missing_image",
            upgrade::alone,
        ),
        scenarios.trial(
            "reshape::a_changed_pod_policy_makes_pods_again_on_their_disks_under_writes",
            reshape::on_volumes,
        ),
        scenarios.trial(
            "reshape::a_policy_that_no_node_can_follow_stops_at_one_pod_and_is_taken_back",
            reshape::impossible,
        ),
        scenarios.trial(
            "reshape::claims_asked_for_later_move_the_data_out_of_the_pods",
            reshape::out_of_pods,
        ),
        scenarios.trial(
            "members::a_member_left_frozen_is_restarted_and_keeps_its_id",
            members::frozen_for_good,
        ),
        scenarios.trial(
            "scale::no_acknowledged_write_is_lost_from_3_to_5_to_3",
            scale::up_and_down_under_writes,
        ),
        scenarios.trial(
            "space::a_used_up_quota_is_cured_once_keys_are_deleted",
            space::keys_deleted,
        ),
        scenarios.trial(
            "space::a_quota_used_up_by_history_is_cured_by_itself",
            space::history_only,
        ),
        scenarios.trial(
            "disks::two_of_three_disks_lost_is_told_and_nothing_is_destroyed",
            disks::two_wiped,
        ),
        scenarios.trial(
            "bad_input::an_image_that_cannot_be_had_is_told_and_a_correction_forms_the_cluster",
            bad_input::missing_image,
        ),
        scenarios.trial(
            "members::a_frozen_member_is_told_and_comes_back_as_it_was",
            members::frozen_for_a_while,
        ),
        scenarios.trial(
            "scale::a_size_changed_in_mid_flight_is_followed",
            scale::edited_in_mid_flight,
        ),
        scenarios.trial(
            "consent::two_of_three_disks_gone_is_recovered_from_the_survivor_by_consent",
            consent::two_disks_gone,
        ),
        scenarios.trial("consent::a_stale_consent_does_nothing", consent::stale),
        scenarios.trial(
            "zero::a_cluster_stopped_and_started_again_is_the_same_with_the_same_data",
            zero::down_and_up,
        ),
        scenarios.trial(
            "zero::a_size_set_to_0_or_back_in_mid_flight_is_followed",
            zero::edited_in_mid_flight,
        ),
        scenarios.trial(
            "restarts::an_operator_killed_at_rest_does_nothing_after_its_restart",
            restarts::at_rest,
        ),
        scenarios.trial(
            "restarts::an_operator_killed_while_scaling_finishes_it",
            restarts::while_scaling,
        ),
        scenarios.trial(
            "birth::clusters_of_1_and_3_form_and_serve_their_clients",
            birth::one_and_three,
        ),
        scenarios.trial(
            "birth::kubectl_shows_scales_and_describes_a_cluster_in_useful_words",
            birth::in_words,
        ),
        scenarios.trial(
            "birth::two_clusters_of_one_name_in_two_namespaces_never_meet",
            birth::namesakes,
        ),
        scenarios.trial(
            "scope::several_namespaces_are_served_by_name_and_no_other",
            scope::several_namespaces,
        ),
        scenarios.trial(
            "birth::deleting_removes_everything_owned_and_nothing_else",
            birth::deleted,
        ),
        scenarios.trial(
            "members::a_pod_deleted_comes_back_on_its_volume_as_the_same_member",
            members::pod_deleted_on_volume,
        ),
        scenarios.trial(
            "members::a_pod_deleted_without_a_volume_is_replaced_learner_first",
            members::pod_deleted_in_memory,
        ),
        scenarios.trial(
            "members::a_killed_member_restarts_in_its_pod_as_the_same_member",
            members::killed,
        ),
        scenarios.trial(
            "members::all_pods_deleted_at_once_come_back_as_the_same_cluster",
            members::all_deleted,
        ),
        scenarios.trial(
            "disks::a_wiped_disk_is_replaced_and_the_data_is_kept",
            disks::one_wiped,
        ),
        scenarios.trial(
            "disks::a_deleted_volume_claim_is_replaced_and_the_data_is_kept",
            disks::claim_deleted,
        ),
        scenarios.trial(
            "asked::recordings_plans_and_explanations_come_through_the_api_server_to_who_may",
            asked::through_the_api_server,
        ),
        scenarios.trial(
            "restarts::the_deployment_runs_a_cluster_and_its_successor_leaves_it_alone",
            restarts::as_deployment,
        ),
        scenarios.trial(
            "restarts::a_module_that_traps_is_told_and_does_nothing",
            restarts::trapping_module,
        ),
        scenarios.trial(
            "bad_input::a_size_that_cannot_be_is_refused_or_told_and_members_are_kept",
            bad_input::sizes,
        ),
        scenarios.trial(
            "bad_input::versions_are_refused_told_or_understood",
            bad_input::versions,
        ),
        scenarios.trial(
            "bad_input::repositories_and_labels_that_cannot_be_are_refused_in_words",
            bad_input::repositories_and_labels,
        ),
        scenarios.trial(
            "bad_input::names_that_cannot_be_are_refused_and_the_longest_one_works",
            bad_input::names,
        ),
        scenarios.trial(
            "bad_input::unknown_fields_are_named_and_do_no_harm",
            bad_input::unknown_fields,
        ),
        scenarios.trial(
            "bad_input::an_object_of_somebody_else_is_left_alone_and_named",
            bad_input::foreign_objects,
        ),
        scenarios.trial(
            "bad_input::a_missing_right_is_named_and_the_cluster_forms",
            bad_input::missing_right,
        ),
        scenarios.trial(
            "tls::the_operators_own_certificates_are_made_again_and_change_authority_in_a_living_cluster",
            tls::auto,
        ),
        scenarios.trial(
            "tls::a_renewed_certificate_is_served_without_a_restart",
            tls::renewed,
        ),
        scenarios.trial(
            "tls::secrets_with_the_old_names_let_in_who_shows_a_certificate_and_nobody_else",
            tls::old_layout,
        ),
        scenarios.trial(
            "tls::one_kubernetes_tls_secret_in_all_roles_forms_and_grows",
            tls::kubernetes_layout,
        ),
        scenarios.trial(
            "tls::a_missing_secret_is_named_and_the_cluster_forms_when_it_comes",
            tls::missing,
        ),
        scenarios.trial(
            "tls::a_certificate_of_another_authority_is_named_and_breaks_nothing",
            tls::wrong_authority,
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
