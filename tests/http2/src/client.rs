//! The client half: one request, and then nothing but staying.

use std::task::Context;
use std::time::{Duration, Instant};

use peregrine_http2::{Config, Connection, Event, OpenError, Role, StreamKey};
use peregrine_transport::driver::{Closed, Endpoint};

use crate::fields;

/// How long the client stays if the peer does not close. Suites wait one second for a reaction and give a client
/// three: one that leaves early would pass most cases without having noticed anything.
pub const PATIENCE: Duration = Duration::from_millis(2_200);

/// Sends one GET and stays until the peer closes or [`PATIENCE`] has passed. Answers what the protocol asks it to
/// answer, sends no PING of its own, and neither repeats the request nor minds a second answer.
#[derive(Debug)]
pub struct Asking {
    connection: Connection,
    stream: StreamKey,
    answer: Answer,
    leave_at: Instant,
    leaving: bool,
}

/// What became of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status of the final response head.
    pub status: Option<u16>,
    /// The response came to its proper end.
    pub complete: bool,
}

impl Asking {
    /// A connection just opened, with the request for `/` in its output. `seed` as in [`Config::hash_seed`].
    ///
    /// # Errors
    /// Those of [`Connection::open`]; a new connection has no reason for any.
    pub fn new(scheme: &str, authority: &str, seed: u64, now: Instant) -> Result<Self, OpenError> {
        let mut config = Config::client();
        config.hash_seed = seed;
        // Measuring the path takes PINGs.
        config.adaptive_windows = None;
        let mut connection = Connection::new(Role::Client, config, now);
        let head = [(":method", "GET"), (":scheme", scheme), (":authority", authority), (":path", "/")];
        let stream = connection.open(fields(&head), true)?;
        Ok(Self { connection, stream, answer: Answer::default(), leave_at: now + PATIENCE, leaving: false })
    }

    /// What has come so far.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// The stream of the request.
    pub fn stream(&self) -> StreamKey {
        self.stream
    }
}

impl Endpoint for Asking {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn handle_event(&mut self, event: Event<'_>, _now: Instant) {
        match event {
            Event::Headers { head, end_stream, .. } => {
                self.answer = Answer { status: head.status(), complete: end_stream };
            }
            Event::Data { stream, data, end_stream } => {
                self.connection.release(stream, data.len());
                self.answer.complete |= end_stream;
            }
            Event::Trailers { .. } => self.answer.complete = true,
            // What ends the request otherwise leaves the answer incomplete, and the client where it is.
            _ => {}
        }
    }

    fn poll_work(&mut self, _cx: &mut Context<'_>, _now: Instant) -> bool {
        false
    }

    fn next_timeout(&self) -> Option<Instant> {
        (!self.leaving).then_some(self.leave_at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.leaving = true;
        self.connection.graceful_shutdown(now);
    }

    fn is_finished(&self) -> bool {
        self.leaving
    }

    fn on_closed(&mut self, _closed: &Closed) {}
}
