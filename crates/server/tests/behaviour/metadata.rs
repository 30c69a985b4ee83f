//! Metadata both ways, and the status as header fields.

use peregrine_http2::ErrorCode;
use peregrine_testkit::Reply;
use peregrine_testkit::peer::{message, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};

use crate::{Stage, code, in_each_mode};

const ALL: [&str; 4] = [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI];

// wire-rules 20, 23, 24
#[test]
fn handlers_see_the_users_metadata_and_nothing_else() {
    let fields = [
        ("x-text", "a b"),
        ("x-bytes-bin", "AQID"),
        ("x-bytes-bin", "/wA="),
        ("x-bytes-bin", "/wA"),
        ("x-joined-bin", "AQ,Ag==,Aw"),
        ("x-empty", ""),
        ("x-text", "second"),
        ("grpc-timeout", "5S"),
        ("grpc-accept-encoding", "gzip"),
        ("grpc-unheard-of", "x"),
        ("script", "tell"),
    ];
    let told = "x-text: a b\n\
        x-bytes-bin: 010203\n\
        x-bytes-bin: ff00\n\
        x-bytes-bin: ff00\n\
        x-joined-bin: 01\n\
        x-joined-bin: 02\n\
        x-joined-bin: 03\n\
        x-empty: \n\
        x-text: second\n";
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in ALL {
            let reply = peer.call(path, &fields, b"").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec![told]), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 25
#[test]
fn a_binary_value_that_is_not_base64_is_answered_400() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for value in ["*", "A", "AQI=*", "AQ==AQ=="] {
            let reply = peer.call(UNARY, &[("x-bytes-bin", value)], b"").await;
            assert_eq!((reply.http_status(), reply.code()), (400, code::INTERNAL), "{value}");
            assert!(reply.status().1.contains("x-bytes-bin"), "{reply:?}");
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 21, RFC 9113 8.2
#[test]
fn an_upper_case_name_is_malformed() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(UNARY, &[("X-Text", "a")], &message(b""), true).await;
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::PROTOCOL_ERROR);
        assert_eq!(peer.call(UNARY, &[], b"on").await.texts(), ["on"]);
        served.finish([peer]).await;
    });
}

// wire-rules 22: a receiver must not fail on values that HTTP allows and gRPC does not.
#[test]
fn a_text_value_that_is_not_ascii_does_not_fail_the_call() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut fields = request_head(UNARY);
        fields.push(("x-odd".to_owned(), bytes::Bytes::from_static(b"caf\xe9")));
        fields.push(("x-even".to_owned(), bytes::Bytes::from_static(b"tea")));
        fields.push(("script".to_owned(), bytes::Bytes::from_static(b"tell")));
        let stream = peer.open();
        peer.headers(stream, &fields, false).await;
        peer.data(stream, &message(b""), true).await;
        let reply = peer.reply(stream).await;
        assert_eq!(reply.code(), code::OK);
        assert!(reply.texts()[0].contains("x-even: tea"), "{reply:?}");
        served.finish([peer]).await;
    });
}

// wire-rules 49, 62, 23
#[test]
fn initial_and_trailing_metadata_stay_apart() {
    let script = "head x-first 1; head x-bytes-bin ab; trail x-last 2; trail x-more-bin abc; echo";
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in ALL {
            let reply = peer.call(path, &[("script", script)], b"hello").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{path}");
            assert_eq!(reply.http_status(), 200);
            assert_eq!(reply.head_value("content-type"), Some("application/grpc"));
            let head = (reply.head_value("x-first"), reply.head_value("x-bytes-bin"));
            assert_eq!(head, (Some("1"), Some("YWI")), "unpadded base64 in the head");
            let trailers = (reply.trailer_value("x-last"), reply.trailer_value("x-more-bin"));
            assert_eq!(trailers, (Some("2"), Some("YWJj")));
            assert_eq!((reply.head_value("x-last"), reply.trailer_value("x-first")), (None, None));
            assert_eq!((reply.head_value("grpc-status"), reply.trailer_value(":status")), (None, None));
        }
        served.finish([peer]).await;
    });
}

// wire-rules 20, H2
#[test]
fn reserved_names_in_a_replys_metadata_are_left_out() {
    let script = "head content-type text/plain; head grpc-encoding gzip; head x-kept 1; \
        trail grpc-status 7; trail te x; trail x-kept 2; echo";
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in ALL {
            let reply = peer.call(path, &[("script", script)], b"hello").await;
            let names = |fields: &peregrine_testkit::peer::Fields| -> Vec<String> {
                fields.iter().map(|(name, _)| name.clone()).collect()
            };
            assert_eq!(names(&reply.head), [":status", "content-type", "x-kept"], "{path}");
            assert_eq!(names(reply.trailers.as_ref().unwrap()), ["grpc-status", "x-kept"], "{path}");
            assert_eq!(reply.code(), code::OK);
        }
        served.finish([peer]).await;
    });
}

// wire-rules 50, 61, 62, E3
#[test]
fn an_error_before_the_head_is_one_block_with_all_metadata() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (path, script) in [
            (UNARY, "fail-with 5 x-why because"),
            (CLIENT_STREAM, "fail-with 5 x-why because"),
            (UNARY, "gate; fail-with 5 x-why because"),
        ] {
            stage.journal.open_gate(1);
            let reply = peer.call(path, &[("script", script)], b"").await;
            assert!(reply.is_trailers_only(), "{path}: {reply:?}");
            assert_eq!(reply.http_status(), 200);
            assert_eq!(reply.head_value("content-type"), Some("application/grpc"));
            assert_eq!(reply.status(), (code::NOT_FOUND, "with metadata".to_owned()));
            assert_eq!(reply.trailer_value("x-why"), Some("because"));
            assert_eq!(reply.trailer_value("grpc-status-details-bin"), Some("ZGV0YWlscw"));
        }
        for path in ALL {
            let reply = peer.call(path, &[("script", "refuse 5 no")], b"").await;
            assert!(reply.is_trailers_only(), "{path}: {reply:?}");
            assert_eq!(reply.status(), (code::NOT_FOUND, "no".to_owned()));
        }
        served.finish([peer]).await;
    });
}

// wire-rules 49, E3
#[test]
fn an_error_after_the_head_goes_to_trailers() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let script = "head x-first 1; fail-with 5 x-why because";
            let reply = peer.call(path, &[("script", script)], b"").await;
            assert!(!reply.is_trailers_only(), "{path}: {reply:?}");
            assert_eq!(reply.head_value("x-first"), Some("1"));
            assert_eq!(reply.status(), (code::NOT_FOUND, "with metadata".to_owned()));
            assert_eq!(reply.trailer_value("x-why"), Some("because"));
            assert_eq!(reply.trailer_value("grpc-status-details-bin"), Some("ZGV0YWlscw"));
        }
        served.finish([peer]).await;
    });
}

// wire-rules 49
#[test]
fn an_empty_stream_ends_with_its_status() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let reply = peer.call(path, &[("script", "many 0 0; trail x-last 2")], b"").await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 0), "{path}");
            assert_eq!(reply.trailer_value("x-last"), Some("2"));
        }
        served.finish([peer]).await;
    });
}

// wire-rules 58, 60
#[test]
fn a_status_text_of_any_characters_comes_through() {
    let text = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}, 100%\t\n";
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in ALL {
            let reply = peer.call(path, &[("script", "fail-request 2")], text.as_bytes()).await;
            assert_eq!(reply.status(), (code::UNKNOWN, text.to_owned()), "{path}");
            let encoded = reply.trailer_value("grpc-message").unwrap();
            assert!(encoded.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{encoded}");
            assert!(encoded.contains("100%25%09%0A"), "upper-case hex: {encoded}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules E1
#[test]
fn status_ok_as_an_error_is_refused() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let check = |reply: Reply| assert_eq!(reply.code(), code::INTERNAL, "{reply:?}");
        for path in ALL {
            check(peer.call(path, &[("script", "fail 0 fine")], b"").await);
            check(peer.call(path, &[("script", "refuse 0 fine")], b"").await);
        }
        served.finish([peer]).await;
    });
}
