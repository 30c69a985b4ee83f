//! A server-streaming call that is made again because the peer certainly did not process it (wire-rules 67, 75).
//!
//! Its caller holds a [`Streaming`](peregrine_core::Streaming) already, so a later start runs on a task of its own
//! and continues the same response stream.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use peregrine_core::call::{InboxOwner, SharedInbox};
use peregrine_core::{Codec, Status};
use tokio::runtime::Handle;

use super::plan::{LaterStart, Plan};
use super::response_stream::ResponseStream;
use super::server_streaming::OneRequest;
use crate::connection::{Fate, Replay};

/// What another start needs, less the message.
pub(super) struct ServerStreamingReplay<C, A> {
    later: LaterStart,
    response: ResponseStream,
    message: PhantomData<fn(A) -> C>,
}

impl<C: Codec<A>, A: Send + 'static> ServerStreamingReplay<C, A> {
    pub(super) fn new(plan: &Plan<'_>, response: ResponseStream) -> Self {
        Self { later: plan.for_later(), response, message: PhantomData }
    }

    pub(super) fn with_message(self, message: A) -> Box<dyn Replay> {
        Box::new(Ready { call: self, message })
    }
}

/// A replay with its message.
struct Ready<C, A> {
    call: ServerStreamingReplay<C, A>,
    message: A,
}

impl<C: Codec<A>, A: Send + 'static> Ready<C, A> {
    async fn start(self, mut unfinished: Unfinished) {
        let Self { call, message } = self;
        let response = call.response;
        let mut plan = call.later.plan();
        let mut outgoing = OneRequest::<C, A>::new(&plan, message, response.clone());
        if response.inbox.is_abandoned() {
            return;
        }
        match plan.start(&mut outgoing).await {
            Ok(started) => {
                unfinished.is_started = true;
                response.call.place(started);
                if response.inbox.is_abandoned() {
                    response.call.dropped(0);
                }
            }
            Err(status) => unfinished.status = status,
        }
    }
}

impl<C: Codec<A>, A: Send + 'static> Replay for Ready<C, A> {
    fn again(mut self: Box<Self>, refusal: Status, fate: Fate) {
        let inbox = Arc::clone(&self.call.response.inbox);
        let unfinished = Unfinished { inbox, status: refusal, is_started: false };
        if self.call.later.starts.allow_another(fate)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(self.start(unfinished));
        }
    }
}

impl<C, A> fmt::Debug for Ready<C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("path", &self.call.later.path()).finish_non_exhaustive()
    }
}

/// Ends the response stream if another start does not come about, be it that the runtime ends first.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) inbox: Arc<SharedInbox>,
    pub(super) status: Status,
    pub(super) is_started: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_started {
            self.inbox.finish(Some(self.status.clone()));
        }
    }
}
