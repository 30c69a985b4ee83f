//! The usual way of a unary call: started at once on a connection that is there, and answered.
//!
//! Whatever else there is to a call, a connection to wait for, interceptors, compression, an observer of messages,
//! another start, goes the [long way](single::start_unary), which does all of that and could do this too. Here nothing
//! of the request is moved or copied before its bytes are on their way, and nothing is allocated.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use peregrine_core::message::Encoding;
use peregrine_core::{Codec, Format, MethodDescriptor, Request, Response, Status};

use super::accompanied::{self, is_accompanied};
use super::plan::{Earlier, deadline, timeout_text};
use super::single::{self, PendingReply, decode};
use crate::call_error::{CallFacts, explained};
use crate::channel::Channel;
use crate::connection::{CallDeadline, NewCall, Reply, RequestHead, StartError, WholeRequest};

/// A unary call.
pub(super) struct UnaryCall<'a, C, A, B> {
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
    pub(super) fn new(channel: &'a Channel, method: &'a MethodDescriptor<'a>, request: Request<A>) -> Self {
        let request = Some(request);
        Self { channel, method, request, deadline: None, pending: None, long: None, codec: PhantomData }
    }

    /// Starts the call if that can be done at once. `None` if the long way has to be gone.
    #[inline]
    fn start(&mut self, cx: &mut Context<'_>) -> Option<Result<(), Status>> {
        let Self { channel, method, request: Some(request), .. } = self else { return None };
        if is_accompanied(channel, request) {
            return None;
        }
        let (options, defaults) = (request.options(), channel.defaults(method.path));
        let format = options.format.or(defaults.format).unwrap_or_default();
        if format != Format::Proto
            || options.compression.or(defaults.compression).is_some()
            || channel.message_observer().is_some()
        {
            return None;
        }
        let timeout = options.timeout.or(defaults.timeout);
        self.deadline = deadline(timeout, request.deadline());
        if self.deadline.is_some_and(|deadline| deadline.at <= deadline.started) {
            return None;
        }
        let connection = channel.ready_connection()?;
        let head = RequestHead {
            scheme: channel.scheme(),
            path: method.path,
            authority: channel.authority(),
            user_agent: channel.user_agent(),
            accept_encoding: channel.accept_encoding(),
            timeout: self.deadline.as_ref().map(|deadline| timeout_text(deadline, timeout)),
            format,
            encoding: Encoding::Identity,
            metadata: request.metadata(),
        };
        let call = NewCall {
            head: &head,
            deadline: self.deadline,
            max_request: options.max_request_size.or(defaults.max_request_size).unwrap_or(usize::MAX),
            attempt: 1,
            report: None,
        };
        let max_response = options.max_response_size.or(defaults.max_response_size).unwrap_or(usize::MAX);
        let mut whole = WholeRequest::<C, A>::new(request.get_ref(), max_response);
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
            Box::pin(accompanied::unary::<C, A, B>(channel, method, request))
        } else {
            Box::pin(single::start_unary::<C, A, B>(channel, method, request, earlier))
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
