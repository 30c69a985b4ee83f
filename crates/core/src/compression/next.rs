//! How a source says whether its next message is compressed: a mark on the thread, set while the source is polled and
//! read when it has given the message, as for a flush.

use std::cell::Cell;

thread_local! {
    static WISH: Cell<Option<bool>> = const { Cell::new(None) };
}

/// For sources of messages: whether the message that comes out of this poll, or that a
/// [`Sender`](crate::Sender::send) is given next, is compressed, whatever its size, or is not (wire-rules P2). Without it the settings of the call decide. It has no effect on calls that are not compressed
/// at all.
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
pub fn compress_next(compress: bool) {
    WISH.set(Some(compress));
}

/// What was said of a message that comes out now and had waited in a queue.
pub(crate) fn set_wish(wish: Option<bool>) {
    WISH.set(wish);
}

/// What was said since this was last called on this thread. Called by whoever polls a source, before and after.
pub fn take_wish() -> Option<bool> {
    WISH.take()
}
