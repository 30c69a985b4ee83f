//! Why an entry cannot be in metadata.

use std::fmt;

/// A name or value that gRPC cannot carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMetadata {
    name: Box<str>,
    reason: InvalidMetadataReason,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidMetadataReason {
    /// The name is empty or has a character outside `0-9 a-z _ - .` (wire-rules 21).
    Name,
    /// The value has a byte outside 0x20 to 0x7E (22).
    Value,
    /// A text value for a name that ends in `-bin`.
    TextForBinary,
    /// A bytes value for a name that does not end in `-bin`.
    BinaryForText,
    /// A received `-bin` value is not base64 (25).
    Base64,
    /// All entries together pass 4 GiB.
    TooLarge,
}

impl InvalidMetadata {
    pub(super) fn new(name: &[u8], reason: InvalidMetadataReason) -> Self {
        let shown = &name[..name.len().min(MAX_NAME_SHOWN)];
        Self { name: shown.escape_ascii().to_string().into(), reason }
    }

    /// The name it was about, with unprintable bytes escaped and cut at 128 bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong.
    pub fn reason(&self) -> InvalidMetadataReason {
        self.reason
    }
}

impl fmt::Display for InvalidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            InvalidMetadataReason::Name => "a name is one or more of 0-9 a-z _ - .",
            InvalidMetadataReason::Value => {
                "a text value is printable ASCII; use a name ending in -bin for bytes"
            }
            InvalidMetadataReason::TextForBinary => "a name ending in -bin takes bytes",
            InvalidMetadataReason::BinaryForText => "bytes need a name ending in -bin",
            InvalidMetadataReason::Base64 => "the received value is not base64",
            InvalidMetadataReason::TooLarge => "metadata of 4 GiB or more cannot be held",
        };
        write!(f, "metadata \"{}\": {reason}", self.name)
    }
}

impl std::error::Error for InvalidMetadata {}

/// Bytes of a name that an error repeats.
const MAX_NAME_SHOWN: usize = 128;
