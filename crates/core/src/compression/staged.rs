//! Room beside the wire: a message that may be compressed is encoded here first.

use std::collections::VecDeque;

use bytes::Bytes;

use super::contexts::Kept;
use super::{Packing, Written};
use crate::codec::EncodeError;
use crate::message::{EncodeBuf, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix_with_flag};

/// A message on its way from a codec to a [`Packer`](super::Packer).
///
/// The buffers are the thread's own and used again (wire-rules T9); a message that is dropped half-way, by a codec that
/// failed or panicked, takes them with it.
#[derive(Debug)]
pub struct Staged {
    buffers: Box<Buffers>,
    /// What the codec said it would write.
    announced: usize,
}

#[derive(Debug, Default)]
struct Buffers {
    bytes: Vec<u8>,
    /// Large pieces by reference: `(at, piece)` stands before `bytes[at]`.
    links: VecDeque<(usize, Bytes)>,
    /// Where the compressed message goes; its length is the most that was ever needed.
    packed: Vec<u8>,
}

/// A message as it leaves.
#[derive(Debug)]
pub struct Packed {
    buffers: Box<Buffers>,
    raw_len: usize,
    /// Length once compressed; `None` if it leaves as it is.
    shorter_len: Option<usize>,
    /// A packer has tried it.
    is_tried: bool,
}

/// Room that is reserved ahead, in bytes; a larger message may be links for the most part.
const RESERVE_AT_MOST: usize = 64 * 1024;
/// A buffer that is kept for the next message, in bytes.
const RETAINED: usize = 256 * 1024;

thread_local! {
    static BUFFERS: Kept<Box<Buffers>> = const { Kept::new() };
}

impl Staged {
    /// Room for a message of `len` bytes.
    pub fn new(len: usize) -> Self {
        let mut buffers = BUFFERS.with(|kept| kept.take_or(Box::default));
        buffers.bytes.reserve(len.min(RESERVE_AT_MOST));
        Self { buffers, announced: len }
    }

    /// Where the codec writes.
    pub fn buffer(&mut self) -> EncodeBuf<'_> {
        EncodeBuf::new(&mut self.buffers.bytes, &mut self.buffers.links)
    }

    /// Compresses what the codec wrote, if that is worth it (wire-rules F1, T5). Each message decides by itself and is
    /// whole afterwards, with nothing left over for a later one (wire-rules 39, B4, S1, S3).
    ///
    /// # Errors
    /// The codec wrote another number of bytes than it announced (Z3).
    pub fn pack(mut self, packing: Packing<'_>) -> Result<Packed, EncodeError> {
        let written = self.written()?;
        let Buffers { bytes, links, packed } = &mut *self.buffers;
        let ends = links.iter().map(|&(at, _)| at).chain([bytes.len()]);
        let copied = ends.scan(0, |start, end| bytes.get(std::mem::replace(start, end)..end));
        let linked = links.iter().map(|(_, piece)| &piece[..]).chain([&[][..]]);
        let chunks = copied.zip(linked).flat_map(|(copied, linked)| [copied, linked]);
        let shorter_len = packing.pack(chunks.filter(|chunk| !chunk.is_empty()), written, packed);
        Ok(Packed { buffers: self.buffers, raw_len: written, shorter_len, is_tried: true })
    }

    /// Leaves what the codec wrote as it is.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    pub fn seal(self) -> Result<Packed, EncodeError> {
        let raw_len = self.written()?;
        Ok(Packed { buffers: self.buffers, raw_len, shorter_len: None, is_tried: false })
    }

    /// Bytes that the codec wrote, which are those that it announced.
    fn written(&self) -> Result<usize, EncodeError> {
        let Buffers { bytes, links, .. } = &*self.buffers;
        let written = bytes.len() + links.iter().map(|(_, piece)| piece.len()).sum::<usize>();
        if written == self.announced {
            Ok(written)
        } else {
            Err(EncodeError::size_mismatch(self.announced, written))
        }
    }
}

impl Packed {
    /// Bytes that leave, the prefix included.
    pub fn wire_len(&self) -> usize {
        PREFIX_LEN + self.shorter_len.unwrap_or(self.raw_len)
    }

    /// Bytes of the message before compression.
    pub fn raw_len(&self) -> usize {
        self.raw_len
    }

    /// Whether it leaves compressed.
    pub fn is_compressed(&self) -> bool {
        self.shorter_len.is_some()
    }

    /// For whoever counts what compression saves.
    pub fn written(&self) -> Written {
        let len = self.shorter_len.unwrap_or(self.raw_len);
        Written { raw_len: self.raw_len, tried_len: self.is_tried.then_some(len) }
    }

    /// Appends prefix and message to `bytes` and `links`, which have the form of an [`EncodeBuf`]'s.
    pub fn write_to(mut self, bytes: &mut Vec<u8>, links: &mut VecDeque<(usize, Bytes)>) {
        let len = self.shorter_len.unwrap_or(self.raw_len);
        debug_assert!(len <= MAX_MESSAGE_LEN, "send limits are at most what a prefix can say");
        write_prefix_with_flag(bytes, self.shorter_len.is_some(), len as u32);
        match self.shorter_len {
            Some(len) => bytes.extend_from_slice(&self.buffers.packed[..len]),
            None => EncodeBuf::new(bytes, links).append(&self.buffers.bytes, &mut self.buffers.links),
        }
        self.buffers.put_back();
    }
}

impl Buffers {
    fn put_back(mut self: Box<Self>) {
        self.bytes.clear();
        self.links.clear();
        if self.bytes.capacity() > RETAINED {
            self.bytes = Vec::new();
        }
        if self.packed.capacity() > RETAINED {
            self.packed = Vec::new();
        }
        BUFFERS.with(|kept| kept.put_back(self));
    }
}
