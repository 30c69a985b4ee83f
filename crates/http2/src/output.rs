//! Octets on their way to the socket, gathered for one vectored write.
//!
//! Frames are appended to one vector; large payloads are linked in between by reference. Filled by the
//! connection's commands and by `schedule`, emptied by the owner of the socket.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::StreamId;
use crate::frame::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType};

/// The gathered output of a connection.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Frame headers, control frames and small payloads. What lies before `sent` has left.
    bytes: Vec<u8>,
    sent: usize,
    /// Each goes before `bytes[at]`; ascending; never empty.
    links: VecDeque<(usize, Bytes)>,
    /// Sum of the lengths of `links`.
    linked: usize,
    tail: Option<Tail>,
    /// Octets that have left since the connection began.
    taken: u64,
}

/// A DATA frame at the very end of the output, its header not yet sent, which can still grow or end its
/// stream.
#[derive(Clone, Copy, Debug)]
struct Tail {
    stream: StreamId,
    header_at: usize,
    payload: usize,
}

impl Output {
    /// Octets not yet taken.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "sent is a part of the octets")]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.linked
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the end of the output lies in the stream of octets of the connection; compare with
    /// [`taken`](Self::taken).
    #[expect(clippy::arithmetic_side_effects, reason = "64 bits count every octet a connection can move")]
    pub(crate) fn end_position(&self) -> u64 {
        self.taken + self.len() as u64
    }

    /// Octets taken since the connection began.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Fills `slices` with the front of the output; answers how many are filled.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "links lie within the octets and behind `sent`; `filled` was compared with the length"
    )]
    pub(crate) fn slices<'s>(&'s self, slices: &mut [IoSlice<'s>]) -> usize {
        let mut filled = 0;
        let mut at = self.sent;
        let mut links = self.links.iter();
        while filled < slices.len() {
            let link = links.next();
            let end = link.map_or(self.bytes.len(), |(at, _)| *at);
            if end > at {
                slices[filled] = IoSlice::new(&self.bytes[at..end]);
                filled += 1;
                at = end;
            }
            match link {
                Some((_, linked)) if filled < slices.len() => {
                    slices[filled] = IoSlice::new(linked);
                    filled += 1;
                }
                _ => break,
            }
        }
        filled
    }

    /// Takes `written` octets off the front; more than there are counts as all.
    #[expect(clippy::arithmetic_side_effects, reason = "at most as much as there is")]
    pub(crate) fn advance(&mut self, written: usize) {
        let mut left = written.min(self.len());
        self.taken += left as u64;
        while left > 0 {
            let end = self.links.front().map_or(self.bytes.len(), |(at, _)| *at);
            let plain = left.min(end - self.sent);
            self.sent += plain;
            left -= plain;
            let Some((_, link)) = self.links.front_mut() else { break };
            let part = left.min(link.len());
            link.advance(part);
            self.linked -= part;
            left -= part;
            if link.is_empty() {
                self.links.pop_front();
            }
        }
        if self.is_empty() {
            self.bytes.clear();
            // Only empty ones, if a writer broke its contract.
            self.links.clear();
            self.sent = 0;
            self.tail = None;
            return;
        }
        if self.tail.is_some_and(|tail| tail.header_at < self.sent) {
            self.tail = None;
        }
        if self.sent >= COMPACT_FROM && self.sent > self.bytes.len() / 2 {
            self.compact();
        }
    }

    /// The vector to append control frames and header blocks to; ends the frame that could still grow.
    #[inline]
    pub(crate) fn frames(&mut self) -> &mut Vec<u8> {
        self.tail = None;
        &mut self.bytes
    }

    /// Both buffers, for a [`DataWrite`](crate::DataWrite) that appends to the frame begun last.
    #[inline]
    pub(crate) fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        (&mut self.bytes, &mut self.links)
    }

    /// Lengths of both buffers, to roll back to.
    #[inline]
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.links.len())
    }

    /// Octets of the links from the one at `index` on. Most data has none: ask for their number first.
    #[cold]
    pub(crate) fn linked_from(&self, index: usize) -> usize {
        self.links.iter().skip(index).map(|(_, link)| link.len()).sum()
    }

    /// Counts `linked` octets of links that belong to a frame whose header is complete.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of what is in memory")]
    pub(crate) fn note_linked(&mut self, linked: usize) {
        self.linked += linked;
    }

    /// Drops what was appended since [`mark`](Self::mark) and never counted.
    pub(crate) fn roll_back(&mut self, (bytes, links): (usize, usize)) {
        self.bytes.truncate(bytes);
        self.links.truncate(links);
    }

    /// Appends room for a frame header; answers where it is.
    #[inline]
    pub(crate) fn reserve_header(&mut self) -> usize {
        let header_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; FRAME_HEADER_LEN]);
        header_at
    }

    /// The same, with room behind it for a payload of which most is likely to be copied.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "the length of a frame")]
    pub(crate) fn reserve_header_for(&mut self, payload: usize) -> usize {
        self.bytes.reserve(FRAME_HEADER_LEN + payload.min(LINK_FROM));
        self.reserve_header()
    }

    /// The header of a DATA frame of `stream` at the end of the output that can take `more` octets.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of frames")]
    pub(crate) fn growable(&self, stream: StreamId, more: usize, max_frame_size: usize) -> Option<usize> {
        let tail = self.tail.as_ref()?;
        (tail.stream == stream && tail.payload + more <= max_frame_size).then_some(tail.header_at)
    }

    /// Octets of the DATA frame of `stream` at the end of the output; 0 if that is no such frame.
    #[inline]
    pub(crate) fn tail_payload(&self, stream: StreamId) -> usize {
        self.tail.as_ref().filter(|tail| tail.stream == stream).map_or(0, |tail| tail.payload)
    }

    /// Completes a DATA frame that `len` octets were appended to, `linked` of them by reference: counts them
    /// and fills in the header. The frame is the tail from now on.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of what is in memory")]
    pub(crate) fn seal_data(&mut self, header_at: usize, stream: StreamId, len: usize, linked: usize) {
        self.linked += linked;
        let payload = self.payload_at(header_at) + len;
        self.fill_header(header_at, stream, payload, Flags::NONE);
        self.tail = Some(Tail { stream, header_at, payload });
    }

    /// As [`seal_data`](Self::seal_data), for a frame that ends its stream.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of what is in memory")]
    pub(crate) fn seal_last_data(&mut self, header_at: usize, stream: StreamId, len: usize, linked: usize) {
        self.linked += linked;
        let payload = self.payload_at(header_at) + len;
        self.fill_header(header_at, stream, payload, Flags::END_STREAM);
        self.tail = None;
    }

    /// Octets that the frame with its header there had so far.
    #[inline]
    fn payload_at(&self, header_at: usize) -> usize {
        self.tail.filter(|tail| tail.header_at == header_at).map_or(0, |tail| tail.payload)
    }

    /// Puts END_STREAM on the DATA frame of `stream` at the end of the output, or appends an empty one that
    /// has it.
    pub(crate) fn end_stream(&mut self, stream: StreamId) {
        let (header_at, payload) = match self.tail.take() {
            Some(tail) if tail.stream == stream => (tail.header_at, tail.payload),
            _ => (self.reserve_header(), 0),
        };
        self.fill_header(header_at, stream, payload, Flags::END_STREAM);
    }

    /// Appends payload: by reference if it is worth a slice of its own.
    pub(crate) fn push_payload(&mut self, payload: Bytes) -> usize {
        if payload.len() < LINK_FROM {
            self.bytes.extend_from_slice(&payload);
            0
        } else {
            let linked = payload.len();
            self.links.push_back((self.bytes.len(), payload));
            linked
        }
    }

    /// Gives unused memory back.
    pub(crate) fn trim(&mut self) {
        if self.is_empty() {
            self.bytes = Vec::new();
            self.links = VecDeque::new();
        }
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.bytes.capacity() + self.linked + self.links.capacity() * size_of::<(usize, Bytes)>()
    }

    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "a position in memory")]
    fn fill_header(&mut self, header_at: usize, stream: StreamId, payload: usize, flags: Flags) {
        let header = FrameHeader { len: payload as u32, kind: FrameType::Data, flags, stream };
        if let Some(room) = self.bytes.get_mut(header_at..header_at + FRAME_HEADER_LEN) {
            room.copy_from_slice(&header.to_bytes());
        }
    }

    /// Moves what is left to the front, so that a peer which never lets the output run dry cannot make it
    /// grow.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "what was sent lies before every link and before the tail"
    )]
    fn compact(&mut self) {
        self.bytes.drain(..self.sent);
        for (at, _) in &mut self.links {
            *at -= self.sent;
        }
        if let Some(tail) = &mut self.tail {
            tail.header_at -= self.sent;
        }
        self.sent = 0;
    }
}

/// Payload from this length on is linked instead of copied: below, a slice of its own in the vectored write
/// costs more than the copy.
pub(crate) const LINK_FROM: usize = 4 * 1024;

/// Sent octets are cut off the front once there are this many, and more than half of all.
const COMPACT_FROM: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId::new(1);

    fn gather(output: &Output) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 64];
        let filled = output.slices(&mut slices);
        slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect()
    }

    /// One DATA frame with `parts`, linked where large.
    fn data(output: &mut Output, parts: &[Vec<u8>]) {
        let header_at = output.reserve_header();
        let mut linked = 0;
        for part in parts {
            linked += output.push_payload(Bytes::from(part.clone()));
        }
        output.seal_data(header_at, STREAM, parts.iter().map(Vec::len).sum(), linked);
    }

    #[test]
    fn any_cut_of_the_output_leaves_the_same_octets() {
        let mut whole = Output::default();
        data(
            &mut whole,
            &[vec![1; 10], vec![2; LINK_FROM], vec![3; 5], vec![4; LINK_FROM + 1], vec![5; LINK_FROM]],
        );
        whole.frames().extend_from_slice(b"control");
        let expected = gather(&whole);
        assert_eq!(expected.len(), whole.len());
        for step in [61, 1000, LINK_FROM, LINK_FROM + 3, expected.len()] {
            let mut output = Output::default();
            data(
                &mut output,
                &[vec![1; 10], vec![2; LINK_FROM], vec![3; 5], vec![4; LINK_FROM + 1], vec![5; LINK_FROM]],
            );
            output.frames().extend_from_slice(b"control");
            let mut seen = Vec::new();
            while !output.is_empty() {
                let front = gather(&output);
                let step = step.min(front.len());
                seen.extend_from_slice(&front[..step]);
                output.advance(step);
            }
            assert_eq!(seen, expected);
            assert_eq!(output.taken(), expected.len() as u64);
        }
    }

    #[test]
    fn few_slices_give_a_front_part() {
        let mut output = Output::default();
        data(&mut output, &[vec![2; LINK_FROM], vec![3; LINK_FROM]]);
        let mut one = [IoSlice::new(&[])];
        assert_eq!(output.slices(&mut one), 1);
        assert_eq!(one[0].len(), FRAME_HEADER_LEN);
        assert_eq!(output.slices(&mut []), 0);
    }

    #[test]
    fn compaction_keeps_links_and_tail_in_place() {
        let mut output = Output::default();
        output.frames().extend_from_slice(&vec![9; COMPACT_FROM + 10]);
        data(&mut output, &[vec![1; 3], vec![2; LINK_FROM]]);
        let expected = gather(&output);
        output.advance(COMPACT_FROM + 5);
        assert_eq!(output.sent, 0);
        assert_eq!(gather(&output), expected[COMPACT_FROM + 5..]);
        let header_at = output.growable(STREAM, 1, 16_384).unwrap();
        assert_eq!(header_at, 5);
    }

    #[test]
    fn a_frame_whose_header_has_left_cannot_grow() {
        let mut output = Output::default();
        data(&mut output, &[vec![1; 100]]);
        assert!(output.growable(STREAM, 1, 16_384).is_some());
        assert!(output.growable(STREAM, 16_384, 16_384).is_none());
        assert!(output.growable(StreamId::new(3), 1, 16_384).is_none());
        output.advance(1);
        assert!(output.growable(STREAM, 1, 16_384).is_none());
        output.end_stream(STREAM);
        assert_eq!(output.len(), 108 + FRAME_HEADER_LEN);
    }
}
