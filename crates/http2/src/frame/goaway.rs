//! GOAWAY (RFC 9113, 6.8): no new streams; says which of the old ones were not lost.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A GOAWAY frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct GoAway<'a> {
    /// The highest stream that the sender may have acted upon.
    pub last_stream: StreamId,
    /// Why the connection ends.
    pub code: ErrorCode,
    /// Text for people; may be anything.
    pub debug: &'a [u8],
}

impl<'a> GoAway<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR off stream 0, FRAME_SIZE_ERROR below eight bytes; both end the connection.
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        // [9113-6.8-2]
        if !header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "GOAWAY on a stream"));
        }
        let Some((&[s0, s1, s2, s3, c0, c1, c2, c3], debug)) = payload.split_first_chunk() else {
            return Err(FrameError::connection(ErrorCode::FRAME_SIZE_ERROR, "GOAWAY shorter than 8 bytes"));
        };
        Ok(Self {
            last_stream: StreamId::from_be_bytes([s0, s1, s2, s3]),
            code: ErrorCode(u32::from_be_bytes([c0, c1, c2, c3])),
            debug,
        })
    }

    /// Appends the frame to `out`. The debug text must leave the frame below the peer's maximum frame size.
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let len = (8 + self.debug.len()) as u32;
        FrameHeader { len, kind: FrameType::GoAway, flags: Flags::NONE, stream: StreamId::CONNECTION }
            .encode(out);
        out.extend_from_slice(&self.last_stream.to_be_bytes());
        out.extend_from_slice(&self.code.0.to_be_bytes());
        out.extend_from_slice(self.debug);
    }
}
