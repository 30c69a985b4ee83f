//! What the pump of a request stream asks of its connection.

use std::task::Waker;

use peregrine_core::message::{EncodeBuf, FrameBuf};
use peregrine_http2::{Connection, StreamKey};

use super::{CallId, SharedConnection, wake_driver};

/// What a request stream may do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Writable {
    /// Gather so many bytes of messages, and one message more, and write them.
    Now(usize),
    /// Wait: the caller will be woken.
    Later,
    /// The call is over; drop the source.
    Never,
}

/// What becomes of messages that are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then<'w> {
    /// More will follow at once. Woken when a [`Writable::Later`] is over.
    More(&'w Waker),
    /// The source has nothing for now: what it gave goes out (wire-rules B2).
    Flush,
    /// The request stream is complete.
    End,
}

impl SharedConnection {
    /// Whether a request stream may write. `waker` is woken when that changes, and when the call ends.
    pub(crate) fn poll_room(&self, id: CallId, waker: &Waker) -> Writable {
        self.lock().poll_room(id, waker)
    }

    /// Writes the messages that were gathered where there was `room`: they all go into one frame, but for the last. What
    /// is left of them, of a call that is over, is dropped. Never [`Writable::Now`] but for more.
    pub(crate) fn write_messages(
        &self,
        id: CallId,
        messages: &mut FrameBuf,
        room: usize,
        then: Then<'_>,
    ) -> Writable {
        let before = if messages.len() > room { messages.len_before_last() } else { 0 };
        let mut guard = self.lock();
        let state = &mut *guard;
        let Some(stream) = state.live_stream(id) else {
            messages.clear();
            return Writable::Never;
        };
        if before > 0 {
            write(&mut state.engine, stream, before, messages, FrameBuf::drain_before_last_into);
        }
        if !messages.is_empty() {
            write(&mut state.engine, stream, messages.len(), messages, FrameBuf::drain_into);
        }
        messages.clear();
        let writable = match then {
            Then::More(waker) => state.poll_room(id, waker),
            Then::Flush => Writable::Later,
            Then::End => {
                // Fails only if the stream has ended meanwhile, which the call's own end reports.
                let _ended = state.engine.end_stream(stream);
                Writable::Never
            }
        };
        if !matches!(writable, Writable::Now(_)) {
            wake_driver(guard);
        }
        writable
    }
}

/// Writes the first `len` bytes, which `drain` moves. A stream that is gone takes nothing; its call's own end says so.
fn write(
    engine: &mut Connection,
    stream: StreamKey,
    len: usize,
    messages: &mut FrameBuf,
    drain: fn(&mut FrameBuf, &mut EncodeBuf<'_>),
) {
    let Ok(mut write) = engine.write_data(stream, len) else { return };
    // wire-rules 73: a message that waits can be dropped, but not cut.
    let lengths: Vec<usize> =
        if write.is_queued() { messages.message_lengths().collect() } else { Vec::new() };
    let (bytes, links) = write.buffers();
    drain(messages, &mut EncodeBuf::new(bytes, links));
    let _gone = write.commit_parts(lengths);
}
