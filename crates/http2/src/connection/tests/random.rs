//! Two connections that do random things over a link that slices at random: whatever happens, windows stay
//! consistent, no stream is lost, what arrives is a prefix of what was sent, and in the end nothing is left.

use std::collections::{BTreeMap, HashMap};

use super::pair::{Pair, Random};
use super::scripted::write;
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::connection::{Config, Connection, Initiator};
use crate::stream::{RecvHalf, Stream};
use crate::{CachedBlock, ErrorCode, StreamId, StreamKey};

/// What one side has sent and received on a stream.
#[derive(Debug, Default)]
struct Half {
    key: Option<StreamKey>,
    /// Octets sent and received so far; their content follows from the position.
    sent: usize,
    received: usize,
    /// Received and not yet released.
    held: usize,
    head_sent: bool,
    send_ended: bool,
    recv_ended: bool,
    /// Reset, by whomever.
    gone: bool,
    /// Waits for `Writable`.
    waits: bool,
    /// Will be reset once its queue is sent: what comes in is dropped.
    cut: bool,
}

/// One side as an upper layer sees it.
#[derive(Debug, Default)]
struct Side {
    streams: BTreeMap<StreamId, Half>,
    cached: CachedBlock,
}

#[derive(Debug)]
struct World {
    pair: Pair,
    random: Random,
    client: Side,
    server: Side,
    opened: usize,
    /// Longest write in octets: little if the windows are tiny.
    longest: usize,
}

fn octet(id: StreamId, at: usize) -> u8 {
    (at as u8).wrapping_mul(29) ^ (at >> 8) as u8 ^ id.value() as u8
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut config = |base: Config| Config {
            initial_window_size: [1, 100, 20_000, 65_535, 262_144][random.below(5)],
            connection_window_size: [65_535, 100_000, 1 << 20][random.below(3)],
            max_frame_size: [16_384, 20_000, 1 << 20][random.below(3)],
            max_concurrent_streams: Some([1, 3, 100][random.below(3)]),
            header_table_size: [0, 100, 4096, 8192][random.below(4)],
            send_buffer_per_stream: [1, 1000, 32 * 1024][random.below(3)],
            write_buffer_high_water: [500, 20_000, 256 * 1024][random.below(3)],
            hash_seed: random.next(),
            ..base
        };
        let (client, server) = (config(Config::client()), config(Config::server()));
        let longest =
            if client.initial_window_size.min(server.initial_window_size) < 1000 { 50 } else { 100_000 };
        let pair = Pair::new(client, server);
        World { pair, random, client: Side::default(), server: Side::default(), opened: 0, longest }
    }

    /// One random command at a random side.
    fn act(&mut self) {
        let World { pair, random, client, server, opened, longest } = self;
        let at_client = random.one_in(2);
        let (connection, side) = if at_client {
            (&mut pair.client.connection, client)
        } else {
            (&mut pair.server.connection, server)
        };
        if at_client && random.one_in(3) && connection.can_open() {
            *opened += 1;
            let end_stream = random.one_in(4);
            let key = if random.one_in(2) {
                connection.open_cached(&mut side.cached, || fields(&REQUEST), end_stream).unwrap()
            } else {
                let number = random.below(30).to_string();
                let list = [&REQUEST[..], &[("x-number", &number)]].concat();
                connection.open(fields(&list), end_stream).unwrap()
            };
            let half = Half { key: Some(key), head_sent: true, send_ended: end_stream, ..Half::default() };
            side.streams.insert(key.id(), half);
            return;
        }
        let live: Vec<_> = side.streams.iter().filter(|(_, half)| !half.gone).map(|(id, _)| *id).collect();
        if live.is_empty() {
            return;
        }
        let id = live[random.below(live.len())];
        let half = side.streams.get_mut(&id).unwrap();
        act_on_stream(connection, half, &mut side.cached, random, *longest);
    }

    /// Both upper layers read all they have and end what they have begun.
    fn finish_up(&mut self) {
        let World { pair, client, server, .. } = self;
        for (connection, side) in
            [(&mut pair.client.connection, client), (&mut pair.server.connection, server)]
        {
            for half in side.streams.values_mut().filter(|half| !half.gone) {
                let key = half.key.unwrap();
                connection.release(key, half.held);
                half.held = 0;
                if !half.send_ended {
                    half.send_ended = true;
                    if !half.head_sent {
                        connection.send_headers(key, fields(&RESPONSE), false).unwrap();
                    }
                    connection.send_headers(key, fields(&TRAILERS), true).unwrap();
                }
            }
        }
    }

    /// Moves octets and books what happened.
    fn step(&mut self) {
        let most = [1, 9, 100, 5_000, usize::MAX][self.random.below(5)];
        let happened = self.pair.step(most);
        book(&mut self.pair.client.connection, &mut self.client, happened.client);
        book(&mut self.pair.server.connection, &mut self.server, happened.server);
        self.check();
    }

    fn check(&self) {
        for (connection, side) in
            [(&self.pair.client.connection, &self.client), (&self.pair.server.connection, &self.server)]
        {
            for half in side.streams.values() {
                let key = half.key.unwrap();
                let open = !(half.gone || half.send_ended && half.recv_ended && connection.queued(key) == 0);
                if half.gone || open {
                    assert_eq!(connection.is_open(key), open, "{half:?}");
                }
                assert!(connection.is_open(key) || connection.queued(key) == 0);
                if let Some(stream) = connection.streams.get(key)
                    && stream.reset_after.is_none()
                    && !half.recv_ended
                {
                    assert_eq!(stream.recv_window.held(), half.held, "{half:?}");
                }
            }
        }
        if !self.pair.is_quiet() {
            return;
        }
        // Nothing is in flight: both ends agree on what may be sent.
        let (client, server) = (&self.pair.client.connection, &self.pair.server.connection);
        for (from, to) in [(client, server), (server, client)] {
            assert_eq!(from.send_window.available(), to.recv_window.available());
            for half in self.client.streams.values() {
                let id = half.key.unwrap().id();
                let find =
                    |end: &Connection| end.streams.find(id).and_then(|key| end.streams.get(key).map(windows));
                if let (Some((send, _)), Some((_, Some(recv)))) = (find(from), find(to)) {
                    assert_eq!(send, recv, "stream {id}");
                }
            }
        }
    }

    /// Everything is read and ended, until nothing is left.
    fn drain(&mut self) {
        for round in 0.. {
            assert!(round < 20_000, "no end");
            self.finish_up();
            self.step();
            let ends = [&self.pair.client.connection, &self.pair.server.connection];
            if ends.iter().all(|end| end.open_streams() == 0 && end.output_len() == 0) && round > 50 {
                break;
            }
        }
        for connection in [&mut self.pair.client.connection, &mut self.pair.server.connection] {
            assert!(connection.poll_event().is_none());
            assert!(!connection.poll_output());
            connection.trim();
        }
        // What was not cut off has arrived completely.
        let other: HashMap<_, _> = self.server.streams.iter().collect();
        for (id, half) in &self.client.streams {
            let Some(there) = other.get(id) else {
                assert!(half.gone, "stream {id} never arrived");
                continue;
            };
            if !(half.gone || there.gone || half.cut || there.cut) {
                assert_eq!((half.sent, there.sent), (there.received, half.received), "stream {id}");
            }
        }
    }
}

/// What may be sent on the stream, and received if the peer has not ended its side.
fn windows(stream: &Stream) -> (usize, Option<usize>) {
    let receives = stream.recv != RecvHalf::Ended;
    (stream.send_window.available(), receives.then(|| stream.recv_window.available()))
}

fn act_on_stream(
    connection: &mut Connection,
    half: &mut Half,
    cached: &mut CachedBlock,
    random: &mut Random,
    longest: usize,
) {
    let key = half.key.unwrap();
    if half.held > 0 && random.one_in(3) {
        let bytes = 1 + random.below(half.held);
        connection.release(key, bytes);
        half.held -= bytes;
        return;
    }
    if random.one_in(40) {
        let drops = random.one_in(2);
        if drops {
            connection.reset(key, ErrorCode::CANCEL);
        } else {
            connection.reset_when_sent(key, ErrorCode::NO_ERROR);
        }
        // The test stops looking at it either way.
        half.gone = drops || !connection.is_open(key);
        half.cut = true;
        half.send_ended = true;
        half.recv_ended = true;
        half.held = 0;
        return;
    }
    if half.send_ended {
        return;
    }
    if !half.head_sent {
        connection.send_cached_headers(key, cached, || fields(&RESPONSE), false).unwrap();
        half.head_sent = true;
    } else if random.one_in(8) {
        half.send_ended = true;
        if random.one_in(2) {
            connection.end_stream(key).unwrap();
        } else {
            connection.send_headers(key, fields(&TRAILERS), true).unwrap();
        }
    } else if !half.waits {
        if !connection.poll_writable(key) {
            half.waits = true;
            return;
        }
        let len = [0, 1, 50, 1_000, 30_000, 100_000][random.below(6)].min(longest);
        if random.one_in(10) {
            // Given up half way.
            let mut write = connection.write_data(key, len + 1).unwrap();
            write.buffers().0.extend_from_slice(&vec![0xee; len]);
            drop(write);
        }
        let data: Vec<u8> = (half.sent..half.sent + len).map(|at| octet(key.id(), at)).collect();
        write(connection, key, &data).unwrap();
        half.sent += len;
    }
}

/// Books events as an upper layer would.
fn book(connection: &mut Connection, side: &mut Side, seen: Vec<Seen>) {
    for seen in seen {
        match seen {
            Seen::Headers { stream, head, end_stream } => {
                let half = side
                    .streams
                    .entry(stream.id())
                    .or_insert_with(|| Half { key: Some(stream), ..Half::default() });
                assert!(head.status() == Some(200) || head.path() == Some(b"/pkg.Service/Method"));
                half.recv_ended |= end_stream;
            }
            Seen::Data { stream, data, end_stream } => {
                let half = side.streams.get_mut(&stream.id()).unwrap();
                assert!(!half.gone);
                for octet_seen in &data {
                    assert_eq!(*octet_seen, octet(stream.id(), half.received), "at {}", half.received);
                    half.received += 1;
                }
                half.held += data.len();
                half.recv_ended |= end_stream;
            }
            Seen::Trailers { stream, head } => {
                assert_eq!(head.field(b"grpc-status"), Some(&b"0"[..]));
                side.streams.get_mut(&stream.id()).unwrap().recv_ended = true;
            }
            Seen::Reset { stream, initiator, .. } => {
                assert_eq!(initiator, Initiator::Remote, "{}", connection.last_fault());
                // A refused stream is not known to the server.
                let half = side.streams.get_mut(&stream.id()).unwrap();
                half.gone = true;
                half.held = 0;
            }
            Seen::Writable { stream } => {
                let half = side.streams.get_mut(&stream.id()).unwrap();
                assert!(half.waits || half.send_ended);
                // Others may have filled the output since.
                half.waits = !half.send_ended && !connection.poll_writable(stream);
            }
            Seen::Settings => {}
            Seen::HeadersTooLarge { .. } | Seen::GoAway { .. } | Seen::Refused { .. } | Seen::Pong { .. } => {
                panic!("{seen:?}")
            }
        }
    }
}

#[test]
fn whatever_happens_nothing_is_lost() {
    let mut opened = 0;
    for seed in 0..250 {
        let mut world = World::new(seed);
        for _ in 0..150 {
            for _ in 0..world.random.below(4) {
                world.act();
            }
            world.step();
        }
        world.drain();
        opened += world.opened;
    }
    assert!(opened > 1000, "{opened}");
}
