//! Every attack over an in-memory connection in virtual time, and beside it what is legitimate and looks like it.
//!
//! A test is named after its row in the list of `http2-abuse`; those of row 0 attack what only this design has.

mod canary;
mod extremes;
mod memo;
mod rows;
mod stage;
mod table;

use peregrine_testkit::CountingAllocator;

/// Counts a test's memory, which all is its thread's own.
#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();
