//! Frames that no client may send, while calls run: what is a fault of one stream ends that call, what is a fault of the
//! connection ends all, says which rule was broken and which streams were served, and leaves no handler behind.

use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Ending, Peer, message, raw_frame, request_head};
use peregrine_testkit::service::{BIDI, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 0x20;

/// A block with `:method: POST` and nothing else, from the static table.
const POST: &[u8] = &[0x83];

fn id(value: u32) -> StreamId {
    StreamId::new(value)
}

/// With streams 1 and 3 open, whose handlers wait: `bytes` end the connection with `code`.
fn ends_all(what: &str, code: ErrorCode, bytes: &[u8]) {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        peer.request(BIDI, &[("script", "never")], &message(b""), false).await;
        settle().await;
        peer.send_bytes(bytes).await;
        let (last, said, text) = peer.expect_go_away().await;
        assert_eq!((said, last), (code, id(3)), "{what}: {text}");
        assert!(!text.is_empty(), "{what}: no reason is given");
        peer.expect_closed().await;
        settle().await;
        let counts = stage.counts();
        assert_eq!((counts.started, counts.cancelled), (2, 2), "{what}");
        served.finish([peer]).await;
    });
}

// wire-rules 76, 86, 88; RFC 9113 4 to 6
#[test]
fn a_fault_of_the_connection_cancels_every_call_and_is_named() {
    let protocol = ErrorCode::PROTOCOL_ERROR;
    let size = ErrorCode::FRAME_SIZE_ERROR;
    let compression = ErrorCode::COMPRESSION_ERROR;
    let open = END_HEADERS;
    let cases: Vec<(&str, ErrorCode, Vec<u8>)> = vec![
        ("HEADERS on an even stream", protocol, raw_frame(HEADERS, open, id(2), POST)),
        ("HEADERS on stream 0", protocol, raw_frame(HEADERS, open, id(0), POST)),
        ("DATA on stream 0", protocol, raw_frame(DATA, 0, id(0), b"x")),
        ("DATA on an idle stream", protocol, raw_frame(DATA, 0, id(5), b"x")),
        ("DATA on an even stream", protocol, raw_frame(DATA, 0, id(4), b"x")),
        ("RST_STREAM on an idle stream", protocol, raw_frame(RST_STREAM, 0, id(5), &[0; 4])),
        ("RST_STREAM on stream 0", protocol, raw_frame(RST_STREAM, 0, id(0), &[0; 4])),
        ("RST_STREAM of three octets", size, raw_frame(RST_STREAM, 0, id(1), &[0; 3])),
        ("WINDOW_UPDATE on an idle stream", protocol, raw_frame(WINDOW_UPDATE, 0, id(5), &[0, 0, 0, 1])),
        ("WINDOW_UPDATE of five octets", size, raw_frame(WINDOW_UPDATE, 0, id(1), &[0, 0, 0, 1, 0])),
        ("an increment of nothing", protocol, raw_frame(WINDOW_UPDATE, 0, id(0), &[0; 4])),
        (
            "too large a window",
            ErrorCode::FLOW_CONTROL_ERROR,
            raw_frame(WINDOW_UPDATE, 0, id(0), &[0x7f, 0xff, 0xff, 0xff]),
        ),
        ("PUSH_PROMISE of a client", protocol, raw_frame(PUSH_PROMISE, open, id(1), &[0, 0, 0, 2, 0x83])),
        ("CONTINUATION of nothing", protocol, raw_frame(CONTINUATION, open, id(1), POST)),
        ("PING of seven octets", size, raw_frame(PING, 0, id(0), &[0; 7])),
        ("PING on a stream", protocol, raw_frame(PING, 0, id(1), &[0; 8])),
        ("SETTINGS on a stream", protocol, raw_frame(SETTINGS, 0, id(1), &[])),
        ("SETTINGS of five octets", size, raw_frame(SETTINGS, 0, id(0), &[0; 5])),
        ("an acknowledgement with content", size, raw_frame(SETTINGS, 1, id(0), &[0; 6])),
        ("ENABLE_PUSH 2", protocol, raw_frame(SETTINGS, 0, id(0), &[0, 2, 0, 0, 0, 2])),
        ("MAX_FRAME_SIZE 16,383", protocol, raw_frame(SETTINGS, 0, id(0), &[0, 5, 0, 0, 0x3f, 0xff])),
        ("MAX_FRAME_SIZE 16,777,216", protocol, raw_frame(SETTINGS, 0, id(0), &[0, 5, 1, 0, 0, 0])),
        (
            "INITIAL_WINDOW_SIZE 2^31",
            ErrorCode::FLOW_CONTROL_ERROR,
            raw_frame(SETTINGS, 0, id(0), &[0, 4, 0x80, 0, 0, 0]),
        ),
        ("GOAWAY on a stream", protocol, raw_frame(GOAWAY, 0, id(1), &[0; 8])),
        ("GOAWAY of seven octets", size, raw_frame(GOAWAY, 0, id(0), &[0; 7])),
        ("PRIORITY on stream 0", protocol, raw_frame(PRIORITY, 0, id(0), &[0; 5])),
        ("more padding than frame", protocol, raw_frame(DATA, PADDED, id(3), &[200, 1, 2])),
        ("padding without its length", size, raw_frame(DATA, PADDED, id(3), &[])),
        ("padding longer than a block", protocol, raw_frame(HEADERS, open | PADDED, id(5), &[9, 0x83])),
        ("a priority cut short", size, raw_frame(HEADERS, open | WITH_PRIORITY, id(5), &[0; 4])),
        ("a frame of 16,385 octets", size, raw_frame(DATA, 0, id(3), &[0; 16_385])),
        ("a block of 16,385 octets", size, raw_frame(HEADERS, open, id(5), &[0x83; 16_385])),
        ("index 0", compression, raw_frame(HEADERS, open, id(5), &[0x80])),
        (
            "an index beyond the tables",
            compression,
            raw_frame(HEADERS, open, id(5), &[0xff, 0xff, 0xff, 0x01]),
        ),
        ("an integer without end", compression, raw_frame(HEADERS, open, id(5), &[0xff; 60])),
        (
            "a string longer than its block",
            compression,
            raw_frame(HEADERS, open, id(5), &[0x40, 0x7f, 0x20, b'a']),
        ),
        (
            "a table larger than allowed",
            compression,
            raw_frame(HEADERS, open, id(5), &[0x3f, 0xe2, 0x1f, 0x83]),
        ),
        ("a table's size behind a field", compression, raw_frame(HEADERS, open, id(5), &[0x83, 0x20])),
        (
            "another frame within a block",
            protocol,
            [raw_frame(HEADERS, 0, id(5), POST), raw_frame(PING, 0, id(0), &[0; 8])].concat(),
        ),
        (
            "an unknown frame within a block",
            protocol,
            [raw_frame(HEADERS, 0, id(5), POST), raw_frame(0xfa, 0, id(5), b"x")].concat(),
        ),
        (
            "CONTINUATION of another stream",
            protocol,
            [raw_frame(HEADERS, 0, id(5), POST), raw_frame(CONTINUATION, open, id(7), POST)].concat(),
        ),
    ];
    for (what, code, bytes) in cases {
        ends_all(what, code, &bytes);
    }
}

async fn is_alive(peer: &mut Peer) {
    assert_eq!(peer.call(UNARY, &[], b"alive").await.texts(), ["alive"]);
}

// wire-rules 88; RFC 9113 5.1, 5.3, 8.1
#[test]
fn a_fault_of_a_stream_ends_its_call_only() {
    let cases: Vec<(&str, ErrorCode, Vec<u8>)> = vec![
        ("DATA behind the end", ErrorCode::STREAM_CLOSED, raw_frame(DATA, 0, id(1), b"x")),
        ("an empty frame behind the end", ErrorCode::STREAM_CLOSED, raw_frame(DATA, END_STREAM, id(1), b"")),
        (
            "a block behind the end",
            ErrorCode::STREAM_CLOSED,
            raw_frame(HEADERS, END_HEADERS | END_STREAM, id(1), &[0x88]),
        ),
        ("PRIORITY of four octets", ErrorCode::FRAME_SIZE_ERROR, raw_frame(PRIORITY, 0, id(1), &[0; 4])),
        ("an increment of nothing", ErrorCode::PROTOCOL_ERROR, raw_frame(WINDOW_UPDATE, 0, id(1), &[0; 4])),
    ];
    for (what, expected, bytes) in cases {
        in_each_mode(async |stage: Stage| {
            let (served, mut peer) = stage.start().await;
            let stream = peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
            settle().await;
            peer.send_bytes(&bytes).await;
            assert_eq!(peer.reply(stream).await.ending, Some(Ending::Reset(expected)), "{what}");
            settle().await;
            assert_eq!(stage.counts().cancelled, 1, "{what}");
            is_alive(&mut peer).await;
            served.finish([peer]).await;
        });
    }
}

// wire-rules 86, 88; RFC 9113 4.1, 5.5, 6.5
#[test]
fn what_is_merely_unknown_is_ignored() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(BIDI, &[], &message(b"one"), false).await;
        let mut bytes = Vec::new();
        for kind in [0xa_u8, 0xb, 0x10, 0x1f, 0xfe, 0xff] {
            for on in [id(0), stream, id(2), id(4_001)] {
                bytes.extend(raw_frame(kind, 0xff, on, &[kind; 20]));
            }
        }
        // Settings nobody knows, among one that counts; the reserved bit of an id; an answer nobody waits for.
        bytes.extend(raw_frame(
            SETTINGS,
            0,
            id(0),
            &[0xfe, 0xfe, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9],
        ));
        let mut reserved = raw_frame(DATA, 0, stream, &message(b"two"));
        reserved[5] |= 0x80;
        bytes.extend(reserved);
        // Flags without a meaning.
        bytes.extend(raw_frame(DATA, 0b1111_0110, stream, &message(b"three")));
        bytes.extend(raw_frame(PING, 0xfe, id(0), b"12345678"));
        // Priorities of streams of every state.
        for on in [stream, id(91), id(92)] {
            bytes.extend(raw_frame(PRIORITY, 0, on, &[0, 0, 0, 0, 7]));
        }
        peer.send_bytes(&bytes).await;
        peer.data(stream, b"", true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["one", "two", "three"]);
        is_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// wire-rules 88: ids that go down, and one that comes again.
#[test]
fn ids_only_go_up() {
    for again in [false, true] {
        in_each_mode(async |stage: Stage| {
            let (served, mut peer) = stage.start().await;
            peer.open();
            let second = peer.request(UNARY, &[], &message(b""), true).await;
            assert_eq!((second, peer.reply(second).await.code()), (id(3), code::OK));
            let mut bytes = Vec::new();
            let stream = if again { second } else { id(1) };
            peer.encode_headers(stream, &request_head(UNARY), true, &mut bytes);
            peer.send_bytes(&bytes).await;
            let (last, code, _) = peer.expect_go_away().await;
            assert!(
                code == ErrorCode::PROTOCOL_ERROR || (again && code == ErrorCode::STREAM_CLOSED),
                "{code}"
            );
            assert_eq!(last, second);
            peer.expect_closed().await;
            assert_eq!(stage.counts().started, 1);
            served.finish([peer]).await;
        });
    }
}

// wire-rules 28, 29, 85: one head and one message, in every way to cut and pad them.
#[test]
fn heads_and_messages_in_crumbs() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for padding in [0_u8, 1, 255] {
            let stream = peer.open();
            let mut whole = Vec::new();
            peer.encode_headers(stream, &request_head(UNARY), false, &mut whole);
            let block = whole.split_off(9);
            let mut bytes = Vec::new();
            // HEADERS with padding and a priority and nothing of the block in it, then a CONTINUATION an octet.
            let mut first = vec![padding, 0, 0, 0, 0, 16];
            first.extend(vec![0; usize::from(padding)]);
            bytes.extend(raw_frame(HEADERS, PADDED | WITH_PRIORITY, stream, &first));
            for (index, octet) in block.chunks(8).enumerate() {
                let is_last = (index + 1) * 8 >= block.len();
                bytes.extend(raw_frame(CONTINUATION, if is_last { END_HEADERS } else { 0 }, stream, octet));
            }
            for octet in message(b"crumbs") {
                let mut data = vec![padding, octet];
                data.extend(vec![0; usize::from(padding)]);
                bytes.extend(raw_frame(DATA, PADDED, stream, &data));
                bytes.extend(raw_frame(DATA, 0, stream, b""));
            }
            bytes.extend(raw_frame(DATA, END_STREAM, stream, b""));
            peer.send_bytes(&bytes).await;
            assert_eq!(peer.reply(stream).await.texts(), ["crumbs"], "{padding}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 63, 27, 2, 10: refusals before any handler, while the body is still coming, past the windows.
#[test]
fn a_refusal_does_not_wait_for_the_body_nor_count_it() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().initial_connection_window(65_535).adaptive_windows(None));
        let mut peer = served.peer().await;
        let long = "v".repeat(17_000);
        for (path, field) in [
            ("/test.Test/None", ("k", "v")),
            (UNARY, ("k", long.as_str())),
            (UNARY, ("grpc-timeout", "x")),
            (UNARY, ("grpc-encoding", "x")),
            (UNARY, ("k-bin", "*")),
        ] {
            let stream = peer.request(path, &[field], &message(b"x"), false).await;
            let reply = peer.reply(stream).await;
            assert_ne!(reply.code(), code::OK);
            assert!(reply.is_trailers_only());
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR, "{field:?}");
            for _ in 0..8 {
                peer.data(stream, &[0; 5_000], false).await;
            }
            is_alive(&mut peer).await;
        }
        assert_eq!(stage.counts().started, 5);
        served.finish([peer]).await;
    });
}
