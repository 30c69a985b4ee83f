//! Two connections and a link between them, driven by a list of operations out of the input.
//!
//! Both owners keep the rules, so nothing may go wrong: no error, no stream lost, heads and data as they were
//! sent, every stream ended once at either end, and rest in the end. A referee judges each side's octets.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use peregrine_http2::{
    CachedBlock, Config, Connection, ErrorCode, Event, Field, Head, Initiator, Role, StreamId, StreamKey,
};

use crate::bytes::Choices;
use crate::referee::Referee;

/// Carries out the operations that `input` spells, then lets both sides end what they have begun.
pub fn run(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut world = World::new(&mut choices);
    while !choices.is_empty() {
        world.operate(&mut choices);
    }
    world.finish();
}

struct World {
    client: End,
    server: End,
    now: Instant,
    /// Longest write in octets: little if the windows are tiny, or it would take for ever.
    longest: usize,
    /// What each request said of itself.
    numbers: BTreeMap<StreamId, u8>,
}

/// One side: the machine, what is on its way to it, and what its owner knows.
struct End {
    connection: Connection,
    referee: Referee,
    incoming: Vec<u8>,
    streams: BTreeMap<StreamId, Half>,
    cached: [CachedBlock; 3],
}

/// A stream as one owner sees it.
#[derive(Debug)]
struct Half {
    key: StreamKey,
    /// Octets written and not taken back, received, and received but not released.
    sent: usize,
    received: usize,
    held: usize,
    head_sent: bool,
    head_seen: bool,
    send_ended: bool,
    recv_ended: bool,
    /// Reset or refused, by whomever: no more events.
    gone: bool,
    /// Given up with [`Connection::reset_when_sent`]: what comes in is dropped.
    given_up: bool,
}

impl Half {
    fn new(key: StreamKey) -> Self {
        Half {
            key,
            sent: 0,
            received: 0,
            held: 0,
            head_sent: false,
            head_seen: false,
            send_ended: false,
            recv_ended: false,
            gone: false,
            given_up: false,
        }
    }

    /// Answers with head, data and trailers at once, if the engine lets it.
    fn answer_whole(&mut self, connection: &mut Connection, [head, _, trailers]: &[CachedBlock; 3]) -> bool {
        let id = self.key.id();
        let data: Vec<u8> = (self.sent..self.sent + 50).map(|at| octet(id, at)).collect();
        let Ok(mut write) = connection.write_response(self.key, head, trailers, data.len()) else {
            return false;
        };
        write.buffers().0.extend_from_slice(&data);
        write.commit().expect("as long as announced");
        self.sent += data.len();
        (self.head_sent, self.send_ended) = (true, true);
        true
    }
}

impl World {
    fn new(choices: &mut Choices<'_>) -> Self {
        let now = Instant::now();
        let mut smallest = u32::MAX;
        let mut end = |role: Role| {
            let mut config = match role {
                Role::Client => Config::client(),
                Role::Server => Config::server(),
            };
            config.initial_window_size = choices.pick(&[262_144, 65_535, 20_000, 100, 1]);
            config.connection_window_size = choices.pick(&[1 << 20, 65_535]);
            config.max_frame_size = choices.pick(&[16_384, 1 << 20]);
            config.max_concurrent_streams = choices.pick(&[Some(100), Some(3), Some(1), None]);
            config.header_table_size = choices.pick(&[4096, 0, 100, 8192]);
            config.send_buffer_per_stream = choices.pick(&[32_768, 1]);
            config.write_buffer_high_water = choices.pick(&[262_144, 500]);
            config.hash_seed = u64::from(choices.octet());
            config.whole_requests = config.hash_seed.is_multiple_of(2);
            // The owner sends as many PINGs as it likes here, which a server would rightly not stand.
            config.ping_policy = None;
            smallest = smallest.min(config.initial_window_size);
            End {
                connection: Connection::new(role, config, now),
                referee: Referee::new(role == Role::Client),
                incoming: Vec::new(),
                streams: BTreeMap::new(),
                cached: Default::default(),
            }
        };
        let (client, server) = (end(Role::Client), end(Role::Server));
        let longest = match smallest {
            0..10 => 5,
            10..1000 => 50,
            _ => 100_000,
        };
        World { client, server, now, longest, numbers: BTreeMap::new() }
    }

    /// One operation: an octet for what, further ones for how much.
    fn operate(&mut self, choices: &mut Choices<'_>) {
        let what = choices.octet();
        let at_client = what & 0x80 == 0;
        match what & 0x7f {
            0..0x10 => self.open(what),
            kind @ 0x10..0x60 => {
                let end = if at_client { &mut self.client } else { &mut self.server };
                let live: Vec<StreamId> =
                    end.streams.iter().filter(|(_, half)| !half.gone).map(|(id, _)| *id).collect();
                if !live.is_empty() {
                    let id = live[choices.below(live.len().min(256))];
                    end.command(id, kind, choices, self.longest);
                }
            }
            0x60 => self.client.connection.ping([what; 8]),
            0x61 if choices.octet() == 0x61 => {
                let end = if at_client { &mut self.client } else { &mut self.server };
                end.connection.graceful_shutdown(self.now);
            }
            0x62 => {
                self.client.connection.trim();
                self.server.connection.trim();
            }
            _ => {
                let most = choices.pick(&[usize::MAX, 5_000, 100, 9, 1]);
                self.transfer(most);
            }
        }
    }

    fn open(&mut self, what: u8) {
        let End { connection, streams, cached, .. } = &mut self.client;
        if !connection.can_open() {
            return;
        }
        let end_stream = what & 1 == 1;
        let number = what >> 1 & 3;
        let opened = if what & 8 == 0 {
            let block = &mut cached[usize::from(number) % 2];
            let number = number % 2;
            connection.open_cached(block, || request(number), end_stream).map(|key| (key, number))
        } else {
            connection.open(request(number), end_stream).map(|key| (key, number))
        };
        let (key, number) = opened.expect("a stream may be opened");
        self.numbers.insert(key.id(), number);
        streams.insert(key.id(), Half { head_sent: true, send_ended: end_stream, ..Half::new(key) });
    }

    /// Up to `most` octets each way, and what they cause.
    fn transfer(&mut self, most: usize) {
        self.now += Duration::from_millis(1);
        let World { client, server, numbers, now, .. } = self;
        client.send_to(server, most);
        server.send_to(client, most);
        client.receive(*now, numbers);
        server.receive(*now, numbers);
        for end in [client, server] {
            if end.connection.next_timeout().is_some_and(|at| at <= *now) {
                end.connection.handle_timeout(*now).expect("nobody is late");
            }
            end.poll_events();
        }
    }

    fn finish(mut self) {
        let mut quiet = 0;
        for round in 0.. {
            assert!(round < 50_000, "no rest: {:?} {:?}", self.client.streams, self.server.streams);
            self.client.end_everything();
            self.server.end_everything();
            self.transfer(usize::MAX);
            let is_quiet = [&self.client, &self.server].iter().all(|end| {
                end.incoming.is_empty()
                    && end.connection.output_len() == 0
                    && end.connection.open_streams() == 0
            });
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet > 3 {
                break;
            }
        }
        self.client.referee.on_end();
        self.server.referee.on_end();
        for (id, half) in &self.client.streams {
            let Some(there) = self.server.streams.get(id) else {
                assert!(half.gone || half.given_up, "stream {id:?} never arrived");
                continue;
            };
            if [half, there].iter().any(|half| half.gone || half.given_up) {
                continue;
            }
            assert_eq!((half.sent, there.sent), (there.received, half.received), "stream {id:?}");
            assert!(half.recv_ended && there.recv_ended, "stream {id:?} never ended");
        }
    }
}

impl End {
    fn command(&mut self, id: StreamId, kind: u8, choices: &mut Choices<'_>, longest: usize) {
        let (connection, cached) = (&mut self.connection, &mut self.cached);
        let Some(half) = self.streams.get_mut(&id) else { return };
        let key = half.key;
        match kind {
            0x10..0x18 => {
                let bytes = usize::from(choices.pair()).min(half.held);
                connection.release(key, bytes);
                half.held -= bytes;
            }
            0x18 => {
                connection.reset(key, ErrorCode::CANCEL);
                half.gone = true;
            }
            0x19 => {
                connection.reset_when_sent(key, ErrorCode::NO_ERROR);
                half.given_up = true;
                half.gone = !connection.is_open(key);
                half.send_ended = true;
                half.held = 0;
            }
            // Would take a reset that waits back as well, and what came in meanwhile is lost.
            0x1a if !half.given_up => {
                // The end that waited behind the data is taken back with it.
                let queued = connection.queued(key);
                connection.discard_queued_data(key);
                half.sent -= queued;
                if queued > 0 {
                    half.send_ended = false;
                }
            }
            _ if half.send_ended => {}
            // All in one go now and then, if the engine lets it.
            0x28..0x30 if !half.head_sent && half.answer_whole(connection, cached) => {}
            _ if !half.head_sent => {
                let block = &mut cached[0];
                connection.send_cached_headers(key, block, || list(RESPONSE), false).expect("a head is due");
                half.head_sent = true;
            }
            0x20..0x24 => {
                connection.end_stream(key).expect("our side is open");
                half.send_ended = true;
            }
            0x24..0x28 => {
                let sent = if kind & 1 == 0 {
                    connection.send_headers(key, list(TRAILERS), true)
                } else {
                    connection.send_cached_headers(key, &mut cached[2], || list(TRAILERS), true)
                };
                sent.expect("our side is open");
                half.send_ended = true;
            }
            _ => {
                let len = choices.pick(&[1, 50, 1_000, 5_000, 30_000, 100_000]).min(longest);
                if connection.poll_room(key).is_none() && kind & 1 == 0 {
                    return;
                }
                let data: Vec<u8> = (half.sent..half.sent + len).map(|at| octet(id, at)).collect();
                let mut write = connection.write_data(key, len).expect("our side is open");
                let (bytes, links) = write.buffers();
                let linked = if kind & 2 == 0 { 0 } else { len / 2 };
                bytes.extend_from_slice(&data[..len - linked]);
                if linked > 0 {
                    links.push_back((bytes.len(), data[len - linked..].to_vec().into()));
                }
                write.commit().expect("as long as announced");
                half.sent += len;
            }
        }
    }

    /// What an owner does that has nothing more to say and reads everything.
    fn end_everything(&mut self) {
        for half in self.streams.values_mut().filter(|half| !half.gone) {
            self.connection.release(half.key, half.held);
            half.held = 0;
            if half.send_ended {
                continue;
            }
            half.send_ended = true;
            if !half.head_sent {
                half.head_sent = true;
                self.connection.send_headers(half.key, list(RESPONSE), false).expect("a head is due");
            }
            self.connection.send_headers(half.key, list(TRAILERS), true).expect("our side is open");
        }
    }

    fn send_to(&mut self, to: &mut End, most: usize) {
        self.connection.poll_output();
        let mut slices = [IoSlice::new(&[]); 8];
        let filled = self.connection.output_slices(&mut slices);
        let before = to.incoming.len();
        for slice in &slices[..filled] {
            let room = most - (to.incoming.len() - before);
            to.incoming.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.connection.advance_output(to.incoming.len() - before);
        self.referee.on_sent(&to.incoming[before..]);
    }

    fn receive(&mut self, now: Instant, numbers: &BTreeMap<StreamId, u8>) {
        let incoming = std::mem::take(&mut self.incoming);
        let mut at = 0;
        loop {
            if let Some(taken) = self.take_whole(&incoming[at..], now, numbers) {
                at += taken;
                self.poll_events();
                continue;
            }
            let progress =
                self.connection.handle_input(&incoming[at..], now).expect("the peer keeps the rules");
            if let Some(event) = &progress.event {
                on_event(&mut self.streams, event, numbers);
            }
            if progress.consumed == 0 {
                break;
            }
            self.referee.on_received(&incoming[at..at + progress.consumed]);
            at += progress.consumed;
            self.poll_events();
        }
        self.incoming = incoming[at..].to_vec();
    }

    /// Takes a request in the short way, if it is one, and books it as the event that it would be otherwise.
    fn take_whole(&mut self, input: &[u8], now: Instant, numbers: &BTreeMap<StreamId, u8>) -> Option<usize> {
        let whole = self.connection.peek_request(input)?;
        let (head, id, data, len) = (Arc::clone(whole.head), whole.stream, whole.data, whole.len);
        let stream = self.connection.accept_request(id, data.len(), now);
        on_event(&mut self.streams, &Event::Request { stream, head, data }, numbers);
        self.referee.on_received(&input[..len]);
        Some(len)
    }

    fn poll_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            on_event(&mut self.streams, &event, &BTreeMap::new());
        }
    }
}

/// Books an event, and checks that it is the stream's turn for it.
fn on_event(streams: &mut BTreeMap<StreamId, Half>, event: &Event<'_>, numbers: &BTreeMap<StreamId, u8>) {
    match event {
        Event::Headers { stream, head, end_stream } => {
            let half = streams.entry(stream.id()).or_insert_with(|| Half::new(*stream));
            assert!(!half.gone && !half.head_seen, "{event:?} for {half:?}");
            half.head_seen = true;
            half.recv_ended = *end_stream;
            if head.status().is_none() {
                check_request(head, numbers[&stream.id()]);
            }
        }
        Event::Request { stream, head, data } => {
            let (stream, head) = (*stream, Arc::clone(head));
            on_event(streams, &Event::Headers { stream, head, end_stream: false }, numbers);
            on_event(streams, &Event::Data { stream, data, end_stream: true }, numbers);
        }
        Event::Data { stream, data, end_stream } => {
            let half = receiving(streams, *stream);
            let expected = (half.received..).map(|at| octet(stream.id(), at));
            assert!(data.iter().copied().eq(expected.take(data.len())), "data of {half:?}");
            half.received += data.len();
            half.held += data.len();
            half.recv_ended = *end_stream;
        }
        Event::Trailers { stream, head } => {
            assert_eq!(head.field(b"grpc-status"), Some(&b"0"[..]));
            receiving(streams, *stream).recv_ended = true;
        }
        Event::Reset { stream, initiator, .. } => {
            assert_eq!(*initiator, Initiator::Remote, "the peer keeps the rules");
            end_once(streams, *stream);
        }
        Event::Refused { stream } => end_once(streams, *stream),
        Event::HeadersTooLarge { .. } => panic!("{event:?}"),
        _ => {}
    }
}

/// The stream of data or trailers, which must be due.
fn receiving(streams: &mut BTreeMap<StreamId, Half>, key: StreamKey) -> &mut Half {
    let half = streams.get_mut(&key.id()).expect("a known stream");
    assert!(half.head_seen && !half.gone && !half.recv_ended, "more comes for {half:?}");
    half
}

fn end_once(streams: &mut BTreeMap<StreamId, Half>, key: StreamKey) {
    let half = streams.get_mut(&key.id()).expect("a known stream");
    assert!(!half.gone, "{half:?} ends twice");
    half.gone = true;
}

fn check_request(head: &Head, number: u8) {
    assert_eq!(head.path(), Some(&b"/pkg.Service/Method"[..]));
    let expected = NUMBERS[usize::from(number)].as_bytes();
    assert_eq!(head.field(b"x-number"), Some(expected), "a stale or foreign head");
    assert_eq!(head.field_count(), 3);
}

fn request(number: u8) -> impl Iterator<Item = Field<'static>> + Clone {
    list(REQUEST).chain([Field::new(b"x-number", NUMBERS[usize::from(number)].as_bytes())])
}

fn list(list: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = Field<'static>> + Clone {
    list.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
}

/// The data of a stream by position: nothing can be lost, doubled or swapped unseen.
fn octet(id: StreamId, at: usize) -> u8 {
    (at as u8).wrapping_mul(29) ^ (at >> 8) as u8 ^ id.value() as u8
}

const REQUEST: &[(&str, &str)] = &[
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/pkg.Service/Method"),
    (":authority", "localhost:50051"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
];
const NUMBERS: [&str; 4] = ["0", "one", "two", "33333333333333333333"];
const RESPONSE: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];
const TRAILERS: &[(&str, &str)] = &[("grpc-status", "0")];
