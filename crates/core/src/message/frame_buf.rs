//! An owned target for framed messages: where those of a stream are gathered before the connection takes them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;

use bytes::Bytes;

use crate::codec::{Codec, EncodeError, EncodeTarget};
use crate::compression::{Packing, Staged, Written};
use crate::format::{self, Transcode};
use crate::message::{EncodeBuf, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};

/// Framed messages, not yet on a connection.
///
/// The batches of streams (wire-rules B1, B7): while a source is ready its messages are encoded one behind the other,
/// with no connection looked at, and handed over together when it pauses or when there is as much as has room.
#[derive(Debug, Default)]
pub struct FrameBuf {
    bytes: Vec<u8>,
    /// Large pieces by reference: `(at, piece)` stands before `bytes[at]`.
    links: VecDeque<(usize, Bytes)>,
    /// Bytes in `links`.
    linked: usize,
    /// Where the last message begins in `bytes` and in `links`.
    last: (usize, usize),
}

thread_local! {
    /// The storage of the batch that this thread has handed over last.
    static SPARE: Cell<Option<Box<FrameBuf>>> = const { Cell::new(None) };
}

/// Storage of a batch that a thread keeps for the next one, in bytes.
const RETAINED: usize = 16 * 1024;

/// Bytes that are worth to be gathered before the connection gets them. So much costs next to nothing a message, and is
/// still near when it is copied.
pub const GATHERED: usize = 3_584;

impl FrameBuf {
    /// An empty buffer; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with storage that this thread has used before, if there is any.
    pub fn reused() -> Box<Self> {
        // Nothing is kept where a thread ends.
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Drops the content and leaves the storage for the next [`reused`](Self::reused).
    pub fn recycle(mut self: Box<Self>) {
        self.clear();
        if self.bytes.capacity() <= RETAINED {
            let _ended = SPARE.try_with(|spare| spare.set(Some(self)));
        }
    }

    /// Appends `value` with its prefix. A message that fails leaves nothing
    /// behind, and the ones before it stay (wire-rules B3).
    ///
    /// # Errors
    /// The message is over `limit` bytes (44), or its codec failed or wrote
    /// another number of bytes than it announced (Z3).
    #[inline]
    pub fn encode<C: Codec<T>, T>(&mut self, value: &T, limit: usize) -> Result<(), EncodeError> {
        let mut target = Plain::new(self, limit);
        C::encode(value, &mut target)?;
        target.finish()?;
        // There is nothing to take back.
        mem::forget(target);
        Ok(())
    }

    /// [`encode`](Self::encode), rewritten by `transcode` and compressed by `packing` if there are any. The limit is
    /// that of the message before compression. Returns what there is to tell an observer.
    ///
    /// # Errors
    /// As [`encode`](Self::encode), or the format cannot express the message.
    pub fn encode_as<C: Codec<T>, T>(
        &mut self,
        value: &T,
        transcode: Option<&dyn Transcode>,
        limit: usize,
        packing: Option<Packing<'_>>,
    ) -> Result<Written, EncodeError> {
        let mut target = MaybePacked { plain: Plain::new(self, limit), packing, staged: None };
        format::encode::<C, T, _>(value, transcode, &mut target)?;
        target.finish()
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
        let ends = self.links.iter().map(|&(at, _)| at).chain([self.bytes.len()]);
        let copied = ends.scan(0, |start, end| {
            let range = *start..end;
            *start = end;
            self.bytes.get(range)
        });
        let linked = self.links.iter().map(|(_, piece)| &piece[..]).chain([&[][..]]);
        copied.zip(linked).flat_map(|(copied, linked)| [copied, linked]).filter(|chunk| !chunk.is_empty())
    }

    /// The length of each message, its prefix included, in order. Read off the prefixes.
    pub fn message_lengths(&self) -> impl Iterator<Item = usize> {
        let mut links = self.links.iter().peekable();
        let mut at = 0_usize;
        std::iter::from_fn(move || {
            let prefix = self.bytes.get(at..)?.first_chunk::<PREFIX_LEN>()?;
            let [_, a, b, c, d] = *prefix;
            let len = PREFIX_LEN.saturating_add(u32::from_be_bytes([a, b, c, d]) as usize);
            let end = at.saturating_add(len);
            let mut linked = 0_usize;
            // A piece that stands before the next message's first byte belongs to this one.
            while let Some((_, piece)) = links.next_if(|(place, _)| *place <= end.saturating_sub(linked)) {
                linked = linked.saturating_add(piece.len());
            }
            at = end.saturating_sub(linked);
            Some(len)
        })
    }

    /// Moves everything behind what `target` holds, large pieces by reference.
    pub fn drain_into(&mut self, target: &mut EncodeBuf<'_>) {
        if self.links.is_empty() && self.bytes.len() >= HAND_OVER {
            // One large message, since nobody gathers that much.
            target.link(mem::take(&mut self.bytes).into());
        } else {
            target.append(&self.bytes, &mut self.links);
        }
        self.clear();
    }

    /// Moves everything behind what `target` holds; costs nothing if that is empty.
    pub fn append_to(&mut self, target: &mut Self) {
        if self.is_empty() {
            return;
        }
        if target.is_empty() {
            mem::swap(self, target);
            return;
        }
        let (bytes, links) = (target.bytes.len(), target.links.len());
        target.last = (bytes + self.last.0, links + self.last.1);
        target.linked += self.linked;
        let mut room = EncodeBuf::new(&mut target.bytes, &mut target.links);
        room.append(&self.bytes, &mut self.links);
        self.clear();
    }

    /// The length of all messages but the last one, with their prefixes.
    pub fn len_before_last(&self) -> usize {
        self.last.0 + self.links.range(..self.last.1).map(|(_, piece)| piece.len()).sum::<usize>()
    }

    /// [`drain_into`](Self::drain_into) of all messages but the last one.
    pub fn drain_before_last_into(&mut self, target: &mut EncodeBuf<'_>) {
        let (bytes, links) = mem::take(&mut self.last);
        let mut last = self.links.split_off(links);
        for (at, _) in &mut last {
            *at -= bytes;
        }
        target.append(&self.bytes[..bytes], &mut self.links);
        self.bytes.drain(..bytes);
        self.linked = last.iter().map(|(_, piece)| piece.len()).sum();
        self.links = last;
    }

    /// Removes everything and keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if !self.links.is_empty() {
            self.links.clear();
        }
        self.linked = 0;
        self.last = (0, 0);
    }
}

/// Writes one message into a [`FrameBuf`]. What a codec began and did not finish is taken back, be it that it failed or
/// that it panicked.
struct Plain<'a> {
    buf: &'a mut FrameBuf,
    /// Bytes and links that were there before.
    before: (usize, usize),
    limit: usize,
    /// What the codec asked for.
    announced: Option<usize>,
}

impl<'a> Plain<'a> {
    #[inline]
    fn new(buf: &'a mut FrameBuf, limit: usize) -> Self {
        let before = (buf.bytes.len(), buf.links.len());
        Self { buf, before, limit: limit.min(MAX_MESSAGE_LEN), announced: None }
    }

    /// The codec is done. Answers how long the message is.
    #[inline]
    fn finish(&mut self) -> Result<usize, EncodeError> {
        let Some(announced) = self.announced else { return Err(unasked()) };
        let linked = self.linked();
        let written = self.buf.bytes.len() - self.before.0 + linked - PREFIX_LEN;
        if written != announced {
            return Err(EncodeError::size_mismatch(announced, written));
        }
        self.keep(linked);
        Ok(announced)
    }

    #[inline]
    fn keep(&mut self, linked: usize) {
        self.buf.linked += linked;
        self.buf.last = self.before;
    }

    /// Bytes that the message has linked.
    #[inline]
    fn linked(&self) -> usize {
        // Most messages have no links at all.
        if self.buf.links.len() == self.before.1 { 0 } else { linked_from(&self.buf.links, self.before.1) }
    }

    #[inline]
    fn announce(&mut self, len: usize) -> Result<(), EncodeError> {
        if len > self.limit {
            return Err(EncodeError::too_large(len, self.limit));
        }
        if self.announced.replace(len).is_some() {
            return Err(asked_twice());
        }
        Ok(())
    }

    #[inline]
    fn room(&mut self, len: usize) -> EncodeBuf<'_> {
        let FrameBuf { bytes, links, .. } = &mut *self.buf;
        bytes.reserve(PREFIX_LEN + len.min(RESERVE_AT_MOST));
        write_prefix(bytes, len as u32);
        EncodeBuf::new(bytes, links)
    }
}

impl EncodeTarget for Plain<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        self.announce(len)?;
        Ok(self.room(len))
    }
}

impl Drop for Plain<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        let (bytes, links) = self.before;
        self.buf.bytes.truncate(bytes);
        self.buf.links.truncate(links);
    }
}

/// Writes one message that may be compressed.
struct MaybePacked<'a> {
    plain: Plain<'a>,
    packing: Option<Packing<'a>>,
    /// The message, if it is to be compressed.
    staged: Option<Staged>,
}

impl MaybePacked<'_> {
    fn finish(mut self) -> Result<Written, EncodeError> {
        let message = match (self.staged, self.packing) {
            (Some(staged), Some(packing)) => {
                let packed = staged.pack(packing)?;
                let message = packed.written();
                let FrameBuf { bytes, links, .. } = &mut *self.plain.buf;
                packed.write_to(bytes, links);
                let linked = self.plain.linked();
                self.plain.keep(linked);
                message
            }
            _ => Written { raw_len: self.plain.finish()?, tried_len: None },
        };
        // There is nothing to take back.
        mem::forget(self.plain);
        Ok(message)
    }
}

impl EncodeTarget for MaybePacked<'_> {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        self.plain.announce(len)?;
        if self.packing.is_some_and(|packing| packing.wants(len)) {
            return Ok(self.staged.insert(Staged::new(len)).buffer());
        }
        Ok(self.plain.room(len))
    }
}

#[cold]
#[inline(never)]
fn linked_from(links: &VecDeque<(usize, Bytes)>, first: usize) -> usize {
    links.range(first..).map(|(_, piece)| piece.len()).sum()
}

/// wire-rules Z3
#[cold]
fn unasked() -> EncodeError {
    EncodeError::codec("the codec asked for no room")
}

/// wire-rules Z3
#[cold]
fn asked_twice() -> EncodeError {
    EncodeError::codec("the codec asked for room twice")
}

/// From this size in bytes on a batch is given away with its storage. It has a message that is as large as a DATA frame
/// usually can be.
const HAND_OVER: usize = 16 * 1024;

/// Room that is reserved ahead, in bytes; a larger message may be links for the
/// most part.
const RESERVE_AT_MOST: usize = 64 * 1024;

#[cfg(test)]
mod tests;
