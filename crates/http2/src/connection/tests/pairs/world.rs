//! A client and a server with their upper layers and the two ways between them, in virtual time.
//!
//! [`World::run`] plays a [`Case`]: does each of its ops, lets time pass, checks the invariants after every one
//! (`check`), and in the end heals the ways, reads everything, ends everything and compares what became of each stream
//! at both ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::case::{Case, Foreign, Life, Op, SHORTEST_TIMEOUT, Setup};
use super::check::settle_ended;
use super::layer::{FOREIGN_PING, Layer, Outcome};
use super::link::Link;
use crate::connection::{Connection, Event, Role};
use crate::error::{Blame, ConnectionError};
use crate::frame::{Dependency, Ping, Priority, Setting, Settings};
use crate::{ErrorCode, StreamId};

/// One end with its upper layer.
#[derive(Debug)]
pub(super) struct End {
    pub(super) connection: Connection,
    pub(super) layer: Layer,
    /// Octets that have arrived and wait for the rest of their frame.
    pub(super) incoming: Vec<u8>,
    pub(super) ended: Option<Ended>,
    /// The most octets that ever waited to be sent, and the most streams that were open.
    pub(super) peak: usize,
    pub(super) peak_streams: usize,
    /// When it was; a closing end does not wait for ever for its peer to read.
    ended_at: Option<Instant>,
    closed: bool,
}

/// How an end came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All was said.
    Drained,
    Failed(ConnectionError),
    Aborted,
    PeerClosed,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) client: End,
    pub(super) server: End,
    /// From the client.
    pub(super) up: Link,
    /// From the server.
    pub(super) down: Link,
    pub(super) now: Instant,
    began: Instant,
    /// How long octets were kept from arriving, in all.
    pub(super) kept: Duration,
    /// Something got lost on the way.
    pub(super) cut: bool,
    /// Settings were slipped in: from the client, from the server.
    pub(super) meddled: [bool; 2],
    next_ping: u64,
    /// PINGs that were asked for or slipped in: from the client, from the server.
    pings: [u64; 2],
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) time: Duration,
    pub(super) opened: u64,
    pub(super) complete: u64,
    pub(super) reset: u64,
    pub(super) refused: u64,
    pub(super) lost: u64,
    pub(super) octets: u64,
    pub(super) timeouts: u64,
    pub(super) limits: u64,
}

impl World {
    pub(super) fn new(setup: Setup, now: Instant) -> Self {
        let end = |role| End {
            connection: Connection::new(role, setup.config(role), now),
            layer: Layer::new(role),
            incoming: Vec::new(),
            ended: None,
            peak: 0,
            peak_streams: 0,
            ended_at: None,
            closed: false,
        };
        let client = end(Role::Client);
        World {
            setup,
            client,
            server: end(Role::Server),
            up: Link::new(true),
            down: Link::new(false),
            now,
            began: now,
            kept: Duration::ZERO,
            cut: false,
            meddled: [false; 2],
            next_ping: 0,
            pings: [0, 0],
        }
    }

    /// Plays `case` to its end.
    pub(super) fn run(case: &Case, began: Instant) -> Tally {
        World::new(case.setup, began).play(&case.ops)
    }

    pub(super) fn play(&mut self, ops: &[Op]) -> Tally {
        for op in ops {
            self.act(*op);
            self.check();
            // Time counts only as long as somebody is there.
            if self.client.closed && self.server.closed {
                break;
            }
        }
        let time = self.now - self.began;
        self.finish();
        Tally { time, ..self.tally() }
    }

    /// The end, its layer, and the layer of the other.
    fn parts(&mut self, role: Role) -> (&mut End, &mut Link, &mut Link, &Layer) {
        let World { client, server, up, down, .. } = self;
        match role {
            Role::Client => (client, up, down, &server.layer),
            Role::Server => (server, down, up, &client.layer),
        }
    }

    fn act(&mut self, op: Op) {
        match op {
            Op::Wait { ms } => return self.pass(Duration::from_millis(u64::from(ms))),
            Op::Link { from, most, delay_ms, room } => {
                let link = self.parts(from).1;
                link.most = most as usize;
                link.delay = Duration::from_millis(u64::from(delay_ms));
                link.room = room as usize;
                // Slow octets are late ones as well.
                if most < 5_000 || room < 65_536 || delay_ms > 0 {
                    self.kept += SLOW;
                }
                return;
            }
            Op::Stall { from, ms } => {
                let (now, time) = (self.now, Duration::from_millis(u64::from(ms)));
                self.kept += time;
                return self.parts(from).1.stall(now, time);
            }
            Op::Cut { from } => {
                self.cut = true;
                for role in [Role::Client, Role::Server] {
                    if from.is_none_or(|from| from == role) {
                        self.parts(role).1.cut();
                    }
                }
                return;
            }
            Op::Inject { from, frame } => return self.inject(from, frame),
            _ => {}
        }
        if let Op::Ping { by } = op {
            self.pings[by as usize] += 1;
        }
        let now = self.now;
        let ping = self.next_ping;
        self.next_ping += 1;
        let (end, pick) = match op {
            Op::Open { .. } => (&mut self.client, 0),
            Op::Head { pick, .. } => (&mut self.server, pick),
            Op::Write { by, pick, .. }
            | Op::End { by, pick }
            | Op::Trailers { by, pick, .. }
            | Op::Reset { by, pick, .. }
            | Op::ResetWhenSent { by, pick, .. }
            | Op::Discard { by, pick }
            | Op::Release { by, pick, .. } => (self.parts(by).0, pick),
            Op::Ping { by } | Op::Graceful { by } | Op::Abort { by, .. } | Op::Trim { by } => {
                (self.parts(by).0, 0)
            }
            _ => return,
        };
        if end.ended.is_some() {
            return;
        }
        let id = end.layer.pick(pick);
        act_on(end, op, id, now, ping);
    }

    fn inject(&mut self, from: Role, frame: Foreign) {
        let mut octets = Vec::new();
        match frame {
            Foreign::Ping => {
                self.pings[from as usize] += 1;
                Ping { ack: false, payload: FOREIGN_PING }.encode(&mut octets);
            }
            Foreign::Priority => {
                let dependency = Dependency { exclusive: true, parent: StreamId::new(7), weight: 9 };
                Priority { stream: StreamId::new(1_001), dependency }.encode(&mut octets);
            }
            Foreign::Unknown => octets.extend_from_slice(b"\0\0\x05\xbe\xff\0\0\0\x01hello"),
            Foreign::Settings { window, table, list, streams } => {
                self.meddled[from as usize] = true;
                let mut entries = vec![
                    Setting::InitialWindowSize(window),
                    Setting::HeaderTableSize(table),
                    Setting::MaxHeaderListSize(list),
                    Setting::Unknown(0x1234, 9),
                ];
                if from == Role::Server {
                    entries.push(Setting::MaxConcurrentStreams(streams));
                }
                Settings::encode_entries(&entries, &mut octets);
            }
        }
        self.parts(from).1.inject(octets);
    }

    /// Lets both ends run until `time` has passed.
    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.settle();
            let next = self.next();
            self.now = next.map_or(until, |next| next.min(until)).max(self.now);
            if self.now >= until {
                return self.settle();
            }
        }
    }

    /// Both ends run until neither has anything to do at this instant.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 1_000_000, "no rest");
            let client = self.turn(Role::Client);
            let server = self.turn(Role::Server);
            if !client && !server {
                return;
            }
        }
    }

    /// PINGs that an end may have got, those that its peer sends by itself included.
    fn pings_to(&self, role: Role) -> u64 {
        let peer = if role == Role::Client { Role::Server } else { Role::Client };
        self.pings[peer as usize] + u64::from(self.setup.end(peer).life.keepalive)
    }

    /// When something will happen by itself.
    fn next(&self) -> Option<Instant> {
        let mut next = [self.up.next(self.now), self.down.next(self.now)].into_iter().flatten().min();
        let mut sooner = |at: Instant| next = Some(next.map_or(at, |next| next.min(at)));
        for (end, link) in [(&self.client, &self.up), (&self.server, &self.down)] {
            if end.closed {
                continue;
            }
            if let Some(at) = end.connection.next_timeout()
                && end.ended.is_none()
            {
                sooner(at);
            }
            if let Some(at) = end.ended_at {
                sooner(at + LINGER);
            }
            if end.connection.output_len() > 0 && link.takes_more_later() {
                sooner(self.now + Duration::from_millis(1));
            }
        }
        // What is stuck now is not sooner than the next millisecond.
        next.map(|next| next.max(self.now + Duration::from_millis(1)))
    }

    /// What the loop around a socket does. True if anything moved.
    fn turn(&mut self, role: Role) -> bool {
        let (now, kept, pings) = (self.now, self.kept, self.pings_to(role));
        let life = self.setup.end(role).life;
        let (end, out, into, other) = self.parts(role);
        if end.closed {
            return false;
        }
        let mut moved = false;
        if end.ended.is_none() {
            moved |= end.read(into, other, now);
            if end.ended.is_none()
                && end.connection.next_timeout().is_some_and(|at| at <= now)
                && let Err(error) = end.connection.handle_timeout(now)
            {
                end.on_error(error, now);
                moved = true;
            }
            end.drain_events(other);
        }
        end.peak = end.peak.max(end.connection.output_len());
        moved |= out.take(&mut end.connection, now);
        if end.ended.is_none() {
            end.drain_events(other);
            settle_ended(end);
            if end.connection.is_drained() && end.connection.output_len() == 0 {
                assert!(end.layer.live.is_empty(), "drained with {:?}", end.layer.live);
                end.on_ended(Ended::Drained, now);
                moved = true;
            }
        }
        if let Some(Ended::Failed(error)) = end.ended {
            assert_excused(error, kept, &life, pings);
        }
        if let Some(at) = end.ended_at
            && (end.connection.output_len() == 0 || at + LINGER <= now)
        {
            end.closed = true;
            out.close();
            moved = true;
        }
        moved
    }

    /// Brings everything to its end.
    fn finish(&mut self) {
        self.up.heal();
        self.down.heal();
        for role in [Role::Client, Role::Server] {
            if std::mem::take(&mut self.meddled[role as usize]) {
                self.inject(role, Foreign::truth(self.setup.end(role)));
                self.meddled[role as usize] = false;
            }
        }
        for round in 0.. {
            assert!(round < 20_000, "no end");
            self.pass(Duration::from_millis(1));
            for role in [Role::Client, Role::Server] {
                let (end, ..) = self.parts(role);
                if end.ended.is_none() {
                    end.layer.finish_up(&mut end.connection);
                }
            }
            self.check();
            if [&self.client, &self.server].iter().all(|end| end.layer.live.is_empty()) {
                break;
            }
        }
        // The last frames of it all arrive as well.
        self.pass(Duration::from_secs(1));
        self.check_at_rest();
        let now = self.now;
        let (end, ..) =
            self.parts(if self.next_ping.is_multiple_of(2) { Role::Client } else { Role::Server });
        if end.ended.is_none() {
            end.connection.graceful_shutdown(now);
        }
        self.pass(Duration::from_secs(30));
        for end in [&self.client, &self.server] {
            assert!(end.closed, "{:?} does not end: {:?}", end.layer.role, end.connection);
        }
        self.compare();
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for half in self.client.layer.streams.values() {
            tally.opened += 1;
            tally.octets += (half.sent + half.received) as u64;
            match half.outcome {
                Some(Outcome::Complete) => tally.complete += 1,
                Some(Outcome::ResetHere(_) | Outcome::ResetThere(_)) => tally.reset += 1,
                Some(Outcome::Refused) => tally.refused += 1,
                Some(Outcome::Lost) | None => tally.lost += 1,
            }
        }
        for end in [&self.client, &self.server] {
            if let Some(Ended::Failed(error)) = end.ended {
                tally.timeouts += u64::from(error.blame() == Blame::Timeout);
                tally.limits += u64::from(error.blame() == Blame::Limit);
            }
        }
        tally
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.time += other.time;
        self.opened += other.opened;
        self.complete += other.complete;
        self.reset += other.reset;
        self.refused += other.refused;
        self.lost += other.lost;
        self.octets += other.octets;
        self.timeouts += other.timeouts;
        self.limits += other.limits;
    }
}

impl End {
    /// Reads and parses what has arrived, if the engine wants any.
    fn read(&mut self, from: &mut Link, other: &Layer, now: Instant) -> bool {
        if !self.connection.wants_input() {
            return false;
        }
        let any = from.deliver(now, &mut self.incoming);
        let incoming = std::mem::take(&mut self.incoming);
        let mut at = 0;
        loop {
            if let Some(event) = self.take_whole(&incoming[at..], now, &mut at) {
                self.layer.book(&mut self.connection, event, other);
                continue;
            }
            match self.connection.handle_input(&incoming[at..], now) {
                Ok(progress) => {
                    if let Some(event) = progress.event {
                        self.layer.book(&mut self.connection, event, other);
                    }
                    if progress.consumed == 0 {
                        break;
                    }
                    at += progress.consumed;
                }
                Err(error) => {
                    self.on_error(error, now);
                    return true;
                }
            }
        }
        self.incoming = incoming;
        self.incoming.drain(..at);
        self.drain_events(other);
        if from.is_at_end(now) {
            self.on_ended(Ended::PeerClosed, now);
            return true;
        }
        any
    }

    /// A request taken in the short way, as the event that it would be otherwise.
    fn take_whole<'a>(&mut self, input: &'a [u8], now: Instant, at: &mut usize) -> Option<Event<'a>> {
        let whole = self.connection.peek_request(input)?;
        let (head, id, data, len) = (Arc::clone(whole.head), whole.stream, whole.data, whole.len);
        let stream = self.connection.accept_request(id, data.len(), now);
        *at += len;
        Some(Event::Request { stream, head, data })
    }

    fn drain_events(&mut self, other: &Layer) {
        while let Some(event) = self.connection.poll_event() {
            self.layer.book(&mut self.connection, event, other);
        }
    }

    fn on_error(&mut self, error: ConnectionError, now: Instant) {
        self.on_ended(Ended::Failed(error), now);
    }

    fn on_ended(&mut self, ended: Ended, now: Instant) {
        self.ended = Some(ended);
        self.ended_at = Some(now);
        self.layer.on_closed();
    }
}

/// An op of one end.
fn act_on(end: &mut End, op: Op, id: Option<StreamId>, now: Instant, ping: u64) {
    let End { connection, layer, .. } = end;
    match (op, id) {
        (Op::Open { text, end }, _) => layer.open(connection, text, end),
        (Op::Ping { .. }, _) => {
            connection.ping(ping.to_be_bytes());
            layer.pings.push_back(ping.to_be_bytes());
        }
        (Op::Graceful { .. }, _) => connection.graceful_shutdown(now),
        (Op::Abort { code, .. }, _) => {
            connection.abort(ErrorCode(u32::from(code)), "as the test wants");
            end.on_ended(Ended::Aborted, now);
        }
        (Op::Trim { .. }, _) => connection.trim(),
        (Op::Head { text, end, .. }, Some(id)) => layer.send_head(connection, id, text, end),
        (Op::Write { len, shape, polite, .. }, Some(id)) => {
            layer.write(connection, id, len as usize, shape, polite);
        }
        (Op::End { .. }, Some(id)) => layer.end(connection, id),
        (Op::Trailers { text, .. }, Some(id)) => layer.send_trailers(connection, id, text),
        (Op::Reset { code, .. }, Some(id)) => {
            layer.reset(connection, id, ErrorCode(u32::from(code)), true);
        }
        (Op::ResetWhenSent { code, .. }, Some(id)) => {
            layer.reset(connection, id, ErrorCode(u32::from(code)), false);
        }
        (Op::Discard { .. }, Some(id)) => layer.discard(connection, id),
        (Op::Release { part, .. }, Some(id)) => layer.release(connection, id, part),
        _ => {}
    }
}

/// Two engines that keep the rules have no reason to end a connection but time: then octets must have been kept from
/// arriving, or the end was told to take only so long, or its peer asks too often.
fn assert_excused(error: ConnectionError, kept: Duration, life: &Life, pings: u64) {
    let excused = match error.blame() {
        Blame::Timeout => kept >= SHORTEST_TIMEOUT,
        Blame::Local => error.reason() == "drain timeout" && life.drain > 0,
        Blame::Limit => error.reason() == "too_many_pings" && life.policed && pings > 0,
        _ => false,
    };
    assert!(excused, "an end gave up for no reason: {error}");
}

/// How long an end that is over waits for its peer to read its last words.
const LINGER: Duration = Duration::from_secs(1);

/// What a slow way may keep octets for.
const SLOW: Duration = Duration::from_secs(5);
