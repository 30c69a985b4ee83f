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

/// Whether a flush is asked for, without answering it: whoever polls a stream takes no more from it then, so that the
/// driver sees to the flush first.
pub fn is_flush_requested() -> bool {
    REQUESTED.get()
}

/// Whether a [`Sender::flush`](crate::Sender::flush) asks for what was sent to
/// leave at once, since this was last called on this thread. Read by the driver
/// after it polled a stream of messages.
pub fn take_flush_request() -> bool {
    REQUESTED.replace(false)
}
