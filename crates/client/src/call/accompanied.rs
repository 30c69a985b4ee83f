//! Calls that are not alone: with interceptors, credentials, or made on behalf of another call.
//!
//! A call of any shape is wrapped in what is here if somebody is to be asked before it or told after it. What is asked,
//! in order: the channel's interceptors, the channel's credentials, the call's own. Its time runs meanwhile.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use peregrine_core::call::{CredentialSet, InboxConfig, SharedInbox, StreamWatch};
use peregrine_core::codec::Payload;
use peregrine_core::deadline::deadline_after;
use peregrine_core::intercept::{Intercepted, InterceptedCall, MessageHooks};
use peregrine_core::message::{Encoding, PREFIX_LEN, write_prefix};
use peregrine_core::{
    Audience, Cancellation, Codec, DecodeLimits, Message, MethodDescriptor, Request, Response, Status,
    Streaming,
};
use pin_project_lite::pin_project;
use tokio::time::Instant;

use super::pump::RequestWatch;
use crate::call_error::hinted;
use crate::channel::Channel;

/// Whether a call has to come this way.
#[inline]
pub(super) fn is_accompanied<T>(channel: &Channel, request: &Request<T>) -> bool {
    request.is_accompanied() || channel.is_accompanied()
}

pin_project! {
    /// A call by itself, or in company. The latter is boxed, so that the usual call's future does not have to hold it.
    #[project = WayProjection]
    pub(super) enum Way<Short, Long> {
        Short { #[pin] call: Short },
        Long { call: Pin<Box<Long>> },
    }
}

impl<Short, Long> Way<Short, Long> {
    pub(super) fn long(call: Long) -> Self {
        Self::Long { call: Box::pin(call) }
    }
}

impl<Short: Future, Long: Future<Output = Short::Output>> Future for Way<Short, Long> {
    type Output = Short::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Short::Output> {
        match self.project() {
            WayProjection::Short { call } => call.poll(cx),
            WayProjection::Long { call } => call.as_mut().poll(cx),
        }
    }
}

/// A call with one response. `call` makes it, and shows its requests to the hooks.
pub(super) async fn single<C, B, T, F>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    mut request: Request<T>,
    call: impl FnOnce(Request<T>, MessageHooks) -> F,
) -> Result<Response<B>, Status>
where
    C: Codec<B>,
    B: 'static,
    F: Future<Output = Result<Response<B>, Status>>,
{
    let on_behalf_of = request.context().cancellation().clone();
    let whole = async {
        let mut begun = begin(channel, method, &mut request).await?;
        let result = match begun.answer.take() {
            Some(answer) => answered::<C, B>(answer),
            None => call(request, std::mem::take(&mut begun.request_hooks)).await,
        };
        end::<C, B>(begun, result)
    };
    on_behalf_of.bound(whole).await
}

/// As [`single`], with a stream of responses.
pub(super) async fn streaming<C, B, T, F>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    mut request: Request<T>,
    call: impl FnOnce(Request<T>, MessageHooks) -> F,
) -> Result<Streaming<B>, Status>
where
    C: Codec<B>,
    B: 'static,
    F: Future<Output = Result<Streaming<B>, Status>>,
{
    let on_behalf_of = request.context().cancellation().clone();
    let whole = async {
        let mut begun = begin(channel, method, &mut request).await?;
        let result = match begun.answer.take() {
            Some(answer) => Ok(answered_stream::<C, B>(answer)),
            None => call(request, std::mem::take(&mut begun.request_hooks)).await,
        };
        Ok((begun, result))
    };
    let (begun, result) = on_behalf_of.bound(whole).await?;
    watched(begun, result, &on_behalf_of)
}

/// Asks whoever is to be asked.
async fn begin<T>(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    request: &mut Request<T>,
) -> Result<Intercepted, Status> {
    let own = request.extensions_mut().remove::<CredentialSet>().unwrap_or_default();
    let timeout = request.options().timeout.or(channel.defaults(method.path).timeout);
    let asked = request.options().timeout;
    let begun = Instant::now();
    let mut call = InterceptedCall::on_client(*method, request, channel.is_secure());
    let asking = ask(channel, method, &mut call, &own);
    let outcome = match timeout.and_then(|timeout| begun.checked_add(timeout)) {
        Some(at) => match tokio::time::timeout_at(at, asking).await {
            Ok(outcome) => outcome,
            Err(_) => Err(out_of_time(timeout.unwrap_or_default())),
        },
        None => asking.await,
    };
    let mut call = call.into_parts();
    if let Err(status) = outcome {
        return match call.end_hooks.run(Err(status)) {
            Err(status) => Err(status),
            Ok(_) => Err(not_undone()),
        };
    }
    // A timeout counts from when the call was made, unless an interceptor has set another one.
    if call.options.timeout == asked
        && let Some(at) = timeout.and_then(|timeout| deadline_after(begun.into_std(), timeout))
    {
        request.set_deadline(Some(request.deadline().map_or(at, |deadline| deadline.min(at))));
    }
    call.restore(request);
    Ok(call)
}

/// Interceptors first, so that they do not see what credentials add.
async fn ask(
    channel: &Channel,
    method: &MethodDescriptor<'_>,
    call: &mut InterceptedCall<'_>,
    own: &CredentialSet,
) -> Result<(), Status> {
    channel.interceptors().run(call).await?;
    let shared = channel.credentials();
    if call.is_answered() || shared.is_empty() && own.is_empty() {
        return Ok(());
    }
    if !channel.is_secure() {
        // wire-rules 94
        return Err(hinted(
            Status::unauthenticated(
                "the call has credentials and the connection is plaintext, where anybody could read them; nothing \
                 was sent",
            ),
            "connect with https://, or make the call without credentials",
        ));
    }
    let audience = Audience::new(channel.authority(), method.service, method.name);
    shared.apply(&audience, call.metadata_mut()).await?;
    own.apply(&audience, call.metadata_mut()).await
}

#[cold]
fn out_of_time(timeout: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the call's time of {timeout:?} ran out while its interceptors and credentials were waited for"
    ))
}

/// An end hook can fail a call, not make a failed one succeed.
#[cold]
fn not_undone() -> Status {
    Status::internal("a failed call was said to have succeeded")
}

/// Shows the only request to the hooks.
///
/// # Errors
/// Theirs.
pub(super) fn show_request<C: Codec<A>, A: 'static>(
    mut hooks: MessageHooks,
    message: &A,
) -> Result<(), Status> {
    if hooks.is_empty() { Ok(()) } else { hooks.run(&Message::outgoing::<C, A>(message)) }
}

/// The hooks as a pump takes them.
pub(super) fn request_watch<C: Codec<A>, A: 'static>(mut hooks: MessageHooks) -> Option<RequestWatch<A>> {
    if hooks.is_empty() {
        return None;
    }
    Some(Box::new(move |message: &A| hooks.run(&Message::outgoing::<C, A>(message))))
}

/// The end of a call with one response, as the hooks leave it.
fn end<C: Codec<B>, B: 'static>(
    mut call: Intercepted,
    result: Result<Response<B>, Status>,
) -> Result<Response<B>, Status> {
    let result = result.and_then(|response| {
        let shown = if call.response_hooks.is_empty() {
            Ok(())
        } else {
            call.response_hooks.run(&Message::outgoing::<C, B>(response.get_ref()))
        };
        shown.map(|()| response)
    });
    let (response, result) = match result {
        Ok(mut response) => {
            let trailers = std::mem::take(response.trailers_mut());
            (Some(response), Ok(trailers))
        }
        Err(status) => (None, Err(status)),
    };
    let trailers = call.end_hooks.run(result)?;
    let mut response = response.ok_or_else(not_undone)?;
    *response.trailers_mut() = trailers;
    Ok(response)
}

/// A response stream with its hooks, or the end of a call that did not get one.
fn watched<B: 'static>(
    mut call: Intercepted,
    result: Result<Streaming<B>, Status>,
    on_behalf_of: &Cancellation,
) -> Result<Streaming<B>, Status> {
    match result {
        Ok(mut responses) => {
            responses.set_watch(StreamWatch {
                messages: call.response_hooks,
                end: call.end_hooks,
                bound: on_behalf_of.is_set().then(|| on_behalf_of.cancelled()),
            });
            Ok(responses)
        }
        Err(status) => match call.end_hooks.run(Err(status)) {
            Err(status) => Err(status),
            Ok(_) => Err(not_undone()),
        },
    }
}

/// An interceptor's answer as the response of a call.
fn answered<C: Codec<B>, B>(answer: Response<Bytes>) -> Result<Response<B>, Status> {
    let (message, metadata, trailers, _extensions) = answer.into_parts();
    let mut response = Response::new(C::decode(Payload::Shared(message), &DecodeLimits::default())?);
    *response.metadata_mut() = metadata;
    *response.trailers_mut() = trailers;
    Ok(response)
}

/// An interceptor's answer as a stream of one message.
fn answered_stream<C: Codec<B>, B>(answer: Response<Bytes>) -> Streaming<B> {
    let (message, metadata, trailers, _extensions) = answer.into_parts();
    // Nobody gives it more, so nobody wants to hear of credit.
    let config =
        InboxConfig { encoding: Encoding::Identity, max_message: usize::MAX, credit_step: usize::MAX };
    let inbox = SharedInbox::detached(config);
    inbox.set_headers(metadata);
    let mut prefixed = Vec::with_capacity(PREFIX_LEN + message.len());
    write_prefix(&mut prefixed, message.len() as u32);
    prefixed.extend_from_slice(&message);
    let _no_credit = inbox.push(&prefixed);
    inbox.finish_with_trailers(trailers);
    Streaming::new::<C>(inbox, DecodeLimits::default())
}
