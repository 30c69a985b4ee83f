//! Reads field blocks.

use super::{Field, HpackError};

/// The receiving half of one direction's compression.
#[derive(Debug)]
pub struct Decoder {}

impl Decoder {
    /// A decoder for a connection that announces `limit` as SETTINGS_HEADER_TABLE_SIZE.
    pub fn new(limit: usize) -> Self {
        let _ = limit;
        Self {}
    }

    /// Sets the limit exactly; call when the peer has acknowledged our SETTINGS.
    pub fn set_limit(&mut self, limit: usize) {
        let _ = limit;
    }

    /// Decodes one complete field block; `sink` gets every field in order.
    ///
    /// # Errors
    /// [`HpackError`]
    pub fn decode(&mut self, block: &[u8], sink: &mut impl FnMut(Field<'_>)) -> Result<(), HpackError> {
        let _ = (block, sink);
        unimplemented!("follows in the next commit")
    }

    /// Counts the changes of the dynamic table.
    pub fn table_generation(&self) -> u64 {
        0
    }
}
