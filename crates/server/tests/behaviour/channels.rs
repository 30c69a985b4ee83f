//! Handlers that write into a `Sender` instead of returning a stream of their own making.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, MethodDescriptor, Request, Response, ServiceDescriptor, Status, Stream, channel,
};
use peregrine_http2::ErrorCode;
use peregrine_server::service::{CallSlot, ResponseSink, Service, server_streaming_slot};
use peregrine_testkit::peer::{PeerConfig, message};
use peregrine_testkit::{serve, settle};
use tokio::sync::Semaphore;

use crate::{Stage, code, in_each_mode};

const PATH: &str = "/test.Channels/Count";

static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "test.Channels",
    methods: &[MethodDescriptor {
        path: PATH,
        service: "test.Channels",
        name: "Count",
        client_streaming: false,
        server_streaming: true,
        file_descriptor_set: &[],
    }],
    file_descriptor_set: &[],
};

/// Sends as many messages as the request says, waits before each for a permit, and flushes behind every tenth.
struct Counting {
    permits: Semaphore,
    sent: Semaphore,
}

impl Counting {
    /// The stream borrows the service, as a user's may.
    fn count(&self, request: &Request<Bytes>) -> Response<impl Stream<Item = Result<Bytes, Status>> + Send> {
        let count: usize = std::str::from_utf8(request).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        Response::new(channel(move |sender| async move {
            for n in 1..=count {
                self.permits.acquire().await.map_err(|_| Status::aborted("closed"))?.forget();
                sender.send(n.to_string().into()).await?;
                self.sent.add_permits(1);
                if n % 10 == 0 {
                    sender.flush().await?;
                }
            }
            if count == 13 { Err(Status::not_found("no more")) } else { Ok(()) }
        }))
    }
}

/// What is mounted: a share of the service.
struct Mounted(Arc<Counting>);

impl Service for Mounted {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(server_streaming_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
            Arc::clone(&self.0),
            |service: Arc<Counting>, request: Request<Bytes>, sink: ResponseSink<BytesCodec, Bytes>| async move {
                sink.stream(service.count(&request)).await
            },
        ))
    }
}

fn counting(permits: usize) -> Arc<Counting> {
    Arc::new(Counting { permits: Semaphore::new(permits), sent: Semaphore::new(0) })
}

fn numbers(range: std::ops::RangeInclusive<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[test]
fn everything_sent_arrives_in_order_and_the_producers_error_ends_the_call() {
    in_each_mode(async |stage: Stage| {
        let service = counting(100_000);
        let served = serve(stage.server().add_service(Mounted(Arc::clone(&service))));
        let mut peer = served.peer().await;
        for count in [0, 1, 9, 10, 11, 5_000] {
            let reply = peer.call(PATH, &[], count.to_string().as_bytes()).await;
            assert_eq!(
                (reply.code(), reply.texts()),
                (code::OK, numbers(1..=count).iter().map(|n| &**n).collect())
            );
        }
        let reply = peer.call(PATH, &[], b"13").await;
        assert_eq!((reply.status(), reply.messages.len()), ((code::NOT_FOUND, "no more".to_owned()), 13));
        served.finish([peer]).await;
    });
}

// wire-rules B2
#[test]
fn what_was_sent_leaves_while_the_producer_waits() {
    in_each_mode(async |stage: Stage| {
        let service = counting(0);
        let served = serve(stage.server().add_service(Mounted(Arc::clone(&service))));
        let mut peer = served.peer().await;
        let stream = peer.request(PATH, &[], &message(b"100"), true).await;
        service.permits.add_permits(3);
        assert_eq!(peer.messages(stream, 3).await.texts(), ["1", "2", "3"]);
        peer.reset(stream, ErrorCode::CANCEL).await;
        served.finish([peer]).await;
    });
}

#[test]
fn a_producer_waits_for_a_peer_that_takes_nothing() {
    in_each_mode(async |stage: Stage| {
        let service = counting(1_000_000);
        let served = serve(stage.server().add_service(Mounted(Arc::clone(&service))));
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        let stream = peer.request(PATH, &[], &message(b"1000000"), true).await;
        settle().await;
        let sent = service.sent.available_permits();
        assert!(sent < 30_000, "{sent} messages for a window of nothing");
        peer.give_window(stream, 1_000_000).await;
        peer.messages(stream, 10_000).await;
        settle().await;
        assert!(service.sent.available_permits() > sent);
        peer.reset(stream, ErrorCode::CANCEL).await;
        served.finish([peer]).await;
        assert_eq!(Arc::strong_count(&service), 1, "the call has let the service go");
    });
}
