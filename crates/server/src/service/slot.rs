//! One slot type for all shapes: a service handle, a function that makes the call's future, and the future.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use peregrine_core::call::CallScope;
use peregrine_core::compression::{set_wish, take_wish};
use peregrine_core::stream::is_flush_requested;
use peregrine_core::{Cancellation, Codec, Response, Status, Transcode};
use pin_project_lite::pin_project;

use super::{CallResult, CallSlot, IncomingCall, PortPlace};
use crate::call::batch::Batch;
use crate::call::port;

pin_project! {
    /// `T` is the user's service, `S` makes the future `F` from an incoming call, in its place: it is large, and moving
    /// it would cost more than making it.
    pub(super) struct Slot<T, S, F> {
        service: Arc<T>,
        start: S,
        #[pin]
        future: Option<F>,
        // Tells whoever asks that the call is over. Dropped after the future.
        scope: CallScope,
    }
}

/// What a slot polls: a future that is told where the call's reply goes.
pub(super) trait CallFuture {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult>;
}

pin_project! {
    /// A handler's future that drives the response stream by itself, through a [`ResponseSink`].
    pub(super) struct Driving<F> {
        #[pin]
        pub(super) call: F,
    }
}

impl<F: Future<Output = CallResult>> CallFuture for Driving<F> {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult> {
        port.lend(|| self.project().call.poll(cx))
    }
}

impl<T, S, F> Slot<T, S, F> {
    pub(super) fn boxed(service: Arc<T>, start: S) -> Pin<Box<dyn CallSlot>>
    where
        T: Send + Sync + 'static,
        S: Fn(Arc<T>, &mut IncomingCall<'_>, Cancellation, Pin<&mut Option<F>>) -> Result<(), Status>
            + Send
            + 'static,
        F: CallFuture + Send + 'static,
    {
        Box::pin(Self { service, start, future: None, scope: CallScope::default() })
    }
}

impl<T, S, F> CallSlot for Slot<T, S, F>
where
    T: Send + Sync,
    S: Fn(Arc<T>, &mut IncomingCall<'_>, Cancellation, Pin<&mut Option<F>>) -> Result<(), Status> + Send,
    F: CallFuture + Send,
{
    #[inline]
    fn start(self: Pin<&mut Self>, call: &mut IncomingCall<'_>) -> Result<(), Status> {
        let this = self.project();
        (this.start)(Arc::clone(this.service), call, this.scope.cancellation(), this.future)
    }

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult> {
        match self.project().future.as_pin_mut() {
            Some(future) => future.poll(cx, port),
            // Nothing was started, or the slot was cleared: there is nobody left to answer.
            None => Poll::Ready(Err(Status::internal("polled a call that is not running"))),
        }
    }

    fn clear(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.future.set(None);
        this.scope.end();
    }
}

/// Where a handler's response stream goes: into the connection, message by message, as the peer's windows and
/// the write buffer take them.
///
/// Handed to the future of a streaming call by generated code. It works only while that call is polled by the
/// server; it is not a handle to keep.
pub struct ResponseSink<C, B> {
    /// Set if messages leave in a format that is not the codec's own.
    transcode: Option<Arc<dyn Transcode>>,
    shape: PhantomData<fn(C, B)>,
}

impl<C, B> fmt::Debug for ResponseSink<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseSink").finish_non_exhaustive()
    }
}

impl<C: Codec<B>, B: 'static> ResponseSink<C, B> {
    pub(super) fn new(transcode: Option<Arc<dyn Transcode>>) -> Self {
        Self { transcode, shape: PhantomData }
    }

    /// Sends the head, then every item of the response's stream, and returns the trailing metadata.
    ///
    /// The source is polled only while there is room (backpressure). Messages that are ready one after another
    /// share DATA frames and one write, up to [`stream_batch_size`](crate::Server::stream_batch_size); a pending
    /// source lets what was encoded leave at once (wire-rules B1, B2, S2).
    ///
    /// # Errors
    /// The source's own error, after every message before it was handed over (wire-rules B3); INTERNAL or
    /// RESOURCE_EXHAUSTED when a message cannot be encoded.
    pub async fn stream<S>(self, response: Response<S>) -> CallResult
    where
        S: Stream<Item = Result<B, Status>>,
    {
        let compression = response.compression().copied();
        let (stream, metadata, trailers, _extensions) = response.into_parts();
        port::send_head(metadata, compression.as_ref())?;
        let mut stream = pin!(stream);
        // What the source said of its next message before it waited (wire-rules P2).
        let mut said = None;
        std::future::poll_fn(|cx| self.poll_forward(stream.as_mut(), &mut said, cx)).await?;
        Ok(trailers)
    }

    fn poll_forward<S>(
        &self,
        mut stream: Pin<&mut S>,
        said: &mut Option<bool>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Status>>
    where
        S: Stream<Item = Result<B, Status>>,
    {
        let mut batch = Batch::default();
        loop {
            ready!(batch.poll_room(cx));
            // And nothing that another source of this thread has left.
            set_wish(said.take());
            let Poll::Ready(item) = stream.as_mut().poll_next(cx) else {
                *said = take_wish();
                return Poll::Pending;
            };
            match item {
                Some(Ok(message)) => {
                    batch.send::<C, B>(&message, self.transcode.as_deref(), take_wish())?;
                    if is_flush_requested() {
                        // What the sender waits for is that this leaves before it goes on.
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Some(Err(status)) => return Poll::Ready(Err(status)),
                None => return Poll::Ready(Ok(())),
            }
        }
    }
}
