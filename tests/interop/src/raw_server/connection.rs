//! One connection: takes requests, and answers each as the case says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::Fields;
use peregrine_testkit::{PeerConfig, Received, ServerPeer};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::Case;
use crate::judge::{Judge, value};
use crate::service::{Answer, Call};

pub(crate) struct Connection {
    peer: ServerPeer<TcpStream>,
    case: Case,
    number: usize,
    judge: Arc<Judge>,
    /// Requests that have not ended.
    open: HashMap<StreamId, Call>,
    /// MAX_CONCURRENT_STREAMS 1 was sent, in the second SETTINGS.
    limited: bool,
    /// SETTINGS that the client has acknowledged.
    acknowledged: usize,
    pings: u64,
}

impl Connection {
    pub(crate) fn new(socket: TcpStream, case: Case, number: usize, judge: Arc<Judge>) -> Self {
        let peer = ServerPeer::server(socket, PeerConfig::server());
        let open = HashMap::new();
        Self { peer, case, number, judge, open, limited: false, acknowledged: 0, pings: 0 }
    }

    /// Serves until the client closes.
    pub(crate) async fn run(mut self) {
        self.peer.read_preface().await;
        self.peer.send_settings().await;
        while let Some(frame) = self.peer.frame().await {
            self.on_frame(frame).await;
        }
    }

    async fn on_frame(&mut self, frame: Received) {
        match frame {
            Received::Headers { stream, fields, end_stream } => {
                self.on_head(stream, &fields, end_stream).await;
            }
            Received::Data { stream, data, end_stream } => self.on_data(stream, &data, end_stream).await,
            Received::Reset { stream, .. } => {
                self.open.remove(&stream);
            }
            Received::SettingsAck => self.acknowledged += 1,
            _ => {}
        }
    }

    async fn on_head(&mut self, stream: StreamId, head: &Fields, end_stream: bool) {
        self.judge.on_head(head);
        if self.limited && self.acknowledged >= 2 && !self.open.is_empty() {
            self.judge.blame("a second stream was opened although MAX_CONCURRENT_STREAMS is 1");
        }
        let path = value(head, ":path").unwrap_or_default();
        self.open.insert(stream, Call::new(&path, value(head, "grpc-encoding").as_deref()));
        if end_stream {
            self.on_end(stream).await;
        }
    }

    async fn on_data(&mut self, stream: StreamId, data: &[u8], end_stream: bool) {
        let judge = Arc::clone(&self.judge);
        // A call that was answered before its end is no longer open.
        let Some(call) = self.open.get_mut(&stream) else { return };
        if let Err(failed) = call.on_data(data, |flag| judge.on_message(flag)) {
            self.open.remove(&stream);
            self.judge.on_call(self.number);
            self.refuse(stream, &failed, end_stream).await;
        } else if end_stream {
            self.on_end(stream).await;
        }
    }

    async fn on_end(&mut self, stream: StreamId) {
        self.judge.on_call(self.number);
        if self.case == Case::MaxStreams {
            self.limit_streams().await;
        }
        let Some(call) = self.open.remove(&stream) else { return };
        let answer = call.answer();
        if answer.status != 0 {
            return self.refuse(stream, &answer, true).await;
        }
        self.answer(stream, &answer).await;
    }

    /// Sends the limit at the first call. At later ones gives the client time to break it before the answer: one that
    /// ignores the limit opens its next stream within a few milliseconds.
    async fn limit_streams(&mut self) {
        if !self.limited {
            self.limited = true;
            return self.peer.settings(&[Setting::MaxConcurrentStreams(1)]).await;
        }
        let end = Instant::now() + Duration::from_millis(20);
        while let Ok(Some(frame)) = timeout_at(end, self.peer.frame()).await {
            Box::pin(self.on_frame(frame)).await;
        }
    }

    /// Ends a call with a status and nothing else, before the client's end of it if need be (wire-rules 50, 51).
    async fn refuse(&mut self, stream: StreamId, answer: &Answer, ended: bool) {
        let status = answer.status.to_string();
        self.peer.trailers_only(stream, &[("grpc-status", &status)]).await;
        if !ended {
            self.peer.reset(stream, ErrorCode::NO_ERROR).await;
        }
    }

    async fn answer(&mut self, stream: StreamId, answer: &Answer) {
        let body = answer.body();
        let half = if self.case == Case::RstDuringData { body.len() / 2 } else { body.len() };
        if self.case == Case::GoAway {
            self.peer.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
        }
        self.ping().await;
        let compressed = answer.messages.iter().any(|&(_, compressed)| compressed);
        let encoding: &[(&str, &str)] = if compressed { &[("grpc-encoding", "gzip")] } else { &[] };
        self.peer.head(stream, encoding).await;
        if self.case == Case::RstAfterHeader {
            return self.peer.reset(stream, ErrorCode::NO_ERROR).await;
        }
        self.ping().await;
        self.peer.send_body(stream, &body[..half], false).await;
        if matches!(self.case, Case::RstDuringData | Case::RstAfterData) {
            return self.peer.reset(stream, ErrorCode::NO_ERROR).await;
        }
        self.ping().await;
        self.peer.trailers(stream, &[("grpc-status", "0")]).await;
    }

    /// In its case: sends PING, and waits for what answers it (RFC 9113 6.7).
    async fn ping(&mut self) {
        if self.case != Case::Ping {
            return;
        }
        self.pings += 1;
        let sent = self.pings.to_be_bytes();
        self.peer.ping(sent).await;
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            match timeout_at(end, self.peer.frame()).await {
                Ok(Some(Received::Ping { ack: true, payload })) if payload == sent => return,
                Ok(Some(frame)) => Box::pin(self.on_frame(frame)).await,
                Ok(None) | Err(_) => return self.judge.blame("a PING was not answered"),
            }
        }
    }
}
