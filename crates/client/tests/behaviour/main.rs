//! What a server sees of the client, and callers of it: every test is a scripted server on an in-memory connection,
//! in virtual time unless its subject is threads. Names say the behaviour; comments cite rules by number.

mod attacked_again;
mod bodies;
mod broken_connections;
mod broken_streams;
mod call_errors;
mod compression;
mod connections;
mod endings;
mod exact_limits;
mod floods;
mod flow_control;
mod hostile_code;
mod interceptors;
mod life;
mod moments;
mod observe_messages;
mod options;
mod readiness;
mod repeated_heads;
mod reports;
mod retries;
mod streaming;
mod unary;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use peregrine_client::{Channel, ChannelBuilder};
use peregrine_core::{
    BytesCodec, IntoStreamingRequest, MethodDescriptor, Request, Response, Status, Streaming,
};
use peregrine_testkit::{PeerConfig, PipeEnd, ServerPeer, pipe};
use tokio::sync::mpsc;

const UNARY: MethodDescriptor<'static> = method("/test.Service/Unary", false, false);
const LIST: MethodDescriptor<'static> = method("/test.Service/List", false, true);
const COLLECT: MethodDescriptor<'static> = method("/test.Service/Collect", true, false);
const CHAT: MethodDescriptor<'static> = method("/test.Service/Chat", true, true);

const fn method(path: &'static str, client: bool, server: bool) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: "test.Service",
        name: "Method",
        client_streaming: client,
        server_streaming: server,
        file_descriptor_set: &[],
    }
}

async fn unary(channel: &Channel, request: impl Into<Request<Bytes>>) -> Result<Response<Bytes>, Status> {
    peregrine_client::unary::<BytesCodec, Bytes, Bytes>(channel, &UNARY, request.into()).await
}

async fn list(channel: &Channel, request: impl Into<Request<Bytes>>) -> Result<Streaming<Bytes>, Status> {
    peregrine_client::server_streaming::<BytesCodec, Bytes, Bytes>(channel, &LIST, request.into()).await
}

async fn collect(
    channel: &Channel,
    request: impl IntoStreamingRequest<Bytes>,
) -> Result<Response<Bytes>, Status> {
    let request = request.into_streaming_request();
    peregrine_client::client_streaming::<BytesCodec, Bytes, Bytes, _>(channel, &COLLECT, request).await
}

async fn chat(
    channel: &Channel,
    request: impl IntoStreamingRequest<Bytes>,
) -> Result<Streaming<Bytes>, Status> {
    let request = request.into_streaming_request();
    peregrine_client::bidi::<BytesCodec, Bytes, Bytes, _>(channel, &CHAT, request).await
}

/// A message of these bytes.
fn message(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// The server ends of a channel's connections, as they are made.
struct Acceptor {
    ends: mpsc::UnboundedReceiver<PipeEnd>,
    connections: Arc<AtomicUsize>,
}

/// A builder whose channel connects to the acceptor.
fn pair() -> (ChannelBuilder, Acceptor) {
    let (sender, ends) = mpsc::unbounded_channel();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let builder = Channel::builder("server.test:50051").connector(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let (client, server) = pipe();
        // A test that has dropped its acceptor wants connections that are closed at once.
        let _accepted = sender.send(server);
        ready(Ok(client))
    });
    (builder, Acceptor { ends, connections })
}

impl Acceptor {
    /// The next connection, HTTP/2 begun.
    async fn accept(&mut self) -> ServerPeer {
        self.accept_with(PeerConfig::server()).await
    }

    async fn accept_with(&mut self, config: PeerConfig) -> ServerPeer {
        let mut server = ServerPeer::server(self.accept_raw().await, config);
        server.start().await;
        server
    }

    /// The next connection, to be driven by hand.
    async fn accept_raw(&mut self) -> PipeEnd {
        self.ends.recv().await.expect("the channel is gone")
    }

    /// Connections made so far.
    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A connected channel and its server.
async fn connected() -> (Channel, ServerPeer) {
    connected_with(PeerConfig::server()).await
}

async fn connected_with(config: PeerConfig) -> (Channel, ServerPeer) {
    let (builder, mut acceptor) = pair();
    let (channel, server) = tokio::join!(builder.connect(), acceptor.accept_with(config));
    (channel.expect("the pipe is open"), server)
}
