//! How [`Sender::flush`](crate::Sender::flush) reaches the driver that polls
//! the call: a mark on the thread, set inside the poll and read after it.

use std::cell::Cell;

thread_local! {
    static REQUESTED: Cell<bool> = const { Cell::new(false) };
}

/// Asks whoever polls on this thread to send at once what it was given.
pub(crate) fn request_flush() {
    REQUESTED.set(true);
}

/// Whether a [`Sender::flush`](crate::Sender::flush) asks for what was sent to
/// leave at once, since this was last called on this thread. Read by the driver
/// after it polled a stream of messages.
pub fn take_flush_request() -> bool {
    REQUESTED.replace(false)
}
