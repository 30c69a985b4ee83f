//! A server that breaks a rule of one stream: the call on it fails with the code that gRPC gives the fault, the server
//! is told by RST_STREAM, and everything else on the connection goes on as if nothing had been.

use bytes::Bytes;
use peregrine_core::{Code, Status};
use peregrine_http2::frame::{Dependency, Frame, Priority, Setting};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{PeerConfig, Received, raw_frame};
use peregrine_testkit::{ServerPeer, virtual_time};

use crate::{connected, list, message, pair, unary};

/// What became of a call whose server misbehaved.
struct Outcome {
    result: Result<Bytes, Status>,
    /// The code of the client's RST_STREAM.
    reset: Option<ErrorCode>,
}

/// Makes a unary call, has `script` answer it, and checks that a response stream that was open before, a call made
/// afterwards and the connection are none the worse.
fn outcome(script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Outcome {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let (channel, mut server) =
            tokio::join!(builder.connect(), acceptor.accept_with(PeerConfig::server()));
        let channel = channel.expect("the pipe is open");
        let mut bystander = list(&channel, message("")).await.expect("there is a connection");
        let beside = server.request().await.stream;
        server.head(beside, &[]).await;

        let served = async {
            let stream = server.request().await.stream;
            script(&mut server, stream).await;
            stream
        };
        let (result, stream) = tokio::join!(unary(&channel, message("hi")), served);
        let frames = server.drain().await;
        let reset = match &frames[..] {
            [] => None,
            [Received::Reset { stream: reset, code }] if *reset == stream => Some(*code),
            other => panic!("the client says too much: {other:?}"),
        };

        server.message(beside, b"still here").await;
        let seen = bystander.message().await;
        assert_eq!(seen.expect("another call's fault"), Some(message("still here")));
        server.trailers(beside, &[("grpc-status", "0")]).await;
        assert_eq!(bystander.message().await.expect("another call's fault"), None);
        let (next, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            server.reply(stream, b"next").await;
        });
        assert_eq!(next.expect("another call's fault").into_inner(), message("next"));
        assert_eq!(acceptor.connections(), 1);
        Outcome { result: result.map(peregrine_core::Response::into_inner), reset }
    })
}

/// The call is reset with `reset` and fails with INTERNAL and a message that has `reason` in it.
fn fails(reset: ErrorCode, reason: &str, script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) {
    let outcome = outcome(script);
    let status = outcome.result.expect_err(reason);
    assert_eq!(status.code(), Code::Internal, "{status}");
    assert!(status.message().contains(reason), "{reason:?} is not what {status} says");
    assert_eq!(outcome.reset, Some(reset), "{reason}");
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");
const OK: (&str, &str) = (":status", "200");

#[test]
fn a_head_that_is_no_response_head_is_malformed() {
    // RFC 9113 8.1.1, 8.2, 8.3; wire-rules 7, 12, 21; http2-abuse 33
    let cases: [(&str, &[(&str, &str)]); 13] = [
        (":status is not three digits", &[(":status", "20"), GRPC]),
        (":status is not three digits", &[(":status", "two"), GRPC]),
        ("pseudo-header field given twice", &[OK, OK, GRPC]),
        ("pseudo-header field after a regular one", &[GRPC, OK]),
        ("pseudo-header field of requests in a response", &[OK, (":path", "/"), GRPC]),
        ("unknown pseudo-header field", &[OK, (":version", "2"), GRPC]),
        ("forbidden character in a field name", &[OK, ("Content-Type", "application/grpc")]),
        ("forbidden character in a field name", &[OK, ("a b", "c")]),
        ("forbidden character in a field value", &[OK, GRPC, ("a", "b\r\nc: d")]),
        ("empty field name", &[OK, GRPC, ("", "")]),
        ("connection-specific field", &[OK, GRPC, ("connection", "keep-alive")]),
        ("connection-specific field", &[OK, GRPC, ("transfer-encoding", "chunked")]),
        ("content-length is not a number", &[OK, GRPC, ("content-length", "5, 5")]),
    ];
    for (reason, fields) in cases {
        for end_stream in [false, true] {
            fails(ErrorCode::PROTOCOL_ERROR, reason, async |server, stream| {
                server.headers(stream, fields, end_stream).await;
            });
        }
    }
}

#[test]
fn bug_97_a_response_without_status_or_with_two_lengths_is_malformed() {
    fails(ErrorCode::PROTOCOL_ERROR, ":status is missing", async |server, stream| {
        server.headers(stream, &[GRPC], false).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, ":status is missing", async |server, stream| {
        server.headers(stream, &[GRPC, ("grpc-status", "0")], true).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, "two different content-length fields", async |server, stream| {
        server.head(stream, &[("content-length", "7"), ("content-length", "8")]).await;
    });
}

#[test]
fn data_before_the_head_is_an_error_of_the_stream() {
    // RFC 9113 8.1
    fails(ErrorCode::PROTOCOL_ERROR, "DATA before the response head", async |server, stream| {
        server.message(stream, b"early").await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, "DATA before the response head", async |server, stream| {
        server.data(stream, b"", true).await;
    });
    // An informational head is none.
    fails(ErrorCode::PROTOCOL_ERROR, "DATA before the response head", async |server, stream| {
        server.headers(stream, &[(":status", "103")], false).await;
        server.message(stream, b"early").await;
    });
}

#[test]
fn an_informational_head_neither_ends_nor_switches() {
    // wire-rules 56; RFC 9113 8.1, 8.6
    let ended = "informational response with END_STREAM";
    fails(ErrorCode::PROTOCOL_ERROR, ended, async |server, stream| {
        server.headers(stream, &[(":status", "100")], true).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, "101", async |server, stream| {
        server.headers(stream, &[(":status", "101")], false).await;
    });
    // Any number of sound ones, with fields of their own, is skipped.
    let outcome = outcome(async |server, stream| {
        for status in ["100", "102", "103", "199"] {
            server.headers(stream, &[(":status", status), ("link", "</x>")], false).await;
        }
        server.reply(stream, b"ok").await;
    });
    assert_eq!((outcome.result.unwrap(), outcome.reset), (message("ok"), None));
}

#[test]
fn a_content_length_that_lies_is_malformed() {
    // RFC 9113 8.1.1; http2-abuse 34
    let less = "less data than content-length says";
    fails(ErrorCode::PROTOCOL_ERROR, "more data than content-length says", async |server, stream| {
        server.head(stream, &[("content-length", "5")]).await;
        server.message(stream, b"x").await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, less, async |server, stream| {
        server.head(stream, &[("content-length", "7")]).await;
        server.message(stream, b"x").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, less, async |server, stream| {
        server.trailers_only(stream, &[("content-length", "1"), ("grpc-status", "0")]).await;
    });
    let honest = outcome(async |server, stream| {
        server.head(stream, &[("content-length", "6"), ("content-length", "6")]).await;
        server.message(stream, b"x").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!((honest.result.unwrap(), honest.reset), (message("x"), None));
}

#[test]
fn trailers_are_one_last_block_without_pseudo_fields() {
    // RFC 9113 8.1; wire-rules 51
    fails(ErrorCode::PROTOCOL_ERROR, "second HEADERS without END_STREAM", async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"x").await;
        server.headers(stream, &[("grpc-status", "0")], false).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, "pseudo-header field in trailers", async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"x").await;
        server.trailers(stream, &[OK, ("grpc-status", "0")]).await;
    });
    fails(ErrorCode::PROTOCOL_ERROR, "forbidden character in a field name", async |server, stream| {
        server.head(stream, &[]).await;
        server.trailers(stream, &[("Grpc-Status", "0")]).await;
    });
}

#[test]
fn a_stream_cannot_depend_on_itself() {
    // RFC 9113 5.3, as RFC 7540 5.3.1 had it
    fails(ErrorCode::PROTOCOL_ERROR, "stream depends on itself", async |server, stream| {
        let dependency = Dependency { parent: stream, exclusive: false, weight: 1 };
        server.send(&[Frame::Priority(Priority { stream, dependency })]).await;
    });
}

#[test]
fn bug_11_a_window_update_beyond_the_largest_window_ends_its_stream_only() {
    // RFC 9113 6.9.1; wire-rules 83
    fails(ErrorCode::FLOW_CONTROL_ERROR, "the stream's window overflows", async |server, stream| {
        server.give_window(stream, 0x7fff_ffff).await;
    });
    // RFC 9113 6.9
    fails(ErrorCode::PROTOCOL_ERROR, "WINDOW_UPDATE", async |server, stream| {
        server.send_bytes(&raw_frame(8, 0, stream, &[0; 4])).await;
    });
}

#[test]
fn data_beyond_a_streams_window_is_a_flow_control_error() {
    // RFC 9113 6.9.1; wire-rules 66, 83
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        // Nobody reads, so nothing is given back: the window is used up to its last byte.
        let full = server.window(stream) as usize;
        let mut body = vec![0; full];
        for (at, byte) in body.iter_mut().enumerate() {
            // Messages of 1,019 bytes, so that none is large enough to be let through for its own sake.
            *byte = [0, 0, 0, 0x03, 0xfb][(at % 1024).min(4)] * u8::from(at % 1024 < 5);
        }
        server.send_body(stream, &body, false).await;
        server.read_all().await;
        assert_eq!(server.window(stream), 0);
        let (other, ()) = tokio::join!(unary(&channel, message("")), async {
            server.data(stream, &[0], false).await;
            assert_eq!(server.reset_of(stream).await, ErrorCode::FLOW_CONTROL_ERROR);
            let other = server.request().await.stream;
            server.reply(other, b"").await;
        });
        other.unwrap();
        for _ in 0..full / 1024 {
            assert_eq!(replies.message().await.unwrap().unwrap().len(), 1019);
        }
        let status = replies.message().await.unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        assert!(status.message().contains("DATA beyond the stream's window"), "{status}");
    });
}

#[test]
fn frames_that_end_nothing_and_begin_nothing_are_ignored() {
    // RFC 9113 4.1, 5.5; wire-rules 88
    let outcome = outcome(async |server, stream| {
        server.send_bytes(&raw_frame(0xfa, 0xff, stream, b"extension")).await;
        server.send_bytes(&raw_frame(0xfa, 0, StreamId::CONNECTION, b"")).await;
        server.head(stream, &[]).await;
        // Reserved flags on DATA and HEADERS.
        server.send_bytes(&raw_frame(0, 0xf6 & !0x08, stream, &peregrine_testkit::peer::message(b"x"))).await;
        server.settings(&[Setting::Unknown(0x99, 1)]).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
        // What may still be on its way for a stream that is over.
        server.give_window(stream, 100).await;
        server.reset(stream, ErrorCode::NO_ERROR).await;
        server.reset(stream, ErrorCode::CANCEL).await;
    });
    assert_eq!((outcome.result.unwrap(), outcome.reset), (message("x"), None));
}
