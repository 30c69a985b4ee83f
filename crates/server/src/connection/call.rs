//! A call in its connection's table, and the slots that calls take turns in.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use peregrine_core::Status;
use peregrine_core::call::SharedInbox;
use peregrine_core::message::UnaryBody;
use peregrine_http2::StreamKey;

use super::handlers::Task;
use crate::call::mailbox::OutboxFlow;
use crate::call::reply_head::Reply;
use crate::call::request_head::RequestHead;
use crate::router::{MethodIndex, Router};
use crate::service::CallSlot;

/// A call between its HEADERS and its trailers.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) reply: Reply,
    pub(super) deadline: Option<Instant>,
}

impl Call {
    #[inline]
    pub(super) fn key(&self) -> StreamKey {
        self.reply.key
    }

    #[inline]
    pub(super) fn request(&self) -> &RequestHead {
        self.reply.request()
    }

    #[inline]
    pub(super) fn method(&self) -> MethodIndex {
        self.request().method
    }
}

/// A call in its connection's table, where it waits.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) call: Call,
    pub(super) state: CallState,
}

/// Where a call is.
///
/// ```text
///  HEADERS ──► Receiving ──► (PutOff) ──► (polled in place) ──► gone: most calls never get further
///     │                         │
///     │ request stream          ├─► Parked ──► ... ──► gone, or Draining while a deadline still runs
///     └────────────────────────►│
///                               └─► Spawned ──► ... ──► the same
/// ```
pub(super) enum CallState {
    /// The request message is not whole yet (wire-rules M1).
    Receiving {
        /// Collected only when it comes in several pieces.
        body: Option<Box<UnaryBody>>,
        /// How often the call was found without its whole request.
        looks: u8,
    },
    /// The request is whole; the call has not begun, since replies to earlier ones pile up (http2-abuse 16).
    PutOff { body: Option<Box<UnaryBody>>, inbox: Option<Arc<SharedInbox>> },
    /// The future waits in its slot for its waker, for input or for room.
    Parked { slot: Slot, inbox: Option<Arc<SharedInbox>> },
    /// The future runs in a task of its own.
    Spawned { _task: Task, inbox: Option<Arc<SharedInbox>>, flow: Option<Arc<OutboxFlow>> },
    /// The call has ended; its last bytes wait for the peer's window, and its deadline still holds.
    Draining,
}

/// A slot with or without a call in it.
pub(super) type Slot = Pin<Box<dyn CallSlot>>;

impl fmt::Debug for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Receiving { .. } => "Receiving",
            Self::PutOff { .. } => "PutOff",
            Self::Parked { .. } => "Parked",
            Self::Spawned { .. } => "Spawned",
            Self::Draining => "Draining",
        })
    }
}

/// The text of a panic never leaves the process (settled decisions of the wire rules, E1).
pub(super) fn panicked() -> Status {
    Status::unknown("the handler panicked")
}

/// Empty slots, kept per method for the next call (wire-rules Z4). Holds no memory before the first call ended.
#[derive(Default)]
pub(super) struct SpareSlots {
    by_method: Vec<Spare>,
}

/// Those of one method.
#[derive(Default)]
struct Spare {
    /// By itself, since calls one after another need no other.
    next: Option<Slot>,
    more: Vec<Slot>,
}

impl SpareSlots {
    /// Spare slots kept per method beside the next one; more are made when more calls run at once, and dropped when they
    /// end.
    const KEPT: usize = 7;

    #[inline(always)]
    pub(super) fn take(&mut self, method: MethodIndex, router: &Router) -> Option<Slot> {
        let next = self.by_method.get_mut(method.get()).and_then(|spare| spare.next.take());
        next.or_else(|| self.take_other(method, router))
    }

    #[inline(never)]
    fn take_other(&mut self, method: MethodIndex, router: &Router) -> Option<Slot> {
        let spare = self.by_method.get_mut(method.get());
        spare.and_then(|spare| spare.more.pop()).or_else(|| router.slot(method))
    }

    #[inline(always)]
    pub(super) fn give_back(&mut self, method: MethodIndex, slot: Slot) {
        match self.by_method.get_mut(method.get()) {
            Some(Spare { next: next @ None, .. }) => *next = Some(slot),
            _ => self.give_back_other(method, slot),
        }
    }

    #[inline(never)]
    fn give_back_other(&mut self, method: MethodIndex, slot: Slot) {
        if method.get() >= self.by_method.len() {
            self.by_method.resize_with(method.get() + 1, Spare::default);
        }
        let spare = &mut self.by_method[method.get()];
        if spare.next.is_none() {
            spare.next = Some(slot);
        } else if spare.more.len() < Self::KEPT {
            spare.more.push(slot);
        }
    }
}

impl fmt::Debug for SpareSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = self.by_method.iter().map(|spare| usize::from(spare.next.is_some()) + spare.more.len());
        f.debug_list().entries(lens).finish()
    }
}
