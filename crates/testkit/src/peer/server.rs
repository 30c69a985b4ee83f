//! A server for tests of clients: it takes requests and answers as it is told.

use bytes::Bytes;
use peregrine_http2::frame::{Frame, GoAway, Setting, Settings, WindowUpdate};
use peregrine_http2::{ErrorCode, StreamId};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::received::{Fields, Received};
use super::{PREFACE, PeerConfig, ServerPeer, message};

/// What a [`ServerPeer`] keeps.
#[derive(Debug)]
pub struct ServerSide(());

/// What a client asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The stream.
    pub stream: StreamId,
    /// The header block.
    pub head: Fields,
    /// Body bytes, message prefixes among them.
    pub body: Vec<u8>,
    /// The client has ended its side.
    pub is_complete: bool,
}

impl Asked {
    /// The first value of a name, a pseudo-header field's too, if it is text.
    pub fn field(&self, name: &str) -> Option<&str> {
        let (_, value) = self.head.iter().find(|(other, _)| other == name)?;
        std::str::from_utf8(value).ok()
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> ServerPeer<IO> {
    /// A server that has not said anything yet.
    pub fn server(io: IO, config: PeerConfig) -> Self {
        Self::with_side(io, config, ServerSide(()))
    }

    /// Waits for the preface, sends SETTINGS, and waits for the client's and its acknowledgement of ours. Answers
    /// with the client's.
    pub async fn start(&mut self) -> Vec<Setting> {
        self.read_preface().await;
        self.send_settings().await;
        let (mut settings, mut acknowledged) = (None, false);
        while settings.is_none() || !acknowledged {
            match self.read().await {
                Some(Received::Settings(entries)) => settings = Some(entries),
                Some(Received::SettingsAck) => acknowledged = true,
                Some(Received::WindowUpdate { .. }) => {}
                other => panic!("a client that has heard nothing begins with SETTINGS, not with {other:?}"),
            }
        }
        settings.unwrap_or_default()
    }

    /// Takes the 24 bytes that a client sends first.
    pub async fn read_preface(&mut self) {
        while self.input.len() < PREFACE.len() {
            let count = self.io.read_buf(&mut self.input).await.expect("the client is there");
            assert_ne!(count, 0, "the client closed before it had sent its preface");
        }
        assert_eq!(&self.input[..PREFACE.len()], PREFACE);
        self.input.drain(..PREFACE.len());
    }

    /// Sends SETTINGS and the connection's window, as the configuration says.
    pub async fn send_settings(&mut self) {
        let mut first = Vec::new();
        Settings::encode_entries(&self.config.settings, &mut first);
        if self.config.connection_window > 0 {
            let increment = self.config.connection_window;
            WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(&mut first);
        }
        self.send_bytes(&first).await;
    }

    /// Sends GOAWAY.
    pub async fn go_away_after(&mut self, last_stream: StreamId, code: ErrorCode, debug: &[u8]) {
        self.send(&[Frame::GoAway(GoAway { last_stream, code, debug })]).await;
    }

    // Taking requests.

    /// The next frame that is no housekeeping; `None` once the client has closed.
    pub async fn next(&mut self) -> Option<Received> {
        loop {
            let frame = self.frame().await?;
            if !frame.is_housekeeping() {
                return Some(frame);
            }
        }
    }

    /// The head of the next request. Frames of others that come before it are kept.
    pub async fn request_head(&mut self) -> Asked {
        let is_head = |frame: &Received| matches!(frame, Received::Headers { .. });
        let mut frame = self.kept.iter().position(is_head).and_then(|index| self.kept.remove(index));
        loop {
            match frame {
                Some(Received::Headers { stream, fields, end_stream }) => {
                    return Asked { stream, head: fields, body: Vec::new(), is_complete: end_stream };
                }
                Some(other) => self.keep(other),
                None => {}
            }
            frame = Some(self.read().await.expect("the client makes a call before it closes"));
        }
    }

    /// The next request, complete.
    pub async fn request(&mut self) -> Asked {
        let mut asked = self.request_head().await;
        self.rest_of(&mut asked).await;
        asked
    }

    /// Reads a request to its end.
    pub async fn rest_of(&mut self, asked: &mut Asked) {
        while !asked.is_complete {
            match self.frame_of(asked.stream).await {
                Some(Received::Data { data, end_stream, .. }) => {
                    asked.body.extend_from_slice(&data);
                    asked.is_complete = end_stream;
                }
                other => panic!("no end of the request but {other:?}"),
            }
        }
    }

    /// Reads what still comes on a stream up to its reset, and answers with its code.
    pub async fn reset_of(&mut self, stream: StreamId) -> ErrorCode {
        loop {
            match self.frame_of(stream).await {
                Some(Received::Reset { code, .. }) => return code,
                Some(Received::Data { .. }) => {}
                other => panic!("no reset of {stream} but {other:?}"),
            }
        }
    }

    // Answering.

    /// A whole response: head, one message as far as the client's windows let, status 0.
    pub async fn reply(&mut self, stream: StreamId, payload: &[u8]) {
        self.head(stream, &[]).await;
        self.message(stream, payload).await;
        self.trailers(stream, &[("grpc-status", "0")]).await;
    }

    /// The head of a gRPC response, with more fields.
    pub async fn head(&mut self, stream: StreamId, more: &[(&str, &str)]) {
        self.headers(stream, &response_head(more), false).await;
    }

    /// A message with its prefix.
    pub async fn message(&mut self, stream: StreamId, payload: &[u8]) {
        self.send_body(stream, &message(payload), false).await;
    }

    /// A block that ends the response.
    pub async fn trailers(&mut self, stream: StreamId, fields: &[(&str, &str)]) {
        self.headers(stream, fields, true).await;
    }

    /// A response that is one block (wire-rules 50), with more fields.
    pub async fn trailers_only(&mut self, stream: StreamId, more: &[(&str, &str)]) {
        self.headers(stream, &response_head(more), true).await;
    }
}

/// The header fields that every gRPC response has, and more.
pub fn response_head(more: &[(&str, &str)]) -> Fields {
    [(":status", "200"), ("content-type", "application/grpc")]
        .iter()
        .chain(more)
        .map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes())))
        .collect()
}
