//! How long the connections of a server live: keepalive, PING policing, idleness, age, stalls.

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_server::{Keepalive, PingPolicy};
use peregrine_testkit::peer::{PeerConfig, Received, message};
use peregrine_testkit::service::{BIDI, SERVER_STREAM, UNARY};
use peregrine_testkit::{Recorder, serve, settle};
use tokio::time::{Instant, sleep};

use crate::{Stage, code, in_each_mode};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

// wire-rules 78, bug-reports 63, 64
#[test]
fn bug_63_64_a_client_that_answers_no_keepalive_ping_is_closed_with_its_calls() {
    in_each_mode(async |stage: Stage| {
        let keepalive = Keepalive { interval: seconds(5), timeout: seconds(2), without_streams: true };
        let recorder = Recorder::default();
        let served = serve(stage.server().keepalive(keepalive).observe(recorder.clone()));
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        recorder.take();
        let begun = Instant::now();
        peer.expect_go_away().await;
        let elapsed = begun.elapsed();
        assert!((7..=8).contains(&elapsed.as_secs()), "{elapsed:?}");
        stage.journal.until(|counts| counts.cancelled == 1).await;
        let heard = recorder.take();
        assert_eq!(heard[0], "limit keepalive_timeout x1");
        assert!(heard[1].starts_with("1 closed, Local: keepalive"), "{heard:?}");
        peer.expect_closed().await;
        served.finish([peer]).await;
    });
}

// wire-rules 78, bug-reports 62: its answers are no strikes either.
#[test]
fn bug_62_a_client_that_answers_keepalive_pings_stays() {
    in_each_mode(async |stage: Stage| {
        let keepalive = Keepalive { interval: seconds(5), timeout: seconds(2), without_streams: true };
        let served = serve(stage.server().keepalive(keepalive));
        let mut peer = served.peer().await;
        for _ in 0..10 {
            loop {
                match peer.frame().await {
                    Some(Received::Ping { ack: false, .. }) => break,
                    Some(_) => {}
                    None => panic!("closed"),
                }
            }
        }
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}

// wire-rules 78: an interval and a timeout of nothing are raised, and do not end every connection.
#[test]
fn a_keepalive_of_nothing_gives_clients_time_to_answer() {
    in_each_mode(async |stage: Stage| {
        let none = Keepalive { interval: Duration::ZERO, timeout: Duration::ZERO, without_streams: true };
        let served = serve(stage.server().keepalive(none));
        let mut peer = served.peer().await;
        let begun = Instant::now();
        for _ in 0..3 {
            while !matches!(peer.frame().await.expect("still open"), Received::Ping { ack: false, .. }) {}
        }
        assert!((3..=4).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut silent = served.peer_with(config).await;
        let begun = Instant::now();
        silent.expect_go_away().await;
        assert!((2..=3).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        silent.expect_closed().await;
        served.finish([peer]).await;
    });
}

// RFC 9113 6.8: a client that has said goodbye opens nothing more, whether or not it closes.
#[test]
fn a_client_that_says_goaway_and_does_not_close_is_closed_once_its_calls_have_ended() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer().await;
        let stream = peer.request(UNARY, &[("script", "sleep 5000; echo")], &message(b"late"), true).await;
        peer.go_away(ErrorCode::NO_ERROR).await;
        assert_eq!(peer.reply(stream).await.texts(), ["late"]);
        assert_eq!(peer.expect_go_away().await.1, ErrorCode::NO_ERROR);
        peer.expect_closed().await;
        // Without a call, and without an answer to the PING between the two GOAWAYs.
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut idle = served.peer_with(config).await;
        idle.go_away(ErrorCode::NO_ERROR).await;
        idle.expect_closed().await;
        served.finish([]).await;
    });
}

// wire-rules 79
#[test]
fn pings_beyond_the_policy_close_the_connection() {
    in_each_mode(async |stage: Stage| {
        let policy = PingPolicy { min_interval: seconds(10), without_streams: true };
        let recorder = Recorder::default();
        let served = serve(stage.server().ping_policy(policy).observe(recorder.clone()));
        let mut peer = served.peer().await;
        for _ in 0..4 {
            peer.ping(*b"in time!").await;
            sleep(seconds(10)).await;
        }
        recorder.take();
        for _ in 0..4 {
            peer.ping(*b"too soon").await;
        }
        let (_, code, debug) = peer.expect_go_away().await;
        assert_eq!((code, &*debug), (ErrorCode::ENHANCE_YOUR_CALM, "too_many_pings"));
        peer.expect_closed().await;
        let heard = recorder.take();
        assert!(heard.contains(&"1 closed, Local: too_many_pings".to_owned()), "{heard:?}");
        served.finish([peer]).await;

        // Without a policy it is the limits' business.
        let served = serve(stage.server().ping_policy(None));
        let mut peer = served.peer().await;
        for _ in 0..100 {
            peer.ping(*b"too soon").await;
        }
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}

// wire-rules 77
#[test]
fn an_idle_connection_is_closed_gracefully_and_one_with_a_call_is_not() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().max_connection_idle(seconds(8)).observe(recorder.clone()));
        let (mut idle, mut busy) = (served.peer().await, served.peer().await);
        let stream = busy.request(BIDI, &[], &message(b"one"), false).await;
        recorder.take();
        let begun = Instant::now();
        assert_eq!(idle.expect_go_away().await.1, ErrorCode::NO_ERROR);
        idle.expect_closed().await;
        let elapsed = begun.elapsed();
        assert!((8..=10).contains(&elapsed.as_secs()), "{elapsed:?}");
        settle().await;
        assert_eq!(recorder.take()[0], "1 going away, Local: its age, or nothing to do");
        sleep(seconds(60)).await;
        busy.data(stream, &message(b"two"), true).await;
        assert_eq!(busy.reply(stream).await.texts(), ["one", "two"]);
        drop(idle);
        served.finish([busy]).await;
    });
}

// wire-rules 77, gRFC A9
#[test]
fn a_connection_of_age_ends_when_its_calls_have() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_connection_age(seconds(100)));
        let mut peer = served.peer().await;
        let begun = Instant::now();
        let stream = peer.request(UNARY, &[("script", "sleep 500000; echo")], &message(b"late"), true).await;
        assert_eq!(peer.expect_go_away().await.1, ErrorCode::NO_ERROR);
        let elapsed = begun.elapsed();
        assert!((90..=110).contains(&elapsed.as_secs()), "{elapsed:?}");
        assert_eq!(peer.reply(stream).await.texts(), ["late"]);
        peer.expect_closed().await;
        assert_eq!(begun.elapsed().as_secs(), 500);
        served.finish([peer]).await;
    });
}

// wire-rules 77
#[test]
fn what_outlasts_the_grace_of_an_aged_connection_is_cut() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let server = stage.server().max_connection_age(seconds(100)).max_connection_age_grace(seconds(7));
        let served = serve(server.observe(recorder.clone()));
        let mut peer = served.peer().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        let begun = Instant::now();
        peer.expect_go_away().await;
        recorder.take();
        peer.expect_closed().await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        assert!((97..=117).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        assert_eq!(recorder.take()[0], "limit drain_timeout x1");
        served.finish([peer]).await;
    });
}

// http2-abuse 17
#[test]
fn a_reply_that_waits_for_window_too_long_is_reset_and_the_others_go_on() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().stream_stall_timeout(seconds(20)).observe(recorder.clone()));
        let mut peer = served.peer_with(PeerConfig::with_stream_window(5)).await;
        let stalled = peer.request(SERVER_STREAM, &[("script", "many 1000 100")], &message(b""), true).await;
        settle().await;
        recorder.take();
        let begun = Instant::now();
        loop {
            match peer.frame_of(stalled).await {
                Some(Received::Reset { code, .. }) => break assert_eq!(code, ErrorCode::CANCEL),
                Some(_) => {}
                None => panic!("closed"),
            }
        }
        assert!((20..=26).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        settle().await;
        assert_eq!(recorder.take(), ["limit stream_stall x1"]);
        stage.journal.until(|counts| counts.cancelled == 1).await;
        assert_eq!(peer.call(UNARY, &[], b"").await.code(), code::OK);
        served.finish([peer]).await;
    });
}

// http2-abuse 16, bug-reports 58: a peer whose socket takes nothing.
#[test]
fn a_client_that_reads_nothing_is_cut_after_the_write_stall_timeout() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().write_stall_timeout(seconds(20)).observe(recorder.clone()));
        let mut peer = served.peer_with(PeerConfig::with_stream_window(u32::MAX >> 1)).await;
        peer.io().set_capacity(0);
        peer.request(SERVER_STREAM, &[("script", "many 1000 1000")], &message(b""), true).await;
        let begun = Instant::now();
        stage.journal.until(|counts| counts.started == 1 && counts.ended + counts.cancelled == 1).await;
        assert!((20..=24).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        settle().await;
        assert!(recorder.take().contains(&"limit write_stall x1".to_owned()));
        drop(peer);
        served.finish([]).await;
    });
}

// RFC 9113 6.5.3, http2-abuse 10
#[test]
fn settings_that_are_never_acknowledged_close_the_connection() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().settings_timeout(seconds(3)));
        let config = PeerConfig { answer_settings: false, ..PeerConfig::default() };
        let mut peer = peregrine_testkit::Peer::new(served.connect(), config);
        peer.send_bytes(peregrine_testkit::peer::PREFACE).await;
        peer.settings(&[]).await;
        assert_eq!(peer.expect_go_away().await.1, ErrorCode::SETTINGS_TIMEOUT);
        peer.expect_closed().await;
        served.finish([peer]).await;
    });
}

// A time that no clock will show is what users write for "never".
#[test]
fn times_beyond_all_clocks_mean_for_ever() {
    in_each_mode(async |stage: Stage| {
        let keepalive = Keepalive { interval: Duration::MAX, timeout: Duration::MAX, without_streams: true };
        let served = serve(
            stage
                .server()
                .handshake_timeout(Duration::MAX)
                .max_connection_age(Duration::MAX)
                .max_connection_age_grace(Duration::MAX)
                .max_connection_idle(Duration::MAX)
                .write_stall_timeout(Duration::MAX)
                .stream_stall_timeout(Duration::MAX)
                .settings_timeout(Duration::MAX)
                .receive_timeout(Duration::MAX)
                .ping_policy(PingPolicy { min_interval: Duration::MAX, without_streams: true })
                .keepalive(keepalive),
        );
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        // In two pieces, so that it is waited for, and with a reply that waits.
        let stream = peer.request(UNARY, &[], b"\0", false).await;
        sleep(seconds(600)).await;
        peer.data(stream, &message(b"x")[1..], true).await;
        sleep(seconds(600)).await;
        peer.give_window(stream, 1000).await;
        assert_eq!(peer.reply(stream).await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}

// wire-rules 78, bug-reports 63: answers to the first PINGs, and the octets of a slow upload, buy nothing later on.
#[test]
fn bug_63_a_client_that_stops_answering_is_closed_though_it_answered_before() {
    in_each_mode(async |stage: Stage| {
        let keepalive = Keepalive { interval: seconds(5), timeout: seconds(2), without_streams: true };
        let served = serve(stage.server().keepalive(keepalive));
        let config = PeerConfig { answer_pings: false, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        peer.request(BIDI, &[], &message(b"half")[..6], false).await;
        for _ in 0..3 {
            let payload = loop {
                let frame = peer.frame().await.expect("not closed yet");
                if let Received::Ping { ack: false, payload } = frame {
                    break payload;
                }
            };
            let pong = peregrine_http2::frame::Ping { ack: true, payload };
            peer.send(&[peregrine_http2::frame::Frame::Ping(pong)]).await;
        }
        let begun = Instant::now();
        peer.expect_go_away().await;
        assert!((6..=8).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        peer.expect_closed().await;
        stage.journal.until(|counts| counts.running() == 0).await;
        served.finish([peer]).await;
    });
}
