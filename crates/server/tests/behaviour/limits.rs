//! What a server takes and sends at most, and how it says so.

use peregrine_http2::ErrorCode;
use peregrine_http2::frame::Setting;
use peregrine_server::Execution;
use peregrine_testkit::peer::{Ending, PeerConfig, Received, message};
use peregrine_testkit::service::{SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Recorder, on_threads, serve};

use crate::{Stage, code, in_each_mode};

#[test]
fn settings_say_what_the_builder_was_told() {
    in_each_mode(async |stage: Stage| {
        let served = serve(
            stage
                .server()
                .max_concurrent_streams(7)
                .max_header_list_size(9_000)
                .initial_stream_window(70_000)
                .initial_connection_window(500_000),
        );
        let mut peer = Peer::new(served.connect(), PeerConfig::default());
        let mut first = peregrine_testkit::peer::PREFACE.to_vec();
        peregrine_http2::frame::Settings::encode_entries(&[], &mut first);
        peer.send_bytes(&first).await;
        let Some(Received::Settings(settings)) = peer.frame().await else { panic!("SETTINGS come first") };
        for expected in [
            Setting::MaxConcurrentStreams(7),
            Setting::MaxHeaderListSize(9_000),
            Setting::InitialWindowSize(70_000),
        ] {
            assert!(settings.contains(&expected), "{expected:?} in {settings:?}");
        }
        // bug-reports 13: the connection's window is raised at the start.
        let Some(Received::WindowUpdate { stream, increment }) = peer.frame().await else {
            panic!("no window")
        };
        assert_eq!((stream.value(), increment), (0, 500_000 - 65_535));
        served.finish([peer]).await;
    });
}

// wire-rules 27 as settled
#[test]
fn a_header_list_over_the_limit_is_answered_431_and_the_table_stays_in_step() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_header_list_size(2_000));
        let mut peer = served.peer().await;
        let long = "x".repeat(2_500);
        for _ in 0..3 {
            // The short entry goes into the compression table with the long one and is referred to afterwards.
            let reply = peer.call(UNARY, &[("x-short", "kept"), ("x-long", &long)], b"").await;
            let (status, text) = reply.status();
            assert_eq!((reply.http_status(), status), (431, code::RESOURCE_EXHAUSTED));
            assert!(text.contains("2000"), "the limit is named: {text}");
            let size = text.split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse::<usize>().ok());
            assert!(size.is_some_and(|size| size > 2_500), "the size is named: {text}");
            let reply = peer.call(UNARY, &[("x-short", "kept"), ("script", "tell")], b"").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["x-short: kept\n"]));
        }
        assert_eq!(stage.counts().started, 3);
        served.finish([peer]).await;
    });
}

// wire-rules 26: each field counts 32 bytes besides its text, so many empty ones are over the limit too.
#[test]
fn many_small_fields_are_over_the_limit_as_well() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_header_list_size(2_000));
        let mut peer = served.peer().await;
        let fields = vec![("x", ""); 60];
        let reply = peer.call(UNARY, &fields, b"").await;
        assert_eq!((reply.http_status(), reply.code()), (431, code::RESOURCE_EXHAUSTED));
        assert_eq!(peer.call(UNARY, &fields[..30], b"on").await.texts(), ["on"]);
        served.finish([peer]).await;
    });
}

// wire-rules 27
#[test]
fn a_header_list_over_the_hard_cap_closes_the_connection() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let long = "x".repeat(100 * 1024);
        peer.request(UNARY, &[("x-long", &long)], b"", true).await;
        let (_, code, debug) = peer.expect_go_away().await;
        assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM, "{debug}");
        peer.expect_closed().await;
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 28
#[test]
fn a_header_of_63_kilobytes_comes_through_continuations() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_header_list_size(128 * 1024));
        let mut peer = served.peer().await;
        let long = "x".repeat(63 * 1024);
        let reply = peer.call(UNARY, &[("x-long", &long), ("script", "tell")], b"").await;
        assert_eq!(reply.texts(), [format!("x-long: {long}\n")]);
        served.finish([peer]).await;
    });
}

// wire-rules 82
#[test]
fn calls_over_the_stream_limit_are_refused_until_one_ends() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_concurrent_streams(2));
        let mut peer = served.peer().await;
        let gate = [("script", "gate; echo")];
        let first = peer.request(UNARY, &gate, &message(b"first"), true).await;
        let second = peer.request(UNARY, &gate, &message(b"second"), true).await;
        let third = peer.request(UNARY, &[], &message(b"third"), true).await;
        assert_eq!(peer.expect_reset(third).await, ErrorCode::REFUSED_STREAM);
        stage.journal.until(|counts| counts.started == 2).await;
        stage.journal.open_gate(2);
        assert_eq!(peer.reply(first).await.texts(), ["first"]);
        assert_eq!(peer.reply(second).await.texts(), ["second"]);
        assert_eq!(peer.call(UNARY, &[], b"fourth").await.texts(), ["fourth"]);
        assert_eq!(stage.counts().started, 3);
        served.finish([peer]).await;
    });
}

// wire-rules 44, bug-reports 83
#[test]
fn a_message_over_the_send_limit_ends_its_call() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_send_message_size(10));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM] {
            let reply = peer.call(path, &[("script", "many 1 11")], b"").await;
            let (status, text) = reply.status();
            assert_eq!((status, reply.messages.len()), (code::RESOURCE_EXHAUSTED, 0), "{path}");
            assert!(text.contains("11") && text.contains("10"), "{text}");
            assert_eq!(peer.call(path, &[("script", "many 1 10")], b"").await.code(), code::OK);
        }
        // wire-rules B3: what was complete before is delivered.
        let reply = peer.call(SERVER_STREAM, &[("script", "send one; many 1 11; send two")], b"").await;
        assert_eq!((reply.code(), reply.texts()), (code::RESOURCE_EXHAUSTED, vec!["one"]));
        assert_eq!(reply.rest.len(), 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 41: the code arrives whatever the peer's limit; the text is cut.
#[test]
fn a_status_too_long_for_the_peer_is_shortened() {
    let mut config = PeerConfig::default();
    config.settings.push(Setting::MaxHeaderListSize(1_000));
    let text = "\u{263a}".repeat(20_000);
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(config.clone()).await;
        for path in [UNARY, SERVER_STREAM] {
            let reply = peer.call(path, &[("script", "fail-request 5")], text.as_bytes()).await;
            let (status, shortened) = reply.status();
            assert_eq!(status, code::NOT_FOUND, "{path}");
            assert!(text.starts_with(&shortened), "{path}");
            let block = reply.trailers.as_ref().unwrap_or(&reply.head);
            let size: usize = block.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            assert!(size <= 1_000, "{path}: {size} bytes");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 27: what does not fit into the peer's limit fails here, with both numbers.
#[test]
fn initial_metadata_too_large_for_the_peer_fails_the_call() {
    let mut config = PeerConfig::default();
    config.settings.push(Setting::MaxHeaderListSize(1_000));
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(config.clone()).await;
        for path in [UNARY, SERVER_STREAM] {
            let script = format!("head x-long {}; echo", "x".repeat(2_000));
            let reply = peer.call(path, &[("script", &script)], b"hello").await;
            let (status, text) = reply.status();
            assert_eq!((status, reply.messages.len()), (code::RESOURCE_EXHAUSTED, 0), "{path}");
            assert!(text.contains("1000"), "{text}");
            let script = format!("trail x-long {}; echo", "x".repeat(2_000));
            let reply = peer.call(path, &[("script", &script)], b"hello").await;
            let (status, text) = reply.status();
            assert_eq!((status, reply.messages.len()), (code::RESOURCE_EXHAUSTED, 1), "{path}");
            assert!(text.contains("1000"), "{text}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 78
#[test]
fn a_ping_is_answered_while_calls_run() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.request(UNARY, &[("script", "gate")], &message(b""), true).await;
        peer.ping(*b"12345678").await;
        assert_eq!(peer.frame().await, Some(Received::Ping { ack: true, payload: *b"12345678" }));
        stage.journal.until(|counts| counts.started == 1).await;
        stage.journal.open_gate(1);
        peer.drain().await;
        served.finish([peer]).await;
    });
}

// wire-rules 88
#[test]
fn a_broken_rule_of_the_connection_is_said_and_cancels_its_calls() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        // A stream that was never opened.
        peer.data(peregrine_http2::StreamId::new(99), b"x", false).await;
        let (_, code, debug) = peer.expect_go_away().await;
        assert_eq!(code, ErrorCode::PROTOCOL_ERROR);
        assert!(!debug.is_empty(), "the reason is said");
        peer.expect_closed().await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 1: the attack. Handlers never outnumber the streams that were allowed.
#[test]
fn a_flood_of_resets_closes_the_connection_and_bounds_what_runs() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut most = 0;
        for _ in 0..5_000 {
            let mut bytes = Vec::new();
            let stream = peer.open();
            let mut head = peregrine_testkit::peer::request_head(UNARY);
            head.push(("script".to_owned(), bytes::Bytes::from_static(b"never")));
            peer.encode_headers(stream, &head, false, &mut bytes);
            peregrine_testkit::peer::data_frame(stream, &message(b""), true).encode(&mut bytes);
            let code = ErrorCode::CANCEL;
            peregrine_http2::frame::RstStream { stream, code }.encode(&mut bytes);
            if peer.try_send_bytes(&bytes).await.is_err() {
                break;
            }
            let counts = stage.counts();
            most = most.max(counts.started - counts.cancelled);
        }
        let (_, code, debug) = peer.expect_go_away().await;
        assert_eq!((code, &*debug), (ErrorCode::ENHANCE_YOUR_CALM, "resets_received"));
        peer.expect_closed().await;
        assert!(most <= 100, "{most} handlers at once");
        let counts = stage.counts();
        assert!(counts.started == counts.cancelled && counts.started <= 2_100, "{counts:?}");
        assert_eq!(served.peer().await.call(UNARY, &[], b"on").await.texts(), ["on"]);
        served.finish([peer]).await;
    });
}

// http2-abuse 1, 3, 29: a handler that computes goes on for a while after its stream is gone.
#[test]
fn handlers_that_outlive_their_streams_count_until_they_end() {
    let recorder = Recorder::default();
    on_threads(4, async {
        let stage = Stage::new(Execution::Spawn);
        let server = stage.server().max_concurrent_streams(2).observe(recorder.clone());
        let served = serve(server);
        let mut peer = served.peer().await;
        for _ in 0..2 {
            let stream = peer.request(UNARY, &[("script", "hold; echo")], &message(b""), true).await;
            stage.journal.until(|counts| counts.started == stream.value().div_ceil(2) as usize).await;
            peer.reset(stream, ErrorCode::CANCEL).await;
        }
        recorder.take();
        for _ in 0..3 {
            let stream = peer.request(UNARY, &[], &message(b"x"), true).await;
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::REFUSED_STREAM);
        }
        assert_eq!(recorder.take(), ["limit running_handlers x1"; 3]);
        assert_eq!(stage.counts().started, 2);
        stage.journal.let_go();
        stage.journal.until(|counts| counts.ended == 2).await;
        // The tasks may need a moment to be gone, in which calls are still refused.
        loop {
            let stream = peer.request(UNARY, &[], &message(b"x"), true).await;
            let reply = peer.reply(stream).await;
            if reply.ending == Some(Ending::Stream) {
                break assert_eq!(reply.texts(), ["x"]);
            }
            tokio::task::yield_now().await;
        }
        served.finish([peer]).await;
    });
}

// The place of a spawned handler is free as soon as its client knows that it has ended.
#[test]
fn a_client_at_its_limit_is_never_refused_after_an_answer() {
    let recorder = Recorder::default();
    on_threads(4, async {
        let stage = Stage::new(Execution::Spawn);
        let served = serve(stage.server().max_concurrent_streams(2).observe(recorder.clone()));
        let mut peer = served.peer().await;
        // One orphan holds one of the two places.
        let stream = peer.request(UNARY, &[("script", "hold")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        peer.reset(stream, ErrorCode::CANCEL).await;
        for _ in 0..2_000 {
            assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        }
        stage.journal.let_go();
        assert!(!recorder.take().iter().any(|line| line.contains("limit")));
        served.finish([peer]).await;
    });
}
