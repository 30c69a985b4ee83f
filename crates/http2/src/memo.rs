//! The header-block memo: while the peer's dynamic table stays the same, the same octets decode to the same
//! head, so they are looked up instead of decoded, validated and stored again.
//!
//! Asked and filled by `connection::headers` for blocks that came in one frame. A hit costs a hash, a
//! comparison and a reference count. What upper layers attached to the [`Head`] comes with it.

use std::sync::Arc;

use crate::Head;
use crate::hpack::hash::seeded_hash;

/// Decoded blocks by their octets. Bounded in entries and octets.
#[derive(Debug)]
pub(crate) struct Memo {
    seed: u64,
    /// State of the decoder's table for which the entries hold.
    generation: u64,
    entries: Vec<Entry>,
    /// Open addressing over `entries`: position + 1, 0 is free. Empty until the first entry.
    table: Vec<u8>,
    /// The entry of each kind found last; a peer that makes the same call again and again is served without
    /// hashing.
    last: [usize; KINDS],
    /// Heap octets of all entries.
    footprint: usize,
    /// What the last block of each kind took that had to be decoded: the next one is likely to take as much, so its
    /// storage is made once, however many fields it has (wire-rules H1).
    rooms: [Room; KINDS],
    /// Hashes of blocks that were missed lately: only a block seen twice is worth keeping.
    missed: [u64; MISSED],
    /// How many blocks were let go because they were new.
    let_go: u32,
}

/// What a block is; the same octets may be valid as one and malformed as the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Request,
    Response,
    Trailers,
}

const KINDS: usize = 3;

/// What decoded fields take in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Regular fields.
    pub(crate) fields: usize,
    /// Octets of names and values.
    pub(crate) bytes: usize,
}

/// Regular fields of a typical call, for the first block of a kind.
const FIELDS_GUESS: usize = 8;

#[derive(Debug)]
struct Entry {
    hash: u64,
    kind: BlockKind,
    block: Box<[u8]>,
    head: Arc<Head>,
}

impl Entry {
    #[inline]
    fn is(&self, kind: BlockKind, block: &[u8]) -> bool {
        self.kind == kind && *self.block == *block
    }
}

impl Memo {
    pub(crate) fn new(seed: u64) -> Self {
        Memo {
            seed,
            generation: 0,
            entries: Vec::new(),
            table: Vec::new(),
            last: [0; KINDS],
            footprint: 0,
            rooms: [Room::default(); KINDS],
            missed: [0; MISSED],
            let_go: 0,
        }
    }

    /// The head that the last block of its kind decoded to, if `block` is the same.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "a place for each kind")]
    pub(crate) fn latest(&self, kind: BlockKind, block: &[u8], generation: u64) -> Option<&Arc<Head>> {
        if self.generation != generation {
            return None;
        }
        let entry = self.entries.get(self.last[kind as usize])?;
        entry.is(kind, block).then_some(&entry.head)
    }

    /// The head that `block` decodes to while the decoder's table is at `generation`.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a place for each kind")]
    pub(crate) fn find(&mut self, kind: BlockKind, block: &[u8], generation: u64) -> Option<Arc<Head>> {
        if self.generation == generation
            && let Some(entry) = self.entries.get(self.last[kind as usize])
            && entry.is(kind, block)
        {
            return Some(Arc::clone(&entry.head));
        }
        self.find_hashed(kind, block, generation)
    }

    /// What a block of `block_len` encoded octets that was not found will take, as far as the last one tells.
    #[expect(clippy::indexing_slicing, reason = "a place for each kind")]
    pub(crate) fn expected(&self, kind: BlockKind, block_len: usize) -> Room {
        let Room { fields, bytes } = self.rooms[kind as usize];
        Room { fields: fields.max(FIELDS_GUESS), bytes: bytes.max(block_len) }
    }

    /// A block had to be decoded and took so much.
    #[expect(clippy::indexing_slicing, reason = "a place for each kind")]
    pub(crate) fn note_room(&mut self, kind: BlockKind, room: Room) {
        self.rooms[kind as usize] = room;
    }

    /// Keeps `head` for `block`, unless it is seen for the first time. The caller has checked that decoding
    /// left the table at `generation`.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "remainders of the arrays' lengths; a place for each kind; the table is twice as large as the number of entries, so a slot is free"
    )]
    pub(crate) fn store(&mut self, kind: BlockKind, block: &[u8], head: &Arc<Head>, generation: u64) {
        let hash = seeded_hash(self.seed, block);
        let missed = &mut self.missed[(hash >> 32) as usize % MISSED];
        if *missed != hash {
            *missed = hash;
            self.let_go = self.let_go.wrapping_add(1);
            // Two blocks that share a place and come in turn would never be seen twice; now and then one is kept
            // at first sight.
            if !self.let_go.is_multiple_of(KEPT_AT_FIRST_SIGHT) {
                return;
            }
        }
        let footprint = size_of::<Entry>() + block.len() + head.footprint();
        if footprint > MAX_FOOTPRINT {
            return;
        }
        if self.generation != generation
            || self.entries.len() == MAX_ENTRIES
            || self.footprint + footprint > MAX_FOOTPRINT
        {
            self.clear();
            self.generation = generation;
        }
        if self.table.is_empty() {
            self.table.resize(TABLE, 0);
        }
        let mut slot = hash as usize % TABLE;
        while self.table[slot] != 0 {
            slot = (slot + 1) % TABLE;
        }
        self.last[kind as usize] = self.entries.len();
        self.entries.push(Entry { hash, kind, block: block.into(), head: Arc::clone(head) });
        self.table[slot] = self.entries.len() as u8;
        self.footprint += footprint;
    }

    /// Gives the memory back.
    pub(crate) fn trim(&mut self) {
        self.clear();
        self.entries = Vec::new();
        self.table = Vec::new();
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.footprint + self.entries.capacity() * size_of::<Entry>() + self.table.capacity()
    }

    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "a remainder of the table's length; the table names entries that are there; a place for each kind"
    )]
    #[inline(never)]
    fn find_hashed(&mut self, kind: BlockKind, block: &[u8], generation: u64) -> Option<Arc<Head>> {
        if self.generation != generation {
            self.clear();
            self.generation = generation;
        }
        if self.entries.is_empty() {
            return None;
        }
        let hash = seeded_hash(self.seed, block);
        let mut slot = hash as usize % TABLE;
        while let Some(position) = usize::from(self.table[slot]).checked_sub(1) {
            let entry = &self.entries[position];
            if entry.hash == hash && entry.is(kind, block) {
                self.last[kind as usize] = position;
                return Some(Arc::clone(&entry.head));
            }
            slot = (slot + 1) % TABLE;
        }
        None
    }

    fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.entries.clear();
            self.table.fill(0);
            self.footprint = 0;
        }
    }
}

/// Most entries kept; when they are full all are dropped, since a peer with more distinct blocks gains
/// nothing.
const MAX_ENTRIES: usize = 64;

/// Most heap octets kept.
const MAX_FOOTPRINT: usize = 64 * 1024;

/// Slots of the table: at most half are in use, so that a probe ends soon.
const TABLE: usize = 2 * MAX_ENTRIES;

const MISSED: usize = 8;

/// One in so many new blocks is kept at once.
const KEPT_AT_FIRST_SIGHT: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn head(value: &[u8]) -> Arc<Head> {
        Arc::new(Head::from_fields([Field::new(b"x", value)]))
    }

    /// Stores past the first-sight filter.
    fn keep(memo: &mut Memo, kind: BlockKind, block: &[u8], head: &Arc<Head>, generation: u64) {
        while memo.find(kind, block, generation).is_none() {
            memo.store(kind, block, head, generation);
        }
    }

    #[test]
    fn a_block_is_kept_from_its_second_sight_on() {
        let mut memo = Memo::new(1);
        let first = head(b"1");
        memo.store(BlockKind::Request, b"block", &first, 0);
        assert!(memo.find(BlockKind::Request, b"block", 0).is_none());
        memo.store(BlockKind::Request, b"block", &first, 0);
        let found = memo.find(BlockKind::Request, b"block", 0).unwrap();
        assert!(Arc::ptr_eq(&found, &first));
    }

    #[test]
    fn blocks_in_turn_are_kept_whatever_the_seed() {
        for seed in 0..200 {
            let mut memo = Memo::new(seed);
            let turns = [(BlockKind::Response, &b"head"[..]), (BlockKind::Trailers, b"trailers")];
            let mut misses = 0;
            for _ in 0..100 {
                for (kind, block) in turns {
                    if memo.find(kind, block, 0).is_none() {
                        misses += 1;
                        memo.store(kind, block, &head(block), 0);
                    }
                }
            }
            assert!(misses <= 2 * KEPT_AT_FIRST_SIGHT, "seed {seed}: {misses} misses");
        }
    }

    #[test]
    fn a_changed_table_makes_every_entry_invalid() {
        let mut memo = Memo::new(1);
        keep(&mut memo, BlockKind::Request, b"block", &head(b"1"), 0);
        assert!(memo.find(BlockKind::Request, b"block", 1).is_none());
        assert!(memo.find(BlockKind::Request, b"block", 0).is_none());
        keep(&mut memo, BlockKind::Request, b"block", &head(b"2"), 2);
        assert!(memo.find(BlockKind::Request, b"block", 2).is_some());
    }

    #[test]
    fn the_same_octets_are_kept_apart_by_kind() {
        let mut memo = Memo::new(1);
        keep(&mut memo, BlockKind::Response, b"block", &head(b"1"), 0);
        assert!(memo.find(BlockKind::Trailers, b"block", 0).is_none());
        assert!(memo.find(BlockKind::Response, b"block", 0).is_some());
    }

    #[test]
    fn memory_stays_bounded_whatever_is_stored() {
        let mut memo = Memo::new(7);
        for number in 0..1000_u32 {
            let block = number.to_be_bytes();
            keep(&mut memo, BlockKind::Request, &block, &head(&[b'a'; 2000]), 0);
            assert!(memo.find(BlockKind::Request, &block, 0).is_some());
            assert!(memo.entries.len() <= MAX_ENTRIES && memo.footprint <= MAX_FOOTPRINT);
        }
        for _ in 0..2 {
            memo.store(BlockKind::Request, b"huge", &head(&vec![b'a'; MAX_FOOTPRINT]), 0);
        }
        assert!(memo.find(BlockKind::Request, b"huge", 0).is_none());
    }

    #[test]
    fn many_blocks_are_all_found() {
        let mut memo = Memo::new(3);
        let blocks: Vec<_> =
            (0..MAX_ENTRIES as u64).map(|number| (number * 0x0101_0101).to_le_bytes()).collect();
        for block in &blocks {
            keep(&mut memo, BlockKind::Request, block, &head(block), 0);
        }
        for block in &blocks {
            let found = memo.find(BlockKind::Request, block, 0).unwrap();
            assert_eq!(found.field(b"x"), Some(&block[..]));
        }
    }
}
