//! PUSH_PROMISE (RFC 9113, 6.6): parsed so that a client can refuse it by name; gRPC never pushes.

use super::{Flags, FrameError, FrameHeader, FrameType, encode_padding, padded_len, strip_padding};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A PUSH_PROMISE frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct PushPromise<'a> {
    /// The stream that the promise belongs to, never 0.
    pub stream: StreamId,
    /// The stream that is promised, always one of a server's.
    pub promised: StreamId,
    /// The field block, or its first part.
    pub fragment: &'a [u8],
    /// The block is complete.
    pub end_headers: bool,
    /// Bytes of padding, if the frame has a pad length field.
    pub padding: Option<u8>,
}

impl<'a> PushPromise<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// All end the connection: PROTOCOL_ERROR on stream 0, for a promised stream that no server may begin
    /// (RFC 9113, 5.1.1) and for padding that does not fit (6.6), FRAME_SIZE_ERROR if the promised stream is
    /// cut off (4.2).
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "PUSH_PROMISE on stream 0"));
        }
        let (rest, padding) = strip_padding(header.flags, payload)?;
        let Some((promised, fragment)) = rest.split_first_chunk() else {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "PUSH_PROMISE too short for the promised stream",
            ));
        };
        let promised = StreamId::from_be_bytes(*promised);
        if !promised.is_server_initiated() {
            return Err(FrameError::connection(
                ErrorCode::PROTOCOL_ERROR,
                "PUSH_PROMISE of a stream that is not a server's",
            ));
        }
        let end_headers = header.flags.contains(Flags::END_HEADERS);
        Ok(Self { stream: header.stream, promised, fragment, end_headers, padding })
    }

    /// Appends the frame to `out`.
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = Flags::NONE
            .with(Flags::END_HEADERS, self.end_headers)
            .with(Flags::PADDED, self.padding.is_some());
        let len = (padded_len(self.padding) + 4 + self.fragment.len()) as u32;
        FrameHeader { len, kind: FrameType::PushPromise, flags, stream: self.stream }.encode(out);
        out.extend(self.padding);
        out.extend_from_slice(&self.promised.to_be_bytes());
        out.extend_from_slice(self.fragment);
        encode_padding(self.padding, out);
    }
}
