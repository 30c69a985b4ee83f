//! What a client may do to a call at each moment of it: reset it with any code, run out of time, break a rule of flow
//! control. The call ends as the rule says, and the connection goes on serving the others.

use std::time::Duration;

use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Ending, Peer, PeerConfig, Received, message, raw_frame};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

const NEVER: (&str, &str) = ("script", "never");

/// Another call of the connection is answered.
async fn is_alive(peer: &mut Peer) {
    let stream = peer.request(UNARY, &[], &message(b"alive"), true).await;
    assert_eq!(peer.reply(stream).await.texts(), ["alive"]);
}

/// The same, for a client whose windows hold less.
async fn is_alive_given_window(peer: &mut Peer) {
    let stream = peer.request(UNARY, &[], &message(b"alive"), true).await;
    peer.give_window(stream, 1_000).await;
    assert_eq!(peer.reply(stream).await.texts(), ["alive"]);
}

// wire-rules 68, 74
#[test]
fn a_reset_with_any_code_at_any_moment_ends_its_handler_and_no_other() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(10)).await;
        let mut cancelled = 0;
        for code in (0..=0x20).chain([0xffff_ffff]) {
            let code = ErrorCode(code);
            // Before the message is whole: no handler.
            let stream = peer.request(UNARY, &[], &message(b"hello")[..7], false).await;
            peer.reset(stream, code).await;
            // The handler waits; for its clock, for requests, for window with a part of its reply on the wire.
            let kinds = [
                (UNARY, "never", true),
                (CLIENT_STREAM, "count", false),
                (BIDI, "echo-all", false),
                (SERVER_STREAM, "many 1000 1000", true),
            ];
            for (path, script, ends) in kinds {
                let before = stage.counts();
                let stream = peer.request(path, &[("script", script)], &message(b"x"), ends).await;
                settle().await;
                peer.reset(stream, code).await;
                settle().await;
                cancelled += 1;
                let counts = stage.counts();
                assert_eq!(counts.cancelled, cancelled, "{path} {code}: {counts:?} after {before:?}");
                let said = peer.drain().await;
                let ended = |frame: &Received| {
                    matches!(frame, Received::Headers { end_stream: true, .. } | Received::Reset { .. })
                };
                assert!(!said.iter().any(ended), "{path} {code}: {said:?}");
            }
            // A reply that waits as a whole: the handler has ended, the queue goes.
            let stream = peer.request(UNARY, &[("script", "many 1 1000")], &message(b""), true).await;
            settle().await;
            peer.reset(stream, code).await;
            // A stream that is over already: ignored (RFC 9113 5.1).
            let stream = peer.request(UNARY, &[], &message(b""), true).await;
            assert_eq!(peer.reply(stream).await.code(), code::OK);
            peer.reset(stream, code).await;
            peer.give_window(stream, 1).await;
            is_alive_given_window(&mut peer).await;
        }
        served.finish([peer]).await;
    });
}

// wire-rules 73, 84: what a window lets through decides how a deadline ends the call.
#[test]
fn a_deadline_ends_by_trailers_unless_a_message_is_partly_sent() {
    in_each_mode(async |stage: Stage| {
        // A reply of 105 octets, two of them in a stream.
        for window in [0, 1, 4, 5, 104, 105, 106, 209, 210] {
            let served = stage.serve();
            let mut peer = served.peer_with(PeerConfig::with_stream_window(window)).await;
            for path in [SERVER_STREAM, BIDI] {
                for half_closed in [true, false] {
                    if path == SERVER_STREAM && !half_closed {
                        continue;
                    }
                    let fields = [("grpc-timeout", "50m"), ("script", "many 2 100; never")];
                    let stream = peer.request(path, &fields, &message(b""), half_closed).await;
                    let reply = peer.reply(stream).await;
                    let case = format!("{path} window {window} half-closed {half_closed}: {reply:?}");
                    assert_eq!(reply.messages.len(), window as usize / 105, "{case}");
                    if window % 105 == 0 {
                        assert_eq!(reply.code(), code::DEADLINE_EXCEEDED, "{case}");
                        if half_closed {
                            assert_eq!(peer.drain().await, [], "{case}");
                        } else {
                            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR, "{case}");
                        }
                    } else {
                        assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::CANCEL)), "{case}");
                    }
                }
            }
            is_alive_given_window(&mut peer).await;
            served.finish([peer]).await;
        }
    });
}

// wire-rules 83
#[test]
fn a_window_update_that_is_none_ends_its_stream_only() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(10)).await;
        // Handlers that wait, and a reply that waits for window.
        for script in ["never", "many 1 1000"] {
            let cases: [(&[u8], ErrorCode); 3] = [
                (&[0, 0, 0, 0], ErrorCode::PROTOCOL_ERROR),
                // The reserved bit counts for nothing (RFC 9113 6.9).
                (&[0x80, 0, 0, 0], ErrorCode::PROTOCOL_ERROR),
                (&[0x7f, 0xff, 0xff, 0xff], ErrorCode::FLOW_CONTROL_ERROR),
            ];
            for (payload, code) in cases {
                let stream = peer.request(SERVER_STREAM, &[("script", script)], &message(b""), true).await;
                settle().await;
                peer.send_bytes(&raw_frame(8, 0, stream, payload)).await;
                let reply = peer.reply(stream).await;
                if script != "never" && code == ErrorCode::FLOW_CONTROL_ERROR {
                    // The window was used up, so the largest increment is one.
                    assert_eq!(reply.code(), code::OK, "{script}");
                } else {
                    assert_eq!(reply.ending, Some(Ending::Reset(code)), "{script} {payload:?}");
                }
                settle().await;
                assert_eq!(stage.counts().running(), 0);
                is_alive_given_window(&mut peer).await;
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 83, 84: initial windows that change under replies that wait, below zero and back.
#[test]
fn replies_follow_the_clients_initial_window() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(60)).await;
        let script = [("script", "many 3 100")];
        let mut streams = Vec::new();
        for path in [UNARY, SERVER_STREAM] {
            streams.push(peer.request(path, &script, &message(b""), true).await);
        }
        settle().await;
        // 60 are sent; now 10 are allowed: -50. 50 more: 0. Nothing moves until there is one octet of room.
        peer.settings(&[Setting::InitialWindowSize(10)]).await;
        for stream in &streams {
            peer.give_window(*stream, 50).await;
        }
        peer.read_all().await;
        for stream in &streams {
            let mut got = 0;
            while got < 60 {
                match peer.frame_of(*stream).await {
                    Some(Received::Data { data, .. }) => got += data.len(),
                    Some(Received::Headers { .. }) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(got, 60);
        }
        assert_eq!(peer.drain().await, []);
        peer.settings(&[Setting::InitialWindowSize(11)]).await;
        peer.read_all().await;
        let frames = peer.drain().await;
        assert_eq!(frames.len(), 2, "one octet each: {frames:?}");
        assert!(frames.iter().all(|frame| matches!(frame, Received::Data { data, .. } if data.len() == 1)));
        peer.settings(&[Setting::InitialWindowSize(1_000)]).await;
        for stream in streams {
            assert_eq!(rest_of(&mut peer, stream).await.as_deref(), Some("0"));
        }
        is_alive_given_window(&mut peer).await;
        served.finish([peer]).await;
    });
}

/// The status of a reply whose beginning was read already.
async fn rest_of(peer: &mut Peer, stream: StreamId) -> Option<String> {
    loop {
        match peer.frame_of(stream).await {
            Some(Received::Data { end_stream: false, .. }) => {}
            Some(Received::Headers { fields, end_stream: true, .. }) => {
                let (_, code) = fields.iter().find(|(name, _)| name == "grpc-status")?;
                return String::from_utf8(code.to_vec()).ok();
            }
            other => panic!("{other:?}"),
        }
    }
}

// wire-rules 83: more than our windows let, on a stream that is read and on one that is not.
#[test]
fn a_client_that_sends_past_a_window_loses_its_stream() {
    in_each_mode(async |stage: Stage| {
        let server = stage.server().initial_stream_window(1_000).adaptive_windows(None);
        let served = serve(server);
        let mut peer = served.peer().await;
        for (path, script) in [(UNARY, "echo"), (CLIENT_STREAM, "never"), (BIDI, "never")] {
            let stream = peer.request(path, &[("script", script)], &message(&[0; 1_000]), false).await;
            let reply = peer.reply(stream).await;
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::FLOW_CONTROL_ERROR)), "{path}");
            is_alive(&mut peer).await;
        }
        settle().await;
        assert_eq!(stage.counts().running(), 0);
        served.finish([peer]).await;
    });
}

// wire-rules 63, 85, bug-reports 16: early answers of each shape while the client goes on, with padding, past our windows.
#[test]
fn an_early_answer_stops_an_upload_and_gives_all_of_it_back() {
    in_each_mode(async |stage: Stage| {
        // Ten times as much comes late as the connection's window holds.
        let served = serve(stage.server().initial_connection_window(65_535).adaptive_windows(None));
        let mut peer = served.peer().await;
        for script in ["refuse 5 no", "fail 5 no", "panic secret", "leave; send done"] {
            for path in [CLIENT_STREAM, BIDI] {
                let stream = peer.request(path, &[("script", script)], &message(&[1; 100]), false).await;
                let reply = peer.reply(stream).await;
                let expected = match script {
                    "panic secret" => code::UNKNOWN,
                    "leave; send done" => code::OK,
                    _ => code::NOT_FOUND,
                };
                let (code, text) = reply.status();
                assert_eq!(code, expected, "{script} {path}");
                assert!(!text.contains("secret"));
                assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR, "{script} {path}");
                // What was on its way when the reset was sent.
                for _ in 0..40 {
                    peer.data(stream, &[1; 1_000], false).await;
                    let mut padded = vec![255_u8];
                    padded.extend([2; 10]);
                    padded.extend([0; 255]);
                    peer.send_bytes(&raw_frame(0, 8, stream, &padded)).await;
                }
                peer.data(stream, b"", true).await;
                is_alive(&mut peer).await;
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 82: a place is free as soon as the call is over for its client, however it ended.
#[test]
fn a_place_is_free_after_every_kind_of_end() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_concurrent_streams(1));
        let mut peer = served.peer().await;
        for round in 0..20 {
            // An early answer while the client still sends: the reset behind it ends the stream.
            let stream =
                peer.request(CLIENT_STREAM, &[("script", "refuse 5 no")], &message(b"x"), false).await;
            assert_eq!(peer.reply(stream).await.code(), code::NOT_FOUND, "{round}");
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
            is_alive(&mut peer).await;
            // A refusal before any handler.
            let stream = peer.request("/test.Test/Nothing", &[], &message(b"x"), false).await;
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), code::UNIMPLEMENTED);
            is_alive(&mut peer).await;
            // A deadline.
            let fields = [("grpc-timeout", "5m"), NEVER];
            let stream = peer.request(UNARY, &fields, &message(b"x"), true).await;
            assert_eq!(peer.reply(stream).await.code(), code::DEADLINE_EXCEEDED);
            is_alive(&mut peer).await;
            // A cancellation.
            let stream = peer.request(UNARY, &[NEVER], &message(b"x"), true).await;
            settle().await;
            peer.reset(stream, ErrorCode::CANCEL).await;
            settle().await;
            is_alive(&mut peer).await;
            // A malformed head.
            let stream = peer.request(UNARY, &[("connection", "close")], &message(b"x"), true).await;
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::PROTOCOL_ERROR);
            is_alive(&mut peer).await;
        }
        served.finish([peer]).await;
    });
}

// wire-rules 79: what a server sends between PINGs forgives them, what a client sends does not.
#[test]
fn pings_between_messages_of_the_server_are_never_too_many() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let script = "many 1 1; sleep 10; ".repeat(50) + "send done";
        let fields = [("script", script.as_str())];
        let stream = peer.request(SERVER_STREAM, &fields, &message(b""), true).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        for _ in 0..50 {
            peer.ping([1; 8]).await;
            peer.ping([2; 8]).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(peer.reply(stream).await.messages.len(), 51);
        // The handler says nothing; the client's own messages are no excuse.
        let stream = peer.request(CLIENT_STREAM, &[], b"", false).await;
        for _ in 0..4 {
            peer.data(stream, &message(b"x"), false).await;
            peer.ping([3; 8]).await;
            settle().await;
        }
        let (_, code, text) = peer.expect_go_away().await;
        assert_eq!((code, text.as_str()), (ErrorCode::ENHANCE_YOUR_CALM, "too_many_pings"));
        peer.expect_closed().await;
        settle().await;
        assert_eq!(stage.counts().running(), 0);
        served.finish([peer]).await;
    });
}

// wire-rules 79, bug-reports 62: answers to the server's own PINGs, asked for or not, are no PINGs.
#[test]
fn ping_answers_that_nobody_asked_for_are_no_strikes() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for _ in 0..20 {
            peer.send_bytes(&raw_frame(6, 1, StreamId::CONNECTION, &[9; 8])).await;
            settle().await;
        }
        is_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}
