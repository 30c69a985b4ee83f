//! Which fields the encoder has written once: it inserts them into its table when they come again.

use super::hash::seeded_hash;

/// Remembers fields that came once, by their hashes, for a while: in sets of a few, each of which forgets one of its
/// own at random when one more comes. Forgetting in turn would forget all, call by call, where more fields than a set
/// holds come again and again.
pub(super) struct SeenOnce {
    /// 0 marks a free place; a field whose hash it is counts as seen, which does no harm.
    sets: [[u32; Self::WAYS]; Self::SETS],
    dice: u64,
}

impl SeenOnce {
    const SETS: usize = 16;
    const WAYS: usize = 4;

    pub(super) fn new(seed: u64) -> Self {
        Self { sets: [[0; Self::WAYS]; Self::SETS], dice: seed }
    }

    /// Whether a field with this hash came before and was not forgotten since. One that did is forgotten, one that did
    /// not is remembered.
    #[expect(clippy::indexing_slicing, reason = "remainders of the arrays' lengths")]
    pub(super) fn comes_again(&mut self, hash: u32) -> bool {
        let set = &mut self.sets[hash as usize % Self::SETS];
        if let Some(place) = set.iter_mut().find(|place| **place == hash) {
            *place = 0;
            return true;
        }
        self.dice = seeded_hash(self.dice, &hash.to_le_bytes());
        let place = set.iter().position(|place| *place == 0).unwrap_or(self.dice as usize % Self::WAYS);
        set[place] = hash;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_once_is_forgotten_one_by_one() {
        let mut seen = SeenOnce::new(7);
        let of_one_set: Vec<u32> = (1..=6).map(|number| number * SeenOnce::SETS as u32).collect();
        for hash in &of_one_set {
            assert!(!seen.comes_again(*hash));
        }
        let known = of_one_set.iter().filter(|hash| seen.comes_again(**hash)).count();
        assert!((1..=SeenOnce::WAYS).contains(&known), "{known} of 6 are remembered");
    }
}
