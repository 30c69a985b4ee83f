//! The 31-bit number of a stream (RFC 9113, 5.1.1). Every frame carries one; the connection owns their life.

use std::fmt;

/// The identifier of a stream: 31 bits, 0 for the connection itself, odd for streams that a client began.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Default)]
pub struct StreamId(u32);

impl StreamId {
    /// Stream 0: the frame concerns the connection as a whole.
    pub const CONNECTION: Self = Self(0);
    /// The first stream of a client.
    pub const FIRST_CLIENT: Self = Self(1);
    /// The highest identifier, 2^31-1; as a GOAWAY's last stream it promises that nothing is refused yet.
    pub const MAX: Self = Self(0x7fff_ffff);

    /// Takes the low 31 bits; the reserved bit above them is ignored on receipt (RFC 9113, 4.1).
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MAX.0)
    }

    /// The number on the wire, at most 2^31-1.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// True for stream 0.
    pub const fn is_connection(self) -> bool {
        self.0 == 0
    }

    /// True for the odd numbers, which only a client may begin (RFC 9113, 5.1.1).
    pub const fn is_client_initiated(self) -> bool {
        self.0 & 1 == 1
    }

    /// True for the even numbers above 0, which only a server may begin, by a promise.
    pub const fn is_server_initiated(self) -> bool {
        self.0 != 0 && self.0 & 1 == 0
    }

    /// The next number of the same side; `None` when they are used up and the peer needs a new connection.
    #[expect(clippy::arithmetic_side_effects, reason = "compared with the largest just before")]
    pub const fn next(self) -> Option<Self> {
        if self.0 > Self::MAX.0 - 2 { None } else { Some(Self(self.0 + 2)) }
    }

    pub(crate) const fn from_be_bytes(bytes: [u8; 4]) -> Self {
        Self::new(u32::from_be_bytes(bytes))
    }

    pub(crate) const fn to_be_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamId({})", self.0)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_its_number() {
        assert_eq!(
            (format!("{}", StreamId::new(5)), format!("{:?}", StreamId::new(5))),
            ("5".into(), "StreamId(5)".into())
        );
    }

    #[test]
    fn reserved_bit_is_ignored() {
        assert_eq!(StreamId::new(0x8000_0003), StreamId::new(3));
        assert_eq!(StreamId::from_be_bytes([0xff; 4]), StreamId::MAX);
    }

    #[test]
    fn parity_tells_the_initiator() {
        assert!(StreamId::CONNECTION.is_connection());
        assert!(!StreamId::CONNECTION.is_client_initiated() && !StreamId::CONNECTION.is_server_initiated());
        assert!(StreamId::new(1).is_client_initiated() && !StreamId::new(1).is_server_initiated());
        assert!(StreamId::new(2).is_server_initiated() && !StreamId::new(2).is_client_initiated());
    }

    #[test]
    fn numbers_run_out_instead_of_wrapping() {
        assert_eq!(StreamId::new(1).next(), Some(StreamId::new(3)));
        assert_eq!(StreamId::new(0x7fff_fffd).next(), Some(StreamId::MAX));
        assert_eq!(StreamId::MAX.next(), None);
        assert_eq!(StreamId::new(0x7fff_fffe).next(), None);
    }
}
