//! Handlers that panic, wherever they can (wire-rules E1 and the settled decisions).

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, MethodDescriptor, Request, Response, ServiceDescriptor, Status, Streaming, channel,
};
use peregrine_http2::ErrorCode;
use peregrine_server::service::{CallSlot, ResponseSink, Service, bidi_slot, unary_slot};
use peregrine_testkit::Peer;
use peregrine_testkit::peer::{PeerConfig, message};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

#[test]
fn a_panic_ends_its_call_with_unknown_and_keeps_its_text() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let waiting = peer.request(UNARY, &[("script", "gate; echo")], &message(b"alive"), true).await;
        for (index, (path, script)) in [
            (UNARY, "panic secret"),
            (CLIENT_STREAM, "panic secret"),
            (SERVER_STREAM, "panic secret"),
            (BIDI, "panic secret"),
            // After it was parked.
            (UNARY, "yield; panic secret"),
            (BIDI, "sleep 10; panic secret"),
        ]
        .into_iter()
        .enumerate()
        {
            let reply = peer.call(path, &[("script", script)], b"").await;
            let (status, text) = reply.status();
            assert_eq!(status, code::UNKNOWN, "{path} {script}");
            assert!(!text.contains("secret"), "{text}");
            stage.journal.until(|counts| counts.panicked == index + 1).await;
        }
        stage.journal.open_gate(1);
        assert_eq!(peer.reply(waiting).await.texts(), ["alive"]);
        served.finish([peer]).await;
    });
}

// wire-rules B3
#[test]
fn a_panic_in_a_stream_comes_after_its_messages() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for script in ["send one; send two; panic secret", "send one; yield; send two; yield; panic secret"] {
            let reply = peer.call(SERVER_STREAM, &[("script", script)], b"").await;
            assert_eq!((reply.code(), reply.texts()), (code::UNKNOWN, vec!["one", "two"]), "{script}");
        }
        served.finish([peer]).await;
    });
}

#[test]
fn a_panic_of_a_call_whose_client_still_sends_resets_the_rest_without_error() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(BIDI, &[("script", "read; panic secret")], &message(b"one"), false).await;
        assert_eq!(peer.reply(stream).await.code(), code::UNKNOWN);
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
        served.finish([peer]).await;
    });
}

/// A service whose handlers panic where none is expected: when the future is made, and when it is dropped.
struct Brittle;

static BRITTLE: ServiceDescriptor = ServiceDescriptor {
    name: "test.Brittle",
    methods: &[
        brittle("/test.Brittle/Making", "Making"),
        brittle("/test.Brittle/Dropping", "Dropping"),
        MethodDescriptor {
            client_streaming: true,
            server_streaming: true,
            ..brittle("/test.Brittle/Sending", "Sending")
        },
    ],
    file_descriptor_set: &[],
};

const fn brittle(path: &'static str, name: &'static str) -> MethodDescriptor<'static> {
    let service = "test.Brittle";
    MethodDescriptor {
        path,
        service,
        name,
        client_streaming: false,
        server_streaming: false,
        file_descriptor_set: &[],
    }
}

/// Panics when dropped, unless that happens in a panic.
struct DropBomb;

impl Drop for DropBomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "secret");
    }
}

impl Service for Brittle {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &BRITTLE
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        let service = Arc::new(());
        if method == 2 {
            return Some(bidi_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_: Arc<()>, _request: Request<Streaming<Bytes>>, sink: ResponseSink<BytesCodec, Bytes>| {
                    sink.stream(Response::new(channel(|tx| async move {
                        let _bomb = DropBomb;
                        tx.send(Bytes::from_static(b"waits for the window")).await?;
                        std::future::pending().await
                    })))
                },
            ));
        }
        Some(if method == 0 {
            unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(service, |_: Arc<()>, request: Request<Bytes>| {
                assert!(request.is_empty(), "secret");
                async { Ok::<_, Status>(Response::new(Bytes::new())) }
            })
        } else {
            unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(service, |_: Arc<()>, request: Request<Bytes>| {
                let bomb = DropBomb;
                async move {
                    let _bomb = bomb;
                    if request.is_empty() {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Status>(Response::new(Bytes::new()))
                }
            })
        })
    }
}

#[test]
fn a_panic_while_a_call_is_made_is_that_calls_own() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().add_service(Brittle));
        let mut peer = served.peer().await;
        let reply = peer.call("/test.Brittle/Making", &[], b"not empty").await;
        assert_eq!(reply.code(), code::UNKNOWN);
        assert!(!reply.status().1.contains("secret"));
        assert_eq!(peer.call("/test.Brittle/Making", &[], b"").await.code(), code::OK);
        served.finish([peer]).await;
    });
}

#[test]
fn a_panic_while_a_call_is_dropped_hurts_no_other() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().add_service(Brittle));
        let mut peer = served.peer().await;
        // At its end, which is inside of its own poll.
        let reply = peer.call("/test.Brittle/Dropping", &[], b"ends").await;
        assert_eq!(reply.code(), code::UNKNOWN);
        // When it is cancelled, and at its deadline.
        let stream = peer.request("/test.Brittle/Dropping", &[], &message(b""), true).await;
        settle().await;
        peer.reset(stream, ErrorCode::CANCEL).await;
        let reply = peer.call("/test.Brittle/Dropping", &[("grpc-timeout", "10m")], b"").await;
        assert_eq!(reply.code(), code::DEADLINE_EXCEEDED);
        assert_eq!(peer.call(UNARY, &[], b"alive").await.texts(), ["alive"]);
        // Two at once, when the connection ends.
        for _ in 0..2 {
            peer.request("/test.Brittle/Dropping", &[], &message(b""), true).await;
        }
        settle().await;
        let mut other = served.peer().await;
        drop(peer);
        settle().await;
        assert_eq!(other.call(UNARY, &[], b"alive").await.texts(), ["alive"]);
        served.finish([other]).await;
    });
}

#[test]
fn a_panic_while_a_call_is_dropped_for_oversized_trailers_hurts_no_other() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().add_service(Brittle).max_header_list_size(2_000));
        let mut peer = Peer::new(served.connect(), PeerConfig::with_stream_window(0));
        peer.start().await;
        let other = peer.request(UNARY, &[], &message(b"alive"), true).await;
        // Its message waits for the window, and so does the memory of its deadline.
        let stream = peer.request("/test.Brittle/Sending", &[("grpc-timeout", "1H")], b"", false).await;
        settle().await;
        peer.headers(stream, &[("x-long", "x".repeat(2_500))], true).await;
        settle().await;
        peer.give_window(other, 100).await;
        assert_eq!(peer.reply(other).await.texts(), ["alive"]);
        peer.give_window(stream, 100).await;
        assert_eq!(peer.reply(stream).await.code(), code::RESOURCE_EXHAUSTED);
        served.finish([peer]).await;
    });
}
