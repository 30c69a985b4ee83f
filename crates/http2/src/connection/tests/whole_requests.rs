//! A request that comes as one event means what the two events of its frames mean.

use super::scripted::{Scripted, raw_frame};
use super::{REQUEST, Seen};
use crate::connection::Config;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// What a server says of these octets, its output and its state afterwards; whole requests are taken apart, and counted.
fn served(whole_requests: bool, octets: &[u8]) -> (Vec<String>, Vec<String>, usize) {
    let config = Config {
        whole_requests,
        initial_window_size: 65_535,
        connection_window_size: 65_535,
        ..Config::server()
    };
    let mut server = Scripted::server(config);
    let (mut events, mut whole) = (Vec::new(), 0);
    match server.receive(octets) {
        Ok(seen) => {
            for event in seen {
                match event {
                    Seen::Request { stream, head, data } => {
                        whole += 1;
                        events.push(format!("{:?}", Seen::Headers { stream, head, end_stream: false }));
                        events.push(format!("{:?}", Seen::Data { data, end_stream: true }));
                    }
                    other => events.push(format!("{other:?}")),
                }
            }
        }
        Err(error) => events.push(error.to_string()),
    }
    let connection = &mut server.connection;
    let state = format!("{} open, window {}", connection.streams.len(), connection.recv_window.available());
    let streams = connection
        .streams
        .iter_mut()
        .map(|(key, stream)| format!("{key:?}: {:?} {:?} {}", stream.send, stream.recv, stream.expected));
    events.extend([state].into_iter().chain(streams));
    let written = server.written().into_iter().map(|frame| format!("{frame:?}")).collect();
    (events, written, whole)
}

/// HEADERS of a request on a stream, with more fields.
fn head(stream: u32, more: &[(&str, &str)], flags: u8) -> Vec<u8> {
    let mut encoder = crate::hpack::Encoder::new(1);
    let mut block = Vec::new();
    encoder.encode_block(super::fields(&[&REQUEST[..], more].concat()), &mut block);
    raw_frame(HEADERS, flags, stream, &block)
}

// wire-rules M3
#[test]
fn a_request_with_its_data_behind_it_is_one_event_that_means_the_same_as_two() {
    let plain = |more: &[(&str, &str)]| head(1, more, END_HEADERS);
    let data = |flags, payload: &[u8]| raw_frame(DATA, flags, 1, payload);
    let length = |length| [("content-length", length)];
    let large = vec![7; 16_384];
    let most_of_the_window = [plain(&[]), data(0, &large), data(0, &large), data(0, &large)].concat();
    let cases: [(&str, Vec<u8>, usize); 16] = [
        ("data", [plain(&[]), data(END_STREAM, b"abc")].concat(), 1),
        ("no data", [plain(&[]), data(END_STREAM, b"")].concat(), 1),
        ("a full frame", [plain(&[]), data(END_STREAM, &large)].concat(), 1),
        ("the length that was said", [plain(&length("3")), data(END_STREAM, b"abc")].concat(), 1),
        ("less than was said", [plain(&length("4")), data(END_STREAM, b"abc")].concat(), 0),
        ("more than was said", [plain(&length("2")), data(END_STREAM, b"abc")].concat(), 0),
        ("more to come", [plain(&[]), data(0, b"abc"), data(END_STREAM, b"d")].concat(), 0),
        ("padding", [plain(&[]), data(END_STREAM | PADDED, b"\x01abc\0")].concat(), 0),
        ("unknown flags", [plain(&[]), data(END_STREAM | 0x40, b"abc")].concat(), 0),
        ("a head that ends it", [head(1, &[], END_HEADERS | END_STREAM), data(END_STREAM, b"a")].concat(), 0),
        ("another stream's data", [plain(&[]), raw_frame(DATA, END_STREAM, 3, b"abc")].concat(), 0),
        (
            "a frame between",
            [plain(&[]), raw_frame(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]), data(END_STREAM, b"abc")].concat(),
            0,
        ),
        ("a frame too long", [plain(&[]), data(END_STREAM, &vec![7; 16_385])].concat(), 0),
        (
            "two requests",
            [
                plain(&[]),
                data(END_STREAM, b"a"),
                head(3, &[], END_HEADERS),
                raw_frame(DATA, END_STREAM, 3, b"b"),
            ]
            .concat(),
            2,
        ),
        (
            "a window that is used up",
            [most_of_the_window.clone(), head(3, &[], END_HEADERS), raw_frame(DATA, END_STREAM, 3, &large)]
                .concat(),
            1,
        ),
        ("a malformed head", [plain(&[("Upper", "case")]), data(END_STREAM, b"abc")].concat(), 0),
    ];
    for (name, octets, whole) in cases {
        let (events, written, count) = served(true, &octets);
        assert_eq!((events, written, 0), served(false, &octets), "{name}");
        assert_eq!(count, whole, "{name}");
    }
}
