//! An owned target for framed messages: what a sender on another task fills
//! before the connection's driver takes it.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::codec::{Codec, EncodeError, EncodeTarget};
use crate::compression::{Packing, Staged, Written};
use crate::format::{self, Transcode};
use crate::message::{EncodeBuf, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};

/// Framed messages, not yet on a connection.
#[derive(Debug, Default)]
pub struct FrameBuf {
    bytes: Vec<u8>,
    /// Large pieces by reference: `(at, piece)` stands before `bytes[at]`.
    links: VecDeque<(usize, Bytes)>,
    /// Bytes in `links`.
    linked: usize,
}

impl FrameBuf {
    /// An empty buffer; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `value` with its prefix. A message that fails leaves nothing
    /// behind, and the ones before it stay (wire-rules B3).
    ///
    /// # Errors
    /// The message is over `limit` bytes (44), or its codec failed or wrote
    /// another number of bytes than it announced (Z3).
    pub fn encode<C: Codec<T>, T>(&mut self, value: &T, limit: usize) -> Result<(), EncodeError> {
        self.encode_as::<C, T>(value, None, limit, None).map(drop)
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
        let before = (self.bytes.len(), self.links.len());
        let mut target =
            OneMessage { buf: self, before, limit, announced: None, packing, staged: None, is_whole: false };
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
        target.append(&self.bytes, self.links.drain(..));
        self.clear();
    }

    /// Removes everything and keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.links.clear();
        self.linked = 0;
    }
}

/// Writes one message into a [`FrameBuf`]. What a codec began and did not finish is taken back, be it that it failed or
/// that it panicked.
struct OneMessage<'a> {
    buf: &'a mut FrameBuf,
    /// Bytes and links that were there before.
    before: (usize, usize),
    limit: usize,
    /// What the codec asked for.
    announced: Option<usize>,
    packing: Option<Packing<'a>>,
    /// The message, if it is to be compressed.
    staged: Option<Staged>,
    is_whole: bool,
}

impl OneMessage<'_> {
    /// The codec is done.
    fn finish(mut self) -> Result<Written, EncodeError> {
        let raw_len = self.announced.ok_or_else(|| EncodeError::codec("the codec asked for no room"))?;
        let mut message = Written { raw_len, tried_len: None };
        if let (Some(staged), Some(packing)) = (self.staged.take(), self.packing) {
            let packed = staged.pack(packing)?;
            message = packed.written();
            packed.write_to(&mut self.buf.bytes, &mut self.buf.links);
        }
        let announced = message.tried_len.unwrap_or(raw_len);
        let (bytes, links) = self.before;
        let linked: usize = self.buf.links.range(links..).map(|(_, piece)| piece.len()).sum();
        let written = self.buf.bytes.len() - bytes + linked - PREFIX_LEN;
        if written != announced {
            return Err(EncodeError::size_mismatch(announced, written));
        }
        self.buf.linked += linked;
        self.is_whole = true;
        Ok(message)
    }
}

impl Drop for OneMessage<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            let (bytes, links) = self.before;
            self.buf.bytes.truncate(bytes);
            self.buf.links.truncate(links);
        }
    }
}

impl EncodeTarget for OneMessage<'_> {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let limit = self.limit.min(MAX_MESSAGE_LEN);
        if len > limit {
            return Err(EncodeError::too_large(len, limit));
        }
        if self.announced.replace(len).is_some() {
            return Err(EncodeError::codec("the codec asked for room twice"));
        }
        if let Some(packing) = self.packing
            && packing.wants(len)
        {
            return Ok(self.staged.insert(Staged::new(len)).buffer());
        }
        write_prefix(&mut self.buf.bytes, len as u32);
        self.buf.bytes.reserve(len.min(RESERVE_AT_MOST));
        Ok(EncodeBuf::new(&mut self.buf.bytes, &mut self.buf.links))
    }
}

/// Room that is reserved ahead, in bytes; a larger message may be links for the
/// most part.
const RESERVE_AT_MOST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{BytesCodec, DecodeError, DecodeLimits, EncodeErrorKind, Payload};
    use crate::message::{Deframer, Encoding, LINK_THRESHOLD};

    fn wire(buf: &FrameBuf) -> Vec<u8> {
        let wire: Vec<u8> = buf.chunks().flatten().copied().collect();
        assert_eq!(wire.len(), buf.len());
        wire
    }

    /// Announces the first number and writes the second, `twice` or not at all.
    struct Liar;

    enum Lie {
        Size(usize, usize),
        Twice,
        Silent,
        Broken,
        /// Panics half-way.
        Panic,
    }

    impl Codec<Lie> for Liar {
        fn encode<E: EncodeTarget>(value: &Lie, target: &mut E) -> Result<(), EncodeError> {
            match value {
                Lie::Size(announced, written) => {
                    let mut buf = target.begin(*announced)?;
                    buf.put_shared(Bytes::from(vec![1; *written]));
                }
                Lie::Twice => {
                    target.begin(0)?;
                    target.begin(0)?;
                }
                Lie::Silent => {}
                Lie::Broken => {
                    target.begin(3)?.put_slice(b"ab");
                    return Err(EncodeError::codec("gave up"));
                }
                Lie::Panic => {
                    let mut buf = target.begin(3 * LINK_THRESHOLD)?;
                    buf.put_slice(b"ab");
                    buf.put_shared(Bytes::from(vec![1; LINK_THRESHOLD]));
                    panic!("half-way");
                }
            }
            Ok(())
        }

        fn decode(_body: Payload<'_>, _limits: &DecodeLimits) -> Result<Lie, DecodeError> {
            Err(DecodeError::new("one way only"))
        }
    }

    // wire-rules B5, Z2: exact bytes, small and large, in order.
    #[test]
    fn messages_of_all_sizes_keep_their_order() {
        let sizes = [0, 1, LINK_THRESHOLD - 1, LINK_THRESHOLD, 64 * 1024, 3, 200_000, 0];
        let mut buf = FrameBuf::new();
        let mut messages = Vec::new();
        for (index, size) in sizes.into_iter().enumerate() {
            let message = Bytes::from(vec![index as u8; size]);
            buf.encode::<BytesCodec, _>(&message, usize::MAX).unwrap();
            messages.push(message);
        }
        assert_eq!(buf.links.len(), 3, "large ones by reference");
        assert_eq!(buf.message_lengths().collect::<Vec<_>>(), sizes.map(|size| size + 5));
        let mut deframer = Deframer::new(Encoding::Identity, 1 << 20);
        deframer.push(&wire(&buf));
        for message in &messages {
            assert_eq!(deframer.next_message().unwrap().unwrap().as_slice(), message);
        }
        assert!(deframer.unread().is_empty());
    }

    // wire-rules 44
    #[test]
    fn the_send_limit_is_checked_before_anything_is_written() {
        let mut buf = FrameBuf::new();
        let message = Bytes::from_static(b"12345");
        assert!(buf.encode::<BytesCodec, _>(&message, 5).is_ok());
        let before = wire(&buf);
        let error = buf.encode::<BytesCodec, _>(&message, 4).unwrap_err();
        assert!(matches!(error.kind(), EncodeErrorKind::TooLarge { size: 5, limit: 4 }));
        assert_eq!(wire(&buf), before);
    }

    // wire-rules Z3, B3
    #[test]
    fn a_failed_message_leaves_the_ones_before_it() {
        let mut buf = FrameBuf::new();
        buf.encode::<BytesCodec, _>(&Bytes::from_static(b"good"), 100).unwrap();
        let before = wire(&buf);
        let lies = [
            Lie::Size(3, 2),
            Lie::Size(3, 4),
            Lie::Size(0, LINK_THRESHOLD),
            Lie::Size(LINK_THRESHOLD + 1, LINK_THRESHOLD),
            Lie::Twice,
            Lie::Silent,
            Lie::Broken,
        ];
        for lie in lies {
            let error = buf.encode::<Liar, _>(&lie, usize::MAX).unwrap_err();
            if let Lie::Size(announced, written) = lie {
                let EncodeErrorKind::SizeMismatch { announced: said, written: came } = *error.kind() else {
                    panic!("{error}")
                };
                assert_eq!((said, came), (announced, written));
            }
            assert_eq!(wire(&buf), before);
        }
        assert!(crate::survive(|| buf.encode::<Liar, _>(&Lie::Panic, usize::MAX)).is_none());
        assert_eq!(wire(&buf), before);
        buf.encode::<Liar, _>(&Lie::Size(9_000, 9_000), usize::MAX).unwrap();
        assert_eq!(buf.len(), before.len() + 5 + 9_000);
    }

    #[test]
    fn draining_appends_behind_what_is_there() {
        let mut buf = FrameBuf::new();
        for size in [10, 9_000, 20] {
            buf.encode::<BytesCodec, _>(&Bytes::from(vec![size as u8; size]), usize::MAX).unwrap();
        }
        let expected = [&b"before"[..], &wire(&buf)].concat();
        let mut target = FrameBuf { bytes: b"before".to_vec(), ..FrameBuf::new() };
        let mut room = EncodeBuf::new(&mut target.bytes, &mut target.links);
        buf.drain_into(&mut room);
        target.linked = room.written() + 6 - target.bytes.len();
        assert_eq!(wire(&target), expected);
        assert!(buf.is_empty() && buf.chunks().next().is_none());
    }
}
