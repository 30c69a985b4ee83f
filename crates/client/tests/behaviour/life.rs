//! How long a channel's connections live, and what an observer hears of them.

use peregrine_client::{Limits, Rate};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::{PeerConfig, Recorder, settle, virtual_time};
use tokio::io::AsyncWriteExt;

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
