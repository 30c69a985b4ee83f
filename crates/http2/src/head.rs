//! Decoded header blocks as the engine hands them to the layers above it.
//!
//! [`Head`] is one decoded header block: a request head, a response head or trailers. It is built by
//! `connection::headers`, shared by [`Arc`](std::sync::Arc) so that the header-block memo (`memo`) can give
//! the same value to every call that sends the same bytes, and carries what an upper layer derived from it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use crate::Field;
use crate::memo::Room;

/// A decoded header block: one byte storage and one span list, whatever the number of fields.
///
/// Regular fields keep their order. Surrounding blanks of values are already stripped.
#[derive(Default)]
pub struct Head {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    pseudo: [Option<Range>; PSEUDO_COUNT],
    status: Option<u16>,
    list_size: usize,
    content_length: Option<u64>,
    attachment: OnceLock<Box<Attachment>>,
}

impl Head {
    /// Makes a head of `fields` without judging them; pseudo-header fields go to their accessors, a later one
    /// of the same name replaces an earlier one, unknown ones are dropped.
    ///
    /// The engine builds its heads while decoding; this constructor serves tests and transports without
    /// HPACK.
    pub fn from_fields<'f>(fields: impl IntoIterator<Item = Field<'f>>) -> Self {
        let mut head = Head::default();
        for field in fields {
            match Pseudo::of(field.name) {
                Some(pseudo) => head.set_pseudo(pseudo, field.value),
                None if field.name.first() == Some(&b':') => {}
                None => head.push(field),
            }
        }
        head
    }

    /// `:method`.
    pub fn method(&self) -> Option<&[u8]> {
        self.pseudo(Pseudo::Method)
    }

    /// `:scheme`.
    pub fn scheme(&self) -> Option<&[u8]> {
        self.pseudo(Pseudo::Scheme)
    }

    /// `:authority`.
    pub fn authority(&self) -> Option<&[u8]> {
        self.pseudo(Pseudo::Authority)
    }

    /// `:path`, as it came: not percent-decoded, query included.
    pub fn path(&self) -> Option<&[u8]> {
        self.pseudo(Pseudo::Path)
    }

    /// `:status`, three digits.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The regular fields, in the order they came.
    #[expect(
        clippy::indexing_slicing,
        reason = "spans are made by `store`, of what it has just appended; nothing is ever taken off"
    )]
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        self.spans.iter().map(|span| Field {
            name: &self.bytes[span.name.start as usize..span.name.end as usize],
            value: &self.bytes[span.value.start as usize..span.value.end as usize],
            sensitive: span.sensitive,
        })
    }

    /// The value of the first regular field called `name` (lower case).
    pub fn field(&self, name: &[u8]) -> Option<&[u8]> {
        self.fields().find(|field| field.name == name).map(|field| field.value)
    }

    /// How many regular fields there are.
    pub fn field_count(&self) -> usize {
        self.spans.len()
    }

    /// Size of the list in octets, pseudo-header fields included (RFC 9113 6.5.2, 10.5.1).
    pub fn list_size(&self) -> usize {
        self.list_size
    }

    /// What an upper layer derived from this head: `derive` runs once for each type `T` and its result lives
    /// as long as the head, so a head that comes out of the memo again brings the result with it.
    ///
    /// Each type has its own place; the first type asked for is found fastest, so ask for one type on a hot
    /// path. `derive` must depend on the head alone: the result is seen by every call that shares the head.
    #[inline]
    pub fn attachment<T: Any + Send + Sync>(&self, derive: impl FnOnce(&Head) -> T) -> &T {
        match self.attachment.get().and_then(|attached| attached.value.downcast_ref::<T>()) {
            Some(value) => value,
            None => self.attach(derive),
        }
    }

    #[inline(never)]
    fn attach<T: Any + Send + Sync>(&self, derive: impl FnOnce(&Head) -> T) -> &T {
        let mut place = &self.attachment;
        while let Some(attached) = place.get() {
            if let Some(value) = attached.value.downcast_ref::<T>() {
                return value;
            }
            place = &attached.next;
        }
        let mut unplaced =
            Some(Box::new(Attachment { value: Box::new(derive(self)), next: OnceLock::new() }));
        loop {
            // Another thread may have taken the place since; then ours goes further down the list.
            if let Some(attachment) = unplaced.take() {
                unplaced = place.set(attachment).err();
            }
            if let Some(attached) = place.get() {
                if let Some(value) = attached.value.downcast_ref::<T>() {
                    return value;
                }
                place = &attached.next;
            }
        }
    }

    /// Appends a regular field.
    #[expect(clippy::arithmetic_side_effects, reason = "sizes of fields in memory")]
    pub(crate) fn push(&mut self, field: Field<'_>) {
        let name = self.store(field.name);
        let value = self.store(field.value);
        self.spans.push(Span { name, value, sensitive: field.sensitive });
        self.list_size += field.size();
    }

    /// Stores a pseudo-header field; the caller has checked that it is the first of its name.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "a place for each pseudo-header field; sizes of fields in memory"
    )]
    pub(crate) fn set_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) {
        let range = self.store(value);
        self.pseudo[pseudo as usize] = Some(range);
        self.list_size += Field::new(pseudo.name(), value).size();
        if pseudo == Pseudo::Status {
            self.status = parse_status(value);
        }
    }

    /// The value of a pseudo-header field.
    #[expect(
        clippy::indexing_slicing,
        reason = "a place for each pseudo-header field; ranges are made by `store`"
    )]
    pub(crate) fn pseudo(&self, pseudo: Pseudo) -> Option<&[u8]> {
        self.pseudo[pseudo as usize].map(|range| &self.bytes[range.start as usize..range.end as usize])
    }

    /// The number in `content-length`, if the engine found one.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    pub(crate) fn set_content_length(&mut self, length: u64) {
        self.content_length = Some(length);
    }

    /// What the fields take: how many they are, and their octets.
    pub(crate) fn room(&self) -> Room {
        Room { fields: self.spans.len(), bytes: self.bytes.len() }
    }

    /// Makes room once for a block of about `bytes` octets.
    pub(crate) fn with_capacity(fields: usize, bytes: usize) -> Self {
        Head { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(fields), ..Head::default() }
    }

    /// Heap octets this head holds, attachments aside; what the memo's bound counts.
    #[expect(clippy::arithmetic_side_effects, reason = "sizes of buffers in memory")]
    pub(crate) fn footprint(&self) -> usize {
        size_of::<Head>() + self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    fn store(&mut self, bytes: &[u8]) -> Range {
        // Header lists are bounded far below 4 GiB (`limits`), so 32 bits hold every position.
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Range { start, end: self.bytes.len() as u32 }
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pseudo =
            Pseudo::ALL.iter().filter_map(|&pseudo| Some(Field::new(pseudo.name(), self.pseudo(pseudo)?)));
        f.debug_list().entries(pseudo).entries(self.fields()).finish()
    }
}

/// The pseudo-header fields of requests and responses (RFC 9113 8.3.1, 8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pseudo {
    Method,
    Scheme,
    Authority,
    Path,
    Status,
}

impl Pseudo {
    pub(crate) const ALL: [Pseudo; PSEUDO_COUNT] =
        [Pseudo::Method, Pseudo::Scheme, Pseudo::Authority, Pseudo::Path, Pseudo::Status];

    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        match name {
            b":method" => Some(Pseudo::Method),
            b":scheme" => Some(Pseudo::Scheme),
            b":authority" => Some(Pseudo::Authority),
            b":path" => Some(Pseudo::Path),
            b":status" => Some(Pseudo::Status),
            _ => None,
        }
    }

    pub(crate) const fn name(self) -> &'static [u8] {
        match self {
            Pseudo::Method => b":method",
            Pseudo::Scheme => b":scheme",
            Pseudo::Authority => b":authority",
            Pseudo::Path => b":path",
            Pseudo::Status => b":status",
        }
    }
}

/// `:status` is exactly three digits (RFC 9113 8.3.2, RFC 9110 15).
#[expect(clippy::arithmetic_side_effects, reason = "three digits, each within `0` to `9` by the pattern")]
pub(crate) fn parse_status(value: &[u8]) -> Option<u16> {
    match value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => None,
    }
}

const PSEUDO_COUNT: usize = 5;

/// Positions of one regular field in the storage.
struct Span {
    name: Range,
    value: Range,
    sensitive: bool,
}

#[derive(Clone, Copy)]
struct Range {
    start: u32,
    end: u32,
}

/// A list by type: nearly always of length one.
struct Attachment {
    value: Box<dyn Any + Send + Sync>,
    next: OnceLock<Box<Attachment>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Head {
        Head::from_fields([
            Field::new(b":method", b"POST"),
            Field::new(b":path", b"/s/m"),
            Field::new(b"te", b"trailers"),
            Field::sensitive(b"token", b"secret"),
        ])
    }

    #[test]
    fn pseudo_fields_are_apart_from_regular_ones() {
        let head = request();
        assert_eq!(head.method(), Some(&b"POST"[..]));
        assert_eq!(head.path(), Some(&b"/s/m"[..]));
        assert_eq!(head.scheme(), None);
        assert_eq!(head.field_count(), 2);
        assert_eq!(head.field(b"te"), Some(&b"trailers"[..]));
        assert_eq!(head.list_size(), (7 + 4 + 32) + (5 + 4 + 32) + (2 + 8 + 32) + (5 + 6 + 32));
    }

    #[test]
    fn debug_hides_sensitive_values() {
        let text = format!("{:?}", request());
        assert!(text.contains("te: trailers") && text.contains(":method: POST"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn each_type_has_its_own_attachment_and_is_derived_once() {
        let head = request();
        assert_eq!(*head.attachment(Head::field_count), 2);
        assert_eq!(*head.attachment(|_| 7usize), 2);
        assert_eq!(*head.attachment(|_| "other"), "other");
        assert_eq!(*head.attachment(|_| "again"), "other");
        assert_eq!(*head.attachment(|_| 9usize), 2);
    }

    #[test]
    fn only_three_digits_are_a_status() {
        assert_eq!(parse_status(b"200"), Some(200));
        for bad in [&b"20"[..], b"2000", b"+20", b"2 0", b"020", b""] {
            assert_eq!(parse_status(bad), None);
        }
    }
}
