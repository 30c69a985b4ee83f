//! Frames of types that RFC 9113 does not define: skipped, so that extensions do not break us (5.5).

use super::{Flags, FrameHeader, FrameType};
use crate::stream_id::StreamId;

/// A frame of an unknown type. In the midst of a field block it is still a connection error (RFC 9113, 5.5).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Unknown<'a> {
    /// The type octet.
    pub kind: u8,
    /// The flags octet.
    pub flags: Flags,
    /// The stream, possibly 0.
    pub stream: StreamId,
    /// The payload.
    pub payload: &'a [u8],
}

impl Unknown<'_> {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (len, kind) = (self.payload.len() as u32, FrameType::Unknown(self.kind));
        FrameHeader { len, kind, flags: self.flags, stream: self.stream }.encode(out);
        out.extend_from_slice(self.payload);
    }
}
