//! Request bodies: right ones, wrong ones, and both in every possible number of pieces.

use std::time::Duration;

use peregrine_http2::StreamId;
use peregrine_http2::frame::{Data, Frame};
use peregrine_testkit::peer::{message, prefixed};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Slicing, serve, settle};

use crate::{Stage, code, in_each_mode};

/// Receive limit of these servers, in bytes.
const LIMIT: usize = 16;

/// What came of a body: the status, how often the handler ran, and the messages of the reply.
type Outcome = (u32, usize, Vec<String>);

/// Bodies of a method that takes one message, and what becomes of them (table "Malformed bodies", M1).
fn one_message_bodies() -> Vec<(&'static str, Vec<u8>, Outcome)> {
    let refused = |code| (code, 0, vec![]);
    let ok = |text: &str| (code::OK, 1, vec![text.to_owned()]);
    let two = [message(b"one"), message(b"two")].concat();
    vec![
        ("one message", message(b"hello"), ok("hello")),
        ("an empty message", message(b""), ok("")),
        ("exactly the limit", message(&[b'x'; LIMIT]), ok(&"x".repeat(LIMIT))),
        ("nothing", vec![], refused(code::UNIMPLEMENTED)),
        ("one byte", vec![0], refused(code::INTERNAL)),
        ("four bytes", vec![0; 4], refused(code::INTERNAL)),
        ("a prefix alone", prefixed(0, 5, b""), refused(code::INTERNAL)),
        ("a message cut short", prefixed(0, 5, b"hell"), refused(code::INTERNAL)),
        ("one byte too many", [message(b"hello"), vec![0]].concat(), refused(code::INTERNAL)),
        ("four bytes too many", [message(b"hello"), vec![0; 4]].concat(), refused(code::INTERNAL)),
        ("two messages", two.clone(), refused(code::UNIMPLEMENTED)),
        ("two empty messages", [message(b""), message(b"")].concat(), refused(code::UNIMPLEMENTED)),
        ("three messages", [two, message(b"three")].concat(), refused(code::UNIMPLEMENTED)),
        ("over the limit", message(&[b'x'; LIMIT + 1]), refused(code::RESOURCE_EXHAUSTED)),
        ("2^31 announced", prefixed(0, 1 << 31, b"some"), refused(code::RESOURCE_EXHAUSTED)),
        ("the most that can be announced", prefixed(0, u32::MAX, b""), refused(code::RESOURCE_EXHAUSTED)),
        ("compressed without an encoding", prefixed(1, 5, b"hello"), refused(code::INTERNAL)),
        ("a flag of 2", prefixed(2, 5, b"hello"), refused(code::INTERNAL)),
        ("a flag of 255", prefixed(255, 5, b"hello"), refused(code::INTERNAL)),
    ]
}

/// A way to send the pieces of a body behind its HEADERS.
type Sending = (&'static str, fn(&mut Vec<u8>, StreamId, &[&[u8]]));

/// DATA frames for `pieces`, the last one with END_STREAM.
fn plain(out: &mut Vec<u8>, stream: StreamId, pieces: &[&[u8]]) {
    for (index, data) in pieces.iter().enumerate() {
        let end_stream = index + 1 == pieces.len();
        Frame::Data(Data { stream, data, end_stream, padding: None }).encode(out);
    }
}

/// The same with padding (85).
fn padded(out: &mut Vec<u8>, stream: StreamId, pieces: &[&[u8]]) {
    for (index, data) in pieces.iter().enumerate() {
        let end_stream = index + 1 == pieces.len();
        Frame::Data(Data { stream, data, end_stream, padding: Some(index as u8 * 7) }).encode(out);
    }
}

/// An empty DATA frame before each piece, and END_STREAM on one of its own (30).
fn among_empty_frames(out: &mut Vec<u8>, stream: StreamId, pieces: &[&[u8]]) {
    for data in pieces {
        Frame::Data(Data { stream, data: b"", end_stream: false, padding: None }).encode(out);
        Frame::Data(Data { stream, data, end_stream: false, padding: None }).encode(out);
    }
    Frame::Data(Data { stream, data: b"", end_stream: true, padding: None }).encode(out);
}

const SENDINGS: [Sending; 3] =
    [("plain", plain), ("padded", padded), ("among empty frames", among_empty_frames)];

async fn outcome(stage: &Stage, peer: &mut Peer, path: &str, pieces: &[&[u8]], sending: Sending) -> Outcome {
    let before = stage.counts().started;
    let stream = peer.request(path, &[], b"", false).await;
    let mut frames = Vec::new();
    sending.1(&mut frames, stream, pieces);
    peer.send_bytes(&frames).await;
    let reply = peer.reply(stream).await;
    // Empty DATA frames come out of an allowance that refills with time, virtual here.
    tokio::time::sleep(Duration::from_millis(60) * (pieces.len() as u32 + 1)).await;
    let texts = reply.texts().iter().map(ToString::to_string).collect();
    (reply.code(), stage.counts().started - before, texts)
}

// wire-rules 30, 31, 32, 42, 45, 47, M1, M2, M3
#[test]
fn a_body_has_one_outcome_however_it_is_cut() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_receive_message_size(LIMIT));
        let mut peer = served.peer().await;
        for (name, body, expected) in one_message_bodies() {
            for path in [UNARY, SERVER_STREAM] {
                for sending in SENDINGS {
                    let whole = outcome(&stage, &mut peer, path, &[&body], sending).await;
                    assert_eq!(whole, expected, "{path}, {name}, whole, {}", sending.0);
                    for cut in 0..=body.len() {
                        let (a, b) = body.split_at(cut);
                        let got = outcome(&stage, &mut peer, path, &[a, b], sending).await;
                        assert_eq!(got, expected, "{path}, {name}, cut at {cut}, {}", sending.0);
                    }
                    let bytes: Vec<_> = body.chunks(1).collect();
                    if !bytes.is_empty() {
                        let got = outcome(&stage, &mut peer, path, &bytes, sending).await;
                        assert_eq!(got, expected, "{path}, {name}, byte by byte, {}", sending.0);
                    }
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules M2: random cuts, any number of them, the same at each run.
#[test]
fn random_cuts_do_not_change_an_outcome() {
    in_each_mode(async |stage: Stage| {
        let mut random = Random(0x5eed);
        let served = serve(stage.server().max_receive_message_size(LIMIT));
        let mut peer = served.peer().await;
        for (name, body, expected) in one_message_bodies() {
            for turn in 0..40 {
                let mut cuts: Vec<_> = (0..random.below(6)).map(|_| random.below(body.len() + 1)).collect();
                cuts.sort_unstable();
                let mut pieces = Vec::new();
                let mut rest = &body[..];
                for cut in cuts.iter().rev() {
                    let (front, piece) = rest.split_at(*cut);
                    pieces.insert(0, piece);
                    rest = front;
                }
                pieces.insert(0, rest);
                let sending = SENDINGS[turn % SENDINGS.len()];
                let got = outcome(&stage, &mut peer, UNARY, &pieces, sending).await;
                assert_eq!(got, expected, "{name}, cut at {cuts:?}, {}", sending.0);
            }
        }
        served.finish([peer]).await;
    });
}

/// Numbers that look random and are the same each time (a linear congruential generator, Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

// wire-rules 47, M1
#[test]
fn a_request_that_is_headers_alone_has_no_message() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM] {
            let stream = peer.request(path, &[], b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), code::UNIMPLEMENTED, "{path}");
        }
        assert_eq!(stage.counts().started, 0);
        for (path, expected) in [(CLIENT_STREAM, vec!["0 messages, 0 bytes"]), (BIDI, vec![])] {
            let stream = peer.request(path, &[], b"", true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, expected), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules M1, M2: twenty bodies at once, a byte of each in turn, past an interceptor; no handler begins before its end.
#[test]
fn interleaved_bodies_start_no_handler_before_their_own_end() {
    in_each_mode(async |stage: Stage| {
        let let_through = |_: &mut peregrine_core::InterceptedCall<'_>| Ok(());
        let served = serve(stage.server().interceptor(let_through));
        let mut peer = served.peer().await;
        let mut calls = Vec::new();
        for index in 0..20_usize {
            let text = format!("message {index:02}");
            let stream = peer.request([UNARY, SERVER_STREAM][index % 2], &[], b"", false).await;
            calls.push((stream, text));
        }
        let bodies: Vec<_> = calls.iter().map(|(stream, text)| (*stream, message(text.as_bytes()))).collect();
        for at in 0..bodies[0].1.len() {
            for (stream, body) in &bodies {
                peer.data(*stream, &body[at..=at], false).await;
            }
            settle().await;
        }
        assert_eq!(stage.counts().started, 0);
        for (done, (stream, text)) in calls.iter().rev().enumerate() {
            peer.data(*stream, b"", true).await;
            assert_eq!(peer.reply(*stream).await.texts(), [text]);
            assert_eq!(stage.counts().started, done + 1);
        }
        served.finish([peer]).await;
    });
}

// wire-rules 47 as settled, and the table "Malformed bodies"
#[test]
fn one_option_makes_a_missing_message_an_invalid_argument_and_nothing_else() {
    in_each_mode(async |stage: Stage| {
        for (is_invalid, expected) in [(true, code::INVALID_ARGUMENT), (false, code::UNIMPLEMENTED)] {
            let served = serve(stage.server().missing_message_is_invalid_argument(is_invalid));
            let mut peer = served.peer().await;
            for path in [UNARY, SERVER_STREAM] {
                for sending in SENDINGS {
                    for pieces in [&[b"" as &[u8]][..], &[b"", b""]] {
                        let got = outcome(&stage, &mut peer, path, pieces, sending).await;
                        assert_eq!(got, (expected, 0, vec![]), "{path}, {} in {pieces:?}", sending.0);
                    }
                }
                let alone = peer.request(path, &[], b"", true).await;
                assert_eq!(peer.reply(alone).await.code(), expected, "{path}");
                let by_trailers = peer.request(path, &[], b"", false).await;
                peer.headers(by_trailers, &[("x-trailer", "ends it")], true).await;
                assert_eq!(peer.reply(by_trailers).await.code(), expected, "{path}");
                let others = [
                    (vec![0; 4], code::INTERNAL),
                    (prefixed(0, 5, b"hell"), code::INTERNAL),
                    ([message(b"a"), message(b"b")].concat(), code::UNIMPLEMENTED),
                    (message(b""), code::OK),
                ];
                for (body, expected) in others {
                    let got = outcome(&stage, &mut peer, path, &[&body], SENDINGS[0]).await;
                    assert_eq!(got.0, expected, "{path}, {body:?}");
                }
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules M2, and the frames themselves in pieces
#[test]
fn it_does_not_matter_how_the_connections_bytes_arrive() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_receive_message_size(LIMIT));
        for size in [1, 2, 3, 5, 8, 9, 13, 64] {
            let io = served.connect();
            io.set_slicing(Slicing::Every(size));
            let mut peer = Peer::new(io, peregrine_testkit::PeerConfig::default());
            peer.start().await;
            for (name, body, expected) in one_message_bodies() {
                let got = outcome(&stage, &mut peer, UNARY, &[&body], SENDINGS[0]).await;
                assert_eq!(got, expected, "{name} in reads of {size}");
            }
            drop(peer);
        }
        served.finish([]).await;
    });
}

// wire-rules 1: a request may be ended by trailers, which gRPC gives no meaning.
#[test]
fn trailers_end_a_request() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM, BIDI] {
            let stream = peer.request(path, &[], &message(b"hello"), false).await;
            peer.headers(stream, &[("x-trailer", "ignored")], true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 42: answered at the prefix, without the body having come, and then the peer is told to stop (63).
#[test]
fn a_message_over_the_limit_is_refused_at_its_prefix_and_the_connection_lives_on() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_receive_message_size(10));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let stream = peer.request(path, &[], &prefixed(0, 11, b""), false).await;
            let reply = peer.reply(stream).await;
            let (status, text) = reply.status();
            assert_eq!(status, code::RESOURCE_EXHAUSTED, "{path}");
            assert_eq!(
                text,
                "received message of 11 bytes is over the receive limit of 10 bytes of this server, which its \
                 max_receive_message_size can raise",
                "{path}"
            );
            assert_eq!(peer.expect_reset(stream).await, peregrine_http2::ErrorCode::NO_ERROR, "{path}");
            // What was on its way meanwhile is no error.
            peer.data(stream, &[0; 11], true).await;
            let reply = peer.call(path, &[("script", "echo")], b"0123456789").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["0123456789"]), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 29
#[test]
fn messages_of_a_stream_do_not_depend_on_data_frames() {
    let body = [message(b"one"), message(b""), message(b"three"), message(b"four")].concat();
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let expected = vec!["one", "", "three", "four"];
        for size in 1..=body.len() {
            let stream = peer.request(BIDI, &[], b"", false).await;
            let mut frames = Vec::new();
            plain(&mut frames, stream, &body.chunks(size).collect::<Vec<_>>());
            peer.send_bytes(&frames).await;
            assert_eq!(peer.reply(stream).await.texts(), expected, "frames of {size}");
        }
        // And with time in between, so that the handler waits at every cut.
        for cut in 0..=body.len() {
            let stream = peer.request(BIDI, &[], b"", false).await;
            let (a, b) = body.split_at(cut);
            peer.data(stream, a, false).await;
            settle().await;
            peer.data(stream, b, true).await;
            assert_eq!(peer.reply(stream).await.texts(), expected, "cut at {cut}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 45, 31: what was complete before is delivered first.
#[test]
fn a_streamed_body_that_goes_wrong_fails_after_its_whole_messages() {
    let endings = [
        ("a cut prefix", vec![0, 0], code::INTERNAL),
        ("a cut message", prefixed(0, 5, b"hell"), code::INTERNAL),
        ("a flag of 2", prefixed(2, 1, b"x"), code::INTERNAL),
        ("a compressed message", prefixed(1, 1, b"x"), code::INTERNAL),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (name, ending, expected) in &endings {
            let body = [message(b"one"), message(b"two"), ending.clone()].concat();
            let stream = peer.request(BIDI, &[], &body, true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (*expected, vec!["one", "two"]), "{name}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 84
#[test]
fn a_message_larger_than_all_windows_arrives() {
    let payload = vec![b'x'; 3 * 1024 * 1024];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let stream = peer.request(path, &[("script", "echo")], b"", false).await;
            peer.send_body(stream, &message(&payload), true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 1), "{path}");
            assert!(reply.messages[0] == payload, "{path}: the payload came back changed");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 30: messages of nothing between frames of nothing, padded or not; each message is delivered, no frame is.
#[test]
fn empty_frames_between_the_octets_of_empty_messages_change_nothing() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (path, expected) in [(BIDI, vec!["", "", ""]), (CLIENT_STREAM, vec!["3 messages, 0 bytes"])] {
            let stream = peer.request(path, &[], b"", false).await;
            for octet in [0; 15] {
                peer.data(stream, b"", false).await;
                peer.data(stream, &[octet], false).await;
                peer.send(&[Frame::Data(Data { stream, data: b"", end_stream: false, padding: Some(9) })])
                    .await;
            }
            peer.send(&[Frame::Data(Data { stream, data: b"", end_stream: true, padding: Some(255) })]).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, expected), "{path}");
        }
        for path in [UNARY, SERVER_STREAM] {
            let stream = peer.request(path, &[], b"", false).await;
            for octet in [0; 5] {
                peer.data(stream, &[octet], false).await;
                peer.data(stream, b"", false).await;
            }
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.texts(), [""], "{path}");
        }
        served.finish([peer]).await;
    });
}
