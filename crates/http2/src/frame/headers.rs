//! HEADERS (RFC 9113, 6.2): opens a stream or carries its trailers; the start of a field block.

use super::{
    Continuation, Dependency, FRAME_HEADER_LEN, Flags, FrameError, FrameHeader, FrameType, encode_padding,
    padded_len, strip_padding,
};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A HEADERS frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Headers<'a> {
    /// The stream, never 0.
    pub stream: StreamId,
    /// The deprecated priority fields; to be ignored (RFC 9113, 5.3.2).
    pub dependency: Option<Dependency>,
    /// The field block, or its first part.
    pub fragment: &'a [u8],
    /// The sender ends its side of the stream with this block.
    pub end_stream: bool,
    /// The block is complete; otherwise CONTINUATION of the same stream must follow at once.
    pub end_headers: bool,
    /// Bytes of padding, if the frame has a pad length field.
    pub padding: Option<u8>,
}

impl<'a> Headers<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// PROTOCOL_ERROR on stream 0 and for padding that does not fit (RFC 9113, 6.2); FRAME_SIZE_ERROR if the
    /// priority fields are cut off (4.2). All end the connection, since the compression state is lost.
    #[inline]
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        // [9113-6.2-1]
        if header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "HEADERS on stream 0"));
        }
        let (mut fragment, padding) = strip_padding(header.flags, payload)?;
        let mut dependency = None;
        if header.flags.contains(Flags::PRIORITY) {
            let Some((fields, rest)) = fragment.split_first_chunk() else {
                return Err(FrameError::connection(
                    ErrorCode::FRAME_SIZE_ERROR,
                    "HEADERS too short for its priority fields",
                ));
            };
            dependency = Some(Dependency::from_bytes(*fields));
            fragment = rest;
        }
        Ok(Self {
            stream: header.stream,
            dependency,
            fragment,
            end_stream: header.flags.contains(Flags::END_STREAM),
            end_headers: header.flags.contains(Flags::END_HEADERS),
            padding,
        })
    }

    /// Appends the frame to `out`.
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = Flags::NONE
            .with(Flags::END_STREAM, self.end_stream)
            .with(Flags::END_HEADERS, self.end_headers)
            .with(Flags::PADDED, self.padding.is_some())
            .with(Flags::PRIORITY, self.dependency.is_some());
        let priority = if self.dependency.is_some() { Dependency::LEN } else { 0 };
        let len = (padded_len(self.padding) + priority + self.fragment.len()) as u32;
        FrameHeader { len, kind: FrameType::Headers, flags, stream: self.stream }.encode(out);
        out.extend(self.padding);
        if let Some(dependency) = self.dependency {
            out.extend_from_slice(&dependency.to_bytes());
        }
        out.extend_from_slice(self.fragment);
        encode_padding(self.padding, out);
    }
}

/// Appends a field block as one HEADERS frame; it must not be longer than the peer's maximum.
// [9113-4.1-1] [9113-4.3-1]
#[inline]
#[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
pub fn append_whole_block(out: &mut Vec<u8>, stream: StreamId, block: &[u8], end_stream: bool) {
    let flags = Flags::END_HEADERS.with(Flags::END_STREAM, end_stream);
    let header = FrameHeader { len: block.len() as u32, kind: FrameType::Headers, flags, stream };
    out.reserve(FRAME_HEADER_LEN + block.len());
    header.encode(out);
    out.extend_from_slice(block);
}

/// Turns a field block that was encoded in place into frames.
///
/// The caller put [`FRAME_HEADER_LEN`] bytes of room at `out[start..]` and the block behind them, up to the end
/// of `out`. The room becomes the HEADERS header; a block above `max_frame_size` is opened up for
/// CONTINUATION headers, which moves bytes but is rare.
// [9113-4.1-1] [9113-4.3-1]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the caller put room and block into `out`: its own octets, none of the peer's"
)]
pub fn seal_block(out: &mut Vec<u8>, start: usize, stream: StreamId, end_stream: bool, max_frame_size: u32) {
    let max = max_frame_size as usize;
    let block = start + FRAME_HEADER_LEN;
    let len = out.len() - block;
    let whole = len <= max;
    let tail = if whole { Vec::new() } else { out.split_off(block + max) };
    let header = FrameHeader {
        len: len.min(max) as u32,
        kind: FrameType::Headers,
        flags: Flags::NONE.with(Flags::END_STREAM, end_stream).with(Flags::END_HEADERS, whole),
        stream,
    };
    out[start..block].copy_from_slice(&header.to_bytes());
    let mut parts = tail.chunks(max.max(1)).peekable();
    while let Some(fragment) = parts.next() {
        Continuation { stream, fragment, end_headers: parts.peek().is_none() }.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [9113-4.3-1]
    #[test]
    fn a_whole_block_is_the_frame_of_its_fields() {
        let stream = StreamId::new(7);
        for (block, end_stream) in [(&b""[..], false), (b"\x82\x84", true), (&[0x88; 40], false)] {
            let (mut whole, mut frame) = (b"before".to_vec(), b"before".to_vec());
            append_whole_block(&mut whole, stream, block, end_stream);
            let fragment = block;
            Headers { stream, fragment, end_stream, end_headers: true, padding: None, dependency: None }
                .encode(&mut frame);
            assert_eq!(whole, frame);
        }
    }
}
