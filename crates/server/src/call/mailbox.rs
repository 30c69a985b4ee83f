//! How calls outside of the driver reach their connection: wake-ups, and the replies of spawned calls.
//!
//! One [`Mailbox`] a connection. Everything that happens on other threads or tasks (a parked call's waker, a
//! spawned call's output, an inbox that was read, the server's shutdown) leaves a note here and wakes the
//! driver, which takes all notes at once.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use peregrine_core::call::InboxOwner;
use peregrine_core::compression::{Compression, Packing};
use peregrine_core::message::FrameBuf;
use peregrine_core::observe::MessageSize;
use peregrine_core::{Codec, MetadataMap, Status, Transcode};
use peregrine_http2::StreamKey;

use super::batch::Room;
use super::port::Watch;
use super::reply_head::{Reply, ReplyHead};
use crate::call::errors::bad_request;
use crate::service::CallResult;

/// Encoded bytes that a spawned call may have on their way to the connection before its source waits.
const OUTBOX_LIMIT: usize = 64 * 1024;

/// Notes for a connection's driver.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    /// Set without the lock, read once a turn.
    shutdown: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Indices of parked calls to poll again, or whose inbox gave credit back.
    woken: Vec<u32>,
    parcels: Vec<Parcel>,
    driver: Option<Waker>,
}

/// A part of a spawned call's reply.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) key: StreamKey,
    pub(crate) part: Part,
}

/// What a spawned call says.
#[derive(Debug)]
pub(crate) enum Part {
    Head(MetadataMap, ReplyHead),
    /// Messages with their prefixes, to be released in `flow` once the connection has room.
    Messages {
        messages: FrameBuf,
        flow: Arc<OutboxFlow>,
    },
    /// The call's future has ended.
    End {
        result: CallResult,
        head_sent: bool,
    },
}

/// What the driver takes out of a mailbox in one turn. Kept and used again, so that taking allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) woken: Vec<u32>,
    pub(crate) parcels: Vec<Parcel>,
}

impl Mailbox {
    /// Takes all notes into `mail`, whose lists are empty, and remembers who to wake for the next ones.
    pub(crate) fn take(&self, mail: &mut Mail, cx: &Context<'_>) {
        let mut state = self.lock();
        mem::swap(&mut state.woken, &mut mail.woken);
        mem::swap(&mut state.parcels, &mut mail.parcels);
        match &mut state.driver {
            Some(driver) => driver.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    /// True when something waits for the driver already.
    pub(crate) fn has_mail(&self) -> bool {
        let state = self.lock();
        !state.woken.is_empty() || !state.parcels.is_empty()
    }

    /// Asks the driver to begin a graceful end of the connection.
    pub(crate) fn shut_down(&self) {
        self.shutdown.store(true, Ordering::Release);
        self.note(|_| {});
    }

    /// Ready once a graceful end was asked for. For the time before the driver takes notes.
    pub(crate) fn poll_shutdown(&self, cx: &Context<'_>) -> Poll<()> {
        // Registered first: a wake-up between the two would be lost.
        self.lock().driver = Some(cx.waker().clone());
        if self.is_shutting_down() { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    fn note(&self, f: impl FnOnce(&mut State)) {
        let driver = {
            let mut state = self.lock();
            f(&mut state);
            state.driver.take()
        };
        // Outside of the lock: the runtime may run the driver before this returns.
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock can leave the lists half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxOwner for Mailbox {
    fn credit_available(&self, call: u64) {
        self.note(|state| state.woken.push(call as u32));
    }

    fn dropped(&self, call: u64) {
        self.note(|state| state.woken.push(call as u32));
    }

    fn explain(&self, status: Status) -> Status {
        bad_request(status)
    }
}

/// The waker of the call at one index of a connection, used by every call that lives there in turn. A late
/// wake-up of an earlier call is one needless poll.
#[derive(Debug)]
pub(crate) struct CallWaker {
    index: u32,
    /// Set while the index is in the mailbox, so that a thousand wake-ups leave one note.
    noted: AtomicBool,
    mailbox: Arc<Mailbox>,
}

impl CallWaker {
    pub(crate) fn new(index: u32, mailbox: Arc<Mailbox>) -> Arc<Self> {
        Arc::new(Self { index, noted: AtomicBool::new(false), mailbox })
    }

    /// The driver is about to poll the call: from now on a wake-up is news.
    pub(crate) fn on_poll(&self) {
        self.noted.store(false, Ordering::Release);
    }
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.noted.swap(true, Ordering::AcqRel) {
            self.mailbox.note(|state| state.woken.push(self.index));
        }
    }
}

/// The reply of a spawned call on its way: collected during a poll, handed over after it.
#[derive(Debug)]
pub(crate) struct Outbox {
    reply: Reply,
    /// What interceptors want with it.
    pub(super) watch: Option<Box<Watch>>,
    mailbox: Arc<Mailbox>,
    flow: Arc<OutboxFlow>,
    head: Option<(MetadataMap, ReplyHead)>,
    messages: FrameBuf,
    batch_size: usize,
    /// The messages since these were taken last, if somebody wants to know.
    sent: Option<Vec<MessageSize>>,
}

impl Outbox {
    pub(crate) fn new(reply: Reply, mailbox: Arc<Mailbox>, batch_size: usize, is_observed: bool) -> Self {
        Self {
            reply,
            watch: None,
            mailbox,
            flow: Arc::default(),
            head: None,
            messages: FrameBuf::new(),
            batch_size,
            sent: is_observed.then(Vec::new),
        }
    }

    /// Sends the response head, once.
    ///
    /// # Errors
    /// The handler's setting of compression cannot be used.
    pub(super) fn send_head(
        &mut self,
        compression: Option<&Compression>,
        metadata: MetadataMap,
    ) -> Result<(), Status> {
        if self.reply.head_sent {
            return Ok(());
        }
        if let Some(compression) = compression {
            self.reply.compress(compression)?;
        }
        self.head = Some((metadata, self.reply.plan().head));
        self.reply.head_sent = true;
        Ok(())
    }

    pub(super) fn send_message<C: Codec<B>, B>(
        &mut self,
        message: &B,
        transcode: Option<&dyn Transcode>,
        wish: Option<bool>,
    ) -> Result<(), Status> {
        let packing = Packing::of(self.reply.plan().packer(), wish);
        let limit = self.reply.request().max_send;
        let written = self.messages.encode_as::<C, B>(message, transcode, limit, packing)?;
        if let Some(sent) = &mut self.sent {
            sent.push(written.size(packing));
        }
        Ok(())
    }

    /// The messages of the last poll, if the outbox is observed.
    pub(crate) fn take_sent(&mut self) -> Vec<MessageSize> {
        self.sent.as_mut().map(mem::take).unwrap_or_default()
    }

    /// What may be gathered of the call's messages, if there is room for any.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Option<Room> {
        let bytes = self.batch_size.saturating_sub(self.messages.len());
        if bytes == 0 {
            // The batch is handed over after this poll; whether there is room for the next one shows then.
            cx.waker().wake_by_ref();
            return None;
        }
        let is_plain = self.sent.is_none() && self.reply.plan().packer().is_none();
        let room = if is_plain {
            Room { bytes, frame: bytes, limit: self.reply.request().max_send }
        } else {
            Room::default()
        };
        self.flow.poll_room(cx).then_some(room)
    }

    pub(super) fn send_gathered(&mut self, messages: &mut FrameBuf) {
        messages.append_to(&mut self.messages);
    }

    /// Hands over what the poll left, and the end if there is one.
    pub(crate) fn flush(&mut self, end: Option<CallResult>) {
        let head = self.head.take();
        let messages = (!self.messages.is_empty()).then(|| {
            self.flow.on_sent(self.messages.len());
            Part::Messages { messages: mem::take(&mut self.messages), flow: Arc::clone(&self.flow) }
        });
        if head.is_none() && messages.is_none() && end.is_none() {
            return;
        }
        let (key, head_sent) = (self.reply.key, self.reply.head_sent);
        self.mailbox.note(|state| {
            let parts = head
                .map(|(metadata, head)| Part::Head(metadata, head))
                .into_iter()
                .chain(messages)
                .chain(end.map(|result| Part::End { result, head_sent }));
            state.parcels.extend(parts.map(|part| Parcel { key, part }));
        });
    }
}

/// How much of an outbox is on its way, shared by the call's task and the driver.
#[derive(Debug, Default)]
pub(crate) struct OutboxFlow {
    in_flight: AtomicUsize,
    waiting: Mutex<Option<Waker>>,
}

impl OutboxFlow {
    fn on_sent(&self, bytes: usize) {
        self.in_flight.fetch_add(bytes, Ordering::AcqRel);
    }

    fn poll_room(&self, cx: &Context<'_>) -> bool {
        if self.in_flight.load(Ordering::Acquire) < OUTBOX_LIMIT {
            return true;
        }
        self.wait(cx);
        // Room may have come between the look and the note.
        self.in_flight.load(Ordering::Acquire) < OUTBOX_LIMIT
    }

    fn wait(&self, cx: &Context<'_>) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
    }

    /// The connection has room again.
    pub(crate) fn on_room(&self) {
        self.in_flight.store(0, Ordering::Release);
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}
