//! Cases that were bugs of other stacks' servers (bug-reports NN), as far as no other file here has them.

use peregrine_http2::frame::{Data, Frame, Setting};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Ending, PeerConfig, Received, message, prefixed, raw_frame, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

#[test]
fn bug_1_data_of_streams_that_a_goaway_refused_gives_its_window_back() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().initial_connection_window(65_535));
        let mut peer = served.peer().await;
        let first = peer.request(CLIENT_STREAM, &[], b"", false).await;
        stage.journal.until(|counts| counts.started == 1).await;
        let stopping = served.begin_stop();
        peer.expect_go_away().await;
        assert_eq!(peer.expect_go_away().await.0, first);
        // A client that has not read it yet: ten times what the connection's window holds.
        for _ in 0..10 {
            let refused = peer.request(CLIENT_STREAM, &[], b"", false).await;
            peer.send_body(refused, &vec![0; 65_535], true).await;
        }
        peer.send_body(first, &message(&vec![1; 50_000]), true).await;
        assert_eq!(peer.reply(first).await.texts(), ["1 messages, 50000 bytes"]);
        peer.expect_closed().await;
        drop(peer);
        assert!(stopping.await.unwrap().is_clean());
        assert_eq!(stage.counts().started, 1);
    });
}

#[test]
fn bug_2_padding_larger_than_the_data_is_given_back() {
    // wire-rules 85. Windows are kept to: a single octet not given back stops the peer for ever.
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().initial_stream_window(1_000));
        let mut peer = served.peer().await;
        for pad in [0, 1, 200, 255] {
            let stream = peer.request(CLIENT_STREAM, &[], b"", false).await;
            let body = message(b"");
            let frame = Frame::Data(Data { stream, data: &body, end_stream: false, padding: Some(pad) });
            let length = 6 + i64::from(pad);
            let mut sent = 0;
            for _ in 0..100 {
                peer.read_all().await;
                assert!(peer.window(stream) - sent >= length, "padding of {pad} is not given back");
                peer.send(&[frame]).await;
                sent += length;
            }
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["100 messages, 0 bytes"]);
        }
        served.finish([peer]).await;
    });
}

#[test]
fn bug_5_a_hundred_downloads_share_a_small_connection_window() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let config = PeerConfig { connection_window: 0, refill_windows: true, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        let mut streams = Vec::new();
        for _ in 0..100 {
            let script = [("script", "many 10 10000")];
            streams.push(peer.request(SERVER_STREAM, &script, &message(b""), true).await);
        }
        for stream in streams {
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 10));
        }
        served.finish([peer]).await;
    });
}

#[test]
fn bug_24_a_request_stream_that_is_cut_is_an_error_to_its_handler() {
    // wire-rules 45. The handler must not take what it got for all there is: `fail` would be its answer then.
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let cut = [message(b"one"), prefixed(0, 5, b"hel")].concat();
        // By END_STREAM inside of a message.
        let script = [("script", "read; read; fail 5 it looked complete")];
        let stream = peer.request(CLIENT_STREAM, &script, &cut, true).await;
        assert_eq!(peer.reply(stream).await.code(), code::INTERNAL);
        // By a reset, and by the end of the connection: the handler is dropped where it waits.
        let stream = peer.request(CLIENT_STREAM, &script, &cut, false).await;
        stage.journal.until(|counts| counts.started == 2 && counts.read == 2).await;
        peer.reset(stream, ErrorCode::CANCEL).await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        peer.request(CLIENT_STREAM, &script, &cut, false).await;
        stage.journal.until(|counts| counts.started == 3 && counts.read == 3).await;
        served.finish([peer]).await;
        let counts = stage.journal.until(|counts| counts.cancelled == 2).await;
        assert_eq!(counts.ended, 1);
    });
}

#[test]
fn bug_25_a_cancel_after_one_message_drops_the_handler_and_nothing_else() {
    // wire-rules 68, 74
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [CLIENT_STREAM, BIDI] {
            let before = stage.counts();
            let stream = peer.request(path, &[], &message(b"one"), false).await;
            stage.journal.until(|counts| counts.read == before.read + 1).await;
            peer.reset(stream, ErrorCode::CANCEL).await;
            stage.journal.until(|counts| counts.cancelled == before.cancelled + 1).await;
            assert_eq!(peer.call(UNARY, &[], b"others").await.texts(), ["others"]);
        }
        // What was sent before the cancel is all there is: no status follows it.
        let resets = peer.drain().await;
        assert!(resets.iter().all(|frame| !matches!(frame, Received::Reset { .. })), "{resets:?}");
        served.finish([peer]).await;
    });
}

#[test]
fn bug_28_an_error_after_the_head_was_sent_comes_in_trailers_of_their_own() {
    // wire-rules 50
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let script = [("script", "head k v; gate; fail 5 no")];
        for path in [SERVER_STREAM, BIDI] {
            let stream = peer.request(path, &script, &message(b""), true).await;
            let head = peer.frame_of(stream).await;
            let Some(Received::Headers { end_stream: false, fields, .. }) = head else { panic!("{head:?}") };
            assert!(fields.iter().any(|(name, value)| name == "k" && value == "v"), "{fields:?}");
            stage.journal.open_gate(1);
            let trailers = peer.frame_of(stream).await;
            let Some(Received::Headers { end_stream: true, fields, .. }) = trailers else {
                panic!("{trailers:?}")
            };
            assert_eq!(fields[0], ("grpc-status".to_owned(), "5".into()));
            // 8.1: no pseudo-header field, nor is the head repeated.
            let repeated = |name: &str| name.starts_with(':') || name == "k" || name == "content-type";
            assert!(!fields.iter().any(|(name, _)| repeated(name)), "{fields:?}");
        }
        served.finish([peer]).await;
    });
}

#[test]
fn bug_75_a_client_that_takes_next_to_no_header_list_is_reset() {
    // wire-rules 27: an early abort keeps to the peer's limit as well, and the connection does not suffer.
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut config = PeerConfig::default();
        config.settings.push(Setting::MaxHeaderListSize(100));
        let mut peer = served.peer_with(config).await;
        for path in ["/test.Test/None", "/none.None/None", UNARY, SERVER_STREAM] {
            let stream = peer.request(path, &[], &message(b"x"), true).await;
            let reply = peer.reply(stream).await;
            assert!(matches!(reply.ending, Some(Ending::Reset(_))), "{path}: {reply:?}");
            assert!(reply.head.is_empty(), "{path}: a head of more than 100 octets was sent: {reply:?}");
        }
        // Once it takes more it is answered.
        peer.settings(&[Setting::MaxHeaderListSize(10_000)]).await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}

#[test]
fn bug_76_a_compressed_message_without_an_encoding_fails_its_call_only() {
    // wire-rules 32
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let beside = peer.request(BIDI, &[], &message(b"one"), false).await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            for encoding in [&[][..], &[("grpc-encoding", "identity")]] {
                let stream = peer.request(path, encoding, &prefixed(1, 1, b"x"), true).await;
                assert_eq!(peer.reply(stream).await.code(), code::INTERNAL, "{path} {encoding:?}");
            }
        }
        peer.data(beside, &message(b"two"), true).await;
        assert_eq!(peer.reply(beside).await.texts(), ["one", "two"]);
        served.finish([peer]).await;
    });
}

#[test]
fn bug_97_what_another_server_took_for_good_is_malformed() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        // Two lengths; the same one twice is well-formed.
        for (second, is_well_formed) in [("6", true), ("7", false)] {
            let mut head = request_head(UNARY);
            head.extend(
                [("content-length", "6"), ("content-length", second)]
                    .map(|(name, value)| (name.to_owned(), bytes::Bytes::from_static(value.as_bytes()))),
            );
            let stream = peer.open();
            peer.headers(stream, &head, false).await;
            if is_well_formed {
                peer.data(stream, &message(b"x"), true).await;
                assert_eq!(peer.reply(stream).await.texts(), ["x"]);
            } else {
                assert_eq!(peer.expect_reset(stream).await, ErrorCode::PROTOCOL_ERROR);
            }
        }
        assert_eq!(stage.counts().started, 1);
        // GOAWAY on a stream.
        peer.send_bytes(&raw_frame(7, 0, StreamId::new(1), &[0; 8])).await;
        let (_, code, _) = peer.expect_go_away().await;
        assert_eq!(code, ErrorCode::PROTOCOL_ERROR);
        peer.expect_closed().await;
        served.finish([peer]).await;
    });
}

#[test]
fn bug_97_refusals_do_not_count_as_resets_that_the_peer_provoked() {
    // wire-rules 82. Far more than `resets_provoked` allows, all of it in one burst.
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_concurrent_streams(1));
        let mut peer = served.peer().await;
        let first = peer.request(UNARY, &[("script", "gate; echo")], &message(b"x"), true).await;
        for _ in 0..2_000 {
            let stream = peer.request(UNARY, &[], &message(b"x"), true).await;
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::REFUSED_STREAM);
        }
        stage.journal.open_gate(1);
        assert_eq!(peer.reply(first).await.texts(), ["x"]);
        settle().await;
        assert_eq!(peer.drain().await, []);
        assert_eq!(stage.counts().started, 1);
        served.finish([peer]).await;
    });
}
