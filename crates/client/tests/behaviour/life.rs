//! How long a channel's connections live, and what an observer hears of them.

use std::time::Duration;

use peregrine_client::{Keepalive, Limits, Rate};
use peregrine_core::Code;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::{PeerConfig, Received, Recorder, ServerPeer, settle, virtual_time};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::{message, pair, unary};

#[test]
fn an_observer_hears_of_each_connection_and_why_it_ended() {
    virtual_time(async {
        let recorder = Recorder::default();
        let (builder, mut acceptor) = pair();
        let channel = builder.observe(recorder.clone()).build().unwrap();
        let (reply, mut server) = tokio::join!(unary(&channel, message("x")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            assert_eq!(recorder.take(), ["1 opened", "1 ready"]);
            server.go_away_after(StreamId::new(1), ErrorCode::NO_ERROR, b"bye").await;
            settle().await;
            server.reply(stream, b"y").await;
            server
        });
        reply.unwrap();
        server.expect_closed().await;
        let [going, closed] = &recorder.take()[..] else { panic!("two events") };
        assert!(going.starts_with("1 going away, Peer: ") && going.contains("\"bye\""), "{going}");
        assert_eq!(*closed, going.replace("going away", "closed"));

        let (_reply, mut end) = tokio::join!(unary(&channel, message("x")), async {
            let mut end = acceptor.accept_raw().await;
            end.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            end
        });
        end.shutdown().await.unwrap();
        assert_eq!(recorder.take(), ["2 opened", "2 closed, Local: the peer answers in HTTP/1"]);
    });
}

#[test]
fn the_last_handle_of_a_channel_ends_its_connection() {
    virtual_time(async {
        let recorder = Recorder::default();
        let (builder, mut acceptor) = pair();
        let (channel, mut server) =
            tokio::join!(builder.observe(recorder.clone()).connect(), acceptor.accept());
        recorder.take();
        drop(channel);
        server.expect_closed().await;
        assert_eq!(recorder.take(), ["1 closed, Local: shut down"]);
    });
}

#[test]
fn a_limit_that_a_server_exceeds_is_told_by_name() {
    virtual_time(async {
        let recorder = Recorder::default();
        let (builder, mut acceptor) = pair();
        let mut limits = Limits::default();
        limits.housekeeping = Rate::new(3, 0);
        let builder = builder.limits(limits).observe(recorder.clone());
        let config = PeerConfig::server();
        let (_channel, mut server) = tokio::join!(builder.connect(), acceptor.accept_with(config));
        recorder.take();
        for _ in 0..4 {
            server.ping(*b"flooding").await;
        }
        let (_, code, debug) = server.expect_go_away().await;
        assert_eq!((code, &*debug), (ErrorCode::ENHANCE_YOUR_CALM, "housekeeping"));
        assert_eq!(recorder.take(), ["limit housekeeping x1", "1 closed, Local: housekeeping"]);
    });
}

const KEEPALIVE: Keepalive =
    Keepalive { interval: Duration::from_secs(20), timeout: Duration::from_secs(5), without_streams: true };

/// How long the server waits until the channel's PING comes.
async fn time_to_ping(server: &mut ServerPeer) -> Duration {
    let begun = Instant::now();
    loop {
        match server.frame().await {
            Some(Received::Ping { ack: false, .. }) => return begun.elapsed(),
            Some(_) => {}
            None => panic!("the channel closed"),
        }
    }
}

#[test]
fn a_server_that_answers_no_keepalive_ping_is_given_up_and_calls_are_unavailable() {
    // wire-rules 78
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.keepalive(KEEPALIVE).build().unwrap();
        let config = PeerConfig { answer_pings: false, ..PeerConfig::server() };
        let begun = Instant::now();
        let (reply, mut server) =
            tokio::join!(unary(&channel, message("x")), async { acceptor.accept_with(config).await });
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("keepalive"), "{status}");
        assert!((25..=26).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        server.expect_closed().await;
        // The next call makes another connection.
        let (reply, _server) = tokio::join!(unary(&channel, message("x")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reply(stream, b"y").await;
            server
        });
        assert_eq!(&**reply.unwrap(), b"y");
    });
}

#[test]
fn keepalive_is_not_more_often_than_every_ten_seconds() {
    // wire-rules 80
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let keepalive = Keepalive { interval: Duration::from_millis(1), ..KEEPALIVE };
        let (_channel, mut server) = tokio::join!(builder.keepalive(keepalive).connect(), acceptor.accept());
        let waited = time_to_ping(&mut server).await;
        assert!((10..=11).contains(&waited.as_secs()), "{waited:?}");
    });
}

#[test]
fn bug_61_too_many_pings_doubles_the_interval_of_later_connections() {
    // wire-rules 80, bug-reports 61
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.keepalive(KEEPALIVE).build().unwrap();
        for interval in [20, 40, 80] {
            let (ready, mut server) = tokio::join!(channel.ready(), acceptor.accept());
            ready.unwrap();
            let waited = time_to_ping(&mut server).await;
            assert!((interval..=interval + 1).contains(&waited.as_secs()), "{waited:?}");
            // A graceful goodbye may have come before. Said twice on one connection, it counts once.
            server.go_away_after(StreamId::MAX, ErrorCode::NO_ERROR, b"").await;
            for _ in 0..2 {
                let code = ErrorCode::ENHANCE_YOUR_CALM;
                server.go_away_after(StreamId::CONNECTION, code, b"too_many_pings").await;
            }
            server.expect_closed().await;
        }
        // Other complaints are none of keepalive's.
        let (ready, mut server) = tokio::join!(channel.ready(), acceptor.accept());
        ready.unwrap();
        server.go_away_after(StreamId::CONNECTION, ErrorCode::ENHANCE_YOUR_CALM, b"resets_received").await;
        server.expect_closed().await;
        let (ready, mut server) = tokio::join!(channel.ready(), acceptor.accept());
        ready.unwrap();
        let waited = time_to_ping(&mut server).await;
        assert!((160..=161).contains(&waited.as_secs()), "{waited:?}");
    });
}

#[test]
fn an_idle_connection_is_closed_and_the_next_call_makes_another() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.max_connection_idle(Duration::from_mins(1)).build().unwrap();
        for _ in 0..2 {
            let (reply, mut server) = tokio::join!(unary(&channel, message("x")), async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reply(stream, b"y").await;
                server
            });
            assert_eq!(&**reply.unwrap(), b"y");
            server.expect_closed().await;
        }
        assert_eq!(acceptor.connections(), 2);
    });
}
