//! Calls with one response: unary and client streaming.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Packed, Packing};
use peregrine_core::message::PREFIX_LEN;
use peregrine_core::metadata::SharedMetadata;
use peregrine_core::observe::{MessageObserver, MessageSize};
use peregrine_core::stream::pipe;
use peregrine_core::{
    Codec, DecodeLimits, MethodDescriptor, MethodFormat, Request, Response, Sender, Status, format,
};
use peregrine_http2::Head;

use super::SENDER_CAPACITY;
use super::accompanied::{self, Way, is_accompanied};
use super::plan::{Earlier, Plan};
use super::prepared;
use super::pump::{Kept, Pump, RequestWatch, StreamedRequest};
use super::quick::UnaryCall;
use crate::channel::Channel;
use crate::connection::{
    Body, CallId, MessageTarget, NewSink, Outgoing, Reply, SharedConnection, give_back, metadata,
    too_large_hint,
};

/// Calls a method with one request and one response.
///
/// The future writes the request when it is polled first and is woken when the response is complete. Dropped before
/// that, it cancels the call. A call that the peer certainly did not process is made again on its own (wire-rules
/// 67, 75).
///
/// # Errors
/// The status that the peer sent or that this side came to. If there was no connection, its source is the
/// [`Error`](peregrine_core::Error) that says why.
pub fn unary<'a, C, A, B>(
    channel: &'a Channel,
    method: &'a MethodDescriptor<'a>,
    request: Request<A>,
) -> impl Future<Output = Result<Response<B>, Status>> + Send + use<'a, C, A, B>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    UnaryCall::<'a, C, A, B>::new(channel, method, request)
}

/// The call itself, however much there is to it. `earlier` is what was done for it before.
pub(super) async fn start_unary<C, A, B>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<A>,
    earlier: Earlier,
) -> Result<Response<B>, Status>
where
    C: Codec<A> + Codec<B>,
    A: Send,
    B: Send,
{
    let (mut plan, message) = Plan::new(channel, method, request, earlier)?;
    let max_response = plan.max_response();
    let format = plan.format().cloned();
    let mut outgoing = OneMessage::<C, A> { message, max_response, format, ready: None, codec: PhantomData };
    loop {
        let started = plan.start(&mut outgoing).await?;
        let mut pending = PendingReply::new(started.connection, started.id);
        match (&mut pending).await {
            Reply::Received { head, body, trailers } => {
                let decoded = decode::<C, B>(plan.format(), plan.message_observer(), body, head, trailers);
                return decoded.map_err(|status| plan.explain(status, Arc::clone(pending.connection.name())));
            }
            Reply::Failed(failure) if plan.starts_again(failure.fate) => {}
            Reply::Failed(failure) => return Err(failure.status),
        }
    }
}

/// Calls a method with a stream of requests and one response.
///
/// The future takes messages from the stream as the peer's window allows and is woken when the response is complete;
/// the stream is dropped as soon as the call is over. Dropped itself, it cancels the call. A call that the peer
/// certainly did not process is made again on its own (wire-rules 67, 75), unless more than 64 messages or 64 KiB
/// had been sent by then.
///
/// # Errors
/// As for [`unary`].
pub fn client_streaming<C, A, B, S>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<S>,
) -> impl Future<Output = Result<Response<B>, Status>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    S: Stream<Item = A> + Send,
{
    if is_accompanied(channel, &request) {
        Way::long(accompanied::client_streaming::<C, A, B, S>(channel, method, request))
    } else {
        Way::Short { call: start_client_streaming::<C, A, B, S>(channel, method, request, None) }
    }
}

/// The call itself; `watch` is shown the requests.
pub(super) async fn start_client_streaming<C, A, B, S>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<S>,
    mut watch: Option<RequestWatch<A>>,
) -> Result<Response<B>, Status>
where
    C: Codec<A> + Codec<B>,
    A: Send,
    B: Send,
    S: Stream<Item = A> + Send,
{
    let (mut plan, source) = Plan::new(channel, method, request, Earlier::default())?;
    let mut source = pin!(Some(source));
    let max_response = plan.max_response();
    let mut outgoing = StreamedRequest::new(|| NewSink::Single { max_response });
    let mut kept = Kept::default();
    loop {
        let started = plan.start(&mut outgoing).await?;
        let mut pump = Pump::<C, A>::new(&started, &plan, kept).with_watch(watch.take());
        let mut pending = PendingReply::new(started.connection, started.id);
        let reply = poll_fn(|cx| {
            let _is_done = pump.poll(source.as_mut(), cx);
            Pin::new(&mut pending).poll(cx)
        });
        let reply = reply.await;
        watch = pump.take_watch();
        kept = match (reply, pump.take_kept()) {
            (Reply::Received { head, body, trailers }, _) => {
                let decoded = decode::<C, B>(plan.format(), plan.message_observer(), body, head, trailers);
                return decoded.map_err(|status| plan.explain(status, Arc::clone(pending.connection.name())));
            }
            (Reply::Failed(failure), Some(kept)) if plan.starts_again(failure.fate) => kept,
            (Reply::Failed(failure), _) => return Err(failure.status),
        };
    }
}

/// As [`client_streaming`], with the requests given to a [`Sender`] one by one. The call is made when the future is
/// polled first; poll it while sending, for example with `tokio::join!`. The request ends when the sender is
/// dropped.
pub fn client_streaming_sender<'m, C, A, B>(
    channel: &Channel,
    method: &MethodDescriptor<'m>,
) -> (Sender<A>, impl Future<Output = Result<Response<B>, Status>> + Send + use<'m, C, A, B>)
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    let (sender, receiver) = pipe(SENDER_CAPACITY);
    let (channel, method) = (channel.clone(), *method);
    let call = async move { client_streaming::<C, A, B, _>(&channel, &method, Request::new(receiver)).await };
    (sender, call)
}

/// The request of a unary call.
struct OneMessage<C, A> {
    message: A,
    max_response: usize,
    format: Option<Arc<MethodFormat>>,
    /// The message as it leaves, if it takes work.
    ready: Option<Packed>,
    codec: PhantomData<fn() -> C>,
}

impl<C: Codec<A>, A: Send> Outgoing for OneMessage<C, A> {
    fn prepare(&mut self, packing: Option<Packing<'_>>, limit: usize) -> Result<(), EncodeError> {
        self.ready = prepared::prepare::<C, A>(&self.message, self.format.as_deref(), packing, limit)?;
        Ok(())
    }

    fn write(&mut self, target: &mut MessageTarget<'_>) -> Result<(), EncodeError> {
        prepared::write::<C, A>(&self.message, self.ready.take(), target)
    }

    fn sink(&mut self) -> NewSink {
        NewSink::Single { max_response: self.max_response }
    }
}

/// Waits for the reply of a call; cancels the call if dropped before.
pub(super) struct PendingReply {
    connection: Arc<SharedConnection>,
    id: CallId,
    /// The start of the call left this task's waker with the connection a moment ago.
    is_registered: bool,
    is_done: bool,
}

impl PendingReply {
    #[inline]
    pub(super) fn new(connection: Arc<SharedConnection>, id: CallId) -> Self {
        Self { connection, id, is_registered: true, is_done: false }
    }

    pub(super) fn connection(&self) -> &SharedConnection {
        &self.connection
    }

    /// As [`new`](Self::new), for whoever does not poll it where it was made but leaves that for the next time.
    #[inline]
    pub(super) fn polled_next_time(connection: Arc<SharedConnection>, id: CallId) -> Self {
        Self { connection, id, is_registered: false, is_done: false }
    }
}

impl Future for PendingReply {
    type Output = Reply;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        if std::mem::take(&mut self.is_registered) {
            return Poll::Pending;
        }
        let reply = self.connection.poll_reply(self.id, cx);
        self.is_done = reply.is_ready();
        reply
    }
}

impl Drop for PendingReply {
    #[inline]
    fn drop(&mut self) {
        if !self.is_done {
            self.connection.cancel(self.id);
        }
    }
}

/// The response of a successful call; `observer` is told of its message.
#[inline]
pub(super) fn decode<C: Codec<B>, B>(
    format: Option<&Arc<MethodFormat>>,
    observer: Option<MessageObserver>,
    mut body: Box<Body>,
    head: Option<Arc<Head>>,
    trailers: Option<Arc<Head>>,
) -> Result<Response<B>, Status> {
    let transcode = format.map(|format| &*format.response);
    let observed = observer.map(|observer| (observer, body.received(), body.encoding()));
    let payload = body.finish().map_err(too_large_hint)?;
    let compressed = payload.was_compressed();
    if let Some((observer, body_len, encoding)) = observed {
        let wire_len = body_len.saturating_sub(PREFIX_LEN);
        observer.received(MessageSize::received(payload.len(), wire_len, compressed.then_some(encoding)));
    }
    let message = format::decode::<C, B>(payload, transcode, &DecodeLimits::default())?;
    give_back(body);
    let mut response = Response::new(message);
    if compressed {
        response.set_compressed(true);
    }
    if head.is_some() || trailers.is_some() {
        let shared =
            |head: Option<Arc<Head>>| head.map_or_else(|| Ok(SharedMetadata::new()), |head| metadata(&head));
        response.share_metadata(shared(head)?, shared(trailers)?);
    }
    Ok(response)
}
