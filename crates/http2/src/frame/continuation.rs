//! CONTINUATION (RFC 9113, 6.10): the rest of a field block that did not fit in one frame.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A CONTINUATION frame. That it follows the block it continues is for the connection to check.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Continuation<'a> {
    /// The stream, never 0.
    pub stream: StreamId,
    /// The next part of the field block.
    pub fragment: &'a [u8],
    /// The block is complete.
    pub end_headers: bool,
}

impl<'a> Continuation<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR on stream 0, which ends the connection.
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        // [9113-6.10-2]
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "CONTINUATION on stream 0"));
        }
        let end_headers = header.flags.contains(Flags::END_HEADERS);
        Ok(Self { stream: header.stream, fragment: payload, end_headers })
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = Flags::NONE.with(Flags::END_HEADERS, self.end_headers);
        let len = self.fragment.len() as u32;
        FrameHeader { len, kind: FrameType::Continuation, flags, stream: self.stream }.encode(out);
        out.extend_from_slice(self.fragment);
    }
}
