//! From a source of request messages into the connection.
//!
//! Messages are encoded one behind the other into the connection's output while the source has some and the peer's
//! window and our buffers have room; they share DATA frames and leave in one write (wire-rules B1, B7). When the
//! source pauses, or has filled a batch, what it gave goes out (B2).
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
use peregrine_core::compression::{Packer, Packing, set_wish, take_wish};
use peregrine_core::message::PREFIX_LEN;
use peregrine_core::observe::MessageObserver;
use peregrine_core::stream::take_flush_request;
use peregrine_core::{Codec, MethodFormat, Status};

use super::plan::{Plan, Started};
use super::prepared;
use crate::connection::{CallId, MessageTarget, NewSink, Outgoing, SharedConnection, Writable, not_encoded};

/// Messages of one poll, so that a source of tiny ones that is always ready does not keep other tasks from running. The
/// pause between two polls is no reason to flush.
const MESSAGES_PER_POLL: usize = 256;

/// Messages kept for another start, and their bytes as encoded. A refusal takes one round trip; a call that has sent
/// more by then is not made again.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// Pumps the request stream of one call into one connection.
pub(super) struct Pump<C, A> {
    connection: Arc<SharedConnection>,
    id: CallId,
    /// Set if messages are not in the codec's own format.
    format: Option<Arc<MethodFormat>>,
    packer: Option<Arc<Packer>>,
    /// Told of each message that is written.
    observer: Option<MessageObserver>,
    limit: usize,
    /// Bytes of one poll after which what was written leaves (wire-rules B1).
    batch_size: usize,
    /// What the source gave so far; `None` once that is too much to be sent again.
    kept: Option<Kept<A>>,
    /// Messages of `kept` written on this connection.
    rewritten: usize,
    /// Shown each message of the source before it is written.
    watch: Option<RequestWatch<A>>,
    /// What the source said of its next message before it waited (wire-rules P2).
    said: Option<bool>,
    /// Something was written that the driver has not been told of.
    has_unflushed: bool,
    /// The request is complete, or the call is over.
    is_done: bool,
    codec: PhantomData<fn(&A) -> C>,
}

/// Is shown each message of a request stream; fails the call if it fails.
pub(super) type RequestWatch<A> = Box<dyn FnMut(&A) -> Result<(), Status> + Send>;

/// What was taken from a source, to be sent again if the peer refuses the call (wire-rules 67, 75).
#[derive(Debug)]
pub(super) struct Kept<A> {
    /// Each with what its source said of its compression.
    messages: Vec<(A, Option<bool>)>,
    bytes: usize,
    /// What it said of its next message.
    said: Option<bool>,
    /// The source has no more.
    is_all: bool,
}

impl<A> Default for Kept<A> {
    fn default() -> Self {
        Self { messages: Vec::new(), bytes: 0, said: None, is_all: false }
    }
}

impl<C: Codec<A>, A> Pump<C, A> {
    /// For messages as `plan` says they have to be. Those of `kept` come before those of the source.
    pub(super) fn new(started: &Started, plan: &Plan<'_>, kept: Kept<A>) -> Self {
        Self {
            connection: Arc::clone(&started.connection),
            id: started.id,
            format: plan.format().cloned(),
            packer: plan.packer().cloned(),
            observer: plan.message_observer(),
            limit: plan.max_request(),
            batch_size: plan.channel().stream_batch_size(),
            said: kept.said,
            kept: Some(kept),
            rewritten: 0,
            watch: None,
            has_unflushed: false,
            is_done: false,
            codec: PhantomData,
        }
    }

    /// Shows each message of the source to `watch`.
    pub(super) fn with_watch(mut self, watch: Option<RequestWatch<A>>) -> Self {
        self.watch = watch;
        self
    }

    pub(super) fn take_watch(&mut self) -> Option<RequestWatch<A>> {
        self.watch.take()
    }

    /// What another start has to send first, unless it is too much.
    pub(super) fn take_kept(&mut self) -> Option<Kept<A>> {
        let kept = self.kept.take()?;
        Some(Kept { said: self.said, ..kept })
    }

    /// Whether another start is possible.
    pub(super) fn can_start_again(&self) -> bool {
        self.kept.is_some()
    }

    /// Ready once the request is complete, the source is dropped then, or the call is over.
    pub(super) fn poll<S: Stream<Item = A>>(
        &mut self,
        source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.is_done {
            return Poll::Ready(());
        }
        let pumped = match self.connection.poll_writable(self.id, cx.waker()) {
            Writable::Now => self.poll_messages(source, cx),
            Writable::Later => Poll::Pending,
            Writable::Never => Poll::Ready(()),
        };
        self.is_done = pumped.is_ready();
        pumped
    }

    fn poll_messages<S: Stream<Item = A>>(
        &mut self,
        mut source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let mut batch = 0;
        for _ in 0..MESSAGES_PER_POLL {
            let writable = match self.poll_message(source.as_mut(), cx) {
                Poll::Ready(Some((writable, len))) => {
                    batch += PREFIX_LEN + len;
                    writable
                }
                Poll::Ready(None) => {
                    source.set(None);
                    if let Some(kept) = &mut self.kept {
                        kept.is_all = true;
                    }
                    self.connection.end_request(self.id);
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    if std::mem::take(&mut self.has_unflushed) {
                        self.connection.flush();
                    }
                    return Poll::Pending;
                }
            };
            // The connection flushes by itself when there is no room for more.
            self.has_unflushed = writable == Writable::Now;
            match writable {
                Writable::Now => {}
                Writable::Later => return Poll::Pending,
                Writable::Never => return Poll::Ready(()),
            }
            // A sender that flushes waits for what it sent to leave.
            if batch >= self.batch_size || take_flush_request() {
                self.has_unflushed = false;
                self.connection.flush();
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes the next message, if there is one, and says how long it was; `None` at the end of the source.
    fn poll_message<S: Stream<Item = A>>(
        &mut self,
        source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Writable, usize)>> {
        if let Some(kept) = self.kept.take() {
            if let Some((message, wish)) = kept.messages.get(self.rewritten) {
                self.rewritten += 1;
                let written = self.write(message, *wish, cx);
                self.kept = Some(kept);
                return Poll::Ready(Some(written));
            }
            let is_all = kept.is_all;
            self.kept = Some(kept);
            if is_all {
                return Poll::Ready(None);
            }
        }
        let Some(source) = source.as_pin_mut() else { return Poll::Ready(None) };
        // And nothing that another source of this thread has left.
        set_wish(self.said.take());
        let polled = source.poll_next(cx);
        let wish = take_wish();
        if polled.is_pending() {
            self.said = wish;
        }
        polled.map(|message| {
            let message = message?;
            if let Some(watch) = &mut self.watch
                && let Err(status) = watch(&message)
            {
                self.connection.fail(self.id, status);
                return Some((Writable::Never, 0));
            }
            let (writable, len) = self.write(&message, wish, cx);
            self.keep(message, wish, len);
            Some((writable, len))
        })
    }

    fn write(&self, message: &A, wish: Option<bool>, cx: &mut Context<'_>) -> (Writable, usize) {
        let mut len = 0;
        let packing = Packing::of(self.packer.as_deref(), wish);
        let ready = prepared::prepare::<C, A>(message, self.format.as_deref(), packing, self.limit);
        let written = ready.map_err(not_encoded).and_then(|ready| {
            self.connection.write_message(self.id, self.limit, cx.waker(), |target| {
                let encoded = prepared::write::<C, A>(message, ready, target);
                len = target.message_len();
                encoded
            })
        });
        let (writable, written) = written.unwrap_or_else(|status| {
            // wire-rules 44, B3
            self.connection.fail(self.id, status);
            (Writable::Never, None)
        });
        if let (Some(observer), Some(written)) = (&self.observer, written) {
            observer.sent(written.size(packing));
        }
        (writable, len)
    }

    /// Keeps a message, also one that was not written because the call was over: it is no longer in the source.
    fn keep(&mut self, message: A, wish: Option<bool>, len: usize) {
        let Some(kept) = &mut self.kept else { return };
        kept.bytes = kept.bytes.saturating_add(len);
        if kept.messages.len() < MAX_KEPT && kept.bytes <= MAX_KEPT_BYTES {
            kept.messages.push((message, wish));
            self.rewritten += 1;
        } else {
            self.kept = None;
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
