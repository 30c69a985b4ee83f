//! What an attacker sees of the server's answer.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_testkit::{Peer, Received};

use crate::Line;

/// Everything that came back, counted.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The last GOAWAY: its code and debug text.
    pub go_away: Option<(ErrorCode, String)>,
    /// The server has closed the connection.
    pub closed: bool,
    /// RST_STREAM frames by code.
    pub resets: BTreeMap<u32, usize>,
    /// Header blocks with END_STREAM by `grpc-status`, `-` without one.
    pub statuses: BTreeMap<String, usize>,
    /// DATA frames.
    pub data_frames: usize,
    /// Bytes in them.
    pub data_bytes: usize,
    /// Other frames.
    pub others: usize,
    /// What the attack wants to be said beside: a figure of its own.
    pub note: String,
}

/// How long an attacker waits for the server's last words. A server that closes gives its peer a second to read
/// them; one that does not close says nothing within it.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a look at what has come so far takes. In virtual time, until nothing else can run.
const GLANCE: Duration = Duration::from_millis(1);

impl Seen {
    /// Reads what has come so far.
    pub async fn glance(&mut self, peer: &mut Peer<Line>) {
        self.read(peer, GLANCE).await;
    }

    /// Reads up to the next DATA frame, or to the server's goodbye.
    pub(crate) async fn next_data(&mut self, peer: &mut Peer<Line>) {
        let before = self.data_frames;
        while self.data_frames == before && !self.is_over() {
            match tokio::time::timeout(PATIENCE, peer.frame()).await {
                Ok(Some(frame)) => self.count(frame),
                Ok(None) => self.closed = true,
                Err(_nothing_comes) => return,
            }
        }
    }

    /// The server has said goodbye or has closed.
    pub(crate) fn is_over(&self) -> bool {
        self.closed || self.go_away.is_some()
    }

    /// Reads until the server has closed or has nothing more to say.
    pub async fn to_the_end(mut self, peer: &mut Peer<Line>) -> Self {
        self.read(peer, PATIENCE).await;
        self
    }

    async fn read(&mut self, peer: &mut Peer<Line>, patience: Duration) {
        while !self.closed {
            match tokio::time::timeout(patience, peer.frame()).await {
                Ok(Some(frame)) => self.count(frame),
                Ok(None) => self.closed = true,
                Err(_nothing_more) => return,
            }
        }
    }

    fn count(&mut self, frame: Received) {
        match frame {
            Received::GoAway { code, debug, .. } => {
                self.go_away = Some((code, String::from_utf8_lossy(&debug).into_owned()));
            }
            Received::Reset { code, .. } => *self.resets.entry(code.0).or_default() += 1,
            Received::Headers { fields, end_stream: true, .. } => {
                let status = fields.iter().find(|(name, _)| name == "grpc-status");
                let status = status
                    .map_or_else(|| "-".to_owned(), |(_, value)| String::from_utf8_lossy(value).into_owned());
                *self.statuses.entry(status).or_default() += 1;
            }
            Received::Data { data, .. } => {
                self.data_frames += 1;
                self.data_bytes += data.len();
            }
            _ => self.others += 1,
        }
    }

    /// RST_STREAM frames with this code.
    pub fn resets_with(&self, code: ErrorCode) -> usize {
        self.resets.get(&code.0).copied().unwrap_or(0)
    }

    /// Calls that ended with this `grpc-status`.
    pub fn ended_with(&self, status: u32) -> usize {
        self.statuses.get(&status.to_string()).copied().unwrap_or(0)
    }
}

/// The words of the table: `GOAWAY ENHANCE_YOUR_CALM resets_received; closed; 12 x RST_STREAM CANCEL`.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((code, debug)) = &self.go_away {
            parts.push(format!("GOAWAY {} {debug}", name(*code)));
        }
        parts.push(if self.closed { "closed" } else { "open" }.to_owned());
        parts.extend(
            self.resets
                .iter()
                .map(|(code, count)| format!("{count} x RST_STREAM {}", name(ErrorCode(*code)))),
        );
        parts.extend(self.statuses.iter().map(|(status, count)| format!("{count} x status {status}")));
        if self.data_frames > 0 {
            parts.push(format!("{} bytes in {} DATA", self.data_bytes, self.data_frames));
        }
        if !self.note.is_empty() {
            parts.push(self.note.clone());
        }
        f.write_str(&parts.join("; "))
    }
}

fn name(code: ErrorCode) -> String {
    code.name().map_or_else(|| code.0.to_string(), str::to_owned)
}
