//! DATA (RFC 9113, 6.1): bytes of a stream, the only frame under flow control.

use super::{Flags, FrameError, FrameHeader, FrameType, encode_padding, padded_len, strip_padding};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A DATA frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Data<'a> {
    /// The stream, never 0.
    pub stream: StreamId,
    /// The bytes without padding; may be empty.
    pub data: &'a [u8],
    /// The sender ends its side of the stream.
    pub end_stream: bool,
    /// Bytes of padding, if the frame has a pad length field.
    pub padding: Option<u8>,
}

impl<'a> Data<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR on stream 0 and for padding that does not fit (RFC 9113, 6.1).
    #[inline]
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        // [9113-6.1-1]
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "DATA on stream 0"));
        }
        let (data, padding) = strip_padding(header.flags, payload)?;
        let end_stream = header.flags.contains(Flags::END_STREAM);
        Ok(Self { stream: header.stream, data, end_stream, padding })
    }

    /// What the frame takes from both windows: data, pad length field and padding (RFC 9113, 6.9.1).
    // wire-rules 85
    // [9113-6.1-4]
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of parts of one buffer")]
    pub const fn flow_controlled_len(&self) -> usize {
        self.data.len() + padded_len(self.padding)
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags =
            Flags::NONE.with(Flags::END_STREAM, self.end_stream).with(Flags::PADDED, self.padding.is_some());
        let len = self.flow_controlled_len() as u32;
        FrameHeader { len, kind: FrameType::Data, flags, stream: self.stream }.encode(out);
        out.extend(self.padding);
        out.extend_from_slice(self.data);
        encode_padding(self.padding, out);
    }
}
