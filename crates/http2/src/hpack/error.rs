//! What can be wrong with a field block.

use std::fmt;

/// A field block that breaks RFC 7541. Always a connection error COMPRESSION_ERROR (RFC 9113, 4.3): the
/// tables of the two ends no longer agree.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends inside an integer or before a string that must follow.
    Truncated,
    /// A string is longer than the rest of the block.
    StringPastEnd,
    /// An integer has more than five continuation octets or exceeds 32 bits (RFC 7541, 5.1).
    IntegerTooLarge,
    /// Index 0 stands for a whole field (RFC 7541, 6.1).
    IndexZero,
    /// An index points past both tables (RFC 7541, 2.3.3).
    IndexPastTable,
    /// A Huffman string holds the end-of-string symbol (RFC 7541, 5.2).
    HuffmanEos,
    /// Huffman padding of more than seven bits (RFC 7541, 5.2).
    HuffmanPaddingTooLong,
    /// Huffman padding that is not all ones (RFC 7541, 5.2).
    HuffmanPaddingNotOnes,
    /// A table size update after the first field of a block (RFC 7541, 4.2).
    SizeUpdateNotFirst,
    /// A table size update above the limit we announced (RFC 7541, 6.3).
    SizeUpdateAboveLimit,
    /// We lowered the limit, the peer acknowledged and did not shrink its table (RFC 7541, 4.2).
    SizeUpdateMissing,
}

impl HpackError {
    /// The rule that was broken, for GOAWAY debug data and logs.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "field block ends inside a field",
            Self::StringPastEnd => "string longer than the field block",
            Self::IntegerTooLarge => "integer in a field block too large",
            Self::IndexZero => "field with index 0",
            Self::IndexPastTable => "field index past the tables",
            Self::HuffmanEos => "end-of-string symbol inside a Huffman string",
            Self::HuffmanPaddingTooLong => "Huffman padding longer than 7 bits",
            Self::HuffmanPaddingNotOnes => "Huffman padding is not all ones",
            Self::SizeUpdateNotFirst => "table size update after a field",
            Self::SizeUpdateAboveLimit => "table size update above SETTINGS_HEADER_TABLE_SIZE",
            Self::SizeUpdateMissing => "table size update missing after a lower SETTINGS_HEADER_TABLE_SIZE",
        }
    }
}

impl fmt::Display for HpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for HpackError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_has_words_of_its_own() {
        let all = [
            HpackError::Truncated,
            HpackError::StringPastEnd,
            HpackError::IntegerTooLarge,
            HpackError::IndexZero,
            HpackError::IndexPastTable,
            HpackError::HuffmanEos,
            HpackError::HuffmanPaddingTooLong,
            HpackError::HuffmanPaddingNotOnes,
            HpackError::SizeUpdateNotFirst,
            HpackError::SizeUpdateAboveLimit,
            HpackError::SizeUpdateMissing,
        ];
        let texts: std::collections::BTreeSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), all.len());
        assert!(texts.iter().all(|text| text.len() > 10));
        assert_eq!(HpackError::IndexZero.to_string(), HpackError::IndexZero.reason());
    }
}
