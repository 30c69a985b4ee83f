//! Metadata as header fields, both ways.

use crate::metadata::{InvalidMetadata, MetadataMap};

/// One header field to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireField<'a> {
    /// Lower-case name.
    pub name: &'a [u8],
    /// Value as it goes on the wire: base64 for `-bin` names.
    pub value: &'a [u8],
    /// Keep out of compression tables.
    pub sensitive: bool,
}

/// The entries of a map as header fields, reserved names left out (H2).
#[derive(Clone, Debug)]
pub struct WireFields<'a> {
    map: &'a MetadataMap,
    index: usize,
    /// Base64 of the binary values that are still to come.
    encoded: &'a [u8],
}

impl MetadataMap {
    /// Adds a received header field. Reserved names are skipped; a `-bin` value
    /// is split at commas and decoded, padded or not (wire-rules 23, 24); a text
    /// value that is not UTF-8 is dropped (22).
    ///
    /// # Errors
    /// A `-bin` value that is not base64: the caller ends the call (25).
    pub fn push_wire(
        &mut self,
        _name: &[u8],
        _value: &[u8],
        _sensitive: bool,
    ) -> Result<(), InvalidMetadata> {
        todo!()
    }

    /// The header fields to send, in order. Binary values are written to
    /// `scratch` as unpadded base64 first (23); it is cleared, and reserved once.
    pub fn wire_fields<'a>(&'a self, _scratch: &'a mut Vec<u8>) -> WireFields<'a> {
        todo!()
    }

    /// The share of these fields in a header list: name, value after base64,
    /// and 32 for each (wire-rules 26).
    pub fn header_list_size(&self) -> usize {
        todo!()
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = WireField<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let _ = (self.map, self.index, self.encoded);
        todo!()
    }
}
