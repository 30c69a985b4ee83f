//! An encoded block kept for reuse: the heads and trailers that a service sends again and again.

use std::fmt;

use crate::frame::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType};
use crate::stream_id::StreamId;

/// A field block as it was encoded for one state of one encoder's table.
///
/// Filled and reused by [`Encoder::encode_cached`](super::Encoder::encode_cached) for fields that never change.
/// It may be used with several connections in turn, but then holds the block of the last one only.
#[derive(Default)]
pub struct CachedBlock {
    /// The block as a HEADERS frame of stream 0, and behind it room for the header of another frame, so that a request
    /// can be copied as a whole.
    framed: Vec<u8>,
    state: Option<EncoderState>,
}

/// Which encoder, and which of its table's states.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) struct EncoderState {
    pub(super) encoder: u64,
    pub(super) generation: u64,
}

impl CachedBlock {
    /// The bytes, if they mean in `state` what they meant when they were kept.
    #[inline]
    pub(super) fn get(&self, state: EncoderState) -> Option<&[u8]> {
        self.framed(state)
            .and_then(|framed| framed.get(FRAME_HEADER_LEN..framed.len().checked_sub(FRAME_HEADER_LEN)?))
    }

    /// As [`get`](Self::get), with the header of its frame before it, which lacks the stream and the end of that, and room
    /// for another header behind it.
    #[inline]
    pub(super) fn framed(&self, state: EncoderState) -> Option<&[u8]> {
        (self.state == Some(state)).then_some(&self.framed)
    }

    pub(super) fn keep(&mut self, state: EncoderState, block: &[u8]) {
        self.framed.clear();
        let (len, kind, flags) = (block.len() as u32, FrameType::Headers, Flags::END_HEADERS);
        let header = FrameHeader { len, kind, flags, stream: StreamId::CONNECTION };
        for part in [&header.to_bytes(), block, &[0; FRAME_HEADER_LEN]] {
            self.framed.extend_from_slice(part);
        }
        self.state = Some(state);
    }
}

impl fmt::Debug for CachedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedBlock")
            .field("len", &self.framed.len().saturating_sub(2 * FRAME_HEADER_LEN))
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_counts_the_block_without_its_room() {
        let mut cached = CachedBlock::default();
        assert!(format!("{cached:?}").contains("len: 0,"));
        cached.keep(EncoderState { encoder: 1, generation: 2 }, &[0x88; 5]);
        assert!(format!("{cached:?}").contains("len: 5,"));
    }
}
