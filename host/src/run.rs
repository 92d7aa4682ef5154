//! The composition root of `binnacle run`: every watch, task and channel of the running operator is started here.
//!
//! Contains no logic of its own beyond the order of starting and stopping.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use contract::{Millis, names};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, error, info, info_span, warn};

use crate::error::Chain;
use crate::execute::Executor;
use crate::http::{self, Pages};
use crate::key::ClusterKey;
use crate::lease::{self, Leadership};
use crate::metrics::{Metrics, Scraped};
use crate::module::{self, Engine, Module, Source};
use crate::observe::shelf::Scope;
use crate::observe::{World, project, resource_kind, watch};
use crate::pass::{Memories, Passes};
use crate::queue::{After, Queue, Trigger};
use crate::recorder::{Header, Limits, Recorder};
use crate::telemetry::{self, LogFormat};

/// Threads that wait for answers.
const WORKERS: usize = 2;
/// Threads for calls that block: decisions, and looking up the API server's name.
const BLOCKED: usize = 4;
/// Decisions made at the same time.
const DECISIONS: usize = 2;
/// How long a pass that runs at the time of a stop may take to end its effect in flight.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Until the next pass after one that ended in a bug of the host.
const AFTER_PANIC: Duration = Duration::from_secs(30);
/// How long connecting to the API server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the operator.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Kubeconfig file. Without it: $KUBECONFIG, ~/.kube/config, or the pod's service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Reconciler module. Without it: the one that ships with the operator.
    #[arg(long, value_name = "FILE", env = "BINNACLE_MODULE")]
    pub module: Option<PathBuf>,

    /// Namespaces to serve, separated by commas; empty means all. Without it: the operator's own.
    #[arg(long, value_name = "NAMESPACES", env = "WATCH_NAMESPACE")]
    pub watch_namespace: Option<String>,

    /// The operator's own namespace, where its lease is. Without it: that of the pod or of the kubeconfig.
    #[arg(long, value_name = "NAMESPACE", env = "MY_POD_NAMESPACE")]
    pub namespace: Option<String>,

    /// This instance's name in the lease. Without it: the host name and a random number.
    #[arg(long, value_name = "NAME", env = "MY_POD_NAME")]
    pub identity: Option<String>,

    /// Whether to act only while holding the lease. Say false only where no other instance can run.
    #[arg(long, value_name = "BOOL", env = "BINNACLE_LEADER_ELECT", default_value_t = true, action = clap::ArgAction::Set)]
    pub leader_elect: bool,

    /// Clusters that are worked on at the same time.
    #[arg(long, value_name = "N", env = "BINNACLE_CONCURRENCY", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,

    /// Address of /healthz, /readyz and /metrics.
    #[arg(
        long,
        value_name = "ADDR",
        env = "BINNACLE_LISTEN_ADDR",
        default_value = "0.0.0.0:8080"
    )]
    pub listen_addr: SocketAddr,

    /// Where recordings are kept. Without it: /var/lib/binnacle/recordings in a pod, else $XDG_STATE_HOME/binnacle/recordings.
    #[arg(long, value_name = "DIR", env = "BINNACLE_RECORDINGS_DIR")]
    pub recordings_dir: Option<PathBuf>,

    /// Disk that recordings may take; the oldest go first.
    #[arg(long, value_name = "MIB", env = "BINNACLE_RECORDINGS_MAX_MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub recordings_max_mib: u64,

    /// Where compiled modules are kept. Only the operator may write there. Without it: $XDG_CACHE_HOME/binnacle/compiled.
    #[arg(long, value_name = "DIR", env = "BINNACLE_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Form of the logs.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "BINNACLE_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,

    /// What is logged: a level, or a list such as info,host=debug.
    #[arg(
        long,
        value_name = "FILTER",
        env = "BINNACLE_LOG",
        default_value = "info,kube=off"
    )]
    pub log: String,
}

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
        watch_namespace,
        namespace,
        identity,
        leader_elect,
        concurrency,
        listen_addr,
        recordings_dir,
        recordings_max_mib,
        cache_dir,
        log_format,
        log,
    } = args;
    telemetry::start(log_format, &log).context("--log cannot be read")?;

    let config = kube_config(kubeconfig).await?;
    let namespace = namespace
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| config.default_namespace.clone());
    let scopes = scopes(watch_namespace.as_deref(), &namespace);
    let api_server = config.cluster_url.to_string();
    let client = Client::try_from(config).context("the Kubernetes client cannot be made")?;
    let listener = TcpListener::bind(listen_addr)
        .await
        .with_context(|| format!("--listen-addr {listen_addr} cannot be used"))?;

    let cache = module::cache_directory(cache_dir);
    let source = Source::find(module.as_deref())?;
    let (engine, module) = load(cache, source.bytes.clone()).await?;
    let version = module.description().version.clone();
    info!(
        version = crate::VERSION,
        module = module.digest(),
        module_version = version,
        module_file = %source.path.display(),
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
    recorder.keep_module(module.digest(), source.bytes);

    let stop = CancellationToken::new();
    let stop_watches = CancellationToken::new();
    let stop_lease = CancellationToken::new();
    let tasks = TaskTracker::new();
    let world = Arc::new(World::new(&scopes));
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
    let metrics = Metrics::new((module.digest(), &version), scraped);
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

    let passes = Arc::new(Passes {
        world: Arc::clone(&world),
        executor: Executor {
            client,
            instance: identity,
            leadership: leadership.clone(),
            metrics: metrics.clone(),
            stop: stop.clone(),
        },
        module,
        engine: engine.hash(),
        recorder: Arc::clone(&recorder),
        metrics: metrics.clone(),
        turns: Semaphore::new(DECISIONS),
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

    let pages = Pages { world, metrics };
    let server =
        tokio::spawn(http::serve(listener, pages, stop.clone()).instrument(info_span!("http")));
    info!(listen = %listen_addr, recordings = %recordings.display(), "Started");

    until_stopped(&stop, server).await?;
    info!("Stopping");
    stop.cancel();
    dispatcher.await.context("the dispatcher failed")?;
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

/// The five watches of one scope. Each ends only when the operator stops.
fn start_watches(
    client: &Client,
    scope: &Scope,
    world: &Arc<World>,
    queue: &Arc<Queue>,
    stop: &CancellationToken,
) {
    macro_rules! start {
        ($kind:literal, $api:expr, $config:expr, $shelf:ident, $key:path, $project:path) => {{
            let (world, queue, scope, api) = (Arc::clone(world), Arc::clone(queue), scope.clone(), $api);
            let span = info_span!("watch", kind = $kind, scope = %scope);
            let watching = async move {
                let changed = |key: Option<ClusterKey>| {
                    world.announce_change();
                    if let Some(key) = key {
                        queue.touch(key, Trigger::Watch($kind));
                    }
                };
                watch::keep(api, $config, scope, &world.$shelf, $key, $project, changed).await;
            };
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(watching).await }.instrument(span));
        }};
    }
    macro_rules! api {
        ($kind:ty) => {
            match scope {
                Scope::All => Api::<$kind>::all(client.clone()),
                Scope::Namespace(namespace) => Api::<$kind>::namespaced(client.clone(), namespace),
            }
        };
    }
    let kind = resource_kind();
    let resources = match scope {
        Scope::All => Api::all_with(client.clone(), &kind),
        Scope::Namespace(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
    };
    start!(
        "EtcdCluster",
        resources,
        watch::resources(),
        resources,
        watch::own_key,
        project::resource
    );
    start!(
        "Pod",
        api!(Pod),
        watch::children(),
        pods,
        watch::labelled_key,
        project::pod
    );
    start!(
        "PersistentVolumeClaim",
        api!(PersistentVolumeClaim),
        watch::children(),
        volumes,
        watch::labelled_key,
        project::volume
    );
    start!(
        "Service",
        api!(Service),
        watch::children(),
        services,
        watch::labelled_key,
        project::service
    );
    start!(
        "PodDisruptionBudget",
        api!(PodDisruptionBudget),
        watch::children(),
        disruption_budgets,
        watch::labelled_key,
        project::disruption_budget
    );
}

/// Starts passes of due clusters, while this instance leads, until `stop`.
async fn dispatch(
    passes: Arc<Passes>,
    queue: Arc<Queue>,
    leadership: Leadership,
    concurrency: usize,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(concurrency));
    let mut leads = leadership.subscribe();
    let working = async {
        passes.world.settle().await;
        loop {
            if leads.wait_for(|leads| *leads).await.is_err() {
                return;
            }
            for key in passes.world.resources.keys() {
                queue.touch(key, Trigger::Leadership);
            }
            let lost = leads.wait_for(|leads| !*leads);
            let starting = start_passes(&passes, &queue, &slots, &tasks);
            tokio::select! {
                _ = lost => warn!("No longer leading; nothing is done until the lease is back"),
                () = starting => {}
            }
        }
    };
    stop.run_until_cancelled(working).await;
}

async fn start_passes(
    passes: &Arc<Passes>,
    queue: &Arc<Queue>,
    slots: &Arc<Semaphore>,
    tasks: &TaskTracker,
) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else {
            return;
        };
        let (key, trigger) = queue.next().await;
        let span = info_span!("pass", cluster = %key, trigger = %trigger);
        let (passes, queue) = (Arc::clone(passes), Arc::clone(queue));
        let pass = async move {
            // A task of its own, so that a panic ends this pass and not the cluster's place in the queue.
            let running = tokio::spawn({
                let key = key.clone();
                async move { passes.run(&key, trigger).await }.in_current_span()
            });
            let after = running.await.unwrap_or_else(|panic| {
                error!(error = %panic, "The pass ended in a panic");
                After::NotBefore(Instant::now() + AFTER_PANIC)
            });
            queue.finish(&key, after);
            drop(slot);
        };
        tasks.spawn(pass.instrument(span));
    }
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

async fn kube_config(kubeconfig: Option<PathBuf>) -> anyhow::Result<kube::Config> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(&path)
                .with_context(|| format!("the kubeconfig {} cannot be read", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("the kubeconfig {} cannot be used", path.display()))?
        }
        None => kube::Config::infer().await.context(
            "no cluster: name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod",
        )?,
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(config)
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

/// One scope per namespace; all of them when the list is empty.
fn scopes(watch_namespace: Option<&str>, own: &str) -> Vec<Scope> {
    let listed = watch_namespace.unwrap_or(own);
    let mut names: Vec<&str> = listed
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return vec![Scope::All];
    }
    names
        .into_iter()
        .map(|name| Scope::Namespace(name.to_owned()))
        .collect()
}

fn in_words(scopes: &[Scope]) -> String {
    let words: Vec<String> = scopes.iter().map(ToString::to_string).collect();
    words.join(", ")
}

fn recordings_directory() -> PathBuf {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return PathBuf::from("/var/lib/binnacle/recordings");
    }
    absolute("XDG_STATE_HOME")
        .map(|state| state.join("binnacle/recordings"))
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state/binnacle/recordings")))
        .unwrap_or_else(|| PathBuf::from("/var/lib/binnacle/recordings"))
}

fn random_identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| names::FIELD_MANAGER.to_owned());
    format!("{host}_{:08x}", rand::random::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> Scope {
        Scope::Namespace(name.to_owned())
    }

    #[test]
    fn the_own_namespace_is_served_unless_told_otherwise() {
        assert_eq!(scopes(None, "home"), [namespace("home")]);
        assert_eq!(
            scopes(Some("b, a,b"), "home"),
            [namespace("a"), namespace("b")]
        );
        assert_eq!(scopes(Some(""), "home"), [Scope::All]);
    }
}
