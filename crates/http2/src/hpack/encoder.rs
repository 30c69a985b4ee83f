//! Writes field blocks.

use super::{CachedBlock, Field};

/// The sending half of one direction's compression.
#[derive(Debug)]
pub struct Encoder {}

impl Encoder {
    /// An encoder; `seed` guards its look-ups against chosen collisions.
    pub fn new(seed: u64) -> Self {
        let _ = seed;
        Self {}
    }

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    pub fn set_peer_limit(&mut self, limit: u32) {
        let _ = limit;
    }

    /// Begins a block: appends the table size updates that are due. Nothing else may precede the fields.
    pub fn start_block(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Appends one field of the block begun last.
    pub fn encode(&mut self, field: Field<'_>, out: &mut Vec<u8>) {
        let _ = (field, out);
        unimplemented!("follows in the next commit")
    }

    /// Appends a whole block: `start_block` and every field.
    pub fn encode_block<'f>(&mut self, fields: impl IntoIterator<Item = Field<'f>>, out: &mut Vec<u8>) {
        self.start_block(out);
        for field in fields {
            self.encode(field, out);
        }
    }

    /// Like `encode_block` for a block that is sent again and again: copies `cached` while it is valid for the
    /// present table, else asks `fields` and keeps the result. Includes `start_block`.
    pub fn encode_cached<'f, I>(
        &mut self,
        cached: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        out: &mut Vec<u8>,
    ) where
        I: IntoIterator<Item = Field<'f>>,
    {
        let _ = cached;
        self.encode_block(fields(), out);
    }

    /// Counts the changes of the dynamic table.
    pub fn table_generation(&self) -> u64 {
        0
    }
}
