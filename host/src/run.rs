//! The composition root of `binnacle run`: every watch, task and channel of the running operator is started here.
//!
//! Contains no logic of its own beyond the order of starting and stopping.

mod args;
mod dispatch;
mod predecessor;
mod settings;
mod watches;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use contract::Millis;
use kube::Client;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, info, info_span, warn};

pub use args::RunArgs;
pub(crate) use predecessor::with_two_dashes;

use crate::backup::{self, Transfers};
use crate::error::Chain;
use crate::execute::Executor;
use crate::http::{self, Pages};
use crate::lease::{self, Leadership};
use crate::metrics::{Metrics, Scraped};
use crate::module::{self, Engine, Module, Source};
use crate::observe::shelf::Scope;
use crate::observe::{OwnSecret, World};
use crate::pass::{Memories, Passes};
use crate::queue::Queue;
use crate::recorder::{Header, Limits, Recorder};
use crate::registry::SideProcess;
use crate::rollout::{self, Parts, Sources};
use crate::roster::{Lineup, Roster, Seat};
use crate::telemetry;
use crate::upgradeable;
use dispatch::dispatch;
pub(crate) use settings::kube_config;
use settings::{
    in_words, random_identity, recordings_directory, scopes, selection, signature_policy,
};
use watches::start_watches;

/// Threads that wait for answers.
const WORKERS: usize = 2;
/// Threads for calls that block: decisions, shadows, a module being loaded, and looking up the API server's name.
const BLOCKED: usize = 6;
/// Decisions made at the same time.
const DECISIONS: usize = 2;
/// Decisions that shadows are asked about at the same time.
const SHADOWED: usize = 1;
/// How long a pass that runs at the time of a stop may take to end its effect in flight.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The runtime of the operator: few threads, because it waits far more than it computes, and each costs memory.
///
/// # Errors
/// The system gives no threads.
pub fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKED)
        .enable_all()
        .build()
}

/// Runs the operator until SIGTERM or SIGINT: the effect in flight ends, recordings are written, the lease is released.
///
/// # Errors
/// Whatever keeps the operator from starting, and the failure of its HTTP server.
pub async fn run(args: RunArgs) -> anyhow::Result<()> {
    let RunArgs {
        kubeconfig,
        module,
        module_signature_key,
        module_signature_issuer,
        module_signature_subject,
        module_signature_trusted_root,
        operator_image,
        store_secret,
        watch_namespace,
        namespace,
        identity,
        leader_elect,
        operator_condition,
        concurrency,
        listen_addr,
        recordings_dir,
        recordings_max_mib,
        cache_dir,
        log_format,
        log,
        old,
    } = args;
    let cluster_wide = old.is_cluster_wide();
    let policy = signature_policy(
        module_signature_key,
        module_signature_issuer.zip(module_signature_subject),
        module_signature_trusted_root,
    )?;
    let idle_flags = old.judge()?;
    telemetry::start(log_format, &log).context("--log cannot be read")?;
    for said in idle_flags {
        warn!("The flag {said}");
    }

    let config = kube_config(kubeconfig, None).await?;
    let namespace = namespace
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| config.default_namespace.clone());
    let scopes = if cluster_wide {
        vec![Scope::All]
    } else {
        scopes(watch_namespace.as_deref(), &namespace)
    };
    let selection = selection(&scopes, cluster_wide);
    let api_server = config.cluster_url.to_string();
    let client = Client::try_from(config).context("the Kubernetes client cannot be made")?;
    let listener = TcpListener::bind(listen_addr)
        .await
        .with_context(|| format!("--listen-addr {listen_addr} cannot be used"))?;

    let cache = module::cache_directory(cache_dir);
    let source = Source::find(module.as_deref())?;
    let file = source.path.display();
    info!(%file, "Loading the module; the first time it is compiled");
    let (engine, module) = load(cache.clone(), source.bytes.clone())
        .await
        .with_context(|| format!("{file} cannot be used"))?;
    let version = module.description().version.clone();
    info!(
        version = crate::VERSION,
        module = module.digest(),
        module_version = version,
        module_file = %file,
        api_server,
        serving = %in_words(&scopes),
        "Starting"
    );

    let recordings = recordings_dir.unwrap_or_else(recordings_directory);
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let header = Header::new(engine.hash(), module.digest().to_owned(), now);
    let limits = Limits {
        bytes: recordings_max_mib << 20,
        ..Limits::default()
    };
    let recorder = Recorder::open(&recordings, limits, header)
        .context("name a writable directory with --recordings-dir")?;
    let recorder = Arc::new(recorder);
    recorder.keep_module(module.digest(), source.bytes.clone());
    let built_in = Arc::new(Seat::built_in(module, now));
    let roster = Arc::new(Roster::new(Lineup::alone(Arc::clone(&built_in))));

    let stop = CancellationToken::new();
    let stop_watches = CancellationToken::new();
    let stop_lease = CancellationToken::new();
    let tasks = TaskTracker::new();
    let operator_image = operator_image.filter(|image| !image.is_empty());
    let world = World::new(&scopes).at_home(&namespace).serving(selection);
    let store_secret = store_secret.filter(|name| !name.is_empty());
    let store_secret = store_secret.map(|name| OwnSecret {
        namespace: namespace.clone(),
        name,
    });
    let world = world.in_image(operator_image);
    let world = Arc::new(world.opening_stores_with(store_secret));
    let queue = Arc::new(Queue::default());
    let leadership = if leader_elect {
        Leadership::elected()
    } else {
        Leadership::alone()
    };
    let scraped = Scraped {
        world: Arc::clone(&world),
        recorder: Arc::clone(&recorder),
        leadership: leadership.clone(),
    };
    let metrics = Metrics::new(scraped);
    let identity = identity
        .filter(|name| !name.is_empty())
        .unwrap_or_else(random_identity);

    for scope in &scopes {
        start_watches(&client, scope, &world, &queue, &stop_watches);
    }

    let election = tokio::spawn({
        let (client, leadership, stop) = (client.clone(), leadership.clone(), stop_lease.clone());
        let (namespace, identity) = (namespace.clone(), identity.clone());
        async move {
            if leader_elect {
                lease::compete(client, &namespace, &identity, &leadership, stop).await;
            }
        }
        .instrument(info_span!("lease"))
    });

    let parts = Parts {
        sources: Sources {
            client: client.clone(),
            namespace: namespace.clone(),
            built_in: Arc::new(source.bytes),
            registries: SideProcess::of_this_program()
                .context("the system does not say which program this is")?,
            policy,
        },
        instance: identity.clone(),
        leadership: leadership.clone(),
        engine: engine.clone(),
        cache,
        built_in,
        recordings: recordings.clone(),
        recorder: Arc::clone(&recorder),
        roster: Arc::clone(&roster),
        metrics: metrics.clone(),
        world: Arc::clone(&world),
        queue: Arc::clone(&queue),
    };
    let rollout =
        tokio::spawn(rollout::follow(parts, stop.clone()).instrument(info_span!("rollout")));

    let name = operator_condition.filter(|name| !name.is_empty());
    let told = upgradeable::start(name, &client, &namespace, &world, &stop);

    backup::prepare();
    let transfers = Arc::new(Transfers::new(
        Arc::clone(&queue),
        leadership.clone(),
        tasks.clone(),
        stop.clone(),
    ));
    let passes = Arc::new(Passes {
        world: Arc::clone(&world),
        executor: Executor {
            client,
            instance: identity,
            leadership: leadership.clone(),
            metrics: metrics.clone(),
            transfers,
            stop: stop.clone(),
        },
        roster,
        engine: engine.hash(),
        recorder: Arc::clone(&recorder),
        metrics: metrics.clone(),
        turns: Semaphore::new(DECISIONS),
        shadow_turns: Semaphore::new(SHADOWED),
        memories: Memories::default(),
    });
    let dispatcher = tokio::spawn(
        dispatch(
            passes,
            queue,
            leadership,
            usize::from(concurrency),
            tasks.clone(),
            stop.clone(),
        )
        .instrument(info_span!("dispatch")),
    );

    let pages = Pages {
        world,
        metrics,
        told,
        recordings: recordings.clone(),
        recorder: Arc::clone(&recorder),
        stop: stop.clone(),
    };
    let server = tokio::spawn(http::serve(listener, pages).instrument(info_span!("http")));
    info!(listen = %listen_addr, recordings = %recordings.display(), "Started");

    until_stopped(&stop, server).await?;
    info!("Stopping");
    stop.cancel();
    dispatcher.await.context("the dispatcher failed")?;
    rollout.await.context("the rollout of modules failed")?;
    tasks.close();
    if tokio::time::timeout(STOP_TIMEOUT, tasks.wait())
        .await
        .is_err()
    {
        warn!("Passes did not end in time; their effects may or may not be in place");
    }
    stop_watches.cancel();
    stop_lease.cancel();
    election.await.context("the election failed")?;
    // Blocks until the disk has it all, which is the last thing there is to do.
    recorder.flush();
    info!("Stopped");
    Ok(())
}

/// Ends at a signal, or with the HTTP server, which ends by itself only when it fails.
async fn until_stopped(
    stop: &CancellationToken,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be waited for")?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = stop.cancelled() => Ok(()),
        served = server => served.context("the HTTP server failed")?.context("the HTTP server failed"),
    }
}

/// Compiling takes memory and time, so it is done in a process of its own wherever its result can be kept.
async fn load(cache: Option<PathBuf>, bytes: Vec<u8>) -> anyhow::Result<(Engine, Module)> {
    let loading = tokio::task::spawn_blocking(move || {
        if let Some(cache) = &cache
            && let Err(error) = module::compile_ahead(cache, &bytes)
        {
            warn!(error = %Chain(&error), "Compiling in this process instead");
        }
        let engine = Engine::new(cache.as_deref())?;
        let module = Module::load(&engine, &bytes)?;
        Ok::<_, module::Error>((engine, module))
    });
    Ok(loading.await.context("loading the module failed")??)
}
