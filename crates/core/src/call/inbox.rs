//! Incoming bytes of one streaming call, between the connection's driver that
//! pushes and the task that reads.
//!
//! The driver holds an `Arc<SharedInbox>` and calls [`push`](SharedInbox::push)
//! and [`finish`](SharedInbox::finish); the reader is a
//! [`Streaming`](crate::Streaming). Bytes change hands by swapping buffers, so
//! messages are decoded with the inbox unlocked.
//!
//! # Flow control
//! The driver may put as much in as the stream's receive window allows. Credit
//! is given back for messages the reader has taken. While it waits for a
//! message that is not complete, also for the part of that message that is
//! here, or a message larger than the window could never arrive (wire-rules
//! 84). So an inbox holds at most a window and one message.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use crate::message::{Deframer, Encoding};
use crate::metadata::MetadataMap;
use crate::observe::MessageObserver;
use crate::status::Status;

/// Who feeds an inbox: the connection.
///
/// Both are called from whatever task or thread holds the
/// [`Streaming`](crate::Streaming), never with the inbox locked.
pub trait InboxOwner: Send + Sync {
    /// There is flow-control credit to fetch with [`SharedInbox::take_credit`].
    fn credit_available(&self, call: u64);

    /// Nobody will read this call's messages any more, and its end has not come yet.
    fn dropped(&self, call: u64);

    /// A status that the reader came to by itself, with what is known of the call beside it.
    fn explain(&self, status: Status) -> Status {
        status
    }
}

/// Settings of an inbox.
#[derive(Clone, Copy, Debug)]
pub struct InboxConfig {
    /// How messages may be compressed.
    pub encoding: Encoding,
    /// Longest message in bytes (wire-rules 42).
    pub max_message: usize,
    /// Credit to gather before it is given back, in bytes; at most the stream's
    /// receive window, or the call could stall. A quarter of it is a good
    /// value: an engine gathers credit as well, that of padding among it.
    pub credit_step: usize,
}

/// The inbox as its two sides share it.
pub struct SharedInbox {
    state: Mutex<Inbox>,
    config: InboxConfig,
    /// `None` if nobody wants to hear.
    owner: Option<Arc<dyn InboxOwner>>,
    /// The owner's name for the call.
    call: u64,
    /// Told of each message that the reader takes.
    observer: Option<MessageObserver>,
}

/// What the lock protects.
struct Inbox {
    /// Bytes the reader has not fetched yet.
    arrived: Deframer,
    headers: Option<MetadataMap>,
    end: Option<End>,
    /// The reader is gone; bytes are dropped.
    abandoned: bool,
    waker: Option<Waker>,
    flow: Flow,
}

/// How the incoming side ended.
#[derive(Debug)]
pub(crate) enum End {
    /// In good order.
    Clean(MetadataMap),
    /// With this status.
    Failed(Status),
}

/// Positions in the stream of incoming bytes, counted from its start.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// End of what has arrived.
    received: u64,
    /// End of the messages that the reader has taken.
    taken: u64,
    /// While the reader waits: where the next thing it can be told ends.
    wanted: Option<u64>,
    /// End of what credit was given back for.
    released: u64,
}

/// What a reader finds in the inbox.
pub(crate) enum Fetched {
    /// There is something to decode.
    More,
    /// Nothing is there yet; the waker is stored.
    Waiting,
    /// Nothing more comes.
    Ended(End),
}

impl SharedInbox {
    /// An inbox whose owner wants to hear of credit and of readers that leave;
    /// `call` is the owner's name for the call.
    pub fn new(config: InboxConfig, owner: Arc<dyn InboxOwner>, call: u64) -> Arc<Self> {
        Self::observed(config, owner, call, None)
    }

    /// As [`new`](Self::new); `observer` is told of each message that the reader takes.
    pub fn observed(
        config: InboxConfig,
        owner: Arc<dyn InboxOwner>,
        call: u64,
        observer: Option<MessageObserver>,
    ) -> Arc<Self> {
        Arc::new(Self { observer, ..Self::with_owner(config, Some(owner), call) })
    }

    /// An inbox that nobody owns: filled in advance, for tests and for use
    /// inside a process.
    pub fn detached(config: InboxConfig) -> Arc<Self> {
        Arc::new(Self::with_owner(config, None, 0))
    }

    fn with_owner(config: InboxConfig, owner: Option<Arc<dyn InboxOwner>>, call: u64) -> Self {
        let state = Inbox {
            arrived: Deframer::new(config.encoding, config.max_message),
            headers: None,
            end: None,
            abandoned: false,
            waker: None,
            flow: Flow::default(),
        };
        Self { state: Mutex::new(state), config, owner, call, observer: None }
    }

    /// Driver: bytes of a DATA frame. Returns the bytes of receive window to
    /// give back now. The reader is woken once it can do something with them,
    /// not before.
    #[must_use]
    pub fn push(&self, data: &[u8]) -> usize {
        let mut inbox = self.lock();
        if inbox.abandoned || inbox.end.is_some() {
            return data.len();
        }
        inbox.arrived.push(data);
        inbox.flow.received += data.len() as u64;
        let waker = inbox.waker_if_readable();
        let credit = if inbox.flow.credit() >= self.credit_step() { inbox.flow.release() } else { 0 };
        drop(inbox);
        wake(waker);
        credit
    }

    /// Driver, client side: the response headers came.
    pub fn set_headers(&self, headers: MetadataMap) {
        let mut inbox = self.lock();
        inbox.headers = Some(headers);
        let waker = inbox.waker.take();
        drop(inbox);
        wake(waker);
    }

    /// Driver, client side: the response headers say how messages may be compressed. Before any of them comes.
    pub fn set_encoding(&self, encoding: Encoding) {
        self.lock().arrived.set_encoding(encoding);
    }

    /// Driver: nothing more comes. `None` is a clean end, and a message that
    /// is not complete then is INTERNAL (wire-rules 45); a status is delivered
    /// after the messages that are complete. Only the first end counts.
    pub fn finish(&self, status: Option<Status>) {
        self.end(status.map_or_else(|| End::Clean(MetadataMap::new()), End::Failed));
    }

    /// Driver, client side: as [`finish`](Self::finish) with success and these trailers.
    pub fn finish_with_trailers(&self, trailers: MetadataMap) {
        self.end(End::Clean(trailers));
    }

    /// Driver: bytes of receive window to give back, each reported once.
    #[must_use]
    pub fn take_credit(&self) -> usize {
        self.lock().flow.release()
    }

    /// Whether the reader is gone.
    pub fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Whether the end has come, read or not.
    pub fn is_finished(&self) -> bool {
        self.lock().end.is_some()
    }

    pub(crate) fn config(&self) -> &InboxConfig {
        &self.config
    }

    /// Who is told of each message that the reader takes.
    pub(crate) fn observer(&self) -> Option<&MessageObserver> {
        self.observer.as_ref()
    }

    /// Reader: fetches what has arrived behind what is left in `local`, having
    /// taken messages up to position `taken`. If there is nothing to decode,
    /// leaves `local`'s rest here to be completed, and waits.
    pub(crate) fn fetch(&self, local: &mut Deframer, taken: u64, cx: &Context<'_>) -> Fetched {
        let mut inbox = self.lock();
        inbox.flow.taken = taken;
        inbox.flow.wanted = None;
        local.set_encoding(inbox.arrived.encoding());
        if !inbox.arrived.unread().is_empty() {
            local.take_from(&mut inbox.arrived);
        }
        let fetched = if local.missing() == 0 {
            Fetched::More
        } else if let Some(end) = inbox.end.take() {
            // The end stays told, so that nothing is pushed behind it.
            inbox.end = Some(End::Clean(MetadataMap::new()));
            Fetched::Ended(end)
        } else {
            if !local.unread().is_empty() {
                inbox.arrived.take_from(local);
            }
            local.release_idle();
            inbox.arrived.release_idle();
            inbox.flow.wanted = Some(inbox.flow.received + inbox.arrived.missing() as u64);
            inbox.store_waker(cx);
            Fetched::Waiting
        };
        self.notify_credit(inbox);
        fetched
    }

    /// Reader: messages were taken up to position `taken`.
    pub(crate) fn set_taken(&self, taken: u64) {
        let mut inbox = self.lock();
        inbox.flow.taken = taken;
        self.notify_credit(inbox);
    }

    /// Reader: the headers, once; `Err` if the call ended without any, with
    /// the status if it failed. `None` to wait.
    pub(crate) fn fetch_headers(&self, cx: &Context<'_>) -> Option<Result<MetadataMap, Option<Status>>> {
        let mut inbox = self.lock();
        if let Some(headers) = inbox.headers.take() {
            return Some(Ok(headers));
        }
        match &inbox.end {
            Some(End::Failed(status)) => Some(Err(Some(status.clone()))),
            Some(End::Clean(_)) => Some(Err(None)),
            None => {
                inbox.store_waker(cx);
                None
            }
        }
    }

    /// Reader: the headers, if they came.
    pub(crate) fn take_headers(&self) -> Option<MetadataMap> {
        self.lock().headers.take()
    }

    /// Reader: a status that it came to by itself, with what the owner knows of the call.
    #[cold]
    pub(crate) fn explain(&self, status: Status) -> Status {
        match &self.owner {
            Some(owner) => owner.explain(status),
            None => status,
        }
    }

    /// Reader: will not read on. Tells the owner if the end has not come.
    pub(crate) fn abandon(&self) {
        let mut inbox = self.lock();
        let open = !inbox.abandoned && inbox.end.is_none();
        inbox.abandoned = true;
        inbox.arrived.discard();
        // What nobody will read costs its sender no window.
        inbox.flow.taken = inbox.flow.received;
        inbox.flow.wanted = None;
        inbox.waker = None;
        drop(inbox);
        if let Some(owner) = &self.owner
            && open
        {
            owner.dropped(self.call);
        }
    }

    #[inline]
    pub(crate) fn credit_step(&self) -> u64 {
        self.config.credit_step as u64
    }

    fn end(&self, end: End) {
        let mut inbox = self.lock();
        inbox.end.get_or_insert(end);
        let waker = inbox.waker.take();
        drop(inbox);
        wake(waker);
    }

    /// Unlocks, then tells the owner if enough credit has gathered.
    fn notify_credit(&self, inbox: MutexGuard<'_, Inbox>) {
        let due = inbox.flow.credit() >= self.credit_step() && inbox.end.is_none();
        drop(inbox);
        if let Some(owner) = &self.owner
            && due
        {
            owner.credit_available(self.call);
        }
    }

    /// A panic elsewhere cannot leave the inbox half changed.
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    /// The waiting reader, if it has something to read now.
    fn waker_if_readable(&mut self) -> Option<Waker> {
        if self.flow.received < self.flow.wanted? {
            return None;
        }
        match self.arrived.missing() {
            0 => self.waker.take(),
            // A prefix is complete and tells how far the message reaches.
            missing => {
                self.flow.wanted = Some(self.flow.received + missing as u64);
                None
            }
        }
    }

    fn store_waker(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }
}

impl Flow {
    /// Bytes that may be given back.
    fn credit(&self) -> u64 {
        self.releasable().saturating_sub(self.released)
    }

    fn release(&mut self) -> usize {
        let credit = self.credit();
        self.released += credit;
        credit as usize
    }

    fn releasable(&self) -> u64 {
        // What is wanted is never behind what was taken.
        self.wanted.map_or(self.taken, |wanted| wanted.min(self.received))
    }
}

impl fmt::Debug for SharedInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inbox = self.lock();
        f.debug_struct("SharedInbox")
            .field("unread", &inbox.arrived.unread().len())
            .field("ended", &inbox.end.is_some())
            .field("abandoned", &inbox.abandoned)
            .field("flow", &inbox.flow)
            .finish_non_exhaustive()
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
