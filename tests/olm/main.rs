//! The suite `olm`: installation and upgrade through Operator Lifecycle Manager, as a user would do it.
//!
//! OLM, its catalog pod, its unpack Jobs, the registry and etcd are the real ones. Every scenario has namespaces of its own
//! and does everything by objects that a user writes.

mod channels;
mod edges;
mod failing;
mod gap;
mod groups;
mod held;
mod install;
mod leftovers;
mod living;
mod modes;
mod scorecard;
#[path = "../cluster/standing.rs"]
mod standing;
#[path = "../cluster/writer.rs"]
#[expect(dead_code, reason = "each suite needs some of it")]
mod writer;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use tests::kubectl::Kubectl;
use tests::olm::{self, Publication};
use tests::scenario::Programs;
use tests::testbed::{Progress, Testbed, default_name};
use tokio::runtime::{Handle, Runtime};

/// Scenarios at a time: they mostly wait for OLM.
const AT_A_TIME: usize = 2;

/// What all scenarios share.
#[derive(Clone)]
struct Ground {
    testbed: Testbed,
    kubectl: Kubectl,
    publication: Publication,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("The suite `olm` cannot run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let runtime = Runtime::new()?;
    let ground = if arguments.list {
        None
    } else {
        Some(runtime.block_on(prepare())?)
    };
    let mut has_failed = false;
    let trials = |trials: Trials| trials(runtime.handle(), ground.as_ref());
    for (trials, at_a_time) in [(trials(side_by_side), AT_A_TIME), (trials(alone), 1)] {
        let mut arguments = arguments.clone();
        arguments.test_threads = Some(arguments.test_threads.unwrap_or(at_a_time).min(at_a_time));
        has_failed |= libtest_mimic::run(&arguments, trials).has_failed();
    }
    Ok(ExitCode::from(u8::from(has_failed)))
}

/// The testbed with OLM, and four releases in its registry.
async fn prepare() -> Result<Ground> {
    let progress = Progress::on_stderr();
    let started = Instant::now();
    let testbed = Testbed::up(&default_name(), &progress)
        .await
        .context("there is no testbed")?;
    let programs = Programs::build().await?;
    let kubectl = Kubectl {
        program: testbed.kubectl()?,
        kubeconfig: Some(testbed.kubeconfig()),
    };
    progress.say("installing OLM");
    let registry = testbed.registry(&progress).await?;
    olm::install(&testbed, &kubectl, &progress).await?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("olm");
    let publication = Publication::make(
        &registry,
        &programs.program,
        &programs.module,
        &folder,
        &progress,
    )
    .await?;
    olm::serve(&kubectl, olm::CATALOG, &publication.catalog).await?;
    let failing = Publication::failing(
        &registry,
        &programs.program,
        &programs.module,
        &folder.join("failing"),
        &progress,
    )
    .await?;
    olm::serve(&kubectl, olm::FAILING_CATALOG, &failing.catalog).await?;
    progress.finish(&format!(
        "OLM serves four releases after {} s",
        started.elapsed().as_secs()
    ));
    Ok(Ground {
        testbed,
        kubectl,
        publication,
    })
}

type Trials = fn(&Handle, Option<&Ground>) -> Vec<Trial>;

/// Those whose namespaces do not meet.
fn side_by_side(runtime: &Handle, ground: Option<&Ground>) -> Vec<Trial> {
    vec![
        trial(
            runtime,
            ground,
            "edges::every_edge_of_testing_is_walked_and_no_etcd_pod_or_write_notices",
            edges::testing,
        ),
        trial(
            runtime,
            ground,
            "edges::prod_moves_by_its_own_edge_when_a_person_approves",
            edges::prod,
        ),
        trial(
            runtime,
            ground,
            "edges::a_release_of_testing_has_a_way_into_prod",
            edges::from_testing_to_prod,
        ),
        trial(
            runtime,
            ground,
            "edges::the_first_release_goes_to_the_head_of_prod_at_once",
            edges::at_once,
        ),
        trial(
            runtime,
            ground,
            "edges::olm_alone_goes_through_testing_once_it_may",
            edges::automatic,
        ),
        trial(
            runtime,
            ground,
            "failing::the_old_operator_works_on_beside_a_release_that_never_gets_ready_and_the_next_one_mends_it",
            failing::forward,
        ),
        trial(
            runtime,
            ground,
            "groups::a_wrong_operator_group_is_told_and_harms_nobody",
            groups::wrong,
        ),
        trial(
            runtime,
            ground,
            "install::what_the_subscription_sets_reaches_the_pod",
            install::configured,
        ),
        trial(
            runtime,
            ground,
            "install::a_subscription_to_testing_makes_an_operator_whose_cluster_becomes_healthy",
            install::testing,
        ),
        trial(
            runtime,
            ground,
            "scorecard::its_six_tests_pass_as_pods",
            scorecard::passed,
        ),
        trial(
            runtime,
            ground,
            "leftovers::clusters_outlive_the_operator_and_are_taken_up_again",
            leftovers::reinstalled,
        ),
    ]
}

/// Those whose operator looks into other namespaces, and those that want the definitions for themselves.
fn alone(runtime: &Handle, ground: Option<&Ground>) -> Vec<Trial> {
    vec![
        trial(
            runtime,
            ground,
            "held::a_release_waits_for_clusters_in_mid_change_and_goes_on_by_itself",
            held::held,
        ),
        trial(
            runtime,
            ground,
            "channels::the_other_channel_waits_until_it_has_something_newer",
            channels::there_and_back,
        ),
        trial(
            runtime,
            ground,
            "leftovers::what_was_stored_under_the_archived_definition_is_taken_over",
            leftovers::archived,
        ),
        trial(
            runtime,
            ground,
            "modes::one_several_and_all_namespaces_are_served_and_no_others",
            modes::all,
        ),
    ]
}

/// A test on the common ground. Without one it can only be listed.
fn trial<Body>(runtime: &Handle, ground: Option<&Ground>, name: &'static str, body: Body) -> Trial
where
    Body: AsyncFnOnce(&Ground) -> Result<()> + Send + 'static,
{
    let (runtime, ground) = (runtime.clone(), ground.cloned());
    Trial::test(name, move || {
        let Some(ground) = ground else {
            return Err(Failed::from("nothing was prepared"));
        };
        let started = Instant::now();
        let ended = runtime.block_on(body(&ground));
        eprintln!("{name}: {} s", started.elapsed().as_secs());
        ended.map_err(|error| format!("{error:#}").into())
    })
}
