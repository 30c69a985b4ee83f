//! Room for one message that a codec writes: small pieces are copied into a
//! byte buffer, large shared ones are linked by reference (wire-rules B5, Z2).

#![allow(unsafe_code, reason = "BufMut is an unsafe trait; see the SAFETY note on its impl")]

use std::collections::VecDeque;

use bytes::buf::UninitSlice;
use bytes::{Buf, BufMut, Bytes};

/// Shared bytes of at least this size are linked instead of copied. Copying
/// 8 KiB costs about as much as an entry of a vectored write.
pub const LINK_THRESHOLD: usize = 8 * 1024;

/// Where a codec writes one message; implements [`BufMut`](bytes::BufMut).
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
    pub fn new(bytes: &'a mut Vec<u8>, links: &'a mut VecDeque<(usize, Bytes)>) -> Self {
        let start = bytes.len();
        Self { bytes, links, start, linked: 0 }
    }

    /// Appends a copy of `slice`.
    ///
    /// The same as [`BufMut::put_slice`], for those who have not imported that.
    pub fn put_slice(&mut self, slice: &[u8]) {
        self.bytes.extend_from_slice(slice);
    }

    /// Appends `piece`: by reference from [`LINK_THRESHOLD`] bytes on, else a copy.
    pub fn put_shared(&mut self, piece: Bytes) {
        if piece.len() < LINK_THRESHOLD {
            self.bytes.extend_from_slice(&piece);
        } else {
            self.linked += piece.len();
            self.links.push_back((self.bytes.len(), piece));
        }
    }

    /// Bytes written so far, links included.
    pub fn written(&self) -> usize {
        self.bytes.len() - self.start + self.linked
    }
}

// SAFETY: every method that `BufMut` trusts (`remaining_mut`, `advance_mut`,
// `chunk_mut`) is passed on to the implementation for `Vec<u8>`, on the one
// vector this type holds exclusively; the other methods are safe code.
unsafe impl BufMut for EncodeBuf<'_> {
    fn remaining_mut(&self) -> usize {
        self.bytes.remaining_mut()
    }

    unsafe fn advance_mut(&mut self, count: usize) {
        // SAFETY: the caller's promise, that `count` bytes of `chunk_mut` are
        // initialised, is about the vector's own spare capacity.
        unsafe { self.bytes.advance_mut(count) }
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        self.bytes.chunk_mut()
    }

    /// Links a large [`Bytes`] by reference; anything else is copied.
    ///
    /// `T` is not `'static`, so it cannot be asked whether it is `Bytes`. Its
    /// size tells well enough: a stranger of the same size is still written
    /// right, through one copy of its own.
    fn put<T: Buf>(&mut self, mut source: T) {
        if size_of::<T>() == size_of::<Bytes>() && source.remaining() >= LINK_THRESHOLD {
            let len = source.remaining();
            self.put_shared(source.copy_to_bytes(len));
        } else {
            self.bytes.put(source);
        }
    }

    fn put_slice(&mut self, slice: &[u8]) {
        self.bytes.extend_from_slice(slice);
    }

    fn put_bytes(&mut self, value: u8, count: usize) {
        self.bytes.put_bytes(value, count);
    }
}
