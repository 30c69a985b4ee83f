//! Heads that come again octet for octet, and heads whose octets come again with another meaning: what was decoded once
//! is remembered, and must never be remembered wrongly.

use bytes::Bytes;
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Ending, Peer, Reply, message, raw_frame, request_head};
use peregrine_testkit::serve;
use peregrine_testkit::service::{CLIENT_STREAM, SERVER_STREAM, UNARY};

use crate::{Stage, code, in_each_mode};

/// How often a head comes before it is believed to be remembered.
const TIMES: usize = 6;

const HEADERS: u8 = 1;
const END_HEADERS: u8 = 4;

/// A literal field that goes into no table (RFC 7541 6.2.2).
fn literal(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(0);
    plain(name, value, out);
}

/// A literal field that goes into the table (RFC 7541 6.2.1).
fn indexed(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(0x40);
    plain(name, value, out);
}

fn plain(name: &str, value: &str, out: &mut Vec<u8>) {
    for text in [name, value] {
        assert!(text.len() < 127);
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    }
}

/// A request head of a call that tells its metadata; `more` is what stands behind.
fn block(more: &[u8]) -> Vec<u8> {
    // POST and http, from the static table.
    let mut block = vec![0x83, 0x86];
    literal(":path", UNARY, &mut block);
    literal(":authority", "test.example", &mut block);
    literal("content-type", "application/grpc", &mut block);
    literal("script", "tell", &mut block);
    block.extend_from_slice(more);
    block
}

async fn told(peer: &mut Peer, block: &[u8]) -> String {
    let stream = peer.open();
    peer.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, block)).await;
    peer.data(stream, &message(b""), true).await;
    let reply = peer.reply(stream).await;
    assert_eq!(reply.code(), code::OK);
    reply.texts().concat()
}

// RFC 7541 2.3.2: an index means what the table holds now, and every insertion counts, remembered or not.
#[test]
fn the_same_octets_may_mean_another_field() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let insert = |value: &str| {
            let mut field = Vec::new();
            indexed("k", value, &mut field);
            block(&field)
        };
        // The newest entry of the table.
        let newest = block(&[0xbe]);
        for value in ["1", "2", "1", "3"] {
            assert_eq!(told(&mut peer, &insert(value)).await, format!("k: {value}\n"));
            for _ in 0..TIMES {
                assert_eq!(told(&mut peer, &newest).await, format!("k: {value}\n"));
            }
        }
        // The same insertion again and again: an entry each time.
        for _ in 0..TIMES {
            assert_eq!(told(&mut peer, &insert("same")).await, "k: same\n");
        }
        assert_eq!(told(&mut peer, &insert("last")).await, "k: last\n");
        let places = [0xbe, 0xbf, 0xbe + TIMES as u8, 0xbf + TIMES as u8];
        assert_eq!(told(&mut peer, &block(&places)).await, "k: last\nk: same\nk: same\nk: 3\n");
        // A table of nothing, said at the front of a block, and then of something.
        let emptied = [&[0x20][..], &block(&[])].concat();
        assert_eq!(told(&mut peer, &emptied).await, "");
        let refilled = [&[0x3f, 0xe1, 0x1f][..], &insert("new")].concat();
        assert_eq!(told(&mut peer, &refilled).await, "k: new\n");
        for _ in 0..TIMES {
            assert_eq!(told(&mut peer, &newest).await, "k: new\n");
        }
        // What the emptying forgot is an error though these octets were fine before.
        let stream = peer.open();
        peer.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, &block(&[0xbf]))).await;
        assert_eq!(peer.expect_go_away().await.1, ErrorCode::COMPRESSION_ERROR);
        peer.expect_closed().await;
        served.finish([peer]).await;
    });
}

type Fields = Vec<(String, Bytes)>;

/// What counts of a reply.
fn outcome(reply: &Reply) -> (Option<Ending>, Fields, Option<Fields>, Vec<Bytes>) {
    (reply.ending, reply.head.clone(), reply.trailers.clone(), reply.messages.clone())
}

// wire-rules 2 to 25: what is refused is refused each time, and what is served has its own deadline and metadata.
#[test]
fn a_head_has_the_same_answer_however_often_it_comes() {
    let long = "v".repeat(2_000);
    let heads: Vec<Vec<(&str, &str)>> = vec![
        vec![],
        vec![("grpc-timeout", "1S"), ("script", "time-left")],
        vec![("grpc-timeout", "0n")],
        vec![("grpc-timeout", "x")],
        vec![("grpc-timeout", "20m"), ("script", "never")],
        vec![("grpc-encoding", "x")],
        vec![("k-bin", "*")],
        vec![("k-bin", "AQ,Ag"), ("script", "tell")],
        vec![("connection", "close")],
        vec![("te", "gzip")],
        vec![("host", "a"), ("host", "b")],
        vec![("K", "v")],
        vec![("k", &long)],
        vec![("grpc-accept-encoding", "gzip"), ("script", "fail 5 no")],
        vec![("script", "head a b; trail c d; echo")],
    ];
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_header_list_size(1_500));
        let mut peer = served.peer().await;
        let mut firsts = Vec::new();
        for round in 0..TIMES {
            for (index, fields) in heads.iter().enumerate() {
                let reply = peer.call(UNARY, fields, b"hello").await;
                if round == 0 {
                    firsts.push(outcome(&reply));
                } else {
                    assert!(outcome(&reply) == firsts[index], "{fields:?} in round {round}: {reply:?}");
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 1, 7: a head is no trailers, and trailers are no head, though both were right where they were first.
#[test]
fn octets_that_were_right_as_a_head_are_wrong_as_trailers() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let head = request_head(CLIENT_STREAM);
        let trailers = [("k", "v")];
        for _ in 0..TIMES {
            let stream = peer.open();
            peer.headers(stream, &head, false).await;
            peer.headers(stream, &trailers, true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["0 messages, 0 bytes"]);
        }
        for _ in 0..TIMES {
            let stream = peer.open();
            peer.headers(stream, &head, false).await;
            peer.headers(stream, &head, true).await;
            assert_eq!(peer.reply(stream).await.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)));
            let stream = peer.open();
            peer.headers(stream, &trailers, true).await;
            assert_eq!(peer.reply(stream).await.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)));
        }
        served.finish([peer]).await;
    });
}

fn size(fields: &[(String, Bytes)]) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
}

// wire-rules 27, 86; RFC 7541 4.2: blocks that the server has at hand follow the client's settings too.
#[test]
fn replies_at_hand_keep_to_settings_that_change() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let refused = ("script", "fail 5 no such thing");
        let mut sizes = [4_096, 0, 4_096, 100, 0, 65_536, 50, 4_096].into_iter();
        loop {
            for path in [UNARY, SERVER_STREAM] {
                for _ in 0..TIMES {
                    let reply = peer.call(path, &[], b"x").await;
                    assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["x"]));
                    let reply = peer.call(path, &[refused], b"x").await;
                    assert_eq!(reply.status(), (code::NOT_FOUND, "no such thing".to_owned()));
                }
            }
            // The peer's decoder follows what the server says of its table, so a stale index shows.
            let Some(table) = sizes.next() else { break };
            peer.settings(&[Setting::HeaderTableSize(table)]).await;
        }
        for limit in [101, 60, 43, 0] {
            peer.settings(&[Setting::MaxHeaderListSize(limit)]).await;
            for fields in [&[][..], &[refused]] {
                let reply = peer.call(UNARY, fields, b"x").await;
                for block in [Some(&reply.head), reply.trailers.as_ref()].into_iter().flatten() {
                    assert!(size(block) <= limit as usize, "{limit}: {block:?}");
                }
            }
        }
        peer.settings(&[Setting::MaxHeaderListSize(10_000)]).await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}

// wire-rules 88: heads of streams that nobody serves any more count for the table all the same.
#[test]
fn heads_behind_a_refusal_keep_the_table_in_step() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_concurrent_streams(1));
        let mut peer = served.peer().await;
        let busy = peer.request(UNARY, &[("script", "gate; echo")], &message(b"first"), true).await;
        let mut field = Vec::new();
        indexed("k", "refused", &mut field);
        let stream = peer.open();
        peer.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, &block(&field))).await;
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::REFUSED_STREAM);
        // Trailers of the refused stream, in flight when it was.
        let mut trailers = Vec::new();
        indexed("t", "late", &mut trailers);
        peer.send_bytes(&raw_frame(HEADERS, END_HEADERS | 1, stream, &trailers)).await;
        stage.journal.open_gate(1);
        assert_eq!(peer.reply(busy).await.texts(), ["first"]);
        assert_eq!(told(&mut peer, &block(&[0xbe, 0xbf])).await, "t: late\nk: refused\n");
        assert_eq!(stream, StreamId::new(3));
        served.finish([peer]).await;
    });
}
