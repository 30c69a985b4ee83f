//! Reads field blocks (RFC 7541, 3 and 6).

use std::fmt;

use super::{
    DEFAULT_TABLE_SIZE, Field, HpackError,
    dynamic_table::DynamicTable,
    huffman,
    integer::Reader,
    static_table::{self, STATIC_LEN},
};

/// Scratch room kept between blocks; more than this is given back.
const SCRATCH_KEPT: usize = 16 * 1024;

/// The receiving half of one direction's compression.
///
/// Fields are lent to the caller one by one, out of the block, the tables or a scratch buffer: nothing is
/// allocated for a field, and the time is linear in the bytes of the block. What the fields add up to can be
/// far more than the block (a one-byte index may stand for 4 KiB), so the caller counts and stops keeping them
/// at its limit; the block is still read to its end, because the table depends on it.
pub struct Decoder {
    table: DynamicTable,
    /// The largest maximum that the peer may choose.
    limit: usize,
    /// The next block must begin with a size update.
    update_due: bool,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// A decoder for a connection that announces `limit` as SETTINGS_HEADER_TABLE_SIZE, in bytes.
    ///
    /// Until the peer has acknowledged it, the default of 4,096 holds too: a lower `limit` takes effect with
    /// [`Self::set_limit`].
    pub fn new(limit: usize) -> Self {
        Self {
            table: DynamicTable::new(DEFAULT_TABLE_SIZE),
            limit: limit.max(DEFAULT_TABLE_SIZE),
            update_due: false,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Makes `limit` bytes the bound; to be called when the peer acknowledges our SETTINGS.
    ///
    /// A table that holds more than that must be shrunk by the peer at the start of its next block
    /// (RFC 9113, 4.3.1). One that holds less is bounded at once and without asking: the newest entries keep
    /// their indices, so a peer that ignores the limit can only run into [`HpackError::IndexPastTable`].
    // [9113-4.3.1-2]
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.update_due = self.table.size() > limit;
        if !self.update_due && self.table.max_size() > limit {
            self.table.set_max_size(limit);
        }
    }

    /// Decodes one complete field block; `sink` gets every field in order.
    ///
    /// # Errors
    /// A [`HpackError`] after which the decoder is of no more use: the connection ends with COMPRESSION_ERROR.
    pub fn decode(&mut self, block: &[u8], sink: &mut impl FnMut(Field<'_>)) -> Result<(), HpackError> {
        let mut reader = Reader::new(block);
        self.read_size_updates(&mut reader)?;
        // [7541-2.1-1]
        while let Some(first) = reader.peek() {
            // RFC 7541, 6: the leading bits tell the representation.
            match first {
                0x80.. => {
                    let index = reader.integer(7)?;
                    let (name, value) = entry(&self.table, index)?;
                    sink(Field::new(name, value));
                }
                0x40.. => self.read_indexed_literal(&mut reader, sink)?,
                0x20.. => return Err(HpackError::SizeUpdateNotFirst),
                _ => self.read_literal(&mut reader, first & 0x10 != 0, sink)?,
            }
        }
        for scratch in [&mut self.name, &mut self.value] {
            scratch.truncate(SCRATCH_KEPT);
            scratch.shrink_to(SCRATCH_KEPT);
        }
        Ok(())
    }

    /// Changes whenever the dynamic table does: a block that left it as it was means the same when it comes
    /// again, as long as this number stays the same.
    #[inline]
    pub fn table_generation(&self) -> u64 {
        self.table.generation()
    }

    /// True if the next block must begin with a table size update, so that no remembered block may stand in
    /// for it.
    #[inline]
    pub fn update_due(&self) -> bool {
        self.update_due
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.table.footprint() + self.name.capacity() + self.value.capacity()
    }

    /// Dynamic table size updates (RFC 7541, 6.3), which only the start of a block may hold (4.2).
    // [9113-4.3.1-2] [7541-4.2-1] [7541-6.3-1]
    #[inline]
    fn read_size_updates(&mut self, reader: &mut Reader<'_>) -> Result<(), HpackError> {
        while let Some(0x20..0x40) = reader.peek() {
            let size = reader.integer(5)?;
            if size > self.limit {
                return Err(HpackError::SizeUpdateAboveLimit);
            }
            self.table.set_max_size(size);
            self.update_due = false;
        }
        if self.update_due { Err(HpackError::SizeUpdateMissing) } else { Ok(()) }
    }

    /// A literal that enters the table (RFC 7541, 6.2.1).
    fn read_indexed_literal(
        &mut self,
        reader: &mut Reader<'_>,
        sink: &mut impl FnMut(Field<'_>),
    ) -> Result<(), HpackError> {
        let index = reader.integer(6)?;
        if let Some(dynamic) = index.checked_sub(STATIC_LEN + 1) {
            let (name, _) = self.table.get(dynamic).ok_or(HpackError::IndexPastTable)?;
            let value = read_string(reader, &mut self.value)?;
            sink(Field::new(name, value));
            self.table.insert_with_name_of(dynamic, value);
        } else {
            let name = match static_table::get(index) {
                Some((name, _)) => name,
                None => read_string(reader, &mut self.name)?,
            };
            let value = read_string(reader, &mut self.value)?;
            sink(Field::new(name, value));
            self.table.insert(name, value);
        }
        Ok(())
    }

    /// A literal that does not enter the table (RFC 7541, 6.2.2 and 6.2.3).
    // [7541-6.2.3-1]
    fn read_literal(
        &mut self,
        reader: &mut Reader<'_>,
        sensitive: bool,
        sink: &mut impl FnMut(Field<'_>),
    ) -> Result<(), HpackError> {
        let index = reader.integer(4)?;
        let name =
            if index == 0 { read_string(reader, &mut self.name)? } else { entry(&self.table, index)?.0 };
        let value = read_string(reader, &mut self.value)?;
        sink(Field { name, value, sensitive });
        Ok(())
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("table", &self.table)
            .field("limit", &self.limit)
            .field("update_due", &self.update_due)
            .finish_non_exhaustive()
    }
}

/// The entry of the joint address space (RFC 7541, 2.3.3).
// [7541-2.3.3-1] [7541-6.1-1]
#[inline]
fn entry(table: &DynamicTable, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
    if let Some(entry) = static_table::get(index) {
        return Ok(entry);
    }
    let Some(dynamic) = index.checked_sub(STATIC_LEN + 1) else { return Err(HpackError::IndexZero) };
    table.get(dynamic).ok_or(HpackError::IndexPastTable)
}

/// A string literal (RFC 7541, 5.2): a part of the block as it stands, or decoded into `scratch`.
///
/// The length is checked against the block before a byte is reserved for it.
#[inline]
fn read_string<'s, 'b: 's>(
    reader: &mut Reader<'b>,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], HpackError> {
    let first = reader.peek().ok_or(HpackError::Truncated)?;
    let len = reader.integer(7)?;
    let string = reader.take(len)?;
    if first & 0x80 == 0 {
        return Ok(string);
    }
    huffman::decode(string, scratch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Encoder;

    #[test]
    fn scratch_is_kept_up_to_its_bound() {
        let mut decoder = Decoder::new(4096);
        let mut capacity_after = |len: usize| {
            let mut block = Vec::new();
            // One octet in five bits: as much Huffman code as there can be for a text.
            Encoder::new(1).encode(Field::new(b"x", &vec![b'a'; len]), &mut block);
            decoder.decode(&block, &mut |field| assert_eq!(field.value.len(), len)).unwrap();
            decoder.value.capacity()
        };
        assert!((10_000..=SCRATCH_KEPT).contains(&capacity_after(10_000)));
        assert!((10_000..=SCRATCH_KEPT).contains(&capacity_after(10)), "kept for the next block");
        assert!(capacity_after(50_000) <= SCRATCH_KEPT, "more than that is given back");
        assert_eq!(SCRATCH_KEPT, 16_384);
    }
}
