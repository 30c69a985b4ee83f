//! How a response may end, and what becomes of connections that go away: cases that were bugs of other stacks' clients
//! (bug-reports NN), as far as no other file here has them.

use std::time::Duration;

use bytes::Bytes;
use peregrine_core::{Code, iter};
use peregrine_http2::frame::{Frame, RstStream};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{PeerConfig, Received, ServerPeer, message as framed, prefixed, response_head};
use peregrine_testkit::{settle, virtual_time};
use tokio::runtime::Handle;

use crate::{chat, collect, connected, connected_with, list, message, pair, unary};

/// What `script` makes of a unary call, and that the connection is none the worse.
fn answered(script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Result<Bytes, peregrine_core::Status> {
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

#[test]
fn bug_18_20_a_status_is_kept_when_the_reset_comes_in_the_same_write() {
    // wire-rules 63. The client is still sending, so the server says that it may stop.
    for (text, expected) in [("0", Code::Ok), ("7", Code::PermissionDenied)] {
        virtual_time(async {
            let mut config = PeerConfig::server();
            config.refill_windows = false;
            let (channel, mut server) = connected_with(config).await;
            let large = || iter([Bytes::from(vec![0; 1_000_000])]);
            let answer = async |server: &mut ServerPeer| {
                let stream = server.request_head().await.stream;
                let mut bytes = Vec::new();
                server.encode_headers(stream, &response_head(&[("grpc-status", text)]), true, &mut bytes);
                Frame::RstStream(RstStream { stream, code: ErrorCode::NO_ERROR }).encode(&mut bytes);
                server.send_bytes(&bytes).await;
            };
            let mut replies = chat(&channel, large()).await.unwrap();
            answer(&mut server).await;
            let end = replies.message().await;
            assert_eq!(end.map_or_else(|status| status.code(), |_| Code::Ok), expected);
            if expected != Code::Ok {
                let (reply, ()) = tokio::join!(collect(&channel, large()), answer(&mut server));
                assert_eq!(reply.unwrap_err().code(), expected);
            }
        });
    }
}

#[test]
fn bug_21_a_stream_that_ends_before_its_trailers_is_no_success() {
    // wire-rules 52
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        for text in ["1", "2", "3"] {
            server.message(stream, text.as_bytes()).await;
        }
        server.data(stream, b"", true).await;
        for text in ["1", "2", "3"] {
            assert_eq!(replies.message().await.unwrap(), Some(message(text)));
        }
        assert_eq!(replies.message().await.unwrap_err().code(), Code::Internal);
    });
}

#[test]
fn bug_22_a_status_that_is_none_is_unknown() {
    // wire-rules 53
    for status in ["", "x", "-1", "1.0", "0x0", "99", "4294967296"] {
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            server.message(stream, b"").await;
            server.trailers(stream, &[("grpc-status", status)]).await;
        });
        assert_eq!(seen, Code::Unknown, "{status:?}");
        let seen = code(async |server, stream| {
            server.trailers_only(stream, &[("grpc-status", status)]).await;
        });
        assert_eq!(seen, Code::Unknown, "{status:?} alone");
    }
}

#[test]
fn a_status_that_is_nearly_a_number_is_unknown() {
    // wire-rules 53: decimal without leading zeros; neither sign, space nor list is. Blanks around a value are not part of
    // it, in this field as in any other (22).
    let cases = ["00", "05", "+0", "-0", "+5", "0,0", "0, 13", "0 0", "1 6", "5\u{b2}", "\u{665}"];
    let cases = cases.map(|status| (status, Code::Unknown));
    for (status, expected) in cases.into_iter().chain([(" 5", Code::NotFound), ("5\t ", Code::NotFound)]) {
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            server.message(stream, b"m").await;
            server.trailers(stream, &[("grpc-status", status)]).await;
        });
        assert_eq!(seen, expected, "{status:?}");
        let seen = code(async |server, stream| {
            server.trailers_only(stream, &[("grpc-status", status)]).await;
        });
        assert_eq!(seen, expected, "{status:?} alone");
    }
}

#[test]
fn statuses_that_contradict_each_other_are_unknown_in_every_shape() {
    // wire-rules 53: whichever comes first. One that a proxy wrote twice is still that one.
    let cases = [
        (["0", "13"], Code::Unknown),
        (["13", "0"], Code::Unknown),
        (["5", "16"], Code::Unknown),
        (["0", ""], Code::Unknown),
        (["5", "5"], Code::NotFound),
        (["0", "0"], Code::Ok),
    ];
    for ([first, second], expected) in cases {
        let fields = [("grpc-status", first), ("x", "y"), ("grpc-status", second)];
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            server.message(stream, b"m").await;
            server.trailers(stream, &fields).await;
        });
        assert_eq!(seen, expected, "{first} {second}");
        virtual_time(async {
            let (channel, mut server) = connected().await;
            // Often enough for the block to be remembered.
            for _ in 0..6 {
                let answer = async {
                    let stream = server.request().await.stream;
                    server.trailers_only(stream, &fields).await;
                };
                let (replies, ()) = tokio::join!(list(&channel, message("")), answer);
                let ended = match replies {
                    Ok(mut replies) => replies.message().await,
                    Err(status) => Err(status),
                };
                let seen = ended.map_or_else(|status| status.code(), |_| Code::Ok);
                assert_eq!(seen, expected, "{first} {second} alone");
            }
        });
    }
}

#[test]
fn statuses_of_one_block_are_each_callers_own() {
    // wire-rules D1, D3, H1: a block that is remembered gives every call all that is in it, reserved names left out.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let fields = [
            ("grpc-status", "9"),
            ("k", "1"),
            ("grpc-message", "no%ff"),
            ("te", "trailers"),
            ("k", "2"),
            ("b-bin", "AQ,Ag"),
            ("grpc-unheard-of", "x"),
            ("b-bin", "AQ"),
        ];
        let mut seen: Vec<peregrine_core::Status> = Vec::new();
        for call in 0..6 {
            let (result, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.trailers_only(stream, &fields).await;
            });
            let mut status = result.unwrap_err();
            assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "no\u{fffd}"));
            let metadata = status.metadata();
            let texts: Vec<_> = metadata.get_all("k").map(|value| value.as_bytes().to_vec()).collect();
            let bytes: Vec<_> = metadata.get_all("b-bin").map(|value| value.as_bytes().to_vec()).collect();
            assert_eq!((texts, bytes), (vec![b"1".to_vec(), b"2".to_vec()], vec![vec![1], vec![2], vec![1]]));
            assert_eq!(metadata.len(), 5, "{metadata:?}");
            let copy = status.clone();
            status.metadata_mut().append("mine", &call.to_string()).unwrap();
            status.metadata_mut().remove("k");
            assert_eq!((copy.metadata().len(), status.metadata().len()), (5, 4));
            seen.push(status);
        }
        for (call, status) in seen.iter().enumerate() {
            let mine: Vec<_> =
                status.metadata().get_all("mine").map(|value| value.as_bytes().to_vec()).collect();
            assert_eq!(mine, [call.to_string().into_bytes()]);
        }
    });
}

#[test]
fn bug_30_the_http_status_of_a_grpc_response_is_not_its_code() {
    // wire-rules 54
    let with = |status: &'static str, more: Vec<(&'static str, &'static str)>| {
        let mut fields = vec![(":status", status), ("content-type", "application/grpc")];
        fields.extend(more);
        fields
    };
    let seen = code(async |server, stream| {
        server.headers(stream, &with("503", vec![]), false).await;
        server.message(stream, b"").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!(seen, Code::Ok);
    for (more, expected) in [(vec![("grpc-status", "5")], Code::NotFound), (vec![], Code::Internal)] {
        let seen = code(async |server, stream| server.headers(stream, &with("503", more), true).await);
        assert_eq!(seen, expected);
    }
}

#[test]
fn bug_33_the_size_of_a_page_does_not_hide_its_status() {
    // wire-rules 55, 57: far more than a message may have, and it is not waited for.
    let status = answered(async |server, stream| {
        server.headers(stream, &[(":status", "502"), ("content-type", "text/html")], false).await;
        for _ in 0..4 {
            server.data(stream, &[b'<'; 16_384], false).await;
        }
        assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("502") && status.message().len() < 1_200, "{status}");
}

#[test]
fn bug_35_two_messages_for_one_are_refused_before_the_status() {
    // wire-rules 48
    let status = answered(async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        server.message(stream, b"two").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    let waits = answered(async |server, stream| {
        server.head(stream, &[]).await;
        server.data(stream, &[framed(b"one"), framed(b"two")].concat(), false).await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
    assert_eq!(waits.unwrap_err().code(), Code::Unimplemented);
}

#[test]
fn bug_76_77_78_encodings_that_were_not_agreed_on_fail_their_call_only() {
    // wire-rules 31, 32, 35, bug-reports 77, 78
    let reply = async |server: &mut ServerPeer, stream, encoding: &str, flag| {
        server.head(stream, &[("grpc-encoding", encoding)]).await;
        server.data(stream, &prefixed(flag, 1, b"x"), false).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    };
    let expected = [
        ("identity", 0, Code::Ok),
        ("identity", 1, Code::Internal),
        ("identity", 2, Code::Internal),
        ("foo", 0, Code::Internal),
        ("foo", 1, Code::Internal),
    ];
    for (encoding, flag, expected) in expected {
        let seen = code(async |server, stream| reply(server, stream, encoding, flag).await);
        assert_eq!(seen, expected, "{encoding} {flag}");
    }
    let seen = code(async |server, stream| {
        server.head(stream, &[]).await;
        server.data(stream, &prefixed(1, 1, b"x"), false).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!(seen, Code::Internal, "without grpc-encoding");
}

#[test]
fn bug_81_a_message_of_the_largest_size_passes_and_one_more_does_not() {
    // wire-rules 42
    const LIMIT: usize = 4 << 20;
    for (size, expected) in [(LIMIT, Code::Ok), (LIMIT + 1, Code::ResourceExhausted)] {
        let seen = code(async |server, stream| {
            server.head(stream, &[]).await;
            let body = framed(&vec![0; size]);
            if expected == Code::Ok {
                server.send_body(stream, &body, false).await;
                server.trailers(stream, &[("grpc-status", "0")]).await;
            } else {
                server.data(stream, &body[..1_000], false).await;
                assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
            }
        });
        assert_eq!(seen, expected, "{size}");
    }
}

#[test]
fn bug_69_70_binary_values_and_details_are_read_padded_and_not() {
    // wire-rules 23, 61: one, two and three bytes.
    for (text, bytes) in
        [("AQ", &[1][..]), ("AQ==", &[1]), ("AQI", &[1, 2]), ("AQI=", &[1, 2]), ("AQID", &[1, 2, 3])]
    {
        let status = answered(async |server, stream| {
            let fields = [("grpc-status", "9"), ("grpc-status-details-bin", text), ("k-bin", text)];
            server.trailers_only(stream, &fields).await;
        })
        .unwrap_err();
        assert_eq!(status.details()[..], *bytes, "{text}");
        assert_eq!(status.metadata().get_bin("k-bin"), Some(bytes), "{text}");
    }
}

#[test]
fn bug_72_73_any_status_text_is_read_and_never_costs_the_code() {
    // wire-rules 58 to 60, D4
    let texts: [(&[u8], &str); 9] = [
        (b"100%25 a%2541", "100% a%41"),
        (b"caf%C3%A9", "caf\u{e9}"),
        (b"caf%c3%a9", "caf\u{e9}"),
        (b"%zz", "%zz"),
        (b"%", "%"),
        (b"%4", "%4"),
        (b"caf\xc3\xa9", "caf\u{e9}"),
        (b"a%FFb", "a\u{fffd}b"),
        (b"a\xffb", "a\u{fffd}b"),
    ];
    for (text, expected) in texts {
        let status = answered(async |server, stream| {
            let head: [(&str, &[u8]); 4] = [
                (":status", b"200"),
                ("content-type", b"application/grpc"),
                ("grpc-status", b"9"),
                ("grpc-message", text),
            ];
            server.headers(stream, &head, true).await;
        })
        .unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, expected));
    }
}

#[test]
fn bug_43_cancelled_streams_leave_nothing_behind() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut tasks = 0;
        for round in 0..2_000 {
            let replies = list(&channel, message("")).await.unwrap();
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            server.message(stream, b"first").await;
            drop(replies);
            assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
            if round == 100 {
                tasks = Handle::current().metrics().num_alive_tasks();
            }
        }
        assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    });
}

#[test]
fn bug_57_connections_that_went_away_leave_nothing_behind() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        for _ in 0..1_000 {
            let (reply, mut server) = tokio::join!(unary(&channel, message("")), async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.go_away_after(StreamId::MAX, ErrorCode::NO_ERROR, b"").await;
                server.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
                server.reply(stream, b"").await;
                server
            });
            reply.unwrap();
            server.expect_closed().await;
            drop(server);
            settle().await;
            assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "an old connection lives on");
        }
        assert_eq!(acceptor.connections(), 1_000);
    });
}

#[test]
fn bug_58_a_channel_ends_although_its_peer_has_stopped_reading() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        server.io().set_capacity(100);
        let upload = chat(&channel, iter([Bytes::from(vec![0; 60_000])])).await.unwrap();
        settle().await;
        drop(upload);
        drop(channel);
        // The GOAWAY cannot be written. Two minutes and an eighth are what a peer may take none of the output for.
        let begun = tokio::time::Instant::now();
        while Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(begun.elapsed() < Duration::from_secs(137), "the connection waits for its peer for ever");
        }
    });
}

#[test]
fn bug_58_a_goaway_and_a_new_call_at_once_do_not_wait_for_each_other() {
    // bug-reports 53 as well: whichever of the two comes first, the call is answered by one connection or the next.
    for turn in 0..20 {
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let (channel, mut first) = tokio::join!(builder.connect(), acceptor.accept());
            let channel = channel.unwrap();
            let calling = async {
                for _ in 0..turn {
                    tokio::task::yield_now().await;
                }
                unary(&channel, message("")).await
            };
            let serving = async {
                first.go_away(ErrorCode::NO_ERROR).await;
                let mut second = acceptor.accept().await;
                let stream = second.request().await.stream;
                second.reply(stream, b"").await;
                second
            };
            let (reply, _second) = tokio::join!(calling, serving);
            reply.unwrap();
        });
    }
}

#[test]
fn a_server_may_answer_before_anything_was_asked_and_a_silent_one_costs_the_others_nothing() {
    // wire-rules 63: a head before the first request message; the call next to it is not answered at all.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let silent = tokio::spawn({
            let channel = channel.clone();
            async move { unary(&channel, message("")).await.map(|_| ()) }
        });
        let unanswered = server.request().await.stream;
        let (sender, call) =
            peregrine_client::bidi_sender::<peregrine_core::BytesCodec, Bytes, Bytes>(&channel, &crate::CHAT);
        let (replies, stream) = tokio::join!(call, async {
            let stream = server.request_head().await.stream;
            server.head(stream, &[("k", "v")]).await;
            stream
        });
        let mut replies = replies.unwrap();
        assert_eq!(replies.headers().await.unwrap().get("k"), Some("v"));
        drop(sender);
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), None);
        let is_of = |frame: &Received| frame.stream() == Some(unanswered);
        assert!(!server.drain().await.iter().any(is_of));
        server.reset(unanswered, ErrorCode::CANCEL).await;
        assert_eq!(silent.await.unwrap().unwrap_err().code(), Code::Cancelled);
    });
}
