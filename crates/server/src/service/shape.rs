//! The four call shapes, each a slot with its own way to make the call's future.
//!
//! The handler is a plain function of the service handle and the request, so that the future it returns owns
//! both and borrows nothing from the server.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use peregrine_core::call::{Peer, StreamWatch};
use peregrine_core::{
    Cancellation, Codec, Message, MetadataMap, Request, Response, Status, Streaming, Transcode, format,
};
use pin_project_lite::pin_project;

use super::slot::{ResponseSink, Slot};
use super::{CallResult, CallSlot, IncomingCall};
use crate::call::port;

/// A slot for a method that takes one message and answers with one.
pub fn unary_slot<C, A, B, T, H, F>(service: Arc<T>, handler: H) -> Pin<Box<dyn CallSlot>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    T: Send + Sync + 'static,
    H: Fn(Arc<T>, Request<A>) -> F + Send + 'static,
    F: Future<Output = Result<Response<B>, Status>> + Send + 'static,
{
    Slot::boxed(service, move |service, call, over| {
        let transcode = response_format(&call);
        let reply = handler(service, decode_request::<C, A>(call, over)?);
        Ok(Respond { reply, transcode, shape: PhantomData::<fn(C, B)> })
    })
}

/// A slot for a method that takes one message and answers with a stream.
pub fn server_streaming_slot<C, A, B, T, H, F>(service: Arc<T>, handler: H) -> Pin<Box<dyn CallSlot>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    T: Send + Sync + 'static,
    H: Fn(Arc<T>, Request<A>, ResponseSink<C, B>) -> F + Send + 'static,
    F: Future<Output = CallResult> + Send + 'static,
{
    Slot::boxed(service, move |service, call, over| {
        let sink = ResponseSink::new(response_format(&call));
        Ok(handler(service, decode_request::<C, A>(call, over)?, sink))
    })
}

/// A slot for a method that takes a stream and answers with one message.
pub fn client_streaming_slot<C, A, B, T, H, F>(service: Arc<T>, handler: H) -> Pin<Box<dyn CallSlot>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    T: Send + Sync + 'static,
    H: Fn(Arc<T>, Request<Streaming<A>>) -> F + Send + 'static,
    F: Future<Output = Result<Response<B>, Status>> + Send + 'static,
{
    Slot::boxed(service, move |service, call, over| {
        let transcode = response_format(&call);
        let reply = handler(service, streaming_request::<C, A>(call, over)?);
        Ok(Respond { reply, transcode, shape: PhantomData::<fn(C, B)> })
    })
}

/// A slot for a method that takes a stream and answers with one.
pub fn bidi_slot<C, A, B, T, H, F>(service: Arc<T>, handler: H) -> Pin<Box<dyn CallSlot>>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
    T: Send + Sync + 'static,
    H: Fn(Arc<T>, Request<Streaming<A>>, ResponseSink<C, B>) -> F + Send + 'static,
    F: Future<Output = CallResult> + Send + 'static,
{
    Slot::boxed(service, move |service, call, over| {
        let sink = ResponseSink::new(response_format(&call));
        Ok(handler(service, streaming_request::<C, A>(call, over)?, sink))
    })
}

pin_project! {
    /// A call with one reply message: the handler's future, then the writing of its reply. By hand, since an `async`
    /// block would keep the handler's future twice, as what it captures and as what it awaits, and move it.
    struct Respond<C, B, F> {
        #[pin]
        reply: F,
        transcode: Option<Arc<dyn Transcode>>,
        shape: PhantomData<fn(C, B)>,
    }
}

impl<C, B, F> Future for Respond<C, B, F>
where
    C: Codec<B>,
    B: 'static,
    F: Future<Output = Result<Response<B>, Status>>,
{
    type Output = CallResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallResult> {
        let this = self.project();
        let response = ready!(this.reply.poll(cx))?;
        Poll::Ready(respond::<C, B>(response, this.transcode.as_deref()))
    }
}

/// Writes a unary reply: head, then the one message. A message that cannot be encoded ends the call with the
/// error in trailers, since the head is out by then (wire-rules E3).
fn respond<C: Codec<B>, B: 'static>(response: Response<B>, transcode: Option<&dyn Transcode>) -> CallResult {
    let compression = response.compression().copied();
    let (message, metadata, trailers, _extensions) = response.into_parts();
    port::send_reply::<C, B>(metadata, compression.as_ref(), &message, transcode)?;
    Ok(trailers)
}

/// How the reply is rewritten: a call has one format.
fn response_format(call: &IncomingCall<'_>) -> Option<Arc<dyn Transcode>> {
    call.format.map(|format| Arc::clone(&format.response))
}

fn decode_request<C: Codec<A>, A: 'static>(
    mut call: IncomingCall<'_>,
    over: Cancellation,
) -> Result<Request<A>, Status> {
    let extra = call.extra.take();
    let transcode = call.format.map(|format| &*format.request);
    let (len, compressed) = (call.body.len(), call.body.was_compressed());
    let message = format::decode::<C, A>(call.body, transcode, call.limits)?;
    let mut request = request(message, call.metadata, call.deadline, call.peer, over);
    request.set_compressed(compressed);
    if let Some(mut extra) = extra {
        *request.extensions_mut() = extra.extensions;
        extra.request_hooks.run(&Message::decoded(request.get_ref(), len))?;
    }
    Ok(request)
}

fn streaming_request<C: Codec<A>, A: 'static>(
    mut call: IncomingCall<'_>,
    over: Cancellation,
) -> Result<Request<Streaming<A>>, Status> {
    let extra = call.extra.take();
    let Some(inbox) = call.inbox else {
        return Err(Status::internal("a streaming call came without an inbox"));
    };
    let transcode = call.format.map(|format| Arc::clone(&format.request));
    let messages = Streaming::new::<C>(inbox, *call.limits).transcoded(transcode);
    let mut request = request(messages, call.metadata, call.deadline, call.peer, over);
    if let Some(extra) = extra {
        *request.extensions_mut() = extra.extensions;
        request.set_watch(StreamWatch { messages: extra.request_hooks, ..StreamWatch::default() });
    }
    Ok(request)
}

/// What belongs to the call comes with it, since the handler serves them all (wire-rules G4).
fn request<M>(
    message: M,
    metadata: &Arc<MetadataMap>,
    deadline: Option<Instant>,
    peer: &Arc<Peer>,
    over: Cancellation,
) -> Request<M> {
    let mut request = Request::new(message);
    request.set_deadline(deadline);
    request.set_peer(Arc::clone(peer));
    request.share_metadata(Arc::clone(metadata));
    request.set_cancellation(over);
    request
}
