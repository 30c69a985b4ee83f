//! The end of a connection: GOAWAY in both directions, graceful shutdown, failure (RFC 9113, 6.8 and 5.4.1).

use std::time::Instant;

use super::ids::ResetBy;
use super::{Connection, Event, Phase, Role, Timer};
use crate::error::{Blame, ConnectionError};
use crate::frame::{GoAway, Ping};
use crate::{ErrorCode, StreamId};

/// How far our own shutdown is.
///
/// ```text
///   Serving --graceful_shutdown()--> Announced --PING acknowledged, or drain_ping_timeout--> Final
///      |          (server: GOAWAY 2^31-1, PING)              (GOAWAY with the real last stream)  ^
///      +-----------------graceful_shutdown() (client, or before the handshake)------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shutdown {
    /// No GOAWAY sent.
    Serving,
    /// The client knows that it should go; streams it opened before it knew are still served.
    Announced,
    /// No further streams.
    Final,
}

impl Connection {
    /// Takes no new streams and lets the present ones finish (RFC 9113, 6.8).
    ///
    /// A server announces it with a GOAWAY that refuses nothing yet and a PING; when the PING comes back,
    /// every stream the client opened before it knew has arrived, and a second GOAWAY names the last one
    /// (wire-rules 76, 77). A client just tells the server.
    // [9113-5.4.1-2] [9113-6.8-4]
    pub fn graceful_shutdown(&mut self, now: Instant) {
        if self.shutdown != Shutdown::Serving || self.phase == Phase::Over {
            return;
        }
        let end = self.config.drain_timeout.and_then(|timeout| now.checked_add(timeout));
        self.timers.set(Timer::DrainEnd, end);
        if self.role == Role::Client || self.phase != Phase::Ready {
            self.finish_graceful_shutdown();
            return;
        }
        self.shutdown = Shutdown::Announced;
        self.write_goaway(StreamId::MAX, ErrorCode::NO_ERROR, b"");
        Ping { ack: false, payload: DRAIN_PING }.encode(self.output.frames());
        self.drain_ping_out = true;
        self.timers.set(Timer::DrainPing, now.checked_add(self.config.drain_ping_timeout));
    }

    /// Names the last stream that will be served.
    pub(super) fn finish_graceful_shutdown(&mut self) {
        self.shutdown = Shutdown::Final;
        self.timers.set(Timer::DrainPing, None);
        // [9113-6.8-3] [9113-8.7-1]
        self.write_goaway(self.ids.accepted(), ErrorCode::NO_ERROR, b"");
    }

    /// Takes the acknowledgement of the PING of [`graceful_shutdown`](Self::graceful_shutdown), if it is
    /// that. One that comes after the wait for it was given up is ours all the same.
    pub(super) fn on_drain_pong(&mut self, payload: [u8; 8]) -> bool {
        let ours = payload == DRAIN_PING && std::mem::take(&mut self.drain_ping_out);
        if ours && self.shutdown == Shutdown::Announced {
            self.finish_graceful_shutdown();
        }
        ours
    }

    /// Sends GOAWAY now, with up to 1 KiB of `debug`; the connection is over and its streams are gone.
    // [9113-5.4.1-2]
    pub fn abort(&mut self, code: ErrorCode, debug: &str) {
        if self.phase != Phase::Over {
            let debug = debug.as_bytes();
            let debug = debug.get(..MAX_DEBUG).unwrap_or(debug);
            self.write_goaway(self.ids.accepted(), code, debug);
            self.end();
        }
    }

    /// Ends the connection for `error`, which is handed back.
    // [9113-5.4.1-1]
    pub(super) fn fail(&mut self, error: ConnectionError) -> ConnectionError {
        if self.phase != Phase::Over {
            if error.blame() == Blame::Limit {
                self.counters.add(error.reason());
            }
            // A peer that speaks another protocol could only be confused by GOAWAY.
            if error.blame() != Blame::NotHttp2 {
                self.write_goaway(self.ids.accepted(), error.code(), error.reason().as_bytes());
            }
            self.end();
        }
        error
    }

    pub(super) fn handle_goaway<'a>(
        &mut self,
        frame: GoAway<'a>,
        now: Instant,
    ) -> Result<Event<'a>, ConnectionError> {
        let GoAway { last_stream, code, debug } = frame;
        // A client's GOAWAY speaks of pushed streams, of which there are none.
        if self.role == Role::Client {
            // wire-rules 76
            if last_stream.is_server_initiated() {
                return Err(ConnectionError::peer(
                    ErrorCode::PROTOCOL_ERROR,
                    "GOAWAY names a stream of its sender",
                ));
            }
            // [9113-6.8-3]
            if self.peer_last_stream.is_some_and(|earlier| last_stream > earlier) {
                return Err(ConnectionError::peer(
                    ErrorCode::PROTOCOL_ERROR,
                    "GOAWAY raises the last stream",
                ));
            }
            self.refuse_above(last_stream);
        } else if self.peer_last_stream.is_none() {
            self.leave_when_idle(now);
        }
        self.peer_last_stream = Some(last_stream);
        Ok(Event::GoAway { last_stream, code, debug })
    }

    /// Client: the peer will not process the streams above `last` (6.8); the calls may be made again.
    // wire-rules 75
    fn refuse_above(&mut self, last: StreamId) {
        let mut refused: Vec<_> =
            self.streams.iter_mut().map(|(key, _)| key).filter(|key| key.id() > last).collect();
        refused.sort_unstable_by_key(|key| key.id());
        for stream in refused {
            self.streams.remove(stream);
            // The peer may have sent frames for it before it decided.
            self.ids.on_reset(stream.id(), ResetBy::Us);
            self.events.push_back(Event::Refused { stream });
        }
    }

    /// Whether no new streams are possible: either side has sent GOAWAY, the connection is over, or ids are
    /// used up.
    pub fn is_going_away(&self) -> bool {
        self.shutdown != Shutdown::Serving
            || self.peer_last_stream.is_some()
            || self.phase == Phase::Over
            || self.ids.next().is_none()
    }

    /// Whether this side has sent GOAWAY: asked to, or because of age, idleness or a fault.
    pub fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::Serving
    }

    /// Whether the connection is going away for good and no stream is left: write the output and close.
    pub fn is_drained(&self) -> bool {
        self.is_going_away() && self.shutdown != Shutdown::Announced && self.streams.is_empty()
    }

    fn write_goaway(&mut self, last_stream: StreamId, code: ErrorCode, debug: &[u8]) {
        GoAway { last_stream, code, debug }.encode(self.output.frames());
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
        self.shutdown = Shutdown::Final;
        self.streams.clear();
        self.schedule.clear();
        self.events.clear();
        self.writable_later.clear();
        self.partial = None;
        self.timers.clear();
    }
}

/// Payload of the PING between the two GOAWAY of a graceful shutdown.
const DRAIN_PING: [u8; 8] = *b"draining";

/// Longest debug data sent, in octets.
const MAX_DEBUG: usize = 1024;
