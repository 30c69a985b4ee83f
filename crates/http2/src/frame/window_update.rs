//! WINDOW_UPDATE (RFC 9113, 6.9): lets the peer send more on a stream or on the connection.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A WINDOW_UPDATE frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct WindowUpdate {
    /// The stream, or 0 for the connection's window.
    pub stream: StreamId,
    /// Bytes added to the window, 1 to 2^31-1.
    pub increment: u32,
}

impl WindowUpdate {
    /// Reads the payload.
    ///
    /// # Errors
    /// FRAME_SIZE_ERROR for a length other than four (connection); PROTOCOL_ERROR for an increment of 0, which
    /// ends the stream, or the connection on stream 0 (RFC 9113, 6.9).
    // wire-rules 83
    #[inline]
    pub fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, FrameError> {
        // [9113-6.9-4]
        let Ok(increment) = payload.try_into() else {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "WINDOW_UPDATE is not 4 bytes long",
            ));
        };
        // The highest bit is reserved and ignored.
        let increment = u32::from_be_bytes(increment) & 0x7fff_ffff;
        // [9113-6.9-1]
        if increment == 0 {
            let reason = "WINDOW_UPDATE with an increment of 0";
            return Err(if header.stream.is_connection() {
                FrameError::connection(ErrorCode::PROTOCOL_ERROR, reason)
            } else {
                FrameError::stream(ErrorCode::PROTOCOL_ERROR, reason)
            });
        }
        Ok(Self { stream: header.stream, increment })
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.increment >= 1 && self.increment <= 0x7fff_ffff);
        FrameHeader { len: 4, kind: FrameType::WindowUpdate, flags: Flags::NONE, stream: self.stream }
            .encode(out);
        out.extend_from_slice(&self.increment.to_be_bytes());
    }
}
