//! User header fields of a call: one byte storage and one span list, whatever
//! the number of entries (wire-rules H1).
//!
//! The server and the client fill a map from received fields
//! ([`MetadataMap::push_wire`]) and write one out ([`MetadataMap::wire_fields`]);
//! users read and change it in between.

mod reserved;
mod wire;

use std::fmt;
use std::ops::Range;

pub use crate::metadata::reserved::{is_reserved_on_receipt, is_reserved_on_send};
pub use crate::metadata::wire::{WireField, WireFields};
pub(crate) use crate::metadata::wire::{append_base64, base64_len, decode_base64};

/// Metadata of a call, in the order of insertion.
///
/// Names are lower case; a name ending in `-bin` holds bytes, any other
/// printable ASCII. A name may occur more than once.
#[derive(Clone, Default)]
pub struct MetadataMap {
    /// Names and values of all entries, back to back in order. Names and text
    /// values are ASCII: whatever adds an entry has checked that.
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

    /// Entries, and bytes of names and values, that fit without growing.
    pub fn capacity(&self) -> (usize, usize) {
        (self.spans.capacity(), self.bytes.capacity())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The first text value under `name`, which is compared without regard to case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).find_map(|value| match value {
            MetadataValue::Ascii(text) => Some(text),
            MetadataValue::Binary(_) => None,
        })
    }

    /// The first bytes value under `name`, which ends in `-bin`.
    pub fn get_bin(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).find_map(|value| match value {
            MetadataValue::Ascii(_) => None,
            MetadataValue::Binary(bytes) => Some(bytes),
        })
    }

    /// All values under `name` in order.
    pub fn get_all<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl Iterator<Item = MetadataValue<'a>> + Clone + use<'a, 'n> {
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
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), InvalidMetadata> {
        let value = checked_text(name, value)?;
        self.replace(name, value)
    }

    /// Adds a text value to those of `name`.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn append(&mut self, name: &str, value: &str) -> Result<(), InvalidMetadata> {
        let value = checked_text(name, value)?;
        self.push_entry(name.as_bytes(), value, false)
    }

    /// Sets `name`, which ends in `-bin`, to one bytes value.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn insert_bin(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        check_binary_name(name)?;
        self.replace(name, value)
    }

    /// Adds a bytes value to those of `name`, which ends in `-bin`.
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    pub fn append_bin(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        check_binary_name(name)?;
        self.push_entry(name.as_bytes(), value, false)
    }

    /// Marks all entries under `name` as sensitive: never put in a compression
    /// table (RFC 7541 7.1.3), never shown by `Debug`. False if there are none.
    pub fn set_sensitive(&mut self, name: &str) -> bool {
        let mut found = false;
        for index in 0..self.spans.len() {
            if self.entry(index).0.eq_ignore_ascii_case(name.as_bytes()) {
                self.spans[index].sensitive = true;
                found = true;
            }
        }
        found
    }

    /// Removes all entries under `name`; says how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        let Self { bytes, spans } = self;
        let before = spans.len();
        // Entries behind a removed one move down, in order, so that no gap stays.
        let mut end = 0;
        spans.retain_mut(|span| {
            let range = span.range();
            if bytes[span.name_range()].eq_ignore_ascii_case(name.as_bytes()) {
                return false;
            }
            let len = range.len();
            bytes.copy_within(range, end);
            span.start = end as u32;
            end += len;
            true
        });
        bytes.truncate(end);
        before - spans.len()
    }

    /// Removes everything and keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Adds all entries of `other` behind those of this map.
    ///
    /// # Errors
    /// [`InvalidMetadataReason::TooLarge`]; the map is unchanged then.
    pub fn extend_from(&mut self, other: &Self) -> Result<(), InvalidMetadata> {
        let shift = self.bytes.len();
        if u32::try_from(shift + other.bytes.len()).is_err() {
            return Err(InvalidMetadata::new(b"", InvalidMetadataReason::TooLarge));
        }
        self.bytes.extend_from_slice(&other.bytes);
        let moved = |span: &Span| Span { start: span.start + shift as u32, ..*span };
        self.spans.extend(other.spans.iter().map(moved));
        Ok(())
    }

    /// Names and values in order of insertion.
    pub fn iter(&self) -> Iter<'_> {
        Iter { map: self, index: 0 }
    }

    /// Name and value of an entry as they are stored.
    fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        let span = self.spans[index];
        self.bytes[span.range()].split_at(span.name_len as usize)
    }

    /// Sets a checked name to a checked value.
    fn replace(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        self.check_room(name.as_bytes(), value)?;
        self.remove(name);
        self.push_entry(name.as_bytes(), value, false)
    }

    /// Appends an entry whose name and value are checked but for the name's case.
    fn push_entry(&mut self, name: &[u8], value: &[u8], sensitive: bool) -> Result<(), InvalidMetadata> {
        self.check_room(name, value)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes[start..].make_ascii_lowercase();
        self.bytes.extend_from_slice(value);
        self.close_entry(start, name.len(), sensitive)
    }

    /// Makes an entry of all bytes from `start` on, or removes them.
    fn close_entry(&mut self, start: usize, name_len: usize, sensitive: bool) -> Result<(), InvalidMetadata> {
        let end = self.bytes.len();
        if u32::try_from(end).is_err() {
            let error =
                InvalidMetadata::new(&self.bytes[start..start + name_len], InvalidMetadataReason::TooLarge);
            self.bytes.truncate(start);
            return Err(error);
        }
        let value_len = (end - start - name_len) as u32;
        self.spans.push(Span { start: start as u32, name_len: name_len as u32, value_len, sensitive });
        Ok(())
    }

    fn check_room(&self, name: &[u8], value: &[u8]) -> Result<(), InvalidMetadata> {
        match u32::try_from(self.bytes.len() + name.len() + value.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(InvalidMetadata::new(name, InvalidMetadataReason::TooLarge)),
        }
    }
}

impl Span {
    fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.name_len as usize + self.value_len as usize
    }

    fn name_range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.name_len as usize
    }
}

/// The value without space around it, if both may be sent.
fn checked_text<'v>(name: &str, value: &'v str) -> Result<&'v [u8], InvalidMetadata> {
    let value = value.trim_matches([' ', '\t']).as_bytes();
    let reason = if !is_name_in_any_case(name.as_bytes()) {
        InvalidMetadataReason::Name
    } else if has_binary_suffix(name) {
        InvalidMetadataReason::TextForBinary
    } else if !is_text(value) {
        InvalidMetadataReason::Value
    } else {
        return Ok(value);
    };
    Err(InvalidMetadata::new(name.as_bytes(), reason))
}

fn check_binary_name(name: &str) -> Result<(), InvalidMetadata> {
    let reason = if !is_name_in_any_case(name.as_bytes()) {
        InvalidMetadataReason::Name
    } else if !has_binary_suffix(name) {
        InvalidMetadataReason::BinaryForText
    } else {
        return Ok(());
    };
    Err(InvalidMetadata::new(name.as_bytes(), reason))
}

fn has_binary_suffix(name: &str) -> bool {
    let suffix = name.len().checked_sub(BINARY_SUFFIX.len()).and_then(|at| name.as_bytes().get(at..));
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(BINARY_SUFFIX))
}

/// Whether `name` is a metadata name as it stands on the wire (wire-rules 21).
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.'))
}

fn is_name_in_any_case(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.iter().all(allowed)
}

/// Whether `value` is a text value (wire-rules 22).
fn is_text(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

/// What the name of a binary entry ends in.
const BINARY_SUFFIX: &[u8] = b"-bin";

/// Bytes of a name that an error repeats.
const MAX_NAME_SHOWN: usize = 128;

/// Names whose values `Debug` hides even if nobody marked them.
const SECRETS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Equal if the entries are, in their order: names, values, sensitivity.
impl PartialEq for MetadataMap {
    fn eq(&self, other: &Self) -> bool {
        // Without gaps, equal entries mean equal storage.
        self.bytes == other.bytes
            && self.spans.len() == other.spans.len()
            && self.spans.iter().zip(&other.spans).all(|(ours, theirs)| {
                ours.range() == theirs.range()
                    && ours.name_len == theirs.name_len
                    && ours.sensitive == theirs.sensitive
            })
    }
}

impl Eq for MetadataMap {}

impl fmt::Debug for MetadataMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (index, (name, value)) in self.iter().enumerate() {
            if self.spans[index].sensitive || SECRETS.contains(&name) {
                map.entry(&name, &format_args!("(sensitive)"));
            } else {
                map.entry(&name, &value);
            }
        }
        map.finish()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, MetadataValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.map.len() {
            return None;
        }
        let (name, value) = self.map.entry(self.index);
        self.index += 1;
        // Both are ASCII by the map's invariant; the default is never taken.
        let text = |bytes: &'a [u8]| str::from_utf8(bytes).unwrap_or_default();
        let value = if name.ends_with(BINARY_SUFFIX) {
            MetadataValue::Binary(value)
        } else {
            MetadataValue::Ascii(text(value))
        };
        Some((text(name), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.len() - self.index;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

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
    fn new(name: &[u8], reason: InvalidMetadataReason) -> Self {
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

#[cfg(test)]
mod tests;
