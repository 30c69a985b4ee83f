//! Which calls wait for a connection, for how long, and what ends their waiting (wire-rules 96, 98).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use peregrine_core::{Code, Request};
use peregrine_http2::ErrorCode;
use peregrine_http2::frame::Setting;
use peregrine_testkit::peer::{PeerConfig, message as framed};
use peregrine_testkit::{settle, virtual_time};

use crate::{list, message, pair, unary};

fn waiting() -> Request<bytes::Bytes> {
    Request::new(message("")).wait_for_ready()
}

// wire-rules 96: a server that says goodbye to every new connection is not ready.
#[test]
fn a_call_that_waits_outlives_servers_that_take_no_calls() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let serving = async {
            for _ in 0..20 {
                let mut server = acceptor.accept().await;
                server.go_away(ErrorCode::NO_ERROR).await;
                server.expect_closed().await;
            }
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reply(stream, b"at last").await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, waiting()), serving);
        assert_eq!(reply.unwrap().into_inner(), message("at last"));
    });
    // Its deadline ends the waiting, and nothing else does.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let closed = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&closed);
        let serving = tokio::spawn(async move {
            loop {
                let mut server = acceptor.accept().await;
                server.go_away(ErrorCode::NO_ERROR).await;
                server.expect_closed().await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let begun = tokio::time::Instant::now();
        let status = unary(&channel, waiting().timeout(Duration::from_mins(2))).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        assert_eq!(begun.elapsed().as_secs(), 120);
        let attempts = closed.load(Ordering::Relaxed);
        assert!((6..200).contains(&attempts), "{attempts} connections in two minutes");
        serving.abort();
    });
}

// wire-rules 96: one that does not wait is told, after a handful of them and not after a storm.
#[test]
fn a_call_that_does_not_wait_is_told_of_servers_that_take_no_calls() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let closed = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&closed);
        let serving = tokio::spawn(async move {
            loop {
                let mut server = acceptor.accept().await;
                server.go_away(ErrorCode::NO_ERROR).await;
                server.expect_closed().await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let status = unary(&channel, message("")).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("the peer keeps closing new connections"), "{status}");
        settle().await;
        assert!(closed.load(Ordering::Relaxed) <= 12, "{closed:?} connections for one call");
        serving.abort();
    });
}

// wire-rules 96: IDLE after a loss is no failure, so a call makes a connection and waits for it.
#[test]
fn a_loss_is_no_failure_and_a_failure_is_forgotten_by_the_next_success() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        for _ in 0..10 {
            let (reply, server) = tokio::join!(unary(&channel, message("")), async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reply(stream, b"").await;
                server
            });
            reply.unwrap();
            drop(server);
            settle().await;
        }
        // One that hangs up in its start is a failure: at once for the call that saw it and for those behind it.
        let begun = tokio::time::Instant::now();
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            drop(acceptor.accept_raw().await);
        });
        assert_eq!(reply.unwrap_err().code(), Code::Unavailable);
        assert_eq!(unary(&channel, message("")).await.unwrap_err().code(), Code::Unavailable);
        assert_eq!(begun.elapsed().as_millis(), 0);
        // After the wait the next call makes an attempt, and all is forgotten.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (reply, server) = tokio::join!(unary(&channel, message("")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
            server
        });
        reply.unwrap();
        drop(server);
        settle().await;
        let begun = tokio::time::Instant::now();
        let (reply, _server) = tokio::join!(unary(&channel, message("")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
            server
        });
        reply.unwrap();
        assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    });
}

// wire-rules 82, 75: a server that allows no stream at all, then leaves.
#[test]
fn a_call_that_no_stream_was_ever_free_for_moves_on() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let serving = async {
            let none =
                PeerConfig { settings: vec![Setting::MaxConcurrentStreams(0)], ..PeerConfig::server() };
            let mut first = acceptor.accept_with(none).await;
            settle().await;
            first.go_away(ErrorCode::NO_ERROR).await;
            let mut second = acceptor.accept().await;
            let asked = second.request().await;
            assert_eq!(asked.body, framed(b"x"));
            second.reply(asked.stream, b"y").await;
            second
        };
        let (reply, _second) = tokio::join!(unary(&channel, message("x")), serving);
        assert_eq!(reply.unwrap().into_inner(), message("y"));
    });
}

// wire-rules 72, 78: what comes for a call that is over, of each kind, is taken and does not stall the others.
#[test]
fn frames_for_calls_that_are_over_harm_nobody() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.initial_connection_window(65_535).adaptive_windows(None);
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
        let channel = channel.unwrap();
        for round in 0..20 {
            let replies = list(&channel, message("")).await.unwrap();
            let stream = server.request().await.stream;
            drop(replies);
            assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
            match round % 4 {
                0 => {
                    server.head(stream, &[("k", "v")]).await;
                    server.data(stream, &[0; 16_000], false).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                }
                1 => {
                    server.data(stream, &[0; 16_000], false).await;
                    server.reset(stream, ErrorCode::INTERNAL_ERROR).await;
                }
                2 => server.trailers_only(stream, &[("grpc-status", "5")]).await,
                _ => server.give_window(stream, 1_000).await,
            }
            let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.reply(stream, b"alive").await;
            });
            assert_eq!(reply.unwrap().into_inner(), message("alive"), "{round}");
        }
        assert_eq!(acceptor.connections(), 1);
    });
}
