//! Unary calls and the statuses they end with, against a scripted server.

use std::time::Duration;

use bytes::Bytes;
use peregrine_core::{Code, Request, Status};
use peregrine_http2::frame::{Frame, RstStream, Setting};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Asked, PeerConfig, Received, ServerPeer, data_frame, response_head};
use peregrine_testkit::virtual_time;

use crate::{connected_with, message, pair, unary};

/// Makes one unary call, lets `script` answer it, and returns what the call came to.
fn call(script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Result<Bytes, Status> {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().expect("the target is one");
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            script(&mut server, stream).await;
            server.expect_closed().await;
        };
        tokio::select! {
            reply = unary(&channel, message("hi")) => reply.map(peregrine_core::Response::into_inner),
            () = served => panic!("the client ended the connection"),
        }
    })
}

#[test]
fn a_call_is_answered() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.user_agent("test/1").build().unwrap();
        let mut request = Request::new(message("hi"));
        request.metadata_mut().insert("k", "v").unwrap();
        request.metadata_mut().insert_bin("b-bin", &[1, 2]).unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            let (stream, body) = (asked.stream, &asked.body);
            assert_eq!(body, b"\0\0\0\0\x02hi");
            assert_eq!(asked.field(":path"), Some("/test.Service/Unary"));
            assert_eq!(asked.field(":authority"), Some("server.test:50051"));
            // wire-rules 3
            assert_eq!(asked.field(":scheme"), Some("http"));
            assert_eq!(asked.field("te"), Some("trailers"));
            assert_eq!(asked.field("content-type"), Some("application/grpc"));
            let agent = asked.field("user-agent").unwrap();
            assert!(agent.starts_with("test/1 grpc-rust-peregrine/"), "{agent}");
            assert_eq!(asked.field("k"), Some("v"));
            assert_eq!(asked.field("b-bin"), Some("AQI"));
            assert_eq!(asked.field("grpc-timeout"), None);
            server.head(stream, &[("initial", "1")]).await;
            server.message(stream, b"there").await;
            server.trailers(stream, &[("grpc-status", "0"), ("trailing", "2")]).await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, request), served);
        let reply = reply.unwrap();
        assert_eq!(reply.get_ref(), &message("there"));
        assert_eq!(reply.metadata().get("initial"), Some("1"));
        assert_eq!(reply.trailers().get("trailing"), Some("2"));
        assert_eq!(reply.metadata().len() + reply.trailers().len(), 2);
    });
}

#[test]
fn an_empty_message_is_a_message() {
    // wire-rules 30
    let reply = call(async |server, stream| server.reply(stream, b"").await);
    assert_eq!(reply.unwrap(), Bytes::new());
}

#[test]
fn a_large_message_passes_windows_smaller_than_itself() {
    // wire-rules 84
    let large = vec![7; 3_000_000];
    let reply = call(async |server, stream| server.reply(stream, &large).await);
    assert_eq!(reply.unwrap(), large);
}

#[test]
fn a_large_request_passes_windows_smaller_than_itself() {
    // wire-rules 84
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let large = Bytes::from(vec![7; 3_000_000]);
        let served = async {
            let mut server = acceptor.accept().await;
            let Asked { stream, body, .. } = server.request().await;
            server.reply(stream, &(body.len() as u32).to_be_bytes()).await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, large), served);
        assert_eq!(reply.unwrap().get_ref()[..], 3_000_005_u32.to_be_bytes());
    });
}

#[test]
fn a_status_arrives_with_message_details_and_metadata() {
    // wire-rules 49, 58, 61, 97
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        let details = ("grpc-status-details-bin", "CAc");
        let trailers = [("grpc-status", "7"), ("grpc-message", "n%C3%B6"), details, ("why", "so")];
        server.trailers(stream, &trailers).await;
    })
    .unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, "nö"));
    assert_eq!(status.details()[..], [8, 7]);
    assert_eq!(status.metadata().get("why"), Some("so"));
}

#[test]
fn initial_metadata_of_a_failed_call_is_kept_apart_from_its_trailers() {
    // wire-rules 62, 97
    let status = call(async |server, stream| {
        server.head(stream, &[("initial", "1"), ("both", "a")]).await;
        server.trailers(stream, &[("grpc-status", "5"), ("trailing", "2"), ("both", "b")]).await;
    })
    .unwrap_err();
    assert_eq!(status.initial_metadata().get("initial"), Some("1"));
    assert_eq!(status.initial_metadata().get("both"), Some("a"));
    assert_eq!(status.metadata().get("trailing"), Some("2"));
    assert_eq!(status.metadata().get("both"), Some("b"));
    assert_eq!((status.initial_metadata().len(), status.metadata().len()), (2, 2));
}

#[test]
fn initial_metadata_of_trailers_only_is_empty() {
    // wire-rules 62, 97
    let status = call(async |server, stream| {
        let all = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", "5"),
            ("trailing", "2"),
        ];
        server.headers(stream, &all, true).await;
    })
    .unwrap_err();
    assert!(status.initial_metadata().is_empty());
    assert_eq!(status.metadata().get("trailing"), Some("2"));
}

#[test]
fn bug_27_trailers_only_is_the_same_as_trailers() {
    // wire-rules 50, bug-reports 27
    let status = call(async |server, stream| {
        let all = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", "14"),
            ("grpc-message", "later"),
        ];
        server.headers(stream, &all, true).await;
    })
    .unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "later"));
}

#[test]
fn an_error_after_a_message_is_the_error() {
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"half").await;
        server.trailers(stream, &[("grpc-status", "10")]).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Aborted);
}

#[test]
fn no_message_and_two_messages_are_unimplemented() {
    // wire-rules 48
    let none = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    });
    assert_eq!(none.unwrap_err().code(), Code::Unimplemented);
    // bug-reports 35: at once, and the rest of the response is not waited for.
    let two = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        server.message(stream, b"two").await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
    assert_eq!(two.unwrap_err().code(), Code::Unimplemented);
}

#[test]
fn a_message_over_the_limit_is_refused_at_its_prefix() {
    // wire-rules 42
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.data(stream, &[0, 0, 0x40, 0, 1], false).await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    let text = status.message();
    assert!(text.contains("4194305") && text.contains("4194304"), "both numbers: {text}");
}

#[test]
fn a_request_over_the_limit_is_not_sent() {
    // wire-rules 44
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.max_send_message_size(3).build().unwrap();
        let first = async {
            let mut server = acceptor.accept().await;
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x03abc", "the first thing to arrive is the second call");
            server.reply(stream, b"").await;
            server
        };
        let calls = async {
            let status = unary(&channel, message("abcd")).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted);
            assert!(status.message().contains('4') && status.message().contains('3'), "{status}");
            unary(&channel, message("abc")).await.unwrap();
        };
        let _server = tokio::join!(first, calls).0;
    });
}

#[test]
fn a_header_list_over_the_peers_limit_is_not_sent() {
    // wire-rules 27
    virtual_time(async {
        let mut config = PeerConfig::server();
        config.settings.push(Setting::MaxHeaderListSize(1000));
        let (channel, mut server) = connected_with(config).await;
        let mut request = Request::new(message(""));
        request.metadata_mut().insert("k", &"v".repeat(1000)).unwrap();
        let status = unary(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains("1000"), "both numbers: {status}");
        drop(channel);
        assert!(matches!(server.next().await, Some(Received::GoAway { .. })));
    });
}

#[test]
fn bug_21_a_response_without_trailers_is_internal() {
    // wire-rules 52, bug-reports 21
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, b"x").await;
        server.data(stream, b"", true).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Internal);
}

#[test]
fn bug_22_trailers_without_a_status_are_unknown() {
    // wire-rules 53, bug-reports 22
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.trailers(stream, &[("x", "y")]).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
}

#[test]
fn bug_32_33_a_web_page_is_shown_and_its_code_mapped() {
    // wire-rules 55, 57, bug-reports 32, 33
    let status = call(async |server, stream| {
        server.headers(stream, &[(":status", "503"), ("content-type", "text/html")], false).await;
        server.data(stream, b"<h1>sorry</h1>", false).await;
        server.data(stream, b"", true).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("<h1>sorry</h1>"), "{status}");
}

#[test]
fn an_http_status_gets_the_code_that_the_channel_gives_it() {
    // wire-rules 55: the text's own code, unless the channel has another for this one status.
    let code_of = |http_status: &str| {
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let channel = builder.code_for_http_status(431, Code::Unknown).build().unwrap();
            let served = async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.headers(stream, &[(":status", http_status)], true).await;
                server
            };
            let (reply, _server) = tokio::join!(unary(&channel, message("hi")), served);
            reply.unwrap_err().code()
        })
    };
    assert_eq!(code_of("431"), Code::Unknown);
    assert_eq!(code_of("400"), Code::Internal);
}

#[test]
fn resets_are_mapped_to_codes() {
    // wire-rules 65 to 70
    for (reset, code) in [
        (ErrorCode::NO_ERROR, Code::Internal),
        (ErrorCode::PROTOCOL_ERROR, Code::Internal),
        (ErrorCode::FLOW_CONTROL_ERROR, Code::Internal),
        (ErrorCode::CANCEL, Code::Cancelled),
        (ErrorCode::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
        (ErrorCode::INADEQUATE_SECURITY, Code::PermissionDenied),
        (ErrorCode::HTTP_1_1_REQUIRED, Code::Internal),
        (ErrorCode(0x99), Code::Unknown),
    ] {
        let status = call(async |server, stream| server.reset(stream, reset).await).unwrap_err();
        assert_eq!(status.code(), code, "{reset}");
    }
}

#[test]
fn bug_18_20_a_reset_behind_the_trailers_changes_nothing() {
    // wire-rules 63, bug-reports 18, 20
    let reply = call(async |server, stream| {
        let mut bytes = Vec::new();
        server.encode_headers(stream, &response_head(&[]), false, &mut bytes);
        data_frame(stream, &peregrine_testkit::peer::message(b"ok"), false).encode(&mut bytes);
        server.encode_headers(stream, &[("grpc-status", "0")], true, &mut bytes);
        Frame::RstStream(RstStream { stream, code: ErrorCode::NO_ERROR }).encode(&mut bytes);
        server.send_bytes(&bytes).await;
    });
    assert_eq!(reply.unwrap(), message("ok"));
}

#[test]
fn bug_50_early_trailers_stop_a_large_request() {
    // wire-rules 63, bug-reports 50
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request_head().await.stream;
            let all = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "8")];
            server.headers(stream, &all, true).await;
            loop {
                match server.next().await {
                    Some(Received::Data { end_stream, .. }) => assert!(!end_stream, "the request goes on"),
                    Some(Received::Reset { code, .. }) => break assert_eq!(code, ErrorCode::NO_ERROR),
                    other => panic!("{other:?}"),
                }
            }
            server
        };
        let large = Bytes::from(vec![0; 3_000_000]);
        let (reply, _server) = tokio::join!(unary(&channel, large), served);
        assert_eq!(reply.unwrap_err().code(), Code::ResourceExhausted);
    });
}

#[test]
fn a_broken_binary_value_is_internal() {
    // wire-rules 25
    let status = call(async |server, stream| {
        server.head(stream, &[("x-bin", "***")]).await;
        server.message(stream, b"").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Internal);
}

#[test]
fn a_header_list_over_our_limit_is_resource_exhausted() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.max_header_list_size(500).build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            let value = "v".repeat(99);
            let mut fields = vec![(":status", "200")];
            fields.extend([("k", value.as_str()); 5]);
            server.headers(stream, &fields, false).await;
            assert_eq!(server.reset_of(stream).await, ErrorCode::INTERNAL_ERROR);
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, message("")), served);
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains("702") && status.message().contains("500"), "{status}");
    });
}

#[test]
fn a_second_head_is_internal() {
    // wire-rules 51
    let status = call(async |server, stream| {
        server.head(stream, &[]).await;
        server.head(stream, &[]).await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
    })
    .unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    // What the peer did wrong is in the message, not the code of the reset alone.
    assert!(status.message().contains("second HEADERS without END_STREAM"), "{status}");
}

#[test]
fn informational_heads_are_skipped() {
    // wire-rules 56
    let reply = call(async |server, stream| {
        server.headers(stream, &[(":status", "103")], false).await;
        server.reply(stream, b"ok").await;
    });
    assert_eq!(reply.unwrap(), message("ok"));
}

#[test]
fn a_timeout_is_sent_behind_the_pseudo_fields() {
    // wire-rules 13, 14
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.timeout(Duration::from_secs(9)).build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            for expected in ["2000000u", "9000000u"] {
                let asked = server.request().await;
                let stream = asked.stream;
                let first = asked.head.iter().find(|(name, _)| !name.starts_with(':')).unwrap();
                assert_eq!((first.0.as_str(), &first.1[..]), ("grpc-timeout", expected.as_bytes()));
                server.reply(stream, b"").await;
            }
            server
        };
        let calls = async {
            unary(&channel, Request::new(message("")).timeout(Duration::from_secs(2))).await.unwrap();
            unary(&channel, message("")).await.unwrap();
        };
        let _server = tokio::join!(served, calls).0;
    });
}
