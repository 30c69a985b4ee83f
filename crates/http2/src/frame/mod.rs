//! Frames: one file a type. `parse` reads a complete payload in place, `encode` appends a whole frame.
//!
//! The connection reads a [`FrameHeader`], checks its length, waits for the payload and hands both to
//! [`Frame::parse`]. What a frame alone can show to be wrong is refused here, with the section that forbids it;
//! what depends on the state of a stream or of the connection is for the connection to judge.
//! Test peers that script single frames use the same types.

mod continuation;
mod data;
mod goaway;
mod head;
mod headers;
mod ping;
mod priority;
mod push_promise;
mod rst_stream;
mod settings;
mod unknown;
mod window_update;

use std::fmt;

pub use self::{
    continuation::Continuation,
    data::Data,
    goaway::GoAway,
    head::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType, MAX_MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE},
    headers::{Headers, append_whole_block, seal_block},
    ping::Ping,
    priority::{Dependency, Priority},
    push_promise::PushPromise,
    rst_stream::RstStream,
    settings::{Setting, Settings},
    unknown::Unknown,
    window_update::WindowUpdate,
};
use crate::error_code::ErrorCode;

/// A frame whose payload still lies in the read buffer.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Frame<'a> {
    /// DATA
    Data(Data<'a>),
    /// HEADERS
    Headers(Headers<'a>),
    /// PRIORITY
    Priority(Priority),
    /// RST_STREAM
    RstStream(RstStream),
    /// SETTINGS
    Settings(Settings<'a>),
    /// PUSH_PROMISE
    PushPromise(PushPromise<'a>),
    /// PING
    Ping(Ping),
    /// GOAWAY
    GoAway(GoAway<'a>),
    /// WINDOW_UPDATE
    WindowUpdate(WindowUpdate),
    /// CONTINUATION
    Continuation(Continuation<'a>),
    /// Any other type
    Unknown(Unknown<'a>),
}

impl<'a> Frame<'a> {
    /// Reads the frame announced by `header` from exactly its payload.
    ///
    /// # Errors
    /// A [`FrameError`] for what RFC 9113, 6 forbids whatever the state of stream and connection.
    #[inline]
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        debug_assert_eq!(header.len as usize, payload.len());
        Ok(match header.kind {
            FrameType::Data => Self::Data(Data::parse(header, payload)?),
            FrameType::Headers => Self::Headers(Headers::parse(header, payload)?),
            FrameType::Priority => Self::Priority(Priority::parse(header, payload)?),
            FrameType::RstStream => Self::RstStream(RstStream::parse(header, payload)?),
            FrameType::Settings => Self::Settings(Settings::parse(header, payload)?),
            FrameType::PushPromise => Self::PushPromise(PushPromise::parse(header, payload)?),
            FrameType::Ping => Self::Ping(Ping::parse(header, payload)?),
            FrameType::GoAway => Self::GoAway(GoAway::parse(header, payload)?),
            FrameType::WindowUpdate => Self::WindowUpdate(WindowUpdate::parse(header, payload)?),
            FrameType::Continuation => Self::Continuation(Continuation::parse(header, payload)?),
            FrameType::Unknown(kind) => {
                Self::Unknown(Unknown { kind, flags: header.flags, stream: header.stream, payload })
            }
        })
    }

    /// Appends the whole frame to `out`. Its payload must fit in the peer's maximum frame size.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(frame) => frame.encode(out),
            Self::Headers(frame) => frame.encode(out),
            Self::Priority(frame) => frame.encode(out),
            Self::RstStream(frame) => frame.encode(out),
            Self::Settings(frame) => frame.encode(out),
            Self::PushPromise(frame) => frame.encode(out),
            Self::Ping(frame) => frame.encode(out),
            Self::GoAway(frame) => frame.encode(out),
            Self::WindowUpdate(frame) => frame.encode(out),
            Self::Continuation(frame) => frame.encode(out),
            Self::Unknown(frame) => frame.encode(out),
        }
    }
}

/// A frame that breaks a rule of RFC 9113 on its own.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct FrameError {
    /// What to tell the peer.
    pub code: ErrorCode,
    /// What is lost: the connection or the frame's stream.
    pub scope: ErrorScope,
    /// The rule that was broken, for GOAWAY debug data and logs.
    pub reason: &'static str,
}

impl FrameError {
    pub(crate) const fn connection(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, scope: ErrorScope::Connection, reason }
    }

    pub(crate) const fn stream(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, scope: ErrorScope::Stream, reason }
    }

    /// True if the connection must be closed with GOAWAY (RFC 9113, 5.4.1).
    pub fn is_connection(&self) -> bool {
        self.scope == ErrorScope::Connection
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.reason)
    }
}

impl std::error::Error for FrameError {}

/// How far an error reaches (RFC 9113, 5.4).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ErrorScope {
    /// The connection ends with GOAWAY.
    Connection,
    /// Only the frame's stream ends, with RST_STREAM; the connection goes on.
    Stream,
}

/// Takes padding off a payload whose PADDED flag may be set (RFC 9113, 6.1): the rest and the pad length.
///
/// Padding as long as what is left, or longer, is a connection error. Its bytes are not looked at: a receiver
/// is not obliged to verify them.
// [9113-6.1-3] [9113-6.2-2]
#[inline]
fn strip_padding(flags: Flags, payload: &[u8]) -> Result<(&[u8], Option<u8>), FrameError> {
    if !flags.contains(Flags::PADDED) {
        return Ok((payload, None));
    }
    let Some((&pad, rest)) = payload.split_first() else {
        return Err(FrameError::connection(ErrorCode::FRAME_SIZE_ERROR, "padded frame without a pad length"));
    };
    let Some(rest) = rest.len().checked_sub(usize::from(pad)).and_then(|len| rest.get(..len)) else {
        return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "padding longer than the frame"));
    };
    Ok((rest, Some(pad)))
}

/// Length that an optional pad length octet and the padding add to a payload.
#[expect(clippy::arithmetic_side_effects, reason = "an octet and 1")]
const fn padded_len(padding: Option<u8>) -> usize {
    match padding {
        Some(pad) => pad as usize + 1,
        None => 0,
    }
}

// [9113-6.1-5]
#[expect(clippy::arithmetic_side_effects, reason = "a length in memory and an octet")]
fn encode_padding(padding: Option<u8>, out: &mut Vec<u8>) {
    out.resize(out.len() + usize::from(padding.unwrap_or(0)), 0);
}

#[cfg(test)]
mod tests;
