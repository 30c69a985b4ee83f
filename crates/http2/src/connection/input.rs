//! Frames that arrive: the preface, the order of frames, one `handle_*` for each type, and what becomes of
//! faults.
//!
//! Header blocks are in `headers`, SETTINGS in `settings`, GOAWAY in `goaway`, DATA in `data_read`.

use std::sync::Arc;
use std::time::Instant;

use super::ids::{Absent, ResetBy};
use super::keepalive::KEEPALIVE_PING;
use super::ping_policy::Verdict;
use super::{Connection, Event, Initiator, Phase, Progress, Role};
use crate::error::{Blame, ConnectionError};
use crate::frame::{
    Continuation, Data, ErrorScope, FRAME_HEADER_LEN, FrameError, FrameHeader, FrameType, GoAway, Headers,
    Ping, Priority, RstStream, Settings, WindowUpdate,
};
use crate::limits::calm;
use crate::stream::SendHalf;
use crate::{ErrorCode, Head, StreamId, StreamKey};

/// A broken rule, by how far it reaches (RFC 9113, 5.4).
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// The connection ends.
    Connection(ConnectionError),
    /// One stream ends.
    Stream { id: StreamId, code: ErrorCode, reason: &'static str },
}

impl Fault {
    pub(super) const fn stream(id: StreamId, code: ErrorCode, reason: &'static str) -> Self {
        Fault::Stream { id, code, reason }
    }
}

impl From<ConnectionError> for Fault {
    fn from(error: ConnectionError) -> Self {
        Fault::Connection(error)
    }
}

impl Connection {
    /// Parses at most one complete frame from the front of `input`. Call again with the rest until it
    /// consumes 0.
    ///
    /// # Errors
    /// The connection is over; its GOAWAY is queued. Write the output, read (and give up here) what the peer
    /// still sends so that it gets to see the GOAWAY, close.
    pub fn handle_input<'a>(
        &mut self,
        input: &'a [u8],
        now: Instant,
    ) -> Result<Progress<'a>, ConnectionError> {
        self.received_at = now;
        if self.asleep {
            self.wake();
        }
        match self.phase {
            Phase::Ready => {}
            // [9113-5.4-1]
            Phase::Over => return Ok(Progress { consumed: input.len(), event: None }),
            Phase::AwaitPreface => return self.handle_preface(input),
            Phase::AwaitSettings => self.check_first_frame(input).map_err(|error| self.fail(error))?,
        }
        let Some(header) = FrameHeader::parse(input) else {
            return Ok(Progress { consumed: 0, event: None });
        };
        // RFC 9113, 4.2, before anything is waited for
        if let Err(FrameError { code, reason, .. }) = header.check_len(self.config.max_frame_size) {
            return Err(self.fail(ConnectionError::peer(code, reason)));
        }
        let consumed = header.frame_len();
        let Some(payload) = input.get(FRAME_HEADER_LEN..consumed) else {
            return Ok(Progress { consumed: 0, event: None });
        };
        match self.handle_frame(header, payload, now) {
            Ok(Some(Event::Headers { stream, head, end_stream: false })) if self.config.whole_requests => {
                Ok(self.with_body(stream, head, input, consumed))
            }
            Ok(event) => Ok(Progress { consumed, event }),
            Err(fault) => match self.on_fault(fault, now) {
                Ok(event) => Ok(Progress { consumed, event }),
                Err(error) => Err(self.fail(error)),
            },
        }
    }

    /// A request's head that ends at `input[consumed]`, with its data if that is all there.
    #[inline(always)]
    fn with_body<'a>(
        &mut self,
        stream: StreamKey,
        head: Arc<Head>,
        input: &'a [u8],
        consumed: usize,
    ) -> Progress<'a> {
        match input.get(consumed..).and_then(|rest| self.take_body(stream, rest)) {
            Some((data, more)) => Progress {
                consumed: consumed.saturating_add(more),
                event: Some(Event::Request { stream, head, data }),
            },
            None => Progress { consumed, event: Some(Event::Headers { stream, head, end_stream: false }) },
        }
    }

    /// The 24 octets a client begins with (3.4).
    // [9113-3.4-4]
    fn handle_preface<'a>(&mut self, input: &'a [u8]) -> Result<Progress<'a>, ConnectionError> {
        let known = input.len().min(PREFACE.len());
        if input.get(..known) != PREFACE.get(..known) {
            return Err(self.fail(mistaken(input)));
        }
        if known < PREFACE.len() {
            return Ok(Progress { consumed: 0, event: None });
        }
        self.phase = Phase::AwaitSettings;
        Ok(Progress { consumed: PREFACE.len(), event: None })
    }

    /// The first frame of a peer is SETTINGS (3.4); told apart as soon as the type is there, so that a server
    /// of another protocol is not waited for.
    // wire-rules 86
    // [9113-3.4-2] [9113-3.4-4]
    fn check_first_frame(&self, input: &[u8]) -> Result<(), ConnectionError> {
        match input {
            [_, _, _, kind, ..] if FrameType::from_wire(*kind) == FrameType::Settings => Ok(()),
            [_, _, _, _, ..] if self.role == Role::Client => Err(mistaken(input)),
            [_, _, _, _, ..] => {
                Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "first frame is not SETTINGS"))
            }
            _ => Ok(()),
        }
    }

    fn handle_frame<'a>(
        &mut self,
        header: FrameHeader,
        payload: &'a [u8],
        now: Instant,
    ) -> Result<Option<Event<'a>>, Fault> {
        if let Some(stream) = self.awaits_continuation()
            && (header.kind != FrameType::Continuation || header.stream != stream)
        {
            // 6.10
            // [9113-5.5-2] [9113-6.2-3] [9113-6.10-1]
            let reason = "another frame inside a header block";
            return Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, reason).into());
        }
        let fault = |error: FrameError| match error.scope {
            ErrorScope::Connection => Fault::Connection(ConnectionError::peer(error.code, error.reason)),
            ErrorScope::Stream => Fault::stream(header.stream, error.code, error.reason),
        };
        match header.kind {
            FrameType::Data => self.handle_data(Data::parse(header, payload).map_err(fault)?, now),
            FrameType::Headers => self.handle_headers(Headers::parse(header, payload).map_err(fault)?, now),
            FrameType::WindowUpdate => {
                self.handle_window_update(WindowUpdate::parse(header, payload).map_err(fault)?, now)
            }
            FrameType::RstStream => self.handle_reset(RstStream::parse(header, payload).map_err(fault)?, now),
            FrameType::Settings => {
                Ok(self.handle_settings(Settings::parse(header, payload).map_err(fault)?, now)?)
            }
            FrameType::Ping => self.handle_ping(Ping::parse(header, payload).map_err(fault)?, now),
            FrameType::GoAway => {
                self.limits.on_housekeeping(now)?;
                Ok(Some(self.handle_goaway(GoAway::parse(header, payload).map_err(fault)?, now)?))
            }
            FrameType::Continuation => {
                self.handle_continuation(Continuation::parse(header, payload).map_err(fault)?, now)
            }
            FrameType::Priority => {
                self.handle_priority(Priority::parse(header, payload).map_err(fault)?, now)
            }
            // [9113-6.5.2-1] [9113-8.4-1] [9113-6.6-1]
            FrameType::PushPromise => {
                // 8.4: a client cannot push, and we have told every server not to.
                Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "PUSH_PROMISE is not allowed").into())
            }
            // [9113-4.1-2] [9113-5.5-1]
            FrameType::Unknown(_) => {
                self.limits.on_housekeeping(now)?;
                Ok(None)
            }
        }
    }

    fn handle_window_update(
        &mut self,
        frame: WindowUpdate,
        now: Instant,
    ) -> Result<Option<Event<'static>>, Fault> {
        let WindowUpdate { stream: id, increment } = frame;
        if increment < TINY_INCREMENT {
            self.limits.on_housekeeping(now)?;
        }
        if id.is_connection() {
            // [9113-6.9.1-2]
            self.send_window.credit(increment).map_err(|_| {
                ConnectionError::peer(ErrorCode::FLOW_CONTROL_ERROR, "the connection's window overflows")
            })?;
            return Ok(None);
        }
        // [9113-6.9-2]
        let Some(key) = self.streams.find(id) else { return self.ignore_unless_idle(id, "WINDOW_UPDATE") };
        if let Some(stream) = self.streams.get_mut(key) {
            // [9113-6.9.1-2]
            stream.send_window.credit(increment).map_err(|_| {
                Fault::stream(id, ErrorCode::FLOW_CONTROL_ERROR, "the stream's window overflows")
            })?;
            self.schedule.push_if_ready(key, stream);
        }
        Ok(None)
    }

    // [9113-5.4.2-1] [9113-6.4-1]
    fn handle_reset(&mut self, frame: RstStream, now: Instant) -> Result<Option<Event<'static>>, Fault> {
        let RstStream { stream: id, code } = frame;
        let Some(stream) = self.streams.find(id) else {
            self.limits.on_housekeeping(now)?;
            return self.ignore_unless_idle(id, "RST_STREAM");
        };
        let unfinished = self.streams.get(stream).is_some_and(|stream| stream.send != SendHalf::Ended);
        self.streams.remove(stream);
        self.ids.on_reset(id, ResetBy::Peer);
        // A reset after our side has ended costs no work.
        if self.role == Role::Server && unfinished {
            self.limits.on_reset_received(now)?;
        }
        Ok(Some(Event::Reset { stream, code, initiator: Initiator::Remote }))
    }

    // [9113-6.7-2] [9113-6.7-3]
    fn handle_ping(&mut self, frame: Ping, now: Instant) -> Result<Option<Event<'static>>, Fault> {
        let Ping { ack, payload } = frame;
        if ack {
            if self.on_own_pong(payload, now) {
                return Ok(None);
            }
            // Answers to nothing cost the peer as much as questions (wire-rules 87).
            self.limits.on_housekeeping(now)?;
            let is_late = payload == KEEPALIVE_PING && self.pulse.is_some();
            return Ok((!is_late).then_some(Event::Pong { payload }));
        }
        self.limits.on_housekeeping(now)?;
        self.police_ping(now)?;
        // wire-rules 78: at once, in front of whatever is still queued on streams
        Ping { ack: true, payload }.encode(self.output.frames());
        self.on_reply_queued()?;
        Ok(None)
    }

    /// Takes the acknowledgement of a PING that the connection sent for itself and waits for, if it is that.
    fn on_own_pong(&mut self, payload: [u8; 8], now: Instant) -> bool {
        if payload == KEEPALIVE_PING
            && let Some(pulse) = &mut self.pulse
        {
            return pulse.on_pong();
        }
        self.on_probe_pong(payload, now) || self.on_drain_pong(payload)
    }

    /// Counts a PING against the policy.
    // wire-rules 79
    fn police_ping(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let Some(policy) = &self.config.ping_policy else { return Ok(()) };
        match self.pings.on_ping(policy, !self.streams.is_empty(), now) {
            Verdict::Allowed => Ok(()),
            Verdict::Strike => {
                self.counters.add("ping_strikes");
                Ok(())
            }
            // The name is what clients know this by (gRFC A8).
            Verdict::TooMany => Err(calm("too_many_pings")),
        }
    }

    /// Priorities are ignored (5.3.2).
    // [9113-5.3.2-1]
    fn handle_priority(&mut self, frame: Priority, now: Instant) -> Result<Option<Event<'static>>, Fault> {
        self.limits.on_housekeeping(now)?;
        if frame.dependency.parent == frame.stream {
            return Err(Fault::stream(frame.stream, ErrorCode::PROTOCOL_ERROR, "stream depends on itself"));
        }
        Ok(None)
    }

    /// A frame that is no offence on a closed stream (5.1).
    // wire-rules 88
    // [9113-5.1-1] [9113-6.4-3]
    fn ignore_unless_idle(&self, id: StreamId, kind: &'static str) -> Result<Option<Event<'static>>, Fault> {
        if self.ids.absent(id) != Absent::Idle {
            return Ok(None);
        }
        let reason = match kind {
            "RST_STREAM" => "RST_STREAM on an idle stream",
            _ => "WINDOW_UPDATE on an idle stream",
        };
        Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, reason).into())
    }

    /// A frame that only an open stream may get, on one that is not there. Nothing if the peer may not know
    /// yet.
    // wire-rules 88
    pub(super) fn on_stray_frame(&self, id: StreamId, reason: &'static str) -> Result<(), Fault> {
        match self.ids.absent(id) {
            Absent::Idle => {
                Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "DATA on an idle stream").into())
            }
            // The peer may not know yet; or it does and we no longer do (5.1 allows to ignore either).
            // [9113-5.1-5] [9113-5.1-6]
            Absent::Reset(ResetBy::Us) | Absent::Closed => Ok(()),
            // After our GOAWAY, streams above the one it named are ignored (6.8).
            // [9113-6.8-5]
            _ if self.role == Role::Server && id > self.ids.accepted() => Ok(()),
            // [9113-5.1-4]
            Absent::Ended => Err(ConnectionError::peer(ErrorCode::STREAM_CLOSED, reason).into()),
            Absent::Reset(ResetBy::Peer) | Absent::Skipped => {
                Err(Fault::stream(id, ErrorCode::STREAM_CLOSED, reason))
            }
        }
    }

    /// Turns a fault into RST_STREAM and an event, or into the end of the connection.
    fn on_fault(&mut self, fault: Fault, now: Instant) -> Result<Option<Event<'static>>, ConnectionError> {
        let (id, code, reason) = match fault {
            Fault::Connection(error) => return Err(error),
            Fault::Stream { id, code, reason } => (id, code, reason),
        };
        let stream = self.streams.find(id);
        if stream.is_none() {
            match self.ids.absent(id) {
                // RST_STREAM on an idle stream would itself break the protocol (6.4); 5.4.2 allows to go
                // further.
                // [9113-6.4-3]
                Absent::Idle => return Err(ConnectionError::peer(code, reason)),
                // One RST_STREAM is enough.
                // [9113-5.4-1] [9113-5.4.2-2]
                Absent::Reset(ResetBy::Us) | Absent::Closed => return Ok(None),
                Absent::Reset(ResetBy::Peer) | Absent::Ended | Absent::Skipped => {}
            }
        }
        // wire-rules 87: what the peer makes us reset is counted too
        self.counters.add("stream_faults");
        self.limits.on_reset_provoked(now)?;
        self.last_fault = reason;
        self.write_reset(id, code);
        self.on_reply_queued()?;
        Ok(stream.map(|stream| {
            self.streams.remove(stream);
            Event::Reset { stream, code, initiator: Initiator::Engine }
        }))
    }

    /// RST_STREAM, whatever the windows.
    pub(super) fn write_reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.ids.on_reset(stream, ResetBy::Us);
        RstStream { stream, code }.encode(self.output.frames());
    }

    /// Counts a frame that was queued because the peer asked for it.
    pub(super) fn on_reply_queued(&mut self) -> Result<(), ConnectionError> {
        self.limits.on_control_queued(self.output.end_position(), self.output.taken())
    }
}

/// What a client begins with (3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// WINDOW_UPDATE below this many octets is counted: a peer that dribbles credit makes much work for little
/// data.
const TINY_INCREMENT: u32 = 64;

/// Names the protocol that the peer seems to speak, for the message a user will see.
fn mistaken(input: &[u8]) -> ConnectionError {
    let is_method = |method: &[u8]| input.starts_with(method);
    let reason = if input.starts_with(b"HTTP/") {
        "the peer answers in HTTP/1"
    } else if [&b"GET "[..], b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"CONN", b"PATC"]
        .into_iter()
        .any(is_method)
    {
        "the peer asks in HTTP/1"
    } else if matches!(input, [0x14..=0x17, 0x03, 0..=4, ..]) {
        "the peer speaks TLS"
    } else {
        return ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "first octets are not HTTP/2");
    };
    ConnectionError::new(ErrorCode::PROTOCOL_ERROR, reason, Blame::NotHttp2)
}
