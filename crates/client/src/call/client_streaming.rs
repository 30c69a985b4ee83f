//! Client-streaming calls.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_core::Stream;
use peregrine_core::stream::pipe;
use peregrine_core::{Codec, MethodDescriptor, Request, Response, Sender, Status};

use super::SENDER_CAPACITY;
use super::accompanied::{self, Way, is_accompanied, request_watch};
use super::plan::Plan;
use super::pump::{Kept, Pump, RequestWatch, StreamedRequest};
use super::reply::{PendingReply, decode};
use super::starts::Earlier;
use crate::channel::Channel;
use crate::connection::{NewSink, Reply};

/// Calls a method with a stream of requests and one response.
///
/// The future takes messages from the stream as the peer's window allows and is woken when the response is complete;
/// the stream is dropped as soon as the call is over. Dropped itself, it cancels the call. A call that the peer
/// certainly did not process is made again on its own (wire-rules 67, 75), unless more than 64 messages or 64 KiB
/// had been sent by then.
///
/// # Errors
/// As for [`unary`](fn@super::unary).
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
        Way::long(accompanied::single::<C, B, S, _>(channel, method, request, move |request, hooks| {
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
                let decoded =
                    decode::<C, B>(plan.format(), plan.message_observer().as_ref(), body, head, trailers);
                return decoded
                    .map_err(|status| plan.explain(status, Arc::clone(pending.connection().name())));
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
