//! Room for one message that a codec writes: small pieces are copied into a
//! byte buffer, large shared ones are linked by reference (wire-rules B5, Z2).

#![allow(unsafe_code, reason = "BufMut is an unsafe trait; see the SAFETY note on its impl")]

use std::collections::VecDeque;

use bytes::buf::UninitSlice;
use bytes::{Buf, BufMut, Bytes};

/// Where a codec writes one message; implements [`BufMut`].
///
/// The byte stream is `bytes` with each link `(at, piece)` spliced in before
/// `bytes[at]`; links are in ascending order of `at`.
#[derive(Debug)]
pub struct EncodeBuf<'a> {
    bytes: &'a mut Vec<u8>,
    links: &'a mut VecDeque<(usize, Bytes)>,
    /// Length of `bytes` when the message began.
    start: usize,
    /// Bytes linked since then.
    linked: usize,
}

impl<'a> EncodeBuf<'a> {
    /// Appends to `bytes` and `links`, which may hold earlier output.
    #[inline]
    pub fn new(bytes: &'a mut Vec<u8>, links: &'a mut VecDeque<(usize, Bytes)>) -> Self {
        let start = bytes.len();
        Self { bytes, links, start, linked: 0 }
    }

    /// Appends a copy of `slice`.
    ///
    /// The same as [`BufMut::put_slice`], for those who have not imported that.
    #[inline]
    pub fn put_slice(&mut self, slice: &[u8]) {
        self.bytes.extend_from_slice(slice);
    }

    /// Appends `piece`: by reference from [`LINK_THRESHOLD`] bytes on, else a copy.
    #[inline]
    pub fn put_shared(&mut self, piece: Bytes) {
        if piece.len() < LINK_THRESHOLD {
            self.bytes.extend_from_slice(&piece);
        } else {
            self.link(piece);
        }
    }

    /// Appends `piece`, which is not empty, by reference.
    pub(crate) fn link(&mut self, piece: Bytes) {
        self.linked += piece.len();
        self.links.push_back((self.bytes.len(), piece));
    }

    /// Appends another byte stream of the same form.
    pub(crate) fn append(&mut self, bytes: &[u8], links: &mut VecDeque<(usize, Bytes)>) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if links.is_empty() {
            return;
        }
        for (at, piece) in links.drain(..) {
            self.linked += piece.len();
            self.links.push_back((shift + at, piece));
        }
    }

    /// Bytes written so far, links included.
    #[inline]
    pub fn written(&self) -> usize {
        self.bytes.len() - self.start + self.linked
    }
}

// SAFETY: every method that `BufMut` trusts (`remaining_mut`, `advance_mut`,
// `chunk_mut`) is passed on to the implementation for `Vec<u8>`, on the one
// vector this type holds exclusively; the other methods are safe code.
unsafe impl BufMut for EncodeBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.bytes.remaining_mut()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, count: usize) {
        // SAFETY: the caller's promise, that `count` bytes of `chunk_mut` are
        // initialised, is about the vector's own spare capacity.
        unsafe { self.bytes.advance_mut(count) }
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        self.bytes.chunk_mut()
    }

    /// Links a large [`Bytes`] by reference; anything else is copied.
    ///
    /// `T` is not `'static`, so it cannot be asked whether it is `Bytes`. Its
    /// size tells well enough: a stranger of the same size is still written
    /// right, through one copy of its own.
    #[inline]
    fn put<T: Buf>(&mut self, mut source: T) {
        if size_of::<T>() == size_of::<Bytes>() && source.remaining() >= LINK_THRESHOLD {
            let len = source.remaining();
            self.put_shared(source.copy_to_bytes(len));
        } else {
            self.bytes.put(source);
        }
    }

    #[inline]
    fn put_slice(&mut self, slice: &[u8]) {
        self.bytes.extend_from_slice(slice);
    }

    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    #[inline]
    fn put_bytes(&mut self, value: u8, count: usize) {
        self.bytes.put_bytes(value, count);
    }
}

/// From this size in bytes on, shared bytes are linked instead of copied.
/// Copying less costs no more than an entry of its own in a vectored write.
pub const LINK_THRESHOLD: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin: copies everything.
    #[derive(Default)]
    struct Twin {
        bytes: Vec<u8>,
        links: VecDeque<(usize, Bytes)>,
        expected: Vec<u8>,
    }

    impl Twin {
        /// Does the same to a buffer and to the plain vector, then compares.
        fn both(&mut self, buf: impl FnOnce(&mut EncodeBuf<'_>), vec: impl FnOnce(&mut Vec<u8>)) {
            let mut room = EncodeBuf::new(&mut self.bytes, &mut self.links);
            buf(&mut room);
            let written = room.written();
            let before = self.expected.len();
            vec(&mut self.expected);
            assert_eq!(written, self.expected.len() - before);
            assert!(self.spliced() == self.expected);
        }

        fn spliced(&self) -> Vec<u8> {
            let (mut out, mut from) = (Vec::new(), 0);
            for (at, piece) in &self.links {
                assert!(*at >= from, "links ascend");
                out.extend_from_slice(&self.bytes[from..*at]);
                out.extend_from_slice(piece);
                from = *at;
            }
            out.extend_from_slice(&self.bytes[from..]);
            out
        }
    }

    #[test]
    fn every_way_to_write_equals_a_plain_vector() {
        let mut twin = Twin::default();
        let sizes =
            [0, 1, 63, 64, 65, 4_096, LINK_THRESHOLD - 1, LINK_THRESHOLD, LINK_THRESHOLD + 1, 100_000];
        for (index, size) in sizes.into_iter().cycle().take(4 * sizes.len()).enumerate() {
            let piece = Bytes::from(vec![index as u8; size]);
            twin.both(|buf| buf.put_shared(piece.clone()), |vec| vec.extend_from_slice(&piece));
            twin.both(|buf| buf.put(piece.clone()), |vec| vec.put(piece.clone()));
            twin.both(|buf| buf.put(&piece[..]), |vec| vec.put(&piece[..]));
            twin.both(|buf| BufMut::put_slice(buf, &piece), |vec| vec.put_slice(&piece));
            twin.both(|buf| buf.put_bytes(7, size), |vec| vec.put_bytes(7, size));
            twin.both(|buf| buf.put_u8(1), |vec| vec.put_u8(1));
            twin.both(|buf| buf.put_u64_le(0x0102_0304), |vec| vec.put_u64_le(0x0102_0304));
            let (left, right) = (piece.clone(), piece.clone());
            twin.both(|buf| buf.put(left.chain(right)), |vec| vec.put(piece.clone().chain(piece.clone())));
            // What a generic encoder does by way of `chunk_mut`.
            twin.both(|buf| fill_chunks(buf, size), |vec| fill_chunks(vec, size));
        }
    }

    fn fill_chunks(buf: &mut impl BufMut, mut left: usize) {
        while left > 0 {
            let chunk = buf.chunk_mut();
            let count = chunk.len().min(left);
            chunk[..count].copy_from_slice(&vec![5; count]);
            // SAFETY: `count` bytes of the chunk were just written.
            unsafe { buf.advance_mut(count) };
            left -= count;
        }
    }

    #[test]
    fn only_large_shared_bytes_are_linked() {
        let (mut bytes, mut links) = (Vec::new(), VecDeque::new());
        let mut buf = EncodeBuf::new(&mut bytes, &mut links);
        let large = Bytes::from(vec![1; LINK_THRESHOLD]);
        buf.put_shared(large.clone());
        buf.put(large.clone());
        buf.put_shared(large.slice(1..));
        buf.put(&large[..]);
        BufMut::put_slice(&mut buf, &large);
        assert_eq!(links.len(), 2);
        assert!(links.iter().all(|(at, piece)| *at == 0 && piece.as_ptr() == large.as_ptr()));
        assert_eq!(bytes.len(), 3 * LINK_THRESHOLD - 1);
    }
}
