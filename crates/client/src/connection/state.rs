//! What the mutex of a connection guards, and what each event of the engine does to it.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use peregrine_core::message::Encoding;
use peregrine_core::metadata::SharedMetadata;
use peregrine_core::{Error, Status};
use peregrine_http2::{Connection, ErrorCode, Event, Head, Initiator, StreamId, StreamKey};

use super::call::{Body, Call, CallFailure, NewSink, Reply, SingleSink, Sink, StreamSink};
use super::calls::{CallId, Calls};
use super::deadlines::Deadlines;
use super::effects::Effects;
use super::http_codes::HttpCodes;
use super::message_target::{MessageTarget, WriteError};
use super::request_head::HeadBlocks;
use super::response::{End, Fate, Stage, Step};
use super::response_head::{self, ResponseHead};
use super::stream_queue::StreamQueue;
use super::whole::Usual;
use super::{NewCall, Outgoing, StartError, Writable};
use crate::call_error::{CallFacts, explained, hinted};
use crate::channel::keepalive::KeepaliveTime;
use crate::channel::packers::Packers;
use crate::error;

/// The engine with everything that hangs on its streams.
#[derive(Debug)]
pub(super) struct State {
    pub(super) engine: Connection,
    pub(super) blocks: HeadBlocks,
    pub(super) queue: StreamQueue,
    /// The driver, while it sleeps.
    pub(super) driver: Option<Waker>,
    /// How often the driver has written.
    pub(super) writes: u64,
    /// The peer's first SETTINGS have come.
    pub(super) is_ready: bool,
    pub(super) calls: Calls,
    deadlines: Deadlines,
    /// Bodies of finished calls, with their storage.
    #[expect(clippy::vec_box, reason = "a body is handed to and fro in its box, which is one word")]
    spare: Vec<Box<Body>>,
    /// What the peer's GOAWAY said.
    go_away: Option<GoAway>,
    /// The peer has begun to answer a call.
    pub(super) has_answered: bool,
    /// What most responses look like.
    pub(super) usual: Option<Usual>,
    /// The peer as errors name it.
    name: Arc<str>,
    /// Of the whole channel: told when the peer has had too many PINGs.
    keepalive: Arc<KeepaliveTime>,
    /// Of the whole channel too.
    http_codes: HttpCodes,
    /// Of the whole channel: told what the peer accepts.
    pub(super) packers: Arc<Packers>,
}

/// The peer's last words.
#[derive(Debug)]
struct GoAway {
    last_stream: StreamId,
    code: ErrorCode,
    /// Printable, cut.
    debug: String,
}

/// Bodies kept for reuse.
const SPARE: usize = 32;
/// What a server says to a client that sends PING too often (gRFC A8).
const TOO_MANY_PINGS: &[u8] = b"too_many_pings";
/// Octets of GOAWAY debug data shown.
const DEBUG_SHOWN: usize = 200;

impl State {
    pub(super) fn new(
        engine: Connection,
        keepalive: Arc<KeepaliveTime>,
        name: Arc<str>,
        http_codes: HttpCodes,
        packers: Arc<Packers>,
    ) -> Self {
        Self {
            engine,
            blocks: HeadBlocks::default(),
            queue: StreamQueue::default(),
            driver: None,
            writes: 0,
            is_ready: false,
            calls: Calls::default(),
            deadlines: Deadlines::default(),
            spare: Vec::new(),
            go_away: None,
            has_answered: false,
            usual: None,
            name,
            keepalive,
            http_codes,
            packers,
        }
    }

    // What callers ask for

    /// Opens a stream, writes the head and what `outgoing` writes, and leaves a record of the call behind.
    ///
    /// # Errors
    /// Nothing was sent, or what was is reset.
    #[inline]
    pub(super) fn start(
        &mut self,
        call: &NewCall<'_>,
        outgoing: &mut impl Outgoing,
        waker: &Waker,
    ) -> Result<CallId, StartError> {
        let (engine, blocks) = (&mut self.engine, &mut self.blocks);
        let mut target = MessageTarget::opening(engine, blocks, call.head, call.max_request);
        let encoded = outgoing.write(&mut target);
        match target.finish(encoded) {
            Ok((stream, written)) => {
                if let Some(report) = call.report {
                    report.set(written);
                }
                Ok(self.add_call(stream, call, outgoing.sink(), waker))
            }
            Err(WriteError::Gone) => Err(StartError::Gone(self.missed())),
            Err(WriteError::Failed(status)) => Err(StartError::Failed(status)),
        }
    }

    #[inline]
    pub(super) fn add_call(
        &mut self,
        stream: StreamKey,
        call: &NewCall<'_>,
        sink: NewSink,
        waker: &Waker,
    ) -> CallId {
        let record = Call {
            stream,
            stage: Stage::Head(call.head.format),
            deadline: call.deadline,
            attempt: call.attempt,
            writes_at_start: self.writes,
            pump: None,
            sink: self.make_sink(sink, waker),
        };
        let id = self.calls.insert(record);
        if let Some(deadline) = &call.deadline {
            let calls = &self.calls;
            self.deadlines.push(deadline.at, id, calls.len(), |id| is_live(calls, id));
        }
        id
    }

    #[inline]
    fn make_sink(&mut self, sink: NewSink, waker: &Waker) -> Sink {
        match sink {
            NewSink::Single { max_response } => {
                let mut body =
                    self.spare.pop().unwrap_or_else(|| Box::new(Body::new(Encoding::Identity, max_response)));
                body.reset(Encoding::Identity, max_response);
                Sink::Single(SingleSink { caller: Some(waker.clone()), body, head: None, result: None })
            }
            NewSink::Stream(sink) => Sink::Stream(sink),
        }
    }

    #[inline]
    pub(super) fn poll_reply(&mut self, id: CallId, waker: &Waker) -> Poll<Reply> {
        if let Some(Call { sink: Sink::Single(single), .. }) = self.calls.get_mut(id)
            && single.result.is_none()
        {
            match &mut single.caller {
                Some(caller) => caller.clone_from(waker),
                None => single.caller = Some(waker.clone()),
            }
            return Poll::Pending;
        }
        let Some(Sink::Single(SingleSink { result: Some(result), head, body, .. })) = self.calls.remove(id)
        else {
            let status = Status::internal("the reply of a call was asked for twice");
            return Poll::Ready(Reply::Failed(CallFailure { status, fate: Fate::Unknown }));
        };
        Poll::Ready(match result {
            Ok(trailers) => Reply::Received { head, body, trailers },
            Err(failure) => Reply::Failed(failure.after(head)),
        })
    }

    /// Keeps the storage of a body for a call to come.
    pub(super) fn recycle(&mut self, body: Option<Box<Body>>) {
        if let Some(body) = body
            && self.spare.len() < SPARE
        {
            self.spare.push(body);
        }
    }

    pub(super) fn cancel(&mut self, id: CallId, effects: &mut Effects) -> Option<Sink> {
        if let Some(stream) = self.live_stream(id) {
            self.calls.detach(stream);
            self.engine.reset(stream, ErrorCode::CANCEL);
            effects.wake(self.queue.call_next());
        }
        effects.wake(self.calls.get_mut(id)?.pump.take());
        self.calls.remove(id)
    }

    /// True if the peer was given window.
    pub(super) fn grant_credit(&mut self, id: CallId) -> bool {
        let Some(Call { stream, sink: Sink::Stream(sink), .. }) = self.calls.get(id) else { return false };
        let credit = sink.inbox.take_credit();
        if credit > 0 {
            self.engine.release(*stream, credit);
        }
        credit > 0
    }

    /// The stream of a call that has not ended.
    pub(super) fn live_stream(&self, id: CallId) -> Option<StreamKey> {
        let stream = self.calls.get(id)?.stream;
        (self.calls.of_stream(stream) == Some(id)).then_some(stream)
    }

    pub(super) fn poll_writable(&mut self, id: CallId, waker: &Waker) -> Writable {
        let Some(stream) = self.live_stream(id) else { return Writable::Never };
        // Kept even if there is room: the end of the call has to reach the pump while it waits for its source.
        if let Some(call) = self.calls.get_mut(id) {
            match &mut call.pump {
                Some(pump) => pump.clone_from(waker),
                None => call.pump = Some(waker.clone()),
            }
        }
        if self.engine.poll_writable(stream) { Writable::Now } else { Writable::Later }
    }

    // What the driver reports

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

    /// What the peer's GOAWAY said, if that was a refusal and not the end of a life.
    pub(super) fn refusal(&self) -> Option<String> {
        self.go_away.as_ref().filter(|go_away| go_away.code != ErrorCode::NO_ERROR).map(GoAway::describe)
    }

    /// What the peer's GOAWAY said, if it sent one.
    pub(super) fn peers_last_words(&self) -> Option<String> {
        self.go_away.as_ref().map(GoAway::observed)
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

    /// Ends a call from this side; resets its stream if it is still open.
    pub(super) fn end_call(&mut self, id: CallId, end: End, effects: &mut Effects) {
        if let Some(stream) = self.live_stream(id) {
            self.end_live(id, stream, end, effects);
        }
    }

    fn end_stream_call(&mut self, stream: StreamKey, end: End, effects: &mut Effects) {
        if let Some(id) = self.calls.of_stream(stream) {
            self.end_live(id, stream, end, effects);
        }
    }

    /// Ends a call whose stream is `stream` still.
    #[inline]
    fn end_live(&mut self, id: CallId, stream: StreamKey, end: End, effects: &mut Effects) {
        if self.engine.is_open(stream) {
            // wire-rules 63: after early trailers this says NO_ERROR and stops the request.
            self.engine.reset(stream, end.reset);
        }
        self.settle(id, end, effects);
        effects.wake(self.queue.call_next());
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

    /// What an error tells of a call beside its status.
    pub(super) fn facts(&self, id: CallId) -> Option<CallFacts> {
        let call = self.calls.get(id)?;
        Some(CallFacts {
            peer: Arc::clone(&self.name),
            attempt: call.attempt,
            elapsed: call.deadline.map(|deadline| deadline.elapsed()),
        })
    }

    /// The end of a call that failed, as its caller sees it.
    #[cold]
    fn explain_end(&self, id: CallId, mut end: End) -> End {
        if let Some(code) = end.http_status.and_then(|status| self.http_codes.exception(status)) {
            end = end.with_code(code);
        }
        if let Err(status) = end.result {
            end.result = Err(match self.facts(id) {
                Some(facts) => explained(status, facts),
                None => status,
            });
        }
        end
    }

    /// Hands the end of a call to whoever waits for it.
    #[inline]
    fn settle(&mut self, id: CallId, mut end: End, effects: &mut Effects) {
        if end.result.is_err() {
            end = self.explain_end(id, end);
        }
        let Some(call) = self.calls.get_mut(id) else { return };
        let stream = call.stream;
        effects.wake(call.pump.take());
        if let Sink::Single(single) = &mut call.sink {
            effects.wake(single.caller.take());
            let fate = end.fate;
            single.result = Some(end.result.map_err(|status| CallFailure { status, fate }));
            self.calls.detach(stream);
            return;
        }
        self.calls.detach(stream);
        if let Some(Sink::Stream(sink)) = self.calls.remove(id) {
            settle_stream(sink, end, effects);
        }
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

/// Ends a response stream. The reader gets what came before the end first.
fn settle_stream(sink: StreamSink, end: End, effects: &mut Effects) {
    let StreamSink { inbox, replay } = sink;
    match (end.result, replay) {
        (Err(status), Some(replay)) if end.fate != Fate::Unknown => {
            effects.replay(replay, status, end.fate);
        }
        (Err(status), replay) => {
            inbox.finish(Some(status));
            effects.drop_later(replay);
        }
        (Ok(trailers), replay) => {
            effects.drop_later(replay);
            match trailers.as_deref().map_or_else(|| Ok(SharedMetadata::new()), response_head::metadata) {
                Ok(trailers) => inbox.finish_with_trailers(trailers),
                Err(status) => inbox.finish(Some(status)),
            }
        }
    }
}

/// Whether a call has not ended yet.
fn is_live(calls: &Calls, id: CallId) -> bool {
    calls.get(id).is_some_and(|call| calls.of_stream(call.stream) == Some(id))
}
