//! Running calls: in place first, parked when they are not ready, spawned when their method is known to be slow.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use peregrine_core::call::{Peer, SharedInbox};
use peregrine_core::stream::take_flush_request;
use peregrine_core::{Payload, Status, drop_quietly, survive};
use peregrine_http2::StreamKey;

use super::call::{Call, CallState, Entry, Slot, panicked};
use super::{Serving, Shared};
use crate::call::errors;
use crate::call::mailbox::{Outbox, Parcel, Part};
use crate::call::port::{Port, PortPlace};
use crate::call::reply_head::Reply;
use crate::call::wire::Wire;
use crate::options::Execution;
use crate::router::MethodIndex;
use crate::service::{CallResult, IncomingCall};

/// One poll of so many is timed, so that the clock is not read twice for each call.
const TIMED_EVERY: u32 = 16;

impl Serving {
    /// Makes the call's future and runs it. `call` is not in the table.
    #[inline(never)]
    pub(super) fn start(&mut self, call: Call, body: Payload<'_>, inbox: Option<Arc<SharedInbox>>) {
        self.start_now(call, body, inbox);
    }

    /// [`start`](Self::start), compiled where it is called.
    #[inline(always)]
    pub(super) fn start_now(&mut self, call: Call, body: Payload<'_>, inbox: Option<Arc<SharedInbox>>) {
        let Some(mut slot) = self.slots.take(call.method(), &self.shared.router) else {
            return self.finish(call, &Err(Status::internal("the service has no slot for its own method")));
        };
        let is_timed = match self.shared.options.execution {
            Execution::Inline => false,
            Execution::Spawn => return self.spawn(call, slot, body, inbox),
            Execution::Auto if self.shared.router.poll_time(call.method()).should_spawn() => {
                return self.spawn(call, slot, body, inbox);
            }
            Execution::Auto => self.is_timed(),
        };
        let mut incoming = incoming(&self.shared, &self.peer, &call, body, inbox.clone());
        let waker = self.wakers.of(call.key().index(), &self.mailbox);
        let (key, method, deadline) = (call.key(), call.method(), call.deadline);
        let mut timed = None;
        // Decoding is the codec's code, and making the future may run the handler's: neither may end the connection.
        let begun = lend(&mut self.wire, call.reply, |port| {
            slot.as_mut().start(&mut incoming)?;
            timed = is_timed.then(Instant::now);
            Ok(slot.as_mut().poll(&mut Context::from_waker(waker), port))
        });
        let polled = match begun {
            Some(Ok(polled)) => Some(polled),
            Some(Err(status)) => {
                self.slots.give_back(method, slot);
                let call = self.polled_call(deadline);
                return self.end(call, Err(status));
            }
            None => None,
        };
        self.on_polled((key, method, deadline), slot, inbox, polled, timed);
    }

    /// Polls a call in place, which is not in the table.
    fn run(&mut self, call: Call, mut slot: Slot, inbox: Option<Arc<SharedInbox>>) {
        let timed = self.is_timed().then(Instant::now);
        let (key, method, deadline) = (call.key(), call.method(), call.deadline);
        let waker = self.wakers.of(key.index(), &self.mailbox);
        let polled = lend(&mut self.wire, call.reply, |port| {
            slot.as_mut().poll(&mut Context::from_waker(waker), port)
        });
        self.on_polled((key, method, deadline), slot, inbox, polled, timed);
    }

    /// A call was polled in place, to no end if it panicked. It ends, or it is parked.
    #[inline(always)]
    fn on_polled(
        &mut self,
        (key, method, deadline): (StreamKey, MethodIndex, Option<Instant>),
        slot: Slot,
        inbox: Option<Arc<SharedInbox>>,
        polled: Option<Poll<CallResult>>,
        timed: Option<Instant>,
    ) {
        self.flush_requested |= take_flush_request();
        if self.shared.observes_messages {
            self.observe_sent(method);
        }
        if let Some(begun) = timed {
            let nanos = begun.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
            self.shared.router.poll_time(method).record(nanos);
        }
        if let Some(inbox) = &inbox {
            self.return_credit(key, inbox);
        }
        match polled {
            Some(Poll::Ready(result)) => {
                self.retire(method, slot);
                // What most calls come to leaves nothing to do.
                if self.wire().drop_ended_reply() {
                    return;
                }
                let result = result.map_err(|status| self.settled(method, status));
                let call = self.polled_call(deadline);
                self.end(call, result);
            }
            Some(Poll::Pending) => {
                let batch_size = self.shared.options.stream_batch_size;
                self.writes_first |=
                    self.flush_requested || self.wire().connection.output_len() >= batch_size;
                let call = self.polled_call(deadline);
                self.insert(call, CallState::Parked { slot, inbox });
            }
            None => {
                drop_quietly(slot);
                let call = self.polled_call(deadline);
                self.finish(call, &Err(panicked()));
            }
        }
    }

    /// The call that was polled just now, whose reply is with the connection still.
    #[inline]
    fn polled_call(&mut self, deadline: Option<Instant>) -> Call {
        let Some(reply) = self.wire().reply.take() else { unreachable!("only its end takes it") };
        Call { reply, deadline }
    }

    /// Polls the parked call at an index, because its waker, its inbox or the engine asked for it.
    pub(super) fn on_woken(&mut self, index: usize) {
        let Some(entry) = self.calls.get(index).and_then(Option::as_ref) else { return };
        let key = entry.call.key();
        match &entry.state {
            CallState::Parked { .. } => {}
            CallState::Spawned { inbox: Some(inbox), .. } => {
                let inbox = Arc::clone(inbox);
                return self.return_credit(key, &inbox);
            }
            _ => return,
        }
        match self.take_entry(key) {
            Some(Entry { call, state: CallState::Parked { slot, inbox } }) => self.run(call, slot, inbox),
            Some(Entry { call, state }) => self.insert(call, state),
            None => {}
        }
    }

    /// Makes the call's future and moves it to a task of its own before its first poll.
    #[inline(never)]
    fn spawn(&mut self, call: Call, mut slot: Slot, body: Payload<'_>, inbox: Option<Arc<SharedInbox>>) {
        let mut incoming = incoming(&self.shared, &self.peer, &call, body, inbox.clone());
        match survive(|| slot.as_mut().start(&mut incoming)) {
            Some(Ok(())) => {}
            Some(Err(status)) => {
                self.slots.give_back(call.method(), slot);
                return self.end(call, Err(status));
            }
            None => {
                drop_quietly(slot);
                return self.finish(call, &Err(panicked()));
            }
        }
        let reply = Reply::new(call.key(), Arc::clone(call.reply.request()));
        let (batch_size, is_observed) =
            (self.shared.options.stream_batch_size, self.shared.observes_messages);
        let outbox = Outbox::new(reply, Arc::clone(&self.mailbox), batch_size, is_observed);
        let orphans = self.orphans.get_or_insert_default();
        let task = super::spawned::spawn(slot, Box::new(outbox), Arc::clone(&self.shared), &call, orphans);
        self.insert(call, CallState::Spawned { _task: task, inbox, flow: None });
    }

    /// Takes a part of a spawned call's reply.
    pub(super) fn on_parcel(&mut self, parcel: Parcel) {
        let key = parcel.key;
        // A call that is gone leaves a part of its reply behind, and what a handler's error holds with it.
        let Some(entry) = self.entry_mut(key) else { return drop_quietly(parcel) };
        match parcel.part {
            Part::Head(metadata, reply_head) => {
                entry.call.reply.head_sent = true;
                if let Err(status) = self.wire().send_head(key, reply_head, &metadata)
                    && let Some(mut entry) = self.take_entry(key)
                {
                    entry.call.reply.head_sent = false;
                    self.finish_entry(entry, &Err(status));
                }
            }
            Part::Messages { mut messages, flow } => {
                let wire = self.wire();
                wire.send_encoded(key, &mut messages);
                if wire.connection.poll_writable(key) {
                    flow.on_room();
                } else if let Some(entry) = self.entry_mut(key)
                    && let CallState::Spawned { flow: place, .. } = &mut entry.state
                {
                    *place = Some(flow);
                }
            }
            Part::End { result, head_sent } => {
                if let Some(mut entry) = self.take_entry(key) {
                    entry.call.reply.head_sent = head_sent;
                    let method = entry.call.method();
                    let result = result.map_err(|status| self.settled(method, status));
                    self.finish_entry(entry, &result);
                    drop_error(result);
                }
            }
        }
    }

    /// Ends a call with what its handler returned.
    #[inline]
    fn end(&mut self, call: Call, result: CallResult) {
        self.finish(call, &result);
        drop_error(result);
    }

    /// What a call ends with whose handler returned `status`.
    fn settled(&self, method: MethodIndex, status: Status) -> Status {
        let settings = self.shared.router.settings(method);
        // Interceptors' hooks come after the mapper, and see to it themselves.
        let mapper = settings.error_mapper.as_ref().filter(|_| settings.interceptors.is_empty());
        errors::settled(status, mapper)
    }

    /// Ends a call: trailers, and where they wait behind data that the peer has no window for, a memory of the
    /// deadline. `call` is not in the table.
    pub(super) fn finish(&mut self, call: Call, result: &CallResult) {
        // The handler's destructor has panicked after its reply.
        if call.reply.is_ended {
            return;
        }
        let wire = self.wire();
        wire.finish(&call.reply, result.as_ref());
        if call.deadline.is_some() && wire.connection.queued(call.key()) > 0 {
            self.insert(call, CallState::Draining);
        }
    }

    /// Ends a call that was in the table. Its future, if it has one still, is dropped.
    pub(super) fn finish_entry(&mut self, entry: Entry, result: &CallResult) {
        let Entry { call, state } = entry;
        self.finish(call, result);
        drop_state(state);
    }

    /// Drops a call whose stream is gone. Its future is dropped here, which is how a handler learns of it.
    pub(super) fn cancel(entry: Entry) {
        drop_state(entry.state);
    }

    /// The future has ended: the slot is free for the next call.
    #[inline(always)]
    fn retire(&mut self, method: MethodIndex, mut slot: Slot) {
        // A future's destructor is the handler's code too.
        match survive(|| slot.as_mut().clear()) {
            Some(()) => self.slots.give_back(method, slot),
            None => drop_quietly(slot),
        }
    }

    /// Whether the poll that comes is one of those that are timed.
    #[inline]
    fn is_timed(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.shared.options.execution == Execution::Auto && self.polls.is_multiple_of(TIMED_EVERY)
    }
}

/// What a call starts with.
#[inline(always)]
fn incoming<'a>(
    shared: &'a Shared,
    peer: &'a Arc<Peer>,
    call: &Call,
    body: Payload<'a>,
    inbox: Option<Arc<SharedInbox>>,
) -> IncomingCall<'a> {
    let request = call.request();
    IncomingCall {
        metadata: request.metadata.clone(),
        body,
        inbox,
        deadline: call.deadline,
        peer,
        limits: &shared.limits,
        format: shared.router.format(request.method, request.reply.head.format),
        extra: None,
    }
}

/// Runs `poll`, which polls the call that `reply` is of, with the connection in its port. The connection is back
/// afterwards, and the reply with it; `None` is a panic.
#[inline(always)]
fn lend<R>(
    connection: &mut Option<Box<Wire>>,
    reply: Reply,
    poll: impl FnOnce(&mut PortPlace) -> R,
) -> Option<R> {
    let Some(mut wire) = connection.take() else {
        unreachable!("a call was polled inside of another one's poll")
    };
    wire.reply = Some(reply);
    let mut place = PortPlace::new(Port::Wire(wire));
    let polled = survive(|| poll(&mut place));
    let Port::Wire(wire) = place.into_port() else { unreachable!("a port comes back as it was") };
    *connection = Some(wire);
    polled
}

/// Drops what a call had while it waited.
fn drop_state(state: CallState) {
    if let CallState::Parked { slot, .. } = state {
        drop_quietly(slot);
    }
}

/// Drops what a handler returned. The cause that an error holds is the handler's own, destructor included (wire-rules
/// E1).
fn drop_error(result: CallResult) {
    if let Err(status) = result {
        drop_quietly(status);
    }
}
