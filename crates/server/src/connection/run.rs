//! Running calls: in place first, parked when they are not ready, spawned when their method is known to be slow.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use peregrine_core::call::SharedInbox;
use peregrine_core::stream::take_flush_request;
use peregrine_core::{Payload, Status, drop_quietly, survive};

use super::Serving;
use super::call::{Call, CallState, Slot, panicked};
use crate::call::errors;
use crate::call::mailbox::{CallWaker, Outbox, Part, Reply};
use crate::call::port::{Port, Target, with_port};
use crate::options::Execution;
use crate::router::MethodIndex;
use crate::service::{CallResult, IncomingCall};

/// One poll of so many is timed, so that the clock is not read twice for each call.
const TIMED_EVERY: u32 = 16;

impl Serving {
    /// Makes the call's future and runs it. `call` is not in the table.
    pub(super) fn start(&mut self, call: Call, body: Payload<'_>, inbox: Option<Arc<SharedInbox>>) {
        let shared = Arc::clone(&self.shared);
        let Some(mut slot) = self.slots.take(call.method, &shared.router) else {
            return self.finish(call, &Err(Status::internal("the service has no slot for its own method")));
        };
        let incoming = IncomingCall {
            metadata: &call.metadata,
            body,
            inbox: inbox.clone(),
            deadline: call.deadline,
            peer: &self.info.peer,
            peer_identity: self.info.peer_identity.as_ref(),
            limits: &shared.limits,
            format: shared.router.format(call.method, call.reply.head.format),
            extra: None,
        };
        // Decoding is the codec's code, and making the future may run the handler's: neither may end the connection.
        match survive(|| slot.as_mut().start(incoming)) {
            Some(Ok(())) => {}
            Some(Err(status)) => {
                self.slots.give_back(call.method, slot);
                return self.end(call, Err(status));
            }
            None => return self.finish(call, &Err(panicked())),
        }
        let spawn = match shared.options.execution {
            Execution::Inline => false,
            Execution::Spawn => true,
            Execution::Auto => shared.router.poll_time(call.method).should_spawn(),
        };
        if spawn { self.spawn(call, slot, inbox) } else { self.run(call, slot, inbox) }
    }

    /// Polls a call in place, once. It ends, or it is parked.
    fn run(&mut self, mut call: Call, mut slot: Slot, inbox: Option<Arc<SharedInbox>>) {
        let Some(mut wire) = self.wire.take() else {
            unreachable!("a call was polled inside of another one's poll")
        };
        wire.max_send_size = self.shared.router.settings(call.method).max_send;
        let waker = self.waker(call.key.index());
        waker.0.on_poll();
        let timed = self.timed();
        let port = Port::new(Target::Wire(wire), call.key, std::mem::take(&mut call.reply), call.head_sent);
        let (port, polled) = with_port(port, || {
            let mut cx = Context::from_waker(&waker.1);
            survive(|| slot.as_mut().poll(&mut cx))
        });
        self.flush_requested |= take_flush_request();
        call.head_sent = port.head_sent;
        call.reply = port.reply;
        if let Target::Wire(wire) = port.target {
            self.wire = Some(wire);
        }
        self.wakers[call.key.index()] = Some(waker);
        if let Some(begun) = timed {
            let nanos = begun.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
            self.shared.router.poll_time(call.method).record(nanos);
        }
        if let Some(inbox) = &inbox {
            self.return_credit(call.key, inbox);
        }
        match polled {
            Some(Poll::Pending) => {
                let batch_size = self.shared.options.stream_batch_size;
                self.writes_first |=
                    self.flush_requested || self.wire().connection.output_len() >= batch_size;
                call.state = CallState::Parked { slot, inbox };
                self.insert_call(call);
            }
            Some(Poll::Ready(result)) => {
                self.retire(&call, slot);
                let result = result.map_err(|status| self.settled(call.method, status));
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
        let Some(call) = self.calls.get(index).and_then(Option::as_ref) else { return };
        let key = call.key;
        match &call.state {
            CallState::Parked { .. } => {}
            CallState::Spawned { inbox: Some(inbox), .. } => {
                let inbox = Arc::clone(inbox);
                return self.return_credit(key, &inbox);
            }
            _ => return,
        }
        let Some(mut call) = self.take_call(key) else { return };
        match std::mem::replace(&mut call.state, CallState::Draining) {
            CallState::Parked { slot, inbox } => self.run(call, slot, inbox),
            other => {
                call.state = other;
                self.insert_call(call);
            }
        }
    }

    /// Moves the call to a task of its own before its first poll.
    fn spawn(&mut self, mut call: Call, slot: Slot, inbox: Option<Arc<SharedInbox>>) {
        let outbox = Outbox::new(
            call.key,
            Arc::clone(&self.mailbox),
            self.shared.router.settings(call.method).max_send,
            self.shared.options.stream_batch_size,
        );
        let orphans = self.orphans.get_or_insert_default();
        let task = super::spawned::spawn(slot, Box::new(outbox), Arc::clone(&self.shared), &call, orphans);
        call.state = CallState::Spawned { _task: task, inbox, flow: None };
        self.insert_call(call);
    }

    /// Takes a part of a spawned call's reply.
    pub(super) fn on_reply(&mut self, reply: Reply) {
        let key = reply.key;
        // A call that is gone leaves a reply behind, and what a handler's error holds with it.
        let Some(call) = self.call_mut(key) else { return drop_quietly(reply) };
        match reply.part {
            Part::Head(metadata, reply_head) => {
                call.head_sent = true;
                if let Err(status) = self.wire().send_head(key, reply_head, &metadata)
                    && let Some(mut call) = self.take_call(key)
                {
                    call.head_sent = false;
                    self.finish(call, &Err(status));
                }
            }
            Part::Messages { mut messages, flow } => {
                let wire = self.wire();
                wire.send_encoded(key, &mut messages);
                if wire.connection.poll_writable(key) {
                    flow.on_room();
                } else if let Some(call) = self.call_mut(key)
                    && let CallState::Spawned { flow: place, .. } = &mut call.state
                {
                    *place = Some(flow);
                }
            }
            Part::End { result, head_sent } => {
                if let Some(mut call) = self.take_call(key) {
                    call.head_sent = head_sent;
                    let result = result.map_err(|status| self.settled(call.method, status));
                    self.end(call, result);
                }
            }
        }
    }

    /// Ends a call with what its handler returned. The cause that an error holds is the handler's own, destructor
    /// included (wire-rules E1).
    fn end(&mut self, call: Call, result: CallResult) {
        self.finish(call, &result);
        if let Err(status) = result {
            drop_quietly(status);
        }
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
    pub(super) fn finish(&mut self, mut call: Call, result: &CallResult) {
        let wire = self.wire();
        wire.finish(call.key, call.reply.head.format, call.head_sent, result.as_ref());
        let drains = call.deadline.is_some() && wire.connection.queued(call.key) > 0;
        if let CallState::Parked { slot, .. } = std::mem::replace(&mut call.state, CallState::Draining) {
            drop_quietly(slot);
        }
        if drains {
            self.insert_call(call);
        }
    }

    /// Drops a call whose stream is gone. Its future is dropped here, which is how a handler learns of it.
    pub(super) fn cancel(call: Call) {
        if let CallState::Parked { slot, .. } = call.state {
            drop_quietly(slot);
        }
    }

    /// The future has ended: the slot is free for the next call.
    fn retire(&mut self, call: &Call, mut slot: Slot) {
        // A future's destructor is the handler's code too.
        match survive(|| slot.as_mut().clear()) {
            Some(()) => self.slots.give_back(call.method, slot),
            None => drop_quietly(slot),
        }
    }

    fn waker(&mut self, index: usize) -> (Arc<CallWaker>, Waker) {
        if index >= self.wakers.len() {
            self.wakers.resize_with(index + 1, || None);
        }
        self.wakers[index].take().unwrap_or_else(|| {
            let waker = CallWaker::new(index as u32, Arc::clone(&self.mailbox));
            (Arc::clone(&waker), Waker::from(waker))
        })
    }

    fn timed(&mut self) -> Option<Instant> {
        self.polls = self.polls.wrapping_add(1);
        (self.shared.options.execution == Execution::Auto && self.polls.is_multiple_of(TIMED_EVERY))
            .then(Instant::now)
    }
}
