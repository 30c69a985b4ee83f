//! One connection against a peer that may say anything, with an owner that does everything an owner may.
//!
//! The input is what the peer sends. Its last four octets, which are sent too, also seed the owner: the
//! configuration, the commands between the frames, the clock. So recorded connections are inputs as they are,
//! and a mutation in the middle leaves the owner's mind as it was.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IoSlice;
use std::time::{Duration, Instant};

use peregrine_http2::{
    CachedBlock, Config, Connection, ConnectionError, ErrorCode, Event, Field, Role, StreamKey,
};

use crate::bytes::Random;
use crate::referee::Referee;

/// A server whose client sends `input`; the preface and SETTINGS go first unless the input begins so itself.
pub fn server(input: &[u8]) {
    let begun = input.starts_with(&PREFACE[..3]);
    let opening = if begun { Vec::new() } else { [PREFACE, EMPTY_SETTINGS, SETTINGS_ACK].concat() };
    check(Role::Server, &[&opening, input].concat());
}

/// A client whose server sends `input`; SETTINGS go first unless the input begins with them.
pub fn client(input: &[u8]) {
    let begun = input.get(3) == Some(&4);
    let opening = if begun { Vec::new() } else { [EMPTY_SETTINGS, SETTINGS_ACK].concat() };
    check(Role::Client, &[&opening, input].concat());
}

fn check(role: Role, input: &[u8]) {
    let seed = input.last_chunk::<4>().map_or(0, |tail| u32::from_be_bytes(*tail));
    let whole = Machine::new(role, seed).run(input, usize::MAX);
    // How the octets come in pieces must change nothing.
    if seed.is_multiple_of(4) {
        let sliced = Machine::new(role, seed).run(input, 1 + seed as usize / 4 % 40);
        assert_eq!(whole.log, sliced.log);
        assert!(whole.output == sliced.output, "the same input in slices gives another output");
    }
}

/// What came out of a run.
struct Outcome {
    log: String,
    output: Vec<u8>,
}

/// A connection and its owner.
struct Machine {
    connection: Connection,
    role: Role,
    random: Random,
    now: Instant,
    referee: Referee,
    streams: Vec<StreamKey>,
    /// How far the peer's side of each stream has come.
    heard: HashMap<StreamKey, Heard>,
    cached: [CachedBlock; 2],
    max_streams: Option<u32>,
    log: String,
    output: Vec<u8>,
}

/// What the owner was told of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    Head,
    End,
    /// Reset or refused: the stream is gone.
    Gone,
}

impl Machine {
    fn new(role: Role, seed: u32) -> Self {
        let mut random = Random::new(u64::from(seed >> 3));
        let mut config = match role {
            Role::Server => Config::server(),
            Role::Client => Config::client(),
        };
        config.max_concurrent_streams = random.pick(&[Some(1), Some(3), Some(100), None]);
        config.initial_window_size = random.pick(&[1, 100, 65_535, 262_144]);
        config.connection_window_size = random.pick(&[65_535, 100_000, 1 << 20]);
        config.max_frame_size = random.pick(&[16_384, 20_000]);
        config.max_header_list_size = random.pick(&[100, 16_384]);
        config.header_table_size = random.pick(&[0, 64, 4096, 8192]);
        config.send_buffer_per_stream = random.pick(&[1, 1000, 32_768]);
        config.write_buffer_high_water = random.pick(&[500, 262_144]);
        let now = Instant::now();
        let max_streams = config.max_concurrent_streams;
        Machine {
            connection: Connection::new(role, config, now),
            role,
            random,
            now,
            referee: Referee::new(role == Role::Client),
            streams: Vec::new(),
            heard: HashMap::new(),
            cached: Default::default(),
            max_streams,
            log: String::new(),
            output: Vec::new(),
        }
    }

    /// Feeds `input`, at most `slice` octets more at a time, then lets all timers pass.
    fn run(mut self, input: &[u8], slice: usize) -> Outcome {
        if self.role == Role::Client {
            self.act();
            self.act();
        }
        let (mut at, mut end) = (0, 0);
        while end < input.len() {
            end = end.saturating_add(slice).min(input.len());
            while at < end {
                let consumed = match self.feed(&input[at..end]) {
                    Ok(0) => break,
                    Ok(consumed) => consumed,
                    Err(error) => {
                        // Only code and blame: before the preface is whole, the words depend on what is there.
                        let _ = write!(self.log, "error {:?} {:?}", error.code(), error.blame());
                        return self.finish();
                    }
                };
                at += consumed;
            }
        }
        self.finish()
    }

    /// Handles one frame; after it the owner acts, so that slices without a whole frame change nothing.
    fn feed(&mut self, input: &[u8]) -> Result<usize, ConnectionError> {
        let progress = self.connection.handle_input(input, self.now)?;
        let consumed = progress.consumed;
        assert!(consumed <= input.len());
        if let Some(event) = progress.event {
            assert!(consumed > 0);
            note(&mut self.heard, &mut self.streams, self.role, &event);
            let _ = writeln!(self.log, "{event:?}");
        }
        if consumed == 0 {
            return Ok(0);
        }
        self.referee.on_received(&input[..consumed]);
        self.poll_events();
        for _ in 0..self.random.below(3) {
            self.act();
        }
        if self.random.one_in(2) || !self.connection.wants_input() {
            let most = if self.connection.wants_input() { self.random.below(5_000) } else { usize::MAX };
            self.write(most);
        }
        self.now += Duration::from_millis(self.random.pick(&[0, 0, 0, 1, 500]));
        if self.connection.next_timeout().is_some_and(|at| at <= self.now) {
            self.connection.handle_timeout(self.now)?;
            self.poll_events();
        }
        if let (Role::Server, Some(limit)) = (self.role, self.max_streams) {
            assert!(self.connection.open_streams() <= limit as usize);
        }
        Ok(consumed)
    }

    fn poll_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            note(&mut self.heard, &mut self.streams, self.role, &event);
            let _ = writeln!(self.log, "{event:?}");
        }
    }

    /// Any command an owner may give, at any time; that it may fail is part of it.
    fn act(&mut self) {
        let Machine { connection, random, streams, heard, cached, .. } = self;
        if self.role == Role::Client && random.one_in(3) {
            let end_stream = random.one_in(3);
            let opened = if random.one_in(2) {
                connection.open_cached(&mut cached[0], || fields(REQUEST), end_stream)
            } else {
                connection.open(fields(random.pick(&[REQUEST, HEAD_REQUEST])), end_stream)
            };
            if let Ok(key) = opened {
                streams.push(key);
                heard.insert(key, Heard::Nothing);
            }
            return;
        }
        match random.below(60) {
            0 => connection.graceful_shutdown(self.now),
            1 => connection.trim(),
            2 => connection.ping([7; 8]),
            3 if random.one_in(10) => connection.abort(ErrorCode::NO_ERROR, "enough"),
            _ => {}
        }
        if streams.is_empty() {
            return;
        }
        let key = streams[random.below(streams.len())];
        match random.below(16) {
            0 => {
                connection.reset(key, ErrorCode::CANCEL);
                heard.insert(key, Heard::Gone);
            }
            1 => connection.reset_when_sent(key, ErrorCode::NO_ERROR),
            2 => _ = connection.discard_queued_data(key),
            3 | 4 => connection.release(key, random.pick(&[1, 100, 65_535])),
            5 => _ = connection.end_stream(key),
            6 => _ = connection.send_headers(key, fields(TRAILERS), true),
            7 => _ = connection.send_cached_headers(key, &mut cached[1], || fields(TRAILERS), true),
            8 => _ = connection.send_headers(key, fields(RESPONSE), random.one_in(4)),
            9 | 10 => _ = connection.send_cached_headers(key, &mut cached[0], || fields(RESPONSE), false),
            11 => assert_ne!(connection.poll_room(key), Some(0), "room for nothing"),
            _ => {
                let len = random.pick(&[0, 1, 100, 3_000, 40_000]);
                if let Ok(mut write) = connection.write_data(key, len) {
                    let (bytes, links) = write.buffers();
                    if len > 1_000 && random.one_in(2) {
                        links.push_back((bytes.len(), bytes::Bytes::from_static(&LINK[..1_000])));
                        bytes.resize(bytes.len() + len - 1_000, 0xdd);
                    } else {
                        bytes.resize(bytes.len() + len, 0xdd);
                    }
                    if !random.one_in(10) {
                        let _ = write.commit();
                    }
                }
            }
        }
    }

    /// The socket takes up to `most` octets.
    fn write(&mut self, most: usize) {
        let mut left = most;
        while self.connection.poll_output() && left > 0 {
            let mut slices = [IoSlice::new(&[]); 4];
            let filled = self.connection.output_slices(&mut slices);
            let before = self.output.len();
            for slice in &slices[..filled] {
                let taken = slice.len().min(left);
                self.output.extend_from_slice(&slice[..taken]);
                left -= taken;
            }
            let taken = self.output.len() - before;
            assert!(taken > 0, "there is output");
            self.connection.advance_output(taken);
            self.referee.on_sent(&self.output[before..]);
        }
        self.poll_events();
    }

    /// Lets the socket take everything and every timer pass; both must come to an end.
    fn finish(mut self) -> Outcome {
        for _ in 0..100 {
            self.write(usize::MAX);
            let Some(at) = self.connection.next_timeout() else { break };
            self.now = self.now.max(at);
            if let Err(error) = self.connection.handle_timeout(self.now) {
                let _ = write!(self.log, "late {error:?}");
                assert!(self.connection.next_timeout().is_none(), "an ended connection waits for nothing");
            }
        }
        self.write(usize::MAX);
        assert_eq!(self.connection.output_len(), 0);
        self.referee.on_end();
        Outcome { log: self.log, output: self.output }
    }
}

/// Events of a stream come in the order of its life, and none after its end.
fn note(heard: &mut HashMap<StreamKey, Heard>, streams: &mut Vec<StreamKey>, role: Role, event: &Event<'_>) {
    let (key, before, after) = match event {
        Event::Headers { stream, end_stream, .. } => {
            if role == Role::Server {
                assert!(heard.insert(*stream, Heard::Nothing).is_none(), "a stream opens once");
                streams.push(*stream);
            }
            (stream, Heard::Nothing, if *end_stream { Heard::End } else { Heard::Head })
        }
        Event::HeadersTooLarge { stream, end_stream, .. } => {
            let before = *heard.entry(*stream).or_insert_with(|| {
                streams.push(*stream);
                Heard::Nothing
            });
            // A second one stands for trailers.
            assert!(before == Heard::Nothing || before == Heard::Head && *end_stream, "{event:?}");
            (stream, before, if *end_stream { Heard::End } else { Heard::Head })
        }
        Event::Data { stream, end_stream, .. } => {
            (stream, Heard::Head, if *end_stream { Heard::End } else { Heard::Head })
        }
        Event::Trailers { stream, .. } => (stream, Heard::Head, Heard::End),
        Event::Reset { stream, .. } | Event::Refused { stream } => {
            let before = heard.insert(*stream, Heard::Gone);
            assert!(
                before.is_some_and(|before| before != Heard::Gone),
                "a known stream ends once: {event:?}"
            );
            return;
        }
        _ => return,
    };
    let was = heard.insert(*key, after);
    assert_eq!(was, Some(before), "{event:?}");
}

fn fields<'a>(list: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = Field<'a>> + Clone {
    list.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
}

type List = &'static [(&'static str, &'static str)];

const REQUEST: List =
    &[(":method", "POST"), (":scheme", "http"), (":path", "/a/b"), (":authority", "x"), ("te", "trailers")];
const HEAD_REQUEST: List = &[(":method", "HEAD"), (":scheme", "http"), (":path", "/")];
const RESPONSE: List = &[(":status", "200"), ("content-type", "application/grpc")];
const TRAILERS: List = &[("grpc-status", "0"), ("grpc-message", "all went well")];

static LINK: [u8; 1_000] = [0xcc; 1_000];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACK: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0];
