//! Which connections are let in, and how many at once.

use std::time::Duration;

use peregrine_server::Rate;
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Peer, PeerConfig, Recorder, serve, settle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::{Stage, in_each_mode};

// http2-abuse 49
#[test]
fn connections_over_the_limit_are_closed_at_once_and_the_others_served() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().max_connections(2).observe(recorder.clone()));
        let mut first = served.peer().await;
        let second = served.peer().await;
        let mut third = served.connect();
        let mut said = Vec::new();
        third.read_to_end(&mut said).await.unwrap();
        assert!(said.is_empty());
        assert_eq!(recorder.take().last().unwrap(), "limit max_connections x1");
        assert_eq!(first.call(UNARY, &[], b"x").await.texts(), ["x"]);
        drop(second);
        settle().await;
        // A place that is free again is given away again.
        let mut fourth = served.peer().await;
        assert_eq!(fourth.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([first, fourth]).await;
    });
}

// http2-abuse 49
#[test]
fn connections_faster_than_the_rate_wait_and_none_is_refused() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().accept_rate(Rate::new(2, 10)).observe(recorder.clone()));
        let begun = Instant::now();
        let mut peers = Vec::new();
        for _ in 0..4 {
            peers.push(served.peer().await);
        }
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_millis(200), "two of four waited 100 ms each: {elapsed:?}");
        assert!(recorder.take().iter().any(|line| line.starts_with("limit accept_rate")));
        drop(peers);
        served.finish([]).await;
    });
}

// http2-abuse 42
#[test]
fn the_oldest_silent_connection_makes_room_for_a_new_one() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().pending_handshakes(2).observe(recorder.clone()));
        let mut oldest = served.connect();
        let mut second = served.connect();
        second.write_all(b"PRI * HTT").await.unwrap();
        let mut peer = served.peer().await;
        let mut said = Vec::new();
        oldest.read_to_end(&mut said).await.unwrap();
        assert!(said.is_empty());
        assert!(recorder.take().contains(&"limit pending_handshakes x1".to_owned()));
        // The second had its place still, and a connection that has spoken needs none.
        second.write_all(b"P/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        for _ in 0..5 {
            let mut another = served.peer().await;
            assert_eq!(another.call(UNARY, &[], b"x").await.texts(), ["x"]);
        }
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        drop(second);
        served.finish([peer]).await;
    });
}

// RFC 9113 3.4: the client speaks first
#[test]
fn the_server_says_nothing_before_the_client_does() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = Peer::new(served.connect(), PeerConfig::default());
        settle().await;
        assert_eq!(peer.io().writes_of_other_end(), 0);
        peer.start().await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}
