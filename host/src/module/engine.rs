//! The WebAssembly engine: settings that make a call repeatable, slots for instances, and the clock behind the
//! wall-clock limit.
//!
//! Knows nothing of snapshots and decisions.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Thread;
use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, ModuleVersionStrategy, PoolingAllocationConfig, Store,
    WasmBacktraceDetails,
};

use super::limits::MemoryLimit;
use super::source::hex;
use super::{Error, FUEL_LIMIT, MEMORY_LIMIT, TIME_LIMIT};

/// Calls that run at the same time; further ones wait.
const SLOTS: u32 = 32;
/// Core instances one component may be made of; those of wit-component have one to four.
const CORE_INSTANCES: u32 = 8;
/// Memory of an ended instance that stays mapped and is wiped instead of returned to the system.
const KEEP_RESIDENT: usize = 4 << 20;
/// The same for tables.
const KEEP_TABLE_RESIDENT: usize = 256 << 10;
/// Stack of a call, in bytes.
const STACK: usize = 512 << 10;
/// The grain of the wall-clock limit.
const TICK: Duration = Duration::from_millis(10);
/// Ticks without a call after which the clock stops until the next one.
const QUIET_TICKS: u32 = 100;

/// An engine that compiles and runs modules. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    clock: Arc<Clock>,
}

struct Shared {
    wasmtime: wasmtime::Engine,
    slots: Slots,
}

impl Engine {
    /// Starts an engine. Compiled modules are kept in `cache`, a directory that only this user may write: what lies there
    /// is run as machine code.
    ///
    /// # Errors
    /// When wasmtime refuses the settings on this machine, or the cache directory cannot be used.
    pub fn new(cache: Option<&Path>) -> Result<Self, Error> {
        let wasmtime = wasmtime::Engine::new(&config(cache)?).map_err(Error::engine)?;
        let shared = Arc::new(Shared {
            wasmtime,
            slots: Slots::new(SLOTS),
        });
        let clock = Arc::new(Clock::start(Arc::downgrade(&shared)));
        Ok(Self { shared, clock })
    }

    /// Names the settings that fuel and answers depend on. Two engines of one hash use the same fuel for the same call, on
    /// any machine.
    #[must_use]
    pub fn hash(&self) -> String {
        let settings = format!(
            "wasmtime {} fuel={FUEL_LIMIT} memory={MEMORY_LIMIT} stack={STACK} nan=canonical threads=off relaxed-simd=off",
            ModuleVersionStrategy::WasmtimeVersion.as_str(),
        );
        hex(&Sha256::digest(settings))[..16].to_owned()
    }

    pub(super) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.shared.wasmtime
    }

    /// A store for one call, with all limits set.
    pub(super) fn store(&self) -> Store<MemoryLimit> {
        let mut store = Store::new(&self.shared.wasmtime, MemoryLimit::default());
        store.limiter(|limit| limit);
        store.set_epoch_deadline(deadline_ticks());
        // Fails only for engines that do not count fuel; the store would then have none and trap at once.
        let _ = store.set_fuel(FUEL_LIMIT);
        store
    }

    /// Waits until an instance may be made.
    pub(super) fn take_slot(&self) -> Slot<'_> {
        let slot = self.shared.slots.take();
        self.clock.wake();
        slot
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// Where compiled modules are kept: `named`, else the user's cache directory, else nowhere.
#[must_use]
pub fn cache_directory(named: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let directory = named
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("binnacle/compiled")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/binnacle/compiled")))?;
    match create_private(&directory) {
        Ok(directory) => Some(directory),
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "Compiled modules are not kept");
            None
        }
    }
}

fn create_private(directory: &Path) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    std::fs::canonicalize(directory)
}

fn config(cache: Option<&Path>) -> Result<Config, Error> {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .max_wasm_stack(STACK)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .allocation_strategy(pool());
    if let Some(directory) = cache {
        let mut settings = CacheConfig::new();
        settings.with_directory(directory);
        config.cache(Some(Cache::new(settings).map_err(Error::engine)?));
    }
    Ok(config)
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * CORE_INSTANCES)
        .total_memories(SLOTS)
        .total_tables(SLOTS * 2)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(1)
        .max_tables_per_component(2)
        .max_memory_size(MEMORY_LIMIT)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_TABLE_RESIDENT)
        // Wipes the pages that were written to, and no others, where the kernel can tell them (from 6.7 on).
        .pagemap_scan(Enabled::Auto);
    pool
}

/// One tick more, because the first one may come at once.
fn deadline_ticks() -> u64 {
    u64::try_from(TIME_LIMIT.as_millis() / TICK.as_millis())
        .unwrap_or(u64::MAX)
        .saturating_add(1)
}

/// Counts the calls that run, so that the pool of instances is never found empty.
struct Slots {
    free: Mutex<u32>,
    freed: Condvar,
}

/// The right to make one instance; given back when dropped.
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    const fn new(slots: u32) -> Self {
        Self {
            free: Mutex::new(slots),
            freed: Condvar::new(),
        }
    }

    fn take(&self) -> Slot<'_> {
        let mut free = self
            .freed
            .wait_while(self.count(), |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }

    fn all_free(&self) -> bool {
        *self.count() == SLOTS
    }

    /// A number cannot be left half-changed, so poison means nothing here.
    fn count(&self) -> MutexGuard<'_, u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.count() += 1;
        self.0.freed.notify_one();
    }
}

/// Advances the engine's epoch while calls run, and rests when there are none.
struct Clock {
    thread: Option<Thread>,
    resting: Arc<AtomicBool>,
}

impl Clock {
    fn start(engine: Weak<Shared>) -> Self {
        let resting = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&resting);
        let thread = std::thread::Builder::new()
            .name("wasm-clock".to_owned())
            .spawn(move || tick(&engine, &flag));
        match thread {
            Ok(thread) => Self {
                thread: Some(thread.thread().clone()),
                resting,
            },
            Err(error) => {
                tracing::warn!(%error, "Calls of the module are limited by fuel alone");
                Self {
                    thread: None,
                    resting,
                }
            }
        }
    }

    fn wake(&self) {
        if self.resting.load(Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.unpark();
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

/// Ends with the engine. `resting` is set before the slots are looked at and a call looks at it after it took its slot,
/// so that one of the two always sees the other.
fn tick(engine: &Weak<Shared>, resting: &AtomicBool) {
    let mut quiet = 0;
    loop {
        std::thread::sleep(TICK);
        let Some(shared) = engine.upgrade() else {
            return;
        };
        shared.wasmtime.increment_epoch();
        quiet = if shared.slots.all_free() {
            quiet + 1
        } else {
            0
        };
        if quiet < QUIET_TICKS {
            continue;
        }
        resting.store(true, Ordering::SeqCst);
        let idle = shared.slots.all_free();
        drop(shared);
        if idle {
            std::thread::park();
        }
        resting.store(false, Ordering::SeqCst);
        quiet = 0;
    }
}
