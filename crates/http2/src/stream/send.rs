//! Stream data that waits for windows or for its turn. Filled by [`DataWrite`](crate::DataWrite), emptied by
//! `schedule`.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::output::{LINK_FROM, Output};

/// The queue of one stream: one word and no heap while it is empty, as it is for most streams all their life.
#[derive(Debug, Default)]
pub(crate) struct SendQueue(Option<Box<Parts>>);

/// A queue with something in it.
#[derive(Debug, Default)]
struct Parts {
    /// The front: large parts, ready to be linked into frames.
    chunks: VecDeque<Bytes>,
    /// Behind the chunks: octets as they were written. What lies before `start` has left.
    bytes: Vec<u8>,
    start: usize,
    /// Each goes before `bytes[at]`; ascending.
    links: VecDeque<(usize, Bytes)>,
    /// Octets in all three.
    len: usize,
    /// Lengths of the writes that have not left completely, and how much of the first one has: whether
    /// dropping the queue would cut a message.
    writes: VecDeque<usize>,
    first_sent: usize,
}

impl SendQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |parts| parts.len)
    }

    /// Whether there is no memory to give back.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.0.is_none()
    }

    /// Both buffers, for a `DataWrite`.
    pub(crate) fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        let parts = self.0.get_or_insert_default();
        (&mut parts.bytes, &mut parts.links)
    }

    /// Lengths of both buffers, to roll back to.
    pub(crate) fn mark(&self) -> (usize, usize) {
        self.0.as_ref().map_or((0, 0), |parts| (parts.bytes.len(), parts.links.len()))
    }

    /// Drops what was appended since [`mark`](Self::mark) and never counted.
    pub(crate) fn roll_back(&mut self, (bytes, links): (usize, usize)) {
        if let Some(parts) = &mut self.0 {
            parts.bytes.truncate(bytes);
            parts.links.truncate(links);
            self.free_if_empty();
        }
    }

    /// Counts one write of `len` octets that were appended to the buffers.
    #[expect(clippy::arithmetic_side_effects, reason = "a sum of lengths in memory")]
    pub(crate) fn on_written(&mut self, len: usize) {
        if let Some(parts) = &mut self.0
            && len > 0
        {
            parts.len += len;
            parts.writes.push_back(len);
        }
        self.free_if_empty();
    }

    /// Moves `len` octets, which must be there, to the end of `output`; answers how many went by reference.
    pub(crate) fn take_into(&mut self, len: usize, output: &mut Output) -> usize {
        debug_assert!(len <= self.len());
        let linked = self.0.as_mut().map_or(0, |parts| parts.take_into(len.min(parts.len), output));
        self.free_if_empty();
        linked
    }

    /// Drops everything. True if the front of a write has left and its rest has not.
    pub(crate) fn discard(&mut self) -> bool {
        self.0.take().is_some_and(|parts| parts.first_sent > 0)
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.0.as_ref().map_or(0, |parts| {
            size_of::<Parts>()
                + parts.bytes.capacity()
                + parts
                    .chunks
                    .iter()
                    .chain(parts.links.iter().map(|(_, link)| link))
                    .map(Bytes::len)
                    .sum::<usize>()
                + parts.chunks.capacity() * size_of::<Bytes>()
                + parts.links.capacity() * size_of::<(usize, Bytes)>()
                + parts.writes.capacity() * size_of::<usize>()
        })
    }

    fn free_if_empty(&mut self) {
        if self.is_empty() {
            self.0 = None;
        }
    }
}

impl Parts {
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "links lie within the octets and behind `start`; no more is taken than is left"
    )]
    fn take_into(&mut self, len: usize, output: &mut Output) -> usize {
        let mut linked = 0;
        let mut left = len;
        self.on_taken(len);
        if self.chunks.is_empty() && self.bytes.len() - self.start >= FREEZE_FROM {
            self.freeze();
        }
        while left > 0 {
            if let Some(chunk) = self.chunks.front_mut() {
                let part = left.min(chunk.len());
                linked += output.push_payload(chunk.split_to(part));
                if chunk.is_empty() {
                    self.chunks.pop_front();
                }
                left -= part;
                continue;
            }
            let end = self.links.front().map_or(self.bytes.len(), |(at, _)| *at);
            let plain = left.min(end - self.start);
            output.buffers().0.extend_from_slice(&self.bytes[self.start..self.start + plain]);
            self.start += plain;
            left -= plain;
            if left == 0 {
                break;
            }
            let Some((_, link)) = self.links.front_mut() else { break };
            let part = left.min(link.len());
            linked += output.push_payload(link.split_to(part));
            if link.is_empty() {
                self.links.pop_front();
            }
            left -= part;
        }
        linked
    }

    /// Gives the vector away to shared chunks, so that its octets reach the socket without another copy.
    #[expect(clippy::arithmetic_side_effects, reason = "links lie within the octets, in ascending order")]
    fn freeze(&mut self) {
        let mut frozen = Bytes::from(std::mem::take(&mut self.bytes));
        frozen.advance(self.start);
        let mut cut = self.start;
        self.start = 0;
        for (at, link) in std::mem::take(&mut self.links) {
            if at > cut {
                self.chunks.push_back(frozen.split_to(at - cut));
                cut = at;
            }
            self.chunks.push_back(link);
        }
        if !frozen.is_empty() {
            self.chunks.push_back(frozen);
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "no more is taken than there is")]
    fn on_taken(&mut self, len: usize) {
        self.len -= len;
        self.first_sent += len;
        while let Some(&first) = self.writes.front()
            && self.first_sent >= first
        {
            self.first_sent -= first;
            self.writes.pop_front();
        }
    }
}

/// Octets in the vector from which on it is given away instead of copied frame by frame.
const FREEZE_FROM: usize = 4 * LINK_FROM;

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::*;

    fn gather(output: &Output) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 256];
        let filled = output.slices(&mut slices);
        slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect()
    }

    /// Writes of `plain` octets, a link of `linked` octets and `plain` octets again; answers the octet
    /// stream.
    fn write(queue: &mut SendQueue, plain: usize, linked: usize, seed: u8) -> Vec<u8> {
        let link: Vec<u8> = (0..linked).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect();
        let text: Vec<u8> = (0..plain).map(|at| (at as u8).wrapping_mul(17) ^ seed).collect();
        let (bytes, links) = queue.buffers();
        bytes.extend_from_slice(&text);
        if linked > 0 {
            links.push_back((bytes.len(), Bytes::from(link.clone())));
        }
        bytes.extend_from_slice(&text);
        queue.on_written(2 * plain + linked);
        [&text[..], &link, &text].concat()
    }

    #[test]
    fn octets_leave_in_order_whatever_their_way() {
        for plain in [0, 3, LINK_FROM, FREEZE_FROM] {
            for linked in [0, 5, LINK_FROM, 3 * FREEZE_FROM] {
                for step in [61, 1000, 16_384, 1 << 20] {
                    let mut queue = SendQueue::default();
                    let mut expected = write(&mut queue, plain, linked, 1);
                    expected.extend(write(&mut queue, plain, linked, 2));
                    let mut seen = Vec::new();
                    let mut more = true;
                    while !queue.is_empty() {
                        let mut output = Output::default();
                        let header_at = output.reserve_header();
                        let len = step.min(queue.len());
                        let by_reference = queue.take_into(len, &mut output);
                        output.seal_data(header_at, crate::StreamId::new(1), len, by_reference);
                        assert_eq!(output.len(), 9 + len, "what is said to go by reference does");
                        let taken = gather(&output);
                        assert_eq!(taken.len(), 9 + len, "as much as was asked for");
                        seen.extend_from_slice(&taken[9..]);
                        if more {
                            expected.extend(write(&mut queue, plain, linked, 3));
                            more = false;
                        }
                    }
                    assert!(seen == expected, "plain {plain}, linked {linked}, step {step}");
                    assert!(queue.0.is_none());
                }
            }
        }
    }

    #[test]
    fn many_octets_are_given_away_and_few_are_copied() {
        let by_reference = |written: usize, first: usize| {
            let mut queue = SendQueue::default();
            write(&mut queue, written / 2, 0, 1);
            queue.take_into(first, &mut Output::default());
            let rest = queue.len();
            queue.take_into(rest, &mut Output::default())
        };
        assert_eq!(by_reference(FREEZE_FROM - 2, 0), 0);
        assert_eq!(by_reference(FREEZE_FROM, 0), FREEZE_FROM);
        // What has left before does not count.
        assert_eq!(by_reference(FREEZE_FROM - 2, 4), 0);
        // A first take of nothing has already given all away, in parts that are linked if they are worth it.
        assert_eq!(by_reference(FREEZE_FROM, 4), FREEZE_FROM - 4);
    }

    #[test]
    fn a_write_that_is_taken_back_leaves_no_trace() {
        let mut queue = SendQueue::default();
        let expected = write(&mut queue, 5, LINK_FROM, 1);
        let mark = queue.mark();
        let (bytes, links) = queue.buffers();
        bytes.extend_from_slice(b"unsent");
        links.push_back((bytes.len(), Bytes::from_static(b"unsent")));
        queue.roll_back(mark);
        let mut output = Output::default();
        let header_at = output.reserve_header();
        let linked = queue.take_into(expected.len(), &mut output);
        output.seal_data(header_at, crate::StreamId::new(1), expected.len(), linked);
        assert_eq!(gather(&output)[9..], expected);
        assert!(queue.0.is_none());
        // The first write of all, too.
        queue.buffers().0.extend_from_slice(b"unsent");
        queue.roll_back((0, 0));
        assert!(queue.0.is_none());
    }

    #[test]
    fn discarding_tells_whether_a_write_is_cut() {
        let take = |len| {
            let mut queue = SendQueue::default();
            write(&mut queue, 5, 0, 1);
            write(&mut queue, 5, 0, 1);
            queue.take_into(len, &mut Output::default());
            queue.discard()
        };
        assert_eq!([0, 1, 9, 10, 11, 19, 20].map(take), [false, true, true, false, true, true, false]);
    }
}
