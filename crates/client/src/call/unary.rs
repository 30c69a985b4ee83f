//! Unary calls.
//!
//! The usual one is started at once on a connection that is there, and answered: nothing of its request is moved or
//! copied before its bytes are on their way, and nothing is allocated. Whatever else there is to a call, a connection to
//! wait for, interceptors, a message worth compressing, an observer of messages, another start, goes the
//! [long way](long_way), which does all of that and could do this too.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Compression, InvalidCompression, Packed, Packer, Packing};
use peregrine_core::message::Encoding;
use peregrine_core::{Codec, Format, MethodDescriptor, MethodFormat, Request, Response, Status};

use super::accompanied::{self, is_accompanied, show_request};
use super::deadline::{deadline, first_timeout};
use super::plan::Plan;
use super::prepared;
use super::reply::{PendingReply, decode};
use super::starts::Earlier;
use crate::call_error::{CallFacts, explained};
use crate::channel::Channel;
use crate::connection::{
    CallDeadline, MessageTarget, NewCall, NewSink, Outgoing, Reply, RequestHead, StartError, WholeRequest,
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

/// A unary call.
struct UnaryCall<'a, C, A, B> {
    channel: &'a Channel,
    method: &'a MethodDescriptor<'a>,
    /// Until the call is over or goes the long way: it may have to be made again.
    request: Option<Request<A>>,
    deadline: Option<CallDeadline>,
    /// Once the call is started.
    pending: Option<PendingReply>,
    long: Option<Long<'a, B>>,
    codec: PhantomData<fn() -> C>,
}

type Long<'a, B> = Pin<Box<dyn Future<Output = Result<Response<B>, Status>> + Send + 'a>>;

/// What is pinned, the long way, is in a box of its own.
impl<C, A, B> Unpin for UnaryCall<'_, C, A, B> {}

impl<'a, C, A, B> UnaryCall<'a, C, A, B>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    #[inline]
    fn new(channel: &'a Channel, method: &'a MethodDescriptor<'a>, request: Request<A>) -> Self {
        let request = Some(request);
        Self { channel, method, request, deadline: None, pending: None, long: None, codec: PhantomData }
    }

    /// Starts the call if that can be done at once. `None` if the long way has to be gone.
    #[inline]
    fn start(&mut self, cx: &mut Context<'_>) -> Option<Result<(), Status>> {
        let Self { channel, method, request: Some(request), .. } = self else { return None };
        if is_accompanied(channel, request) || channel.message_observer().is_some() {
            return None;
        }
        let options = channel.settle(request.own_options(), method.path);
        if !options.is_native {
            return None;
        }
        let packer = match &options.compression {
            Some(compression) => packer(channel, method, request, compression).ok()?,
            None => None,
        };
        self.deadline = deadline(options.timeout, request.deadline());
        let deadline = self.deadline.as_ref();
        if deadline.is_some_and(|deadline| deadline.at <= deadline.started) {
            return None;
        }
        let connection = channel.ready_connection()?;
        let head = RequestHead {
            channel: channel.head(),
            path: method.path,
            timeout: deadline.map(|deadline| first_timeout(deadline, options.timeout)),
            format: Format::Proto,
            encoding: packer.as_ref().map_or(Encoding::Identity, |packer| packer.encoding()),
            metadata: request.metadata(),
        };
        let call =
            NewCall { head: &head, deadline, max_request: options.max_request, attempt: 1, report: None };
        let mut whole = WholeRequest::<C, A>::new(request.get_ref(), options.max_response, packer.as_deref());
        match connection.start_now(cx.waker(), &call, &mut whole)? {
            Ok(id) => {
                self.pending = Some(PendingReply::polled_next_time(connection, id));
                Some(Ok(()))
            }
            Err(StartError::Gone(_)) => None,
            Err(StartError::Failed(status)) => {
                Some(Err(first_start(status, connection.name(), self.deadline)))
            }
        }
    }

    #[cold]
    fn go_long(&mut self, cx: &mut Context<'_>, earlier: Earlier) -> Poll<Result<Response<B>, Status>> {
        let (channel, method) = (self.channel, self.method);
        let Some(request) = self.request.take() else { return Poll::Ready(Err(polled_after_its_end())) };
        self.pending = None;
        let long: Long<'a, B> = if is_accompanied(channel, &request) {
            Box::pin(accompanied::single::<C, B, A, _>(
                channel,
                method,
                request,
                move |request, hooks| async move {
                    show_request::<C, A>(hooks, request.get_ref())?;
                    long_way::<C, A, B>(channel, method, request, Earlier::default()).await
                },
            ))
        } else {
            Box::pin(long_way::<C, A, B>(channel, method, request, earlier))
        };
        self.long.insert(long).as_mut().poll(cx)
    }
}

impl<C, A, B> Future for UnaryCall<'_, C, A, B>
where
    C: Codec<A> + Codec<B>,
    A: Send + 'static,
    B: Send + 'static,
{
    type Output = Result<Response<B>, Status>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(long) = &mut this.long {
            return long.as_mut().poll(cx);
        }
        let Some(pending) = &mut this.pending else {
            return match this.start(cx) {
                Some(Ok(())) => Poll::Pending,
                Some(Err(status)) => Poll::Ready(Err(status)),
                None => {
                    let earlier = Earlier { deadline: this.deadline, ..Earlier::default() };
                    this.go_long(cx, earlier)
                }
            };
        };
        match ready!(Pin::new(&mut *pending).poll(cx)) {
            Reply::Received { head, body, trailers } => {
                let decoded = decode::<C, B>(None, None, body, head, trailers);
                Poll::Ready(
                    decoded.map_err(|status| first_start(status, pending.connection().name(), this.deadline)),
                )
            }
            Reply::Failed(failure) => {
                let mut earlier = Earlier { deadline: this.deadline, ..Earlier::default() };
                if earlier.starts.allow_another(failure.fate) {
                    return this.go_long(cx, earlier);
                }
                Poll::Ready(Err(failure.status))
            }
        }
    }
}

/// A unary call, however much there is to it. `earlier` is what was done for it before.
async fn long_way<C, A, B>(
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
                let decoded =
                    decode::<C, B>(plan.format(), plan.message_observer().as_ref(), body, head, trailers);
                return decoded
                    .map_err(|status| plan.explain(status, Arc::clone(pending.connection().name())));
            }
            Reply::Failed(failure) if plan.starts_again(failure.fate) => {}
            Reply::Failed(failure) => return Err(failure.status),
        }
    }
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

/// How the messages of a call are compressed, if they are.
///
/// # Errors
/// Its own setting cannot be used; the long way reports that.
#[inline(never)]
fn packer<A>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: &Request<A>,
    compression: &Compression,
) -> Result<Option<Arc<Packer>>, InvalidCompression> {
    if let Some(own) = &request.options().compression {
        own.check()?;
    }
    Ok(channel.packers().packer(method.path, compression))
}

/// A status that this side came to, with what is known of the call.
#[cold]
fn first_start(status: Status, peer: &Arc<str>, deadline: Option<CallDeadline>) -> Status {
    let elapsed = deadline.as_ref().map(CallDeadline::elapsed);
    explained(status, CallFacts { peer: Arc::clone(peer), attempt: 1, elapsed })
}

#[cold]
fn polled_after_its_end() -> Status {
    Status::internal("a call was polled after its end")
}
