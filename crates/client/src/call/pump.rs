//! From a source of request messages into the connection.
//!
//! Messages are encoded one behind the other while the source has some and the peer's window and our buffers have room,
//! and given to the connection together: they share DATA frames and leave in one write (wire-rules B1, B7). When the
//! source pauses, or has filled a batch, what it gave goes out (B2). No user's code runs with the connection locked.
//!
//! Client streaming polls its pump inside of the call's own future, which the caller awaits anyway. A bidi caller
//! holds a [`Streaming`](peregrine_core::Streaming), which may be read rarely or never while requests must still
//! flow; so there the pump is polled once in place, which is enough for a source that is ready, and spawned as a
//! task if it is not done.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Packer, Packing, set_wish, take_wish};
use peregrine_core::message::{FrameBuf, GATHERED, PREFIX_LEN};
use peregrine_core::observe::{MessageObserver, MessageSize};
use peregrine_core::stream::take_flush_request;
use peregrine_core::{Codec, MethodFormat, Status};

use super::plan::{Plan, Started};
use crate::connection::{
    CallId, MessageTarget, NewSink, Outgoing, SharedConnection, Then, Writable, not_encoded,
};

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
    /// Something is done to messages, or somebody wants to know of them.
    is_apart: bool,
    /// Told of each message that is written.
    observer: Option<MessageObserver>,
    limit: usize,
    /// Bytes of one poll after which what was written leaves (wire-rules B1).
    batch_size: usize,
    /// Messages of this poll that the connection does not have yet.
    messages: FrameBuf,
    /// Bytes that may be gathered there, not counting the last message.
    room: usize,
    /// What the observer is told of the last message, once the connection has it.
    untold: Option<MessageSize>,
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
        let (format, packer, observer) = (plan.format(), plan.packer(), plan.message_observer());
        Self {
            connection: Arc::clone(&started.connection),
            id: started.id,
            is_apart: format.is_some() || packer.is_some() || observer.is_some(),
            format: format.cloned(),
            packer: packer.cloned(),
            observer,
            limit: plan.max_request(),
            batch_size: plan.channel().stream_batch_size(),
            messages: FrameBuf::new(),
            room: 0,
            untold: None,
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
        let pumped = match self.connection.poll_room(self.id, cx.waker()) {
            Writable::Now(room) => {
                self.room = room;
                let mut spare = FrameBuf::reused();
                std::mem::swap(&mut self.messages, &mut spare);
                let pumped = catch_unwind(AssertUnwindSafe(|| self.poll_messages(source, cx)));
                let pumped = pumped.unwrap_or_else(|panic| self.write_before(panic));
                std::mem::swap(&mut self.messages, &mut spare);
                spare.recycle();
                pumped
            }
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
        let mut written = 0;
        for _ in 0..MESSAGES_PER_POLL {
            match self.poll_message(source.as_mut(), cx) {
                Poll::Ready(Some(true)) => {}
                Poll::Ready(Some(false)) => return Poll::Ready(()),
                Poll::Ready(None) => {
                    source.set(None);
                    if let Some(kept) = &mut self.kept {
                        kept.is_all = true;
                    }
                    self.write(Then::End);
                    return Poll::Ready(());
                }
                Poll::Pending if self.messages.is_empty() && !self.has_unflushed => return Poll::Pending,
                Poll::Pending => return self.flush(),
            }
            let gathered = self.messages.len();
            // A sender that flushes waits for what it sent to leave.
            if take_flush_request() || written + gathered >= self.batch_size {
                cx.waker().wake_by_ref();
                return self.flush();
            }
            if gathered >= self.room.min(GATHERED) {
                written += gathered;
                match self.write(Then::More(cx.waker())) {
                    Writable::Now(room) => self.room = room,
                    Writable::Later => return Poll::Pending,
                    Writable::Never => return Poll::Ready(()),
                }
            }
        }
        match self.write(Then::More(cx.waker())) {
            Writable::Now(_) => cx.waker().wake_by_ref(),
            Writable::Later => {}
            Writable::Never => return Poll::Ready(()),
        }
        Poll::Pending
    }

    /// Takes the next message, if there is one; false if the call is over with it. `None` at the end of the source.
    #[inline]
    fn poll_message<S: Stream<Item = A>>(
        &mut self,
        source: Pin<&mut Option<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<bool>> {
        if let Some(kept) = &self.kept
            && (kept.is_all || self.rewritten < kept.messages.len())
        {
            return Poll::Ready(self.take_again());
        }
        let Some(source) = source.as_pin_mut() else { return Poll::Ready(None) };
        // And nothing that another source of this thread has left.
        set_wish(self.said.take());
        let polled = source.poll_next(cx);
        let wish = take_wish();
        let Poll::Ready(message) = polled else {
            self.said = wish;
            return Poll::Pending;
        };
        let Some(message) = message else { return Poll::Ready(None) };
        if let Some(watch) = &mut self.watch
            && let Err(status) = watch(&message)
        {
            self.fail(status);
            return Poll::Ready(Some(false));
        }
        let Some(len) = self.take(&message, wish) else { return Poll::Ready(Some(false)) };
        if self.kept.is_some() {
            self.keep(message, wish, len);
        }
        Poll::Ready(Some(true))
    }

    /// Takes the next message of those that were sent on another connection before.
    #[cold]
    fn take_again(&mut self) -> Option<bool> {
        let kept = self.kept.take()?;
        let taken = kept.messages.get(self.rewritten).map(|(message, wish)| {
            self.rewritten += 1;
            self.take(message, *wish).is_some()
        });
        self.kept = Some(kept);
        taken
    }

    /// Encodes a message behind those that are gathered. Answers how long it is; `None` if the call has failed with it.
    #[inline]
    fn take(&mut self, message: &A, wish: Option<bool>) -> Option<usize> {
        let before = self.messages.len();
        let encoded = if self.is_apart {
            self.take_apart(message, wish)
        } else {
            self.messages.encode::<C, A>(message, self.limit)
        };
        match encoded {
            Ok(()) => Some(self.messages.len() - before - PREFIX_LEN),
            Err(error) => {
                // wire-rules 44, B3
                self.fail(not_encoded(error));
                None
            }
        }
    }

    /// A message that something is done to, or that somebody wants to know of.
    #[cold]
    fn take_apart(&mut self, message: &A, wish: Option<bool>) -> Result<(), EncodeError> {
        let packing = Packing::of(self.packer.as_deref(), wish);
        let transcode = self.format.as_deref().map(|format| &*format.request);
        let written = self.messages.encode_as::<C, A>(message, transcode, self.limit, packing)?;
        if self.observer.is_some() {
            self.untold = Some(written.size(packing));
            // It has to be known at once whether the call takes it.
            self.room = 0;
        }
        Ok(())
    }

    /// Gives the connection what was gathered.
    fn write(&mut self, then: Then<'_>) -> Writable {
        let writable = self.connection.write_messages(self.id, &mut self.messages, self.room, then);
        self.has_unflushed = matches!(writable, Writable::Now(_));
        if let (Some(observer), Some(size)) = (&self.observer, self.untold.take())
            && (writable != Writable::Never)
        {
            observer.sent(size);
        }
        writable
    }

    /// A source or a codec has panicked, which is the caller's to see: the messages before that leave first, since the
    /// call is cancelled on the way (wire-rules B3).
    #[cold]
    fn write_before(&mut self, panic: Box<dyn Any + Send>) -> ! {
        self.write(Then::Flush);
        resume_unwind(panic)
    }

    fn flush(&mut self) -> Poll<()> {
        if self.write(Then::Flush) == Writable::Never { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ends the call with what the request broke off with, behind the messages before that.
    #[cold]
    fn fail(&mut self, status: Status) {
        self.write(Then::Flush);
        self.connection.fail(self.id, status);
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
