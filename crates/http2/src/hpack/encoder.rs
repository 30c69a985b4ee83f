//! Writes field blocks (RFC 7541, 6).

use std::{
    collections::VecDeque,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    CachedBlock, DEFAULT_TABLE_SIZE, Field,
    cached_block::EncoderState,
    dynamic_table::DynamicTable,
    hash::seeded_hash,
    huffman, integer,
    seen_once::SeenOnce,
    static_table::{self, KnownName, Policy, STATIC_LEN},
};

/// The sending half of one direction's compression.
///
/// What enters the table follows from the name. The fields that a connection repeats in every call enter at
/// once; values that differ from call to call (timeouts, messages, lengths, binary metadata) never do; any
/// other field enters when the same name and value come a second time, so that request ids do not churn the
/// table and cached blocks stay valid. Sensitive fields are literals that no hop may index.
pub struct Encoder {
    table: DynamicTable,
    /// Hashes of the table's entries, oldest first.
    hashes: VecDeque<EntryHash>,
    /// Where in `hashes` the next field is looked for first: behind the entry used last, since calls that repeat
    /// their fields mostly repeat their order.
    next: usize,
    seen: SeenOnce,
    /// The lowest maximum set since the last block, if the peer must be told.
    lowest_unannounced: Option<usize>,
    seed: u64,
    id: u64,
}

/// The table size we use if the peer allows it: it bounds the linear look-up to 128 entries.
const MAX_TABLE_SIZE: usize = DEFAULT_TABLE_SIZE;

/// Tells encoders apart, so that a [`CachedBlock`] of one connection is not mistaken for another's.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

#[derive(Copy, Clone, Debug)]
struct EntryHash {
    name: u32,
    field: u32,
}

impl Encoder {
    /// An encoder with an empty table of the default maximum, 4,096 bytes. `seed` should be random: it keeps
    /// the peer from choosing fields whose hashes collide.
    pub fn new(seed: u64) -> Self {
        Self {
            table: DynamicTable::new(MAX_TABLE_SIZE),
            hashes: VecDeque::new(),
            next: 0,
            seen: SeenOnce::new(seed),
            lowest_unannounced: None,
            seed,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE, in bytes; the next block announces the change. Above
    /// 4,096 the table does not grow.
    // wire-rules 86
    // [9113-4.3.1-1] [7541-4.2-1] [7541-4.2-3]
    pub fn set_peer_limit(&mut self, limit: u32) {
        let max = MAX_TABLE_SIZE.min(limit as usize);
        if max == self.table.max_size() {
            return;
        }
        let evicted = self.table.set_max_size(max);
        self.forget_oldest(evicted);
        // The lowest of several changes must be announced too (RFC 7541, 4.2).
        self.lowest_unannounced = Some(self.lowest_unannounced.map_or(max, |lowest| lowest.min(max)));
    }

    /// Begins a block: appends the table size updates that are due. Every block needs it once, before its
    /// fields; [`Self::encode_block`] and [`Self::encode_cached`] include it.
    // [7541-4.2-2] [7541-4.2-3]
    #[inline]
    pub fn start_block(&mut self, out: &mut Vec<u8>) {
        if let Some(lowest) = self.lowest_unannounced.take() {
            let max = self.table.max_size();
            if lowest < max {
                integer::encode(lowest, 5, 0x20, out);
            }
            integer::encode(max, 5, 0x20, out);
        }
    }

    /// Appends one field of the block begun last.
    #[inline]
    pub fn encode(&mut self, field: Field<'_>, out: &mut Vec<u8>) {
        self.encode_expecting(field, Policy::Repeated, out);
    }

    /// Appends a whole block.
    // [7541-2.1-1]
    pub fn encode_block<'f>(&mut self, fields: impl IntoIterator<Item = Field<'f>>, out: &mut Vec<u8>) {
        self.start_block(out);
        for field in fields {
            self.encode(field, out);
        }
    }

    /// Appends a whole block that is sent again and again: copies `cached` while it is valid for the present
    /// table, else encodes `fields` and keeps the result. Since the fields are known to repeat, all but the
    /// sensitive and the variable ones are indexed at once.
    ///
    /// Fields of one call (a timeout, metadata) may follow by [`Self::encode`], so that a block of both kinds
    /// costs a copy and its own fields.
    #[inline]
    pub fn encode_cached<'f, I>(
        &mut self,
        cached: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        out: &mut Vec<u8>,
    ) where
        I: IntoIterator<Item = Field<'f>>,
    {
        self.start_block(out);
        if let Some(block) = cached.get(self.state()) {
            out.extend_from_slice(block);
        } else {
            self.fill_cached(cached, fields(), out);
        }
    }

    /// What [`encode_cached`](Self::encode_cached) would append, between room for two frame headers, if that is nothing
    /// but a copy: `cached` is valid, and no table size update is due.
    #[inline]
    pub(crate) fn recall<'b>(&self, cached: &'b CachedBlock) -> Option<&'b [u8]> {
        if self.lowest_unannounced.is_some() { None } else { cached.framed(self.state()) }
    }

    /// The block that [`Self::encode_cached`] would append for `cached`, if that is a copy and nothing else.
    #[inline]
    pub fn cached<'b>(&self, cached: &'b CachedBlock) -> Option<&'b [u8]> {
        if self.lowest_unannounced.is_some() {
            return None;
        }
        cached.get(self.state())
    }

    /// Changes whenever the dynamic table does.
    #[inline]
    pub fn table_generation(&self) -> u64 {
        self.table.generation()
    }

    #[expect(clippy::indexing_slicing, reason = "`out` has only grown since its length was taken")]
    fn fill_cached<'f>(
        &mut self,
        cached: &mut CachedBlock,
        fields: impl IntoIterator<Item = Field<'f>>,
        out: &mut Vec<u8>,
    ) {
        let (before, start) = (self.state(), out.len());
        for field in fields {
            self.encode_expecting(field, Policy::AtOnce, out);
        }
        // A block that inserted entries means something else the second time. What is kept then from before is for a
        // state of the table that never comes again.
        if before == self.state() {
            cached.keep(before, &out[start..]);
        }
    }

    #[inline]
    fn state(&self) -> EncoderState {
        EncoderState { encoder: self.id, generation: self.table.generation() }
    }

    /// Appends a field; `otherwise` is the policy for names without one of their own.
    fn encode_expecting(&mut self, field: Field<'_>, otherwise: Policy, out: &mut Vec<u8>) {
        let known = static_table::known_name(field.name);
        // [7541-6.2.3-1] [7541-7.1.3-1]
        if field.sensitive {
            return self.encode_literal(field, known, Literal::NEVER_INDEXED, out);
        }
        if let Some(index) = known.and_then(|known| known.index_with(field.value)) {
            return integer::encode(index, 7, 0x80, out);
        }
        let policy = match known.map(|known| known.policy) {
            Some(policy @ (Policy::AtOnce | Policy::Never)) => policy,
            None if field.name.ends_with(b"-bin") => Policy::Never,
            _ => otherwise,
        };
        if policy == Policy::Never {
            return self.encode_literal(field, known, Literal::NOT_INDEXED, out);
        }
        let hash = self.hash(field, known);
        if let Some(index) = self.find(field, hash) {
            return integer::encode(index, 7, 0x80, out);
        }
        // An entry above half the table would cost more than it saves.
        let fits = field.size() <= self.table.max_size() / 2;
        if fits && (policy == Policy::AtOnce || self.seen.comes_again(hash.field)) {
            self.encode_literal(field, known, Literal::INDEXED, out);
            let evicted = self.table.insert(field.name, field.value);
            self.forget_oldest(evicted);
            self.hashes.push_back(hash);
        } else {
            self.encode_literal(field, known, Literal::NOT_INDEXED, out);
        }
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.table.footprint() + self.hashes.capacity() * size_of::<EntryHash>()
    }

    fn encode_literal(&self, field: Field<'_>, known: Option<&KnownName>, form: Literal, out: &mut Vec<u8>) {
        let index =
            known.and_then(KnownName::index).or_else(|| self.find_name(field.name, known)).unwrap_or(0);
        integer::encode(index, form.prefix_bits, form.pattern, out);
        if index == 0 {
            encode_string(field.name, out);
        }
        encode_string(field.value, out);
    }

    #[inline]
    fn hash(&self, field: Field<'_>, known: Option<&KnownName>) -> EntryHash {
        let name = self.hash_name(field.name, known);
        EntryHash { name: name as u32, field: (seeded_hash(name, field.value) >> 32) as u32 }
    }

    #[inline]
    fn hash_name(&self, name: &[u8], known: Option<&KnownName>) -> u64 {
        match known {
            Some(known) => self.seed ^ u64::from(known.number()),
            None => seeded_hash(self.seed, name),
        }
    }

    /// The index of a dynamic entry equal to `field`.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "positions of entries in a table of 128 at most")]
    fn find(&mut self, field: Field<'_>, hash: EntryHash) -> Option<usize> {
        let may_be = |entry: EntryHash| entry.field == hash.field;
        let is = |name: &[u8], value: &[u8]| value == field.value && name == field.name;
        if self.hashes.get(self.next).is_some_and(|entry| may_be(*entry)) {
            let index = self.hashes.len() - 1 - self.next;
            if self.table.get(index).is_some_and(|(name, value)| is(name, value)) {
                self.next += 1;
                return Some(STATIC_LEN + 1 + index);
            }
        }
        let index = self.find_entry(may_be, is)?;
        self.next = self.hashes.len() - index;
        Some(STATIC_LEN + 1 + index)
    }

    /// The index of a dynamic entry with this name.
    #[expect(clippy::arithmetic_side_effects, reason = "the index of an entry in a table of 128 at most")]
    fn find_name(&self, name: &[u8], known: Option<&KnownName>) -> Option<usize> {
        let hash = self.hash_name(name, known) as u32;
        let index = self.find_entry(|entry| entry.name == hash, |entry, _| entry == name)?;
        Some(STATIC_LEN + 1 + index)
    }

    /// The newest dynamic entry whose hash may be right and whose name and value are; 0 is the one inserted last.
    #[inline]
    fn find_entry(
        &self,
        may_be: impl Fn(EntryHash) -> bool,
        is: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Option<usize> {
        let newest_first = self.hashes.iter().rev().enumerate();
        for (index, hash) in newest_first {
            if may_be(*hash) && self.table.get(index).is_some_and(|(name, value)| is(name, value)) {
                return Some(index);
            }
        }
        None
    }

    fn forget_oldest(&mut self, count: usize) {
        self.hashes.drain(..count);
        self.next = self.next.saturating_sub(count);
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("table", &self.table).finish_non_exhaustive()
    }
}

/// One of the three literal representations (RFC 7541, 6.2).
#[derive(Copy, Clone)]
struct Literal {
    pattern: u8,
    prefix_bits: u32,
}

impl Literal {
    const INDEXED: Self = Self { pattern: 0x40, prefix_bits: 6 };
    const NOT_INDEXED: Self = Self { pattern: 0x00, prefix_bits: 4 };
    const NEVER_INDEXED: Self = Self { pattern: 0x10, prefix_bits: 4 };
}

/// Appends a string literal, Huffman-coded where that is shorter (RFC 7541, 5.2).
fn encode_string(string: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(string);
    if coded < string.len() {
        integer::encode(coded, 7, 0x80, out);
        huffman::encode(string, out);
    } else {
        integer::encode(string.len(), 7, 0x00, out);
        out.extend_from_slice(string);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::hpack::Decoder;

    fn reads_back(encoder: &mut Encoder, decoder: &mut Decoder, name: &[u8], value: &[u8]) {
        let mut block = Vec::new();
        encoder.encode_block([Field::new(name, value)], &mut block);
        let mut seen = Vec::new();
        decoder.decode(&block, &mut |field| seen.push((field.name.to_vec(), field.value.to_vec()))).unwrap();
        assert_eq!(seen, [(name.to_vec(), value.to_vec())]);
    }

    /// Two numbers whose texts `hash` sends to the same place.
    fn colliding(hash: impl Fn(&[u8]) -> u32) -> (String, String) {
        let mut seen = HashMap::new();
        for number in 0.. {
            let text = format!("x-{number}");
            if let Some(other) = seen.insert(hash(text.as_bytes()), text.clone()) {
                return (other, text);
            }
        }
        unreachable!("there are more numbers than hashes");
    }

    #[test]
    fn fields_whose_hashes_collide_are_told_apart() {
        let encoder = Encoder::new(3);
        let by_name = colliding(|name| encoder.hash_name(name, None) as u32);
        let of_names = colliding(|name| encoder.hash(Field::new(name, b"v"), None).field);
        let of_values = colliding(|value| encoder.hash(Field::new(b"x-name", value), None).field);
        for [(name, value), (other_name, other_value)] in [
            [(&by_name.0[..], "1"), (&by_name.1[..], "2")],
            [(&of_names.0[..], "v"), (&of_names.1[..], "v")],
            [("x-name", &of_values.0[..]), ("x-name", &of_values.1[..])],
        ] {
            let (mut encoder, mut decoder) = (Encoder::new(3), Decoder::new(4096));
            for _ in 0..3 {
                reads_back(&mut encoder, &mut decoder, name.as_bytes(), value.as_bytes());
            }
            for _ in 0..3 {
                reads_back(&mut encoder, &mut decoder, other_name.as_bytes(), other_value.as_bytes());
            }
        }
    }

    /// Octets of the block of `count` fields when it is sent for the `times`th time.
    fn repeated(seed: u64, count: usize, times: usize) -> usize {
        let mut encoder = Encoder::new(seed);
        let mut decoder = Decoder::new(4096);
        let fields: Vec<_> =
            (0..count).map(|at| (format!("x-entry-{at:02}"), format!("value {at}"))).collect();
        let mut block = Vec::new();
        for _ in 0..times {
            block.clear();
            let each = fields.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()));
            encoder.encode_block(each, &mut block);
            let mut seen = Vec::new();
            decoder
                .decode(&block, &mut |field| seen.push((field.name.to_vec(), field.value.to_vec())))
                .unwrap();
            assert!(
                seen.iter()
                    .map(|(name, value)| (&name[..], &value[..]))
                    .eq(fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
            );
        }
        block.len()
    }

    #[test]
    fn fields_that_repeat_together_become_an_octet_each_however_their_hashes_fall() {
        for seed in 0..200 {
            for count in [1, 2, 12, 48] {
                assert_eq!(repeated(seed, count, 30), count, "{count} fields, seed {seed}");
            }
        }
    }

    #[test]
    fn more_fields_than_the_table_holds_are_still_read_back() {
        for seed in 0..20 {
            assert!(repeated(seed, 120, 10) > 120);
        }
    }

    #[test]
    fn fields_in_another_order_are_found_as_well() {
        let mut encoder = Encoder::new(5);
        let mut fields: Vec<_> = (0..20).map(|at| format!("x-{at}")).collect();
        for _ in 0..10 {
            encoder
                .encode_block(fields.iter().map(|name| Field::new(name.as_bytes(), b"v")), &mut Vec::new());
        }
        fields.reverse();
        let mut block = Vec::new();
        encoder.encode_block(fields.iter().map(|name| Field::new(name.as_bytes(), b"v")), &mut block);
        assert_eq!(block.len(), fields.len());
    }

    #[test]
    fn what_leaves_the_table_leaves_nothing_behind() {
        let mut encoder = Encoder::new(9);
        for number in 0..5_000 {
            let value = number.to_string();
            for _ in 0..2 {
                encoder.encode(Field::new(b"x-number", value.as_bytes()), &mut Vec::new());
            }
            assert!(encoder.hashes.len() <= MAX_TABLE_SIZE / 32, "{number}");
        }
        encoder.set_peer_limit(0);
        assert!(encoder.hashes.is_empty());
    }

    #[test]
    fn what_repeats_is_the_field_and_not_its_value() {
        // Whatever the seed, the same value under another name is no repetition.
        for seed in [0, 1, u64::MAX] {
            let mut encoder = Encoder::new(seed);
            let before = encoder.table_generation();
            for name in ["etag", "from", "link", "location", "referer", "expires", "x-first", "x-second"] {
                encoder.encode(Field::new(name.as_bytes(), b"the same"), &mut Vec::new());
                assert_eq!(encoder.table_generation(), before, "{name} is seen for the first time");
            }
            encoder.encode(Field::new(b"x-second", b"the same"), &mut Vec::new());
            assert_ne!(encoder.table_generation(), before);
        }
    }
}
