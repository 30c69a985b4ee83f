//! Starting a call on a connection, waiting for a stream if the peer's limit is reached.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::stream_queue::Ticket;
use super::{CallId, NewCall, Outgoing, SharedConnection, StartError, WokenAtEnd};

/// Starts one call on a connection, waiting for a stream if the peer's limit is reached (wire-rules 82).
#[derive(Debug)]
pub(crate) struct Opener {
    connection: Arc<SharedConnection>,
    ticket: Option<Ticket>,
}

impl Opener {
    pub(crate) fn new(connection: Arc<SharedConnection>) -> Self {
        Self { connection, ticket: None }
    }

    pub(crate) fn connection(&self) -> &SharedConnection {
        &self.connection
    }

    /// The connection, once the call is started.
    pub(crate) fn into_connection(self) -> Arc<SharedConnection> {
        Arc::clone(&self.connection)
    }

    /// Opens a stream, writes the head and what `outgoing` writes, and leaves a slot with its sink behind.
    ///
    /// # Errors
    /// See [`StartError`]; nothing was sent, or what was is reset.
    pub(crate) fn poll_start(
        &mut self,
        cx: &mut Context<'_>,
        call: &NewCall<'_>,
        outgoing: &mut impl Outgoing,
    ) -> Poll<Result<CallId, StartError>> {
        let shared = &self.connection;
        let mut driver = WokenAtEnd::default();
        let mut state = shared.lock();
        if !shared.accepts_calls() || state.engine.is_going_away() {
            return Poll::Ready(Err(StartError::Gone(state.missed())));
        }
        if !state.queue.is_turn(self.ticket) || !state.engine.can_open() {
            state.queue.wait(&mut self.ticket, cx.waker());
            return Poll::Pending;
        }
        driver.0 = state.driver.take();
        let started = state.start(call, outgoing, cx.waker());
        let mut next = None;
        if let Some(ticket) = self.ticket.take()
            && state.queue.leave(ticket)
            && started.is_err()
        {
            next = state.queue.call_next();
        }
        drop(state);
        if let Some(next) = next {
            next.wake();
        }
        Poll::Ready(started)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let mut state = self.connection.lock();
        let next = if state.queue.leave(ticket) { state.queue.call_next() } else { None };
        drop(state);
        if let Some(next) = next {
            next.wake();
        }
    }
}
