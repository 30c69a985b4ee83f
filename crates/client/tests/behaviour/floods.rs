//! Servers that make work without end (http2-abuse NN, seen from the client): the connection is given up by the name of
//! the limit, what is kept stays small, and a busy server is not mistaken for one.

use bytes::Bytes;
use peregrine_core::Code;
use peregrine_http2::ErrorCode;
use peregrine_http2::StreamId;
use peregrine_http2::frame::{Frame, Ping, Setting, Settings};
use peregrine_testkit::peer::{Received, ServerPeer, data_frame, prefixed, raw_frame};
use peregrine_testkit::{settle, virtual_time};

use crate::{connected, list, message, pair, unary};

/// The server sends `frame`, over and over, on a connection with one response stream open on stream 1. The client says
/// GOAWAY with the name `limit`, and after that a new connection is as good as any.
fn gives_up(limit: &str, times: usize, frame: &[u8]) {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().expect("the target is one");
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            let flood = frame.repeat(64);
            for _ in 0..times.div_ceil(64) {
                if server.try_send_bytes(&flood).await.is_err() {
                    break;
                }
            }
            let (_, code, debug) = server.expect_go_away().await;
            assert_eq!((code, debug.as_str()), (ErrorCode::ENHANCE_YOUR_CALM, limit));
            let mut second = acceptor.accept().await;
            let stream = second.request().await.stream;
            second.reply(stream, b"").await;
            second
        };
        let calls = async {
            let mut replies = list(&channel, message("")).await.expect("there is a connection");
            let status = replies.message().await.expect_err(limit);
            assert_eq!(status.code(), Code::Unavailable);
            assert!(status.message().contains(limit), "{status}");
            unary(&channel, message("")).await
        };
        let (reply, _second) = tokio::join!(calls, served);
        reply.expect("the new connection is sound");
    });
}

fn encoded(frame: Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}

#[test]
fn abuse_7_8_13_housekeeping_without_end_is_given_up() {
    let mut settings = Vec::new();
    Settings::encode_entries(&[Setting::MaxConcurrentStreams(100)], &mut settings);
    // What is answered is bounded by the answers that wait, since this server does not read them.
    for (limit, frame) in [
        ("control_backlog", encoded(Frame::Ping(Ping { ack: false, payload: *b"12345678" }))),
        ("control_backlog", settings),
        ("housekeeping", raw_frame(2, 0, StreamId::new(1), &[0, 0, 0, 3, 15])),
        ("housekeeping", raw_frame(0xfa, 0, StreamId::CONNECTION, b"unknown")),
        ("housekeeping", raw_frame(8, 0, StreamId::CONNECTION, &[0, 0, 0, 1])),
    ] {
        gives_up(limit, 20_000, &frame);
    }
}

#[test]
fn abuse_11_empty_data_without_end_is_given_up() {
    gives_up("empty_data", 20_000, &encoded(data_frame(StreamId::new(1), b"", false)));
}

#[test]
fn abuse_12_tiny_data_is_held_once_and_read_in_one_piece() {
    // One octet a frame is no offence: each is paid for with window. 30,000 frames make six messages.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        let body = peregrine_testkit::peer::message(&[7; 4_995]).repeat(6);
        let mut bytes = Vec::new();
        for octet in body.chunks(1) {
            data_frame(stream, octet, false).encode(&mut bytes);
        }
        server.encode_headers(stream, &[("grpc-status", "0")], true, &mut bytes);
        server.send_bytes(&bytes).await;
        for _ in 0..6 {
            assert_eq!(replies.message().await.unwrap(), Some(Bytes::from(vec![7; 4_995])));
        }
        assert_eq!(replies.message().await.unwrap(), None);
    });
}

#[test]
fn abuse_38_a_length_that_lies_is_refused_at_its_prefix_or_takes_no_memory() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (claimed, expected) in [(u32::MAX, Code::ResourceExhausted), (4 << 20, Code::Unavailable)] {
            let (result, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.head(stream, &[]).await;
                server.data(stream, &prefixed(0, claimed, b""), false).await;
                if expected == Code::ResourceExhausted {
                    assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
                } else {
                    // Within the limit, then silence: the status of the server counts, not the message that never
                    // came.
                    server.trailers(stream, &[("grpc-status", "14")]).await;
                }
            });
            assert_eq!(result.unwrap_err().code(), expected);
        }
    });
}

#[test]
fn abuse_48_goaway_again_and_again_is_one_goaway() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            for _ in 0..1_000 {
                server.go_away_after(stream, ErrorCode::NO_ERROR, &[b'x'; 1_000]).await;
            }
            settle().await;
            server.reply(stream, b"late").await;
        });
        assert_eq!(reply.unwrap().into_inner(), message("late"));
    });
}

#[test]
fn a_server_that_refuses_everything_is_told_so_by_each_call_and_by_no_more_than_two_streams() {
    // wire-rules 67; bug-reports 97: a refusal is no offence of either side, however many there are.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for _ in 0..2_000 {
            let (result, ()) = tokio::join!(unary(&channel, message("")), async {
                for _ in 0..2 {
                    let stream = server.request().await.stream;
                    server.reset(stream, ErrorCode::REFUSED_STREAM).await;
                }
            });
            assert_eq!(result.unwrap_err().code(), Code::Unavailable);
        }
        assert_eq!(server.drain().await, []);
    });
}

#[test]
fn pings_at_a_fair_pace_are_answered_for_ever() {
    // wire-rules 78
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        for count in 0..20_000_u64 {
            server.ping(count.to_be_bytes()).await;
            answer_to(&mut server, count.to_be_bytes()).await;
            if count % 100 == 0 {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        }
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), None);
    });
}

async fn answer_to(server: &mut ServerPeer, sent: [u8; 8]) {
    loop {
        match server.frame().await {
            Some(Received::Ping { ack: true, payload }) => return assert_eq!(payload, sent),
            Some(frame) if frame.is_housekeeping() => {}
            other => panic!("{other:?}"),
        }
    }
}
