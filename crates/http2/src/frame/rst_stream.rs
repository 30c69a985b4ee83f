//! RST_STREAM (RFC 9113, 6.4): ends a stream at once, in both directions.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// An RST_STREAM frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct RstStream {
    /// The stream, never 0.
    pub stream: StreamId,
    /// Why it ends.
    pub code: ErrorCode,
}

impl RstStream {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR on stream 0, FRAME_SIZE_ERROR for a length other than four; both end the connection.
    pub fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, FrameError> {
        // [9113-6.4-2]
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "RST_STREAM on stream 0"));
        }
        // [9113-6.4-4]
        let Ok(code) = payload.try_into() else {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "RST_STREAM is not 4 bytes long",
            ));
        };
        Ok(Self { stream: header.stream, code: ErrorCode(u32::from_be_bytes(code)) })
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        FrameHeader { len: 4, kind: FrameType::RstStream, flags: Flags::NONE, stream: self.stream }
            .encode(out);
        out.extend_from_slice(&self.code.0.to_be_bytes());
    }
}
