//! The storage of replies that were decoded, on its way to calls to come.
//!
//! A reply is decoded outside of the lock, so its storage comes back without it. It waits with the thread until that
//! has the lock in its hands anyway, when it takes its next reply: so no call locks for it, and none allocates.

use std::cell::Cell;

use super::call::Body;

thread_local! {
    /// Of the reply that this thread has decoded last.
    static SPENT: Cell<Option<Box<Body>>> = const { Cell::new(None) };
}

/// Takes the storage of a reply that was decoded. A large buffer is freed.
#[inline]
pub(crate) fn give_back(mut body: Box<Body>) {
    body.clear();
    SPENT.set(Some(body));
}

/// The storage that was given back last, unless it has been taken.
#[inline]
pub(super) fn take() -> Option<Box<Body>> {
    SPENT.take()
}
