//! Every way in which a server may end a call, at every moment of it: a table of resets, of statuses that contradict each
//! other, of ends in the middle of something. What the caller sees never depends on how the frames were cut.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, MetadataValue, Request, Status, iter};
use peregrine_http2::frame::Frame;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{
    PeerConfig, Received, ServerPeer, data_frame, message as framed, prefixed, response_head,
};
use peregrine_testkit::{settle, virtual_time};

use crate::{chat, collect, connected, connected_with, list, message, unary};

/// How far a call has come when something happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    BeforeHead,
    AfterHead,
    AfterMessage,
    InsideMessage,
    AfterTrailers,
}

const MOMENTS: [Moment; 5] = [
    Moment::BeforeHead,
    Moment::AfterHead,
    Moment::AfterMessage,
    Moment::InsideMessage,
    Moment::AfterTrailers,
];

/// The kinds of call; `Stuck` is a stream of requests whose DATA has no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Unary,
    List,
    Collect,
    Chat,
    Stuck,
}

const SHAPES: [Shape; 5] = [Shape::Unary, Shape::List, Shape::Collect, Shape::Chat, Shape::Stuck];

/// Makes a call and waits for its end.
async fn call(shape: Shape, channel: &Channel) -> Result<Vec<Bytes>, Status> {
    let mut replies = match shape {
        Shape::Unary => return Ok(vec![unary(channel, message("a")).await?.into_inner()]),
        Shape::Collect => return Ok(vec![collect(channel, iter([message("a")])).await?.into_inner()]),
        Shape::List => list(channel, message("a")).await?,
        Shape::Chat => chat(channel, iter([message("a")])).await?,
        Shape::Stuck => chat(channel, iter([Bytes::from(vec![0; 300_000])])).await?,
    };
    let mut all = Vec::new();
    while let Some(reply) = replies.message().await? {
        all.push(reply);
    }
    Ok(all)
}

async fn advance(server: &mut ServerPeer, stream: StreamId, moment: Moment) {
    if moment == Moment::BeforeHead {
        return;
    }
    server.head(stream, &[]).await;
    match moment {
        Moment::AfterMessage | Moment::AfterTrailers => server.data(stream, &framed(b"m"), false).await,
        Moment::InsideMessage => server.data(stream, &framed(b"message")[..8], false).await,
        Moment::BeforeHead | Moment::AfterHead => {}
    }
    if moment == Moment::AfterTrailers {
        server.trailers(stream, &[("grpc-status", "0")]).await;
    }
}

/// What the status document makes of a reset (wire-rules 65 to 70).
fn code_of(reset: u32) -> Code {
    match reset {
        0..=6 | 0x9 | 0xa | 0xd => Code::Internal,
        0x7 => Code::Unavailable,
        0x8 => Code::Cancelled,
        0xb => Code::ResourceExhausted,
        0xc => Code::PermissionDenied,
        _ => Code::Unknown,
    }
}

// wire-rules 63, 65 to 70
#[test]
fn each_reset_has_its_code_at_each_moment_of_each_shape() {
    let mut wrong = Vec::new();
    for shape in SHAPES {
        for moment in MOMENTS {
            for reset in (0..=0x20).chain([0x7fff_ffff, 0xffff_ffff]) {
                // A refused call is made again (wire-rules 67), which has tests of its own.
                if reset == 7 && moment == Moment::BeforeHead {
                    continue;
                }
                let seen = virtual_time(async {
                    let config = PeerConfig { refill_windows: false, ..PeerConfig::server() };
                    let (channel, mut server) = connected_with(config).await;
                    let (result, ()) = tokio::join!(call(shape, &channel), async {
                        let stream = server.request_head().await.stream;
                        settle().await;
                        advance(&mut server, stream, moment).await;
                        settle().await;
                        server.reset(stream, ErrorCode(reset)).await;
                    });
                    let (next, ()) = tokio::join!(unary(&channel, message("")), async {
                        let stream = server.request_head().await.stream;
                        server.reply(stream, b"").await;
                    });
                    next.expect("another call's fault");
                    result.map_or_else(|status| status.code(), |_| Code::Ok)
                });
                let expected = match moment {
                    Moment::AfterTrailers => Code::Ok,
                    _ => code_of(reset),
                };
                if seen != expected {
                    wrong.push(format!("{shape:?} {moment:?} 0x{reset:x}: {seen:?}, not {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The result of a unary call that `script` answers, and of one that the connection serves afterwards.
fn answered(script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Result<Bytes, Status> {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            script(&mut server, stream).await;
        });
        let (next, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
        });
        next.expect("another call's fault");
        result.map(peregrine_core::Response::into_inner)
    })
}

fn code(script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Code {
    answered(script).map_or_else(|status| status.code(), |_| Code::Ok)
}

// wire-rules 53, 54, 57
#[test]
fn a_grpc_status_wins_over_everything_else_in_its_block() {
    type Head = &'static [(&'static str, &'static str)];
    let cases: [(Head, Code); 9] = [
        // grpc-status is there, whatever HTTP and the content type say.
        (&[(":status", "404"), ("grpc-status", "7")], Code::PermissionDenied),
        (&[(":status", "502"), ("content-type", "text/html"), ("grpc-status", "7")], Code::PermissionDenied),
        (&[(":status", "200"), ("content-type", "text/html"), ("grpc-status", "16")], Code::Unauthenticated),
        (
            &[(":status", "200"), ("content-type", "application/grpc-web"), ("grpc-status", "5")],
            Code::NotFound,
        ),
        (&[(":status", "431"), ("grpc-status", "8")], Code::ResourceExhausted),
        // Unreadable is not absent: the content type is gRPC's, so HTTP's status says nothing.
        (&[(":status", "503"), ("content-type", "application/grpc"), ("grpc-status", "x")], Code::Unknown),
        // A message alone is no status.
        (&[(":status", "200"), ("content-type", "application/grpc"), ("grpc-message", "x")], Code::Unknown),
        (&[(":status", "401"), ("grpc-message", "x")], Code::Unauthenticated),
        // Order does not matter.
        (
            &[
                (":status", "200"),
                ("grpc-message", "x"),
                ("grpc-status", "6"),
                ("content-type", "application/grpc"),
            ],
            Code::AlreadyExists,
        ),
    ];
    for (head, expected) in cases {
        let seen = code(async |server, stream| server.headers(stream, head, true).await);
        assert_eq!(seen, expected, "{head:?}");
    }
}

// wire-rules 53, 62: a status in a head that does not end the stream decides nothing.
#[test]
fn a_status_in_a_head_that_goes_on_is_none() {
    let reply = answered(async |server, stream| {
        server.head(stream, &[("grpc-status", "5"), ("grpc-message", "early")]).await;
        server.message(stream, b"m").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!(reply.expect("the trailers say so"), message("m"));
    let status = answered(async |server, stream| {
        server.head(stream, &[("grpc-status", "0"), ("grpc-message", "early")]).await;
        server.trailers(stream, &[("grpc-status", "5"), ("grpc-message", "late")]).await;
    })
    .unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "late"));
    // and without one in the trailers it does not stand in for it
    let seen = code(async |server, stream| {
        server.head(stream, &[("grpc-status", "0")]).await;
        server.message(stream, b"m").await;
        server.trailers(stream, &[("x", "y")]).await;
    });
    assert_eq!(seen, Code::Unknown);
}

// wire-rules 55
#[test]
fn each_http_status_without_grpc_has_its_code_with_and_without_a_page() {
    for (http, expected) in [
        ("200", Code::Unknown),
        ("204", Code::Unknown),
        ("302", Code::Unknown),
        ("400", Code::Internal),
        ("401", Code::Unauthenticated),
        ("402", Code::Unknown),
        ("403", Code::PermissionDenied),
        ("404", Code::Unimplemented),
        ("405", Code::Unknown),
        ("408", Code::Unknown),
        ("415", Code::Unknown),
        ("429", Code::Unavailable),
        ("431", Code::Internal),
        ("500", Code::Unknown),
        ("501", Code::Unknown),
        ("502", Code::Unavailable),
        ("503", Code::Unavailable),
        ("504", Code::Unavailable),
        ("599", Code::Unknown),
        ("600", Code::Unknown),
        ("999", Code::Unknown),
    ] {
        let alone = code(async |server, stream| server.headers(stream, &[(":status", http)], true).await);
        let page = code(async |server, stream| {
            server.headers(stream, &[(":status", http), ("content-type", "text/plain")], false).await;
            server.data(stream, b"no", true).await;
        });
        let trailed = code(async |server, stream| {
            server.headers(stream, &[(":status", http), ("content-type", "text/plain")], false).await;
            server.data(stream, b"no", false).await;
            server.trailers(stream, &[("x-trace", "1")]).await;
        });
        let reset = code(async |server, stream| {
            server.headers(stream, &[(":status", http), ("content-type", "text/plain")], false).await;
            server.data(stream, b"no", false).await;
            server.reset(stream, ErrorCode::NO_ERROR).await;
        });
        // A proxy that says OK of its own page does not make it a reply.
        let praised = code(async |server, stream| {
            server.headers(stream, &[(":status", http), ("content-type", "text/plain")], false).await;
            server.trailers(stream, &[("grpc-status", "0")]).await;
        });
        assert_eq!([alone, page, trailed, reset, praised], [expected; 5], "{http}");
    }
}

// wire-rules 55, bug-reports 33: the connection that goes away behind a page does not hide its status either.
#[test]
fn a_page_cut_by_the_end_of_its_connection_keeps_its_status() {
    for goes_away in [false, true] {
        let status = virtual_time(async {
            let (channel, mut server) = connected().await;
            let (result, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.headers(stream, &[(":status", "403"), ("content-type", "text/plain")], false).await;
                server.data(stream, b"go away", false).await;
                if goes_away {
                    server.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
                }
                settle().await;
                drop(server);
            });
            result.unwrap_err()
        });
        assert_eq!(status.code(), Code::PermissionDenied);
        assert!(status.message().contains("403") && status.message().contains("go away"), "{status}");
    }
}

// wire-rules 57: a page that never ends, in a stream's call too, is not waited for beyond its first KiB.
#[test]
fn a_page_is_shown_by_each_shape_and_cut_at_a_character() {
    for shape in [Shape::Unary, Shape::List, Shape::Collect, Shape::Chat] {
        let status = virtual_time(async {
            let (channel, mut server) = connected().await;
            let (result, ()) = tokio::join!(call(shape, &channel), async {
                let stream = server.request().await.stream;
                let head = [(":status", "200"), ("content-type", "text/html; charset=utf-8")];
                server.headers(stream, &head, false).await;
                // 1,023 octets, then one character of three, then more.
                let page = format!("{}\u{20ac}{}", "<".repeat(1_023), "tail".repeat(100));
                server.data(stream, page.as_bytes(), false).await;
                assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
            });
            result.unwrap_err()
        });
        assert_eq!(status.code(), Code::Unknown, "{shape:?}");
        assert!(status.message().contains("<<<") && !status.message().contains("tail"), "{status}");
    }
}

// wire-rules 45, 52, 53: ends inside of a message, by each kind of end.
#[test]
fn an_end_inside_of_a_message_is_internal_unless_the_status_is_an_error() {
    let body = framed(b"message");
    for cut in 1..body.len() {
        for (status, expected) in [("0", Code::Internal), ("9", Code::FailedPrecondition)] {
            let seen = code(async |server, stream| {
                server.head(stream, &[]).await;
                server.data(stream, &body[..cut], false).await;
                server.trailers(stream, &[("grpc-status", status)]).await;
            });
            assert_eq!(seen, expected, "unary, {cut} bytes, {status}");
            let streamed = virtual_time(async {
                let (channel, mut server) = connected().await;
                let mut replies = list(&channel, message("")).await.unwrap();
                let stream = server.request().await.stream;
                server.head(stream, &[]).await;
                server.data(stream, &[&body[..], &body[..cut]].concat(), false).await;
                server.trailers(stream, &[("grpc-status", status)]).await;
                assert_eq!(replies.message().await.unwrap(), Some(message("message")));
                replies.message().await.unwrap_err().code()
            });
            assert_eq!(streamed, expected, "stream, {cut} bytes, {status}");
        }
    }
}

// wire-rules 31 to 33
#[test]
fn every_flag_but_two_is_internal_and_one_without_an_encoding_too() {
    for flag in 0..=255_u8 {
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            server.data(stream, &prefixed(flag, 0, b""), false).await;
            server.trailers(stream, &[("grpc-status", "0")]).await;
        });
        assert_eq!(seen, if flag == 0 { Code::Ok } else { Code::Internal }, "{flag}");
    }
}

// wire-rules 29, 30, 85: one octet a frame, with every padding, empty frames between.
#[test]
fn a_reply_in_single_octets_with_padding_is_the_same_reply() {
    let reply = answered(async |server, stream| {
        server.head(stream, &[]).await;
        for (index, octet) in framed(&[7; 40]).iter().enumerate() {
            let mut frame = Vec::new();
            let mut data = data_frame(stream, std::slice::from_ref(octet), false);
            if let Frame::Data(data) = &mut data {
                data.padding = Some((index * 6 % 256) as u8);
            }
            data.encode(&mut frame);
            data_frame(stream, b"", false).encode(&mut frame);
            server.send_bytes(&frame).await;
        }
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!(reply.unwrap(), Bytes::from_static(&[7; 40]));
}

// wire-rules 48: what is missing and what is too much, for both shapes with one reply, and each status.
#[test]
fn one_reply_is_one_reply() {
    for shape in [Shape::Unary, Shape::Collect] {
        for (count, status, expected) in [
            (0, "0", Code::Unimplemented),
            (1, "0", Code::Ok),
            (2, "0", Code::Unimplemented),
            (0, "14", Code::Unavailable),
            (1, "14", Code::Unavailable),
        ] {
            for in_one_frame in [false, true] {
                let seen = virtual_time(async {
                    let (channel, mut server) = connected().await;
                    let (result, ()) = tokio::join!(call(shape, &channel), async {
                        let stream = server.request().await.stream;
                        server.head(stream, &[]).await;
                        if in_one_frame {
                            server.data(stream, &framed(b"").repeat(count), false).await;
                        } else {
                            for _ in 0..count {
                                server.data(stream, &framed(b""), false).await;
                                settle().await;
                            }
                        }
                        server.trailers(stream, &[("grpc-status", status)]).await;
                    });
                    result.map_or_else(|status| status.code(), |_| Code::Ok)
                });
                assert_eq!(seen, expected, "{shape:?}, {count} and {status}");
            }
        }
        // Trailers-only with OK is no reply either.
        let seen = virtual_time(async {
            let (channel, mut server) = connected().await;
            let (result, ()) = tokio::join!(call(shape, &channel), async {
                let stream = server.request().await.stream;
                server.trailers_only(stream, &[("grpc-status", "0")]).await;
            });
            result.map_or_else(|status| status.code(), |_| Code::Ok)
        });
        assert_eq!(seen, Code::Unimplemented, "{shape:?}");
    }
}

// wire-rules 50, 62, 97: all of one block is trailers, of streams as of single replies, binary lists too.
#[test]
fn trailers_only_of_a_stream_has_its_metadata_in_the_trailers() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (code, text) in [(Code::Ok, "0"), (Code::Aborted, "10")] {
            let mut replies = list(&channel, message("")).await.unwrap();
            let stream = server.request().await.stream;
            let fields =
                [("grpc-status", text), ("k", "1"), ("b-bin", "AQ==,AgM,,BA"), ("k", "2"), ("b-bin", "BQ")];
            server.trailers_only(stream, &fields).await;
            if let Ok(headers) = replies.headers().await {
                assert!(headers.is_empty());
            }
            let end = replies.message().await;
            let trailers = match (&end, replies.trailers()) {
                (_, Some(trailers)) => trailers.clone(),
                (Err(status), None) => status.metadata().clone(),
                (Ok(_), None) => panic!("no trailers"),
            };
            assert_eq!(end.map_or_else(|status| status.code(), |_| Code::Ok), code);
            let texts: Vec<_> = trailers.get_all("k").collect();
            assert_eq!(texts, [MetadataValue::Ascii("1"), MetadataValue::Ascii("2")]);
            let binary: Vec<_> = trailers.get_all("b-bin").collect();
            let expected: [&[u8]; 5] = [&[1], &[2, 3], &[], &[4], &[5]];
            assert_eq!(binary, expected.map(MetadataValue::Binary));
        }
    });
}

// wire-rules 61: details that are none, or of another code, cost nothing.
#[test]
fn the_code_of_the_trailers_counts_whatever_the_details_say() {
    // A google.rpc.Status with code 5 and the message "d".
    for details in ["CAUSAWQ", "CAUSAWQ=", "", "AAAA", "////"] {
        let status = answered(async |server, stream| {
            let fields = [("grpc-status", "9"), ("grpc-message", "m"), ("grpc-status-details-bin", details)];
            server.trailers_only(stream, &fields).await;
        })
        .unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "m"), "{details}");
        let _list = status.detail_list();
    }
}

// wire-rules 51, 56: heads after the head.
#[test]
fn a_second_head_of_any_kind_is_internal() {
    for second in ["200", "100", "103", "503"] {
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            server.headers(stream, &[(":status", second)], false).await;
            assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR, "{second}");
        });
        assert_eq!(seen, Code::Internal, "{second}");
    }
    // Trailers that do not end the stream, after a message.
    let seen = code(async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"m").await;
        server.headers(stream, &[("grpc-status", "0")], false).await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
    });
    assert_eq!(seen, Code::Internal);
}

// wire-rules 56: fields of an informational head are not the response's.
#[test]
fn an_informational_head_has_no_status_and_no_metadata() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            for _ in 0..50 {
                let fields =
                    [(":status", "103"), ("grpc-status", "7"), ("grpc-encoding", "foo"), ("early", "1")];
                server.headers(stream, &fields, false).await;
            }
            server.reply(stream, b"m").await;
        });
        let reply = reply.unwrap();
        assert!(reply.metadata().is_empty() && reply.trailers().is_empty());
        assert_eq!(reply.into_inner(), message("m"));
    });
}

// wire-rules 58 to 60, D4
#[test]
fn every_octet_of_a_status_text_survives() {
    let mut text = String::new();
    let mut wire = String::new();
    for octet in 0..=0x7f_u8 {
        text.push(char::from(octet));
        write!(wire, "%{octet:02x}").unwrap();
    }
    text.push_str("\u{7ff}\u{ffff}\u{10ffff}");
    wire.push_str("%DF%BF%EF%BF%BF%F4%8F%BF%BF");
    // A surrogate, an overlong NUL, a cut-off sequence: each is replaced, none costs what is around it.
    wire.push_str("[%ED%A0%80][%C0%80][%E2%82]");
    let status = answered(async |server, stream| {
        server.trailers_only(stream, &[("grpc-status", "2"), ("grpc-message", &wire)]).await;
    })
    .unwrap_err();
    assert!(status.message().starts_with(&text), "{:?}", status.message());
    let rest = &status.message()[text.len()..];
    let kept: String = rest.chars().filter(|char| *char != '\u{fffd}').collect();
    assert_eq!(kept, "[][][]", "{rest:?}");
}

// wire-rules 9, 54: what counts as gRPC in a response.
#[test]
fn content_types_of_responses() {
    let cases = [
        ("application/grpc+proto", Code::Ok),
        ("application/grpc;charset=utf-8", Code::Ok),
        ("Application/GRPC", Code::Ok),
        ("application/grpcfoo", Code::Unknown),
        ("application/grpc-web+proto", Code::Unknown),
        ("application/grpc-web-text", Code::Unknown),
        ("application/octet-stream", Code::Unknown),
        ("", Code::Unknown),
    ];
    for (kind, expected) in cases {
        let seen = code(async |server, stream| {
            server.headers(stream, &[(":status", "200"), ("content-type", kind)], false).await;
            server.data(stream, &framed(b"m"), false).await;
            // A call that has ended already resets the stream; what comes behind it is ignored.
            server.trailers(stream, &[("grpc-status", "0")]).await;
        });
        assert_eq!(seen, expected, "{kind}");
    }
}

// wire-rules 72, 63: a deadline with a whole answer on its way is decided once.
#[test]
fn an_answer_at_the_instant_of_the_deadline_is_one_or_the_other() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for wait in [9, 10, 11] {
            let request = Request::new(message("")).timeout(Duration::from_millis(10));
            let (result, frames) = tokio::join!(unary(&channel, request), async {
                let stream = server.request().await.stream;
                tokio::time::sleep(Duration::from_millis(wait)).await;
                let mut bytes = Vec::new();
                server.encode_headers(stream, &response_head(&[]), false, &mut bytes);
                data_frame(stream, &framed(b"m"), false).encode(&mut bytes);
                server.encode_headers(stream, &[("grpc-status", "0")], true, &mut bytes);
                server.send_bytes(&bytes).await;
                settle().await;
                server.drain().await
            });
            match result {
                Ok(reply) => {
                    assert_eq!(reply.into_inner(), message("m"));
                    assert!(frames.is_empty(), "{frames:?}");
                }
                Err(status) => {
                    assert_eq!(status.code(), Code::DeadlineExceeded, "{wait}");
                    assert!(status.metadata().is_empty());
                    assert!(
                        frames.iter().all(|f| matches!(f, Received::Reset { code: ErrorCode::CANCEL, .. })),
                        "{frames:?}"
                    );
                    assert_ne!(wait, 9);
                }
            }
        }
    });
}

// wire-rules 19, 30: fields that may be ignored are, and nothing between the octets of a reply of nothing is no message.
#[test]
fn empty_frames_and_message_types_change_no_reply() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for shape in [Shape::Unary, Shape::List, Shape::Collect, Shape::Chat] {
            let (result, ()) = tokio::join!(call(shape, &channel), async {
                let stream = server.request().await.stream;
                server.head(stream, &[("grpc-message-type", "a.B"), ("grpc-message-type", "")]).await;
                for octet in [0; 5] {
                    server.data(stream, b"", false).await;
                    server.data(stream, &[octet], false).await;
                }
                server.data(stream, b"", false).await;
                server.trailers(stream, &[("grpc-message-type", "c.D"), ("grpc-status", "0")]).await;
            });
            assert_eq!(result.unwrap(), [Bytes::new()], "{shape:?}");
        }
    });
}
