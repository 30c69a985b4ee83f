//! Bodies that hold exactly one message: requests of unary and
//! server-streaming calls, responses of unary and client-streaming calls
//! (wire-rules 45 to 48 and the table "Malformed bodies").
//!
//! The server and the client use [`single_message`] when the whole body lies
//! in the read buffer, and [`UnaryBody`] when it comes in pieces. Both judge
//! the bytes in their order, so the result does not depend on how they were
//! cut.

use crate::codec::Payload;
use crate::compression::inflate;
use crate::message::deframer::SHARE_THRESHOLD;
use crate::message::{Deframer, Encoding, PREFIX_LEN, Prefix, parse_prefix};
use crate::status::Status;

/// The one message of a complete body: the fast path for a body that arrived
/// in one piece.
///
/// # Errors
/// | body | status |
/// |---|---|
/// | empty | UNIMPLEMENTED |
/// | ends inside the prefix or the message | INTERNAL |
/// | flag that is not allowed | INTERNAL |
/// | message over `max` bytes, inflated or not | RESOURCE_EXHAUSTED |
/// | 1 to 4 bytes behind the message | INTERNAL |
/// | a second prefix behind the message | UNIMPLEMENTED |
/// | message that does not inflate | INTERNAL |
#[inline(always)]
pub fn single_message(body: &[u8], encoding: Encoding, max: usize) -> Result<Payload<'_>, Status> {
    let (prefix, message) = single_frame(body, encoding, max)?;
    if prefix.compressed {
        return inflate(encoding, message, max).map(Payload::Inflated);
    }
    Ok(Payload::Borrowed(message))
}

/// The one message of a complete body as it came, with its prefix.
#[inline(always)]
fn single_frame(body: &[u8], encoding: Encoding, max: usize) -> Result<(Prefix, &[u8]), Status> {
    let Some(prefix) = parse_prefix(body, encoding, max)? else {
        return Err(if body.is_empty() { no_message() } else { truncated() });
    };
    let rest = &body[PREFIX_LEN..];
    if rest.len() == prefix.len {
        return Ok((prefix, rest));
    }
    Err(match rest.len().checked_sub(prefix.len) {
        None => truncated(),
        Some(extra) if extra < PREFIX_LEN => trailing_bytes(extra),
        Some(_) => second_message(),
    })
}

/// Collects a body that arrives in several pieces; equal to [`single_message`]
/// for every way of cutting it (wire-rules M2, M3).
///
/// The buffer grows with arrival, not by the claimed length (42).
#[derive(Debug)]
pub struct UnaryBody {
    deframer: Deframer,
    encoding: Encoding,
    max: usize,
    /// The body is one small message that is not compressed: it was looked at when it was taken.
    is_plain: bool,
    /// What was found wrong; nothing is buffered from then on.
    fault: Option<Status>,
}

impl UnaryBody {
    /// For a message of at most `max` bytes; allocates nothing yet.
    pub fn new(encoding: Encoding, max: usize) -> Self {
        Self { deframer: Deframer::new(encoding, max), encoding, max, is_plain: false, fault: None }
    }

    /// Forgets what has come. A small buffer is kept, so that calls one after another need no allocation for their
    /// bodies.
    pub fn clear(&mut self) {
        self.deframer.clear();
        self.is_plain = false;
        self.fault = None;
    }

    /// Starts over for the body of another call. The buffer is kept, be it large: what has held much is
    /// [cleared](Self::clear) first.
    #[inline]
    pub fn reset(&mut self, encoding: Encoding, max: usize) {
        self.deframer.reset(encoding, max);
        self.encoding = encoding;
        self.max = max;
        self.is_plain = false;
        self.fault = None;
    }

    /// Whether not a byte has come.
    pub fn is_empty(&self) -> bool {
        self.fault.is_none() && self.deframer.unread().is_empty()
    }

    /// How the message may be compressed, for those who learn it after the fact. No byte must have come before.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.deframer.set_encoding(encoding);
        self.encoding = encoding;
    }

    /// Takes a whole body in one step if it is what most are, one message that is not compressed, and nothing has come
    /// before. False if it is not so: nothing has been done then, and [`push`](Self::push) says what is wrong.
    #[inline]
    pub fn take_whole(&mut self, body: &[u8]) -> bool {
        let Some((&[flag, l0, l1, l2, l3], message)) = body.split_first_chunk::<PREFIX_LEN>() else {
            return false;
        };
        let is_one = flag == 0
            && message.len() == u32::from_be_bytes([l0, l1, l2, l3]) as usize
            && message.len() <= self.max
            && self.is_empty();
        if is_one {
            self.deframer.push(body);
            self.is_plain = message.len() < SHARE_THRESHOLD;
        }
        is_one
    }

    /// Appends received bytes.
    ///
    /// # Errors
    /// As soon as the body is known to be wrong, for example at the prefix of a
    /// message over the limit (wire-rules 42); the same again for any later
    /// call.
    #[inline]
    pub fn push(&mut self, data: &[u8]) -> Result<(), Status> {
        self.is_plain = false;
        if self.fault.is_none() {
            self.deframer.push(data);
            self.fault = self.early_fault();
        }
        match &self.fault {
            None => Ok(()),
            Some(fault) => {
                self.deframer.discard();
                Err(fault.clone())
            }
        }
    }

    /// Bytes that have come so far, prefix included; of a whole body that holds one message, the bytes of that.
    pub fn received(&self) -> usize {
        self.deframer.unread().len()
    }

    /// How the message may be compressed.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The body is complete.
    ///
    /// # Errors
    /// See [`single_message`].
    #[inline]
    pub fn finish(&mut self) -> Result<Payload<'_>, Status> {
        if self.is_plain {
            return Ok(Payload::Borrowed(&self.deframer.unread()[PREFIX_LEN..]));
        }
        self.judge()
    }

    fn judge(&mut self) -> Result<Payload<'_>, Status> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let (prefix, message) = single_frame(self.deframer.unread(), self.encoding, self.max)?;
        if prefix.compressed || message.len() >= SHARE_THRESHOLD {
            // Whole and alone, so it is there.
            return self.deframer.next_message()?.ok_or_else(truncated);
        }
        Ok(Payload::Borrowed(&self.deframer.unread()[PREFIX_LEN..]))
    }

    /// What can be said before the end: a bad prefix, or a second message.
    fn early_fault(&self) -> Option<Status> {
        let unread = self.deframer.unread();
        match parse_prefix(unread, self.encoding, self.max) {
            Err(fault) => Some(fault),
            Ok(Some(prefix)) if unread.len() >= PREFIX_LEN + prefix.len + PREFIX_LEN => {
                Some(second_message())
            }
            Ok(_) => None,
        }
    }
}

#[cold]
fn no_message() -> Status {
    Status::unimplemented("the stream ended without the one message that this kind of call has")
}

#[cold]
fn second_message() -> Status {
    Status::unimplemented("a second message came where this kind of call has one")
}

/// The stream ended inside a prefix or a message (wire-rules 45).
#[cold]
pub(crate) fn truncated() -> Status {
    Status::internal("the stream ended in the middle of a message")
}

#[cold]
fn trailing_bytes(extra: usize) -> Status {
    Status::internal(format!("the stream has {extra} stray bytes behind its message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::write_prefix;
    use crate::status::Code;

    type Outcome = Result<Vec<u8>, (Code, String)>;

    const MAX: usize = 100;

    fn outcome(result: Result<Payload<'_>, Status>) -> Outcome {
        match result {
            Ok(payload) => Ok(payload.as_slice().to_vec()),
            Err(status) => Err((status.code(), status.message().to_owned())),
        }
    }

    fn whole(body: &[u8]) -> Outcome {
        outcome(single_message(body, Encoding::Identity, MAX))
    }

    fn in_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
        let mut body = UnaryBody::new(Encoding::Identity, MAX);
        for part in parts {
            if let Err(status) = body.push(part) {
                let again = body.push(b"more").unwrap_err();
                assert_eq!((again.code(), again.message()), (status.code(), status.message()));
                assert!(body.deframer.unread().is_empty(), "nothing is buffered after a fault");
                return Err((status.code(), status.message().to_owned()));
            }
        }
        outcome(body.finish())
    }

    fn message(len: u8) -> Vec<u8> {
        let mut out = Vec::new();
        write_prefix(&mut out, u32::from(len));
        out.resize(PREFIX_LEN + usize::from(len), len);
        out
    }

    /// The rows of the table "Malformed bodies", and what each must become.
    fn table() -> Vec<(Vec<u8>, Result<(), Code>)> {
        let mut rows = vec![
            (message(0), Ok(())),
            (message(7), Ok(())),
            (message(MAX as u8), Ok(())),
            (vec![], Err(Code::Unimplemented)),
            ([message(3), message(3)].concat(), Err(Code::Unimplemented)),
            ([message(0), message(0)].concat(), Err(Code::Unimplemented)),
            ([message(3), message(3), message(1)].concat(), Err(Code::Unimplemented)),
            (message(MAX as u8 + 1), Err(Code::ResourceExhausted)),
            (vec![0, 0x80, 0, 0, 0], Err(Code::ResourceExhausted)),
            (vec![0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3], Err(Code::ResourceExhausted)),
            (vec![1, 0, 0, 0, 1, 9], Err(Code::Internal)),
            (vec![2, 0, 0, 0, 1, 9], Err(Code::Internal)),
            (vec![0x80, 0, 0, 0, 0], Err(Code::Internal)),
            (vec![0xff; 40], Err(Code::Internal)),
        ];
        for len in 1..PREFIX_LEN {
            rows.push((vec![0; len], Err(Code::Internal)));
            rows.push(([message(3), vec![0; len]].concat(), Err(Code::Internal)));
            rows.push(([message(3), message(3)[..len].to_vec()].concat(), Err(Code::Internal)));
        }
        for len in PREFIX_LEN..message(9).len() {
            rows.push((message(9)[..len].to_vec(), Err(Code::Internal)));
            rows.push(([message(3), message(9)[..len].to_vec()].concat(), Err(Code::Unimplemented)));
        }
        rows
    }

    // wire-rules 42, 45, 47, 48, "Malformed bodies"
    #[test]
    fn every_row_of_the_table_holds() {
        for (body, expected) in table() {
            let got = whole(&body).map(|_| ()).map_err(|(code, _)| code);
            assert_eq!(got, expected, "{}", body.escape_ascii());
        }
    }

    // wire-rules M2, M3: all 1-cut splits, all 2-cut splits, single bytes.
    #[test]
    fn every_split_equals_the_whole() {
        for (body, _) in table() {
            let expected = whole(&body);
            let len = body.len();
            for first in 0..=len {
                assert_eq!(in_parts([&body[..first], &body[first..]]), expected, "cut at {first}");
                for second in first..=len {
                    let parts = [&body[..first], &body[first..second], b"", &body[second..]];
                    assert_eq!(in_parts(parts), expected, "cuts at {first}, {second}");
                }
            }
            assert_eq!(in_parts(body.chunks(1)), expected);
        }
    }

    /// Pseudo-random numbers below `end`, the same each time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    // wire-rules M2, M3: random bodies in random pieces, mostly nearly right.
    #[test]
    fn random_bodies_equal_the_whole_however_they_are_cut() {
        let mut random = Random(3);
        let mut seen = std::collections::BTreeMap::<String, u32>::new();
        for _ in 0..30_000 {
            let mut body = Vec::new();
            for _ in 0..=random.below(8) / 7 {
                let len = random.below(12);
                let flag = if random.below(16) == 0 { random.below(256) as u8 } else { 0 };
                let high = if random.below(16) == 0 { random.below(256) as u8 } else { 0 };
                body.extend_from_slice(&[flag, 0, 0, high, len as u8]);
                body.resize(body.len() + len, 1);
            }
            match random.below(4) {
                0 => body.truncate(random.below(body.len() + 1)),
                1 => body.resize(body.len() + random.below(7), 0),
                _ => {}
            }
            let expected = whole(&body);
            let (mut parts, mut rest) = (Vec::new(), &body[..]);
            while !rest.is_empty() {
                let (part, tail) = rest.split_at(random.below(rest.len() + 1));
                parts.push(part);
                rest = tail;
            }
            assert_eq!(in_parts(parts), expected, "{}", body.escape_ascii());
            let mut at_once = UnaryBody::new(Encoding::Identity, MAX);
            if at_once.take_whole(&body) {
                assert_eq!(outcome(at_once.finish()), expected, "{}", body.escape_ascii());
            } else {
                assert!(expected.is_err() && at_once.is_empty(), "{}", body.escape_ascii());
            }
            let kind = expected.map_or_else(|(code, _)| code.name(), |_| "OK");
            *seen.entry(kind.to_owned()).or_default() += 1;
        }
        assert_eq!(seen.len(), 4, "every outcome occurs: {seen:?}");
    }

    // wire-rules 42: said at the prefix, before the body comes.
    #[test]
    fn faults_are_known_as_early_as_possible() {
        let mut body = UnaryBody::new(Encoding::Identity, MAX);
        assert!(body.push(&[0, 0, 0, 0]).is_ok());
        assert_eq!(body.push(&[101]).unwrap_err().code(), Code::ResourceExhausted);
        let mut body = UnaryBody::new(Encoding::Identity, MAX);
        assert!(body.push(&[&message(2)[..], &[0; 4]].concat()).is_ok());
        assert_eq!(body.push(&[0]).unwrap_err().code(), Code::Unimplemented);
    }

    // wire-rules 31, M3: what is not a plain message in one piece goes the other way.
    #[test]
    fn only_one_plain_message_alone_is_taken_whole() {
        let mut body = UnaryBody::new(Encoding::Gzip, MAX);
        for wrong in
            [&[][..], &[0; 4], &[1, 0, 0, 0, 1, 7], &[0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0], &message(101)]
        {
            assert!(!body.take_whole(wrong) && body.is_empty(), "{wrong:?}");
        }
        assert!(body.take_whole(&message(100)));
        assert!(!body.take_whole(&message(1)), "something has come before");
        assert_eq!(outcome(body.finish()), Ok(vec![100; 100]));
    }

    #[test]
    fn a_body_that_starts_over_knows_nothing_of_the_last_one() {
        let mut body = UnaryBody::new(Encoding::Identity, MAX);
        assert!(body.push(&[9; 40]).is_err());
        body.reset(Encoding::Identity, MAX);
        body.push(&message(3)[..4]).unwrap();
        body.reset(Encoding::Identity, MAX);
        body.push(&message(7)).unwrap();
        assert_eq!(outcome(body.finish()), Ok(vec![7; 7]));
        assert!(body.deframer.capacity() > 0);
        body.reset(Encoding::Identity, 1 << 20);
        body.push(&[vec![0, 0, 0, 0xc3, 0x50], vec![0; 50_000]].concat()).unwrap();
        assert!(body.deframer.capacity() > 0);
        body.clear();
        assert_eq!(body.deframer.capacity(), 0, "a large buffer is not kept");
    }

    #[test]
    fn a_large_body_is_handed_out_with_its_buffer() {
        let mut wire = Vec::new();
        write_prefix(&mut wire, 100_000);
        wire.resize(PREFIX_LEN + 100_000, 1);
        let mut body = UnaryBody::new(Encoding::Identity, 1 << 20);
        for part in wire.chunks(16_384) {
            body.push(part).unwrap();
        }
        assert!(matches!(body.finish(), Ok(Payload::Shared(bytes)) if bytes.len() == 100_000));
    }
}
