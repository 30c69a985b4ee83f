//! A global allocator that counts: allocations for the gates, live bytes for leak checks.
//!
//! Programs install it with `#[global_allocator]`; it hands everything on to the system's allocator.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; see the SAFETY note on its impl")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts of one process. Counters are relaxed: a reader that wants exact figures reads while nothing else runs.
#[derive(Debug, Default)]
pub struct CountingAllocator {
    allocations: AtomicUsize,
    allocated_bytes: AtomicUsize,
    live_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
}

/// What one thread has asked for and not given back, so that a test on a runtime of one thread is not disturbed by
/// its neighbours. Memory that another thread frees stays on the account of the one that asked for it.
#[derive(Debug)]
struct ThreadBytes {
    live: Cell<isize>,
    peak: Cell<isize>,
}

thread_local! {
    static THREAD: ThreadBytes = const { ThreadBytes { live: Cell::new(0), peak: Cell::new(0) } };
}

impl ThreadBytes {
    fn shift(&self, bytes: isize) {
        let live = self.live.get() + bytes;
        self.live.set(live);
        self.peak.set(self.peak.get().max(live));
    }
}

impl CountingAllocator {
    /// An allocator with every counter at zero.
    pub const fn new() -> Self {
        Self {
            allocations: AtomicUsize::new(0),
            allocated_bytes: AtomicUsize::new(0),
            live_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
        }
    }

    /// Calls so far that asked for memory; growing a block counts as one.
    pub fn allocations(&self) -> usize {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Bytes asked for so far.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated_bytes.load(Ordering::Relaxed)
    }

    /// Bytes asked for and not given back.
    pub fn live_bytes(&self) -> usize {
        self.live_bytes.load(Ordering::Relaxed)
    }

    /// The most bytes that were live at once since the start or [`restart_peak`](Self::restart_peak).
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// Begins a new measurement of the peak.
    pub fn restart_peak(&self) {
        self.peak_bytes.store(self.live_bytes(), Ordering::Relaxed);
    }

    /// Bytes that this thread asked for and did not give back. Below zero if it freed more than it asked for.
    pub fn thread_live_bytes() -> isize {
        THREAD.with(|thread| thread.live.get())
    }

    /// The most bytes that were live at once on this thread since
    /// [`restart_thread_peak`](Self::restart_thread_peak).
    pub fn thread_peak_bytes() -> isize {
        THREAD.with(|thread| thread.peak.get())
    }

    /// Begins a new measurement of this thread's peak.
    pub fn restart_thread_peak() {
        THREAD.with(|thread| thread.peak.set(thread.live.get()));
    }

    fn on_allocated(&self, bytes: usize) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.allocated_bytes.fetch_add(bytes, Ordering::Relaxed);
        let live = self.live_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_bytes.fetch_max(live, Ordering::Relaxed);
        // A thread that is ending has no account any more.
        let _ = THREAD.try_with(|thread| thread.shift(bytes as isize));
    }

    fn on_freed(&self, bytes: usize) {
        self.live_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let _ = THREAD.try_with(|thread| thread.shift(-(bytes as isize)));
    }
}

// SAFETY: every method hands its arguments to the system's allocator unchanged and returns what that returns;
// counting touches atomics only, so it neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.on_allocated(layout.size());
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.on_allocated(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.on_freed(layout.size());
        self.on_allocated(new_size);
        // SAFETY: as above; `block` came from this allocator and so from the system's.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.on_freed(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin: a list of what is held.
    #[test]
    fn counters_agree_with_a_list_of_live_blocks() {
        let counting = CountingAllocator::new();
        let mut held = Vec::new();
        let (mut calls, mut bytes) = (0, 0);
        for size in [1, 8, 64, 1000, 4096] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: the layout is not empty.
            held.push((unsafe { counting.alloc(layout) }, layout));
            calls += 1;
            bytes += size;
        }
        let (block, layout) = held.pop().unwrap();
        // SAFETY: allocated above with this layout; the new size is not zero.
        let grown = unsafe { counting.realloc(block, layout, 8192) };
        held.push((grown, Layout::from_size_align(8192, 8).unwrap()));
        calls += 1;
        bytes += 8192;
        assert_eq!(counting.allocations(), calls);
        assert_eq!(counting.allocated_bytes(), bytes);
        assert_eq!(counting.live_bytes(), held.iter().map(|(_, layout)| layout.size()).sum::<usize>());
        assert_eq!(counting.peak_bytes(), counting.live_bytes());
        assert_eq!(CountingAllocator::thread_live_bytes(), counting.live_bytes() as isize);
        for (block, layout) in held {
            // SAFETY: each block is freed once, with the layout it has.
            unsafe { counting.dealloc(block, layout) };
        }
        assert_eq!(counting.live_bytes(), 0);
        assert_eq!(CountingAllocator::thread_live_bytes(), 0);
        assert_eq!(CountingAllocator::thread_peak_bytes(), counting.peak_bytes() as isize);
        counting.restart_peak();
        CountingAllocator::restart_thread_peak();
        assert_eq!((counting.peak_bytes(), CountingAllocator::thread_peak_bytes()), (0, 0));
    }
}
