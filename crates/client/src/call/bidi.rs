//! Calls with a stream of messages each way.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_core::Stream;
use peregrine_core::stream::pipe;
use peregrine_core::{Codec, MethodDescriptor, Request, Sender, Status, Streaming};

use super::SENDER_CAPACITY;
use super::accompanied::{self, Way, is_accompanied, request_watch};
use super::bidi_request::{BidiRequest, Verdict};
use super::plan::Plan;
use super::pump::{RequestWatch, StreamedRequest};
use super::response_stream::ResponseStream;
use super::starts::Earlier;
use crate::channel::Channel;

/// Calls a method with a stream of requests and a stream of responses.
///
/// Ends when the call is queued, without waiting for the peer. Requests flow whether or not responses are read: a
/// source that has messages ready is taken in at once, and what is not ready yet is pumped by a task on the
/// connection's runtime. The source is dropped as soon as the call is over; dropping the [`Streaming`] cancels the
/// call. A call that the peer certainly did not process is made again as for
/// [`client_streaming`](fn@super::client_streaming).
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
        Way::long(accompanied::streaming::<C, B, S, _>(channel, method, request, move |request, hooks| {
            start::<C, A, B, S>(channel, method, request, request_watch::<C, A>(hooks))
        }))
    } else {
        Way::Short { call: start::<C, A, B, S>(channel, method, request, None) }
    }
}

/// The call itself; `watch` is shown the requests.
async fn start<C, A, B, S>(
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
    let responses = response.reader::<C, B>(&plan);
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
