//! The dynamic table (RFC 7541, 2.3.2 and 4), as encoder and decoder both keep it.

use std::{collections::VecDeque, fmt};

/// Overhead that each entry counts for (RFC 7541, 4.1).
// [7541-4.1-1]
const ENTRY_OVERHEAD: usize = 32;

/// Dead bytes below this are not worth moving the live ones for.
const MIN_DEAD: usize = 256;

/// Entries in the order of insertion, first in, first out.
///
/// Names and values stand one after the other in one log: inserting appends, evicting moves the start, and
/// when the dead bytes before it outweigh the live ones these are moved to the front. So an insertion costs no
/// allocation once the log has grown, every string is contiguous, and the log holds at most twice the live
/// bytes plus one entry.
pub(super) struct DynamicTable {
    log: Vec<u8>,
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// Position of `log[0]` in the sequence of all bytes ever appended; wraps.
    base: u32,
    size: usize,
    max_size: usize,
    generation: u64,
}

/// Where an entry's name begins, its value following; positions count as [`DynamicTable::base`] does.
#[derive(Copy, Clone, Debug)]
struct Entry {
    start: u32,
    name_len: u32,
    value_len: u32,
}

impl Entry {
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of strings that are in the log")]
    const fn bytes(self) -> usize {
        self.name_len as usize + self.value_len as usize
    }

    #[expect(clippy::arithmetic_side_effects, reason = "lengths of strings that are in the log")]
    const fn size(self) -> usize {
        self.bytes() + ENTRY_OVERHEAD
    }
}

impl DynamicTable {
    pub(super) fn new(max_size: usize) -> Self {
        Self { log: Vec::new(), entries: VecDeque::new(), base: 0, size: 0, max_size, generation: 0 }
    }

    /// Size of all entries as RFC 7541, 4.1 counts it.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    /// Changes whenever an index may have come to mean something else.
    #[inline]
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Name and value of an entry; 0 is the one inserted last.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "positions in the log")]
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entry(index)?;
        let start = self.offset(entry);
        Some(self.log.get(start..start + entry.bytes())?.split_at(entry.name_len as usize))
    }

    /// Inserts an entry and returns how many were evicted for it. One that is larger than the whole table
    /// empties it and is not kept (RFC 7541, 4.4).
    // [7541-2.3.2-1] [7541-4.4-1]
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) -> usize {
        self.insert_from(name.len(), value, |log| log.extend_from_slice(name))
    }

    /// Inserts an entry with the name of the entry at `index`, which may be evicted by it (RFC 7541, 4.4).
    #[expect(clippy::arithmetic_side_effects, reason = "positions in the log")]
    pub(super) fn insert_with_name_of(&mut self, index: usize, value: &[u8]) -> usize {
        let Some(entry) = self.entry(index) else { return 0 };
        let (start, len) = (self.offset(entry), entry.name_len as usize);
        self.insert_from(len, value, |log| log.extend_from_within(start..start + len))
    }

    /// Changes the maximum and returns how many entries were evicted (RFC 7541, 4.3).
    // [7541-4.3-1]
    #[expect(clippy::arithmetic_side_effects, reason = "64 bits counted one by one")]
    pub(super) fn set_max_size(&mut self, max_size: usize) -> usize {
        if self.max_size != max_size {
            self.generation += 1;
        }
        self.max_size = max_size;
        self.evict_to(max_size)
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.log.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "lengths in memory; the entry fits, as was just checked; 64 bits counted one by one"
    )]
    fn insert_from(
        &mut self,
        name_len: usize,
        value: &[u8],
        append_name: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        self.generation += 1;
        let size = name_len + value.len() + ENTRY_OVERHEAD;
        if size > self.max_size {
            return self.evict_to(0);
        }
        let entry = Entry {
            start: self.base.wrapping_add(self.log.len() as u32),
            name_len: name_len as u32,
            value_len: value.len() as u32,
        };
        // Appended before the eviction, since the name may be that of an entry about to go.
        append_name(&mut self.log);
        self.log.extend_from_slice(value);
        let evicted = self.evict_to(self.max_size - size);
        self.entries.push_back(entry);
        self.size += size;
        self.drop_dead_bytes();
        evicted
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the size is the sum of the entries, of which this takes one off"
    )]
    fn evict_to(&mut self, size: usize) -> usize {
        let before = self.entries.len();
        while self.size > size {
            let Some(entry) = self.entries.pop_front() else { break };
            self.size -= entry.size();
        }
        before - self.entries.len()
    }

    #[expect(clippy::arithmetic_side_effects, reason = "the oldest entry begins within the log")]
    fn drop_dead_bytes(&mut self) {
        let Some(&oldest) = self.entries.front() else { return };
        let dead = self.offset(oldest);
        if dead >= MIN_DEAD.max(self.log.len() - dead) {
            self.log.drain(..dead);
            self.base = oldest.start;
        }
    }

    #[inline]
    fn entry(&self, index: usize) -> Option<Entry> {
        let from_oldest = self.entries.len().checked_sub(index.checked_add(1)?)?;
        self.entries.get(from_oldest).copied()
    }

    #[inline]
    fn offset(&self, entry: Entry) -> usize {
        entry.start.wrapping_sub(self.base) as usize
    }
}

/// Without the content: it may be other people's.
impl fmt::Debug for DynamicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicTable")
            .field("entries", &self.entries.len())
            .field("size", &self.size)
            .field("max_size", &self.max_size)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::tests::Random;

    #[test]
    fn newest_entry_has_index_zero() {
        let mut table = DynamicTable::new(4096);
        assert_eq!(table.insert(b"a", b"1"), 0);
        assert_eq!(table.insert(b"b", b"22"), 0);
        assert_eq!(table.get(0), Some((&b"b"[..], &b"22"[..])));
        assert_eq!(table.get(1), Some((&b"a"[..], &b"1"[..])));
        assert_eq!(table.get(2), None);
        assert_eq!(table.get(usize::MAX), None);
        assert_eq!((table.entries.len(), table.size()), (2, 34 + 35));
    }

    #[test]
    fn entry_larger_than_the_table_empties_it() {
        // [7541-4.4-1]
        // RFC 7541, 4.4
        let mut table = DynamicTable::new(64);
        table.insert(b"a", b"1");
        assert_eq!(table.insert(b"name", &[b'v'; 29]), 1);
        assert_eq!((table.entries.len(), table.size()), (0, 0));
        table.insert(b"name", &[b'v'; 28]);
        assert_eq!((table.entries.len(), table.size()), (1, 64));
    }

    #[test]
    fn name_of_an_entry_evicted_by_the_insertion_survives() {
        // RFC 7541, 4.4
        let mut table = DynamicTable::new(64);
        table.insert(b"name", b"first");
        assert_eq!(table.insert_with_name_of(0, b"second value"), 1);
        assert_eq!(table.get(0), Some((&b"name"[..], &b"second value"[..])));
        assert_eq!(table.get(1), None);
    }

    #[test]
    fn lower_maximum_evicts_the_oldest() {
        // [7541-4.3-1]
        // RFC 7541, 4.3
        let mut table = DynamicTable::new(200);
        for name in [b"a", b"b", b"c"] {
            table.insert(name, b"");
        }
        assert_eq!(table.set_max_size(70), 1);
        assert_eq!(table.get(1), Some((&b"b"[..], &b""[..])));
        assert_eq!(table.set_max_size(0), 2);
        assert_eq!(table.insert(b"d", b""), 0);
        assert_eq!(table.entries.len(), 0);
    }

    #[test]
    fn generation_changes_with_content_and_maximum_only() {
        let mut table = DynamicTable::new(100);
        let start = table.generation();
        table.set_max_size(100);
        assert_eq!(table.generation(), start);
        table.set_max_size(90);
        let resized = table.generation();
        assert_ne!(resized, start);
        table.insert(b"a", b"");
        assert_ne!(table.generation(), resized);
    }

    #[test]
    fn agrees_with_a_plain_list_and_stays_bounded() {
        // [7541-4.1-1]
        let mut random = Random::new(11);
        let mut table = DynamicTable::new(1000);
        // Near the end of the position counter, so that it wraps within the test.
        table.base = u32::MAX - 20_000;
        let mut list: VecDeque<(Vec<u8>, Vec<u8>)> = VecDeque::new();
        let mut max = 1000;
        for _ in 0..5000 {
            let (len, long) = (random.below(20), random.below(30) == 0);
            let value = random.bytes(if long { 900 } else { len });
            if random.below(50) == 0 {
                max = random.below(1200);
                table.set_max_size(max);
            } else if random.below(2) == 0 && !list.is_empty() {
                let index = random.below(list.len());
                list.push_front((list[index].0.clone(), value.clone()));
                table.insert_with_name_of(index, &value);
            } else {
                let len = random.below(20);
                let name = random.bytes(len);
                table.insert(&name, &value);
                list.push_front((name, value));
            }
            let size = |list: &VecDeque<(Vec<u8>, Vec<u8>)>| {
                list.iter().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>()
            };
            while size(&list) > max {
                list.pop_back();
            }
            assert_eq!((table.entries.len(), table.size()), (list.len(), size(&list)));
            for (index, (name, value)) in list.iter().enumerate() {
                assert_eq!(table.get(index), Some((&name[..], &value[..])));
            }
            assert!(table.log.len() <= 2 * 1200 + 1200 + MIN_DEAD, "{}", table.log.len());
        }
    }
}
