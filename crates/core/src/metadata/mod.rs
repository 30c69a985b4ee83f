//! User header fields of a call: one byte storage and one span list, whatever
//! the number of entries (wire-rules H1).
//!
//! The server and the client fill a map from received fields
//! ([`MetadataMap::push_wire`]) and write one out ([`MetadataMap::wire_fields`]);
//! users read and change it in between.

mod check;
mod invalid;
mod reserved;
mod shown;
mod wire;

use std::ops::Range;
use std::sync::Arc;

pub use crate::metadata::invalid::{InvalidMetadata, InvalidMetadataReason};
pub use crate::metadata::reserved::{is_reserved_on_receipt, is_reserved_on_send};
pub use crate::metadata::wire::{WireField, WireFields};
pub(crate) use crate::metadata::wire::{append_base64, base64_len, decode_base64};

use crate::metadata::check::{BINARY_SUFFIX, check_binary_name, checked_text};

/// Metadata of a call, in the order of insertion.
///
/// Names are lower case; a name ending in `-bin` holds bytes, any other
/// printable ASCII. A name may occur more than once.
///
/// A clone shares the entries until one of the two is changed, so it costs nothing to keep a map and give it to many
/// calls. What the engine decodes of a header block that comes again is shared so (wire-rules H1).
#[derive(Clone, Default)]
pub struct MetadataMap {
    /// One word, since every request, response and result of a call has a map and most stay without entries.
    store: Option<Arc<Store>>,
}

/// The entries of a map that has, or had, some.
#[derive(Clone, Default)]
struct Store {
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

impl MetadataMap {
    /// An empty map; allocates nothing.
    pub const fn new() -> Self {
        Self { store: None }
    }

    /// Room for `entries` entries with names and values of `bytes` bytes in all.
    pub fn with_capacity(entries: usize, bytes: usize) -> Self {
        let store = || Store { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(entries) };
        Self { store: (entries > 0 || bytes > 0).then(|| Arc::new(store())) }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans().len()
    }

    /// Entries, and bytes of names and values, that fit without growing.
    pub fn capacity(&self) -> (usize, usize) {
        self.store.as_ref().map_or((0, 0), |store| (store.spans.capacity(), store.bytes.capacity()))
    }

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans().is_empty()
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

    /// Sets `name` to one text value, replacing all values it had. Space around the value is stripped.
    ///
    /// Names that gRPC and HTTP/2 keep for themselves (`te`, `content-type`, `user-agent`, `host`, those that begin
    /// with `grpc-`) may stand in a map, and are left out when it is sent ([`is_reserved_on_send`], wire-rules 20).
    ///
    /// # Errors
    /// See [`InvalidMetadataReason`]; the map is unchanged then.
    // wire-rules 22
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
    ///
    /// The mark goes along on the wire, and to the value that [`insert`](Self::insert) puts in the place of a marked
    /// one.
    pub fn set_sensitive(&mut self, name: &str) -> bool {
        let Some(Store { bytes, spans }) = self.store.as_mut().map(Arc::make_mut) else { return false };
        let mut found = false;
        for span in spans {
            if bytes[span.name_range()].eq_ignore_ascii_case(name.as_bytes()) {
                span.sensitive = true;
                found = true;
            }
        }
        found
    }

    /// Removes all entries under `name`; says how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        let Some(Store { bytes, spans }) = self.store.as_mut().map(Arc::make_mut) else { return 0 };
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

    /// Removes everything and keeps the storage, if that is not shared.
    pub fn clear(&mut self) {
        match self.store.as_mut().map(Arc::get_mut) {
            Some(Some(Store { bytes, spans })) => {
                bytes.clear();
                spans.clear();
            }
            Some(None) | None => self.store = None,
        }
    }

    /// Adds all entries of `other` behind those of this map.
    ///
    /// # Errors
    /// [`InvalidMetadataReason::TooLarge`]; the map is unchanged then.
    pub fn extend_from(&mut self, other: &Self) -> Result<(), InvalidMetadata> {
        let shift = self.bytes().len();
        if u32::try_from(shift + other.bytes().len()).is_err() {
            return Err(InvalidMetadata::new(b"", InvalidMetadataReason::TooLarge));
        }
        if !other.is_empty() {
            let Store { bytes, spans } = self.store_mut();
            bytes.extend_from_slice(other.bytes());
            let moved = |span: &Span| Span { start: span.start + shift as u32, ..*span };
            spans.extend(other.spans().iter().map(moved));
        }
        Ok(())
    }

    /// Names and values in order of insertion.
    pub fn iter(&self) -> Iter<'_> {
        Iter { map: self, index: 0 }
    }

    /// Name and value of an entry as they are stored.
    fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        let span = self.spans()[index];
        self.bytes()[span.range()].split_at(span.name_len as usize)
    }

    fn bytes(&self) -> &[u8] {
        self.store.as_ref().map_or(&[], |store| &store.bytes)
    }

    #[inline]
    fn spans(&self) -> &[Span] {
        self.store.as_ref().map_or(&[], |store| &store.spans)
    }

    fn has_equal_entries(&self, other: &Self) -> bool {
        // Without gaps, equal entries mean equal storage.
        self.bytes() == other.bytes()
            && self.len() == other.len()
            && self.spans().iter().zip(other.spans()).all(|(ours, theirs)| {
                ours.range() == theirs.range()
                    && ours.name_len == theirs.name_len
                    && ours.sensitive == theirs.sensitive
            })
    }

    fn store_mut(&mut self) -> &mut Store {
        Arc::make_mut(self.store.get_or_insert_default())
    }

    /// Sets a checked name to a checked value.
    fn replace(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        self.check_room(name.as_bytes(), value)?;
        // What replaces a secret is one too, even if who replaces it does not know.
        let sensitive = self.is_sensitive(name);
        self.remove(name);
        self.push_entry(name.as_bytes(), value, sensitive)
    }

    /// Whether an entry under `name` is marked as sensitive.
    fn is_sensitive(&self, name: &str) -> bool {
        let bytes = self.bytes();
        let marked = self.spans().iter().filter(|span| span.sensitive);
        marked.map(|span| &bytes[span.name_range()]).any(|entry| entry.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Appends an entry whose name and value are checked but for the name's case.
    fn push_entry(&mut self, name: &[u8], value: &[u8], sensitive: bool) -> Result<(), InvalidMetadata> {
        self.check_room(name, value)?;
        let store = self.store_mut();
        let start = store.bytes.len();
        store.bytes.extend_from_slice(name);
        // [9113-8.2-1]
        store.bytes[start..].make_ascii_lowercase();
        store.bytes.extend_from_slice(value);
        store.close_entry(start, name.len(), sensitive)
    }

    fn check_room(&self, name: &[u8], value: &[u8]) -> Result<(), InvalidMetadata> {
        match u32::try_from(self.bytes().len() + name.len() + value.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(InvalidMetadata::new(name, InvalidMetadataReason::TooLarge)),
        }
    }
}

impl Store {
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

/// Equal if the entries are, in their order: names, values, sensitivity.
impl PartialEq for MetadataMap {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (&self.store, &other.store) {
            (None, None) => true,
            (Some(ours), Some(theirs)) if Arc::ptr_eq(ours, theirs) => true,
            _ => self.has_equal_entries(other),
        }
    }
}

impl Eq for MetadataMap {}

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

impl<'a> MetadataValue<'a> {
    /// The value as bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        match *self {
            Self::Ascii(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests;
