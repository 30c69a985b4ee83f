//! Codec state that the calls of a thread use in turn (wire-rules T9).
//!
//! Making the state of a codec costs more than a small message: tables of up to some hundred KiB. Each thread keeps
//! one of a kind. A codec takes it out, resets it, uses it and puts it back; one that panics on the way has not put it
//! back, and the next message gets a fresh one.

use std::cell::Cell;

/// The kept state of one codec on this thread.
pub(super) struct Kept<T>(Cell<Option<T>>);

impl<T> Kept<T> {
    pub(super) const fn new() -> Self {
        Self(Cell::new(None))
    }

    /// What is kept, or what `make` makes. Whoever takes it puts it back when all went well.
    pub(super) fn take_or(&self, make: impl FnOnce() -> T) -> T {
        self.0.take().unwrap_or_else(make)
    }

    pub(super) fn put_back(&self, state: T) {
        self.0.set(Some(state));
    }
}
