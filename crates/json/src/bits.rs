//! A small set of places, for the fields and oneofs that a message has been given.

/// Places below 128 cost no allocation.
#[derive(Debug, Default)]
pub(crate) struct Places {
    first: u128,
    more: Vec<u128>,
}

impl Places {
    /// Adds a place; false if it was there.
    pub(crate) fn insert(&mut self, place: usize) -> bool {
        let (word, bit) = (place / 128, 1 << (place % 128));
        let word = match word.checked_sub(1) {
            None => &mut self.first,
            Some(index) => {
                if index >= self.more.len() {
                    self.more.resize(index + 1, 0);
                }
                &mut self.more[index]
            }
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_new_once() {
        let mut places = Places::default();
        for place in [0, 1, 127, 128, 255, 256, 1_000] {
            assert!(places.insert(place) && !places.insert(place), "{place}");
        }
        assert!(places.insert(2));
    }
}
