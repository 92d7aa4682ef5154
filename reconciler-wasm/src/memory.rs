//! The module's heap: memory is handed out from one end and never taken back.
//!
//! An instance lives for one call, so freeing would be work for nothing. What lies at the very end may grow, shrink and be
//! freed in place, which is what vectors and strings in the making do.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A page of WebAssembly.
const PAGE: usize = 64 << 10;
/// Pages asked for at a time, by the few decisions that the heap at hand does not suffice for.
const STEP: usize = 16;

unsafe extern "C" {
    /// The linker's: behind it lies the heap that the module begins with.
    static __heap_base: u8;
}

/// The allocator. There is one thread, so plain loads and stores are enough.
pub(crate) struct Heap {
    /// Where the next block begins; zero before the first one.
    next: AtomicUsize,
    /// The end of the memory that the module has.
    end: AtomicUsize,
}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }

    /// Moves the end of the used part; false when there is no memory for it.
    fn reach(&self, next: usize) -> bool {
        let end = self.end.load(Relaxed);
        if next > end {
            let pages = (next - end).div_ceil(PAGE).max(STEP);
            let before = core::arch::wasm32::memory_grow(0, pages);
            if before == usize::MAX {
                return false;
            }
            self.end.store((before + pages) * PAGE, Relaxed);
        }
        self.next.store(next, Relaxed);
        true
    }

    fn next(&self) -> usize {
        match self.next.load(Relaxed) {
            0 => {
                self.end
                    .store(core::arch::wasm32::memory_size(0) * PAGE, Relaxed);
                ptr::addr_of!(__heap_base).addr()
            }
            next => next,
        }
    }
}

// SAFETY: blocks are aligned, lie within the memory, and never overlap, because `next` only moves back over the block that
// lies last and was given back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let aligned = self.next().checked_next_multiple_of(layout.align());
        let reached = aligned.and_then(|start| Some((start, start.checked_add(layout.size())?)));
        match reached {
            Some((start, end)) if self.reach(end) => ptr::with_exposed_provenance_mut(start),
            Some(_) | None => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block.addr() + layout.size() == self.next.load(Relaxed) {
            self.next.store(block.addr(), Relaxed);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_last = block.addr() + layout.size() == self.next.load(Relaxed);
        if is_last {
            let end = block.addr().checked_add(size);
            return if end.is_some_and(|end| self.reach(end)) {
                block
            } else {
                ptr::null_mut()
            };
        }
        if size <= layout.size() {
            return block;
        }
        // SAFETY: the caller's layout is valid, and so is one of another size that does not overflow.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if let Some(moved) = NonNull::new(moved) {
            // SAFETY: two different blocks, both at least as long as the old one.
            unsafe { ptr::copy_nonoverlapping(block, moved.as_ptr(), layout.size()) };
        }
        moved
    }
}
