//! What the engine reports, turned into the life of calls.

use std::sync::Arc;
use std::time::{Duration, Instant};

use peregrine_core::call::{InboxConfig, SharedInbox};
use peregrine_core::deadline::deadline_after;
use peregrine_core::message::{UnaryBody, single_message};
use peregrine_core::{Format, Payload, Status};
use peregrine_http2::{ErrorCode, Event, Head, StreamKey};

use super::Serving;
use super::call::{Call, CallState, Entry};
use super::slow_request::Refused;
use crate::call::errors::bad_request;
use crate::call::reply_head::Reply;
use crate::call::request_head::{Refusal, RequestHead};

impl Serving {
    pub(super) fn on_event(&mut self, event: Event<'_>, now: Instant) {
        match event {
            Event::Headers { stream, head, end_stream } => self.on_headers(stream, &head, end_stream, now),
            Event::Request { stream, head, data } => self.on_request(stream, &head, data, now),
            Event::Data { stream, data, end_stream } => self.on_data(stream, data, end_stream),
            // Trailers of a request carry nothing that gRPC defines; they end it.
            Event::Trailers { stream, .. } => self.on_data(stream, &[], true),
            Event::HeadersTooLarge { stream, size, limit, .. } => {
                let status = Status::resource_exhausted(format!(
                    "request header list of {size} bytes is over this server's limit of {limit} bytes"
                ));
                // Oversized trailers belong to a call that runs; an oversized head never became one.
                if self.entry(stream).is_some() {
                    self.fail(stream, status);
                } else {
                    self.refused.retain(|refused| refused.stream != stream);
                    self.wire().refuse(stream, Format::Proto, 431, &status, None);
                }
            }
            // wire-rules 74: whatever the call holds is dropped at once.
            Event::Reset { stream, .. } | Event::Refused { stream } => match self.take_entry(stream) {
                Some(entry) => Self::cancel(entry),
                None => self.refused.retain(|refused| refused.stream != stream),
            },
            Event::Writable { stream } => self.on_writable(stream),
            Event::Relieved => self.start_put_off(),
            Event::Settings => self.on_settings(),
            // A client that goes away still wants the replies to what it asked (bug-reports 51).
            Event::GoAway { code, debug, .. } => self.on_go_away(code, debug),
            _ => {}
        }
    }

    fn on_headers(&mut self, key: StreamKey, head: &Arc<Head>, end_stream: bool, now: Instant) {
        let Some(call) = self.open_call(key, head, end_stream, now) else { return };
        if call.request().client_streaming {
            self.open_inbox(call, end_stream);
        } else if end_stream {
            self.start_unary(call, &[]);
        } else {
            self.watch_requests(now);
            self.insert(call, CallState::Receiving { body: None, looks: 0 });
        }
    }

    /// Head and data of a request at once: what most calls are, and never in the table.
    fn on_request(&mut self, key: StreamKey, head: &Arc<Head>, data: &[u8], now: Instant) {
        let Some(call) = self.open_call(key, head, true, now) else { return };
        if call.request().client_streaming {
            self.open_inbox(call, false);
            self.on_data(key, data, true);
        } else {
            self.start_unary(call, data);
        }
    }

    /// Makes a call of a request's head. `None` if it was answered, or waits to be refused.
    #[inline(always)]
    fn open_call(&mut self, key: StreamKey, head: &Arc<Head>, is_whole: bool, now: Instant) -> Option<Call> {
        if self.has_orphans() && self.refuse_beyond_handlers(key) {
            return None;
        }
        let request = match RequestHead::of(head, &self.shared.router, &self.shared.options.secure) {
            Ok(request) => request,
            // What is no gRPC comes from ordinary HTTP clients, most of which look for an answer only once their
            // request is out; and what is wrong with the rest of it is then told as such.
            Err(refusal) if refusal.is_plain_http() && !is_whole => {
                self.watch_requests(now);
                self.refused.push(Refused { stream: key, head: Arc::clone(head), looks: 0 });
                return None;
            }
            Err(refusal) => {
                self.refuse(key, refusal);
                return None;
            }
        };
        self.begin_call(key, Arc::clone(request), now)
    }

    /// The call of a head that makes one. `None` if its time is over already.
    #[inline(always)]
    pub(super) fn begin_call(
        &mut self,
        key: StreamKey,
        request: Arc<RequestHead>,
        now: Instant,
    ) -> Option<Call> {
        let deadline = match request.timeout {
            None => None,
            Some(timeout) => self.begin_deadline(key, &request, timeout, now).ok()?,
        };
        Some(Call { reply: Reply::new(key, request), deadline })
    }

    /// The instant at which a call has to be over.
    ///
    /// # Errors
    /// It is past already, and the call was answered.
    #[inline(never)]
    fn begin_deadline(
        &mut self,
        key: StreamKey,
        request: &Arc<RequestHead>,
        timeout: Duration,
        now: Instant,
    ) -> Result<Option<Instant>, Expired> {
        // A timeout beyond what the clock can say is no timeout (wire-rules 15).
        let Some(at) = deadline_after(now, timeout) else { return Ok(None) };
        if at <= now {
            let call = Call { reply: Reply::new(key, Arc::clone(request)), deadline: Some(at) };
            self.finish(call, &Err(deadline_exceeded()));
            return Err(Expired);
        }
        let calls = &self.calls;
        let live = |key: StreamKey| {
            calls.get(key.index()).is_some_and(|c| c.as_ref().is_some_and(|c| c.call.key() == key))
        };
        self.deadlines.push(at, key, calls.len(), live);
        Ok(Some(at))
    }

    /// A request stream's handler starts with the head, before any message (wire-rules M4).
    fn open_inbox(&mut self, call: Call, end_stream: bool) {
        let request = call.request();
        let config = InboxConfig {
            encoding: request.encoding,
            max_message: request.max_receive,
            // The engine gathers up to half a window too: what is left has to be worth a frame.
            credit_step: (self.shared.options.engine.initial_window_size as usize / 4).max(1),
        };
        let observer = self.shared.message_observer(request.method);
        let (owner, name) = (Arc::clone(&self.mailbox) as _, call.key().index() as u64);
        let inbox = SharedInbox::observed(config, owner, name, observer);
        if end_stream {
            inbox.finish(None);
        }
        self.start_streaming(call, inbox);
    }

    /// Whether handlers of streams that are gone still run.
    #[inline]
    pub(super) fn has_orphans(&self) -> bool {
        self.orphans.as_ref().is_some_and(|orphans| orphans.count() > 0)
    }

    /// Refuses a stream while handlers of streams that are gone take its place.
    #[cold]
    fn refuse_beyond_handlers(&mut self, key: StreamKey) -> bool {
        let orphans = self.orphans.as_ref().map_or(0, |orphans| orphans.count());
        let limit =
            self.shared.options.engine.max_concurrent_streams.map_or(usize::MAX, |limit| limit as usize);
        let connection = &mut self.wire().connection;
        let refused = connection.open_streams() + orphans > limit;
        if refused {
            connection.reset(key, ErrorCode::REFUSED_STREAM);
            self.observe_limit("running_handlers", 1);
        }
        refused
    }

    fn on_data(&mut self, key: StreamKey, data: &[u8], end_stream: bool) {
        let Some(entry) = self.entry_mut(key) else {
            // The call was answered already; what still comes is read to keep the windows right.
            self.wire().connection.release(key, data.len());
            if end_stream {
                self.answer_refused(key);
            }
            return;
        };
        match &mut entry.state {
            CallState::Receiving { body: None, .. } if end_stream => {
                if let Some(Entry { call, .. }) = self.take_entry(key) {
                    self.start_unary(call, data);
                }
            }
            CallState::Receiving { body, .. } => {
                let RequestHead { encoding, max_receive, .. } = *entry.call.request();
                let body = body.get_or_insert_with(|| Box::new(UnaryBody::new(encoding, max_receive)));
                let taken = body.push(data);
                self.wire().connection.release(key, data.len());
                match taken {
                    Ok(()) if end_stream => self.start_collected(key),
                    Ok(()) => {}
                    // Known to be wrong before its end: answered at once, and not read on (wire-rules 42).
                    Err(status) => self.fail(key, bad_request(status)),
                }
            }
            CallState::PutOff { inbox: Some(inbox), .. }
            | CallState::Parked { inbox: Some(inbox), .. }
            | CallState::Spawned { inbox: Some(inbox), .. } => {
                let inbox = Arc::clone(inbox);
                let credit = inbox.push(data);
                if end_stream {
                    inbox.finish(None);
                }
                self.wire().connection.release(key, credit);
            }
            // A unary call that runs has its request; only an ended one gets here.
            CallState::PutOff { .. }
            | CallState::Parked { .. }
            | CallState::Spawned { .. }
            | CallState::Draining => {
                self.wire().connection.release(key, data.len());
            }
        }
    }

    /// A request that waited for its end to be refused, if it is one.
    pub(super) fn answer_refused(&mut self, key: StreamKey) {
        let Some(place) = self.refused.iter().position(|refused| refused.stream == key) else { return };
        let Refused { head, .. } = self.refused.swap_remove(place);
        let shared = Arc::clone(&self.shared);
        if let Err(refusal) = RequestHead::of(&head, &shared.router, &shared.options.secure) {
            self.refuse(key, refusal);
        }
    }

    fn refuse(&mut self, key: StreamKey, refusal: &Refusal) {
        let Refusal { format, http_status, status, accepted_encodings } = refusal;
        self.wire().refuse(key, *format, *http_status, status, *accepted_encodings);
    }

    /// The whole body of a one-message request lies in the read buffer: the fast path (wire-rules M3).
    #[inline]
    pub(super) fn start_unary(&mut self, call: Call, body: &[u8]) {
        if self.wire().connection.is_congested() {
            return self.put_unary_off(call, body);
        }
        let request = call.request();
        match single_message(body, request.encoding, request.max_receive) {
            Ok(message) => self.start_whole(call, message, body.len()),
            Err(status) => self.refuse_body(call, body, status),
        }
    }

    /// Ends a call whose whole body is not one message.
    #[cold]
    pub(super) fn refuse_body(&mut self, call: Call, body: &[u8], status: Status) {
        if body.is_empty() {
            self.finish_without_message(call);
        } else {
            self.finish(call, &Err(bad_request(status)));
        }
    }

    /// The one message of a request is there; its body had so many bytes.
    #[inline]
    pub(super) fn start_whole(&mut self, call: Call, message: Payload<'_>, body_len: usize) {
        if self.shared.observes_messages {
            self.observe_request(&call, &message, body_len);
        }
        self.start(call, message, None);
    }

    /// Ends a call that has one request message, and came without it.
    #[cold]
    pub(super) fn finish_without_message(&mut self, call: Call) {
        let text = "the request ended without the one message that this kind of call has";
        let status = Status::new(self.shared.options.missing_message, text);
        self.finish(call, &Err(status));
    }

    /// The body came in several pieces and is complete.
    fn start_collected(&mut self, key: StreamKey) {
        let (call, mut body) = match self.take_entry(key) {
            Some(Entry { call, state: CallState::Receiving { body: Some(body), .. } }) => (call, body),
            Some(Entry { call, state }) => return self.insert(call, state),
            None => return,
        };
        if self.wire().connection.is_congested() {
            return self.put_off(call, Some(body), None);
        }
        if body.is_empty() {
            return self.finish_without_message(call);
        }
        let len = body.received();
        match body.finish() {
            Ok(message) => self.start_whole(call, message, len),
            Err(status) => self.finish(call, &Err(bad_request(status))),
        }
    }

    fn on_writable(&mut self, key: StreamKey) {
        let index = key.index();
        match self.entry(key).map(|entry| &entry.state) {
            Some(CallState::Parked { .. }) => self.on_woken(index),
            Some(CallState::Spawned { flow: Some(flow), .. }) => flow.on_room(),
            _ => {}
        }
    }

    /// Gives the peer back the window of what the call has read.
    pub(super) fn return_credit(&mut self, key: StreamKey, inbox: &SharedInbox) {
        let credit = inbox.take_credit();
        if credit > 0 {
            self.wire().connection.release(key, credit);
        }
    }

    /// Ends a call that is in the table with an error of the server's own.
    pub(super) fn fail(&mut self, key: StreamKey, status: Status) {
        if let Some(entry) = self.take_entry(key) {
            self.finish_entry(entry, &Err(status));
        }
    }

    /// wire-rules 73 as settled: queued data is dropped, the status needs no window; RST_STREAM(CANCEL) only
    /// where a message is already partly on the wire.
    pub(super) fn on_deadline(&mut self, key: StreamKey, now: Instant) {
        let due = self.entry(key).is_some_and(|entry| entry.call.deadline.is_some_and(|at| at <= now));
        if !due {
            return;
        }
        let Some(mut entry) = self.take_entry(key) else { return };
        let connection = &mut self.wire().connection;
        if matches!(entry.state, CallState::Draining) && connection.queued(key) == 0 {
            return;
        }
        let partly_sent = connection.discard_queued_data(key);
        if partly_sent {
            connection.reset(key, ErrorCode::CANCEL);
            return Self::cancel(entry);
        }
        entry.call.deadline = None;
        self.finish_entry(entry, &Err(deadline_exceeded()));
    }
}

/// A call's deadline was past when the call came.
struct Expired;

fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("the call's deadline passed on the server")
}
