//! How a source says whether its next message is compressed: a mark on the thread, set while the source is polled and
//! read when it has given the message, as for a flush.

use std::cell::Cell;

thread_local! {
    static WISH: Cell<Option<bool>> = const { Cell::new(None) };
}

/// For sources of messages: whether the source's next message is compressed, whatever its size, or is not. Without it
/// the settings of the call decide. It has no effect on calls that are not compressed at all.
///
/// The message may be waited for after this is said. Only where a [`Sender`](crate::Sender::send) is used by a task of
/// its own it has to be said right before `send`, since nobody knows then whose word it was.
///
/// ```
/// # use peregrine_core::{Status, Stream, unfold};
/// # use peregrine_core::compression::compress_next;
/// fn secrets(tokens: Vec<String>) -> impl Stream<Item = Result<String, Status>> {
///     unfold(tokens.into_iter(), |mut tokens| async {
///         let token = tokens.next()?;
///         compress_next(false);
///         Some((Ok(token), tokens))
///     })
/// }
/// ```
// wire-rules P2
pub fn compress_next(compress: bool) {
    WISH.set(Some(compress));
}

/// Says it for a source that is about to be polled, or for a message that comes out of a queue now. What was said before
/// on this thread is forgotten.
#[inline]
pub fn set_wish(wish: Option<bool>) {
    WISH.set(wish);
}

/// What was said since this was last called on this thread. Called by whoever polls a source, when it has given a message
/// or waits; then what it said is kept for its next poll.
#[inline]
pub fn take_wish() -> Option<bool> {
    WISH.take()
}
