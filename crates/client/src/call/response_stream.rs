//! The response stream of a call, through all its starts.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peregrine_core::call::{InboxConfig, InboxOwner, SharedInbox};
use peregrine_core::message::Encoding;
use peregrine_core::{Codec, DecodeLimits, Status, Streaming};

use super::plan::{Plan, Started};
use crate::connection::{CallId, NewSink, Replay, SharedConnection, StreamSink, too_large_hint};

/// The two ends of a response stream: where the connection puts messages, and what the reader reports to.
#[derive(Clone, Debug)]
pub(super) struct ResponseStream {
    pub(super) inbox: Arc<SharedInbox>,
    pub(super) call: Arc<StreamCall>,
}

impl ResponseStream {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
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

    /// The caller's end.
    pub(super) fn reader<C: Codec<B>, B>(self, plan: &Plan<'_>) -> Streaming<B> {
        let transcode = plan.format().map(|format| Arc::clone(&format.response));
        Streaming::new::<C>(self.inbox, DecodeLimits::default()).transcoded(transcode)
    }

    /// The connection's end.
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
    pub(super) fn place_first(&self, started: Started) {
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
