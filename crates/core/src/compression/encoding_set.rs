//! A set of encodings: what a peer says it accepts, and what this side is willing to take.

use std::fmt;

use crate::message::{Encoding, tokens};

/// Some of the encodings. [`Encoding::Identity`] is in every set: it is always acceptable (wire-rules P1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EncodingSet {
    bits: u8,
}

impl EncodingSet {
    /// Identity alone.
    pub const NONE: Self = Self { bits: 0 };

    /// All that are compiled in.
    pub const fn supported() -> Self {
        let mut set = Self::NONE;
        let mut index = 0;
        while index < Encoding::COMPRESSED.len() {
            if Encoding::COMPRESSED[index].is_supported() {
                set = set.with(Encoding::COMPRESSED[index]);
            }
            index += 1;
        }
        set
    }

    /// What a `grpc-accept-encoding` field names. Names that this library does not know are left out; nothing in it
    /// is an error (wire-rules N4).
    pub fn from_wire(value: &[u8]) -> Self {
        tokens(value).filter_map(Encoding::from_name).fold(Self::NONE, Self::with)
    }

    /// This set and `encoding`.
    #[must_use]
    pub const fn with(self, encoding: Encoding) -> Self {
        Self { bits: self.bits | Self::bit(encoding) }
    }

    /// This set without `encoding`.
    #[must_use]
    pub const fn without(self, encoding: Encoding) -> Self {
        Self { bits: self.bits & !Self::bit(encoding) }
    }

    /// What is in both sets, or in one of them.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
    }

    /// Whether `encoding` is in the set.
    pub const fn contains(self, encoding: Encoding) -> bool {
        matches!(encoding, Encoding::Identity) || self.bits & Self::bit(encoding) != 0
    }

    /// Whether there is nothing in it but identity.
    pub const fn is_identity_only(self) -> bool {
        self.bits == 0
    }

    /// The members, preferred ones first, identity last.
    pub fn iter(self) -> impl Iterator<Item = Encoding> {
        let compressed = Encoding::COMPRESSED.into_iter().filter(move |&encoding| self.contains(encoding));
        compressed.chain([Encoding::Identity])
    }

    /// As one number, for an atomic.
    pub const fn to_bits(self) -> u8 {
        self.bits
    }

    /// From [`to_bits`](Self::to_bits); other bits are left out.
    pub const fn from_bits(bits: u8) -> Self {
        Self { bits: bits & 15 }
    }

    const fn bit(encoding: Encoding) -> u8 {
        match encoding {
            Encoding::Identity => 0,
            Encoding::Gzip => 1,
            Encoding::Deflate => 2,
            Encoding::Zstd => 4,
            Encoding::Snappy => 8,
        }
    }
}

/// As the value of a `grpc-accept-encoding` field.
impl fmt::Display for EncodingSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, encoding) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(encoding.name())?;
        }
        Ok(())
    }
}

impl FromIterator<Encoding> for EncodingSet {
    fn from_iter<I: IntoIterator<Item = Encoding>>(encodings: I) -> Self {
        encodings.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules N4: the whole token counts, and nothing is an error.
    #[test]
    fn a_list_means_its_whole_tokens() {
        let gzip = EncodingSet::NONE.with(Encoding::Gzip);
        let both = gzip.with(Encoding::Deflate);
        let long = b"gzip,".repeat(8192 / 5);
        let cases: [(&[u8], EncodingSet); 14] = [
            (b"gzip", gzip),
            (b"identity,gzip", gzip),
            (b"deflate, gzip", both),
            (b" gzip ,", gzip),
            (b"\tgzip\t", gzip),
            (b",,gzip,,", gzip),
            (&long, gzip),
            (b"\xff\xfe,gzip", gzip),
            (b"x-gzip", EncodingSet::NONE),
            (b"notgzip", EncodingSet::NONE),
            (b"gzipx", EncodingSet::NONE),
            (b"GZIP", EncodingSet::NONE),
            (b"", EncodingSet::NONE),
            (b"\xff\xfe", EncodingSet::NONE),
        ];
        for (value, expected) in cases {
            assert_eq!(EncodingSet::from_wire(value), expected, "{}", value.escape_ascii());
        }
    }

    // wire-rules N4: repeated fields are one list.
    #[test]
    fn repeated_fields_are_joined() {
        let joined = EncodingSet::from_wire(b"gzip").union(EncodingSet::from_wire(b"zstd"));
        assert_eq!(joined, EncodingSet::from_wire(b"zstd,gzip"));
    }

    // wire-rules P1
    #[test]
    fn identity_is_in_every_set() {
        assert!(EncodingSet::NONE.contains(Encoding::Identity) && EncodingSet::NONE.is_identity_only());
        assert!(EncodingSet::NONE.without(Encoding::Identity).contains(Encoding::Identity));
    }

    #[test]
    fn what_is_written_is_read() {
        for bits in 0..16_u8 {
            let set = EncodingSet { bits };
            assert_eq!(EncodingSet::from_wire(set.to_string().as_bytes()), set);
            assert_eq!(set.iter().collect::<EncodingSet>(), set);
        }
        assert_eq!(EncodingSet::supported().to_string(), Encoding::SUPPORTED);
    }
}
