//! What one call of a module may use.
//!
//! Fuel is the budget: it is counted the same in every run. Time is the net below it, for the machine that stalls.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// Fuel of one call. A decision on a cluster of seven members takes a few percent of it.
pub const FUEL_LIMIT: u64 = 500_000_000;

/// Longest wall-clock time of one call.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Most linear memory of one instance, in bytes.
pub const MEMORY_LIMIT: usize = 64 << 20;

/// Largest answer, in bytes.
pub const ANSWER_LIMIT: usize = 4 << 20;

/// Largest module, in bytes.
pub const MODULE_LIMIT: usize = 32 << 20;

/// Most entries of one table.
const TABLE_LIMIT: usize = 10_000;

/// Denies what exceeds the limits, and remembers that it did.
#[derive(Debug, Default)]
pub(crate) struct MemoryLimit {
    denied: bool,
}

impl MemoryLimit {
    /// Whether memory was asked for and not given.
    pub(crate) const fn denied(&self) -> bool {
        self.denied
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool, wasmtime::Error> {
        self.denied |= desired > MEMORY_LIMIT;
        Ok(desired <= MEMORY_LIMIT)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool, wasmtime::Error> {
        Ok(desired <= TABLE_LIMIT)
    }
}
