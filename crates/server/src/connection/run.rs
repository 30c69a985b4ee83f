//! Running calls: in place first, parked when they are not ready, spawned when their method is known to be slow.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use peregrine_core::call::SharedInbox;
use peregrine_core::stream::take_flush_request;
use peregrine_core::{Payload, Status, drop_quietly, survive};

use super::Serving;
use super::call::{Call, CallState, Entry, Slot, panicked};
use crate::call::errors;
use crate::call::mailbox::{CallWaker, Outbox, Parcel, Part};
use crate::call::port::{Port, with_port};
use crate::call::reply_head::Reply;
use crate::options::Execution;
use crate::router::MethodIndex;
use crate::service::{CallResult, IncomingCall};

/// One poll of so many is timed, so that the clock is not read twice for each call.
const TIMED_EVERY: u32 = 16;

impl Serving {
    /// Makes the call's future and runs it. `call` is not in the table.
    pub(super) fn start(&mut self, call: Call, body: Payload<'_>, inbox: Option<Arc<SharedInbox>>) {
        let request = call.request();
        let router = &self.shared.router;
        let Some(mut slot) = self.slots.take(request.method, router) else {
            return self.finish(call, &Err(Status::internal("the service has no slot for its own method")));
        };
        let mut incoming = IncomingCall {
            metadata: &request.metadata,
            body,
            inbox: inbox.clone(),
            deadline: call.deadline,
            peer: &self.peer,
            limits: &self.shared.limits,
            format: router.format(request.method, request.reply.head.format),
            extra: None,
        };
        // Decoding is the codec's code, and making the future may run the handler's: neither may end the connection.
        match survive(|| slot.as_mut().start(&mut incoming)) {
            Some(Ok(())) => {}
            Some(Err(status)) => {
                self.slots.give_back(call.method(), slot);
                return self.end(call, Err(status));
            }
            None => return self.finish(call, &Err(panicked())),
        }
        let spawn = match self.shared.options.execution {
            Execution::Inline => false,
            Execution::Spawn => true,
            Execution::Auto => self.shared.router.poll_time(call.method()).should_spawn(),
        };
        if spawn { self.spawn(call, slot, inbox) } else { self.run(call, slot, inbox) }
    }

    /// Polls a call in place, once. It ends, or it is parked.
    #[inline(always)]
    fn run(&mut self, call: Call, mut slot: Slot, inbox: Option<Arc<SharedInbox>>) {
        let Call { reply, deadline } = call;
        let (key, method) = (reply.key, reply.request().method);
        let Some(mut wire) = self.wire.take() else {
            unreachable!("a call was polled inside of another one's poll")
        };
        wire.reply = Some(reply);
        let timed = self.timed();
        let waker = self.waker(key.index());
        let (port, polled) =
            with_port(Port::Wire(wire), || survive(|| slot.as_mut().poll(&mut Context::from_waker(waker))));
        self.flush_requested |= take_flush_request();
        let Port::Wire(mut wire) = port else { unreachable!("a port comes back as it was") };
        let Some(reply) = wire.reply.take() else { unreachable!("only this function takes it") };
        let call = Call { reply, deadline };
        self.wire = Some(wire);
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
            Some(Poll::Pending) => {
                let batch_size = self.shared.options.stream_batch_size;
                self.writes_first |=
                    self.flush_requested || self.wire().connection.output_len() >= batch_size;
                self.insert(call, CallState::Parked { slot, inbox });
            }
            Some(Poll::Ready(result)) => {
                self.retire(method, slot);
                let result = result.map_err(|status| self.settled(method, status));
                self.end(call, result);
            }
            None => {
                drop_quietly(slot);
                self.finish(call, &Err(panicked()));
            }
        }
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

    /// Moves the call to a task of its own before its first poll.
    fn spawn(&mut self, call: Call, slot: Slot, inbox: Option<Arc<SharedInbox>>) {
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
    fn retire(&mut self, method: MethodIndex, mut slot: Slot) {
        // A future's destructor is the handler's code too.
        match survive(|| slot.as_mut().clear()) {
            Some(()) => self.slots.give_back(method, slot),
            None => drop_quietly(slot),
        }
    }

    /// The waker of the call at this index, which is about to be polled.
    #[inline(always)]
    fn waker(&mut self, index: usize) -> &Waker {
        if index >= self.wakers.len() {
            self.wakers.resize_with(index + 1, || None);
        }
        let (call_waker, waker) = self.wakers[index].get_or_insert_with(|| {
            let waker = CallWaker::new(index as u32, Arc::clone(&self.mailbox));
            (Arc::clone(&waker), Waker::from(waker))
        });
        call_waker.on_poll();
        waker
    }

    fn timed(&mut self) -> Option<Instant> {
        self.polls = self.polls.wrapping_add(1);
        (self.shared.options.execution == Execution::Auto && self.polls.is_multiple_of(TIMED_EVERY))
            .then(Instant::now)
    }
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
