//! A client and a server joined by a link that slices octets at random, in virtual time.

use std::time::{Duration, Instant};

use super::Seen;
use super::scripted::take_output;
use crate::connection::{Config, Connection, Role};

/// A small generator of reproducible numbers.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(2) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 33)
    }

    /// Below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One time in `times`.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// One end with the octets that are on their way to it.
#[derive(Debug)]
pub(super) struct End {
    pub(super) connection: Connection,
    incoming: Vec<u8>,
}

impl End {
    /// Puts up to `most` octets of output on their way.
    fn send(&mut self, to: &mut End, most: usize) {
        self.connection.poll_output();
        take_output(&mut self.connection, most, &mut to.incoming);
    }

    /// Parses what has arrived.
    fn receive(&mut self, now: Instant) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut at = 0;
        loop {
            let progress = self.connection.handle_input(&self.incoming[at..], now).unwrap();
            seen.extend(progress.event.map(Seen::from));
            while let Some(event) = self.connection.poll_event() {
                seen.push(event.into());
            }
            at += progress.consumed;
            if progress.consumed == 0 {
                self.incoming.drain(..at);
                return seen;
            }
        }
    }
}

/// Both ends.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) client: End,
    pub(super) server: End,
    pub(super) now: Instant,
}

/// What happened at which end.
#[derive(Debug, Default)]
pub(super) struct Happened {
    pub(super) client: Vec<Seen>,
    pub(super) server: Vec<Seen>,
}

impl Pair {
    pub(super) fn new(client: Config, server: Config) -> Self {
        let now = Instant::now();
        let end = |role, config| End { connection: Connection::new(role, config, now), incoming: Vec::new() };
        Pair { client: end(Role::Client, client), server: end(Role::Server, server), now }
    }

    /// A pair whose handshake is done.
    pub(super) fn ready() -> Self {
        let mut pair = Self::new(Config::client(), Config::server());
        pair.settle();
        pair
    }

    /// Moves up to `most` octets each way and parses them.
    pub(super) fn step(&mut self, most: usize) -> Happened {
        self.now += Duration::from_millis(1);
        let Pair { client, server, now } = self;
        client.send(server, most);
        server.send(client, most);
        let mut happened = Happened { client: client.receive(*now), server: server.receive(*now) };
        for (end, seen) in [(client, &mut happened.client), (server, &mut happened.server)] {
            while let Some(event) = end.connection.poll_event() {
                seen.push(event.into());
            }
        }
        happened
    }

    /// Moves octets until none are left.
    pub(super) fn settle(&mut self) -> Happened {
        let mut all = Happened::default();
        while self.client.connection.poll_output() || self.server.connection.poll_output() {
            let happened = self.step(usize::MAX);
            all.client.extend(happened.client);
            all.server.extend(happened.server);
        }
        all
    }
}
