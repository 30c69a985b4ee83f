//! The four call shapes, each a slot with its own way to make the call's future.
//!
//! The handler is a plain function of the service handle and the request, so that the future it returns owns
//! both and borrows nothing from the server.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use peregrine_core::call::{CallContext, StreamWatch};
use peregrine_core::{
    Cancellation, Codec, Message, Payload, Request, Response, Status, Streaming, Transcode, format,
};
use pin_project_lite::pin_project;

use super::slot::{CallFuture, Driving, ResponseSink, Slot};
use super::{CallResult, CallSlot, IncomingCall, PortPlace};
use crate::call::reply_target::Apart;

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
    Slot::boxed(service, move |service, call, over, mut place| {
        let (transcode, is_last) = (response_format(call), call.extra.is_none());
        let reply = handler(service, decode_request::<C, A>(call, over)?);
        place.set(Some(Respond { reply, transcode, is_last, shape: PhantomData::<fn(C, B)> }));
        Ok(())
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
    Slot::boxed(service, move |service, call, over, mut place| {
        let sink = ResponseSink::new(response_format(call));
        place.set(Some(Driving { call: handler(service, decode_request::<C, A>(call, over)?, sink) }));
        Ok(())
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
    Slot::boxed(service, move |service, call, over, mut place| {
        let (transcode, is_last) = (response_format(call), call.extra.is_none());
        let reply = handler(service, streaming_request::<C, A>(call, over)?);
        place.set(Some(Respond { reply, transcode, is_last, shape: PhantomData::<fn(C, B)> }));
        Ok(())
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
    Slot::boxed(service, move |service, call, over, mut place| {
        let sink = ResponseSink::new(response_format(call));
        place.set(Some(Driving { call: handler(service, streaming_request::<C, A>(call, over)?, sink) }));
        Ok(())
    })
}

pin_project! {
    /// A call with one reply message: the handler's future, then the writing of its reply. By hand, since an `async`
    /// block would keep the handler's future twice, as what it captures and as what it awaits, and move it.
    struct Respond<C, B, F> {
        #[pin]
        reply: F,
        transcode: Option<Arc<dyn Transcode>>,
        // What the handler says is what the call ends with: there are no interceptors.
        is_last: bool,
        shape: PhantomData<fn(C, B)>,
    }
}

impl<C, B, F> CallFuture for Respond<C, B, F>
where
    C: Codec<B>,
    B: 'static,
    F: Future<Output = Result<Response<B>, Status>>,
{
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult> {
        let this = self.project();
        let transcode = this.transcode.as_deref();
        let mut polled = this.reply.poll(cx);
        let Poll::Ready(Ok(response)) = &mut polled else {
            return polled.map_ok(|_| unreachable!("the pattern has it"));
        };
        let is_whole = *this.is_last && response.is_bare();
        let Some(wire) = port.unwatched_wire().filter(|_| is_whole) else {
            return Poll::Ready(respond::<C, B>(response, transcode, port));
        };
        let sent = {
            let mut apart = Apart::default();
            let mut target = wire.reply_target(&mut apart)?;
            let encoded = format::encode::<C, B, _>(response.get_ref(), transcode, &mut target);
            // Before anything is sent: its destructor is the handler's code, and may panic.
            empty(&mut polled);
            target.finish(encoded)
        };
        Poll::Ready(wire.settle(sent))
    }
}

/// Drops what was polled, where it lies.
#[inline(always)]
fn empty<T>(polled: &mut Poll<T>) {
    *polled = Poll::Pending;
}

/// Writes a unary reply: head, then the one message. A message that cannot be encoded ends the call with the
/// error in trailers, since the head is out by then (wire-rules E3).
#[inline(never)]
fn respond<C: Codec<B>, B: 'static>(
    response: &mut Response<B>,
    transcode: Option<&dyn Transcode>,
    port: &mut PortPlace,
) -> CallResult {
    let (metadata, trailers) = response.take_metadata();
    port.send_head(metadata, response.compression())?;
    port.send_message::<C, B>(response.get_ref(), transcode)?;
    Ok(trailers)
}

/// How the reply is rewritten: a call has one format.
fn response_format(call: &IncomingCall<'_>) -> Option<Arc<dyn Transcode>> {
    call.format.map(|format| Arc::clone(&format.response))
}

#[inline(always)]
fn decode_request<C: Codec<A>, A: 'static>(
    call: &mut IncomingCall<'_>,
    over: Cancellation,
) -> Result<Request<A>, Status> {
    let transcode = call.format.map(|format| &*format.request);
    let body = std::mem::replace(&mut call.body, Payload::Borrowed(&[]));
    let (len, compressed) = (body.len(), body.was_compressed());
    let message = format::decode::<C, A>(body, transcode, call.limits)?;
    let mut request = request(message, call, over);
    if compressed {
        request.set_compressed(true);
    }
    if call.extra.is_some() {
        admit(&mut request, len, call)?;
    }
    Ok(request)
}

/// Gives a request what interceptors leave for its handler.
#[cold]
fn admit<A: 'static>(
    request: &mut Request<A>,
    len: usize,
    call: &mut IncomingCall<'_>,
) -> Result<(), Status> {
    let Some(mut extra) = call.extra.take() else { return Ok(()) };
    *request.extensions_mut() = extra.extensions;
    extra.request_hooks.run(&Message::decoded(request.get_ref(), len))
}

fn streaming_request<C: Codec<A>, A: 'static>(
    call: &mut IncomingCall<'_>,
    over: Cancellation,
) -> Result<Request<Streaming<A>>, Status> {
    let Some(inbox) = call.inbox.take() else {
        return Err(Status::internal("a streaming call came without an inbox"));
    };
    let transcode = call.format.map(|format| Arc::clone(&format.request));
    let messages = Streaming::new::<C>(inbox, *call.limits).transcoded(transcode);
    let mut request = request(messages, call, over);
    if let Some(extra) = call.extra.take() {
        *request.extensions_mut() = extra.extensions;
        request.set_watch(StreamWatch { messages: extra.request_hooks, ..StreamWatch::default() });
    }
    Ok(request)
}

/// What belongs to the call comes with it, since the handler serves them all (wire-rules G4).
#[inline(always)]
fn request<M>(message: M, call: &mut IncomingCall<'_>, over: Cancellation) -> Request<M> {
    let metadata = std::mem::take(&mut call.metadata);
    Request::received(message, metadata, CallContext::new(call.deadline, over), Arc::clone(call.peer))
}
