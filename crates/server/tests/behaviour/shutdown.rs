//! The end of a server (wire-rules 77), and of connections that are no use.

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_testkit::peer::{PREFACE, PeerConfig, Received, message};
use peregrine_testkit::service::{BIDI, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, serve, settle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::{Stage, code, in_each_mode};

const NO_STREAM_YET: u32 = 0x7fff_ffff;

// wire-rules 76, 77
#[test]
fn calls_under_way_finish_behind_a_two_step_goaway() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        let before = peer.request(UNARY, &[("script", "gate; echo")], &message(b"before"), true).await;
        let stream = peer.request(BIDI, &[], &message(b"one"), false).await;
        assert_eq!(peer.messages(stream, 1).await.texts(), ["one"]);

        let stopping = served.begin_stop();
        let (last, code, _) = peer.expect_go_away().await;
        assert_eq!((last.value(), code), (NO_STREAM_YET, ErrorCode::NO_ERROR));
        let payload = loop {
            match peer.frame().await {
                Some(Received::Ping { ack: false, payload }) => break payload,
                Some(Received::WindowUpdate { .. }) => {}
                other => panic!("a PING follows the first GOAWAY, not {other:?}"),
            }
        };
        // What the client sent before it knew is served.
        let between = peer.call(UNARY, &[], b"between").await;
        assert_eq!(between.texts(), ["between"]);
        let newest = stream.value() + 2;
        peer.send(&[peregrine_http2::frame::Frame::Ping(peregrine_http2::frame::Ping {
            ack: true,
            payload,
        })])
        .await;
        let (last, code, _) = peer.expect_go_away().await;
        assert_eq!((last.value(), code), (newest, ErrorCode::NO_ERROR));

        // What it sends afterwards is not, and does no harm.
        let after = peer.request(UNARY, &[], &message(b"after"), true).await;
        stage.journal.open_gate(1);
        assert_eq!(peer.reply(before).await.texts(), ["before"]);
        peer.data(stream, &message(b"two"), true).await;
        let Some(Received::Data { data, .. }) = peer.frame_of(stream).await else { panic!("no answer") };
        assert_eq!(data, message(b"two"));
        peer.expect_closed().await;
        assert!(!matches!(peer.frame_of(after).await, Some(Received::Headers { .. })));
        assert_eq!(stage.counts().started, 3);

        drop(peer);
        let report = stopping.await.unwrap();
        assert_eq!((report.connections, report.cut_connections, report.cut_calls), (1, 0, 0));
        assert!(report.is_clean());
    });
}

// wire-rules 77: a client that does not answer the PING does not hold the second GOAWAY up for ever.
#[test]
fn the_second_goaway_does_not_wait_for_ever() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        peer.request(UNARY, &[("script", "sleep 10000")], &message(b""), true).await;
        settle().await;
        let begun = Instant::now();
        let stopping = served.begin_stop();
        assert_eq!(peer.expect_go_away().await.0.value(), NO_STREAM_YET);
        assert_eq!(peer.expect_go_away().await.0.value(), 1);
        assert!(begun.elapsed() <= Duration::from_millis(5_100), "{:?}", begun.elapsed());
        peer.expect_closed().await;
        drop(peer);
        assert!(stopping.await.unwrap().is_clean());
    });
}

#[test]
fn idle_connections_close_at_once() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peers = [served.peer().await, served.peer().await, served.peer().await];
        assert_eq!(peers[0].call(UNARY, &[], b"x").await.code(), code::OK);
        let begun = Instant::now();
        let stopping = served.begin_stop();
        for peer in &mut peers {
            peer.expect_go_away().await;
            peer.expect_closed().await;
        }
        drop(peers);
        let report = stopping.await.unwrap();
        assert_eq!((report.connections, report.cut_connections), (3, 0));
        assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    });
}

// wire-rules 77
#[test]
fn what_outlasts_the_grace_period_is_cut_and_counted() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().shutdown_grace(Duration::from_secs(5)));
        let mut peer = served.peer().await;
        let mut idle = served.peer().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        peer.request(SERVER_STREAM, &[("script", "send one; never")], &message(b""), true).await;
        peer.request(BIDI, &[], b"", false).await;
        let finishing =
            peer.request(UNARY, &[("script", "sleep 4000; echo")], &message(b"in time"), true).await;
        stage.journal.until(|counts| counts.started == 4).await;
        let begun = Instant::now();
        let stopping = served.begin_stop();
        idle.expect_closed().await;
        drop(idle);
        assert_eq!(peer.reply(finishing).await.texts(), ["in time"]);
        peer.expect_closed().await;
        let report = stopping.await.unwrap();
        assert_eq!((report.connections, report.cut_connections, report.cut_calls), (2, 1, 3), "{report}");
        assert!(!report.is_clean());
        let grace = Duration::from_secs(5)..=Duration::from_millis(5_100);
        assert!(grace.contains(&begun.elapsed()) && grace.contains(&report.elapsed), "{report}");
        let counts = stage.journal.until(|counts| counts.cancelled == 3).await;
        assert_eq!(counts.ended, 1);
    });
}

#[test]
fn a_reply_that_waits_for_its_window_is_cut_and_one_that_left_is_not() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        let mut sent = Vec::new();
        for timeout in ["", "1H"] {
            let fields: &[_] = &[("grpc-timeout", timeout)][usize::from(timeout.is_empty())..];
            for _ in 0..2 {
                sent.push(peer.request(UNARY, fields, &message(b"hello"), true).await);
            }
        }
        settle().await;
        for stream in [sent[0], sent[2]] {
            peer.give_window(stream, 100).await;
            assert_eq!(peer.reply(stream).await.texts(), ["hello"]);
        }
        let report = served.stop().await;
        assert_eq!((report.cut_connections, report.cut_calls), (1, 2), "{report}");
        drop(peer);
    });
}

#[test]
fn a_server_that_is_dropped_drops_its_connections_and_calls() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        served.abort();
        stage.journal.until(|counts| counts.cancelled == 1).await;
        peer.expect_closed().await;
    });
}

// bug-reports 60
#[test]
fn bug_60_a_connection_that_never_spoke_does_not_hold_the_shutdown_up() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let silent = served.connect();
        let mut half = Peer::new(served.connect(), PeerConfig::default());
        half.send_bytes(&PREFACE[..10]).await;
        // The preface and nothing behind it; a header block that never ends; SETTINGS without a last octet.
        let mut bare = Peer::new(served.connect(), PeerConfig::default());
        bare.send_bytes(PREFACE).await;
        let mut cut = Peer::new(served.connect(), PeerConfig::default());
        cut.send_bytes(&[PREFACE, &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0]].concat()).await;
        let mut endless = served.peer().await;
        endless.send_bytes(&[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]).await;
        settle().await;
        let begun = Instant::now();
        let report = served.stop().await;
        assert!(report.is_clean(), "{report}");
        assert!(begun.elapsed() <= Duration::from_secs(11), "{:?}", begun.elapsed());
        drop((silent, half, bare, cut, endless));
    });
}

// http2-abuse 42
#[test]
fn a_connection_that_never_speaks_is_closed_in_time() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().handshake_timeout(Duration::from_secs(3)));
        let mut silent = served.connect();
        let begun = Instant::now();
        let mut said = Vec::new();
        silent.read_to_end(&mut said).await.unwrap();
        let elapsed = begun.elapsed();
        assert!((3..=4).contains(&elapsed.as_secs()), "closed after {elapsed:?}");
        drop(silent);
        served.finish([]).await;
    });
}

// http2-abuse 45
#[test]
fn a_client_that_does_not_speak_http2_is_closed_at_once() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let begun = Instant::now();
        // An upgrade to h2c is refused like any request, and what follows it is not looked at.
        for first in
            ["GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nupgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\n"]
        {
            let mut client = served.connect();
            client.write_all(first.as_bytes()).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("HTTP/2"), "{answer}");
        }
        let mut peer = Peer::new(served.connect(), PeerConfig::default());
        peer.send_bytes(b"\x16\x03\x01\x02\0\x01\0\x01").await;
        assert_eq!(peer.expect_go_away().await.1, ErrorCode::PROTOCOL_ERROR);
        peer.expect_closed().await;
        for first in [&b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"[..], b"\0\0\0\0"] {
            let mut peer = Peer::new(served.connect(), PeerConfig::default());
            peer.send_bytes(first).await;
            assert_eq!(peer.expect_go_away().await.1, ErrorCode::PROTOCOL_ERROR);
            peer.expect_closed().await;
        }
        assert!(begun.elapsed().is_zero());
        served.finish([]).await;
    });
}

// bug-reports 58, 66: nothing that a client does, or leaves, makes a shutdown longer than its grace.
#[test]
fn bug_58_66_no_client_holds_a_shutdown_up_beyond_the_grace() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().shutdown_grace(Duration::from_secs(5)));
        // One that reads nothing while a large reply waits, one that answers no PING, one in the middle of a request,
        // one in the middle of a frame, one that sends on and on, and one that has closed its side alone.
        let mut deaf = served.peer().await;
        deaf.io().set_capacity(0);
        deaf.request(UNARY, &[("script", "many 1 1000000")], &message(b""), true).await;
        let mute = served.peer_with(PeerConfig { answer_pings: false, ..PeerConfig::default() }).await;
        let mut slow = served.peer().await;
        slow.request(UNARY, &[], &message(b"never whole")[..7], false).await;
        let mut torn = served.peer().await;
        torn.send_bytes(&[0, 0, 8, 6]).await;
        let mut eager = served.peer().await;
        let stream = eager.request(BIDI, &[], b"", false).await;
        let mut half = served.peer().await;
        half.request(UNARY, &[("script", "never")], &message(b""), true).await;
        half.half_close().await;
        settle().await;
        let begun = Instant::now();
        let stopping = served.begin_stop();
        while !stopping.is_finished() {
            if eager.try_send_bytes(&[0; 9]).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            eager.read_all().await;
        }
        let report = stopping.await.unwrap();
        assert!(begun.elapsed() <= Duration::from_millis(6_200), "{:?}: {report}", begun.elapsed());
        assert!(report.cut_connections <= report.connections && report.cut_calls >= 2, "{report}");
        drop((deaf, mute, slow, torn, eager, half, stream));
    });
}
