//! One connection's calls.
//!
//! [`Serving`] is the endpoint that the transport's driver drives: it owns the engine (inside its
//! [`Wire`]), the table of calls, and the spare slots in which calls live. The way of a call:
//!
//! 1. [`events`]: a HEADERS event opens a [`Call`]; DATA completes its request, or feeds its inbox.
//! 2. [`run`]: a slot is filled and, unless the method is known to be slow, polled at once, in place.
//! 3. A call that is not ready is parked in the table, and polled again when its waker left a note in the mailbox.
//! 4. Its end writes trailers and gives the slot back.

mod call;
mod deadlines;
mod events;
mod handlers;
mod observed;
mod put_off;
mod run;
mod slow_request;
mod spawned;
mod wakers;
mod whole;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;
use std::time::Instant;

use peregrine_core::DecodeLimits;
#[cfg(feature = "_tls")]
use peregrine_core::PeerIdentity;
use peregrine_core::call::Peer;
use peregrine_core::observe::{ConnectionEvent, ConnectionInfo, EndedBy};
use peregrine_http2::{Connection, Event, StreamKey};
use peregrine_transport::driver::{Closed, Endpoint};

use self::call::{Call, CallState, Entry, SpareSlots};
use self::deadlines::Deadlines;
use self::handlers::Orphans;
use self::observed::Told;
use self::slow_request::Refused;
use self::wakers::Wakers;
use crate::call::mailbox::{Mail, Mailbox};
use crate::call::wire::Wire;
use crate::options::Options;
use crate::router::Router;

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) router: Router,
    pub(crate) options: Options,
    pub(crate) limits: DecodeLimits,
    /// The observer of `options` wants to be told of every message.
    pub(crate) observes_messages: bool,
}

/// The calls of one connection.
#[derive(Debug)]
pub(crate) struct Serving {
    shared: Arc<Shared>,
    info: ConnectionInfo,
    /// What requests know of the other end.
    peer: Arc<Peer>,
    /// Lent to the port of a call while that is polled; here at any other time.
    wire: Option<Box<Wire>>,
    /// By the engine's stream index.
    calls: Vec<Option<Entry>>,
    wakers: Wakers,
    slots: SpareSlots,
    deadlines: Deadlines,
    /// Made when the first call is spawned.
    orphans: Option<Arc<Orphans>>,
    /// When to look for requests that do not get whole.
    receive_look: Option<Instant>,
    /// Calls that have not begun because of the backlog, and some that are gone.
    put_off: VecDeque<StreamKey>,
    /// Requests that are no gRPC at all, until they have been read to their end; as many as there are streams.
    refused: Vec<Refused>,
    mailbox: Arc<Mailbox>,
    mail: Mail,
    /// Calls that were not answered to their end because their connection was cut, on all connections.
    cut_calls: Arc<AtomicUsize>,
    /// The connection has ended by itself: whatever it still holds was given up by the client.
    closed: bool,
    shutting_down: bool,
    /// What the observer knows.
    told: Told,
    /// A call asked for its messages to leave at once ([`Sender::flush`](peregrine_core::Sender::flush)).
    flush_requested: bool,
    /// A call that was begun by an event has made a batch, or flushed: that leaves before the call goes on.
    writes_first: bool,
    /// Polls in place so far; every so many is timed.
    polls: u32,
}

impl Serving {
    pub(crate) fn new(
        shared: Arc<Shared>,
        info: ConnectionInfo,
        connection: Connection,
        mailbox: Arc<Mailbox>,
        cut_calls: Arc<AtomicUsize>,
    ) -> Self {
        let serving = Self {
            wire: Some(Box::new(Wire::new(
                connection,
                shared.options.stream_batch_size,
                shared.observes_messages,
            ))),
            slots: SpareSlots::default(),
            peer: Arc::new(Peer { addr: info.peer.clone(), identity: info.peer_identity.clone() }),
            info,
            calls: Vec::new(),
            wakers: Wakers::default(),
            deadlines: Deadlines::default(),
            orphans: None,
            receive_look: None,
            put_off: VecDeque::new(),
            refused: Vec::new(),
            mailbox,
            mail: Mail::default(),
            cut_calls,
            closed: false,
            shutting_down: false,
            told: Told::default(),
            flush_requested: false,
            writes_first: false,
            polls: 0,
            shared,
        };
        serving.observe(&ConnectionEvent::Opened);
        serving
    }

    /// The TLS handshake is over: what the client has proven to be.
    #[cfg(feature = "_tls")]
    pub(crate) fn on_secured(&mut self, identity: Option<PeerIdentity>) {
        self.info.peer_identity = identity.map(Arc::new);
        let identity = self.info.peer_identity.clone();
        self.peer = Arc::new(Peer { addr: self.info.peer.clone(), identity });
    }

    fn wire(&mut self) -> &mut Wire {
        match &mut self.wire {
            Some(wire) => wire,
            // `run` puts it back after each poll, panics included.
            None => unreachable!("the connection was used while a call holds it"),
        }
    }

    /// The call on this very stream; an index alone may belong to a later one.
    fn entry(&self, key: StreamKey) -> Option<&Entry> {
        self.calls.get(key.index())?.as_ref().filter(|entry| entry.call.key() == key)
    }

    fn entry_mut(&mut self, key: StreamKey) -> Option<&mut Entry> {
        self.calls.get_mut(key.index())?.as_mut().filter(|entry| entry.call.key() == key)
    }

    fn take_entry(&mut self, key: StreamKey) -> Option<Entry> {
        self.calls.get_mut(key.index())?.take_if(|entry| entry.call.key() == key)
    }

    #[inline]
    fn insert(&mut self, call: Call, state: CallState) {
        let index = call.key().index();
        if index >= self.calls.len() {
            self.calls.resize_with(index + 1, || None);
        }
        // What is there may be a finished call that was still draining; the engine has reused its index.
        self.calls[index] = Some(Entry { call, state });
    }

    fn cancel_all(&mut self) {
        for entry in std::mem::take(&mut self.calls).into_iter().flatten() {
            Self::cancel(entry);
        }
    }

    fn start_shutdown(&mut self, now: Instant) {
        if !self.shutting_down {
            self.shutting_down = true;
            self.wire().connection.graceful_shutdown(now);
        }
    }
}

impl Endpoint for Serving {
    fn connection(&mut self) -> &mut Connection {
        &mut self.wire().connection
    }

    #[inline]
    fn take_input(&mut self, input: &[u8], now: Instant) -> usize {
        self.take_request(input, now)
    }

    fn handle_event(&mut self, event: Event<'_>, now: Instant) {
        self.on_event(event, now);
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        if std::mem::take(&mut self.writes_first) {
            self.flush_requested = false;
            cx.waker().wake_by_ref();
            return false;
        }
        let mailbox = Arc::clone(&self.mailbox);
        let mut mail = std::mem::take(&mut self.mail);
        mailbox.take(&mut mail, cx);
        if mailbox.is_shutting_down() {
            self.start_shutdown(now);
        }
        for parcel in mail.parcels.drain(..) {
            self.on_parcel(parcel);
        }
        for index in mail.woken.drain(..) {
            self.on_woken(index as usize);
        }
        self.mail = mail;
        // The driver writes now, before anything that was polled here is polled again.
        self.writes_first = false;
        self.observe_turn();
        // Without more work in sight the driver writes; what came meanwhile has woken it.
        !std::mem::take(&mut self.flush_requested) && mailbox.has_mail()
    }

    fn next_timeout(&self) -> Option<Instant> {
        match (self.deadlines.next(), self.receive_look) {
            (Some(deadline), Some(look)) => Some(deadline.min(look)),
            (deadline, look) => deadline.or(look),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(key) = self.deadlines.pop_due(now) {
            self.on_deadline(key, now);
        }
        if self.receive_look.is_some_and(|at| at <= now) {
            self.look_for_slow_requests(now);
        }
    }

    fn batch_size(&self) -> usize {
        self.shared.options.stream_batch_size
    }

    fn is_finished(&self) -> bool {
        let drained = |wire: &Wire| wire.connection.is_shutting_down() && wire.connection.is_drained();
        self.wire.as_deref().is_some_and(drained)
    }

    // wire-rules 81
    fn on_closed(&mut self, closed: &Closed) {
        self.closed = true;
        self.observe_closed(closed);
        self.cancel_all();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(wire) = &self.wire
            && !self.closed
        {
            self.cut_calls.fetch_add(wire.connection.open_streams(), Ordering::Relaxed);
            self.observe(&ConnectionEvent::Closed { by: EndedBy::Local, reason: "cut" });
        }
        self.cancel_all();
    }
}
