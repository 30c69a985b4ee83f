//! Metadata as header fields, both ways.
//!
//! The client and the server call [`MetadataMap::push_wire`] for each received
//! field that is not their own, and [`MetadataMap::wire_fields`] to write a
//! header block.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::metadata::check::{BINARY_SUFFIX, is_name, is_text};
use crate::metadata::{
    InvalidMetadata, InvalidMetadataReason, MetadataMap, is_reserved_on_receipt, is_reserved_on_send,
};

/// One header field to send.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WireField<'a> {
    /// Lower-case name.
    pub name: &'a [u8],
    /// Value as it goes on the wire: base64 for `-bin` names.
    pub value: &'a [u8],
    /// Keep out of compression tables (RFC 7541 7.1.3).
    pub sensitive: bool,
}

/// The entries of a map as header fields, reserved names left out (H2).
#[derive(Clone)]
pub struct WireFields<'a> {
    map: &'a MetadataMap,
    index: usize,
    /// Base64 of the binary values that are still to come, back to back.
    encoded: &'a [u8],
}

impl MetadataMap {
    /// Adds a received header field.
    ///
    /// Reserved names are skipped (wire-rules 20, D3). A `-bin` value is split
    /// at commas and decoded, padded or not; each part becomes an entry
    /// (wire-rules 23, 24). A field that HTTP allows and gRPC does not, such as a text value
    /// with obs-text, is dropped (22), so that all a map holds can be sent on.
    ///
    /// # Errors
    /// A `-bin` value that is not base64: the caller ends the call (25).
    /// Entries added before are kept.
    pub fn push_wire(&mut self, name: &[u8], value: &[u8], sensitive: bool) -> Result<(), InvalidMetadata> {
        if is_reserved_on_receipt(name) || !is_name(name) {
            return Ok(());
        }
        if !name.ends_with(BINARY_SUFFIX) {
            let value = value.trim_ascii();
            return if is_text(value) { self.push_entry(name, value, sensitive) } else { Ok(()) };
        }
        for part in value.split(|&byte| byte == b',') {
            self.push_base64(name, part.trim_ascii(), sensitive)?;
        }
        Ok(())
    }

    /// The header fields to send, in order. Binary values are written to
    /// `scratch` as unpadded base64 first (23); it is cleared, and grown at most
    /// once.
    pub fn wire_fields<'a>(&'a self, scratch: &'a mut Vec<u8>) -> WireFields<'a> {
        scratch.clear();
        self.encode_binary(scratch);
        WireFields { map: self, index: 0, encoded: scratch }
    }

    /// The share of these fields in a header list in bytes: name, value after
    /// base64, and 32 for each (wire-rules 26).
    pub fn header_list_size(&self) -> usize {
        self.sendable().map(|(name, value)| name.len() + wire_len(name, value) + ENTRY_OVERHEAD).sum()
    }

    /// Appends the base64 of all binary values that will be sent to `scratch`.
    pub(crate) fn encode_binary(&self, scratch: &mut Vec<u8>) {
        let binary = || self.sendable().filter(|(name, _)| name.ends_with(BINARY_SUFFIX));
        scratch.reserve(binary().map(|(_, value)| base64_len(value.len())).sum());
        for (_, value) in binary() {
            append_base64(value, scratch);
        }
    }

    /// As [`wire_fields`](Self::wire_fields), with `encoded` from [`encode_binary`](Self::encode_binary).
    pub(crate) fn wire_fields_encoded<'a>(&'a self, encoded: &'a [u8]) -> WireFields<'a> {
        WireFields { map: self, index: 0, encoded }
    }

    fn sendable(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| self.entry(index)).filter(|(name, _)| !is_reserved_on_send(name))
    }

    fn push_base64(&mut self, name: &[u8], text: &[u8], sensitive: bool) -> Result<(), InvalidMetadata> {
        let store = self.store_mut();
        let start = store.bytes.len();
        store.bytes.extend_from_slice(name);
        if BASE64.decode_vec(text, &mut store.bytes).is_err() {
            store.bytes.truncate(start);
            return Err(InvalidMetadata::new(name, InvalidMetadataReason::Base64));
        }
        store.close_entry(start, name.len(), sensitive)
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = WireField<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.index < self.map.len() {
            let (name, value) = self.map.entry(self.index);
            let sensitive = self.map.spans()[self.index].sensitive;
            self.index += 1;
            if is_reserved_on_send(name) {
                continue;
            }
            if !name.ends_with(BINARY_SUFFIX) {
                return Some(WireField { name, value, sensitive });
            }
            let (value, rest) = self.encoded.split_at_checked(base64_len(value.len()))?;
            self.encoded = rest;
            return Some(WireField { name, value, sensitive });
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.map.len() - self.index))
    }
}

/// Appends the unpadded base64 of `value`.
pub(crate) fn append_base64(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + base64_len(value.len()), 0);
    // Cannot fail: the room is exactly what the encoding takes.
    let written = BASE64.encode_slice(value, &mut out[start..]).unwrap_or(0);
    debug_assert_eq!(start + written, out.len());
}

/// Decodes base64, padded or not.
pub(crate) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// Length of `len` bytes as unpadded base64.
pub(crate) const fn base64_len(len: usize) -> usize {
    len / 3 * 4 + (len % 3 * 4).div_ceil(3)
}

fn wire_len(name: &[u8], value: &[u8]) -> usize {
    if name.ends_with(BINARY_SUFFIX) { base64_len(value.len()) } else { value.len() }
}

/// What RFC 9113 10.5.1 adds for each field of a list.
const ENTRY_OVERHEAD: usize = 32;

/// Writes without padding, reads with or without; spare bits in the last
/// character are ignored, as other implementations do.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::MetadataValue;

    fn received(fields: &[(&str, &[u8])]) -> MetadataMap {
        let mut map = MetadataMap::new();
        for (name, value) in fields {
            map.push_wire(name.as_bytes(), value, false).unwrap();
        }
        map
    }

    fn sent(map: &MetadataMap) -> Vec<(String, String)> {
        let mut scratch = b"left over".to_vec();
        map.wire_fields(&mut scratch)
            .map(|field| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                (text(field.name), text(field.value))
            })
            .collect()
    }

    fn binary(map: &MetadataMap) -> Vec<&[u8]> {
        map.get_all("k-bin").map(|value| value.as_bytes()).collect()
    }

    // wire-rules 23, bug-reports 69, 70
    #[test]
    fn binary_values_are_read_padded_and_unpadded_and_sent_unpadded() {
        let map = received(&[("k-bin", b"AQ=="), ("k-bin", b"AQ"), ("k-bin", b"AQI="), ("k-bin", b"AQID")]);
        assert_eq!(binary(&map), [&[1][..], &[1], &[1, 2], &[1, 2, 3]]);
        let values: Vec<_> = sent(&map).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["AQ", "AQ", "AQI", "AQID"]);
    }

    // wire-rules 24
    #[test]
    fn joined_binary_values_are_split_and_keep_their_order() {
        let map = received(&[("k-bin", b"AQ==,Ag, AwM"), ("a", b"x,y"), ("k-bin", b"BA"), ("k-bin", b"")]);
        assert_eq!(binary(&map), [&[1][..], &[2], &[3, 3], &[4], &[]]);
        assert_eq!(map.get("a"), Some("x,y"));
    }

    // wire-rules 25
    #[test]
    fn an_undecodable_binary_value_is_an_error_and_leaves_no_trace() {
        let mut map = received(&[("k-bin", b"AQ")]);
        let before = map.clone();
        for value in [&b"!"[..], b"A", b"AQ=A", b"A\xff", b"A Q"] {
            let error = map.push_wire(b"k-bin", value, false).unwrap_err();
            assert_eq!(error.reason(), InvalidMetadataReason::Base64);
            assert_eq!(map, before);
        }
    }

    // wire-rules 20, D3
    #[test]
    fn reserved_names_are_not_received() {
        let map =
            received(&[("grpc-status", b"0"), (":path", b"/"), ("te", b"trailers"), ("user-agent", b"x")]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [("user-agent", MetadataValue::Ascii("x"))]);
    }

    // wire-rules 22: legal in HTTP, not in gRPC; never a failure.
    #[test]
    fn fields_that_grpc_cannot_carry_are_dropped() {
        let map = received(&[("a", b"\xe9"), ("b", b"x\ty"), ("c!", b"x"), ("", b"x"), ("d", b"  kept ")]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [("d", MetadataValue::Ascii("kept"))]);
    }

    // wire-rules H2
    #[test]
    fn reserved_names_are_dropped_when_writing() {
        let mut map = MetadataMap::new();
        map.insert("te", "x").unwrap();
        map.insert("a", "1").unwrap();
        map.insert_bin("grpc-status-details-bin", b"zzz").unwrap();
        map.insert_bin("b-bin", b"\x01").unwrap();
        map.insert("user-agent", "mine").unwrap();
        assert_eq!(sent(&map), [("a".into(), "1".into()), ("b-bin".into(), "AQ".into())]);
    }

    // wire-rules D3
    #[test]
    fn duplicates_binary_values_and_sensitivity_survive_a_round_trip() {
        let mut map = MetadataMap::new();
        map.append("a", "1").unwrap();
        map.append_bin("b-bin", &[0, 255]).unwrap();
        map.append("a", "2").unwrap();
        map.append_bin("b-bin", b"").unwrap();
        map.append("token", "s").unwrap();
        assert!(map.set_sensitive("token"));
        let mut scratch = Vec::new();
        let mut copy = MetadataMap::new();
        for field in map.wire_fields(&mut scratch) {
            copy.push_wire(field.name, field.value, field.sensitive).unwrap();
        }
        assert_eq!(copy, map);
    }

    // wire-rules 26
    #[test]
    fn header_list_size_counts_base64_and_overhead() {
        let mut map = MetadataMap::new();
        assert_eq!(map.header_list_size(), 0);
        map.insert("abc", "12").unwrap();
        map.insert_bin("d-bin", &[0; 4]).unwrap();
        map.insert("te", "not sent").unwrap();
        assert_eq!(map.header_list_size(), (3 + 2 + 32) + (5 + 6 + 32));
    }

    // wire-rules H1: sized once, whatever the number of entries.
    #[test]
    fn scratch_grows_at_most_once() {
        let mut map = MetadataMap::new();
        for index in 0..48_u8 {
            map.append_bin("k-bin", &[index; 100]).unwrap();
        }
        let mut scratch = Vec::new();
        map.encode_binary(&mut scratch);
        assert_eq!(scratch.len(), 48 * base64_len(100));
        assert_eq!(scratch.capacity(), scratch.len());
    }

    #[test]
    fn base64_lengths_are_exact() {
        for len in 0..100 {
            let mut out = Vec::new();
            append_base64(&vec![7; len], &mut out);
            assert_eq!(out.len(), base64_len(len));
            assert_eq!(decode_base64(&out).unwrap(), vec![7; len]);
        }
    }
}
