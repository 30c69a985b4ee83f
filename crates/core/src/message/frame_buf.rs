//! An owned target for framed messages: what a sender on another task fills
//! before the connection's driver takes it.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::codec::{Codec, EncodeError, EncodeTarget};
use crate::message::EncodeBuf;

/// Framed messages, not yet on a connection.
#[derive(Debug, Default)]
pub struct FrameBuf {
    bytes: Vec<u8>,
    links: VecDeque<(usize, Bytes)>,
    linked: usize,
}

impl FrameBuf {
    /// An empty buffer; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `value` with its prefix; a failed message leaves nothing behind.
    ///
    /// # Errors
    /// The message is over `limit` bytes, or its codec failed.
    pub fn encode<C: Codec<T>, T>(&mut self, value: &T, limit: usize) -> Result<(), EncodeError> {
        let _ = (value, limit);
        todo!()
    }

    /// Bytes held, prefixes and links included.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.linked
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content in the order of the wire.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let _ = &self.links;
        std::iter::once(&self.bytes[..])
    }

    /// The two storages: the byte stream is the first with each `(at, piece)`
    /// of the second spliced in before index `at`.
    pub fn parts(&self) -> (&[u8], &VecDeque<(usize, Bytes)>) {
        (&self.bytes, &self.links)
    }

    /// Appends everything to a target's storages, such as those of the engine, and clears.
    pub fn drain_into(&mut self, _target: &mut EncodeBuf<'_>) {
        todo!()
    }

    /// Removes everything and keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.links.clear();
        self.linked = 0;
    }
}

/// Writes one message into a [`FrameBuf`].
struct OneMessage<'a> {
    buf: &'a mut FrameBuf,
    limit: usize,
}

impl EncodeTarget for OneMessage<'_> {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let _ = (&mut self.buf, self.limit, len);
        todo!()
    }
}
