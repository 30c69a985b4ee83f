//! What the mutex of a connection guards: the engine and its calls. Here is what callers ask of it, and how calls end;
//! what the engine's events do to it is in `events`.

use std::sync::Arc;
use std::task::{Poll, Waker};

use peregrine_core::message::Encoding;
use peregrine_core::{MetadataMap, Status};
use peregrine_http2::{Connection, ErrorCode, StreamKey};

use super::call::{Body, Call, CallDeadline, CallFailure, NewSink, Reply, Sink, StreamSink};
use super::calls::{CallId, Calls};
use super::deadlines::Deadlines;
use super::effects::Effects;
use super::events::GoAway;
use super::http_codes::HttpCodes;
use super::message_target::{MessageTarget, WriteError};
use super::request_head::HeadBlocks;
use super::request_stream::Writable;
use super::response::{End, Fate, Stage};
use super::response_head;
use super::stream_queue::StreamQueue;
use super::whole::Usual;
use super::{NewCall, Outgoing, StartError, spent_body};
use crate::call_error::{CallFacts, explained};
use crate::channel::keepalive::KeepaliveTime;
use crate::channel::packers::Packers;

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
    pub(super) deadlines: Deadlines,
    /// Storage of replies that were read, for those to come.
    #[expect(clippy::vec_box, reason = "a body is handed to and fro in its box, which is one word")]
    spare: Vec<Box<Body>>,
    /// What the peer's GOAWAY said.
    pub(super) go_away: Option<GoAway>,
    /// The peer has begun to answer a call.
    pub(super) has_answered: bool,
    /// What most responses look like.
    pub(super) usual: Option<Usual>,
    /// The peer as errors name it.
    name: Arc<str>,
    /// Of the whole channel: told when the peer has had too many PINGs.
    pub(super) keepalive: Arc<KeepaliveTime>,
    /// Of the whole channel too.
    http_codes: HttpCodes,
    /// Of the whole channel: told what the peer accepts.
    pub(super) packers: Arc<Packers>,
}

/// Bodies kept for calls to come.
const SPARE: usize = 32;

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

    /// Leaves a record of a call whose `stream` is open and written to.
    #[inline]
    pub(super) fn add_call(
        &mut self,
        stream: StreamKey,
        call: &NewCall<'_>,
        sink: NewSink,
        waker: &Waker,
    ) -> CallId {
        let (id, record) = self.calls.open(stream);
        record.stage = Stage::Head(call.head.format);
        record.deadline = None;
        record.attempt = call.attempt;
        record.writes_at_start = self.writes;
        match sink {
            NewSink::Single { max_response } => {
                let mut body = self.spare.pop().unwrap_or_else(|| Box::new(Body::new(Encoding::Identity, 0)));
                body.reset(Encoding::Identity, max_response);
                record.sink.expect_reply(body, waker.clone());
            }
            NewSink::Stream(sink) => record.sink = Sink::Stream(sink),
        }
        if let Some(deadline) = call.deadline {
            self.set_deadline(id, deadline);
        }
        id
    }

    #[inline(never)]
    fn set_deadline(&mut self, id: CallId, deadline: &CallDeadline) {
        if let Some(call) = self.calls.get_mut(id) {
            call.deadline = Some(*deadline);
        }
        let calls = &self.calls;
        self.deadlines.push(deadline.at, id, calls.len(), |id| is_live(calls, id));
    }

    #[inline]
    pub(super) fn poll_reply(&mut self, id: CallId, waker: &Waker) -> Poll<Reply> {
        let Some(Call { sink: Sink::Single(single), .. }) = self.calls.get_mut(id) else {
            return Poll::Ready(asked_twice());
        };
        let Some(result) = single.result.take() else {
            match &mut single.caller {
                Some(caller) => caller.clone_from(waker),
                None => single.caller = Some(waker.clone()),
            }
            return Poll::Pending;
        };
        let head = single.head.take();
        let reply = match (result, single.body.take()) {
            (Ok(trailers), Some(body)) => Reply::Received { head, body, trailers },
            (Ok(_), None) => asked_twice(),
            (Err(failure), _) => Reply::Failed(failure.after(head)),
        };
        self.calls.vacate(id);
        if let Some(body) = spent_body::take()
            && self.spare.len() < SPARE
        {
            self.spare.push(body);
        }
        Poll::Ready(reply)
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

    pub(super) fn poll_room(&mut self, id: CallId, waker: &Waker) -> Writable {
        let Some(stream) = self.live_stream(id) else { return Writable::Never };
        // Kept even if there is room: the end of the call has to reach the pump while it waits for its source.
        if let Some(call) = self.calls.get_mut(id) {
            match &mut call.pump {
                Some(pump) => pump.clone_from(waker),
                None => call.pump = Some(waker.clone()),
            }
        }
        self.engine.poll_room(stream).map_or(Writable::Later, Writable::Now)
    }

    /// Ends a call from this side; resets its stream if it is still open.
    pub(super) fn end_call(&mut self, id: CallId, end: End, effects: &mut Effects) {
        if let Some(stream) = self.live_stream(id) {
            self.end_live(id, stream, end, effects);
        }
    }

    pub(super) fn end_stream_call(&mut self, stream: StreamKey, end: End, effects: &mut Effects) {
        if let Some(id) = self.calls.of_stream(stream) {
            self.end_live(id, stream, end, effects);
        }
    }

    /// Ends a call whose stream is `stream` still.
    #[inline]
    pub(super) fn end_live(&mut self, id: CallId, stream: StreamKey, end: End, effects: &mut Effects) {
        if self.engine.is_open(stream) {
            // wire-rules 63: after early trailers this says NO_ERROR and stops the request.
            self.engine.reset(stream, end.reset);
        }
        self.settle(id, end, effects);
        effects.wake(self.queue.call_next());
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
    pub(super) fn settle(&mut self, id: CallId, mut end: End, effects: &mut Effects) {
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
            match trailers.as_deref().map_or_else(|| Ok(MetadataMap::new()), response_head::metadata) {
                Ok(trailers) => inbox.finish_with_trailers(trailers),
                Err(status) => inbox.finish(Some(status)),
            }
        }
    }
}

#[cold]
fn asked_twice() -> Reply {
    let status = Status::internal("the reply of a call was asked for twice");
    Reply::Failed(CallFailure { status, fate: Fate::Unknown })
}

/// Whether a call has not ended yet.
pub(super) fn is_live(calls: &Calls, id: CallId) -> bool {
    calls.get(id).is_some_and(|call| calls.of_stream(call.stream) == Some(id))
}
