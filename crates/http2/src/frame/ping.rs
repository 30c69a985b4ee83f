//! PING (RFC 9113, 6.7): eight bytes that the peer returns as they are.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A PING frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Ping {
    /// Answers a PING of ours.
    pub ack: bool,
    /// Opaque bytes; the answer repeats them.
    pub payload: [u8; 8],
}

impl Ping {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR off stream 0, FRAME_SIZE_ERROR for a length other than eight; both end the connection.
    pub fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, FrameError> {
        // [9113-6.7-4]
        if !header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "PING on a stream"));
        }
        // [9113-6.7-1]
        let Ok(payload) = payload.try_into() else {
            return Err(FrameError::connection(ErrorCode::FRAME_SIZE_ERROR, "PING is not 8 bytes long"));
        };
        Ok(Self { ack: header.flags.contains(Flags::ACK), payload })
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = Flags::NONE.with(Flags::ACK, self.ack);
        FrameHeader { len: 8, kind: FrameType::Ping, flags, stream: StreamId::CONNECTION }.encode(out);
        out.extend_from_slice(&self.payload);
    }
}
