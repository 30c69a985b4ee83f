//! The memo of header blocks against a decoder without one: the same octets never mean a stale head.

use std::time::Instant;

use peregrine_http2::frame::{Headers, RstStream, Settings};
use peregrine_http2::hpack::Decoder;
use peregrine_http2::{Config, Connection, ErrorCode, Event, Head, Rate, Role, StreamId};
use peregrine_testkit::peer::{PREFACE, request_head};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A server's engine and, beside it, what the blocks really say.
struct Bench {
    connection: Connection,
    truth: Decoder,
    next: u32,
    now: Instant,
}

impl Bench {
    fn new(hash_seed: u64) -> Self {
        let now = Instant::now();
        let mut config = Config::server();
        config.hash_seed = hash_seed;
        // Malformed blocks are part of the game, and so are streams that the peer gives up.
        config.limits.resets_provoked = Rate::new(u32::MAX, 0);
        config.limits.resets_received = Rate::new(u32::MAX, 0);
        let mut bench = Self {
            connection: Connection::new(Role::Server, config, now),
            truth: Decoder::new(4_096),
            next: 1,
            now,
        };
        let mut start = PREFACE.to_vec();
        Settings::encode_entries(&[], &mut start);
        Settings::encode_ack(&mut start);
        assert_eq!(bench.input(&start), None);
        bench
    }

    /// Feeds frames; answers the regular fields of the last head or trailers.
    fn input(&mut self, mut bytes: &[u8]) -> Option<Pairs> {
        let mut last = None;
        while !bytes.is_empty() {
            let progress =
                self.connection.handle_input(bytes, self.now).expect("nothing ends the connection");
            match progress.event {
                Some(Event::Headers { head, .. } | Event::Trailers { head, .. }) => {
                    last = Some(regular(&head));
                }
                Some(Event::HeadersTooLarge { .. }) => panic!("no list is too large"),
                _ => {}
            }
            bytes = &bytes[progress.consumed..];
        }
        let waiting = self.connection.output_len();
        self.connection.advance_output(waiting);
        last
    }

    /// A block as a request, or as the trailers of one.
    fn block(&mut self, block: &[u8], trailers: bool) -> Option<Pairs> {
        let stream = StreamId::new(self.next);
        self.next += 2;
        let mut bytes = Vec::new();
        if trailers {
            headers(stream, &plain_head(), false, &mut bytes);
        }
        headers(stream, block, true, &mut bytes);
        let seen = self.input(&bytes);
        let mut reset = Vec::new();
        RstStream { stream, code: ErrorCode::CANCEL }.encode(&mut reset);
        self.input(&reset);
        seen
    }

    /// What the block says, by a decoder that remembers no blocks.
    fn truth(&mut self, block: &[u8]) -> Pairs {
        let mut pairs = Pairs::new();
        self.truth
            .decode(block, &mut |field| {
                if !field.name.starts_with(b":") {
                    pairs.push((field.name.to_vec(), field.value.to_vec()));
                }
            })
            .expect("every block decodes");
        pairs
    }
}

fn headers(stream: StreamId, fragment: &[u8], end_stream: bool, out: &mut Vec<u8>) {
    Headers { stream, dependency: None, fragment, end_stream, end_headers: true, padding: None }.encode(out);
}

fn regular(head: &Head) -> Pairs {
    let fields = head.fields().filter(|field| !field.name.starts_with(b":"));
    fields.map(|field| (field.name.to_vec(), field.value.to_vec())).collect()
}

/// A request's head that leaves the table alone.
fn plain_head() -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in request_head("/a/b") {
        block.extend([0x00, name.len() as u8]);
        block.extend(name.as_bytes());
        block.push(value.len() as u8);
        block.extend(&value);
    }
    block
}

/// A field that enters the table.
fn insertion(value: u64) -> [u8; 5] {
    [0x40, 1, b'x', 1, b'a' + (value % 4) as u8]
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

// Only here. A handful of blocks, over and over, some of which change what the others mean.
#[test]
fn abuse_00_memo_never_gives_a_stale_head() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut bench = Bench::new(seed);
        let first: Vec<u8> = [plain_head(), (0..4).flat_map(insertion).collect()].concat();
        let (seen, truth) = (bench.block(&first, false), bench.truth(&first));
        assert_eq!(seen.as_ref(), Some(&truth));
        let (mut repeated, mut changed) = (0, 0);
        let mut last_meaning = None;
        for step in 0..2_000 {
            let references = [0xbe, 0xbf, 0xc0, 0xc1];
            let kind = random.below(16);
            let block = match kind {
                // The same octets each time, and yet not the same fields.
                0..8 => [plain_head(), references.to_vec()].concat(),
                8..10 => references.to_vec(),
                10..12 => plain_head(),
                12..14 => [plain_head(), insertion(random.below(4)).to_vec()].concat(),
                14 => [plain_head(), vec![0x00, 1, b'z', 1, b'y'], references.to_vec()].concat(),
                _ => {
                    // A size of the table that holds at least the four entries that follow.
                    let size = [200_u64, 300, 4_096][random.below(3) as usize] - 31;
                    let mut update = vec![0x3f];
                    let mut rest = size;
                    while rest >= 0x80 {
                        update.push(rest as u8 | 0x80);
                        rest >>= 7;
                    }
                    update.push(rest as u8);
                    [update, plain_head(), (0..4).flat_map(|_| insertion(random.below(4))).collect()].concat()
                }
            };
            // Octets that are whole as trailers are malformed as a request, whatever the memo knows of them.
            let trailers = (8..10).contains(&kind) && random.below(2) == 0;
            let seen = bench.block(&block, trailers);
            let truth = bench.truth(&block);
            if (8..10).contains(&kind) && !trailers {
                assert_eq!(seen, None, "seed {seed}, step {step}: a request without :method");
            } else {
                assert_eq!(seen.as_ref(), Some(&truth), "seed {seed}, step {step}");
            }
            if kind < 8 {
                repeated += 1;
                changed += usize::from(last_meaning.as_ref() != Some(&truth));
                last_meaning = Some(truth);
            }
        }
        assert!(repeated > 500 && changed > 100, "the game is worth it: {repeated}, {changed}");
    }
}

// Only here. More distinct blocks than the memo has places for, all of one length and nearly alike, each seen often:
// whatever places they fall into, each gives its own head.
#[test]
fn abuse_00_memo_tells_alike_blocks_apart() {
    for seed in [0, 1, u64::MAX] {
        let mut bench = Bench::new(seed);
        for round in 0..20 {
            for number in 0..200_u8 {
                let mut block = plain_head();
                block.extend([0x00, 1, b'x', 2, b'0' + number / 16, b'a' + number % 16]);
                let (seen, truth) = (bench.block(&block, false), bench.truth(&block));
                assert_eq!(seen, Some(truth), "seed {seed}, round {round}, block {number}");
            }
        }
    }
}
