//! What the driver reports to the calls of a connection: the engine's events, the time, the end of it all.

use std::sync::Arc;
use std::time::Instant;

use peregrine_core::{Error, Status};
use peregrine_http2::{ErrorCode, Event, Head, Initiator, StreamId, StreamKey};

use super::call::Sink;
use super::effects::Effects;
use super::response::{End, Fate, Stage, Step};
use super::response_head::ResponseHead;
use super::state::{State, is_live};
use crate::call_error::hinted;
use crate::error;

/// The peer's last words.
#[derive(Debug)]
pub(super) struct GoAway {
    last_stream: StreamId,
    code: ErrorCode,
    /// Printable, cut.
    debug: String,
}

/// What a server says to a client that sends PING too often (gRFC A8).
const TOO_MANY_PINGS: &[u8] = b"too_many_pings";
/// Octets of GOAWAY debug data shown.
const DEBUG_SHOWN: usize = 200;

impl State {
    pub(super) fn handle_event(&mut self, event: Event<'_>, now: Instant, effects: &mut Effects) {
        match event {
            Event::Headers { stream, head, end_stream } => self.on_head(stream, &head, end_stream, effects),
            Event::Data { stream, data, end_stream } => self.on_data(stream, data, end_stream, effects),
            Event::Trailers { stream, head } => self.on_trailers(stream, &head, effects),
            Event::HeadersTooLarge { stream, size, limit, .. } => {
                let message = format!("the response has a header list of {size} bytes, the limit is {limit}");
                let status = hinted(
                    Status::resource_exhausted(message),
                    "allow more with ChannelBuilder::max_header_list_size",
                );
                let end = End::failed(status, ErrorCode::INTERNAL_ERROR);
                self.end_stream_call(stream, end, effects);
            }
            Event::Reset { stream, code, initiator } => self.on_reset(stream, code, initiator, now, effects),
            Event::Refused { stream } => {
                let words = self.go_away.as_ref().map(GoAway::describe).unwrap_or_default();
                let status = Status::unavailable(format!("the peer did not process the call; {words}"));
                let status = match &self.go_away {
                    Some(go_away) => hinted(status, go_away.hint()),
                    None => status,
                };
                self.end_stream_call(stream, End::unprocessed(status, self.missed()), effects);
            }
            Event::Writable { stream } => {
                if let Some((_, call)) = self.calls.of_stream_mut(stream) {
                    effects.wake(call.pump.take());
                }
            }
            Event::GoAway { last_stream, code, debug } => {
                // Once a connection, however often it is said; a graceful goodbye may have come before.
                let complained = |go_away: &GoAway| go_away.code == ErrorCode::ENHANCE_YOUR_CALM;
                if code == ErrorCode::ENHANCE_YOUR_CALM
                    && debug == TOO_MANY_PINGS
                    && !self.go_away.as_ref().is_some_and(complained)
                {
                    self.keepalive.double();
                }
                let debug = debug[..debug.len().min(DEBUG_SHOWN)].escape_ascii().to_string();
                self.go_away = Some(GoAway { last_stream, code, debug });
            }
            Event::Settings => {
                self.is_ready = true;
                effects.wake_all(self.queue.call_all());
            }
            _ => {}
        }
    }

    #[inline]
    fn on_head(&mut self, stream: StreamKey, head: &Arc<Head>, end_stream: bool, effects: &mut Effects) {
        let facts = ResponseHead::of(head);
        if let Some(accepts) = facts.accepts {
            self.packers.learn(accepts);
        }
        self.has_answered = true;
        let Some((id, call)) = self.calls.of_stream_mut(stream) else { return };
        if let Sink::Stream(sink) = &mut call.sink {
            // The peer has begun to answer: the call is not made again (wire-rules 89).
            effects.drop_later(sink.replay.take());
        }
        if let Step::End(end) = call.stage.on_head(head, facts, end_stream, &mut call.sink.reader()) {
            self.end_live(id, stream, end, effects);
        }
    }

    #[inline]
    fn on_data(&mut self, stream: StreamKey, data: &[u8], end_stream: bool, effects: &mut Effects) {
        let Some((id, call)) = self.calls.of_stream_mut(stream) else { return };
        let (step, credit) = call.stage.on_data(data, end_stream, &mut call.sink.reader());
        if credit > 0 {
            self.engine.release(stream, credit);
        }
        if let Step::End(end) = step {
            self.end_live(id, stream, end, effects);
        }
    }

    #[inline]
    fn on_trailers(&mut self, stream: StreamKey, head: &Arc<Head>, effects: &mut Effects) {
        let Some((id, call)) = self.calls.of_stream_mut(stream) else { return };
        let end = call.stage.on_trailers(head);
        self.end_live(id, stream, end, effects);
    }

    fn on_reset(
        &mut self,
        stream: StreamKey,
        code: ErrorCode,
        initiator: Initiator,
        now: Instant,
        effects: &mut Effects,
    ) {
        let Some((id, call)) = self.calls.of_stream_mut(stream) else { return };
        if code == ErrorCode::REFUSED_STREAM
            && initiator == Initiator::Remote
            && matches!(call.stage, Stage::Head(_))
        {
            // wire-rules 67
            let status = Status::unavailable("the peer refused the call without processing it");
            self.end_call(id, End::unprocessed(status, Fate::Refused), effects);
            return;
        }
        let end = match (initiator, call.deadline) {
            // wire-rules 71, bug-reports 38
            (Initiator::Remote, Some(deadline)) if code == ErrorCode::CANCEL && deadline.at <= now => {
                End::failed(deadline.exceeded("receiving the response"), code)
            }
            (Initiator::Remote, _) => {
                let status = Status::from_reset(code.0);
                let status = status.with_message(format!("the peer reset the call with {code}"));
                call.stage.cut_short(End::failed(status, code))
            }
            (Initiator::Engine, _) => {
                let status = Status::from_reset(code.0).with_message(format!(
                    "the peer broke HTTP/2 on this call: {}; it was reset with {code}",
                    self.engine.last_fault()
                ));
                End::failed(status, code)
            }
        };
        self.end_call(id, end, effects);
    }

    /// Ends the calls that have run out of time.
    pub(super) fn handle_deadlines(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(id) = self.deadlines.pop_due(now) {
            if let Some(call) = self.calls.get(id)
                && is_live(&self.calls, id)
                && let Some(deadline) = &call.deadline
            {
                let status = deadline.exceeded(match call.stage {
                    Stage::Head(_) if self.engine.queued(call.stream) > 0 => "sending the request",
                    Stage::Head(_) => "waiting for the response",
                    Stage::Body | Stage::Page(_) => "receiving the response",
                });
                // wire-rules 72
                self.end_call(id, End::failed(status, ErrorCode::CANCEL), effects);
            }
        }
    }

    /// The earliest instant at which the driver has something to do without input.
    pub(super) fn next_timeout(&mut self) -> Option<Instant> {
        let calls = &self.calls;
        let deadline = self.deadlines.next(|id| is_live(calls, id));
        match (self.engine.next_timeout(), deadline) {
            (Some(engine), Some(deadline)) => Some(engine.min(deadline)),
            (engine, deadline) => engine.or(deadline),
        }
    }

    /// Ends every call: the connection is over. True if the output holds calls that were said not to have been seen:
    /// it must not be sent any more, or they are made twice.
    pub(super) fn on_closed(&mut self, error: &Error, effects: &mut Effects) -> bool {
        let mut any_unseen = false;
        let error = match &self.go_away {
            Some(go_away) => error::after_go_away(error, &go_away.describe()).with_hint(go_away.hint()),
            None => error.clone(),
        };
        for id in self.calls.attached() {
            let Some(call) = self.calls.get(id) else { continue };
            let unseen = call.writes_at_start == self.writes;
            any_unseen |= unseen;
            let status = Status::from(error.clone());
            let end = if unseen {
                End::unprocessed(status, self.missed())
            } else {
                // wire-rules 81
                call.stage.cut_short(End::failed(status, ErrorCode::CANCEL))
            };
            self.settle(id, end, effects);
        }
        effects.wake_all(self.queue.call_all());
        any_unseen
    }

    /// What has become of a call that this connection did not bring before its peer.
    pub(super) fn missed(&self) -> Fate {
        let has_served = |go_away: &GoAway| !go_away.last_stream.is_connection();
        if self.has_answered || self.go_away.as_ref().is_some_and(has_served) {
            Fate::Late
        } else {
            Fate::Missed
        }
    }

    /// What the peer's GOAWAY said, if that was a refusal and not the end of a life.
    pub(super) fn refusal(&self) -> Option<String> {
        self.go_away.as_ref().filter(|go_away| go_away.code != ErrorCode::NO_ERROR).map(GoAway::describe)
    }

    /// What the peer's GOAWAY said, if it sent one.
    pub(super) fn peers_last_words(&self) -> Option<String> {
        self.go_away.as_ref().map(GoAway::observed)
    }
}

impl GoAway {
    fn hint(&self) -> &'static str {
        if self.code == ErrorCode::ENHANCE_YOUR_CALM {
            "the server has had too much of this client, its words say of what: wait, then send less at a time"
        } else {
            "the server is ending or restarting: make the call again"
        }
    }

    /// As observers are told, on both sides in the same words.
    fn observed(&self) -> String {
        let Self { code, debug, .. } = self;
        if debug.is_empty() { format!("GOAWAY {code}") } else { format!("GOAWAY {code}, \"{debug}\"") }
    }

    fn describe(&self) -> String {
        if self.debug.is_empty() {
            format!("it sent GOAWAY with {}", self.code)
        } else {
            format!("it sent GOAWAY with {} and says \"{}\"", self.code, self.debug)
        }
    }
}
