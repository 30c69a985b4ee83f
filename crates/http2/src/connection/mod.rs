//! One HTTP/2 connection as a machine: octets, commands and the time go in, events and octets come out.
//!
//! This file has the state and its construction. `input` dispatches what arrives (`headers`, `data_read`,
//! `settings`, `goaway` have the larger frame types), `commands` and `data_write` have what the owner asks
//! for, `timeouts` the clock.

mod adaptive;
mod backlog;
mod commands;
mod config;
mod counters;
mod data_read;
mod data_write;
mod event;
mod fields;
mod goaway;
mod headers;
mod ids;
mod input;
mod keepalive;
mod ping_policy;
mod settings;
mod stall;
mod timeouts;
mod watch;
mod whole;
mod whole_call;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

pub use self::adaptive::AdaptiveWindows;
use self::adaptive::Path;
pub use self::config::{Config, Role};
pub use self::counters::Counters;
pub use self::data_write::DataWrite;
pub use self::event::{Event, Initiator, Progress};
use self::goaway::Shutdown;
use self::headers::PartialBlock;
use self::ids::StreamIds;
pub use self::keepalive::Keepalive;
use self::keepalive::Pulse;
pub use self::ping_policy::PingPolicy;
use self::ping_policy::PingWatch;
use self::settings::{DEFAULT_TABLE_SIZE, DEFAULT_WINDOW_SIZE, PeerSettings};
use self::timeouts::{Timer, Timers};
use self::watch::Watch;
pub use self::whole::{RequestWrite, WholeResponse};
pub use self::whole_call::{ResponseWrite, WholeRequest};
use crate::budget::Ledger;
use crate::flow::{RecvWindow, Window};
use crate::hpack::{Decoder, Encoder};
use crate::limits::Limits;
use crate::memo::Memo;
use crate::output::Output;
use crate::schedule::Schedule;
use crate::stream::Store;
use crate::{StreamId, StreamKey};

/// An HTTP/2 connection without I/O, clock or randomness (RFC 9113).
///
/// The owner loops: give it what the socket has with [`handle_input`](Self::handle_input) until that consumes
/// nothing more (or [`wants_input`](Self::wants_input) says to wait), acting on each event and draining
/// [`poll_event`](Self::poll_event); then [`poll_output`](Self::poll_output), write
/// [`output_slices`](Self::output_slices) and [`advance_output`](Self::advance_output), drain
/// [`poll_event`](Self::poll_event) once more; then wait for the socket, for
/// [`next_timeout`](Self::next_timeout) or for a command of its own.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    config: Config,
    phase: Phase,
    shutdown: Shutdown,
    /// The PING between the two GOAWAY of our shutdown has not come back; it may after the second one.
    drain_ping_out: bool,
    /// From the peer's GOAWAY.
    peer_last_stream: Option<StreamId>,
    peer: PeerSettings,
    /// Our SETTINGS have not been acknowledged.
    settings_due: bool,
    timers: Timers,
    /// When octets arrived last; before that, when the connection began.
    received_at: Instant,
    /// Timers that only run on connections in use are stopped.
    asleep: bool,
    pulse: Option<Pulse>,
    pings: PingWatch,
    idle_watch: Option<Watch>,
    write_watch: Option<Watch>,
    limits: Limits,
    counters: Counters,

    decoder: Decoder,
    memo: Memo,
    /// A header block that is not complete yet.
    partial: Option<Box<PartialBlock>>,
    encoder: Encoder,

    ids: StreamIds,
    streams: Store,
    schedule: Schedule,
    /// What the connection may send.
    send_window: Window,
    /// What the peer may send on the connection.
    recv_window: RecvWindow,
    /// All the credit the peer ever got on the connection, in octets; what is gathered counts when it goes out.
    announced: u64,
    /// With adaptive windows.
    path: Option<Path>,
    /// What the peer may send on a new stream.
    recv_window_size: u32,

    output: Output,
    /// The byte stream has taken output that it has not passed on.
    held_back: bool,
    events: VecDeque<Event<'static>>,
    /// Streams whose own queue has room and which wait for the output to have some.
    writable_later: Vec<StreamKey>,
    /// The owner wants to hear when the backlog is gone.
    relief_wanted: bool,
    last_fault: &'static str,
}

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Server: the client's preface is due.
    AwaitPreface,
    /// The peer's first SETTINGS are due.
    AwaitSettings,
    /// Anything goes.
    Ready,
    /// GOAWAY is queued, nothing that arrives counts any more.
    Over,
}

impl Connection {
    /// Starts a connection: the client's preface, SETTINGS and the connection's window are queued as output.
    pub fn new(role: Role, mut config: Config, now: Instant) -> Self {
        config.whole_requests &= role == Role::Server;
        let ledger = config.adaptive_windows.as_ref().map_or_else(Ledger::default, |adaptive| {
            Ledger::new(u64::from(adaptive.max_connection_window), adaptive.budget.clone())
        });
        let mut connection = Connection {
            role,
            phase: match role {
                Role::Client => Phase::AwaitSettings,
                Role::Server => Phase::AwaitPreface,
            },
            shutdown: Shutdown::Serving,
            drain_ping_out: false,
            peer_last_stream: None,
            peer: PeerSettings::new(),
            settings_due: true,
            timers: Timers::default(),
            received_at: now,
            asleep: false,
            pulse: None,
            pings: PingWatch::default(),
            idle_watch: None,
            write_watch: None,
            limits: Limits::new(&config.limits, now),
            decoder: Decoder::new(config.header_table_size as usize),
            counters: Counters::default(),
            memo: Memo::new(config.hash_seed),
            partial: None,
            encoder: Encoder::new(config.hash_seed),
            ids: StreamIds::new(role, config.first_stream_id),
            streams: Store::new((role == Role::Server).then_some(config.hash_seed), ledger),
            schedule: Schedule::default(),
            send_window: Window::new(DEFAULT_WINDOW_SIZE),
            recv_window: RecvWindow::new(config.connection_window_size.max(DEFAULT_WINDOW_SIZE)),
            announced: 0,
            path: None,
            // Until the peer acknowledges our SETTINGS it may still go by the default, if that allows more.
            recv_window_size: config.initial_window_size.max(DEFAULT_WINDOW_SIZE),
            output: Output::default(),
            held_back: false,
            events: VecDeque::new(),
            writable_later: Vec::new(),
            relief_wanted: false,
            last_fault: "",
            config,
        };
        if role == Role::Client {
            // [9113-3.4-1]
            connection.output.frames().extend_from_slice(input::PREFACE);
        }
        connection.encoder.set_peer_limit(connection.config.header_table_size.min(DEFAULT_TABLE_SIZE));
        connection.write_first_settings();
        connection.announced = u64::from(connection.recv_window.size());
        let window = connection.config.initial_window_size;
        connection.path =
            connection.config.adaptive_windows.as_ref().map(|adaptive| Path::new(window, adaptive));
        connection.set_first_timers(now);
        connection
    }

    /// Events that no frame just parsed has caused. Drain after every other call that may cause some.
    pub fn poll_event(&mut self) -> Option<Event<'static>> {
        loop {
            match self.events.pop_front()? {
                // The stream may have ended since.
                Event::Writable { stream } if self.streams.get(stream).is_none() => {}
                event => return Some(event),
            }
        }
    }

    /// Fills `slices` with the front of the output; returns how many are filled.
    pub fn output_slices<'s>(&'s self, slices: &mut [IoSlice<'s>]) -> usize {
        self.output.slices(slices)
    }

    /// Takes `written` octets off the front of the output.
    pub fn advance_output(&mut self, written: usize) {
        self.output.advance(written);
        self.on_output_taken();
    }

    /// Tells whether the byte stream holds octets back that it took, as an encrypting one does while its socket is
    /// full. Until they have left, the peer is watched as if they were output still
    /// ([`write_stall_timeout`](Config::write_stall_timeout)).
    #[inline]
    pub fn set_held_back(&mut self, held_back: bool) {
        self.held_back = held_back;
    }

    /// Octets of output not yet taken.
    pub fn output_len(&self) -> usize {
        self.output.len()
    }

    /// False while so much output is waiting that reading on would only add to it: a peer that asks and does
    /// not read. Stop reading the socket until it has taken some.
    ///
    /// Cannot stall two ends that keep the rules: stream data stops at the high-water mark, far below, and
    /// heads and trailers beyond it are bounded by the streams that a peer may have open.
    pub fn wants_input(&self) -> bool {
        self.output.len() < self.config.write_buffer_high_water.saturating_mul(4).max(MIN_BACKLOG)
    }

    /// What was refused or given up on so far, by name.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Gives memory kept for reuse back to the allocator. Called by the connection itself when
    /// [`Config::trim_after`] has passed in silence.
    pub fn trim(&mut self) {
        self.output.trim();
        self.memo.trim();
        self.streams.trim();
        self.schedule.trim();
        self.ids.trim();
        self.events.shrink_to_fit();
        self.writable_later.shrink_to_fit();
    }
}

/// Octets of output that never stop the reading, however low the high-water mark is.
const MIN_BACKLOG: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
