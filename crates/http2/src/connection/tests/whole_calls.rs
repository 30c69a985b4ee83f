//! The short ways of a server, for a request that has come as a whole and for a response that is written as one, do what
//! the long ways do, or nothing.

use std::sync::Arc;

use bytes::Bytes;

use super::scripted::{Scripted, raw_frame};
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::connection::{Config, Connection};
use crate::frame::{Setting, Settings};
use crate::{CachedBlock, ErrorCode, StreamError, StreamKey};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The stream that comes next when a server is warm.
const NEXT: u32 = 81;

/// A server that has answered calls, so that all blocks are known on both sides.
struct Warm {
    scripted: Scripted,
    head: CachedBlock,
    trailers: CachedBlock,
}

impl Warm {
    fn new(config: Config) -> Self {
        let scripted = Scripted::server(Config { whole_requests: true, ..config });
        let (head, trailers) = Default::default();
        let mut warm = Self { scripted, head, trailers };
        for id in (1..NEXT - 2).step_by(2) {
            let key = warm.scripted.request(id, false);
            warm.scripted.data(id, b"question", true).unwrap();
            warm.answer(key, b"answer", false);
            assert!(!warm.connection().is_open(key));
        }
        // What calls make up for.
        for _ in 0..9 {
            warm.scripted.raw(PING, ACK, 0, b"to what?").unwrap();
        }
        warm.scripted.request(NEXT - 2, false);
        warm.scripted.rst(NEXT - 2, ErrorCode::CANCEL).unwrap();
        warm.scripted.written();
        warm
    }

    fn plain() -> Self {
        Self::new(Config { initial_window_size: 65_535, connection_window_size: 65_535, ..Config::server() })
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.scripted.connection
    }

    /// A response step by step.
    fn answer(&mut self, key: StreamKey, data: &[u8], is_linked: bool) {
        let Self { scripted, head, trailers } = self;
        let connection = &mut scripted.connection;
        connection.send_cached_headers(key, head, || fields(&RESPONSE), false).unwrap();
        let mut write = connection.write_data(key, data.len()).unwrap();
        fill(write.buffers(), data, is_linked);
        write.commit().unwrap();
        connection.send_cached_headers(key, trailers, || fields(&TRAILERS), true).unwrap();
    }

    /// A response in one go; false if that is not possible.
    fn answer_whole(&mut self, key: StreamKey, data: &[u8], is_linked: bool) -> bool {
        let Self { scripted, head, trailers } = self;
        let Ok(mut write) = scripted.connection.write_response(key, head, trailers, data.len()) else {
            return false;
        };
        fill(write.buffers(), data, is_linked);
        write.commit().unwrap();
        true
    }

    /// HEADERS with the block that is known.
    fn head_of(&mut self, stream: u32, flags: u8) -> Vec<u8> {
        let block = self.scripted.block(&REQUEST);
        raw_frame(HEADERS, flags, stream, &block)
    }

    /// What the server says of these octets, how many requests it took in the short way, and what it is like then.
    fn receive(&mut self, mut octets: &[u8], is_short: bool) -> (Vec<String>, usize) {
        let Scripted { connection, now, .. } = &mut self.scripted;
        let (mut seen, mut taken) = (Vec::new(), 0);
        loop {
            if is_short && let Some(whole) = connection.peek_request(octets) {
                let (head, id, data, len) = (Arc::clone(whole.head), whole.stream, whole.data, whole.len);
                let stream = connection.accept_request(id, data.len(), *now);
                seen.push(format!("{:?}", Seen::Request { stream, head, data: data.to_vec() }));
                octets = &octets[len..];
                taken += 1;
                continue;
            }
            match connection.handle_input(octets, *now) {
                Ok(progress) => {
                    seen.extend(progress.event.map(|event| format!("{:?}", Seen::from(event))));
                    if progress.consumed == 0 {
                        break;
                    }
                    octets = &octets[progress.consumed..];
                }
                Err(error) => {
                    seen.push(error.to_string());
                    break;
                }
            }
        }
        seen.push(format!("{} octets are left", octets.len()));
        seen.push(self.state());
        (seen, taken)
    }

    /// All that a call may change.
    fn state(&mut self) -> String {
        let written = self.scripted.written_octets();
        let Connection {
            ids, limits, pings, streams, send_window, recv_window, announced, received_at, ..
        } = &mut self.scripted.connection;
        let streams: Vec<_> = streams.iter_mut().map(|(key, stream)| format!("{key:?} {stream:?}")).collect();
        let is_heard = *received_at == self.scripted.now;
        let state = format!(
            "{ids:?} {limits:?} {pings:?} {streams:?} {send_window:?} {recv_window:?} {announced} {is_heard} {written:?}"
        );
        // Each server has a clock of its own.
        let times = |part: &str| part.split_once('}').map_or(part, |(_, rest)| rest).to_owned();
        let mut parts = state.split("Instant {");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.map(times).fold(first, |text, part| text + &part)
    }
}

fn fill(
    (bytes, links): (&mut Vec<u8>, &mut std::collections::VecDeque<(usize, Bytes)>),
    data: &[u8],
    is_linked: bool,
) {
    let (plain, linked) = data.split_at(if is_linked { data.len() / 2 } else { data.len() });
    bytes.extend_from_slice(plain);
    if !linked.is_empty() {
        links.push_back((bytes.len(), Bytes::copy_from_slice(linked)));
    }
}

/// Makes what a server is sent; large data for one frame is at hand.
type Make = fn(&mut Warm, &[u8]) -> Vec<u8>;

fn data_of(stream: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    raw_frame(DATA, flags, stream, payload)
}

// wire-rules M3
// [9113-5.1.1-2] [9113-6.9.1-3]
#[test]
fn a_known_request_that_has_come_as_a_whole_is_taken_as_its_frames_are() {
    let large = vec![7; 16_384];
    let cases: [(&str, Make, usize); 15] = [
        ("usual", |warm, _| [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, b"abc")].concat(), 1),
        ("no data", |warm, _| [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, b"")].concat(), 1),
        (
            "large frames, and credit for them",
            |warm, large| {
                let one =
                    |warm: &mut Warm, id| [warm.head_of(id, END_HEADERS), data_of(id, END_STREAM, large)];
                [one(warm, NEXT), one(warm, NEXT + 2), one(warm, NEXT + 4)].concat().concat()
            },
            3,
        ),
        (
            "ids that are stepped over",
            |warm, _| {
                let (head, data) =
                    (warm.head_of(NEXT + 6, END_HEADERS), data_of(NEXT + 6, END_STREAM, b"abc"));
                [head, data, raw_frame(3, 0, NEXT + 2, &[0, 0, 0, 8])].concat()
            },
            1,
        ),
        (
            "an id that was used",
            |warm, _| [warm.head_of(1, END_HEADERS), data_of(1, END_STREAM, b"a")].concat(),
            0,
        ),
        ("an even id", |warm, _| [warm.head_of(82, END_HEADERS), data_of(82, END_STREAM, b"a")].concat(), 0),
        (
            "an id near the end",
            |warm, _| {
                let id = 0x7fff_ff01;
                [warm.head_of(id, END_HEADERS), data_of(id, END_STREAM, b"a")].concat()
            },
            0,
        ),
        (
            "another stream's data",
            |warm, _| [warm.head_of(NEXT, END_HEADERS), data_of(1, END_STREAM, b"a")].concat(),
            0,
        ),
        ("more to come", |warm, _| [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, 0, b"abc")].concat(), 0),
        (
            "padding",
            |warm, _| {
                [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM | PADDED, b"\x01a\0")].concat()
            },
            0,
        ),
        (
            "a head that ends it",
            |warm, _| {
                [warm.head_of(NEXT, END_HEADERS | END_STREAM), data_of(NEXT, END_STREAM, b"a")].concat()
            },
            0,
        ),
        (
            "a head that goes on",
            |warm, _| [warm.head_of(NEXT, 0), data_of(NEXT, END_STREAM, b"a")].concat(),
            0,
        ),
        (
            "inside of a block",
            |warm, _| {
                [
                    warm.head_of(NEXT, 0),
                    warm.head_of(NEXT + 2, END_HEADERS),
                    data_of(NEXT + 2, END_STREAM, b"a"),
                ]
                .concat()
            },
            0,
        ),
        (
            "a frame too long",
            |warm, _| [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, &vec![7; 16_385])].concat(),
            0,
        ),
        (
            "an unknown head before known ones",
            |warm, _| {
                let list = [&REQUEST[..], &[("x-more", "1")]].concat();
                let unknown = warm.scripted.block(&list);
                let mut octets = raw_frame(HEADERS, END_HEADERS, NEXT, &unknown);
                octets.extend(data_of(NEXT, END_STREAM, b"abc"));
                for id in [NEXT + 2, NEXT + 4, NEXT + 6] {
                    octets.extend(warm.head_of(id, END_HEADERS));
                    octets.extend(data_of(id, END_STREAM, b"abc"));
                }
                octets
            },
            3,
        ),
    ];
    for (name, make, expected) in cases {
        let (mut short, mut long) = (Warm::plain(), Warm::plain());
        let octets = make(&mut short, &large);
        assert_eq!(octets, make(&mut long, &large));
        let (seen, taken) = short.receive(&octets, true);
        assert_eq!(seen, long.receive(&octets, false).0, "{name}");
        assert_eq!(taken, expected, "{name}");
    }
}

#[test]
fn a_request_that_is_not_all_there_is_waited_for_in_the_long_way() {
    let mut warm = Warm::plain();
    let octets = [warm.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, b"abc")].concat();
    for cut in 0..octets.len() {
        assert!(warm.connection().peek_request(&octets[..cut]).is_none(), "{cut}");
    }
    assert!(warm.connection().peek_request(&octets).is_some());
}

// [9113-5.1.2-2] [9113-6.8-5]
#[test]
fn what_stands_in_the_way_of_a_whole_request_leaves_it_to_the_long_way() {
    let refuses = |name: &str, config: Config, change: &dyn Fn(&mut Warm)| {
        let (mut short, mut long) = (Warm::new(config.clone()), Warm::new(config));
        change(&mut short);
        change(&mut long);
        let octets = [short.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, b"abc")].concat();
        assert_eq!(octets, [long.head_of(NEXT, END_HEADERS), data_of(NEXT, END_STREAM, b"abc")].concat());
        let (seen, taken) = short.receive(&octets, true);
        assert_eq!(seen, long.receive(&octets, false).0, "{name}");
        assert_eq!(taken, 0, "{name}");
    };
    let server = Config::server;
    refuses("it is not asked for", server(), &|warm| warm.connection().config.whole_requests = false);
    refuses("no stream may be opened", server(), &|warm| {
        warm.connection().config.max_concurrent_streams = Some(0);
    });
    refuses("the connection ends", server(), &|warm| {
        let now = warm.scripted.now;
        warm.connection().graceful_shutdown(now);
        warm.scripted.raw(PING, ACK, 0, b"draining").unwrap();
    });
    refuses("the connection is over", server(), &|warm| {
        warm.connection().abort(ErrorCode::NO_ERROR, "enough");
    });
    refuses("no window for a stream", Config { initial_window_size: 10, ..server() }, &|warm| {
        warm.connection().recv_window_size = 2;
    });
}

#[test]
fn a_whole_response_is_the_same_on_the_wire_and_leaves_the_same_behind() {
    for (len, is_linked) in [(1, false), (100, false), (16_384, false), (16_384, true), (9, true)] {
        let (mut short, mut long) = (Warm::plain(), Warm::plain());
        let data = vec![5; len];
        let key = short.scripted.request(NEXT, true);
        assert_eq!(key, long.scripted.request(NEXT, true));
        assert!(short.answer_whole(key, &data, is_linked));
        long.answer(key, &data, is_linked);
        assert_eq!(short.connection().open_streams(), 0);
        assert_eq!(short.state(), long.state(), "{len} octets, linked: {is_linked}");
    }
}

#[test]
fn a_whole_response_that_is_not_committed_leaves_no_trace() {
    let mut warm = Warm::plain();
    let key = warm.scripted.request(NEXT, true);
    let before = warm.state();
    let Warm { scripted, head, trailers } = &mut warm;
    let mut write = scripted.connection.write_response(key, head, trailers, 20_000 / 2).unwrap();
    fill(write.buffers(), &[1; 9_000], true);
    let error = StreamError::LengthMismatch { announced: 10_000, written: 9_000 };
    assert_eq!(write.commit(), Err(error));
    drop(write);
    let mut write = scripted.connection.write_response(key, head, trailers, 7).unwrap();
    fill(write.buffers(), b"answer.", false);
    drop(write);
    assert_eq!(warm.state(), before);
    assert!(warm.answer_whole(key, b"answer", false));
    assert!(!warm.answer_whole(key, b"answer", false), "the stream is gone");
}

// [9113-6.9.1-1]
#[test]
fn what_stands_in_the_way_of_a_whole_response_leaves_it_to_the_long_way() {
    let refuses = |name: &str, end: bool, len: usize, change: &dyn Fn(&mut Warm, StreamKey)| {
        let mut warm = Warm::plain();
        let key = warm.scripted.request(NEXT, end);
        change(&mut warm, key);
        warm.scripted.written();
        let before = warm.state();
        assert!(!warm.answer_whole(key, &vec![5; len], false), "{name}");
        assert_eq!(warm.state(), before, "{name}");
    };
    let set = |setting: Setting| {
        move |warm: &mut Warm, _: StreamKey| {
            let mut octets = Vec::new();
            Settings::encode_entries(&[setting], &mut octets);
            warm.scripted.receive(&octets).unwrap();
        }
    };
    refuses("the peer goes on", false, 7, &|_, _| ());
    refuses("no data", true, 0, &|_, _| ());
    refuses("more than a frame", true, 16_385, &|_, _| ());
    refuses("the stream's window", true, 7, &set(Setting::InitialWindowSize(6)));
    refuses("short lists", true, 7, &set(Setting::MaxHeaderListSize(10)));
    refuses("another table", true, 7, &set(Setting::HeaderTableSize(0)));
    refuses("the connection's window", true, 7, &|warm, _| {
        let left = warm.connection().send_window.available();
        warm.connection().send_window.spend(left - 6);
    });
    refuses("too much output", true, 7, &|warm, _| warm.connection().config.write_buffer_high_water = 0);
    refuses("a head that is out", true, 7, &|warm, key| {
        let Warm { scripted, head, .. } = warm;
        scripted.connection.send_cached_headers(key, head, || fields(&RESPONSE), false).unwrap();
    });
    refuses("a reset", true, 7, &|warm, key| warm.connection().reset(key, ErrorCode::CANCEL));
    let mut warm = Warm::plain();
    let key = warm.scripted.request(NEXT, true);
    warm.trailers = CachedBlock::default();
    assert!(!warm.answer_whole(key, b"answer", false), "trailers that were never encoded");
}
