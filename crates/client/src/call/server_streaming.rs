//! Server-streaming calls.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Packed, Packing};
use peregrine_core::{Codec, MethodDescriptor, MethodFormat, Request, Status, Streaming};

use super::accompanied::{self, Way, is_accompanied, show_request};
use super::plan::Plan;
use super::prepared;
use super::replay::ServerStreamingReplay;
use super::response_stream::ResponseStream;
use super::starts::Earlier;
use crate::channel::Channel;
use crate::connection::{MessageTarget, NewSink, Outgoing};

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
        Way::long(accompanied::streaming::<C, B, A, _>(
            channel,
            method,
            request,
            move |request, hooks| async move {
                show_request::<C, A>(hooks, request.get_ref())?;
                start::<C, A, B>(channel, method, request).await
            },
        ))
    } else {
        Way::Short { call: start::<C, A, B>(channel, method, request) }
    }
}

/// The call itself.
async fn start<C, A, B>(
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
    Ok(response.reader::<C, B>(&plan))
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
