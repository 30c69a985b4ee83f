//! Peers that ask for more than they read, or send less than they announce.

use std::time::Duration;

use peregrine_http2::{ErrorCode, StreamId};
use peregrine_server::Execution;
use peregrine_testkit::peer::{PeerConfig, message};
use peregrine_testkit::service::{CLIENT_STREAM, UNARY};
use peregrine_testkit::{Peer, Recorder, serve, settle};
use tokio::time::{Instant, sleep};

use crate::{Stage, code, in_each_mode};

/// A reply of so many bytes; with what the output holds, some five of them are more than may wait.
const LARGE: &str = "many 1 50000";
const MAY_WAIT: usize = 100_000;

/// Makes calls one by one, and lets the server do with each what it can.
async fn ask(peer: &mut Peer, count: usize) -> Vec<StreamId> {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(peer.request(UNARY, &[("script", LARGE)], &message(b""), true).await);
        settle().await;
    }
    streams
}

// http2-abuse 16
#[test]
fn a_client_that_asks_and_does_not_read_gets_few_replies_made() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().max_queued_replies(MAY_WAIT).observe(recorder.clone()));
        let mut peer = served.peer().await;
        peer.io().set_capacity(1_000);
        recorder.take();
        let mut streams = ask(&mut peer, 50).await;
        let first = peer.request(CLIENT_STREAM, &[("script", LARGE)], &message(b""), true).await;
        settle().await;
        streams.push(first);
        // The output holds 256 KiB before anything waits.
        let started = stage.counts().started;
        assert!((5..=10).contains(&started), "{started} of 51 began");
        assert_eq!(recorder.take(), vec!["limit queued_replies x1"; 51 - started]);
        // Once it reads, all are answered; in order, as they came.
        peer.io().set_capacity(256 * 1024);
        for stream in streams {
            assert_eq!(peer.reply(stream).await.messages[0].len(), 50_000);
        }
        assert_eq!(stage.counts().ended, 51);
        served.finish([peer]).await;
    });
}

// http2-abuse 16: the same by the connection's window.
#[test]
fn a_client_that_gives_no_window_gets_few_replies_made() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_queued_replies(MAY_WAIT));
        let config = PeerConfig { connection_window: 0, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        let streams = ask(&mut peer, 20).await;
        let started = stage.counts().started;
        assert!((2..=6).contains(&started), "{started} of 20 began");
        for _ in &streams {
            peer.give_window(StreamId::CONNECTION, 51_000).await;
            peer.read_all().await;
        }
        for stream in streams {
            assert_eq!(peer.reply(stream).await.messages[0].len(), 50_000);
        }
        served.finish([peer]).await;
    });
}

// wire-rules 84: a reply that waits for its own reader holds nobody up.
#[test]
fn a_stalled_stream_does_not_put_calls_off() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().max_queued_replies(MAY_WAIT).observe(recorder.clone()));
        let mut peer = served.peer_with(PeerConfig::with_stream_window(1_000)).await;
        recorder.take();
        let streams = ask(&mut peer, 20).await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        assert_eq!(recorder.take(), [""; 0]);
        for stream in streams {
            peer.give_window(stream, 50_000).await;
            assert_eq!(peer.reply(stream).await.messages[0].len(), 50_000);
        }
        served.finish([peer]).await;
    });
}

#[test]
fn a_call_that_was_put_off_can_be_cancelled_and_has_its_deadline() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_queued_replies(MAY_WAIT));
        let mut peer = served.peer().await;
        peer.io().set_capacity(1_000);
        let streams = ask(&mut peer, 12).await;
        let started = stage.counts().started;
        let fields = [("grpc-timeout", "5S")];
        let late = peer.request(UNARY, &fields, &message(b""), true).await;
        let cancelled = peer.request(UNARY, &[], &message(b""), true).await;
        settle().await;
        peer.reset(cancelled, ErrorCode::CANCEL).await;
        sleep(Duration::from_secs(6)).await;
        assert_eq!(stage.counts().started, started, "nothing began meanwhile");
        peer.io().set_capacity(256 * 1024);
        for stream in streams {
            assert_eq!(peer.reply(stream).await.messages[0].len(), 50_000);
        }
        assert_eq!(peer.reply(late).await.code(), code::DEADLINE_EXCEEDED);
        assert_eq!(stage.counts().started, 12);
        served.finish([peer]).await;
    });
}

// http2-abuse 39
#[test]
fn a_request_that_trickles_in_ends() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().receive_timeout(Duration::from_secs(40)).observe(recorder.clone()));
        let mut peer = served.peer().await;
        recorder.take();
        let begun = Instant::now();
        let silent = peer.request(UNARY, &[], b"", false).await;
        let trickling = peer.request(UNARY, &[], &message(&[b'x'; 100])[..5], false).await;
        let slow = peer.request(UNARY, &[], &message(&[b'x'; 30])[..5], false).await;
        for _ in 0..30 {
            sleep(Duration::from_secs(1)).await;
            peer.data(trickling, b"x", false).await;
            peer.data(slow, b"x", false).await;
        }
        // In time, though slow.
        peer.data(slow, b"", true).await;
        assert_eq!(peer.reply(slow).await.messages[0].len(), 30);
        for stream in [silent, trickling] {
            let (status, text) = peer.reply(stream).await.status();
            assert_eq!((status, text.contains("40s")), (code::DEADLINE_EXCEEDED, true), "{text}");
            let elapsed = begun.elapsed();
            assert!((40..=50).contains(&elapsed.as_secs()), "{elapsed:?}");
        }
        assert_eq!(recorder.take(), ["limit slow_request x1"; 2]);
        assert_eq!(stage.counts().started, 1);
        served.finish([peer]).await;
    });
}

// http2-abuse 39: the same from a client that does not even speak gRPC.
#[test]
fn a_request_that_is_no_grpc_and_has_no_end_is_answered_all_the_same() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().receive_timeout(Duration::from_secs(40)).observe(recorder.clone()));
        let mut peer = served.peer().await;
        recorder.take();
        let begun = Instant::now();
        let stream = peer.open();
        let head =
            [(":method", "POST"), (":scheme", "http"), (":path", "/x"), ("content-type", "text/plain")];
        peer.headers(stream, &head, false).await;
        for _ in 0..39 {
            sleep(Duration::from_secs(1)).await;
            peer.data(stream, b"x", false).await;
        }
        assert_eq!(recorder.take(), [""; 0], "it has its time");
        assert_eq!(peer.reply(stream).await.http_status(), 415);
        assert!((40..=50).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        assert_eq!(recorder.take(), ["limit slow_request x1"]);
        served.finish([peer]).await;
    });
}

// A quiet connection does not wake up for requests that are not there.
#[test]
fn nothing_is_looked_for_once_every_request_is_whole() {
    let stage = Stage::new(Execution::Inline);
    peregrine_testkit::virtual_time(async {
        let served = serve(stage.server().receive_timeout(Duration::from_secs(40)));
        let mut peer = served.peer().await;
        for _ in 0..3 {
            assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
            sleep(Duration::from_secs(100)).await;
        }
        served.finish([peer]).await;
    });
}
