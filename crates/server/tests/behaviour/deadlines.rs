//! Deadlines in every phase of a call, in virtual time (wire-rules 73 as settled).

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_testkit::peer::{Ending, PeerConfig, Received, message};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::settle;
use tokio::time::Instant;

use crate::{Stage, code, in_each_mode};

/// The timeout of these calls.
const TIMEOUT: (&str, &str) = ("grpc-timeout", "100m");

/// Asserts that the timeout has just passed; the clock of the runtime counts in milliseconds.
fn assert_just_due(begun: Instant) {
    let elapsed = begun.elapsed();
    let due = Duration::from_millis(100)..=Duration::from_millis(102);
    assert!(due.contains(&elapsed), "answered after {elapsed:?}");
}

// wire-rules 73, bug-reports 40
#[test]
fn a_deadline_passes_while_the_request_is_received() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM] {
            for body in [&b""[..], &message(b"hello")[..7], &message(b"hello")] {
                let begun = Instant::now();
                let stream = peer.request(path, &[TIMEOUT], body, false).await;
                let reply = peer.reply(stream).await;
                assert_just_due(begun);
                assert_eq!(reply.code(), code::DEADLINE_EXCEEDED);
                assert!(reply.is_trailers_only());
                assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
                // The rest of the body is on its way already.
                peer.data(stream, b"late", true).await;
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 73
#[test]
fn a_deadline_passes_while_the_handler_waits() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (done, (path, script)) in
            [(UNARY, "never"), (CLIENT_STREAM, "never"), (UNARY, "sleep 5000")].into_iter().enumerate()
        {
            let begun = Instant::now();
            let reply = peer.call(path, &[TIMEOUT, ("script", script)], b"").await;
            assert_just_due(begun);
            assert_eq!(reply.code(), code::DEADLINE_EXCEEDED, "{path}");
            assert!(reply.is_trailers_only());
            // The handler is dropped, not left to finish (bug-reports 36).
            let counts = stage.journal.until(|counts| counts.cancelled == done + 1).await;
            assert_eq!(counts.ended, 0);
        }
        assert_eq!(peer.drain().await, [], "the client had ended its side: no RST_STREAM");
        served.finish([peer]).await;
    });
}

// wire-rules 73, 63
#[test]
fn a_deadline_passes_while_the_handler_waits_for_requests() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [CLIENT_STREAM, BIDI] {
            let begun = Instant::now();
            let stream = peer.request(path, &[TIMEOUT], &message(b"one"), false).await;
            let reply = peer.reply(stream).await;
            assert_just_due(begun);
            assert_eq!(reply.code(), code::DEADLINE_EXCEEDED, "{path}");
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
        }
        stage.journal.until(|counts| counts.cancelled == 2).await;
        served.finish([peer]).await;
    });
}

// wire-rules 73
#[test]
fn a_deadline_passes_in_the_middle_of_a_response_stream() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let begun = Instant::now();
            let script = ("script", "send one; sleep 50; send two; never");
            let reply = peer.call(path, &[TIMEOUT, script], b"").await;
            assert_just_due(begun);
            assert_eq!((reply.code(), reply.texts()), (code::DEADLINE_EXCEEDED, vec!["one", "two"]));
            assert!(reply.trailers.is_some(), "{path}: the status comes in trailers behind the head");
        }
        stage.journal.until(|counts| counts.cancelled == 2).await;
        served.finish([peer]).await;
    });
}

// wire-rules 73: the queue is dropped, and trailers need no window.
#[test]
fn a_deadline_passes_while_nothing_may_be_sent() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        // The handlers of the first two have ended: what waits is the reply (or its rest), behind the window.
        for (path, script) in
            [(UNARY, "echo"), (SERVER_STREAM, "many 3 100"), (SERVER_STREAM, "many 100000 1000")]
        {
            let begun = Instant::now();
            let reply = peer.call(path, &[TIMEOUT, ("script", script)], b"hello").await;
            assert_just_due(begun);
            assert_eq!((reply.code(), reply.messages.len()), (code::DEADLINE_EXCEEDED, 0), "{script}");
            assert_eq!(reply.rest.len(), 0);
        }
        let stream = peer.request(BIDI, &[TIMEOUT], &message(b"hello"), false).await;
        assert_eq!(peer.reply(stream).await.code(), code::DEADLINE_EXCEEDED);
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
        // The connection's own window was not eaten by what was dropped.
        let stream = peer.request(UNARY, &[], &message(&[b'x'; 10_000]), true).await;
        peer.give_window(stream, 20_000).await;
        assert_eq!(peer.reply(stream).await.code(), code::OK);
        served.finish([peer]).await;
    });
}

// wire-rules 73
#[test]
fn a_deadline_in_the_middle_of_a_message_resets_the_stream() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(100)).await;
        for (path, script) in
            [(UNARY, "many 1 1000"), (SERVER_STREAM, "many 1 1000"), (SERVER_STREAM, "many 100000 1000")]
        {
            let begun = Instant::now();
            let reply = peer.call(path, &[TIMEOUT, ("script", script)], b"").await;
            assert_just_due(begun);
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::CANCEL)), "{path} {script}");
            assert_eq!(reply.rest.len(), 100);
        }
        settle().await;
        let counts = stage.counts();
        assert_eq!(counts.ended + counts.cancelled, 3, "{counts:?}");
        served.finish([peer]).await;
    });
}

#[test]
fn a_call_that_ends_in_time_hears_nothing_of_its_deadline() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let fields = [TIMEOUT, ("script", "sleep 99; echo")];
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let reply = peer.call(path, &fields, b"hello").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{path}");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(peer.drain().await, []);
        assert_eq!(stage.counts().cancelled, 0);
        served.finish([peer]).await;
    });
}

#[test]
fn the_deadline_of_one_call_leaves_the_others_alone() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let slow = peer.request(UNARY, &[("script", "sleep 300; send slow")], &message(b""), true).await;
        let mut streams = Vec::new();
        for millis in [250, 50, 150] {
            let timeout = format!("{millis}m");
            let fields = [("grpc-timeout", &*timeout), ("script", "never")];
            streams.push((millis, peer.request(UNARY, &fields, &message(b""), true).await));
        }
        streams.sort_unstable();
        for (_, stream) in streams {
            // In the order of their deadlines, not of their making.
            let next = peer.frame().await.unwrap();
            assert_eq!(next.stream(), Some(stream));
            assert!(matches!(next, Received::Headers { end_stream: true, .. }));
        }
        assert_eq!(peer.reply(slow).await.texts(), ["slow"]);
        served.finish([peer]).await;
    });
}

// wire-rules 16, 73: stale deadlines of calls that ended in time are forgotten, however many there are.
#[test]
fn ten_thousand_calls_with_deadlines_leave_nothing_behind() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for _ in 0..1_000 {
            let mut streams = Vec::new();
            for _ in 0..10 {
                streams.push(peer.request(UNARY, &[("grpc-timeout", "1H")], &message(b"x"), true).await);
            }
            for stream in streams {
                assert_eq!(peer.reply(stream).await.code(), code::OK);
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 16, bug-reports 36: the shortest times there are end as any other, in every shape, whole or not.
#[test]
fn bug_36_a_nanosecond_is_a_deadline_as_any_other() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for timeout in ["1n", "00000001n", "999u", "1m"] {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                for end_stream in [true, false] {
                    let fields = [("grpc-timeout", timeout), ("script", "sleep 1000; echo")];
                    let stream = peer.request(path, &fields, &message(b"x"), end_stream).await;
                    let reply = peer.reply(stream).await;
                    assert_eq!(
                        reply.code(),
                        code::DEADLINE_EXCEEDED,
                        "{timeout} {path} {end_stream}: {reply:?}"
                    );
                    assert_eq!(reply.messages.len(), 0);
                }
            }
        }
        served.finish([peer]).await;
    });
}

// bug-reports 40: octets that keep coming do not put the deadline off.
#[test]
fn bug_40_a_request_that_trickles_ends_at_its_deadline() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let begun = Instant::now();
            let stream = peer.request(path, &[TIMEOUT], b"", false).await;
            for octet in message(&[b'x'; 15]) {
                peer.data(stream, &[octet], false).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                if begun.elapsed() >= Duration::from_millis(110) {
                    break;
                }
            }
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::DEADLINE_EXCEEDED, 0), "{path}");
            assert!(begun.elapsed() < Duration::from_millis(120), "{path}: {:?}", begun.elapsed());
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
        }
        served.finish([peer]).await;
    });
}
