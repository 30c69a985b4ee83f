//! User header fields of a call: one byte storage and one span list, whatever
//! the number of entries (wire-rules H1).
//!
//! The server and the client fill a map from received fields
//! ([`MetadataMap::push_wire`]) and write one out ([`MetadataMap::wire_fields`]);
//! users read and change it in between.

mod reserved;
mod wire;

use std::fmt;

pub use crate::metadata::reserved::{is_reserved_on_receipt, is_reserved_on_send};
pub use crate::metadata::wire::{WireField, WireFields};

/// Metadata of a call, in the order of insertion.
///
/// Names are lower case; a name ending in `-bin` holds bytes, any other
/// printable ASCII. A name may occur more than once.
#[derive(Clone, Default)]
pub struct MetadataMap {
    /// Names and values of all entries, back to back; may hold gaps.
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// Where an entry lies: the name at `start`, the value right behind it.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    name_len: u32,
    value_len: u32,
    sensitive: bool,
}

/// A value of metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataValue<'a> {
    /// Text of an entry whose name does not end in `-bin`.
    Ascii(&'a str),
    /// Bytes of an entry whose name does.
    Binary(&'a [u8]),
}

/// Entries of a map in order.
#[derive(Clone)]
pub struct Iter<'a> {
    map: &'a MetadataMap,
    index: usize,
}

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

impl MetadataMap {
    /// An empty map; allocates nothing.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), spans: Vec::new() }
    }

    /// Room for `entries` entries with names and values of `bytes` bytes in all.
    pub fn with_capacity(entries: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(entries) }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The first text value under `name`, which is compared without regard to case.
    pub fn get(&self, _name: &str) -> Option<&str> {
        todo!()
    }

    /// The first bytes value under `name`, which ends in `-bin`.
    pub fn get_bin(&self, _name: &str) -> Option<&[u8]> {
        todo!()
    }

    /// All values under `name` in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = MetadataValue<'a>> + Clone {
        self.iter().filter(move |(entry, _)| entry.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether there is an entry under `name`.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get_all(name).next().is_some()
    }

    /// Sets `name` to one text value, replacing all values it had. Space around
    /// the value is stripped (wire-rules 22).
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn insert(&mut self, _name: &str, _value: &str) -> Result<(), InvalidMetadata> {
        todo!()
    }

    /// Adds a text value to those of `name`.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn append(&mut self, _name: &str, _value: &str) -> Result<(), InvalidMetadata> {
        todo!()
    }

    /// Sets `name`, which ends in `-bin`, to one bytes value.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn insert_bin(&mut self, _name: &str, _value: &[u8]) -> Result<(), InvalidMetadata> {
        todo!()
    }

    /// Adds a bytes value to those of `name`, which ends in `-bin`.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn append_bin(&mut self, _name: &str, _value: &[u8]) -> Result<(), InvalidMetadata> {
        todo!()
    }

    /// Marks all entries under `name` as sensitive: never put in a compression
    /// table (RFC 7541 7.1.3), never shown by `Debug`. False if there are none.
    pub fn set_sensitive(&mut self, _name: &str) -> bool {
        todo!()
    }

    /// Removes all entries under `name`; says how many there were.
    pub fn remove(&mut self, _name: &str) -> usize {
        todo!()
    }

    /// Removes everything and keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Adds all entries of `other`.
    pub fn extend_from(&mut self, _other: &MetadataMap) {
        todo!()
    }

    /// Names and values in order of insertion.
    pub fn iter(&self) -> Iter<'_> {
        Iter { map: self, index: 0 }
    }
}

impl PartialEq for MetadataMap {
    fn eq(&self, _other: &Self) -> bool {
        todo!()
    }
}

impl Eq for MetadataMap {}

impl fmt::Debug for MetadataMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, MetadataValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let _ = (self.map, &mut self.index);
        todo!()
    }
}

impl<'a> IntoIterator for &'a MetadataMap {
    type Item = (&'a str, MetadataValue<'a>);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> MetadataValue<'a> {
    /// The value as bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        match *self {
            Self::Ascii(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

impl fmt::Debug for MetadataValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(text) => write!(f, "{text:?}"),
            Self::Binary(bytes) => write!(f, "b\"{}\"", bytes.escape_ascii()),
        }
    }
}

impl InvalidMetadata {
    /// The name it was about, with unprintable bytes escaped.
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
        write!(f, "metadata {:?}: {reason}", self.name)
    }
}

impl std::error::Error for InvalidMetadata {}
