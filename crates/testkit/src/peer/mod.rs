//! A scripted peer: one end of an HTTP/2 connection, moved frame by frame by a test.
//!
//! [`Peer`] is a client, for tests of servers; [`ServerPeer`] is a server, for tests of clients. Either keeps the
//! little state that the format needs (compression tables, windows, the next stream id) and no rule: whatever the
//! test asks for is sent, be it legal or not. What arrives is decoded into [`Received`] values. Unless told otherwise
//! it acknowledges SETTINGS and PING, so that tests need not.
//!
//! Helpers for gRPC calls stand on top: in `client` ([`Peer::request`], [`Peer::reply`]) and in `server`
//! ([`ServerPeer::request`], [`ServerPeer::reply`]).

mod client;
mod config;
mod received;
mod reply;
mod server;
mod windows;

use std::collections::VecDeque;
use std::time::Duration;

use peregrine_http2::frame::{
    Data, FRAME_HEADER_LEN, Flags, Frame, FrameHeader, FrameType, GoAway, Ping, RstStream, Setting, Settings,
    WindowUpdate, seal_block,
};
use peregrine_http2::hpack::{Decoder, Encoder};
use peregrine_http2::{ErrorCode, Field, StreamId};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub use self::client::{ClientSide, request_head};
pub use self::config::PeerConfig;
pub use self::received::{Fields, Received};
pub use self::reply::{Ending, Reply};
pub use self::server::{Asked, ServerSide, response_head};
use self::windows::Windows;
use crate::pipe::PipeEnd;

/// What a client sends first (RFC 9113 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest payload that every peer takes (RFC 9113 4.2).
const MAX_FRAME: usize = 16_384;

/// A scripted HTTP/2 server over `IO`.
pub type ServerPeer<IO = PipeEnd> = Peer<IO, ServerSide>;

/// A scripted HTTP/2 client over `IO`, or with another `Side` a server: [`ServerPeer`].
pub struct Peer<IO = PipeEnd, Side = ClientSide> {
    io: IO,
    config: PeerConfig,
    input: Vec<u8>,
    decoder: Decoder,
    encoder: Encoder,
    /// Frames that were read while another stream's were asked for.
    kept: VecDeque<Received>,
    windows: Windows,
    side: Side,
}

impl<IO, Side> std::fmt::Debug for Peer<IO, Side> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin, Side> Peer<IO, Side> {
    /// A peer that has not said anything yet.
    fn with_side(io: IO, config: PeerConfig, side: Side) -> Self {
        Self {
            io,
            config,
            input: Vec::new(),
            decoder: Decoder::new(4_096),
            encoder: Encoder::new(0),
            kept: VecDeque::new(),
            windows: Windows::default(),
            side,
        }
    }

    // Sending.

    /// Sends bytes as they are, in one write.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.expect("the other side reads");
    }

    /// Like [`send_bytes`](Self::send_bytes), if the other side may have closed already.
    ///
    /// # Errors
    /// The connection's own.
    pub async fn try_send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.io.write_all(bytes).await
    }

    /// Sends frames as they are, in one write.
    pub async fn send(&mut self, frames: &[Frame<'_>]) {
        let mut bytes = Vec::new();
        for frame in frames {
            frame.encode(&mut bytes);
        }
        self.send_bytes(&bytes).await;
    }

    /// Sends DATA.
    pub async fn data(&mut self, stream: StreamId, data: &[u8], end_stream: bool) {
        self.send(&[data_frame(stream, data, end_stream)]).await;
    }

    /// Sends a header block; above 16,384 bytes in several frames.
    pub async fn headers<N, V>(&mut self, stream: StreamId, fields: &[(N, V)], end_stream: bool)
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let mut bytes = Vec::new();
        self.encode_headers(stream, fields, end_stream, &mut bytes);
        self.send_bytes(&bytes).await;
    }

    /// Appends a header block to `out`, to be sent in the order in which blocks are encoded.
    pub fn encode_headers<N, V>(
        &mut self,
        stream: StreamId,
        fields: &[(N, V)],
        end_stream: bool,
        out: &mut Vec<u8>,
    ) where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let start = out.len();
        out.resize(start + FRAME_HEADER_LEN, 0);
        let fields = fields.iter().map(|(name, value)| Field::new(name.as_ref(), value.as_ref()));
        self.encoder.encode_block(fields, out);
        seal_block(out, start, stream, end_stream, MAX_FRAME as u32);
    }

    /// Resets a stream.
    pub async fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.send(&[Frame::RstStream(RstStream { stream, code })]).await;
    }

    /// Gives the other side more window on a stream, or on the connection for stream 0.
    pub async fn give_window(&mut self, stream: StreamId, increment: u32) {
        self.send(&[Frame::WindowUpdate(WindowUpdate { stream, increment })]).await;
    }

    /// Sends PING.
    pub async fn ping(&mut self, payload: [u8; 8]) {
        self.send(&[Frame::Ping(Ping { ack: false, payload })]).await;
    }

    /// Sends GOAWAY that names no stream: as a client, which lets the server open none; as a server, one that has
    /// processed nothing.
    pub async fn go_away(&mut self, code: ErrorCode) {
        self.send(&[Frame::GoAway(GoAway { last_stream: StreamId::CONNECTION, code, debug: b"" })]).await;
    }

    /// Sends SETTINGS.
    pub async fn settings(&mut self, entries: &[Setting]) {
        let mut bytes = Vec::new();
        Settings::encode_entries(entries, &mut bytes);
        self.send_bytes(&bytes).await;
    }

    /// Closes the sending direction.
    pub async fn half_close(&mut self) {
        self.io.shutdown().await.expect("the other side reads");
    }

    /// Sends a body as far as the other side's windows let, waits for more, and so on to its end.
    pub async fn send_body(&mut self, stream: StreamId, mut body: &[u8], end_stream: bool) {
        loop {
            let room = self.windows.room(stream).min(body.len()).min(MAX_FRAME);
            if room == 0 && !body.is_empty() {
                let frame = self.read().await.expect("the other side gives window before it closes");
                self.keep(frame);
                continue;
            }
            let (now, later) = body.split_at(room);
            self.windows.on_sent(stream, now.len());
            self.data(stream, now, end_stream && later.is_empty()).await;
            if later.is_empty() {
                return;
            }
            body = later;
        }
    }

    /// What the other side lets this side still send on a stream, negative after it has shrunk its window; or on the
    /// connection for stream 0. Counts what [`request`](Peer::request) and [`send_body`](Self::send_body) sent.
    pub fn window(&self, stream: StreamId) -> i64 {
        self.windows.of(stream)
    }

    // Receiving.

    /// The next frame, housekeeping included; `None` once the other side has closed.
    pub async fn frame(&mut self) -> Option<Received> {
        match self.kept.pop_front() {
            Some(frame) => Some(frame),
            None => self.read().await,
        }
    }

    /// The next frame of one stream; frames of others are kept for whoever asks for them.
    pub async fn frame_of(&mut self, stream: StreamId) -> Option<Received> {
        if let Some(index) = self.kept.iter().position(|frame| frame.stream() == Some(stream)) {
            return self.kept.remove(index);
        }
        loop {
            let frame = self.read().await?;
            if frame.stream() == Some(stream) {
                return Some(frame);
            }
            self.keep(frame);
        }
    }

    /// The code of the RST_STREAM that has to come next on a stream.
    pub async fn expect_reset(&mut self, stream: StreamId) -> ErrorCode {
        match self.frame_of(stream).await {
            Some(Received::Reset { code, .. }) => code,
            other => panic!("expected RST_STREAM on {stream}, got {other:?}"),
        }
    }

    /// The next GOAWAY: last stream, code, debug text. Frames of streams before it are kept.
    pub async fn expect_go_away(&mut self) -> (StreamId, ErrorCode, String) {
        let is_go_away = |frame: &Received| matches!(frame, Received::GoAway { .. });
        let kept = self.kept.iter().position(is_go_away).and_then(|index| self.kept.remove(index));
        let mut frame = kept;
        loop {
            match frame {
                Some(Received::GoAway { last_stream, code, debug }) => {
                    return (last_stream, code, String::from_utf8_lossy(&debug).into_owned());
                }
                Some(other) => self.keep(other),
                None => {}
            }
            frame = Some(self.read().await.expect("the other side says GOAWAY before it closes"));
        }
    }

    /// Reads until the other side has closed; frames of streams are kept.
    pub async fn expect_closed(&mut self) {
        while let Some(frame) = self.read().await {
            self.keep(frame);
        }
    }

    /// In virtual time: everything that the other side has to say now, housekeeping left out.
    pub async fn drain(&mut self) -> Vec<Received> {
        self.read_all().await;
        self.kept.drain(..).collect()
    }

    /// In virtual time: reads what the other side has to say now, and keeps it for whoever asks for it.
    pub async fn read_all(&mut self) {
        let turn = Duration::from_millis(1);
        // The timeout fires only when no task can run any more.
        while let Ok(Some(frame)) = tokio::time::timeout(turn, self.read()).await {
            self.keep(frame);
        }
    }

    /// The connection itself.
    pub fn io(&mut self) -> &mut IO {
        &mut self.io
    }

    /// Keeps what a test may still ask for. Windows are accounted for already.
    fn keep(&mut self, frame: Received) {
        if !frame.is_housekeeping() {
            self.kept.push_back(frame);
        }
    }

    /// Reads one frame, a header block with all its parts, and answers what the configuration says.
    async fn read(&mut self) -> Option<Received> {
        loop {
            if let Some((frame, used)) = Received::parse(&self.input, &mut self.decoder) {
                self.input.drain(..used);
                self.windows.on_received(&frame);
                self.answer(&frame).await;
                return Some(frame);
            }
            // A line that was cut has nothing more to say either.
            if self.io.read_buf(&mut self.input).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    async fn answer(&mut self, frame: &Received) {
        let mut bytes = Vec::new();
        match frame {
            Received::Settings(_) if self.config.answer_settings => Settings::encode_ack(&mut bytes),
            Received::Ping { ack: false, payload } if self.config.answer_pings => {
                Ping { ack: true, payload: *payload }.encode(&mut bytes);
            }
            Received::Data { stream, data, .. } if self.config.refill_windows && !data.is_empty() => {
                let increment = data.len() as u32;
                WindowUpdate { stream: *stream, increment }.encode(&mut bytes);
                WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(&mut bytes);
            }
            _ => return,
        }
        // The other side may be gone by now; what it had said is still worth reading.
        let _ = self.try_send_bytes(&bytes).await;
    }
}

/// A message with its prefix, not compressed (wire-rules 29).
pub fn message(payload: &[u8]) -> Vec<u8> {
    prefixed(0, payload.len() as u32, payload)
}

/// A prefix that need not be true, and bytes behind it.
pub fn prefixed(flag: u8, len: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![flag];
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(bytes);
    out
}

/// A DATA frame without padding.
pub fn data_frame(stream: StreamId, data: &[u8], end_stream: bool) -> Frame<'_> {
    Frame::Data(Data { stream, data, end_stream, padding: None })
}

/// A frame with any type, flags and payload, such as no codec would make.
pub fn raw_frame(kind: u8, flags: u8, stream: StreamId, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        len: payload.len() as u32,
        kind: FrameType::from_wire(kind),
        flags: Flags(flags),
        stream,
    };
    let mut out = Vec::new();
    header.encode(&mut out);
    out.extend_from_slice(payload);
    out
}
