//! A scripted gRPC server: the engine's server half over an in-memory pipe, told by each test what to say.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::VecDeque;
use std::future::ready;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use peregrine_client::{Channel, ChannelBuilder};
use peregrine_core::{BytesCodec, MethodDescriptor, Request, Response, Status, Streaming};
use peregrine_http2::{Config, Connection, ErrorCode, Event, Field, Head, Role, StreamKey};
use peregrine_testkit::{PipeEnd, pipe};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

pub(crate) const UNARY: MethodDescriptor<'static> = method("/test.Service/Unary", false, false);
pub(crate) const LIST: MethodDescriptor<'static> = method("/test.Service/List", false, true);
pub(crate) const COLLECT: MethodDescriptor<'static> = method("/test.Service/Collect", true, false);
pub(crate) const CHAT: MethodDescriptor<'static> = method("/test.Service/Chat", true, true);

const fn method(path: &'static str, client: bool, server: bool) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: "test.Service",
        name: "Method",
        client_streaming: client,
        server_streaming: server,
    }
}

/// Calls `UNARY`.
pub(crate) async fn unary(
    channel: &Channel,
    request: impl Into<Request<Bytes>>,
) -> Result<Response<Bytes>, Status> {
    peregrine_client::unary::<BytesCodec, Bytes, Bytes>(channel, &UNARY, request.into()).await
}

/// Calls `LIST`.
pub(crate) async fn list(
    channel: &Channel,
    request: impl Into<Request<Bytes>>,
) -> Result<Streaming<Bytes>, Status> {
    peregrine_client::server_streaming::<BytesCodec, Bytes, Bytes>(channel, &LIST, request.into()).await
}

/// A message of these bytes.
pub(crate) fn message(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// The server ends of a channel's connections, as they are made.
pub(crate) struct Acceptor {
    ends: mpsc::UnboundedReceiver<PipeEnd>,
    connections: Arc<AtomicUsize>,
}

/// A builder whose channel connects to the acceptor.
pub(crate) fn pair() -> (ChannelBuilder, Acceptor) {
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
    pub(crate) async fn accept(&mut self) -> Server {
        self.accept_with(Config::server()).await
    }

    pub(crate) async fn accept_with(&mut self, config: Config) -> Server {
        Server::begin(self.accept_raw().await, config).await
    }

    /// The next connection, to be driven by hand.
    pub(crate) async fn accept_raw(&mut self) -> PipeEnd {
        self.ends.recv().await.expect("the channel is gone")
    }

    /// Connections made so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// What the client did.
#[derive(Debug)]
pub(crate) enum Seen {
    Request { stream: StreamKey, head: Arc<Head>, is_complete: bool },
    Data { stream: StreamKey, bytes: Vec<u8>, is_complete: bool },
    Reset { stream: StreamKey, code: ErrorCode },
    GoAway { code: ErrorCode },
    Closed,
}

/// One connection, seen from the server.
pub(crate) struct Server {
    pub(crate) io: PipeEnd,
    pub(crate) engine: Connection,
    input: Vec<u8>,
    seen: VecDeque<Seen>,
    is_closed: bool,
}

impl Server {
    async fn begin(io: PipeEnd, config: Config) -> Self {
        let engine = Connection::new(Role::Server, config, now());
        let mut server = Self { io, engine, input: Vec::new(), seen: VecDeque::new(), is_closed: false };
        server.flush().await;
        server
    }

    /// The next thing the client does. What the server has said before goes out first.
    pub(crate) async fn next(&mut self) -> Seen {
        loop {
            self.flush().await;
            if let Some(seen) = self.seen.pop_front() {
                return seen;
            }
            if self.is_closed {
                return Seen::Closed;
            }
            self.read().await;
        }
    }

    /// Carries on, answering to nothing, until the client closes the connection.
    pub(crate) async fn run(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Seen::Closed => return all,
                seen => all.push(seen),
            }
        }
    }

    /// The next request, which is complete and has one message.
    pub(crate) async fn request(&mut self) -> (StreamKey, Arc<Head>, Vec<u8>) {
        let (stream, head) = self.request_head().await;
        (stream, head, self.request_body(stream).await)
    }

    /// The head of the next request.
    pub(crate) async fn request_head(&mut self) -> (StreamKey, Arc<Head>) {
        match self.next().await {
            Seen::Request { stream, head, is_complete: false } => (stream, head),
            other => panic!("no request but {other:?}"),
        }
    }

    /// The body of a request up to its end.
    pub(crate) async fn request_body(&mut self, of: StreamKey) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            match self.next().await {
                Seen::Data { stream, bytes, is_complete } if stream == of => {
                    self.engine.release(stream, bytes.len());
                    body.extend_from_slice(&bytes);
                    if is_complete {
                        return body;
                    }
                }
                other => panic!("no end of the request but {other:?}"),
            }
        }
    }

    /// The next thing, which is a reset of this stream.
    pub(crate) async fn reset_of(&mut self, of: StreamKey) -> ErrorCode {
        match self.next().await {
            Seen::Reset { stream, code } if stream == of => code,
            other => panic!("no reset but {other:?}"),
        }
    }

    /// Response head, message and status 0.
    pub(crate) fn reply(&mut self, stream: StreamKey, message: &[u8]) {
        self.head(stream, &[]);
        self.message(stream, message);
        self.trailers(stream, &[("grpc-status", "0")]);
    }

    pub(crate) fn head(&mut self, stream: StreamKey, more: &[(&str, &str)]) {
        let mut all = vec![(":status", "200"), ("content-type", "application/grpc")];
        all.extend_from_slice(more);
        self.headers(stream, &all, false);
    }

    pub(crate) fn trailers(&mut self, stream: StreamKey, all: &[(&str, &str)]) {
        self.headers(stream, all, true);
    }

    pub(crate) fn headers(&mut self, stream: StreamKey, all: &[(&str, &str)], end_stream: bool) {
        let fields = all.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()));
        self.engine.send_headers(stream, fields, end_stream).expect("the stream is open");
    }

    /// A message with its prefix.
    pub(crate) fn message(&mut self, stream: StreamKey, message: &[u8]) {
        let mut framed = vec![0];
        framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
        framed.extend_from_slice(message);
        self.data(stream, &framed);
    }

    pub(crate) fn data(&mut self, stream: StreamKey, bytes: &[u8]) {
        let mut write = self.engine.write_data(stream, bytes.len()).expect("the stream is open");
        write.buffers().0.extend_from_slice(bytes);
        write.commit().expect("the length is right");
    }

    /// Sends what the engine has; may wait for a client that does not read.
    pub(crate) async fn flush(&mut self) {
        while self.engine.poll_output() {
            let mut slices = [IoSlice::new(&[]); 16];
            let count = self.engine.output_slices(&mut slices);
            let bytes: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
            if self.io.write_all(&bytes).await.is_err() {
                self.is_closed = true;
                return;
            }
            self.engine.advance_output(bytes.len());
        }
    }

    async fn read(&mut self) {
        let mut buffer = vec![0; 16 * 1024];
        match self.io.read(&mut buffer).await {
            Ok(0) | Err(_) => self.is_closed = true,
            Ok(count) => self.input.extend_from_slice(&buffer[..count]),
        }
        let input = std::mem::take(&mut self.input);
        let mut parsed = 0;
        loop {
            let progress =
                self.engine.handle_input(&input[parsed..], now()).expect("the client keeps the rules");
            if progress.consumed == 0 {
                break;
            }
            parsed += progress.consumed;
            if let Some(event) = progress.event {
                self.seen.extend(seen(event));
            }
        }
        self.input = input[parsed..].to_vec();
        while let Some(event) = self.engine.poll_event() {
            self.seen.extend(seen(event));
        }
    }
}

fn seen(event: Event<'_>) -> Option<Seen> {
    match event {
        Event::Headers { stream, head, end_stream } => {
            Some(Seen::Request { stream, head, is_complete: end_stream })
        }
        Event::Data { stream, data, end_stream } => {
            Some(Seen::Data { stream, bytes: data.to_vec(), is_complete: end_stream })
        }
        Event::Reset { stream, code, .. } => Some(Seen::Reset { stream, code }),
        Event::GoAway { code, .. } => Some(Seen::GoAway { code }),
        _ => None,
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
