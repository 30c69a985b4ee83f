//! The nine bytes in front of every frame (RFC 9113, 4.1).

use crate::{error_code::ErrorCode, frame::FrameError, stream_id::StreamId};

/// Length of a frame header in bytes.
pub const FRAME_HEADER_LEN: usize = 9;

/// The largest payload that needs no agreement, and the smallest maximum one may agree on (RFC 9113, 4.2).
pub const MIN_MAX_FRAME_SIZE: u32 = 1 << 14;

/// The largest payload the 24-bit length can state (RFC 9113, 4.2).
pub const MAX_MAX_FRAME_SIZE: u32 = (1 << 24) - 1;

/// A frame header, as it stands on the wire.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct FrameHeader {
    /// Bytes of payload that follow the header.
    pub len: u32,
    /// What the payload is.
    pub kind: FrameType,
    /// Flags; their meaning depends on the type, undefined ones are ignored.
    pub flags: Flags,
    /// The stream concerned.
    pub stream: StreamId,
}

impl FrameHeader {
    /// Reads the header at the front of `input`; `None` while fewer than nine bytes are there.
    // [9113-4.1-3] [9113-4.1-4]
    #[inline(always)]
    pub fn parse(input: &[u8]) -> Option<Self> {
        let header = input.first_chunk::<FRAME_HEADER_LEN>()?;
        // Length and type are one load, the stream is another.
        let [_, _, _, _, flags, stream @ ..] = header;
        let len_and_kind = u32::from_be_bytes(*header.first_chunk()?);
        Some(Self {
            len: len_and_kind >> 8,
            kind: FrameType::from_wire(len_and_kind as u8),
            flags: Flags(*flags),
            stream: StreamId::from_be_bytes(*stream),
        })
    }

    /// The nine bytes of the header. The length must fit in 24 bits.
    // [9113-4.1-3] [9113-4.1-4]
    #[inline]
    pub fn to_bytes(self) -> [u8; FRAME_HEADER_LEN] {
        debug_assert!(self.len <= MAX_MAX_FRAME_SIZE, "frame of {} bytes", self.len);
        let [_, l0, l1, l2] = self.len.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind.to_wire(), self.flags.0, s0, s1, s2, s3]
    }

    /// Appends the header to `out`.
    #[inline]
    pub fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// Header and payload together, in bytes.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "24 bits and 9")]
    pub fn frame_len(&self) -> usize {
        FRAME_HEADER_LEN + self.len as usize
    }

    /// Refuses a payload above the maximum we announced, before any of it is buffered (RFC 9113, 4.2).
    ///
    /// Always a connection error: an endpoint may raise a stream error to one (RFC 9113, 5.4.2), and it spares
    /// us from reading up to 16 MiB only to skip it.
    ///
    /// # Errors
    /// FRAME_SIZE_ERROR for the connection.
    // [9113-4.2-1] [9113-4.2-2]
    #[inline]
    pub fn check_len(&self, max_frame_size: u32) -> Result<(), FrameError> {
        if self.len > max_frame_size {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "frame longer than SETTINGS_MAX_FRAME_SIZE",
            ));
        }
        Ok(())
    }
}

/// The type octet of a frame.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum FrameType {
    /// Stream bytes (RFC 9113, 6.1).
    Data,
    /// The start of a field block (6.2).
    Headers,
    /// A deprecated hint, read and ignored (6.3).
    Priority,
    /// Ends a stream at once (6.4).
    RstStream,
    /// Configuration of the connection (6.5).
    Settings,
    /// Announces a pushed stream (6.6).
    PushPromise,
    /// Liveness and round-trip measurement (6.7).
    Ping,
    /// Ends the connection (6.8).
    GoAway,
    /// Gives the peer more window (6.9).
    WindowUpdate,
    /// More of a field block (6.10).
    Continuation,
    /// A type we do not know; such frames are skipped (4.1).
    Unknown(u8),
}

impl FrameType {
    /// Reads the type octet; never fails.
    // [9113-4.1-2]
    #[inline]
    pub const fn from_wire(octet: u8) -> Self {
        match octet {
            0x0 => Self::Data,
            0x1 => Self::Headers,
            0x2 => Self::Priority,
            0x3 => Self::RstStream,
            0x4 => Self::Settings,
            0x5 => Self::PushPromise,
            0x6 => Self::Ping,
            0x7 => Self::GoAway,
            0x8 => Self::WindowUpdate,
            0x9 => Self::Continuation,
            other => Self::Unknown(other),
        }
    }

    /// The type octet.
    #[inline]
    pub const fn to_wire(self) -> u8 {
        match self {
            Self::Data => 0x0,
            Self::Headers => 0x1,
            Self::Priority => 0x2,
            Self::RstStream => 0x3,
            Self::Settings => 0x4,
            Self::PushPromise => 0x5,
            Self::Ping => 0x6,
            Self::GoAway => 0x7,
            Self::WindowUpdate => 0x8,
            Self::Continuation => 0x9,
            Self::Unknown(octet) => octet,
        }
    }
}

/// The flags octet of a frame.
#[derive(Copy, Clone, Eq, PartialEq, Default, Debug)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0x0);
    /// DATA, HEADERS: the sender's last frame of the stream.
    pub const END_STREAM: Self = Self(0x1);
    /// SETTINGS, PING: answers the peer's.
    pub const ACK: Self = Self(0x1);
    /// HEADERS, PUSH_PROMISE, CONTINUATION: the field block is complete.
    pub const END_HEADERS: Self = Self(0x4);
    /// DATA, HEADERS, PUSH_PROMISE: a pad length octet and padding are present.
    pub const PADDED: Self = Self(0x8);
    /// HEADERS: the deprecated priority fields are present.
    pub const PRIORITY: Self = Self(0x20);

    /// True if every bit of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `self` with the bits of `other` set if `condition` holds.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self, condition: bool) -> Self {
        if condition { Self(self.0 | other.0) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trips_for_every_type_octet() {
        for octet in 0..=255 {
            let wire = [0x01, 0x02, 0x03, octet, 0xa5, 0x00, 0x00, 0x00, 0x07];
            let header = FrameHeader::parse(&wire).unwrap();
            assert_eq!((header.len, header.flags.0, header.stream.value()), (0x01_02_03, 0xa5, 7));
            assert_eq!(header.to_bytes(), wire);
            assert_eq!(header.frame_len(), 9 + 0x01_02_03);
        }
    }

    #[test]
    fn fewer_than_nine_bytes_are_no_header() {
        for len in 0..FRAME_HEADER_LEN {
            assert_eq!(FrameHeader::parse(&[0; FRAME_HEADER_LEN][..len]), None);
        }
    }

    #[test]
    fn reserved_bit_of_the_stream_is_ignored() {
        // [9113-4.1-4]
        // RFC 9113, 4.1
        let header = FrameHeader::parse(&[0, 0, 0, 0, 0, 0x80, 0, 0, 5]).unwrap();
        assert_eq!(header.stream, StreamId::new(5));
    }

    #[test]
    fn length_is_checked_against_the_announced_maximum() {
        // [9113-4.2-1] [9113-4.2-2]
        // RFC 9113, 4.2
        let mut header = FrameHeader::parse(&[0, 0x40, 0, 0, 0, 0, 0, 0, 1]).unwrap();
        assert_eq!(header.check_len(MIN_MAX_FRAME_SIZE), Ok(()));
        header.len += 1;
        let error = header.check_len(MIN_MAX_FRAME_SIZE).unwrap_err();
        assert!(error.is_connection() && error.code == ErrorCode::FRAME_SIZE_ERROR);
    }
}
