//! What an observer of a server hears.

use peregrine_core::Observe;
use peregrine_core::observe::{ConnectionEvent, ConnectionInfo};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_server::{Limits, Rate};
use peregrine_testkit::peer::message;
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Recorder, serve, settle};

use crate::{Stage, in_each_mode};

#[test]
fn a_connection_is_opened_ready_going_away_and_closed() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().observe(recorder.clone()));
        let silent = served.connect();
        settle().await;
        assert_eq!(recorder.take(), ["1 opened"]);
        drop(silent);
        settle().await;
        assert_eq!(recorder.take(), ["1 closed, Peer: closed by the peer"]);

        let mut peer = served.peer().await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        assert_eq!(recorder.take(), ["2 opened", "2 ready"]);
        // Later SETTINGS are no news.
        peer.settings(&[]).await;
        peer.go_away(ErrorCode::NO_ERROR).await;
        settle().await;
        assert_eq!(recorder.take(), ["2 going away, Peer: GOAWAY NO_ERROR"]);
        drop(peer);

        let mut peer = served.peer().await;
        recorder.take();
        let stopping = served.begin_stop();
        peer.expect_closed().await;
        drop(peer);
        stopping.await.unwrap();
        let heard = recorder.take();
        assert_eq!(heard, ["3 going away, Local: shutting down", "3 closed, Local: shut down"]);
    });
}

#[test]
fn a_limit_that_ends_a_connection_is_told_by_name() {
    in_each_mode(async |stage: Stage| {
        let mut limits = Limits::default();
        limits.empty_data = Rate::new(2, 0);
        let recorder = Recorder::default();
        let served = serve(stage.server().limits(limits).observe(recorder.clone()));
        let mut peer = served.peer().await;
        recorder.take();
        let stream = peer.request(UNARY, &[], &message(b"x"), false).await;
        // One after data is free.
        for _ in 0..4 {
            peer.data(stream, b"", false).await;
        }
        let (_, code, debug) = peer.expect_go_away().await;
        assert_eq!((code, &*debug), (ErrorCode::ENHANCE_YOUR_CALM, "empty_data"));
        assert_eq!(recorder.take(), ["limit empty_data x1", "1 closed, Local: empty_data"]);
        served.finish([peer]).await;
    });
}

#[test]
fn a_rule_that_the_client_broke_is_the_reason() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().observe(recorder.clone()));
        let mut peer = served.peer().await;
        recorder.take();
        peer.data(StreamId::new(99), b"x", false).await;
        let (_, _, debug) = peer.expect_go_away().await;
        assert_eq!(recorder.take(), [format!("1 closed, Local: {debug}")]);
        served.finish([peer]).await;
    });
}

#[test]
fn calls_that_are_cut_close_their_connection_for_the_observer_too() {
    in_each_mode(async |stage: Stage| {
        let recorder = Recorder::default();
        let served = serve(stage.server().observe(recorder.clone()));
        let mut peer = served.peer().await;
        peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 1).await;
        recorder.take();
        served.abort();
        peer.expect_closed().await;
        assert_eq!(recorder.take(), ["1 closed, Local: cut"]);
    });
}

#[derive(Debug)]
struct Panicking;

impl Observe for Panicking {
    fn connection(&self, _connection: &ConnectionInfo, _event: &ConnectionEvent<'_>) {
        panic!("an observer that panics");
    }
}

#[test]
fn an_observer_that_panics_harms_nobody() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().observe(Panicking));
        let mut peer = served.peer().await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        served.finish([peer]).await;
    });
}
