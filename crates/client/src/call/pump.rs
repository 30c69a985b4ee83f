//! From a source of request messages into the connection.
//!
//! Messages are encoded one behind the other into the connection's output while the source has some and the peer's
//! window and our buffers have room; they share DATA frames and leave in one write (wire-rules B1, B7). When the
//! source pauses, what it gave goes out (B2).
//!
//! Client streaming polls its pump inside of the call's own future, which the caller awaits anyway. A bidi caller
//! holds a [`Streaming`](peregrine_core::Streaming), which may be read rarely or never while requests must still
//! flow; so there the pump is polled once in place, which is enough for a source that is ready, and spawned as a
//! task if it is not done.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use peregrine_core::codec::EncodeError;
use peregrine_core::{Codec, Status};

use super::plan::Started;
use crate::connection::{CallId, MessageTarget, NewSink, Outgoing, SharedConnection, Writable};

/// Messages of one poll, so that a source that is always ready does not keep other tasks from running. The pause
/// between two polls is no reason to flush.
const MESSAGES_PER_POLL: usize = 256;

/// Pumps the request stream of one call.
pub(super) struct Pump<C, A> {
    connection: Arc<SharedConnection>,
    id: CallId,
    limit: usize,
    /// Something was written that the driver has not been told of.
    has_unflushed: bool,
    /// The request is complete, or the call is over.
    is_done: bool,
    codec: PhantomData<fn(&A) -> C>,
}

impl<C: Codec<A>, A> Pump<C, A> {
    /// For messages of at most `limit` bytes.
    pub(super) fn new(started: &Started, limit: usize) -> Self {
        Self {
            connection: Arc::clone(&started.connection),
            id: started.id,
            limit,
            has_unflushed: false,
            is_done: false,
            codec: PhantomData,
        }
    }

    /// Ready once the request is complete or the call is over; the source is dropped then.
    pub(super) fn poll<S: Stream<Item = A>>(
        &mut self,
        mut source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if source.is_none() {
            return Poll::Ready(());
        }
        let pumped = match self.connection.poll_writable(self.id, cx.waker()) {
            Writable::Now => self.poll_messages(source.as_mut(), cx),
            Writable::Later => Poll::Pending,
            Writable::Never => Poll::Ready(()),
        };
        if pumped.is_ready() {
            self.is_done = true;
            source.set(None);
        }
        pumped
    }

    fn poll_messages<S: Stream<Item = A>>(
        &mut self,
        mut source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        for _ in 0..MESSAGES_PER_POLL {
            let Some(stream) = source.as_mut().as_pin_mut() else { return Poll::Ready(()) };
            match stream.poll_next(cx) {
                Poll::Ready(Some(message)) => match self.write(&message, cx) {
                    Writable::Now => {}
                    Writable::Later => return Poll::Pending,
                    Writable::Never => return Poll::Ready(()),
                },
                Poll::Ready(None) => {
                    self.connection.end_request(self.id);
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    if std::mem::take(&mut self.has_unflushed) {
                        self.connection.flush();
                    }
                    return Poll::Pending;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn write(&mut self, message: &A, cx: &mut Context<'_>) -> Writable {
        let written = self
            .connection
            .write_message(self.id, self.limit, cx.waker(), |target| C::encode(message, target));
        match written {
            Ok(writable) => {
                // The connection flushes by itself when there is no room for more.
                self.has_unflushed = writable == Writable::Now;
                writable
            }
            Err(status) => {
                // wire-rules 44, B3
                self.connection.fail(self.id, status);
                Writable::Never
            }
        }
    }
}

impl<C, A> Drop for Pump<C, A> {
    /// A source or a codec that panicked, or a runtime that ended: half a request must not pass for a whole one,
    /// nor keep the call waiting.
    fn drop(&mut self) {
        if !self.is_done {
            self.connection.fail(self.id, Status::cancelled("the stream of requests broke off"));
        }
    }
}

/// A request whose messages come later: the start opens the stream and no more.
pub(super) struct StreamedRequest<F> {
    sink: F,
}

impl<F: FnMut() -> NewSink> StreamedRequest<F> {
    /// `sink` says where the response goes.
    pub(super) fn new(sink: F) -> Self {
        Self { sink }
    }
}

impl<F: FnMut() -> NewSink + Send> Outgoing for StreamedRequest<F> {
    fn write(&mut self, target: &mut MessageTarget<'_>) -> Result<(), EncodeError> {
        target.open()
    }

    fn sink(&mut self) -> NewSink {
        (self.sink)()
    }
}
