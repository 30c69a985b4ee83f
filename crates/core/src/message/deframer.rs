//! Takes messages out of DATA bytes, however these are cut (wire-rules 29).
//!
//! Used by the inbox of streaming calls and by [`UnaryBody`](crate::message::UnaryBody).

use bytes::Bytes;

use crate::codec::Payload;
use crate::compression::inflate;
use crate::message::frame::claimed_len;
use crate::message::{Encoding, PREFIX_LEN, parse_prefix};
use crate::status::Status;

/// Bytes received and the messages in them.
///
/// Memory follows what has arrived, never what a prefix claims (wire-rules 42):
/// the buffer at most doubles, and for a message of known length it stops at
/// that length.
#[derive(Debug)]
pub struct Deframer {
    bytes: Vec<u8>,
    /// Start of the first byte not yet handed out.
    head: usize,
    /// Bytes of the message handed out last as it came, prefix included.
    last_len: usize,
    encoding: Encoding,
    max: usize,
}

impl Deframer {
    /// For messages of at most `max` bytes; allocates nothing yet.
    pub fn new(encoding: Encoding, max: usize) -> Self {
        Self { bytes: Vec::new(), head: 0, last_len: 0, encoding, max }
    }

    /// Appends received bytes.
    #[inline]
    pub fn push(&mut self, data: &[u8]) {
        if self.head == self.bytes.len() {
            self.bytes.clear();
            self.head = 0;
        }
        if data.len() > self.bytes.capacity() - self.bytes.len() {
            self.make_room(data.len());
        }
        self.bytes.extend_from_slice(data);
    }

    /// The next whole message, if it is there: decoded in place where it lies
    /// among others, in a buffer of its own if it is large and alone, or if it
    /// came compressed.
    ///
    /// # Errors
    /// The next prefix breaks a rule; see [`parse_prefix`]. Or a compressed
    /// message does not inflate (wire-rules 38), or inflates past the limit
    /// (43). The deframer is of no more use then.
    pub fn next_message(&mut self) -> Result<Option<Payload<'_>>, Status> {
        let Some(prefix) = parse_prefix(self.unread(), self.encoding, self.max)? else { return Ok(None) };
        let start = self.head + PREFIX_LEN;
        if self.bytes.len() - start < prefix.len {
            return Ok(None);
        }
        self.last_len = PREFIX_LEN + prefix.len;
        let end = start + prefix.len;
        if prefix.compressed {
            self.head = end;
            let message = inflate(self.encoding, &self.bytes[start..end], self.max)?;
            return Ok(Some(Payload::Inflated(message)));
        }
        if self.head == 0 && end == self.bytes.len() && prefix.len >= SHARE_THRESHOLD {
            let message = Bytes::from(std::mem::take(&mut self.bytes)).slice(start..);
            return Ok(Some(Payload::Shared(message)));
        }
        self.head = end;
        Ok(Some(Payload::Borrowed(&self.bytes[start..end])))
    }

    /// [`next_message`](Self::next_message) of a small message that is whole and not compressed, as most are. `None` says
    /// nothing of what is there instead.
    #[inline]
    pub(crate) fn next_small(&mut self) -> Option<&[u8]> {
        let (prefix, rest) = self.bytes.get(self.head..)?.split_first_chunk::<PREFIX_LEN>()?;
        let [0, a, b, c, d] = *prefix else { return None };
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        if len > self.max || len >= SHARE_THRESHOLD {
            return None;
        }
        let message = rest.get(..len)?;
        self.last_len = PREFIX_LEN + len;
        self.head += self.last_len;
        Some(message)
    }

    /// Bytes of the message handed out last as it came, its prefix included.
    #[inline]
    pub(crate) fn last_len(&self) -> usize {
        self.last_len
    }

    /// How messages may be compressed, once a head has said so. None must have come before.
    pub(crate) fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How many bytes must arrive before [`next_message`](Self::next_message)
    /// can say anything new: 0 if a message or a broken prefix is there.
    pub fn missing(&self) -> usize {
        let unread = self.unread();
        match parse_prefix(unread, self.encoding, self.max) {
            Ok(Some(prefix)) => (PREFIX_LEN + prefix.len).saturating_sub(unread.len()),
            Ok(None) => PREFIX_LEN - unread.len(),
            Err(_) => 0,
        }
    }

    /// Bytes that belong to no message handed out.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.head..]
    }

    /// Moves all unread bytes of `other` behind those of this one. If this one
    /// has none, the buffers change places and nothing is copied.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        if self.unread().is_empty() {
            std::mem::swap(&mut self.bytes, &mut other.bytes);
            std::mem::swap(&mut self.head, &mut other.head);
        } else {
            self.push(other.unread());
        }
        other.bytes.clear();
        other.head = 0;
    }

    /// Forgets everything for the messages of another call; the buffer is kept.
    #[inline]
    pub(crate) fn reset(&mut self, encoding: Encoding, max: usize) {
        self.bytes.clear();
        self.head = 0;
        self.encoding = encoding;
        self.max = max;
    }

    /// Forgets what has come; a buffer that is not small is freed.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.head = 0;
        self.release_idle();
    }

    /// Forgets everything and frees the buffer.
    pub(crate) fn discard(&mut self) {
        self.bytes = Vec::new();
        self.head = 0;
    }

    /// Frees a buffer that has nothing unread and is not small: an idle stream
    /// must not hold the memory of its busiest moment.
    pub(crate) fn release_idle(&mut self) {
        if self.unread().is_empty() && self.bytes.capacity() > RETAINED {
            self.discard();
        }
    }

    #[cold]
    fn make_room(&mut self, extra: usize) {
        self.bytes.drain(..self.head);
        self.head = 0;
        let needed = self.bytes.len() + extra;
        let doubled = needed.max(2 * self.bytes.capacity());
        let target = match claimed_len(&self.bytes) {
            // A large message under way: never past its end.
            Some(len) if PREFIX_LEN + len >= needed => doubled.min(PREFIX_LEN + len),
            Some(_) => doubled,
            None => needed,
        };
        self.bytes.reserve_exact(target - self.bytes.len());
    }
}

/// From this size in bytes on, a message alone in its buffer is handed out with
/// the buffer, so that `bytes` fields can share it. Smaller ones are decoded in
/// place and the buffer is used again.
pub(crate) const SHARE_THRESHOLD: usize = 16 * 1024;

/// Buffer of an idle stream that is kept for its next message, in bytes.
const RETAINED: usize = 4 * 1024;

#[cfg(test)]
impl Deframer {
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::write_prefix;
    use crate::status::Code;

    fn framed(messages: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for message in messages {
            write_prefix(&mut out, message.len() as u32);
            out.extend_from_slice(message);
        }
        out
    }

    fn drain(deframer: &mut Deframer, into: &mut Vec<Vec<u8>>) {
        while let Some(payload) = deframer.next_message().unwrap() {
            into.push(payload.as_slice().to_vec());
        }
    }

    fn new() -> Deframer {
        Deframer::new(Encoding::Identity, 1 << 20)
    }

    // wire-rules 29, 30, M2: every way to cut the bytes in two, empty frames
    // between, and byte by byte.
    #[test]
    fn messages_do_not_depend_on_the_cuts() {
        let messages: [&[u8]; 5] = [b"one", b"", b"three and more", b"", b"5"];
        let wire = framed(&messages);
        for cut in 0..=wire.len() {
            let (mut deframer, mut seen) = (new(), Vec::new());
            for part in [&wire[..cut], b"", &wire[cut..]] {
                deframer.push(part);
                drain(&mut deframer, &mut seen);
            }
            assert_eq!(seen, messages, "cut at {cut}");
            assert_eq!(deframer.missing(), PREFIX_LEN);
        }
        let (mut deframer, mut seen) = (new(), Vec::new());
        for byte in &wire {
            deframer.push(std::slice::from_ref(byte));
            drain(&mut deframer, &mut seen);
        }
        assert_eq!(seen, messages);
    }

    #[test]
    fn missing_counts_down_to_the_next_thing_to_say() {
        let mut deframer = new();
        for (index, byte) in framed(&[b"abc"]).iter().enumerate() {
            assert_eq!(deframer.missing(), if index < 5 { 5 - index } else { 8 - index });
            deframer.push(&[*byte]);
        }
        assert_eq!(deframer.missing(), 0);
        assert_eq!(deframer.next_message().unwrap().unwrap().as_slice(), b"abc");
        assert_eq!(deframer.missing(), 5);
        deframer.push(&[9, 0, 0, 0, 0]);
        assert_eq!(deframer.missing(), 0, "a broken prefix is something to say");
    }

    // wire-rules 42: the claim costs nothing, arrival does.
    #[test]
    fn the_buffer_grows_with_arrival_and_stops_at_the_length() {
        let total = 1_000_000;
        let mut deframer = new();
        let mut wire = Vec::new();
        write_prefix(&mut wire, total);
        deframer.push(&wire);
        assert!(deframer.bytes.capacity() < 100, "nothing is reserved for the claim");
        let mut sent = 0;
        while sent < total as usize {
            let chunk = 16_384.min(total as usize - sent);
            deframer.push(&vec![1; chunk]);
            sent += chunk;
            assert!(deframer.bytes.capacity() <= (2 * (sent + 5)).min(total as usize + 5));
        }
        let payload = deframer.next_message().unwrap().unwrap();
        assert!(matches!(&payload, Payload::Shared(bytes) if bytes.len() == total as usize));
        assert_eq!(deframer.bytes.capacity(), 0, "the buffer left with the message");
    }

    // wire-rules 42
    #[test]
    fn a_message_over_the_limit_fails_at_its_prefix() {
        let mut deframer = Deframer::new(Encoding::Identity, 10);
        deframer.push(&[0, 0, 0, 0]);
        assert!(deframer.next_message().unwrap().is_none());
        deframer.push(&[11]);
        assert_eq!(deframer.next_message().unwrap_err().code(), Code::ResourceExhausted);
    }

    #[test]
    fn a_small_message_is_decoded_in_place_and_the_buffer_stays() {
        let mut deframer = new();
        deframer.push(&framed(&[b"abc"]));
        let capacity = deframer.bytes.capacity();
        assert!(matches!(deframer.next_message(), Ok(Some(Payload::Borrowed(b"abc")))));
        deframer.push(&framed(&[b"xyz"]));
        assert_eq!(deframer.bytes.capacity(), capacity);
    }

    #[test]
    fn a_buffer_that_is_read_from_does_not_grow_without_end() {
        let message = framed(&[&[7; 100]]);
        let mut deframer = new();
        deframer.push(&message[..50]);
        for _ in 0..10_000 {
            deframer.push(&message[50..]);
            assert!(deframer.next_message().unwrap().is_some());
            deframer.push(&message[..50]);
        }
        assert!(deframer.bytes.capacity() < 1_000, "{}", deframer.bytes.capacity());
    }

    #[test]
    fn taking_from_another_keeps_the_order() {
        let wire = framed(&[b"first", b"second"]);
        for cut in 0..=wire.len() {
            let (mut left, mut right) = (new(), new());
            left.push(&wire[..cut]);
            right.push(&wire[cut..]);
            left.take_from(&mut right);
            assert_eq!(left.unread(), wire);
            assert!(right.unread().is_empty());
        }
    }

    #[test]
    fn an_idle_deframer_gives_large_buffers_back() {
        let mut deframer = new();
        deframer.push(&framed(&[&[0; RETAINED]]));
        deframer.release_idle();
        assert!(deframer.next_message().unwrap().is_some(), "what is unread stays");
        deframer.release_idle();
        assert_eq!(deframer.bytes.capacity(), 0);
    }
}
