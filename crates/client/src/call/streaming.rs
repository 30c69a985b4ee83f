//! Calls with a stream of responses: server streaming and bidi.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_core::Stream;
use peregrine_core::call::{InboxConfig, InboxOwner, SharedInbox};
use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Packed, Packing};
use peregrine_core::message::Encoding;
use peregrine_core::stream::pipe;
use peregrine_core::{
    Codec, DecodeLimits, MethodDescriptor, MethodFormat, Request, Sender, Status, Streaming,
};

use super::SENDER_CAPACITY;
use super::accompanied::{self, Way, is_accompanied};
use super::bidi_request::{BidiRequest, Verdict};
use super::plan::{Earlier, Plan, Started};
use super::prepared;
use super::pump::{RequestWatch, StreamedRequest};
use super::replay::ServerStreamingReplay;
use crate::channel::Channel;
use crate::connection::{
    CallId, MessageTarget, NewSink, Outgoing, Replay, SharedConnection, StreamSink, too_large_hint,
};

/// Calls a method with one request and a stream of responses.
///
/// Ends when the request is queued, without waiting for the peer: what the peer answers, an error at once included,
/// comes out of the [`Streaming`]. Dropping that cancels the call. A call that the peer certainly did not process is
/// made again on its own (wire-rules 67, 75).
///
/// # Errors
/// The call could not be started: no connection, no time, or a message that cannot be sent.
pub fn server_streaming<C, A, B>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<A>,
) -> impl Future<Output = Result<Streaming<B>, Status>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    if is_accompanied(channel, &request) {
        Way::long(accompanied::server_streaming::<C, A, B>(channel, method, request))
    } else {
        Way::Short { call: start_server_streaming::<C, A, B>(channel, method, request) }
    }
}

/// The call itself.
pub(super) async fn start_server_streaming<C, A, B>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<A>,
) -> Result<Streaming<B>, Status>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send,
{
    let (mut plan, message) = Plan::new(channel, method, request, Earlier::default())?;
    let response = ResponseStream::new(&plan);
    let mut outgoing = OneRequest::<C, A>::new(&plan, message, response.clone());
    let started = plan.start(&mut outgoing).await?;
    response.call.place_first(started);
    Ok(responses::<C, B>(&plan, response.inbox))
}

/// Calls a method with a stream of requests and a stream of responses.
///
/// Ends when the call is queued, without waiting for the peer. Requests flow whether or not responses are read: a
/// source that has messages ready is taken in at once, and what is not ready yet is pumped by a task on the
/// connection's runtime. The source is dropped as soon as the call is over; dropping the [`Streaming`] cancels the
/// call. A call that the peer certainly did not process is made again as for
/// [`client_streaming`](super::client_streaming).
///
/// # Errors
/// The call could not be started: no connection, or no time.
pub fn bidi<C, A, B, S>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<S>,
) -> impl Future<Output = Result<Streaming<B>, Status>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    S: Stream<Item = A> + Send + 'static,
{
    if is_accompanied(channel, &request) {
        Way::long(accompanied::bidi::<C, A, B, S>(channel, method, request))
    } else {
        Way::Short { call: start_bidi::<C, A, B, S>(channel, method, request, None) }
    }
}

/// The call itself; `watch` is shown the requests.
pub(super) async fn start_bidi<C, A, B, S>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: Request<S>,
    watch: Option<RequestWatch<A>>,
) -> Result<Streaming<B>, Status>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send,
    S: Stream<Item = A> + Send + 'static,
{
    let (mut plan, source) = Plan::new(channel, method, request, Earlier::default())?;
    let response = ResponseStream::new(&plan);
    let verdict = Arc::new(Verdict::default());
    let mut outgoing = StreamedRequest::new(|| response.sink(Some(verdict.awaited_by(&response.inbox))));
    let started = plan.start(&mut outgoing).await?;
    let runtime = started.connection.runtime().clone();
    let request = BidiRequest::<C, A>::new(&plan, &started, response.clone(), verdict, watch);
    response.call.place_first(started);
    let responses = responses::<C, B>(&plan, response.inbox);
    let mut pumping = Box::pin(request.run(source));
    let is_done = poll_fn(|cx| Poll::Ready(pumping.as_mut().poll(cx).is_ready())).await;
    if !is_done {
        runtime.spawn(pumping);
    }
    Ok(responses)
}

/// As [`bidi`], with the requests given to a [`Sender`] one by one. The call is made when the future is polled
/// first. The request ends when the sender is dropped.
pub fn bidi_sender<'m, C, A, B>(
    channel: &Channel,
    method: &MethodDescriptor<'m>,
) -> (Sender<A>, impl Future<Output = Result<Streaming<B>, Status>> + Send + use<'m, C, A, B>)
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    let (sender, receiver) = pipe(SENDER_CAPACITY);
    let (channel, method) = (channel.clone(), *method);
    let call = async move { bidi::<C, A, B, _>(&channel, &method, Request::new(receiver)).await };
    (sender, call)
}

/// The caller's end of a response stream.
fn responses<C: Codec<B>, B>(plan: &Plan<'_>, inbox: Arc<SharedInbox>) -> Streaming<B> {
    let transcode = plan.format().map(|format| Arc::clone(&format.response));
    Streaming::new::<C>(inbox, DecodeLimits::default()).transcoded(transcode)
}

/// The two ends of a response stream: where the connection puts messages, and what the reader reports to.
#[derive(Clone, Debug)]
pub(super) struct ResponseStream {
    pub(super) inbox: Arc<SharedInbox>,
    pub(super) call: Arc<StreamCall>,
}

impl ResponseStream {
    fn new(plan: &Plan<'_>) -> Self {
        let call = Arc::new(StreamCall::default());
        let config = InboxConfig {
            encoding: Encoding::Identity,
            max_message: plan.max_response(),
            // The engine gathers up to half a window too: what is left has to be worth a frame.
            credit_step: (plan.channel().stream_window() / 4).max(1),
        };
        // The owner knows its only call without a name.
        let owner = Arc::clone(&call) as Arc<dyn InboxOwner>;
        let inbox = SharedInbox::observed(config, owner, 0, plan.message_observer());
        Self { inbox, call }
    }

    pub(super) fn sink(&self, replay: Option<Box<dyn Replay>>) -> NewSink {
        NewSink::Stream(StreamSink { inbox: Arc::clone(&self.inbox), replay })
    }
}

/// Where a streaming call runs. It moves to another connection if the peer has not processed it.
#[derive(Default)]
pub(super) struct StreamCall {
    place: Mutex<Option<(Arc<SharedConnection>, CallId)>>,
}

impl StreamCall {
    /// The call was started there, and may have moved since: the peer can refuse it, and the second start succeed on
    /// another thread, before the first one gets to say where it was.
    fn place_first(&self, started: Started) {
        self.lock().get_or_insert((started.connection, started.id));
    }

    /// The call runs there now.
    pub(super) fn place(&self, started: Started) {
        *self.lock() = Some((started.connection, started.id));
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Arc<SharedConnection>, CallId)>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxOwner for StreamCall {
    fn credit_available(&self, _call: u64) {
        let place = self.lock().clone();
        if let Some((connection, id)) = place {
            connection.grant_credit(id);
        }
    }

    fn explain(&self, status: Status) -> Status {
        let place = self.lock().clone();
        match place {
            Some((connection, id)) => connection.explain(id, too_large_hint(status)),
            None => status,
        }
    }

    fn dropped(&self, _call: u64) {
        let place = self.lock().take();
        if let Some((connection, id)) = place {
            connection.cancel(id);
        }
    }
}

impl fmt::Debug for StreamCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamCall").field("id", &self.lock().as_ref().map(|(_, id)| *id)).finish()
    }
}

/// The request of a server-streaming call. Once written it moves into the replay, which the connection keeps until
/// the peer answers.
pub(super) struct OneRequest<C, A> {
    message: Option<A>,
    replay: Option<ServerStreamingReplay<C, A>>,
    response: ResponseStream,
    format: Option<Arc<MethodFormat>>,
    /// The message as it leaves, if it takes work.
    ready: Option<Packed>,
    codec: PhantomData<fn() -> C>,
}

impl<C: Codec<A>, A: Send + 'static> OneRequest<C, A> {
    pub(super) fn new(plan: &Plan<'_>, message: A, response: ResponseStream) -> Self {
        Self {
            message: Some(message),
            replay: Some(ServerStreamingReplay::new(plan, response.clone())),
            response,
            format: plan.format().cloned(),
            ready: None,
            codec: PhantomData,
        }
    }
}

impl<C: Codec<A>, A: Send + 'static> Outgoing for OneRequest<C, A> {
    fn prepare(&mut self, packing: Option<Packing<'_>>, limit: usize) -> Result<(), EncodeError> {
        if let Some(message) = &self.message {
            self.ready = prepared::prepare::<C, A>(message, self.format.as_deref(), packing, limit)?;
        }
        Ok(())
    }

    fn write(&mut self, target: &mut MessageTarget<'_>) -> Result<(), EncodeError> {
        match &self.message {
            Some(message) => prepared::write::<C, A>(message, self.ready.take(), target),
            None => Err(EncodeError::closed()),
        }
    }

    fn sink(&mut self) -> NewSink {
        let replay = match (self.replay.take(), self.message.take()) {
            (Some(replay), Some(message)) => Some(replay.with_message(message)),
            _ => None,
        };
        self.response.sink(replay)
    }
}

#[cfg(test)]
mod tests {
    use peregrine_http2::Config;

    use super::*;
    use crate::channel::keepalive::KeepaliveTime;
    use crate::connection::{HttpCodes, Observed};

    #[test]
    fn a_call_that_moved_before_its_first_place_was_noted_stays_where_it_is() {
        // wire-rules 67: the refusal can overtake the thread that made the call.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let started = |index| {
            let now = std::time::Instant::now();
            let (observed, keepalive) = (Observed::by_nobody(), Arc::new(KeepaliveTime::new(None)));
            let runtime = runtime.handle().clone();
            let connection = SharedConnection::new(
                Config::client(),
                observed,
                keepalive,
                HttpCodes::default(),
                Arc::default(),
                runtime,
                now,
            );
            Started { connection, id: CallId::from_parts(index, 0) }
        };
        let place = |call: &StreamCall| call.lock().as_ref().map(|(_, id)| *id);
        let call = StreamCall::default();
        call.place(started(2));
        call.place_first(started(1));
        assert_eq!(place(&call), Some(CallId::from_parts(2, 0)));
        let call = StreamCall::default();
        call.place_first(started(1));
        assert_eq!(place(&call), Some(CallId::from_parts(1, 0)));
        call.place(started(2));
        assert_eq!(place(&call), Some(CallId::from_parts(2, 0)));
    }
}
