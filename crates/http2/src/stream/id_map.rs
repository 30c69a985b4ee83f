//! The map from stream ids to the slab: open addressing over small ids that grow, one probe for nearly every frame, and
//! none for the stream that came last.

use crate::StreamId;

/// Stream ids to slab indices: open addressing, linear probing, at most half full.
#[derive(Debug)]
pub(super) struct IdMap {
    /// Where the peer chooses the ids; ours come in order.
    seed: Option<u64>,
    /// The one inserted last, if it is still there. It gets its slot when the next one comes: a server has answered most
    /// requests before that.
    newest: (StreamId, u32),
    /// A power of two of them, or none. Id 0 is a free slot.
    slots: Vec<(StreamId, u32)>,
    /// All of them, the newest included.
    len: usize,
}

impl IdMap {
    pub(super) fn new(seed: Option<u64>) -> Self {
        IdMap { seed, newest: NOBODY, slots: Vec::new(), len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Gives the memory back; nothing is in it.
    pub(super) fn trim(&mut self) {
        self.slots = Vec::new();
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.slots.capacity() * size_of::<(StreamId, u32)>()
    }

    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "called when there are slots")]
    fn home(&self, id: StreamId) -> usize {
        // The golden ratio lays ids that follow one another out with gaps in between, which the seed gives up for
        // places that nobody can foresee. The upper bits are the ones that are mixed.
        let key = self.seed.map_or(u64::from(id.value() >> 1), |seed| seed ^ u64::from(id.value()));
        let bits = self.slots.len().trailing_zeros();
        (key.wrapping_mul(MIX) >> (u64::BITS - bits)) as usize
    }

    #[inline]
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "a position under the mask of the length"
    )]
    pub(super) fn find(&self, id: StreamId) -> Option<u32> {
        if self.newest.0 == id {
            return Some(self.newest.1);
        }
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.home(id);
        loop {
            let (found, index) = self.slots[at];
            if found == id {
                return Some(index);
            }
            if found.is_connection() {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "a number of streams in memory")]
    pub(super) fn insert(&mut self, id: StreamId, index: u32) {
        let (earlier, place) = std::mem::replace(&mut self.newest, (id, index));
        if !earlier.is_connection() {
            self.settle(earlier, place);
        }
        self.len += 1;
    }

    /// Gives one that is counted already its slot.
    #[inline(never)]
    #[expect(clippy::arithmetic_side_effects, reason = "a number of streams in memory")]
    fn settle(&mut self, id: StreamId, index: u32) {
        if self.len * 2 > self.slots.len() {
            let slots = vec![NOBODY; (self.slots.len() * 2).max(8)];
            for (id, index) in std::mem::replace(&mut self.slots, slots) {
                if !id.is_connection() {
                    self.place(id, index);
                }
            }
        }
        self.place(id, index);
    }

    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "a position under the mask of the length"
    )]
    fn place(&mut self, id: StreamId, index: u32) {
        let mut at = self.home(id);
        while !self.slots[at].0.is_connection() {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = (id, index);
    }

    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "the newest was counted")]
    pub(super) fn remove(&mut self, id: StreamId) {
        if self.newest.0 == id {
            self.newest = NOBODY;
            self.len -= 1;
        } else {
            self.unsettle(id);
        }
    }

    /// Removes one that has a slot.
    #[inline(never)]
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "a position under the mask of the length; the id was there, so it was counted"
    )]
    fn unsettle(&mut self, id: StreamId) {
        if self.slots.is_empty() {
            return;
        }
        let mask = self.slots.len() - 1;
        let mut gap = self.home(id);
        while self.slots[gap].0 != id {
            if self.slots[gap].0.is_connection() {
                return;
            }
            gap = (gap + 1) & mask;
        }
        self.len -= 1;
        // Entries behind the gap that probed across it move up, so that no probe stops short of its entry.
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let (id, _) = self.slots[at];
            if id.is_connection() {
                break;
            }
            let home = self.home(id);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
        }
        self.slots[gap] = NOBODY;
    }

    pub(super) fn clear(&mut self) {
        self.newest = NOBODY;
        self.slots.fill(NOBODY);
        self.len = 0;
    }
}

/// A free slot.
const NOBODY: (StreamId, u32) = (StreamId::CONNECTION, 0);

/// Odd, its bits evenly mixed: the fraction of the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_map_agrees_with_a_plain_one() {
        for seed in 0..20 {
            let mut random = seed;
            let mut map = IdMap::new((seed > 0).then_some(seed));
            let mut plain = HashMap::new();
            for step in 0..2000_u32 {
                random = (random + 1).wrapping_mul(MIX);
                random ^= random >> 29;
                let id = StreamId::new(((random >> 8) as u32 % 200) * 2 + 1);
                if random & 1 == 0 {
                    plain.entry(id).or_insert_with(|| {
                        map.insert(id, step);
                        step
                    });
                } else {
                    map.remove(id);
                    plain.remove(&id);
                }
                assert_eq!(map.find(id), plain.get(&id).copied());
                assert_eq!(map.len, plain.len());
            }
            for (id, index) in plain {
                assert_eq!(map.find(id), Some(index));
            }
        }
    }

    #[test]
    fn the_map_is_at_most_half_full_and_seeds_move_its_entries() {
        let homes = |seed: u64| {
            let mut map = IdMap::new(Some(seed));
            for number in 0..100 {
                map.insert(StreamId::new(2 * number + 1), number);
                let (len, slots) = (map.len, map.slots.len());
                // The newest has no slot yet.
                assert!(2 * (len - 1) <= slots && slots <= 8.max(4 * len), "{len} in {slots}");
            }
            (0..100).map(|number| map.home(StreamId::new(2 * number + 1))).collect::<Vec<_>>()
        };
        let all: Vec<_> = [0, 0x1234_5678, u64::MAX].map(homes).into();
        for homes in &all {
            let distinct: std::collections::BTreeSet<_> = homes.iter().collect();
            assert!(distinct.len() > 50, "{} places for 100 ids", distinct.len());
        }
        assert!(all[0] != all[1] && all[1] != all[2]);
    }

    #[test]
    fn a_stream_that_ends_before_the_next_one_begins_takes_no_slot() {
        let mut map = IdMap::new(Some(1));
        for number in 0..100 {
            let id = StreamId::new(2 * number + 1);
            map.insert(id, 0);
            assert_eq!((map.find(id), map.len()), (Some(0), 1));
            map.remove(id);
            assert_eq!((map.find(id), map.len()), (None, 0));
        }
        assert_eq!(map.footprint(), 0);
    }
}
