//! What happens in a run, as plain data: it can be made from a seed, printed, cut down and played again.

use std::time::Duration;

use super::super::pair::Random;
use super::text::{CACHED, Text};
use crate::StreamId;
use crate::connection::ids::LAST_CLIENT;
use crate::connection::{AdaptiveWindows, Config, Keepalive, PingPolicy, Role};

/// One run: how both ends are set up, and what is done to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) setup: Setup,
    pub(super) ops: Vec<Op>,
}

/// Both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) client: EndSetup,
    pub(super) server: EndSetup,
    /// Streams that the client can still open before its ids are used up.
    pub(super) ids_left: u32,
}

/// One end. Octets, unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndSetup {
    pub(super) window: u32,
    pub(super) connection_window: u32,
    pub(super) frame: u32,
    pub(super) list: u32,
    pub(super) table: u32,
    pub(super) send_buffer: usize,
    pub(super) high_water: usize,
    /// Streams.
    pub(super) streams: u32,
    pub(super) seed: u64,
    pub(super) life: Life,
}

/// The timers of an end, in seconds; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) keepalive: u16,
    pub(super) idle: u16,
    pub(super) age: u16,
    pub(super) drain: u16,
    pub(super) write_stall: u16,
    pub(super) stream_stall: u16,
    /// Whether the peer's PINGs are policed.
    pub(super) policed: bool,
    pub(super) adaptive: bool,
}

impl EndSetup {
    pub(super) fn config(&self, role: Role) -> Config {
        let base = match role {
            Role::Client => Config::client(),
            Role::Server => Config::server(),
        };
        let Life { keepalive, idle, age, drain, write_stall, stream_stall, policed, adaptive } = self.life;
        let seconds = |figure: u16| (figure > 0).then(|| Duration::from_secs(u64::from(figure)));
        Config {
            keepalive: seconds(keepalive).map(|interval| Keepalive {
                interval,
                timeout: interval / 2,
                without_streams: keepalive % 2 == 0,
            }),
            ping_policy: policed.then(PingPolicy::default),
            max_idle: seconds(idle),
            max_age: seconds(age),
            drain_timeout: seconds(drain),
            write_stall_timeout: seconds(write_stall),
            stream_stall_timeout: seconds(stream_stall),
            adaptive_windows: adaptive.then(AdaptiveWindows::default),
            initial_window_size: self.window,
            connection_window_size: self.connection_window,
            max_frame_size: self.frame,
            max_header_list_size: self.list,
            header_table_size: self.table,
            send_buffer_per_stream: self.send_buffer,
            write_buffer_high_water: self.high_water,
            max_concurrent_streams: Some(self.streams),
            hash_seed: self.seed,
            whole_requests: self.seed.is_multiple_of(2),
            ..base
        }
    }
}

impl Setup {
    pub(super) fn end(&self, role: Role) -> &EndSetup {
        match role {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }

    pub(super) fn config(&self, role: Role) -> Config {
        let mut config = self.end(role).config(role);
        if self.ids_left < 1 << 20 {
            config.first_stream_id = StreamId::new(LAST_CLIENT.value() - 2 * (self.ids_left - 1));
        }
        config
    }

    /// Longest write in octets: little where the windows are tiny, or a run would not end.
    pub(super) fn longest(&self) -> usize {
        if self.client.window.min(self.server.window) < 1_000 { 50 } else { 100_000 }
    }
}

/// One thing that is done. `pick` chooses among the streams that the end has: 250 and above among those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// The client opens a stream.
    Open {
        text: Text,
        end: bool,
    },
    /// The server answers with a head.
    Head {
        pick: u8,
        text: Text,
        end: bool,
    },
    /// Stream data; `polite` asks whether there is room first.
    Write {
        by: Role,
        pick: u8,
        len: u32,
        shape: Shape,
        polite: bool,
    },
    /// The end without trailers.
    End {
        by: Role,
        pick: u8,
    },
    Trailers {
        by: Role,
        pick: u8,
        text: Text,
    },
    Reset {
        by: Role,
        pick: u8,
        code: u8,
    },
    ResetWhenSent {
        by: Role,
        pick: u8,
        code: u8,
    },
    Discard {
        by: Role,
        pick: u8,
    },
    /// The upper layer has used so many parts in 255 of what it holds.
    Release {
        by: Role,
        pick: u8,
        part: u8,
    },
    Ping {
        by: Role,
    },
    Graceful {
        by: Role,
    },
    Abort {
        by: Role,
        code: u8,
    },
    Trim {
        by: Role,
    },
    /// How octets travel from an end from now on: so many each millisecond, so many milliseconds long, with so much
    /// room on the way.
    Link {
        from: Role,
        most: u32,
        delay_ms: u16,
        room: u32,
    },
    /// Nothing arrives from an end for so long.
    Stall {
        from: Role,
        ms: u32,
    },
    /// The way is gone; both ways if there is no `from`.
    Cut {
        from: Option<Role>,
    },
    /// A frame of a legal stranger between those of an end.
    Inject {
        from: Role,
        frame: Foreign,
    },
    /// Time passes.
    Wait {
        ms: u32,
    },
}

/// How a write is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All copied.
    Plain,
    /// All by reference.
    Linked,
    /// Copied, by reference, copied.
    Mixed,
    /// Written in part and given up.
    GivenUp,
    /// More than was announced.
    Misjudged,
}

/// A frame that no engine of ours sends at that point, and that every engine must take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    Ping,
    Priority,
    Unknown,
    /// Lower values than the end announced; the true ones are restored before the end of the run.
    Settings {
        window: u32,
        table: u32,
        list: u32,
        streams: u32,
    },
}

/// What a run is mostly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// A little of everything.
    Mixed,
    /// Much data.
    Bulk,
    /// Many short streams with ever other metadata.
    Heads,
    /// Resets, discards, foreign settings.
    Games,
    /// Stalls, cuts, aborts, graceful ends and long waits.
    Faults,
}

impl Case {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let flavour =
            [Flavour::Mixed, Flavour::Mixed, Flavour::Bulk, Flavour::Heads, Flavour::Games, Flavour::Faults]
                [random.below(6)];
        let setup = Setup::random(&mut random);
        let count = 20 + random.below(150);
        Case { setup, ops: ops(&mut random, &setup, flavour, count) }
    }

    /// A connection of a long day: it lives for minutes to hours.
    pub(super) fn long(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let setup = Setup { ids_left: u32::MAX, ..Setup::random(&mut random) };
        let flavour = [Flavour::Faults, Flavour::Faults, Flavour::Games][random.below(3)];
        let count = 200 + random.below(3_000);
        Case { setup, ops: ops(&mut random, &setup, flavour, count) }
    }
}

impl Setup {
    fn random(random: &mut Random) -> Self {
        let end = |random: &mut Random| EndSetup {
            window: [1, 100, 20_000, 65_535, 262_144][random.below(5)],
            connection_window: [65_535, 100_000, 1 << 20][random.below(3)],
            frame: [16_384, 20_000, 1 << 20][random.below(3)],
            list: [1_000, 16_384, 50_000][random.below(3)],
            table: [0, 100, 150, 280, 4_096, 8_192][random.below(6)],
            send_buffer: [1, 1_000, 32 * 1024][random.below(3)],
            high_water: [500, 20_000, 256 * 1024][random.below(3)],
            streams: [1, 3, 100][random.below(3)],
            seed: random.next(),
            life: Life::random(random),
        };
        let (client, server) = (end(random), end(random));
        let ids_left = if random.one_in(20) { 1 + random.below(6) as u32 } else { u32::MAX };
        Setup { client, server, ids_left }
    }
}

impl Life {
    /// Every timer at times; its shortest is what [`SHORTEST_TIMEOUT`] says.
    fn random(random: &mut Random) -> Self {
        let mut some = |figures: [u16; 3]| if random.one_in(3) { figures[random.below(3)] } else { 0 };
        Life {
            keepalive: some([10, 25, 300]),
            idle: some([5, 60, 600]),
            age: some([5, 60, 3_600]),
            drain: some([5, 30, 300]),
            write_stall: some([5, 30, 120]),
            stream_stall: some([5, 60, 300]),
            policed: random.one_in(4),
            adaptive: random.one_in(2),
        }
    }
}

/// The shortest timeout of all those that a case can set.
pub(super) const SHORTEST_TIMEOUT: Duration = Duration::from_secs(5);

fn ops(random: &mut Random, setup: &Setup, flavour: Flavour, count: usize) -> Vec<Op> {
    let mut ops = Vec::with_capacity(count * 2);
    for _ in 0..count {
        ops.push(op(random, setup, flavour));
        if random.one_in(2) {
            ops.push(Op::Wait { ms: wait(random, flavour) });
        }
    }
    ops
}

fn wait(random: &mut Random, flavour: Flavour) -> u32 {
    let most = match flavour {
        Flavour::Faults => [2, 10, 1_000, 20_000, 60_000][random.below(5)],
        _ => [2, 2, 10, 100][random.below(4)],
    };
    random.below(most) as u32
}

fn text(random: &mut Random, flavour: Flavour) -> Text {
    let cached = if flavour == Flavour::Heads { 3 } else { 2 };
    if random.below(cached) == 0 {
        return Text::Cached(random.below(CACHED) as u8);
    }
    match random.below(4) {
        0 | 1 => Text::Tiny(random.below(4) as u8),
        // The same few again and again, so that they enter tables and memo.
        2 => Text::Own(random.below(12) as u16),
        _ => Text::Own(random.below(3_000) as u16),
    }
}

fn op(random: &mut Random, setup: &Setup, flavour: Flavour) -> Op {
    let by = if random.one_in(2) { Role::Client } else { Role::Server };
    let pick = random.below(256) as u8;
    // Weights of: streams, data, ends, resets, connection, way, foreign frames.
    let weights = match flavour {
        Flavour::Mixed => [30, 40, 15, 6, 3, 6, 2],
        Flavour::Bulk => [10, 70, 6, 2, 2, 8, 2],
        Flavour::Heads => [55, 10, 25, 4, 2, 2, 2],
        Flavour::Games => [25, 30, 10, 18, 3, 4, 10],
        Flavour::Faults => [25, 35, 15, 5, 6, 12, 2],
    };
    let mut die = random.below(weights.iter().sum());
    let kind = weights.iter().position(|weight| match die.checked_sub(*weight) {
        Some(rest) => {
            die = rest;
            false
        }
        None => true,
    });
    match kind.unwrap_or_default() {
        0 if by == Role::Client => Op::Open { text: text(random, flavour), end: random.one_in(4) },
        0 => Op::Head { pick, text: text(random, flavour), end: random.one_in(6) },
        1 if random.one_in(3) => Op::Release { by, pick, part: random.below(256) as u8 },
        1 => write(random, setup, by, pick),
        2 if random.one_in(2) => Op::End { by, pick },
        2 => Op::Trailers { by, pick, text: text(random, flavour) },
        3 => match random.below(3) {
            0 => Op::Reset { by, pick, code: random.below(14) as u8 },
            1 => Op::ResetWhenSent { by, pick, code: random.below(14) as u8 },
            _ => Op::Discard { by, pick },
        },
        4 => match random.below(if flavour == Flavour::Faults { 12 } else { 40 }) {
            0 => Op::Graceful { by },
            1 if flavour == Flavour::Faults => Op::Abort { by, code: random.below(14) as u8 },
            at if at % 2 == 0 => Op::Ping { by },
            _ => Op::Trim { by },
        },
        5 => way(random, flavour, by),
        _ => Op::Inject { from: by, frame: foreign(random, setup.end(by)) },
    }
}

fn write(random: &mut Random, setup: &Setup, by: Role, pick: u8) -> Op {
    let len = [0, 1, 50, 1_000, 5_000, 30_000, 100_000][random.below(7)].min(setup.longest());
    let shape = match random.below(12) {
        0 => Shape::GivenUp,
        1 => Shape::Misjudged,
        at => [Shape::Plain, Shape::Linked, Shape::Mixed][at % 3],
    };
    let len = if random.one_in(3) { random.below(len + 1) } else { len };
    Op::Write { by, pick, len: len as u32, shape, polite: !random.one_in(4) }
}

fn way(random: &mut Random, flavour: Flavour, from: Role) -> Op {
    match random.below(if flavour == Flavour::Faults { 24 } else { 12 }) {
        // A cut ends the run's most interesting part, so it is rare.
        12 => Op::Cut { from: [None, Some(from)][random.below(2)] },
        at if at % 3 == 0 => {
            let most =
                if flavour == Flavour::Faults { [5, 100, 20_000, 70_000] } else { [10, 300, 3_000, 7] };
            let most = most[random.below(4)];
            Op::Stall { from, ms: random.below(most) as u32 }
        }
        _ => Op::Link {
            from,
            most: [1, 9, 100, 5_000, u32::MAX][random.below(5)],
            delay_ms: [0, 0, 1, 30, 200][random.below(5)],
            room: [1, 1_000, 65_536, u32::MAX][random.below(4)],
        },
    }
}

fn foreign(random: &mut Random, truth: &EndSetup) -> Foreign {
    match random.below(8) {
        0 => Foreign::Ping,
        1 => Foreign::Priority,
        2 => Foreign::Unknown,
        _ => Foreign::Settings {
            window: [0, 1, 100, 65_535, u32::MAX][random.below(5)].min(truth.window),
            table: [0, 60, 200, u32::MAX][random.below(4)].min(truth.table),
            list: [400, 5_000, u32::MAX][random.below(3)].min(truth.list),
            streams: [0, 1, u32::MAX][random.below(3)].min(truth.streams),
        },
    }
}

impl Foreign {
    /// The values that an end announced itself.
    pub(super) fn truth(end: &EndSetup) -> Self {
        Foreign::Settings { window: end.window, table: end.table, list: end.list, streams: end.streams }
    }
}
