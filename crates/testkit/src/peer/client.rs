//! A client for tests of servers: it opens streams and reads replies.

use bytes::Bytes;
use peregrine_http2::StreamId;
use peregrine_http2::frame::{Settings, WindowUpdate};
use tokio::io::{AsyncRead, AsyncWrite};

use super::received::{Fields, Received};
use super::{MAX_FRAME, PREFACE, Peer, PeerConfig, Reply, data_frame, message};

/// What a [`Peer`] that is a client keeps.
#[derive(Debug)]
pub struct ClientSide {
    next_stream: StreamId,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Peer<IO> {
    /// A client that has not said anything yet.
    pub fn new(io: IO, config: PeerConfig) -> Self {
        Self::with_side(io, config, ClientSide { next_stream: StreamId::FIRST_CLIENT })
    }

    /// Sends preface and SETTINGS and waits for the server's SETTINGS and its acknowledgement.
    pub async fn start(&mut self) {
        let mut first = PREFACE.to_vec();
        Settings::encode_entries(&self.config.settings, &mut first);
        if self.config.connection_window > 0 {
            let increment = self.config.connection_window;
            WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(&mut first);
        }
        self.send_bytes(&first).await;
        let (mut settings, mut acknowledged) = (false, false);
        while !(settings && acknowledged) {
            match self.frame().await {
                Some(Received::Settings(_)) => settings = true,
                Some(Received::SettingsAck) => acknowledged = true,
                Some(Received::WindowUpdate { .. }) => {}
                other => panic!("a server begins with SETTINGS, not with {other:?}"),
            }
        }
    }

    /// The next stream id of this side, taken.
    pub fn open(&mut self) -> StreamId {
        let stream = self.side.next_stream;
        self.side.next_stream = stream.next().expect("a test does not use up the ids");
        self.windows.open(stream);
        stream
    }

    /// Begins a gRPC call: HEADERS with what every call has plus `fields`, then DATA with `body` unless that is
    /// empty, all in one write whatever the windows. `body` holds prefixes and messages ([`message`]).
    pub async fn request(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        body: &[u8],
        end_stream: bool,
    ) -> StreamId {
        let mut head = request_head(path);
        head.extend(
            fields.iter().map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes()))),
        );
        let stream = self.open();
        let mut bytes = Vec::new();
        self.encode_headers(stream, &head, end_stream && body.is_empty(), &mut bytes);
        let mut pieces = body.chunks(MAX_FRAME).peekable();
        while let Some(piece) = pieces.next() {
            data_frame(stream, piece, end_stream && pieces.peek().is_none()).encode(&mut bytes);
        }
        self.windows.on_sent(stream, body.len());
        self.send_bytes(&bytes).await;
        stream
    }

    /// A whole call: one message, then the reply.
    pub async fn call(&mut self, path: &str, fields: &[(&str, &str)], payload: &[u8]) -> Reply {
        let stream = self.request(path, fields, &message(payload), true).await;
        self.reply(stream).await
    }

    /// The reply to the call on `stream`, read to its end: trailers, a reset, or the end of the connection.
    pub async fn reply(&mut self, stream: StreamId) -> Reply {
        let mut reply = Reply::default();
        while !reply.is_over() {
            match self.frame_of(stream).await {
                Some(frame) => reply.on_frame(frame),
                None => reply.on_closed(),
            }
        }
        reply
    }

    /// The reply's first `count` messages; its end is not waited for.
    pub async fn messages(&mut self, stream: StreamId, count: usize) -> Reply {
        let mut reply = Reply::default();
        while reply.messages.len() < count {
            match self.frame_of(stream).await {
                Some(frame) => reply.on_frame(frame),
                None => reply.on_closed(),
            }
            assert!(!reply.is_over() || reply.messages.len() >= count, "ended too early: {reply:?}");
        }
        reply
    }
}

/// The header fields that every gRPC request has, for a path.
pub fn request_head(path: &str) -> Fields {
    [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "test.example"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes())))
    .collect()
}
