//! PRIORITY (RFC 9113, 6.3): deprecated; its form is checked, its content ignored.

use super::{Flags, FrameError, FrameHeader, FrameType};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A PRIORITY frame. Legal in every state of a stream, idle and closed included.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Priority {
    /// The stream, never 0.
    pub stream: StreamId,
    /// The fields.
    pub dependency: Dependency,
}

impl Priority {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR on stream 0 (connection); FRAME_SIZE_ERROR for a length other than five (stream).
    pub fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, FrameError> {
        // [9113-6.3-1]
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "PRIORITY on stream 0"));
        }
        // [9113-6.3-2]
        let Ok(fields) = payload.try_into() else {
            return Err(FrameError::stream(ErrorCode::FRAME_SIZE_ERROR, "PRIORITY is not 5 bytes long"));
        };
        Ok(Self { stream: header.stream, dependency: Dependency::from_bytes(fields) })
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let len = Dependency::LEN as u32;
        FrameHeader { len, kind: FrameType::Priority, flags: Flags::NONE, stream: self.stream }.encode(out);
        out.extend_from_slice(&self.dependency.to_bytes());
    }
}

/// The priority fields of PRIORITY and HEADERS (RFC 7540, 6.3; deprecated by RFC 9113, 5.3.2).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Dependency {
    /// Whether the stream wants to be the only child of its parent.
    pub exclusive: bool,
    /// The parent.
    pub parent: StreamId,
    /// The weight less one, as on the wire.
    pub weight: u8,
}

impl Dependency {
    /// Length on the wire in bytes.
    pub const LEN: usize = 5;

    pub(super) const fn from_bytes([p0, p1, p2, p3, weight]: [u8; Self::LEN]) -> Self {
        Self { exclusive: p0 & 0x80 != 0, parent: StreamId::from_be_bytes([p0, p1, p2, p3]), weight }
    }

    pub(super) const fn to_bytes(self) -> [u8; Self::LEN] {
        let [p0, p1, p2, p3] = self.parent.to_be_bytes();
        let exclusive = if self.exclusive { 0x80 } else { 0 };
        [p0 | exclusive, p1, p2, p3, self.weight]
    }
}
