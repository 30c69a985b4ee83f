//! The server half: every request is read to its end and answered with the same body.

use std::task::Context;
use std::time::Instant;

use peregrine_http2::{Config, Connection, ErrorCode, Event, Role, StreamError, StreamKey};
use peregrine_transport::driver::{Closed, Endpoint};

use crate::fields;

/// Octets of every answer's body: enough for the suites to cut it by windows, too few to be cut by default ones.
pub const BODY_LEN: usize = 1024;

/// Streams a client may have open at once, advertised.
pub const MAX_STREAMS: u32 = 100;

/// Answers every request of a connection with 200 and [`BODY_LEN`] octets once its body has been read to the end
/// (so that whatever is wrong with the body is found first); a HEAD request with the head alone.
#[derive(Debug)]
pub struct Replying {
    connection: Connection,
    /// HEAD requests whose body has not ended yet.
    heads: Vec<StreamKey>,
}

impl Replying {
    /// A connection just accepted. `seed` as in [`Config::hash_seed`].
    pub fn new(seed: u64, now: Instant) -> Self {
        let mut config = Config::server();
        config.max_concurrent_streams = Some(MAX_STREAMS);
        config.hash_seed = seed;
        // How often a client may ask is a rule of gRPC; bare HTTP/2 has none.
        config.ping_policy = None;
        Self { connection: Connection::new(Role::Server, config, now), heads: Vec::new() }
    }

    fn answer(&mut self, stream: StreamKey) {
        let heads = self.heads.len();
        self.heads.retain(|&head| head != stream);
        let bodiless = self.heads.len() < heads;
        if self.try_answer(stream, bodiless).is_err() {
            // Only a peer that accepts next to no header list gets here.
            self.connection.reset(stream, ErrorCode::INTERNAL_ERROR);
        }
    }

    fn try_answer(&mut self, stream: StreamKey, bodiless: bool) -> Result<(), StreamError> {
        let head = [(":status", "200"), ("content-type", "text/plain"), ("content-length", "1024")];
        self.connection.send_headers(stream, fields(&head), bodiless)?;
        if !bodiless {
            let mut body = self.connection.write_data(stream, BODY_LEN)?;
            let (bytes, _links) = body.buffers();
            bytes.resize(bytes.len() + BODY_LEN, b'.');
            body.commit()?;
            self.connection.end_stream(stream)?;
        }
        Ok(())
    }

    /// A header list longer than we accept: a request's is answered without waiting for its end, trailers end the
    /// stream whose answer was still to come.
    fn refuse(&mut self, stream: StreamKey, end_stream: bool) {
        if self.connection.send_headers(stream, fields(&[(":status", "431")]), true).is_err() {
            self.connection.reset(stream, ErrorCode::INTERNAL_ERROR);
        } else if !end_stream {
            self.connection.reset_when_sent(stream, ErrorCode::NO_ERROR);
        }
    }
}

impl Endpoint for Replying {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn handle_event(&mut self, event: Event<'_>, _now: Instant) {
        match event {
            Event::Headers { stream, head, end_stream } => {
                if head.method() == Some(b"HEAD") {
                    self.heads.push(stream);
                }
                if end_stream {
                    self.answer(stream);
                }
            }
            Event::Data { stream, data, end_stream } => {
                self.connection.release(stream, data.len());
                if end_stream {
                    self.answer(stream);
                }
            }
            Event::Trailers { stream, .. } => self.answer(stream),
            Event::HeadersTooLarge { stream, end_stream, .. } => self.refuse(stream, end_stream),
            Event::Reset { stream, .. } => self.heads.retain(|&head| head != stream),
            // Answers are small and queue in the engine; whoever goes away still gets those it asked for.
            _ => {}
        }
    }

    fn poll_work(&mut self, _cx: &mut Context<'_>, _now: Instant) -> bool {
        false
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn is_finished(&self) -> bool {
        self.connection.is_drained()
    }

    fn on_closed(&mut self, _closed: &Closed) {}
}
