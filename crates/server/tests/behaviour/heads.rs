//! What a request's header fields say: content type, timeout, encodings.

use bytes::Bytes;
use peregrine_core::compression::Compression;
use peregrine_core::{InterceptedCall, Status};
use peregrine_testkit::peer::{message, prefixed, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Reply, serve};

use crate::{Stage, code, in_each_mode};

async fn with_content_type(peer: &mut Peer, value: Option<&str>) -> Reply {
    let mut fields = request_head(UNARY);
    fields.retain(|(name, _)| name != "content-type");
    if let Some(value) = value {
        fields.push(("content-type".to_owned(), Bytes::copy_from_slice(value.as_bytes())));
    }
    let stream = peer.open();
    peer.headers(stream, &fields, false).await;
    peer.data(stream, &message(b"hello"), true).await;
    peer.reply(stream).await
}

// wire-rules 9, N1
#[test]
fn twelve_spellings_of_the_content_type_are_grpc() {
    let spellings = [
        "application/grpc",
        "application/grpc+proto",
        "APPLICATION/GRPC",
        "Application/Grpc",
        "application/GRPC+PROTO",
        "application/grpc+Proto",
        "application/grpc;charset=utf-8",
        "application/grpc; charset=utf-8",
        "application/grpc ; charset=utf-8",
        "application/grpc;",
        "application/grpc+proto;v=2;w=3",
        "Application/gRPC+proto; charset=\"utf-8\"",
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for spelling in spellings {
            let reply = with_content_type(&mut peer, Some(spelling)).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{spelling}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 10, N2
#[test]
fn a_content_type_that_is_not_grpc_is_answered_415() {
    let spellings = [
        Some("application/grpcfoo"),
        Some("application/grpc-web"),
        Some("application/grpc-web+proto"),
        Some("application/grp"),
        Some("application/json"),
        Some("text/grpc"),
        Some("grpc"),
        Some(""),
        None,
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for spelling in spellings {
            let reply = with_content_type(&mut peer, spelling).await;
            let status = (reply.http_status(), reply.code());
            assert_eq!(status, (415, code::INVALID_ARGUMENT), "{spelling:?}");
            assert!(reply.is_trailers_only());
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules N2
#[test]
fn another_message_format_is_unimplemented() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for spelling in ["application/grpc+json", "application/grpc+foo", "application/grpc+proto2"] {
            let reply = with_content_type(&mut peer, Some(spelling)).await;
            assert_eq!((reply.http_status(), reply.code()), (200, code::UNIMPLEMENTED), "{spelling}");
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 13, 15
#[test]
fn a_timeout_becomes_the_handlers_deadline() {
    let timeouts = [
        ("100m", "100"),
        ("5S", "5000"),
        ("2M", "120000"),
        ("1H", "3600000"),
        ("7000u", "7"),
        ("8000000n", "8"),
        ("00000001S", "1000"),
        ("99999999S", "99999999000"),
        ("99999999H", "359999996400000"),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (timeout, left) in timeouts {
            let fields = [("grpc-timeout", timeout), ("script", "time-left")];
            let reply = peer.call(UNARY, &fields, b"").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec![left]), "{timeout}");
        }
        let reply = peer.call(UNARY, &[("script", "time-left")], b"").await;
        assert_eq!(reply.texts(), ["none"]);
        served.finish([peer]).await;
    });
}

// wire-rules 14
#[test]
fn a_malformed_timeout_is_answered_400() {
    let timeouts =
        ["", "S", "1", "10", "1s", "1X", "-1S", "+1S", "123456789S", "1.5S", "1 S", "1SS", "S1", "0x1S"];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for timeout in timeouts {
            let reply = peer.call(UNARY, &[("grpc-timeout", timeout)], b"").await;
            let (status, text) = reply.status();
            assert_eq!((reply.http_status(), status), (400, code::INTERNAL), "{timeout:?}");
            assert!(text.contains("malformed grpc-timeout"), "{timeout:?}: {text}");
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 16
#[test]
fn a_timeout_of_zero_is_over_at_once() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for timeout in ["0n", "0S", "00000000H"] {
            let reply = peer.call(UNARY, &[("grpc-timeout", timeout)], b"").await;
            assert_eq!((reply.http_status(), reply.code()), (200, code::DEADLINE_EXCEEDED), "{timeout}");
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 34, N5
#[test]
fn an_unsupported_request_encoding_is_refused_with_what_is_accepted() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for name in ["lzw", "x-gzip", "identity2"] {
            let reply = peer.call(UNARY, &[("grpc-encoding", name)], b"").await;
            let (status, text) = reply.status();
            assert_eq!((reply.http_status(), status), (200, code::UNIMPLEMENTED), "{name}");
            assert!(text.contains(name), "{text}");
            let accepted = reply.head_value("grpc-accept-encoding").unwrap();
            let accepted: Vec<_> = accepted.split(',').map(str::trim).collect();
            assert!(accepted.contains(&"identity") && !accepted.contains(&name), "{accepted:?}");
        }
        assert_eq!(stage.counts().started, 0);
        let reply = peer.call(UNARY, &[("grpc-encoding", "identity")], b"plain").await;
        assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["plain"]));
        served.finish([peer]).await;
    });
}

// wire-rules N5, N7, R4 and the row "foo" of the table "Header versus flag": before the body, the handler and interceptors.
#[test]
fn an_unsupported_request_encoding_is_refused_whatever_follows() {
    let bodies = [vec![], vec![2, 0, 0, 0, 0], prefixed(1, u32::MAX, b""), vec![0], message(b"fine")];
    in_each_mode(async |stage: Stage| {
        let refuse = |_: &mut InterceptedCall<'_>| Err(Status::data_loss("nobody asked"));
        let served = serve(stage.server().compression(Compression::adaptive()).interceptor(refuse));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            for name in ["br", "GZIP", "gzip,identity", "gzip,"] {
                for body in &bodies {
                    let fields = [("grpc-encoding", name), ("grpc-accept-encoding", name)];
                    let stream = peer.request(path, &fields, body, true).await;
                    let reply = peer.reply(stream).await;
                    let got = (reply.http_status(), reply.code(), reply.is_trailers_only());
                    assert_eq!(got, (200, code::UNIMPLEMENTED, true), "{path} {name} {body:?}");
                    let accepted = reply.head_value("grpc-accept-encoding");
                    assert_eq!(accepted, Some("zstd,gzip,deflate,snappy,identity"), "{path} {name}");
                    assert_eq!(reply.head_value("grpc-encoding"), None, "{path} {name}");
                }
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules N5
#[test]
fn a_repeated_request_encoding_is_refused() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let reply =
            peer.call(UNARY, &[("grpc-encoding", "identity"), ("grpc-encoding", "identity")], b"").await;
        assert_eq!(reply.code(), code::INTERNAL);
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules N2, N3, N5: which of two fields counts must not depend on their order, so neither does.
#[test]
fn repeated_fields_that_say_one_thing_are_refused_in_any_order() {
    let rows: [(&str, [&str; 2], (u16, u32)); 6] = [
        ("content-type", ["application/grpc", "text/plain"], (415, code::INVALID_ARGUMENT)),
        ("content-type", ["application/grpc", "application/grpc"], (415, code::INVALID_ARGUMENT)),
        ("content-type", ["application/grpc+foo", "application/grpc"], (415, code::INVALID_ARGUMENT)),
        ("grpc-timeout", ["1S", "100m"], (400, code::INTERNAL)),
        ("grpc-timeout", ["1S", "soon"], (400, code::INTERNAL)),
        ("grpc-encoding", ["gzip", "lzw"], (200, code::INTERNAL)),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (name, [one, two], expected) in rows {
            for values in [vec![one, two], vec![two, one], vec![one, two, one]] {
                let mut fields = request_head(UNARY);
                fields.retain(|(other, _)| other != name);
                let repeated =
                    values.iter().map(|value| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes())));
                fields.extend(repeated);
                let stream = peer.open();
                peer.headers(stream, &fields, false).await;
                peer.data(stream, &message(b"hello"), true).await;
                let reply = peer.reply(stream).await;
                assert_eq!((reply.http_status(), reply.code()), expected, "{name}: {values:?}");
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 18, N4, 36
#[test]
fn no_list_of_accepted_encodings_is_an_error_and_none_changes_the_reply() {
    let long = "gzip,".repeat(1_600);
    let lists = ["gzip", "identity,gzip", "deflate, gzip", " gzip ,".trim(), "x-gzip", ",,", "", &long];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for list in lists {
            let reply = peer.call(UNARY, &[("grpc-accept-encoding", list)], b"hello").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{list}");
            assert_eq!(reply.head_value("grpc-encoding").unwrap_or("identity"), "identity");
        }
        let twice = [("grpc-accept-encoding", "gzip"), ("grpc-accept-encoding", "deflate")];
        assert_eq!(peer.call(UNARY, &twice, b"").await.code(), code::OK);
        served.finish([peer]).await;
    });
}

// wire-rules 8, 19
#[test]
fn te_and_message_type_are_not_depended_on() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut fields = request_head(UNARY);
        fields.retain(|(name, _)| name != "te");
        fields.push(("grpc-message-type".to_owned(), Bytes::from_static(b"test.Anything")));
        let stream = peer.open();
        peer.headers(stream, &fields, false).await;
        peer.data(stream, &message(b"hello"), true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["hello"]);
        served.finish([peer]).await;
    });
}
