//! Calls that the peer gives up: by RST_STREAM, by going away, by hanging up.

use peregrine_http2::ErrorCode;
use peregrine_testkit::peer::{PeerConfig, message};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::settle;

use crate::{Stage, code, in_each_mode};

/// Calls that are under way in every possible way, with the path, the script, the body, and whether it ends.
fn calls_under_way() -> Vec<(&'static str, &'static str, Vec<u8>, bool)> {
    vec![
        (UNARY, "never", message(b"hello"), true),
        (UNARY, "sleep 100000", message(b"hello"), true),
        (SERVER_STREAM, "never", message(b"hello"), true),
        (SERVER_STREAM, "send one; never", message(b"hello"), true),
        // Blocked by the window that the test gives.
        (SERVER_STREAM, "many 100000 1000", message(b"hello"), true),
        (CLIENT_STREAM, "count", message(b"hello"), false),
        (CLIENT_STREAM, "count", message(b"hello")[..7].to_vec(), false),
        (CLIENT_STREAM, "never", message(b"hello"), true),
        (BIDI, "echo-all", message(b"hello"), false),
        (BIDI, "echo-all", vec![], false),
        (BIDI, "many 100000 1000", message(b"hello"), false),
    ]
}

fn small_window() -> PeerConfig {
    PeerConfig::with_stream_window(5_000)
}

// wire-rules 68, 74
#[test]
fn a_reset_cancels_the_handler_and_says_nothing_more() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(small_window()).await;
        for code in [ErrorCode::CANCEL, ErrorCode::NO_ERROR, ErrorCode::PROTOCOL_ERROR] {
            for (path, script, body, end) in calls_under_way() {
                let before = stage.counts();
                let stream = peer.request(path, &[("script", script)], &body, end).await;
                stage.journal.until(|counts| counts.started == before.started + 1).await;
                settle().await;
                peer.drain().await;
                peer.reset(stream, code).await;
                let counts = stage.journal.until(|counts| counts.cancelled == before.cancelled + 1).await;
                assert_eq!(counts.ended, before.ended, "{path} {script}");
                assert_eq!(peer.drain().await, [], "{path} {script}");
            }
        }
        assert_eq!(peer.call(UNARY, &[], b"on").await.texts(), ["on"]);
        served.finish([peer]).await;
    });
}

// wire-rules 74, M1
#[test]
fn a_reset_before_the_request_is_whole_starts_no_handler() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM] {
            for body in [&b""[..], &message(b"hello")[..7], &message(b"hello")] {
                let stream = peer.request(path, &[], body, false).await;
                settle().await;
                peer.reset(stream, ErrorCode::CANCEL).await;
                assert_eq!(peer.drain().await, [], "{path}");
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 1, wire-rules 87: the legitimate half. A thousand cancelled calls are no attack.
#[test]
fn calls_reset_right_behind_their_request_leave_nothing_behind() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for _ in 0..500 {
            let stream = peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
            peer.reset(stream, ErrorCode::CANCEL).await;
        }
        assert_eq!(peer.call(UNARY, &[], b"on").await.texts(), ["on"]);
        settle().await;
        let counts = stage.counts();
        // A spawned call may be cancelled before its first poll.
        assert_eq!((counts.started - 1, counts.ended), (counts.cancelled, 1), "{counts:?}");
        served.finish([peer]).await;
    });
}

/// Ways to lose a client.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Closed,
    Cut,
    HalfClosed,
}

// wire-rules 81
#[test]
fn a_client_that_hangs_up_cancels_its_calls_and_no_others() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut other = served.peer().await;
        let kept = other.request(UNARY, &[("script", "gate; echo")], &message(b"kept"), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        for loss in [Loss::Closed, Loss::Cut, Loss::HalfClosed] {
            let before = stage.counts();
            let mut peer = served.peer_with(small_window()).await;
            let calls = calls_under_way();
            for (path, script, body, end) in &calls {
                peer.request(path, &[("script", script)], body, *end).await;
            }
            // And one that never gets whole.
            peer.request(UNARY, &[], &message(b"hello")[..7], false).await;
            stage.journal.until(|counts| counts.started == before.started + calls.len()).await;
            settle().await;
            match loss {
                Loss::Closed => drop(peer),
                Loss::Cut => peer.io().cut(),
                Loss::HalfClosed => peer.half_close().await,
            }
            let counts =
                stage.journal.until(|counts| counts.cancelled == before.cancelled + calls.len()).await;
            assert_eq!(counts.ended, before.ended, "{loss:?}");
        }
        stage.journal.open_gate(1);
        assert_eq!(other.reply(kept).await.texts(), ["kept"]);
        served.finish([other]).await;
    });
}

// wire-rules 81: at once, not when the closing handshake with a client that does not answer has timed out.
#[test]
fn a_client_that_hangs_up_without_reading_cancels_its_calls_at_once() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.io().set_capacity(1_000);
        let script = [("script", "many 100000 1000")];
        peer.request(SERVER_STREAM, &script, &message(b""), true).await;
        settle().await;
        let begun = tokio::time::Instant::now();
        peer.half_close().await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        assert!(begun.elapsed().is_zero(), "cancelled after {:?}", begun.elapsed());
        served.finish([peer]).await;
    });
}

// bug-reports 51
#[test]
fn bug_51_a_client_that_says_goaway_still_gets_its_replies() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(UNARY, &[("script", "gate; echo")], &message(b"late"), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        peer.go_away(ErrorCode::NO_ERROR).await;
        settle().await;
        stage.journal.open_gate(1);
        let reply = peer.reply(stream).await;
        assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["late"]));
        served.finish([peer]).await;
    });
}

// wire-rules 74: also when the reply has been made and waits for the peer's window.
#[test]
fn a_reset_drops_a_reply_that_waits_for_its_window() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        for timeout in ["", "1H"] {
            let mut fields = vec![("script", "many 1 100000")];
            if !timeout.is_empty() {
                fields.push(("grpc-timeout", timeout));
            }
            let stream = peer.request(UNARY, &fields, &message(b""), true).await;
            settle().await;
            peer.drain().await;
            peer.reset(stream, ErrorCode::CANCEL).await;
            peer.give_window(peregrine_http2::StreamId::CONNECTION, 1).await;
            assert_eq!(peer.drain().await, []);
        }
        assert_eq!(stage.counts().ended, 2);
        served.finish([peer]).await;
    });
}

// bug-reports 51: a client that is leaving goes on with the calls it has, in both directions.
#[test]
fn bug_51_a_conversation_goes_on_behind_the_clients_goaways() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(BIDI, &[], &message(b"before"), false).await;
        let slow = peer.request(UNARY, &[("script", "sleep 5000; echo")], &message(b"slow"), true).await;
        for text in [&b"one"[..], b"two"] {
            peer.go_away(ErrorCode::NO_ERROR).await;
            settle().await;
            peer.data(stream, &message(text), false).await;
        }
        peer.go_away(ErrorCode::ENHANCE_YOUR_CALM).await;
        peer.data(stream, &message(b"last"), true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["before", "one", "two", "last"]);
        assert_eq!(peer.reply(slow).await.texts(), ["slow"]);
        served.finish([peer]).await;
    });
}
